//! The pages under docs/evidence from all attempts. The machine measured last is on the front page, each other one has its own.

use std::fmt::Write as _;

use super::attempt::{Mark, VETH};
use super::texts::{
    AWAKE, BETWEEN, COMMANDS_HEAD, COMMANDS_OF_LAST, COSTS, FOLDER, FROM_ELSEWHERE, HEAD, LIMITS_HEAD, ON_A_LOOP,
    OTHERS, TAILS, or_dash, quantity,
};
use crate::record::{Record, distinct};

pub(super) fn render_limits(limits: &[Record]) -> String {
    let mut page = LIMITS_HEAD.to_owned();
    for machine in distinct(limits.iter().map(|record| record.text("machine"))) {
        let _ = writeln!(page, "\n## {machine}\n");
        let here = limits.iter().filter(|record| record.text("machine") == machine);
        super::limits::section(&mut page, &here.collect::<Vec<_>>());
    }
    page
}

/// The front page: the machine measured last, and links to the other machines.
pub(super) fn render(attempts: &[Record]) -> String {
    let mut page = HEAD.to_owned();
    let machines = machines(attempts);
    let Some((last, others)) = machines.split_first() else { return page };
    let _ = writeln!(page, "\n## {last}\n");
    compared(&mut page, &of_machine(attempts, last), COMMANDS_OF_LAST);
    if !others.is_empty() {
        page.push_str(OTHERS);
    }
    for machine in others {
        let mut plain = of_machine(attempts, machine);
        plain.retain(|attempt| !attempt.has(Mark::Awake) && !attempt.has(Mark::OnLoop));
        let [all, at_least, behind, open] = counts(&latest_of(&plain));
        let path = format!("{FOLDER}/{}", slug(machine));
        let _ = writeln!(
            page,
            "| [{machine}]({path}.md) | [called]({path}-commands.md) | {all} | {at_least} | {behind} | {open} |"
        );
    }
    page
}

/// Two pages for each other machine, with their paths: its comparisons, and the commands of the tools.
pub(super) fn render_others(attempts: &[Record]) -> Vec<(String, String)> {
    let page = |machine: &&str| {
        let slug = slug(machine);
        let mut comparisons = format!(
            "# Performance on {machine}\n\nWritten by `cargo lab peers`. The columns and the other machines are in \
             [performance.md](../performance.md).\n\n"
        );
        let here = of_machine(attempts, machine);
        compared(&mut comparisons, &here, &format!("{slug}-commands.md"));
        let mut commands =
            format!("# How the tools were called on {machine}\n\nThe results are in [{slug}.md]({slug}.md).\n");
        commands_of(&mut commands, machine, &here);
        [(format!("{FOLDER}/{slug}.md"), comparisons), (format!("{FOLDER}/{slug}-commands.md"), commands)]
    };
    machines(attempts).iter().skip(1).flat_map(page).collect()
}

/// The machines, the one measured last first. Machines known only from documents come last: such a document may cover one area,
/// which is too little for the front page.
fn machines(attempts: &[Record]) -> Vec<&str> {
    let measured = attempts.iter().rev().filter(|attempt| !attempt.has(Mark::Elsewhere));
    distinct(measured.chain(attempts.iter().rev()).map(|attempt| attempt.text("machine")))
}

fn of_machine<'a>(attempts: &'a [Record], machine: &str) -> Vec<&'a Record> {
    attempts.iter().filter(|attempt| attempt.text("machine") == machine).collect()
}

fn slug(machine: &str) -> String {
    let words = machine.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-")
}

