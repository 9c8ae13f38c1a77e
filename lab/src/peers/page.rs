//! `docs/evidence/performance.md` and the pages below it from all attempts: per machine a table with the latest attempt of each
//! comparison, what the attempts before it showed, and the commands. The machine that this command measured last stands on
//! the front page; the others have pages of their own, to which it leads.

use std::fmt::Write as _;

use stats::SpreadVerdict;

use super::attempt::Attempt;
use super::shared::{VETH_PATH, quantity};
use super::texts::{
    AWAKE, BETWEEN, COMMANDS_HEAD, COMMANDS_OF_LAST, FOLDER, FROM_ELSEWHERE, HEAD, LIMITS_HEAD, ON_A_LOOP, OTHERS,
};

/// The page of our own kernels against their limits.
pub(crate) fn render_limits(limits: &[Attempt]) -> String {
    let mut page = LIMITS_HEAD.to_owned();
    for machine in in_order(limits.iter().map(|attempt| attempt.text("machine"))) {
        let _ = writeln!(page, "\n## {machine}\n");
        let here = limits.iter().filter(|attempt| attempt.text("machine") == machine);
        super::limits::section(&mut page, &here.collect::<Vec<_>>());
    }
    page
}

/// The page of what was compared with peers: the machine that was measured last, and links to the others.
pub(crate) fn render(attempts: &[Attempt]) -> String {
    let mut page = HEAD.to_owned();
    let machines = machines(attempts);
    let Some((last, others)) = machines.split_first() else { return page };
    let _ = writeln!(page, "\n## {last}\n");
    compared(&mut page, &of_machine(attempts, last), COMMANDS_OF_LAST);
    if !others.is_empty() {
        page.push_str(OTHERS);
    }
    for machine in others {
        let [rows, at_least, behind, open] = counts(&latest_of(&asleep(attempts, machine)));
        let slug = slug(machine);
        let _ = writeln!(
            page,
            "| [{machine}]({FOLDER}/{slug}.md) | [called]({FOLDER}/{slug}-commands.md) | {rows} | {at_least} | {behind} | {open} |"
        );
    }
    page
}

/// The pages of the machines that are not on the front page, by their paths beside it: what was compared there, and how
/// the tools were called.
pub(crate) fn render_others(attempts: &[Attempt]) -> Vec<(String, String)> {
    let page = |machine: &&str| {
        let slug = slug(machine);
        let mut compared_there = format!(
            "# Performance on {machine}\n\nWritten by `cargo lab peers`; what the columns mean, and the other machines, \
             are in [performance.md](../performance.md).\n\n"
        );
        let here = of_machine(attempts, machine);
        compared(&mut compared_there, &here, &format!("{slug}-commands.md"));
        let mut called =
            format!("# How the tools were called on {machine}\n\nBeside [what was compared there]({slug}.md).\n");
        commands_of(&mut called, machine, &here);
        [(format!("{FOLDER}/{slug}.md"), compared_there), (format!("{FOLDER}/{slug}-commands.md"), called)]
    };
    machines(attempts).iter().skip(1).flat_map(page).collect()
}

/// The machines of these attempts, the one that was measured last first. Those known from documents alone come after all
/// that this command measured: a document brought from elsewhere may be of one area, and is no reason to turn the front page
/// to its machine.
fn machines(attempts: &[Attempt]) -> Vec<&str> {
    let measured = attempts.iter().rev().filter(|attempt| !attempt.is_from_elsewhere());
    in_order(measured.chain(attempts.iter().rev()).map(|attempt| attempt.text("machine")))
}

fn of_machine<'a>(attempts: &'a [Attempt], machine: &str) -> Vec<&'a Attempt> {
    attempts.iter().filter(|attempt| attempt.text("machine") == machine).collect()
}

/// The attempts on a machine whose CPUs were left to sleep.
fn asleep<'a>(attempts: &'a [Attempt], machine: &str) -> Vec<&'a Attempt> {
    of_machine(attempts, machine).into_iter().filter(|attempt| !attempt.is_awake() && !attempt.is_on_a_loop()).collect()
}

/// A machine's description as the name of a file.
fn slug(machine: &str) -> String {
    let words = machine.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-")
}

