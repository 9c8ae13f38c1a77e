//! `docs/performance.md` from all attempts: per machine a table with the latest attempt of each comparison, what the
//! attempts before it showed, and the commands.

use std::fmt::Write as _;

use super::attempt::Attempt;

const HEAD: &str = "\
# Performance beside the tools that people trust

Written by `cargo xtask peers`; every figure here comes from that command, and nothing is edited by hand. It measures
ours and theirs in turn (pairs in the order ABBA, on the same CPUs, at the same sizes, each side in fresh processes, the
number of pairs fixed beforehand) through the same seam that `assay run --references` uses, and appends every attempt,
whatever it shows, to [peers.jsonl](peers.jsonl).

- **ratio**: ours over theirs, of the medians, with its 95 % interval over pairs. For latencies less is better.
- **cv**: how far the figures of a side scatter from pair to pair: 1.4826 MAD / median.
- **verdict**: *at least as good*: the ratio is on our side of 1 and its worse end within 5 % of it. *Behind*: the whole
  interval is on the other side of 1. *Cannot tell*: anything between; ± is half of the interval.
- **attempts**: how many there have been on this machine, with the least and the greatest ratio.
";

/// The page: what was compared with peers, and our own kernels against their limits.
pub(crate) fn render(attempts: &[Attempt], limits: &[Attempt]) -> String {
    let mut page = HEAD.to_owned();
    for machine in in_order(attempts.iter().chain(limits).map(|attempt| attempt.text("machine"))) {
        let is_here = |attempt: &&Attempt| attempt.text("machine") == machine;
        let here: Vec<&Attempt> = attempts.iter().filter(is_here).collect();
        let own: Vec<&Attempt> = limits.iter().filter(is_here).collect();
        let _ = writeln!(page, "\n## {machine}\n");
        if !here.is_empty() {
            section(&mut page, &here);
        }
        super::limits::section(&mut page, &own);
    }
    page
}

fn in_order<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut order = Vec::new();
    for item in items {
        if !order.contains(&item) {
            order.push(item);
        }
    }
    order
}

fn section(page: &mut String, here: &[&Attempt]) {
    let comparisons = in_order(here.iter().map(|attempt| attempt.comparison()));
    let of = |comparison| here.iter().copied().filter(move |attempt| attempt.comparison() == comparison);
    let latest: Vec<(&Attempt, Vec<&Attempt>)> = comparisons
        .iter()
        .filter_map(|comparison| Some((of(*comparison).next_back()?, of(*comparison).collect())))
        .collect();
    page.push_str("| what | tool | ours | theirs | ratio (95 %) | pairs | verdict | attempts |\n|---|---|---|---|---|---|---|---|\n");
    for (attempt, all) in &latest {
        page.push_str(&line(attempt, all));
    }
    page.push_str("\nThe commands, as they were run last:\n\n```text\n");
    for (attempt, _) in &latest {
        commands(page, attempt);
    }
    page.push_str("```\n\n");
}

/// One row of the table.
fn line(attempt: &Attempt, all: &[&Attempt]) -> String {
    let figure =
        |key| attempt.number(key).map_or_else(|| "–".to_owned(), |value| quantity(value, attempt.text("unit")));
    let spread = |key| attempt.number(key).map_or_else(String::new, |cv| format!(" (cv {:.1} %)", 100.0 * cv));
    let ratio = match (attempt.number("ratio"), attempt.interval()) {
        (Some(ratio), Some((low, high))) => format!("{ratio:.3} ({low:.3} … {high:.3})"),
        (Some(ratio), None) => format!("{ratio:.3}"),
        (None, _) => "–".to_owned(),
    };
    let ratios: Vec<f64> = all.iter().filter_map(|attempt| attempt.number("ratio")).collect();
    let range = ratios.iter().copied().reduce(f64::min).zip(ratios.iter().copied().reduce(f64::max));
    let range =
        range.filter(|_| ratios.len() > 1).map_or_else(String::new, |(low, high)| format!(": {low:.3} … {high:.3}"));
    format!(
        "| `{}` {} | {} {} | {}{} | {}{} | {ratio} | {} | {} | {}{range} |\n",
        attempt.text("id"),
        attempt.text("metric"),
        attempt.text("tool"),
        attempt.text("version"),
        figure("ours"),
        spread("ours_cv_robust"),
        figure("theirs"),
        spread("theirs_cv_robust"),
        attempt.number("pairs").unwrap_or(0.0),
        verdict(attempt),
        all.len(),
    )
}