fn compared(page: &mut String, here: &[&Record], commands: &str) {
    let part_of = |attempt: &Record| match attempt {
        veth if veth.text("path") == VETH => BETWEEN,
        awake if awake.has(Mark::Awake) => AWAKE,
        on_loop if on_loop.has(Mark::OnLoop) => ON_A_LOOP,
        _ => "",
    };
    for head in ["", AWAKE, ON_A_LOOP, BETWEEN] {
        let part: Vec<&Record> = here.iter().copied().filter(|attempt| part_of(attempt) == head).collect();
        if !part.is_empty() {
            page.push_str(head);
            section(page, &part);
        }
    }
    if here.iter().any(|attempt| attempt.has(Mark::Elsewhere)) {
        page.push_str(FROM_ELSEWHERE);
    }
    let _ = writeln!(page, "The last command of each tool: [{commands}]({commands}).");
}

fn section(page: &mut String, here: &[&Record]) {
    let latest = latest_of(here);
    page.push_str(
        "| benchmark | tool | ours | theirs | ratio (95 %) | pairs | verdict | attempts |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for attempt in &latest {
        let same = here.iter().copied().filter(|other| other.comparison() == attempt.comparison());
        page.push_str(&table_row(attempt, &same.collect::<Vec<_>>(), &latest));
    }
    let [all, at_least, behind, open] = counts(&latest);
    let _ = writeln!(
        page,
        "\nCompared with the best tool for each of {all} benchmarks: {at_least} at least as good, {behind} behind, \
         {open} inconclusive."
    );
    costs(page, &latest);
    tails(page, &latest);
    page.push('\n');
}

/// The latest attempt of each comparison, in the order in which they were first made.
fn latest_of<'a>(here: &[&'a Record]) -> Vec<&'a Record> {
    let comparisons = distinct(here.iter().map(|attempt| attempt.comparison()));
    let latest = |comparison| here.iter().copied().rfind(|attempt| attempt.comparison() == comparison);
    comparisons.into_iter().filter_map(latest).collect()
}

pub(super) fn render_commands(attempts: &[Record]) -> String {
    let mut page = COMMANDS_HEAD.to_owned();
    if let Some(last) = machines(attempts).first() {
        commands_of(&mut page, last, &of_machine(attempts, last));
    }
    page
}

fn commands_of(page: &mut String, machine: &str, here: &[&Record]) {
    let _ = writeln!(page, "\n## {machine}\n\n```text");
    for attempt in latest_of(here) {
        command(page, attempt);
    }
    page.push_str("```\n");
}

fn also_cells(attempt: &Record, name: &str) -> Option<String> {
    let [ours, theirs, ratio, low, high] = attempt.also(name)?;
    Some(format!("{} | {} | {ratio:.3} ({low:.3} … {high:.3})", quantity(ours, "s"), quantity(theirs, "s")))
}

fn costs(page: &mut String, latest: &[&Record]) {
    let mut head = COSTS;
    for attempt in latest {
        let Some(cpu) = also_cells(attempt, "cpu_seconds_per_request") else { continue };
        page.push_str(std::mem::take(&mut head));
        let _ = writeln!(
            page,
            "| `{}` | {} | {} | {cpu} | {} | {} |",
            attempt.text("id"),
            attempt.text("tool"),
            also_cells(attempt, "latency").unwrap_or_else(|| "– | – | –".to_owned()),
            or_dash(attempt.number("loop_iops").map(|rate| quantity(rate, "1/s"))),
            or_dash(without_loop(attempt).map(|ratio| format!("{ratio:.3}"))),
        );
    }
}

/// The ratio of CPU time per request if our own loop took none.
fn without_loop(attempt: &Record) -> Option<f64> {
    let [ours, _, ratio, ..] = attempt.also("cpu_seconds_per_request")?;
    let own = attempt.number("loop_iops").filter(|rate| *rate > 0.0)?.recip();
    Some(ratio * (1.0 - own / ours).max(0.0))
}

fn tails(page: &mut String, latest: &[&Record]) {
    let mut head = TAILS;
    for attempt in latest {
        let Some(cells) = also_cells(attempt, "latency_p99") else { continue };
        page.push_str(std::mem::take(&mut head));
        let _ = writeln!(page, "| `{}` | {} | {cells} |", attempt.text("id"), attempt.text("tool"));
    }
}

