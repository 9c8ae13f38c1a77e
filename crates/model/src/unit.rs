//! Units, and sizes and durations as people type them. Elsewhere in the program quantities have no prefix.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

crate::words::words! {
    /// The base units of the document.
    Unit, "unit", {
        /// Floating-point operations per second.
        FlopPerSecond => "flop/s",
        /// Integer operations per second.
        OpPerSecond => "op/s",
        /// Bytes per second.
        BytePerSecond => "B/s",
        /// Seconds.
        Second => "s",
        /// Events per second.
        PerSecond => "1/s",
        /// Cycles per second.
        Hertz => "Hz",
        /// CPU seconds per byte.
        SecondPerByte => "s/B",
        /// A plain ratio or count.
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
    let trimmed = text.trim();
    let (number, factor) = SIZE_SUFFIXES
        .iter()
        .find_map(|(suffix, factor)| trimmed.strip_suffix(suffix).map(|number| (number.trim_end(), *factor)))
        .unwrap_or((trimmed, 1));
    let plain = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '.');
    let value: f64 = number.parse().ok().filter(|_| plain).ok_or_else(|| {
        format!("'{text}' is no size; write bytes or a number with B, KB, MB, GB (powers of 1000) or KiB, MiB, GiB (powers of 1024)")
    })?;
    let bytes = value * factor as f64;
    if bytes < 1.0 {
        return Err(format!("'{text}' is no usable size: it must be at least 1 byte"));
    }
    if bytes > SIZE_LIMIT_BYTES {
        return Err(format!("'{text}' is too large a size: at most 1024TiB are accepted"));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 1 and 2^50 by the checks above"
    )]
    Ok(bytes.round() as u64)
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
    let trimmed = text.trim();
    let (number, factor) = [("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)]
        .iter()
        .find_map(|(suffix, factor)| trimmed.strip_suffix(suffix).map(|number| (number.trim_end(), *factor)))
        .unwrap_or((trimmed, 1.0));
    let plain = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '.');
    let seconds = number.parse::<f64>().ok().filter(|_| plain).map(|value| value * factor);
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
    fn sizes_are_read_in_both_bases() {
        assert_eq!(parse_size("4096"), Ok(4096));
        assert_eq!(parse_size("64KiB"), Ok(65536));
        assert_eq!(parse_size("1 MB"), Ok(1_000_000));
        assert_eq!(parse_size("1.5GiB"), Ok(3 << 29));
    }

    #[test]
    fn nonsense_is_no_size() {
        for text in ["10X", "-1", "1e99", "", "KiB", "0", "9999999999TiB", "1.2.3", "NaN", "inf"] {
            assert!(parse_size(text).is_err(), "{text} was accepted");
        }
    }

    #[test]
    fn a_written_size_reads_back() {
        for bytes in [1, 8, 1000, 1024, 65507, 1 << 20, 10_000_000, 3 << 29, 1 << 40] {
            assert_eq!(parse_size(&format_size(bytes)), Ok(bytes));
        }
        assert_eq!(format_size(1 << 30), "1GiB");
        assert_eq!(format_size(1_000_000), "1MB");
    }

    #[test]
    fn durations_are_read_and_nonsense_refused() {
        assert_eq!(parse_seconds("90s"), Ok(90.0));
        assert_eq!(parse_seconds("500ms"), Ok(0.5));
        assert_eq!(parse_seconds("2m"), Ok(120.0));
        for text in ["", "s", "-1s", "1e9", "0", "1d", "inf"] {
            assert!(parse_seconds(text).is_err(), "{text} was accepted");
        }
    }
}
