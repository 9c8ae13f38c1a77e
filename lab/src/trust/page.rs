//! docs/evidence/trust.md from all results: each claim with its value, count, date, machine and command.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::verdicts::Verdicts;
use super::{disturbances, live, sessions, undisturbed as estimates};
use crate::record::{Record, distinct};

const HEAD: &str = "\
# Can the results be trusted?

Written by `cargo lab trust`, never by hand. Every result is appended to [trust.jsonl](../../lab/data/trust.jsonl); the tables show
the latest call of each part. `cargo lab trust page` writes the page again without measuring. Methods: [how a benchmark is
measured](../explanation/measuring.md).
";

/// Of verdicts on what did not change, the greatest share of "changed", percent.
const FALSE_CHANGES: f64 = 1.0;
/// The least share of the trials of a slowdown that must be found, percent.
const FOUND: f64 = 90.0;
/// The least share of the trials of a disturbance that must be flagged, percent.
const FLAGGED: f64 = 95.0;
/// The least number of verdicts for a share of them.
const ENOUGH: u64 = 200;
/// The greatest relative difference from scipy.
const AGREED: f64 = 1e-9;

pub(super) fn render(lines: &[Record]) -> String {
    let mut page = HEAD.to_owned();
    scipy(&mut page, &latest(lines, "statistics", "scipy"));
    coverage(&mut page, &latest(lines, "statistics", "coverage"));
    same(&mut page, lines);
    slowdowns(&mut page, lines);
    consecutive(&mut page, lines);
    disturbed(&mut page, lines);
    undisturbed(&mut page, lines);
    undisturbed_values(&mut page, lines);
    page
}

/// The records of the latest call of a part, and those of earlier calls.
fn calls<'a>(lines: &'a [Record], part: &str, what: &str) -> (Vec<&'a Record>, Vec<&'a Record>) {
    let of: Vec<&Record> = lines.iter().filter(|line| line.text("part") == part && line.text("what") == what).collect();
    let last = of.last().map_or("", |line| line.text("batch"));
    of.into_iter().partition(|line| line.text("batch") == last)
}

fn latest<'a>(lines: &'a [Record], part: &str, what: &str) -> Vec<&'a Record> {
    calls(lines, part, what).0
}

fn origin(lines: &[&Record]) -> String {
    lines.last().map_or_else(String::new, |line| {
        let machine = line.text("machine");
        let machine = if machine.is_empty() { String::new() } else { format!("; {machine}") };
        format!("{}, commit {}{machine}", line.text("batch"), line.text("git"))
    })
}

fn title(page: &mut String, title: &str, command: &str, lines: &[&Record]) {
    let _ = writeln!(page, "\n## {title}\n");
    if lines.is_empty() {
        let _ = writeln!(page, "Not tried yet: `cargo lab trust {command}`.");
    } else {
        let _ = writeln!(page, "`cargo lab trust {command}`, {}.\n", origin(lines));
    }
}

fn percent(part: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { 100.0 * part as f64 / all as f64 }
}

fn goal(page: &mut String, sentence: &str, reached: bool) {
    let verdict = if reached { "Reached" } else { "**Not reached**" };
    let _ = writeln!(page, "\n{verdict}: {sentence}");
}

fn scipy(page: &mut String, lines: &[&Record]) {
    title(page, "Statistics agree with scipy", "statistics", lines);
    let Some(first) = lines.first() else { return };
    let _ = writeln!(page, "| method | values | largest relative difference |\n|---|---|---|");
    for line in lines {
        let difference = match line.number("largest_difference") {
            Some(0.0) => "none".to_owned(),
            Some(found) => format!("{found:.1e}"),
            None => "unknown".to_owned(),
        };
        let _ = writeln!(page, "| {} | {} | {difference} |", line.text("method"), line.count("figures"));
    }
    let agreed = lines.iter().all(|line| line.number("largest_difference").is_some_and(|found| found <= AGREED));
    let versions = format!("scipy {}, numpy {}", first.text("scipy"), first.text("numpy"));
    goal(page, &format!("every value is within 1e-9 of {versions}."), agreed);
}