fn verdict(attempt: &Attempt) -> String {
    let half_width = attempt.number("half_width").map_or_else(String::new, |half| format!(" (±{:.1} %)", 100.0 * half));
    match attempt.text("verdict") {
        "at_least" => format!("at least as good{half_width}"),
        "below" => format!("**behind**{half_width}"),
        "inconclusive" => format!("cannot tell{half_width}"),
        _ => format!("{}: {}", attempt.text("status"), attempt.text("reason").replace('|', "/")),
    }
}

fn commands(page: &mut String, attempt: &Attempt) {
    let (server, client) = (attempt.words("server_argv"), attempt.words("argv"));
    if client.is_empty() {
        return;
    }
    let _ = writeln!(page, "# {}, {}, kernel {}", attempt.text("id"), attempt.text("when"), attempt.text("kernel"));
    if !server.is_empty() {
        let _ = writeln!(page, "{} &", server.join(" "));
    }
    let _ = writeln!(page, "{}", client.join(" "));
}

/// A figure with four digits and a prefix, for tables alone.
pub(super) fn quantity(value: f64, unit: &str) -> String {
    let steps = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n")];
    let (factor, prefix) = steps.into_iter().find(|(factor, _)| value >= *factor).unwrap_or((1.0, ""));
    let scaled = value / factor;
    let decimals = if scaled < 10.0 {
        3
    } else if scaled < 100.0 {
        2
    } else {
        1
    };
    // A rate of events has no unit that takes a prefix.
    let unit = if unit == "1/s" { "/s" } else { unit };
    format!("{scaled:.decimals$} {prefix}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(id: &str, ratio: &str, verdict: &str) -> Attempt {
        let line = format!(
            r#"{{"machine": "M", "id": "{id}", "metric": "throughput", "unit": "B/s", "tool": "t", "version": "1",
               "ours": 4.2e9, "theirs": 4e9, "ratio": {ratio}, "ratio_ci95": [0.9, 1.2], "half_width": 0.15,
               "pairs": 20, "verdict": "{verdict}", "status": "ok", "argv": ["/usr/bin/t", "-x"], "when": "now", "kernel": "6"}}"#
        );
        Attempt::of_line(&line).unwrap()
    }

    #[test]
    fn the_latest_attempt_stands_in_the_table_and_the_others_in_its_range() {
        let page = render(
            &[attempt("a", "0.95", "inconclusive"), attempt("b", "1", "below"), attempt("a", "1.05", "at_least")],
            &[],
        );
        assert_eq!(page.matches("| `a` ").count(), 1, "{page}");
        assert!(page.contains("| 4.200 GB/s | 4.000 GB/s | 1.050 (0.900 … 1.200) | 20 | at least as good (±15.0 %) | 2: 0.950 … 1.050 |"), "{page}");
        assert!(page.contains("**behind** (±15.0 %) | 1 |"), "{page}");
        assert!(page.contains("/usr/bin/t -x"), "{page}");
    }

    #[test]
    fn a_tool_that_could_not_be_run_is_told_with_its_reason() {
        let line = r#"{"machine": "M", "id": "a", "metric": "iops", "unit": "1/s", "tool": "t", "status": "skipped", "reason": "not found"}"#;
        let page = render(&[Attempt::of_line(line).unwrap()], &[]);
        assert!(page.contains("skipped: not found"), "{page}");
    }

    #[test]
    fn figures_have_four_digits() {
        assert_eq!(quantity(4.2e9, "B/s"), "4.200 GB/s");
        assert_eq!(quantity(18.23e-6, "s"), "18.23 µs");
        assert_eq!(quantity(68_700.0, "1/s"), "68.70 k/s");
    }
}
