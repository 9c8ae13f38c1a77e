//! Times, sizes and counts as people say them.

use super::scale::{SIZE, Step, step};
use crate::unit::format_size;

/// A span of time: `3.4 s`, `88 s` is `1 min 28 s`, `2 h 05 min`.
pub fn duration(seconds: f64) -> String {
    const MINUTE: f64 = 60.0;
    const HOUR: f64 = 3600.0;
    // An empty sum is -0.0, and nothing takes less than no time.
    let seconds = if seconds > 0.0 { seconds } else { 0.0 };
    if seconds < 9.95 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds.round();
    if whole < MINUTE {
        format!("{whole:.0} s")
    } else if whole < HOUR {
        format!("{:.0} min {:02.0} s", (whole / MINUTE).floor(), whole % MINUTE)
    } else {
        let minutes = (seconds / MINUTE).round();
        format!("{:.0} h {:02.0} min", (minutes / MINUTE).floor(), minutes % MINUTE)
    }
}

/// A span of time in its largest unit alone, for estimates: `88 s`, `12 min`, `3.5 h`.
pub fn rough_duration(seconds: f64) -> String {
    match seconds {
        ..120.0 => format!("{seconds:.0} s"),
        ..7200.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

/// Bytes in powers of 1024, whole where they are: `1 GiB`, `23.4 GiB`.
pub fn size(bytes: u64) -> String {
    // The bound is the least value that would print as 1024.
    let Step { factor, unit } = step(bytes as f64, SIZE, 1023.95 / 1024.0);
    let scaled = bytes as f64 / factor;
    if scaled.fract() == 0.0 || scaled >= 99.95 {
        format!("{scaled:.0} {unit}")
    } else {
        format!("{} {unit}", format!("{scaled:.1}").trim_end_matches(".0"))
    }
}

/// Bytes in powers of 1024, in tenths from 1 GiB on and whole below: `1.0 GiB`, `64 MiB`.
pub fn size_rounded(bytes: u64) -> String {
    let Step { factor, unit } = step(bytes as f64, &SIZE[1..], 1.0);
    let decimals = usize::from(bytes >= 1 << 30);
    format!("{:.decimals$} {unit}", bytes as f64 / factor)
}

/// An exact size in the largest unit of which it is a whole number: `128 KiB`, `1 MB`.
pub fn size_exact(bytes: u64) -> String {
    let text = format_size(bytes);
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    format!("{} {}", &text[..digits], &text[digits..])
}

/// `0.5 CPUs`, `1 CPU`: a quota.
pub fn cpu_quota(cpus: f64) -> String {
    if cpus.to_bits() == 1.0_f64.to_bits() { "1 CPU".to_owned() } else { format!("{cpus} CPUs") }
}

/// `1 pair`, `2 pairs`.
pub fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_and_size_are_said_as_people_say_them() {
        let durations: Vec<_> = [0.04, 3.44, 9.96, 59.6, 72.0, 3599.7, 7500.0].map(duration).into();
        assert_eq!(durations, ["0.0 s", "3.4 s", "10 s", "1 min 00 s", "1 min 12 s", "1 h 00 min", "2 h 05 min"]);
        let sizes: Vec<_> = [0, 1000, 32 << 10, 1 << 30, 24_906_055_680, 1_073_741_823, u64::MAX].map(size).into();
        assert_eq!(sizes, ["0 B", "1000 B", "32 KiB", "1 GiB", "23.2 GiB", "1 GiB", "16384 PiB"]);
    }

    #[test]
    fn sizes_are_rounded_in_the_unit_that_keeps_them_short() {
        let rounded = [64 << 20, (1 << 30) - 1, 1 << 30, 1023 << 30, 900 << 40].map(size_rounded);
        assert_eq!(rounded, ["64 MiB", "1024 MiB", "1.0 GiB", "1023.0 GiB", "900.0 TiB"]);
    }

    #[test]
    fn an_estimate_has_one_unit() {
        assert_eq!([0.2, 119.0, 121.0, 7200.0].map(rough_duration), ["0 s", "119 s", "2 min", "2.0 h"]);
    }
}