/// The measured tools for the benchmark of an attempt, and whether none has a better value than its tool.
fn standing(latest: &[&Record], attempt: &Record) -> (usize, bool) {
    let values = latest.iter().filter(|other| other.same_metric(attempt)).filter_map(|other| other.number("theirs"));
    let values: Vec<f64> = values.collect();
    let is_lower_better = attempt.text("better") == "lower";
    let is_best = attempt
        .number("theirs")
        .is_some_and(|own| !values.iter().any(|other| if is_lower_better { *other < own } else { *other > own }));
    (values.len(), is_best)
}

/// The benchmarks, and how many are at least as good as their best tool, behind it, and inconclusive.
fn counts(latest: &[&Record]) -> [usize; 4] {
    let best = latest.iter().filter(|attempt| standing(latest, attempt).1);
    let verdicts: Vec<&str> = best.map(|attempt| attempt.text("verdict")).collect();
    let count = |wanted: &str| verdicts.iter().filter(|verdict| **verdict == wanted).count();
    [verdicts.len(), count("at_least"), count("below"), count("inconclusive")]
}

fn table_row(attempt: &Record, all: &[&Record], latest: &[&Record]) -> String {
    let side = |value, cv| {
        let value = or_dash(attempt.number(value).map(|value| quantity(value, attempt.text("unit"))));
        let cv = attempt.number(cv).map_or_else(String::new, |cv| format!(" (cv {:.1} %)", 100.0 * cv));
        value + &cv
    };
    let best = match standing(latest, attempt) {
        (tools, true) if tools > 1 => format!(", the best of {tools}"),
        _ => String::new(),
    };
    let interval = attempt.interval().map_or_else(String::new, |(low, high)| format!(" ({low:.3} … {high:.3})"));
    let ratios: Vec<f64> = all.iter().filter_map(|attempt| attempt.number("ratio")).collect();
    let [least, most] = [f64::min, f64::max].map(|end| ratios.iter().copied().reduce(end).unwrap_or_default());
    let range = if ratios.len() > 1 { format!(": {least:.3} … {most:.3}") } else { String::new() };
    format!(
        "| `{}` {} | {} {}{best} | {} | {} | {} | {} | {} | {}{range} |\n",
        attempt.text("id"),
        attempt.text("metric"),
        attempt.text("tool"),
        attempt.text("version"),
        side("ours", "ours_cv_robust"),
        side("theirs", "theirs_cv_robust"),
        or_dash(attempt.number("ratio").map(|ratio| format!("{ratio:.3}{interval}"))),
        attempt.number("pairs").unwrap_or(0.0),
        verdict(attempt),
        all.len(),
    )
}

fn verdict(attempt: &Record) -> String {
    let half_width = attempt.number("half_width").map_or_else(String::new, |half| format!(" (±{:.1} %)", 100.0 * half));
    match attempt.text("verdict") {
        "at_least" => format!("at least as good{half_width}"),
        "below" => format!("**behind**{half_width}"),
        "inconclusive" => format!("inconclusive{half_width}"),
        _ => format!("{}: {}", attempt.text("status"), attempt.text("reason").replace('|', "/")),
    }
}

fn command(page: &mut String, attempt: &Record) {
    let (server, client) = (attempt.words("server_argv"), attempt.words("argv"));
    if client.is_empty() {
        return;
    }
    let cpus: Vec<String> = attempt.list("cpus").iter().map(ToString::to_string).collect();
    let [id, when, kernel] = ["id", "when", "kernel"].map(|key| attempt.text(key));
    let _ = writeln!(page, "# {id}, {when}, kernel {kernel}, CPUs {}", cpus.join(","));
    if !server.is_empty() {
        let _ = writeln!(page, "{} &", server.join(" "));
    }
    for variable in attempt.environment() {
        let _ = write!(page, "{variable} ");
    }
    let _ = writeln!(page, "{}", client.join(" "));
}
