//! Units, and sizes and durations as people type them. Elsewhere in the program quantities have no prefix.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Serialize;

crate::words::words! {
    /// The base units of the document.
    #[expect(missing_docs, reason = "a unit is documented by its name")]
    Unit, "unit", {
        FlopPerSecond => "flop/s",
        OpPerSecond => "op/s",
        BytePerSecond => "B/s",
        Second => "s",
        PerSecond => "1/s",
        Hertz => "Hz",
        SecondPerByte => "s/B",
        One => "1",
    }

    /// Which direction of a metric is an improvement.
    Better, "direction", {
        /// More is better.
        Higher => "higher",
        /// Less is better.
        Lower => "lower",
    }
}

/// Suffixes of a size and their bytes; the exact binary ones first, as ids prefer them.
const SIZE_SUFFIXES: &[(&str, u64)] = &[
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("KB", 1_000),
    ("B", 1),
];

/// The largest size that an option accepts: 2^50 bytes, beyond any machine's memory and far from overflow.
const SIZE_LIMIT_BYTES: f64 = (1_u64 << 50) as f64;

/// Reads a size: `4096`, `64KiB`, `1.5GB`; a bare number is bytes. The error is one sentence.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let (value, factor) = number_and_factor(text, SIZE_SUFFIXES.iter().copied(), 1).ok_or_else(|| {
        format!("'{text}' is no size; write bytes or a number with B, KB, MB, GB (powers of 1000) or KiB, MiB, GiB (powers of 1024)")
    })?;
    let bytes = value * factor as f64;
    if bytes < 1.0 {
        return Err(format!("'{text}' is no usable size: it must be at least 1 byte"));
    }
    if bytes > SIZE_LIMIT_BYTES {
        return Err(format!("'{text}' is too large a size: at most 1024TiB are accepted"));
    }
    Ok(whole_part(bytes.round()))
}

/// The whole part of a number; 0 of a negative one, the largest integer of one beyond it.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
pub const fn whole_part(value: f64) -> u64 {
    value as u64
}

/// A number without sign and exponent, and the factor of the first suffix that it has.
fn number_and_factor<F>(text: &str, suffixes: impl Iterator<Item = (&'static str, F)>, plain: F) -> Option<(f64, F)> {
    let text = text.trim();
    let mut found = suffixes.filter_map(|(suffix, factor)| Some((text.strip_suffix(suffix)?.trim_end(), factor)));
    let (number, factor) = found.next().unwrap_or((text, plain));
    let digits = number.chars().all(|c| c.is_ascii_digit() || c == '.');
    Some((number.parse().ok().filter(|_| digits)?, factor))
}

/// Writes a size as ids have it, the largest suffix of a whole number: `1GiB`, `1MB`, `65507B`.
pub fn format_size(bytes: u64) -> String {
    SIZE_SUFFIXES
        .iter()
        .find(|(_, factor)| bytes >= *factor && bytes.is_multiple_of(*factor))
        .map_or_else(|| format!("{bytes}B"), |(suffix, factor)| format!("{}{suffix}", bytes / factor))
}

/// Reads a duration in seconds: `90s`, `1.5m`, `500ms`, `2h`; a bare number is seconds. The error is one sentence.
pub fn parse_seconds(text: &str) -> Result<f64, String> {
    let factors = [("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
    let seconds = number_and_factor(text, factors.into_iter(), 1.0).map(|(value, factor)| value * factor);
    match seconds {
        Some(seconds) if seconds > 0.0 && seconds <= 1e7 => Ok(seconds),
        Some(_) => Err(format!("'{text}' is no usable duration: it must be above 0 and at most 10000000 seconds")),
        None => Err(format!("'{text}' is no duration; write for example 90s, 500ms, 2m or 1h")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_in_both_bases_and_written_as_ids_have_them() {
        let known = [("4096", 4096), ("64KiB", 65536), ("1 MB", 1_000_000), ("1.5GiB", 3 << 29)];
        assert!(known.iter().all(|(text, bytes)| parse_size(text) == Ok(*bytes)));
        for text in ["10X", "-1", "1e99", "", "KiB", "0", "9999999999TiB", "1.2.3", "NaN", "inf"] {
            assert!(parse_size(text).is_err(), "{text} was accepted");
        }
        for bytes in [1, 8, 1000, 1024, 65507, 1 << 20, 10_000_000, 3 << 29, 1 << 40] {
            assert_eq!(parse_size(&format_size(bytes)), Ok(bytes));
        }
        assert_eq!([1 << 30, 1_000_000].map(format_size), ["1GiB", "1MB"]);
    }

    #[test]
    fn durations_are_read_and_nonsense_refused() {
        assert_eq!(["90s", "500ms", "2m"].map(parse_seconds), [90.0, 0.5, 120.0].map(Ok));
        for text in ["", "s", "-1s", "1e9", "0", "1d", "inf"] {
            assert!(parse_seconds(text).is_err(), "{text} was accepted");
        }
    }
}
