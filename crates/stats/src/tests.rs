//! Comparison with scipy and numpy, where the method is the same, to 1e-9 of every number.
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small whole numbers of the fixture")]

use std::collections::BTreeMap;

use serde_json::Value;

use crate::comparison::holm::holm;
use crate::comparison::mann_whitney::mann_whitney;
use crate::comparison::noise::noise_between;
use crate::comparison::shift::shift_ratio;
use crate::comparison::signed_rank::signed_rank;
use crate::distributions::{
    beta_below, chi_square_quantile, chi_square_tail, fisher_quantile, normal_tail, student_quantile,
};
use crate::observations::Observations;
use crate::summary::autocorrelation::autocorrelation;
use crate::summary::components::components;
use crate::summary::interval::median_ranks;
use crate::summary::trend::mann_kendall;

/// Largest deviation from scipy, relative.
const AGREED: f64 = 1e-9;

struct Case<'a>(&'a Value);

impl Case<'_> {
    fn number(&self, key: &str) -> f64 {
        self.0[key].as_f64().unwrap_or_else(|| panic!("{key} of {}", self.0))
    }

    fn numbers(&self, key: &str) -> Vec<f64> {
        let list = self.0[key].as_array().unwrap_or_else(|| panic!("{key} of {}", self.0));
        list.iter().map(|value| value.as_f64().unwrap()).collect()
    }

    /// Pairs of our number and scipy's.
    fn pairs(&self) -> Vec<(f64, f64)> {
        let method = self.0["method"].as_str().unwrap();
        match method.split(',').next().unwrap_or_default() {
            "mann-whitney" => {
                let test = mann_whitney(&self.numbers("a"), &self.numbers("b")).unwrap();
                vec![(test.u, self.number("statistic")), (test.p, self.number("p"))]
            }
            "signed rank" => {
                let test = signed_rank(&self.numbers("values")).unwrap();
                vec![(test.w, self.number("statistic")), (test.p, self.number("p"))]
            }
            "mann-kendall" => {
                let test = mann_kendall(&self.numbers("values")).unwrap();
                vec![(test.s, self.number("statistic")), (test.p, self.number("p"))]
            }
            "holm" => holm(&self.numbers("values")).into_iter().zip(self.numbers("expected")).collect(),
            "hodges-lehmann" => self.shift(),
            "kruskal-wallis" => self.groups(),
            "autocorrelation" => {
                let found = autocorrelation(&self.numbers("values")).unwrap();
                vec![(found.r, self.number("statistic")), (found.p, self.number("p"))]
            }
            "noise between runs" => {
                vec![(noise_between(&self.numbers("values")).unwrap(), self.number("statistic"))]
            }
            "interval of the median" => {
                let (rank, confidence) = median_ranks(self.0["n"].as_u64().unwrap() as usize).unwrap();
                vec![(rank as f64, self.number("rank")), (confidence, self.number("p"))]
            }
            "median" => self.description(),
            other => self.distribution(other),
        }
    }

    fn shift(&self) -> Vec<(f64, f64)> {
        let shift = shift_ratio(&self.numbers("base"), &self.numbers("new")).unwrap();
        let ([low, high], expected) = (shift.interval.unwrap(), self.numbers("interval"));
        vec![
            (shift.ratio, self.number("ratio")),
            (low, expected[0]),
            (high, expected[1]),
            (shift.confidence.unwrap(), self.number("p")),
        ]
    }

    fn groups(&self) -> Vec<(f64, f64)> {
        let groups: Vec<u32> = self.numbers("groups").into_iter().map(|group| group as u32).collect();
        let found = components(&self.numbers("values"), &groups).unwrap();
        let degrees = found.groups as f64 - 1.0;
        let approximate = (chi_square_tail(found.h, degrees), self.number("p"));
        let exact = self.0["exact"].as_f64().map(|exact| (found.p, exact));
        [(found.h, self.number("statistic")), approximate].into_iter().chain(exact).collect()
    }

    fn description(&self) -> Vec<(f64, f64)> {
        let o = Observations::new(&self.numbers("values")).unwrap();
        let ours = [o.median(), o.mean(), o.stddev().unwrap(), o.mad(), o.percentile(90.0).unwrap()];
        ours.into_iter().zip(self.numbers("expected")).collect()
    }

    fn distribution(&self, method: &str) -> Vec<(f64, f64)> {
        let x = self.number("x");
        vec![match method {
            "normal tail" => (normal_tail(x), self.number("p")),
            "student quantile" => (student_quantile(self.number("degrees"), 0.95), x),
            "chi-square quantile" => (chi_square_quantile(0.2, self.number("degrees")), x),
            "chi-square tail" => (chi_square_tail(x, self.number("degrees")), self.number("p")),
            "fisher quantile" => (fisher_quantile(0.35, self.number("upper"), self.number("lower")), x),
            "beta" => (beta_below(x, self.number("a"), self.number("b")), self.number("p")),
            other => panic!("the fixture has a method that the test does not know: {other}"),
        }]
    }
}

/// The difference of two numbers, relative to the second.
fn apart(ours: f64, theirs: f64) -> f64 {
    if theirs == 0.0 { ours.abs() } else { (ours / theirs - 1.0).abs() }
}

#[test]
fn agrees_with_scipy() {
    let file: Value = serde_json::from_str(include_str!("../tests/scipy.json")).unwrap();
    let mut methods: BTreeMap<&str, (usize, f64)> = BTreeMap::new();
    let mut disagreements = Vec::new();
    for case in file["cases"].as_array().unwrap() {
        let method = methods.entry(case["method"].as_str().unwrap()).or_default();
        for (ours, theirs) in Case(case).pairs() {
            let difference = apart(ours, theirs);
            *method = (method.0 + 1, method.1.max(difference));
            if difference.is_nan() || difference > AGREED {
                disagreements.push(format!("{ours} is not {theirs}: {case}"));
            }
        }
    }
    for (method, (numbers, difference)) in &methods {
        let line = serde_json::json!({"method": method, "numbers": numbers, "largest_difference": difference,
                                      "scipy": file["scipy"], "numpy": file["numpy"]});
        println!("scipy {line}");
    }
    assert!(disagreements.is_empty(), "{}", disagreements.join("\n"));
    assert!(methods.len() >= 18, "{methods:?}");
}
