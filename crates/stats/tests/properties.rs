//! Properties of any values, on seeded random ones so that a failure can be repeated.
#![expect(clippy::float_cmp, clippy::unwrap_used, reason = "the properties are exact; helpers of tests may panic")]

use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use stats::random::Random;
use stats::{
    Adaptive, Interval, NOMINAL_CONFIDENCE, Observations, StopReason, StopRule, Summary, Warning, mann_whitney,
    shift_ratio, summarise, summarise_grouped,
};

/// Runs a property on 512 values of the strategy, the same ones every time.
fn hold<S: Strategy>(strategy: &S, property: impl Fn(S::Value)) {
    let config = ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]));
    let outcome = runner.run(strategy, |value| {
        property(value);
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}

/// Lists of 1 to 80 measurements: positive, over twelve decades, often with ties.
fn measurements() -> impl Strategy<Value = Vec<f64>> {
    let value = prop_oneof![1e-6..1e6, (1_u32..5).prop_map(f64::from)];
    prop::collection::vec(value, 1..80)
}

fn shuffled(values: &[f64], seed: u64) -> Vec<f64> {
    let mut values = values.to_vec();
    Random::new(seed).shuffle(&mut values);
    values
}

/// A summary without the warnings, which depend on the order of measurement.
fn without_warnings(values: &[f64]) -> Summary {
    Summary { warnings: Vec::new(), ..summarise(values).unwrap() }
}

#[test]
fn the_interval_holds_the_median_within_the_range() {
    hold(&measurements(), |values| {
        let summary = summarise(&values).unwrap();
        assert_eq!(summary.interval.is_some(), values.len() >= 6);
        assert!(summary.min <= summary.median && summary.median <= summary.max);
        assert!(summary.min <= summary.mean && summary.mean <= summary.max);
        if let Some(Interval { bounds: [low, high], confidence }) = summary.interval {
            assert!(summary.min <= low && low <= summary.median && summary.median <= high && high <= summary.max);
            assert!((NOMINAL_CONFIDENCE..1.0).contains(&confidence));
        }
    });
}

#[test]
fn the_order_of_measurement_changes_no_result() {
    hold(&(measurements(), any::<u64>()), |(values, seed)| {
        assert_eq!(without_warnings(&values), without_warnings(&shuffled(&values, seed)));
    });
}

#[test]
fn a_change_of_unit_scales_every_result() {
    // A power of two scales without rounding, so equality is exact.
    let factor = 1024.0;
    hold(&measurements(), |values| {
        let scaled: Vec<f64> = values.iter().map(|value| value * factor).collect();
        let (a, b) = (summarise(&values).unwrap(), summarise(&scaled).unwrap());
        assert_eq!([a.median * factor, a.mean * factor, a.mad * factor], [b.median, b.mean, b.mad]);
        assert_eq!([a.min * factor, a.max * factor], [b.min, b.max]);
        assert_eq!(a.stddev.map(|stddev| stddev * factor), b.stddev);
        assert_eq!((a.cv, a.cv_robust), (b.cv, b.cv_robust));
        assert_eq!(a.interval.map(|i| i.bounds.map(|bound| bound * factor)), b.interval.map(|i| i.bounds));
        let kinds = |summary: &Summary| summary.warnings.iter().map(std::mem::discriminant).collect::<Vec<_>>();
        assert_eq!(kinds(&a), kinds(&b));
    });
}

#[test]
fn constant_data_has_no_spread_and_no_warning_but_its_number() {
    hold(&(1e-6..1e6, 1_usize..40), |(value, n)| {
        let summary = summarise(&vec![value; n]).unwrap();
        assert_eq!([summary.median, summary.mean, summary.min, summary.max], [value; 4]);
        assert_eq!((summary.mad, summary.stddev), (0.0, (n > 1).then_some(0.0)));
        assert_eq!((summary.cv, summary.cv_robust), ((n > 1).then_some(0.0), (n > 1).then_some(0.0)));
        assert!(summary.warnings.iter().all(|warning| matches!(warning, Warning::TooFew { .. })));
    });
}

#[test]
fn percentiles_rise_and_meet_the_median_and_the_ends() {
    hold(&(measurements(), 0.0..100.0, 0.0..100.0), |(values, a, b)| {
        let o = Observations::new(&values).unwrap();
        let at = |percent| o.percentile(percent).unwrap();
        assert!(at(f64::min(a, b)) <= at(f64::max(a, b)));
        assert_eq!([at(0.0), at(100.0)], [o.min(), o.max()]);
        assert!((at(50.0) - o.median()).abs() <= 1e-15 * o.median());
    });
}

#[test]
fn finite_values_of_any_kind_give_finite_results() {
    hold(&prop::collection::vec(prop::num::f64::NORMAL | prop::num::f64::ZERO, 1..20), |values| {
        let Some(summary) = summarise(&values) else {
            return assert!(values.iter().any(|value| value.abs() > 1e300));
        };
        let optional = [summary.stddev, summary.cv, summary.cv_robust, summary.relative_half_width()];
        let numbers = [summary.median, summary.mean, summary.mad, summary.min, summary.max];
        assert!(numbers.into_iter().chain(optional.into_iter().flatten()).all(f64::is_finite), "{summary:?}");
    });
}

#[test]
fn the_interval_covers_the_true_median_as_often_as_it_says() {
    // Exponential values: skewed, median ln 2. 4000 intervals of 9 values, actual confidence 96.1 %, deviation 0.3 %.
    let mut random = Random::new(11);
    let covers = |_: &u32| {
        let values: Vec<f64> = (0..9).map(|_| -(1.0 - random.unit()).ln()).collect();
        let [low, high] = summarise(&values).unwrap().interval.unwrap().bounds;
        (low..=high).contains(&std::f64::consts::LN_2)
    };
    let share = f64::from(u32::try_from((0..4000).filter(covers).count()).unwrap()) / 4000.0;
    assert!((share - 0.961).abs() < 0.01, "{share}");
}

#[test]
fn a_stop_rule_keeps_its_bounds_and_reports_the_actual_width() {
    let cases = (prop::collection::vec(0.9..1.1, 40), 6_usize..15, 0_usize..20, 0.001..0.2);
    hold(&cases, |(values, n_min, more, target)| {
        let n_max = n_min + more;
        let rule = StopRule::Adaptive(Adaptive::new(n_min, n_max, target).unwrap());
        let (n, reason) = (1..=40).find_map(|n| Some((n, rule.check(&values[..n])?))).unwrap();
        assert!((rule.at_least()..=n_max).contains(&n));
        let half_width = summarise(&values[..n]).unwrap().relative_half_width().unwrap();
        match reason {
            StopReason::Narrow { half_width: found, .. } => assert!(found == half_width && found <= target),
            StopReason::Maximum { half_width: found, .. } => {
                assert!(n == n_max && found == Some(half_width) && half_width > target);
            }
            other => panic!("{other}"),
        }
    });
}

#[test]
fn looking_after_each_repetition_costs_little_coverage() {
    // Deviations of 0.5 to 3 % against a target of 1 %: it stops early, late, or at the maximum.
    let mut random = Random::new(13);
    let rule = StopRule::Adaptive(Adaptive::new(10, 30, 0.01).unwrap());
    for deviation in [0.5, 1.0, 1.5, 2.0, 3.0] {
        let covers = |_: &u32| {
            let mut values = Vec::new();
            while rule.check(&values).is_none() {
                values.push(100.0 + deviation * random.normal());
            }
            let [low, high] = summarise(&values).unwrap().interval.unwrap().bounds;
            (low..=high).contains(&100.0)
        };
        let share = f64::from(u32::try_from((0..4000).filter(covers).count()).unwrap()) / 4000.0;
        assert!(share > 0.945, "deviation {deviation}: {share}");
    }
}

/// The share of 5000 samples of `n` normal values (a deviation of 1 %) that raise any warning at all.
fn false_alarms(n: usize, random: &mut Random) -> f64 {
    let mut raises = || {
        let values: Vec<f64> = (0..n).map(|_| 100.0 + random.normal()).collect();
        !summarise(&values).unwrap().warnings.is_empty()
    };
    let raised = (0..5000).filter(|_| raises()).count();
    raised as f64 / 5000.0
}

#[test]
fn well_behaved_values_seldom_raise_a_warning() {
    let mut random = Random::new(12);
    for (n, most) in [(7, 0.08), (10, 0.08), (15, 0.06), (30, 0.03)] {
        let share = false_alarms(n, &mut random);
        assert!(share < most, "n = {n}: {share}");
    }
}

#[test]
fn an_interval_of_launches_holds_the_median_within_the_range() {
    hold(&(measurements(), 1_usize..6), |(values, per_launch)| {
        let launches: Vec<u32> = (0..values.len()).map(|index| u32::try_from(index / per_launch).unwrap()).collect();
        let summary = summarise_grouped(&values, &launches).unwrap();
        assert_eq!(summary.interval.is_some(), values.len() >= 6);
        if let Some(Interval { bounds: [low, high], confidence }) = summary.interval {
            assert!(summary.min <= low && low <= summary.median && summary.median <= high && high <= summary.max);
            assert!((0.0..1.0).contains(&confidence));
            assert!(values.contains(&low) && values.contains(&high));
        }
        let plain = summarise(&values).unwrap();
        assert_eq!((summary.median, summary.mean, summary.n), (plain.median, plain.mean, plain.n));
    });
}

#[test]
fn a_shift_scales_with_the_new_side_and_holds_its_point() {
    hold(&(measurements(), measurements()), |(base, new)| {
        let shift = shift_ratio(&base, &new).unwrap();
        let doubled: Vec<f64> = new.iter().map(|value| 2.0 * value).collect();
        let twice = shift_ratio(&base, &doubled).unwrap();
        assert!((twice.ratio / shift.ratio - 2.0).abs() < 1e-12);
        if let Some([low, high]) = shift.interval {
            assert!(low <= shift.ratio && shift.ratio <= high);
            assert!(shift.confidence.is_some_and(|confidence| (NOMINAL_CONFIDENCE..1.0).contains(&confidence)));
            assert_eq!(twice.interval, Some([2.0 * low, 2.0 * high]));
        }
    });
}

#[test]
fn tests_are_the_same_from_either_side() {
    hold(&(measurements(), measurements()), |(a, b)| {
        let (one, other) = (mann_whitney(&a, &b).unwrap(), mann_whitney(&b, &a).unwrap());
        assert!(one.p > 0.0 && one.p <= 1.0 && (one.p - other.p).abs() < 1e-12);
        assert!((one.u + other.u - (a.len() * b.len()) as f64).abs() < 1e-9);
    });
}

#[test]
fn independent_values_are_seldom_called_correlated() {
    let mut random = Random::new(14);
    for n in [8, 12, 30, 100] {
        let mut raises = || {
            let values: Vec<f64> = (0..n).map(|_| 100.0 + 2.0 * random.normal()).collect();
            summarise(&values).unwrap().warnings.iter().any(|found| matches!(found, Warning::Autocorrelated { .. }))
        };
        let share = (0..4000).filter(|_| raises()).count() as f64 / 4000.0;
        // Half of the two-sided 1 % raises a warning; three standard errors are 0.35 %.
        assert!(share < 0.0085, "n = {n}: {share}");
    }
}
