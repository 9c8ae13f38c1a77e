//! Figures as sentences have them.

use model::experiment::Area;
use model::unit::{Unit, format_size};

/// The most characters of a sentence: two lines of a hundred.
pub(super) const LONGEST: usize = 200;

/// Three digits with the first prefix of these that leaves one before the point.
fn prefixed(value: f64, steps: &[(f64, &str)]) -> String {
    let step = steps.iter().find(|(factor, _)| value >= 0.9995 * factor).or(steps.last());
    let (factor, unit) = step.copied().unwrap_or((1.0, ""));
    format!("{} {unit}", three(value / factor))
}

/// Three digits.
fn three(value: f64) -> String {
    let decimals = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.decimals$}")
}

/// `1.20 ms`.
pub(super) fn time(seconds: f64) -> String {
    prefixed(seconds, &[(1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")])
}

/// `842 MB/s`.
pub(super) fn bytes(per_second: f64) -> String {
    prefixed(per_second, &[(1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")])
}

/// `32.4 Gb/s`: bits, as links are rated.
pub(super) fn bits(bytes_per_second: f64) -> String {
    let steps = &[(1e12, "Tb/s"), (1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s"), (1.0, "b/s")];
    prefixed(8.0 * bytes_per_second, steps)
}

/// `68.7 thousand requests/s`.
pub(super) fn requests(per_second: f64) -> String {
    prefixed(per_second, &[(1e6, "million requests/s"), (1e3, "thousand requests/s"), (1.0, "requests/s")])
}

/// `192 GFLOP/s`.
pub(super) fn flops(per_second: f64) -> String {
    prefixed(per_second, &[(1e12, "TFLOP/s"), (1e9, "GFLOP/s"), (1e6, "MFLOP/s"), (1.0, "FLOP/s")])
}

/// `2.99 GHz`.
pub(super) fn hertz(value: f64) -> String {
    prefixed(value, &[(1e9, "GHz"), (1e6, "MHz"), (1.0, "Hz")])
}

/// A figure in its unit: bytes of networks as bits.
pub(super) fn figure(value: f64, unit: Unit, area: Area) -> String {
    match unit {
        Unit::FlopPerSecond => flops(value),
        Unit::OpPerSecond => prefixed(value, &[(1e12, "TOP/s"), (1e9, "GOP/s"), (1e6, "MOP/s"), (1.0, "OP/s")]),
        Unit::BytePerSecond if area == Area::Net => bits(value),
        Unit::BytePerSecond => bytes(value),
        Unit::Second => time(value),
        Unit::PerSecond => requests(value),
        Unit::Hertz => hertz(value),
        Unit::SecondPerByte => format!("{} CPU seconds per GB", three(1e9 * value)),
        Unit::One => three(value),
    }
}

/// `1.96x`.
pub(super) fn times(factor: f64) -> String {
    format!("{}x", three(factor))
}

/// `12 %`.
pub(super) fn percent(share: f64) -> String {
    let value = 100.0 * share;
    if value.abs() < 9.95 { format!("{value:.1} %") } else { format!("{value:.0} %") }
}

/// A size: `128 KiB`.
pub(super) fn size(bytes: u64) -> String {
    let text = format_size(bytes);
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    format!("{} {}", &text[..digits], &text[digits..])
}

/// `1 thread`, `2 threads`.
pub(super) fn threads(count: u32) -> String {
    if count == 1 { "1 thread".to_owned() } else { format!("{count} threads") }
}

/// So many of all rows: `the row`, `both rows`, `all 9 rows`, `3 of the 9 rows`.
pub(super) fn rows_of(count: usize, all: usize) -> String {
    match (count, all) {
        (1, 1) => "the row".to_owned(),
        (2, 2) => "both rows".to_owned(),
        _ if count == all => format!("all {all} rows"),
        _ => format!("{count} of the {all} rows"),
    }
}

/// The same after a "not": `any of the 9 rows`.
pub(super) fn any_of(count: usize, all: usize) -> String {
    match (count, all) {
        (2, 2) => "either row".to_owned(),
        _ if count == all && all > 1 => format!("any of the {all} rows"),
        _ => rows_of(count, all),
    }
}

/// `a`, `a and b`, `a, b and c`.
pub(super) fn joined(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [before @ .., last] => format!("{} and {last}", before.join(", ")),
    }
}

/// The text with a capital at its beginning.
pub(super) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_counted_as_one_says_it() {
        let told =
            [(1, 1), (2, 2), (9, 9), (1, 9), (3, 9)].map(|(count, all)| (rows_of(count, all), any_of(count, all)));
        let expected = [
            ("the row", "the row"),
            ("both rows", "either row"),
            ("all 9 rows", "any of the 9 rows"),
            ("1 of the 9 rows", "1 of the 9 rows"),
            ("3 of the 9 rows", "3 of the 9 rows"),
        ];
        assert_eq!(told, expected.map(|(of, any)| (of.to_owned(), any.to_owned())));
    }
}
