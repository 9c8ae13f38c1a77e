//! Digits without a unit.

/// Decimals below each bound, the least value that would print a fifth digit (9.9995 would print as 10.000).
pub(super) const DECIMALS: &[(f64, usize)] =
    &[(0.009_999_5, 5), (0.099_995, 4), (9.9995, 3), (99.995, 2), (999.95, 1), (9999.5, 0)];

/// Below this, and beyond the last entry of [`DECIMALS`], only an exponent keeps the digits.
const LEAST_PLAIN: f64 = 0.001;

/// Four significant digits, three below 1; an exponent where plain digits would not do.
pub fn digits(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 {
        return "0".to_owned();
    }
    let decimals = DECIMALS.iter().find(|(bound, _)| size < *bound).map(|(_, decimals)| *decimals);
    match decimals {
        Some(decimals) if size >= LEAST_PLAIN => format!("{value:.decimals$}"),
        _ => format!("{value:.2e}"),
    }
}

/// Three significant digits, without an exponent.
pub fn three(value: f64) -> String {
    let decimals = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.decimals$}")
}

/// At most N decimals, without zeros at the end: `8.2`, `0.667`, `25`.
pub fn trimmed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    if decimals == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
}

/// Two significant digits of a factor from 1 on: `64`, `9.9`; three below: `0.500`.
pub fn factor(ratio: f64) -> String {
    match ratio {
        9.95.. => format!("{ratio:.0}"),
        1.0.. => format!("{ratio:.1}"),
        _ => digits(ratio),
    }
}

/// A count without decimals; any other number with its [`digits`].
pub fn plain(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e6 { format!("{value:.0}") } else { digits(value) }
}

/// Four significant digits, and never fewer than all before the point: `95.81`, `49152`.
pub fn whole(value: f64) -> String {
    if (9999.5..1e12).contains(&value.abs()) { format!("{value:.0}") } else { digits(value) }
}

/// Billions as [`whole`] has them.
pub fn giga(value: f64) -> String {
    whole(value / 1e9)
}

/// A count that is a power of ten as such: `10^12`; any other with its digits.
pub fn power(value: f64) -> String {
    let exponent = value.log10().round();
    if value > 0.0 && (0.0..1000.0).contains(&exponent) && (value / 10_f64.powf(exponent) - 1.0).abs() < 1e-9 {
        format!("10^{exponent:.0}")
    } else {
        digits(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn billions_and_powers_keep_their_digits() {
        assert_eq!([95.81e9, 49_152e9, 0.0412e9, 0.0].map(giga), ["95.81", "49152", "0.0412", "0"]);
        assert_eq!([1e12, 1.0, 2.5e12, 1e6].map(power), ["10^12", "10^0", "2.50e12", "10^6"]);
    }

    #[test]
    fn digits_are_as_few_as_the_text_needs() {
        assert_eq!([63.7, 9.94, 1.0, 0.5].map(factor), ["64", "9.9", "1.0", "0.500"]);
        assert_eq!([8.2, 25.0, 100.0, 2.0 / 3.0].map(|value| trimmed(value, 3)), ["8.2", "25", "100", "0.667"]);
        assert_eq!([100.0, 9.994, 87.04].map(three), ["100", "9.99", "87.0"]);
    }
}