fn coverage(page: &mut String, lines: &[&Record]) {
    title(page, "Intervals have the coverage that they report", "statistics", lines);
    if lines.is_empty() {
        return;
    }
    page.push_str(
        "Simulated with fixed seeds; [coverage.rs](../../crates/stats/examples/coverage.rs) defines the true value of each case. \
         *Reported* is the mean confidence of the intervals; a few process runs that differ report less than 95 %. ± is the \
         median half width of all trials.\n\n",
    );
    page.push_str("| interval | noise | n | trials | coverage | reported | ± |\n|---|---|---|---|---|---|---|\n");
    for line in lines {
        let share = |key| 100.0 * line.number(key).unwrap_or(f64::NAN);
        let mark = match (line.is("holds"), line.is("claimed")) {
            (true, _) => "",
            (false, true) => " **less than reported**",
            (false, false) => " (not claimed)",
        };
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {:.1} %{mark} | {:.1} % | {:.2} % |",
            in_process_runs(line.text("interval")),
            in_process_runs(line.text("noise")),
            line.count("n"),
            line.count("trials"),
            share("coverage"),
            share("reported"),
            share("half_width"),
        );
    }
    let held = lines.iter().filter(|line| line.is("claimed")).all(|line| line.is("holds"));
    goal(page, "every claimed interval has the coverage that it reports, or 95 %.", held);
    page.push_str(
        "\nNot claimed, because the samples cannot show it: two separate runs with different drifts, and three process runs that all \
         hit the same mode of a machine with two.\n",
    );
}

fn verdicts(page: &mut String, lines: &[&Record]) -> Verdicts {
    let mut areas: BTreeMap<&str, Verdicts> = BTreeMap::new();
    let mut total = Verdicts::default();
    for line in lines {
        areas.entry(line.text("area")).or_default().add(Verdicts::of_line(line));
        total.add(Verdicts::of_line(line));
    }
    page.push_str("| area | verdicts | changed | same | inconclusive |\n|---|---|---|---|---|\n");
    for (area, found) in areas.into_iter().chain([("all", total)]) {
        let _ = writeln!(
            page,
            "| {area} | {} | {} ({:.1} %) | {} | {} ({:.0} %) |",
            found.all(),
            found.changed,
            percent(found.changed, found.all()),
            found.same,
            found.inconclusive,
            percent(found.inconclusive, found.all()),
        );
    }
    total
}

fn few_changes(page: &mut String, total: Verdicts) {
    let share = percent(total.changed, total.all());
    let sentence = format!(
        "{share:.1} % of {} verdicts are a false \"changed\"; the limit is {FALSE_CHANGES} % of at least {ENOUGH}.",
        total.all()
    );
    goal(page, &sentence, total.all() >= ENOUGH && share <= FALSE_CHANGES);
}

/// The sum of all calls before the latest.
fn earlier(page: &mut String, lines: &[Record], part: &str, what: &str) {
    let before = calls(lines, part, what).1;
    let mut total = Verdicts::default();
    for line in &before {
        total.add(Verdicts::of_line(line));
    }
    if !before.is_empty() {
        let _ = writeln!(
            page,
            "\nCalls of earlier versions ({}): {} changed, {} same, {} inconclusive.",
            distinct(before.iter().map(|line| line.text("batch"))).len(),
            total.changed,
            total.same,
            total.inconclusive
        );
    }
}

/// The recorded name of a case, in today's words.
fn in_process_runs(name: &str) -> String {
    name.replace("launches", "process runs")
}

fn same(page: &mut String, lines: &[Record]) {
    let found = latest(lines, "live", live::SAME_NAME);
    title(page, "Live: the same against itself", "live", &found);
    if found.is_empty() {
        return;
    }
    let total = verdicts(page, &found);
    few_changes(page, total);
    earlier(page, lines, "live", live::SAME_NAME);
    page.push_str("\nThe commands, with another `--seed` each:\n\n```text\n");
    for side in live::SAME {
        let _ = writeln!(page, "assay compare --live '{side}' '{side}' {} --json", live::SAME_OPTIONS.join(" "));
    }
    page.push_str("```\n");
}

