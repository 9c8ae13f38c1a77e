//! `--list`: what would be measured, and how long it would take.

use crate::grid::groups::grouped;
use crate::reason;
use model::number::{counted, duration, size};

/// One id a line, a tab, and the seconds expected for it (`3.4 s`), for standard output.
pub fn render(plan: &[(String, f64)]) -> String {
    let lines: Vec<String> = plan.iter().map(|(id, seconds)| format!("{id}\t{seconds:.1} s\n")).collect();
    lines.concat()
}

/// The plan in one line, for standard error: `24 rows, about 1 min 12 s`.
pub fn total(plan: &[(String, f64)]) -> String {
    let seconds: f64 = plan.iter().map(|(_, seconds)| seconds).sum();
    format!("{}, about {}", counted(plan.len() as u64, "benchmark"), duration(seconds))
}

/// What a plan writes to a disk, as the end of its line: bytes of test files, bytes of stated totals, seconds of writing at
/// full rate, and the write budget.
pub fn writes(file_bytes: u64, total_bytes: f64, seconds: f64, budget: Option<u64>, tools: bool) -> String {
    let known = file_bytes as f64 + total_bytes;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bytes of a plan, which saturate")]
    let known = size(known as u64);
    let of_what = if total_bytes > 0.0 { "for test files and stated totals" } else { "of test files" };
    let then = || format!(", plus what the device can write in {}", duration(seconds));
    let then = if seconds > 0.0 { then() } else { String::new() };
    let budget = budget.map(|bytes| format!("; at most {} in total", size(bytes))).unwrap_or_default();
    let tools = if tools { "; reference tools write more" } else { "" };
    format!("; writes about {known} {of_what} at most{then}{budget}{tools}")
}

type Obstacle = (String, Vec<String>);

/// What will be skipped: the first ids, a line for reasons that differ in numbers alone.
pub fn skipped(obstacles: &[Obstacle]) -> Vec<String> {
    let line = |(_, alike): (String, Vec<&Obstacle>)| {
        let ids: Vec<&str> = alike.iter().flat_map(|(_, ids)| ids).map(String::as_str).collect();
        let named = ids.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
        let more = ids.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let reason = reason::merged(&alike.iter().map(|(reason, _)| reason.as_str()).collect::<Vec<_>>());
        format!("skipped: {named}{more}: {reason}")
    };
    grouped(obstacles, |(reason, _)| Some(reason::shape(reason))).into_iter().map(line).collect()
}

const NAMED: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_stand_alone_before_the_tab() {
        let plan = [("cpu/fma/fp64/avx512/t1".to_owned(), 3.44), ("memory/sequential-read/t2".to_owned(), 70.0)];
        assert_eq!(render(&plan), "cpu/fma/fp64/avx512/t1\t3.4 s\nmemory/sequential-read/t2\t70.0 s\n");
        assert_eq!(total(&plan), "2 benchmarks, about 1 min 13 s");
        assert_eq!((render(&[]), total(&[])), (String::new(), "0 benchmarks, about 0.0 s".to_owned()));
    }

    #[test]
    fn what_is_written_is_said_as_far_as_it_is_known() {
        assert_eq!(writes(1 << 30, 0.0, 0.0, None, false), "; writes about 1 GiB of test files at most");
        assert_eq!(
            writes(1 << 30, 0.0, 12.2, None, false),
            "; writes about 1 GiB of test files at most, plus what the device can write in 12 s"
        );
        assert_eq!(
            writes(1 << 30, 10.0 * 1_073_741_824.0, 3.0, Some(100_000_000_000), true),
            "; writes about 11 GiB for test files and stated totals at most, plus what the \
                 device can write in 3.0 s; at most 93.1 GiB in total; reference \
                 tools write more"
        );
    }

    #[test]
    fn what_is_skipped_is_named_with_its_reason() {
        let ids = |count: usize| (0..count).map(|id| format!("a/{id}")).collect::<Vec<_>>();
        assert_eq!(skipped(&[("too long".to_owned(), ids(2))]), ["skipped: a/0, a/1: too long"]);
        assert_eq!(skipped(&[("no room".to_owned(), ids(6))]), ["skipped: a/0, a/1, a/2, a/3 and 2 more: no room"]);
        let takes = |seconds: u32, count| (format!("it takes {seconds} s"), ids(count));
        assert_eq!(skipped(&[takes(30, 1), takes(9, 1)]), ["skipped: a/0, a/0: it takes 9 to 30 s"]);
    }
}
