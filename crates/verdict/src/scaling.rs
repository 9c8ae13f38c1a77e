//! Scaling: speed-up and parallel efficiency of each result against that of the same benchmark with the fewest threads.

use std::collections::BTreeMap;

use model::document::{Row, Scaling};
use model::experiment::id_without_threads;
use model::sample::MetricName;

use crate::rules::AreaRules;

/// Sets the scaling of every measured result that has one to compare with.
pub fn set(rows: &mut [Row], rules: &[AreaRules]) {
    let mut fewest: BTreeMap<String, (String, u32, f64)> = BTreeMap::new();
    for row in rows.iter() {
        let Some(rate) = rate(row, rules) else { continue };
        let threads = row.params.threads();
        let first = fewest.entry(id_without_threads(&row.id)).or_insert_with(|| (row.id.clone(), threads, rate));
        if threads < first.1 {
            *first = (row.id.clone(), threads, rate);
        }
    }
    for row in rows.iter_mut() {
        row.scaling = fewest.get(&id_without_threads(&row.id)).and_then(|first| scaling(row, first, rules));
    }
}

fn rate(row: &Row, rules: &[AreaRules]) -> Option<f64> {
    let scales = row.confidence.is_some() && (AreaRules::of(rules, row.area).scales)(&row.params);
    row.metric(MetricName::Throughput).filter(|_| scales).map(|metric| metric.summary.median)
}

fn scaling(row: &Row, (from, threads_from, rate_from): &(String, u32, f64), rules: &[AreaRules]) -> Option<Scaling> {
    let threads = row.params.threads();
    let speed_up = rate(row, rules).filter(|_| threads > *threads_from && *rate_from > 0.0)? / rate_from;
    let times = f64::from(threads) / f64::from(*threads_from);
    Some(Scaling { from: from.clone(), threads_from: *threads_from, speed_up, parallel_efficiency: speed_up / times })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{AREAS, document};

    fn row(threads: u32, rate: f64) -> Row {
        let mut row = document().experiments.remove(0);
        row.id = row.id.replace("/t1", &format!("/t{threads}"));
        if let model::experiment::Params::Cpu(params) = &mut row.params {
            params.threads = threads;
        }
        row.metrics[0].summary.median = rate;
        row
    }

    #[test]
    fn each_row_is_compared_with_the_one_of_the_fewest_threads() {
        let mut rows = [row(4, 30.0), row(1, 10.0), row(2, 19.0)];
        set(&mut rows, AREAS);
        assert_eq!(rows[1].scaling, None);
        let four = rows[0].scaling.as_ref().unwrap();
        assert_eq!((four.threads_from, four.from.as_str()), (1, rows[1].id.as_str()));
        assert!((four.speed_up - 3.0).abs() < 1e-12 && (four.parallel_efficiency - 0.75).abs() < 1e-12);
        assert!((rows[2].scaling.as_ref().unwrap().parallel_efficiency - 0.95).abs() < 1e-12);
        let mut rows = [row(1, 10.0), row(2, 19.0), row(4, 30.0)];
        rows[0].confidence = None;
        set(&mut rows, AREAS);
        assert_eq!(rows[1].scaling, None);
        assert_eq!(rows[2].scaling.as_ref().map(|scaling| scaling.threads_from), Some(2));
    }
}