fn slowdowns(page: &mut String, lines: &[Record]) {
    let tried: Vec<Vec<&Record>> = live::SLOWDOWNS.iter().map(|slow| latest(lines, "live", slow.name)).collect();
    let any: Vec<&Record> = tried.iter().flatten().copied().collect();
    title(page, "Live: real slowdowns", "live", &any);
    if any.is_empty() {
        return;
    }
    page.push_str("A quota of a control group, set by `--switch-b` and lifted by `--switch-a`.\n\n");
    page.push_str("| slowdown | benchmark | found | trials |\n|---|---|---|---|\n");
    let mut reached = true;
    for (slowdown, trials) in live::SLOWDOWNS.iter().zip(&tried) {
        let found = trials.iter().filter(|line| line.is("found")).count() as u64;
        let share = percent(found, trials.len() as u64);
        reached &= share >= FOUND && trials.len() >= live::TRIALS as usize;
        let _ = writeln!(
            page,
            "| {} | `--live '{1}' '{1}' {2}` | {found} ({share:.0} %) | {3} |",
            slowdown.name,
            slowdown.side,
            live::SLOWDOWN_OPTIONS.join(" "),
            trials.len()
        );
    }
    goal(page, &format!("each slowdown is found in at least {FOUND} % of {} trials.", live::TRIALS), reached);
}

fn consecutive(page: &mut String, lines: &[Record]) {
    let found = latest(lines, "sessions", sessions::NAME);
    title(page, "Separate sessions: nothing changed", "sessions", &found);
    if found.is_empty() {
        return;
    }
    let command = sessions::RUN.join(" ");
    let _ = writeln!(
        page,
        "`assay {command}` repeatedly, and `assay compare` of consecutive runs. Nothing was changed between them. Interference from \
         other VMs on the host makes verdicts inconclusive.\n"
    );
    let total = verdicts(page, &found);
    let sum = |key: &str| found.iter().map(|line| line.count(key)).sum::<u64>();
    let _ = writeln!(
        page,
        "\nOperations per cycle: {} of {} verdicts \"changed\".",
        sum("per_cycle_changed"),
        sum("per_cycle_all")
    );
    few_changes(page, total);
    earlier(page, lines, "sessions", sessions::NAME);
}

fn disturbed(page: &mut String, lines: &[Record]) {
    let tried: Vec<Vec<&Record>> =
        disturbances::DISTURBANCES.iter().map(|one| latest(lines, "disturbances", one.name)).collect();
    let any: Vec<&Record> = tried.iter().flatten().copied().collect();
    title(page, "Disturbances made on purpose", "disturbances", &any);
    if any.is_empty() {
        return;
    }
    page.push_str(
        "| disturbance | made by | flagged | failed | any of these warnings | benchmark |\n|---|---|---|---|---|---|\n",
    );
    let mut missed = Vec::new();
    for (disturbance, trials) in disturbances::DISTURBANCES.iter().zip(&tried) {
        let failed = trials.iter().filter(|line| !line.text("failed").is_empty()).count();
        let flagged = trials.iter().filter(|line| line.is("flagged") && line.text("failed").is_empty()).count();
        let enough = trials.len() >= disturbances::TRIALS as usize;
        if !enough || percent(flagged as u64, (trials.len() - failed) as u64) < FLAGGED {
            missed.push(disturbance.name);
        }
        let _ = writeln!(
            page,
            "| {} | {} | {flagged} of {} | {failed} | `{}` | `{}` |",
            disturbance.name,
            disturbance.how,
            trials.len(),
            disturbance.codes.join("`, `"),
            disturbance.row
        );
    }
    page.push_str("\nA benchmark that fails with a reason is counted separately, because it reports no value.\n");
    let exceptions = if missed.is_empty() { String::new() } else { format!(" Missed: {}.", missed.join(", ")) };
    let sentence = format!("each is flagged in at least {FLAGGED} % of {} trials.{exceptions}", disturbances::TRIALS);
    goal(page, &sentence, missed.is_empty());
}