/// What was compared on one machine, where its commands are on a page of this path.
fn compared(page: &mut String, here: &[&Attempt], commands: &str) {
    let (between, local): (Vec<&Attempt>, Vec<&Attempt>) =
        here.iter().copied().partition(|attempt| attempt.text("path") == VETH_PATH);
    let (awake, local): (Vec<&Attempt>, Vec<&Attempt>) = local.into_iter().partition(|attempt| attempt.is_awake());
    let (on_a_loop, local): (Vec<&Attempt>, Vec<&Attempt>) =
        local.into_iter().partition(|attempt| attempt.is_on_a_loop());
    for (head, part) in [("", local), (AWAKE, awake), (ON_A_LOOP, on_a_loop), (BETWEEN, between)] {
        if !part.is_empty() {
            page.push_str(head);
            section(page, &part);
        }
    }
    if here.iter().any(|attempt| attempt.is_from_elsewhere()) {
        page.push_str(FROM_ELSEWHERE);
    }
    let _ = writeln!(page, "The commands, as they were run last: [{0}]({commands}).", file_name(commands));
}

/// The last part of a path.
fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
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
    let each = latest_of(here);
    page.push_str(
        "| what | tool | ours | theirs | ratio (95 %) | pairs | verdict | spread (95 %) | attempts |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for attempt in &each {
        let same = here.iter().copied().filter(|other| other.comparison() == attempt.comparison());
        page.push_str(&line(attempt, &same.collect::<Vec<_>>(), best_of(&each, attempt)));
    }
    summary(page, &each);
    spreads(page, &each);
    costs(page, &each);
    tails(page, &each);
    page.push('\n');
}

/// The latest attempt of each comparison, in the order in which they were first made.
fn latest_of<'a>(here: &[&'a Attempt]) -> Vec<&'a Attempt> {
    let comparisons = in_order(here.iter().map(|attempt| attempt.comparison()));
    let latest = |comparison| here.iter().copied().rfind(|attempt| attempt.comparison() == comparison);
    comparisons.into_iter().filter_map(latest).collect()
}

/// The second page: how each tool was called on the machine that was measured last, when it was compared last.
pub(crate) fn render_commands(attempts: &[Attempt]) -> String {
    let mut page = COMMANDS_HEAD.to_owned();
    if let Some(last) = machines(attempts).first() {
        commands_of(&mut page, last, &of_machine(attempts, last));
    }
    page
}

/// How each tool was called on a machine when it was compared last.
fn commands_of(page: &mut String, machine: &str, here: &[&Attempt]) {
    let _ = writeln!(page, "\n## {machine}\n\n```text");
    for attempt in latest_of(here) {
        commands(page, attempt);
    }
    page.push_str("```\n");
}

/// The disk rows' median latencies and what a request costs the processor, where the latest attempts compared them.
fn costs(page: &mut String, latest: &[&Attempt]) {
    let with: Vec<&&Attempt> =
        latest.iter().filter(|attempt| attempt.also("cpu_seconds_per_request").is_some()).collect();
    if with.is_empty() {
        return;
    }
    page.push_str(
        "\n### What a request takes, and what it costs\n\nFrom the same pairs: median latency (fio: `lat_ns`), processor \
         seconds of the working threads per request, user and system (ours with the check of every block), as the ratio \
         ours over theirs with its 95 % interval, less being better; the rate of our own loop at that depth without a device, \
         its system calls included, measured beside the row on one core; and the CPU ratio if that loop took no time at all: \
         what is left is the kernel's way to the device.\n\n\
         | what | tool | p50 ours | theirs | ratio (95 %) | CPU ours | theirs | ratio (95 %) | our loop | ratio without it \
         |\n|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for attempt in with {
        let cells = |name: &str| {
            attempt.also(name).map_or_else(
                || "– | – | –".to_owned(),
                |[ours, theirs, ratio, low, high]| {
                    format!("{} | {} | {ratio:.3} ({low:.3} … {high:.3})", quantity(ours, "s"), quantity(theirs, "s"))
                },
            )
        };
        let own = attempt.number("loop_iops").map_or_else(|| "–".to_owned(), |rate| quantity(rate, "1/s"));
        let _ = writeln!(
            page,
            "| `{}` | {} | {} | {} | {own} | {} |",
            attempt.text("id"),
            attempt.text("tool"),
            cells("latency"),
            cells("cpu_seconds_per_request"),
            without_loop(attempt).map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.3}")),
        );
    }
}

