//! What holds for every number, whatever its size.

use model::number::{UnitScale, digits, duration, percent, quantity, size};
use model::unit::Unit;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// The same cases in every run.
fn check<S: Strategy>(strategy: &S, test: impl Fn(S::Value)) {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner =
        TestRunner::new_with_rng(Config { cases: 4000, failure_persistence: None, ..Config::default() }, rng);
    let run = |value| {
        test(value);
        Ok(())
    };
    if let Err(failure) = runner.run(strategy, run) {
        panic!("{failure}");
    }
}

/// Positive numbers of every size, many of them next to a power of ten.
fn sizes() -> impl Strategy<Value = f64> {
    let decade = -20_i32..24;
    prop_oneof![
        (1.0..10.0, decade.clone()).prop_map(|(digits, decade): (f64, i32)| digits * 10_f64.powi(decade)),
        (-1e-3..1e-3, decade).prop_map(|(off, decade): (f64, i32)| (1.0 + off) * 10_f64.powi(decade)),
    ]
}

/// The digits of a printed number, without leading zeros, point and exponent.
fn significant(text: &str) -> usize {
    let mantissa = text.split('e').next().unwrap_or(text);
    mantissa.trim_start_matches(['-', '0', '.']).chars().filter(char::is_ascii_digit).count()
}

const PREFIXED: [Unit; 5] = [Unit::FlopPerSecond, Unit::OpPerSecond, Unit::BytePerSecond, Unit::Second, Unit::Hertz];

#[test]
fn a_number_has_at_most_four_digits_and_reads_back() {
    check(&sizes(), |value| {
        let text = digits(value);
        assert!((3..=4).contains(&significant(&text)), "{value:e} became {text}");
        let back: f64 = text.parse().unwrap();
        assert!((back / value - 1.0).abs() < 0.005, "{value:e} became {text}");
        assert_eq!(digits(-value), format!("-{text}"));
    });
}

#[test]
fn a_quantity_takes_the_next_prefix_before_it_needs_four_digits_before_the_point() {
    check(&(sizes(), proptest::sample::select(&PREFIXED[..])), |(value, unit)| {
        let (scale, text) = (UnitScale::of(value, unit), quantity(value, unit));
        let number = scale.digits(value);
        assert!(text.starts_with(&number) && text.ends_with(scale.unit()), "{text}");
        assert!(significant(&number) <= 4, "{value:e} became {text}");
        // Only beyond the largest prefix may a number have four digits before the point.
        let largest = UnitScale::of(f64::MAX, unit).unit();
        assert!(!number.starts_with("1000") || scale.unit() == largest, "{value:e} became {text}");
    });
}

#[test]
fn a_common_scale_prints_no_number_badly() {
    check(&proptest::collection::vec(sizes(), 1..6), |values| {
        if let Some(scale) = UnitScale::common(&values, Unit::BytePerSecond) {
            for value in &values {
                let text = scale.digits(*value);
                assert!(significant(&text) <= 4 && !text.contains('e'), "{value:e} became {text}");
            }
        }
    });
}

#[test]
fn other_forms_never_break() {
    check(&sizes(), |value| {
        assert!(duration(value).split(' ').count() >= 2);
        assert!(percent(value).ends_with(" %"));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "saturates, which is one more case"
        )]
        let text = size(value as u64);
        let number = text.split(' ').next().unwrap();
        assert!(number.len() <= 5 && !text.starts_with("1024 ") || text.ends_with("PiB"), "{value:e} became {text}");
    });
}

#[test]
fn zero_is_zero() {
    assert_eq!(digits(0.0), "0");
    assert_eq!([Unit::Second, Unit::BytePerSecond, Unit::One].map(|unit| quantity(0.0, unit)), ["0 s", "0 B/s", "0"]);
}