fn undisturbed(page: &mut String, lines: &[Record]) {
    let found = latest(lines, "disturbances", disturbances::NOTHING);
    title(page, "The same benchmarks, undisturbed", "disturbances", &found);
    if found.is_empty() {
        return;
    }
    page.push_str("How often an undisturbed benchmark has less than high confidence, and why.\n\n");
    page.push_str("| benchmark | trials | high | fair | low | reasons |\n|---|---|---|---|---|---|\n");
    for row in disturbances::UNDISTURBED {
        let trials: Vec<&&Record> = found.iter().filter(|line| line.text("row") == *row).collect();
        let count = |level: &str| trials.iter().filter(|line| line.confidence() == level).count();
        let mut reasons: BTreeMap<&str, u32> = BTreeMap::new();
        for code in trials.iter().flat_map(|line| line.words("lowering")) {
            *reasons.entry(code).or_default() += 1;
        }
        let reasons: Vec<String> = reasons.iter().map(|(code, times)| format!("`{code}` {times}")).collect();
        let reasons = if reasons.is_empty() { "–".to_owned() } else { reasons.join(", ") };
        let [high, fair, low] = ["high", "fair", "low"].map(count);
        let row = disturbances::in_full(row);
        let _ = writeln!(page, "| `{row}` | {} | {high} | {fair} | {low} | {reasons} |", trials.len());
    }
}

/// Of the trials of a disturbance, the least share that must be within its bound, percent.
const WITHIN: f64 = 95.0;

fn undisturbed_values(page: &mut String, lines: &[Record]) {
    let of_part: Vec<&Record> = lines.iter().filter(|line| line.text("part") == "undisturbed").collect();
    title(page, "Undisturbed values and quiet runs", "undisturbed", &of_part);
    if of_part.is_empty() {
        return;
    }
    page.push_str(
        "The undisturbed value of a run with the disturbance over the median of the quiet run before it.\n\n",
    );
    page.push_str("| disturbance | benchmark | trials | undisturbed / quiet, median (min … max) | measured / quiet | within |\n|---|---|---|---|---|---|\n");
    let (mut within, mut all) = (0, 0);
    for case in estimates::CASES {
        let found = latest(lines, "undisturbed", case.name);
        for row in distinct(found.iter().map(|line| line.text("row"))) {
            let trials = || found.iter().filter(|line| line.text("row") == row);
            let sorted = |key| {
                let mut values: Vec<f64> = trials().filter_map(|line| line.number(key)).collect();
                values.sort_by(f64::total_cmp);
                values
            };
            let (ratios, measured) = (sorted("ratio"), sorted("measured"));
            let near = ratios.iter().filter(|ratio| (*ratio - 1.0).abs() <= case.within).count();
            let middle =
                |values: &[f64]| values.get(values.len() / 2).map_or("–".to_owned(), |ratio| format!("{ratio:.3}"));
            let ends = match (ratios.first(), ratios.last()) {
                (Some(least), Some(most)) => format!(" ({least:.3} … {most:.3})"),
                _ => String::new(),
            };
            let n = trials().count();
            (within, all) = (within + near as u64, all + n as u64);
            let bound = 100.0 * case.within;
            let _ = writeln!(
                page,
                "| {} ({}) | `{row}` | {n} | {}{ends} | {} | {near} within {bound} % |",
                case.name,
                case.how,
                middle(&ratios),
                middle(&measured)
            );
        }
    }
    let distance = |is_quiet: bool| {
        let cases = estimates::CASES.iter().filter(|case| (case.name == disturbances::NOTHING) == is_quiet);
        let found = cases.flat_map(|case| latest(lines, "undisturbed", case.name));
        let mut distances: Vec<f64> = found.filter_map(|line| Some((line.number("ratio")? - 1.0).abs())).collect();
        distances.sort_by(f64::total_cmp);
        distances.get(distances.len() / 2).map_or("–".to_owned(), |distance| format!("{:.1} %", 100.0 * distance))
    };
    let _ = writeln!(
        page,
        "\nThe median distance from the quiet run is {} with a disturbance, and {} of a second quiet run: a bound below the \
         latter cannot be reached on this machine.",
        distance(false),
        distance(true)
    );
    let sentence = format!("{within} of {all} trials are within their bound; the goal is {WITHIN} %.");
    goal(page, &sentence, percent(within, all) >= WITHIN);
}