/// The ratio of CPU seconds a request if our own loop, which is measured with requests for nothing, took no time.
fn without_loop(attempt: &Attempt) -> Option<f64> {
    let [ours, _, ratio, ..] = attempt.also("cpu_seconds_per_request")?;
    let own = attempt.number("loop_iops").filter(|rate| *rate > 0.0)?.recip();
    Some(ratio * (1.0 - own / ours).max(0.0))
}

/// The 99th percentiles of round trips, where the latest attempts compared them.
fn tails(page: &mut String, latest: &[&Attempt]) {
    let with: Vec<_> = latest.iter().filter_map(|attempt| Some((attempt, attempt.also("latency_p99")?))).collect();
    if with.is_empty() {
        return;
    }
    page.push_str(
        "\nThe 99th percentile of each run's round trips, from the same pairs, less being better:\n\n\
         | what | tool | p99 ours | theirs | ratio (95 %) |\n|---|---|---|---|---|\n",
    );
    for (attempt, [ours, theirs, ratio, low, high]) in with {
        let (id, tool) = (attempt.text("id"), attempt.text("tool"));
        let (ours, theirs) = (quantity(ours, "s"), quantity(theirs, "s"));
        let _ = writeln!(page, "| `{id}` | {tool} | {ours} | {theirs} | {ratio:.3} ({low:.3} … {high:.3}) |");
    }
}

/// The measured tools beside the row of an attempt, if there are several and none has a better figure than its tool.
fn best_of(latest: &[&Attempt], attempt: &Attempt) -> Option<usize> {
    let is_there = |other: &&&Attempt| other.number("theirs").is_some() && other.is_beside_the_same_as(attempt);
    let beside: Vec<&Attempt> = latest.iter().filter(is_there).copied().collect();
    (beside.len() > 1 && is_best(&beside, attempt)).then_some(beside.len())
}

/// Whether no tool has a better figure than that of this attempt.
fn is_best(beside: &[&Attempt], attempt: &Attempt) -> bool {
    let Some(its) = attempt.number("theirs") else { return false };
    let better = |theirs: f64| if attempt.text("better") == "lower" { theirs < its } else { theirs > its };
    !beside.iter().any(|other| other.number("theirs").is_some_and(better))
}

/// How many rows are at least as good as the best tool beside them.
fn summary(page: &mut String, latest: &[&Attempt]) {
    let [rows, at_least, behind, open] = counts(latest);
    let _ = writeln!(
        page,
        "\nBeside the best tool of each of {rows} rows: {at_least} at least as good, {behind} behind, {open} cannot tell."
    );
}

/// The rows, and how many of them are at least as good as the best tool beside them, behind it, or neither for sure.
fn counts(latest: &[&Attempt]) -> [usize; 4] {
    let best = latest.iter().filter(|attempt| {
        let beside: Vec<&Attempt> =
            latest.iter().filter(|other| other.is_beside_the_same_as(attempt)).copied().collect();
        is_best(&beside, attempt)
    });
    let verdicts: Vec<&str> = best.map(|attempt| attempt.text("verdict")).collect();
    let count = |wanted: &str| verdicts.iter().filter(|verdict| **verdict == wanted).count();
    [verdicts.len(), count("at_least"), count("below"), count("inconclusive")]
}

/// In each area, how many of our rows scatter further than the tool beside them.
fn spreads(page: &mut String, latest: &[&Attempt]) {
    let known: Vec<(&str, SpreadVerdict)> =
        latest.iter().filter_map(|attempt| Some((attempt.area(), attempt.spread_ratio()?.verdict()))).collect();
    let in_area = |area: &str| {
        let count =
            |wanted: SpreadVerdict| known.iter().filter(|(of, verdict)| *of == area && *verdict == wanted).count();
        let [above, not_above, open] =
            [SpreadVerdict::Above, SpreadVerdict::NotAbove, SpreadVerdict::CannotTell].map(count);
        let all = above + not_above + open;
        format!("{area}: of {all} comparisons {above} above, {not_above} not above, {open} cannot tell")
    };
    let areas: Vec<String> = in_order(known.iter().map(|(area, _)| *area)).into_iter().map(in_area).collect();
    if !areas.is_empty() {
        let _ = writeln!(page, "\nSpread beside the tools. {}.", areas.join("; "));
    }
}

/// How far ours scatter over how far theirs do, and what that says.
fn spread(attempt: &Attempt) -> String {
    let Some(spread) = attempt.spread_ratio() else { return "–".to_owned() };
    let end = |value: f64| if value.is_finite() { format!("{value:.2}") } else { "∞".to_owned() };
    let interval = spread.interval.map_or_else(String::new, |[low, high]| format!(" ({} … {})", end(low), end(high)));
    let verdict = match spread.verdict() {
        SpreadVerdict::Above => "**above**",
        SpreadVerdict::NotAbove => "not above",
        SpreadVerdict::CannotTell => "cannot tell",
    };
    format!("{:.2}{interval} {verdict}", spread.ratio)
}

/// One row of the table; whether its tool is the best of several.
fn line(attempt: &Attempt, all: &[&Attempt], best_of: Option<usize>) -> String {
    let figure =
        |key| attempt.number(key).map_or_else(|| "–".to_owned(), |value| quantity(value, attempt.text("unit")));
    let [ours_cv, theirs_cv] = ["ours_cv_robust", "theirs_cv_robust"].map(|key| attempt.number(key));
    let cv = |cv: Option<f64>| cv.map_or_else(String::new, |cv| format!(" (cv {:.1} %)", 100.0 * cv));
    let best = best_of.map_or_else(String::new, |tools| format!(", the best of {tools}"));
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
        "| `{}` {} | {} {}{best} | {}{} | {}{} | {ratio} | {} | {} | {} | {}{range} |\n",
        attempt.text("id"),
        attempt.text("metric"),
        attempt.text("tool"),
        attempt.text("version"),
        figure("ours"),
        cv(ours_cv),
        figure("theirs"),
        cv(theirs_cv),
        attempt.number("pairs").unwrap_or(0.0),
        verdict(attempt),
        spread(attempt),
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
    let cpus: Vec<String> = attempt.cpus().iter().map(u64::to_string).collect();
    let [id, when, kernel] = ["id", "when", "kernel"].map(|key| attempt.text(key));
    let _ = writeln!(page, "# {id}, {when}, kernel {kernel}, CPUs {}", cpus.join(","));
    if !server.is_empty() {
        let _ = writeln!(page, "{} &", server.join(" "));
    }
    let words: Vec<String> = attempt.environment().into_iter().chain(client.into_iter().map(str::to_owned)).collect();
    let _ = writeln!(page, "{}", words.join(" "));
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
        let page = render(&[
            attempt("a", "0.95", "inconclusive"),
            attempt("b", "1", "below"),
            attempt("a", "1.05", "at_least"),
        ]);
        assert_eq!(page.matches("| `a` ").count(), 1, "{page}");
        assert!(page.contains("| 4.200 GB/s | 4.000 GB/s | 1.050 (0.900 … 1.200) | 20 | at least as good (±15.0 %) | – | 2: 0.950 … 1.050 |"), "{page}");
        assert!(page.contains("**behind** (±15.0 %) | – | 1 |"), "{page}");
        assert!(render_commands(&[attempt("a", "1", "below")]).contains("/usr/bin/t -x"));
    }

    #[test]
    fn the_machine_measured_last_is_in_front_and_leads_to_the_others() {
        let on = |machine: &str, id: &str, verdict: &str| {
            let line = attempt(id, "1.05", verdict).line().replace("\"M\"", &format!("\"{machine}\""));
            Attempt::of_line(&line).unwrap()
        };
        let attempts = [on("One (x), 2 cores", "a", "below"), on("Two", "b", "at_least"), on("Two", "c", "at_least")];
        let front = render(&attempts);
        assert!(front.contains("## Two\n") && front.contains("| `b` ") && !front.contains("| `a` "), "{front}");
        let link = "| [One (x), 2 cores](performance/one-x-2-cores.md) | [called](performance/one-x-2-cores-commands.md) \
                    | 1 | 0 | 1 | 0 |";
        assert!(front.contains(link), "{front}");
        let [(first, compared), (second, called)] = &render_others(&attempts)[..] else { panic!("one other machine") };
        assert_eq!([first, second], ["performance/one-x-2-cores.md", "performance/one-x-2-cores-commands.md"]);
        assert!(compared.contains("| `a` ") && compared.contains("(one-x-2-cores-commands.md)"), "{compared}");
        assert!(called.contains("/usr/bin/t -x"), "{called}");
        assert!(!render_commands(&attempts).contains("# a,"));
    }

    #[test]
    fn a_machine_known_from_documents_alone_does_not_come_to_the_front() {
        let on = |machine: &str| {
            Attempt::of_line(&attempt("a", "1", "below").line().replace("\"M\"", &format!("\"{machine}\""))).unwrap()
        };
        let attempts = [on("One"), on("Two"), on("Three").made_elsewhere(), on("One").made_elsewhere()];
        assert_eq!(machines(&attempts), ["Two", "One", "Three"]);
        assert!(render(&attempts).contains("## Two\n"));
        let others = render_others(&attempts);
        assert!(others[2].1.contains("# Performance on Three") && others[2].1.contains(FROM_ELSEWHERE), "{others:?}");
        assert!(!render(&attempts).contains(FROM_ELSEWHERE));
        assert_eq!(machines(&attempts[2..3]), ["Three"], "where there is no other");
    }

    #[test]
    fn what_requests_cost_stands_in_a_table_of_its_own() {
        let line = r#"{"machine": "M", "id": "disk/a", "metric": "iops", "unit": "1/s", "tool": "fio", "status": "ok", "loop_iops": 8e6,
            "also": [{"name": "cpu_seconds_per_request", "ours": 2e-6, "theirs": 4e-6, "ratio": 0.5, "ratio_ci95": [0.45, 0.55]}]}"#;
        let page = render(&[Attempt::of_line(line).unwrap()]);
        assert!(
            page.contains(
                "| `disk/a` | fio | – | – | – | 2.000 µs | 4.000 µs | 0.500 (0.450 … 0.550) | 8.000 M/s | 0.469 |"
            ),
            "{page}"
        );
        let page = render(&[attempt("a", "1", "below")]);
        assert!(!page.contains("What a request takes"), "{page}");
    }

    #[test]
    fn what_was_compared_between_namespaces_has_a_table_of_its_own() {
        let line = r#"{"machine": "M", "id": "net/a/peer", "path": "veth", "metric": "latency", "unit": "s", "tool": "sockperf",
            "status": "ok", "also": [{"name": "latency_p99", "ours": 2e-5, "theirs": 4e-5, "ratio": 0.5, "ratio_ci95": [0.45, 0.55]}]}"#;
        let page = render(&[attempt("net/a", "1", "at_least"), Attempt::of_line(line).unwrap()]);
        let (local, between) = page.split_once("### Between two network namespaces").unwrap();
        assert!(local.contains("| `net/a` ") && !local.contains("| `net/a/peer`"), "{page}");
        assert!(
            between.contains("| `net/a/peer` | sockperf | 20.00 µs | 40.00 µs | 0.500 (0.450 … 0.550) |"),
            "{page}"
        );
        assert!(!render(&[attempt("net/a", "1", "at_least")]).contains("namespaces"));
    }

    /// An attempt beside row `a` with these figures.
    #[test]
    fn what_was_compared_with_cpus_kept_awake_has_a_table_of_its_own() {
        let asleep = attempt("disk/a", "0.9", "behind");
        let awake = attempt("disk/a", "1.1", "at_least_as_good").made_awake();
        let page = render(&[asleep, awake]);
        let (ordinary, own) = page.split_once(AWAKE).unwrap();
        assert!(ordinary.contains("`disk/a`") && !ordinary.contains("awake`"), "{page}");
        assert!(own.contains("`disk/a awake`") && own.contains("1.100"), "{page}");
    }

    #[test]
    fn what_was_compared_on_a_loop_device_has_a_table_of_its_own() {
        let asleep = attempt("disk/a", "0.9", "behind");
        let on_a_loop = attempt("disk/a", "1.1", "at_least_as_good").made_on_a_loop();
        let page = render(&[asleep, on_a_loop]);
        let (ordinary, own) = page.split_once(ON_A_LOOP).unwrap();
        assert!(ordinary.contains("`disk/a`") && !ordinary.contains("loop device`"), "{page}");
        assert!(own.contains("`disk/a on a loop device`") && own.contains("1.100"), "{page}");
    }

    fn beside(tool: &str, better: &str, theirs: &str, verdict: &str) -> Attempt {
        let line = format!(
            r#"{{"machine": "M", "id": "a", "metric": "m", "unit": "s", "better": "{better}", "tool": "{tool}", "ours": 1.0,
               "ours_cv_robust": 0.02, "theirs_cv_robust": 0.01, "theirs": {theirs}, "verdict": "{verdict}", "cpus": [0, 1],
               "status": "ok", "argv": ["/t"], "env": {{"LC_ALL": "C", "OMP_PLACES": "{{0}},{{1}}"}}}}"#
        );
        Attempt::of_line(&line).unwrap()
    }

    #[test]
    fn the_best_tool_of_a_row_is_named_whichever_direction_is_better() {
        for (better, best, other) in [("higher", "x", "y"), ("lower", "y", "x")] {
            let page = render(&[
                beside("x", better, "4.0", "below"),
                beside("y", better, "3.0", "at_least"),
                beside("absent", better, "null", ""),
            ]);
            assert!(page.contains(&format!("| {best} , the best of 2 |")), "{page}");
            assert!(page.contains(&format!("| {other}  |")), "{page}");
            let counts = if best == "x" { "0 at least as good, 1 behind" } else { "1 at least as good, 0 behind" };
            assert!(page.contains(&format!("each of 1 rows: {counts}, 0 cannot tell")), "{page}");
        }
        let alone = render(&[beside("x", "higher", "4.0", "below")]);
        assert!(alone.contains("| x  |") && alone.contains("each of 1 rows"), "{alone}");
    }

    #[test]
    fn spreads_and_commands_are_told() {
        let page = render(&[beside("x", "higher", "4.0", "below")]);
        assert!(page.contains("(cv 2.0 %) | 4.000 s (cv 1.0 %)") && !page.contains("Spread beside"), "{page}");
        let commands = render_commands(&[beside("x", "higher", "4.0", "below"), beside("x", "higher", "4.0", "below")]);
        assert_eq!(commands.matches(", CPUs 0,1\nOMP_PLACES='{0},{1}' /t\n").count(), 1, "the last alone: {commands}");
    }

    /// An attempt whose figures scatter so much on our side, where theirs scatter by one in a hundred.
    fn scattering(id: &str, ours: f64) -> Attempt {
        let wave = |i: usize| [0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 1.5, -1.5, 0.1, -0.1][i % 11];
        let pairs: Vec<[f64; 2]> =
            (0..24).map(|i| [4.0 * (1.0 + ours * wave(i)), 4.0 * (1.0 + 0.01 * wave(5 * i + 3))]).collect();
        let line = format!(
            r#"{{"machine": "M", "id": "{id}", "metric": "m", "unit": "s", "tool": "x", "ours": 4.0, "theirs": 4.0,
               "status": "ok", "verdict": "at_least", "figures": {pairs:?}}}"#
        );
        Attempt::of_line(&line).unwrap()
    }

    #[test]
    fn the_ratio_of_the_spreads_has_a_verdict_and_each_area_a_count() {
        let known = [
            scattering("cpu/a", 0.1),
            scattering("memory/a", 0.1),
            scattering("memory/b", 0.001),
            scattering("memory/c", 0.0105),
            beside("x", "lower", "4.0", "below"),
        ];
        let page = render(&known);
        let line = |id: &str| page.lines().find(|line| line.contains(&format!("`{id}`"))).unwrap();
        assert!(line("memory/a").contains(") **above** |"), "{page}");
        assert!(line("memory/b").contains(") not above |"), "{page}");
        assert!(line("memory/c").contains(") cannot tell |"), "{page}");
        let sums = "cpu: of 1 comparisons 1 above, 0 not above, 0 cannot tell; \
                    memory: of 3 comparisons 1 above, 1 not above, 1 cannot tell.";
        assert!(page.contains(sums), "{page}");
    }

    #[test]
    fn a_tool_that_could_not_be_run_is_told_with_its_reason() {
        let line = r#"{"machine": "M", "id": "a", "metric": "iops", "unit": "1/s", "tool": "t", "status": "skipped", "reason": "not found"}"#;
        let page = render(&[Attempt::of_line(line).unwrap()]);
        assert!(page.contains("skipped: not found"), "{page}");
    }

    #[test]
    fn figures_have_four_digits() {
        assert_eq!(quantity(4.2e9, "B/s"), "4.200 GB/s");
        assert_eq!(quantity(18.23e-6, "s"), "18.23 µs");
        assert_eq!(quantity(68_700.0, "1/s"), "68.70 k/s");
    }
}
