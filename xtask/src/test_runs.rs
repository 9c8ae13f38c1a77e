//! Running the tests of the workspace by `cargo test`: several at a time first, those that need the machine for themselves
//! one at a time, and those whose outcome depends on the user once more as `nobody`.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use xtask::process::{Ending, is_there, read_lines, succeeds};
use xtask::set_up::is_root;
use xtask::shell::Shell;
use xtask::tally::Tally;

/// Names the file to which a test appends a line when it cannot run here: `what: why`.
pub(crate) const SKIPS: &str = "ASSAY_TEST_SKIPS";

/// How long the tests may print nothing: the longest takes half a minute on an idle machine.
const SILENCE: Duration = Duration::from_mins(5);

/// How many run at a time: two CPUs are the fewest that tests are run on, and most tests wait most of the time.
pub(crate) const AT_A_TIME: &str = "--test-threads=5";

/// At most this many failed tests are run once more, alone: a test that keeps time fails where a shared host stands still
/// for a second, and what is broken fails twice.
const MOST_AGAIN: usize = 4;

/// Tests of the program that run alone, by parts of their names: they take CPUs away on purpose, or assert that nothing
/// disturbed them.
pub(crate) const ALONE: &[&str] = &[
    "cpu::trouble::a_cpu_that_is_switched_off_before_a_launch_is_a_failed_row_that_names_it",
    "disk::engines::little_locked_memory_costs_registered_buffers_and_is_said_to",
    "disk::limits::a_very_slow_disk_has_rows_within_the_time",
    "documents::machines::this_machine_has_measured_peaks_with_every_input_sourced",
    "interference::disturbances::a_cpu_that_is_switched_off_under_a_row_is_named",
    "interference::disturbances::load_on_another_cpu_is_named",
    "interference::disturbances::other_traffic_over_loopback_is_named",
    "interference::doctor::",
    "interference::live::a_quota_that_is_switched_on_and_off_is_found_and_named",
    "interference::sampling::",
    "interference::surroundings::a_quota_of_half_a_cpu_is_seen_named_and_not_hidden",
    "memory::cores_hand_a_line_to_each_other",
];

/// Tests of the program whose outcome depends on the user's rights: what may be written and read, how much memory may be
/// locked, what a tool may open, whether every area measures without any right.
const BY_USER: &[&str] = &[
    "cluster::run::an_interrupt_leaves_the_jobs_and_says_how_to_end_them",
    "disk::engines::little_locked_memory_costs_registered_buffers_and_is_said_to",
    "disk::filesystems::directories_that_cannot_be_measured_in_are_refused_when_named",
    "documents::formats::every_area_is_measured_by_any_user",
    "documents::machines::a_capture_is_the_same_machine",
    "documents::machines::this_machine_has_measured_peaks_with_every_input_sourced",
    "documents::report::a_run_s_folder_that_cannot_be_written_to_names_the_way_out",
    "interference::disturbances::huge_pages_that_are_refused_are_named_with_the_share_that_was_obtained",
    "interference::doctor::every_check_and_tool_is_there_and_the_exit_status_is_the_verdict",
    "interruptions::storage::a_folder_that_is_read_only_is_refused",
    "memory::nothing_faults_inside_what_is_timed",
    "references::here::every_tool_is_listed_and_those_that_are_here_are_tried",
];

/// The user and group that own nothing, by their number, since the name is not everywhere.
const NOBODY: &str = "65534";

/// Which tests, how, and as whom.
struct Pass {
    cargo: &'static [&'static str],
    harness: Vec<String>,
    as_nobody: bool,
}

impl Pass {
    /// Every test of every crate but those of the program that run alone, and the examples in the documentation.
    fn together() -> Self {
        let skips = ALONE.iter().map(|name| format!("--skip={name}"));
        let harness = std::iter::once(AT_A_TIME.to_owned()).chain(skips).collect();
        Self { cargo: &["--exclude=lab"], harness, as_nobody: false }
    }

    /// The tests of these names, one at a time: some assert that nothing disturbed them.
    fn named(names: &[&str], as_nobody: bool) -> Self {
        let harness = ["--test-threads=1"].iter().chain(names).map(|word| (*word).to_owned()).collect();
        Self { cargo: &["--exclude=lab", "--tests"], harness, as_nobody }
    }

    fn command(&self, shell: &Shell) -> Command {
        let mut command = shell.cargo(&["test", "--workspace", "--no-fail-fast"]);
        command.args(self.cargo).args(["--", "--format=pretty"]).args(&self.harness);
        // Snapshots are compared, never rewritten.
        command.env(SKIPS, skips_file(shell)).env("INSTA_UPDATE", "no").env("INSTA_WORKSPACE_ROOT", shell.root());
        if self.as_nobody {
            let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH).to_uppercase().replace('-', "_");
            command.env(format!("CARGO_TARGET_{target}_RUNNER"), as_nobody().join(" "));
        }
        command
    }
}

/// The command that runs a program as `nobody`.
fn as_nobody() -> [String; 5] {
    let identity = |kind| format!("--{kind}={NOBODY}");
    ["setpriv".into(), identity("reuid"), identity("regid"), "--clear-groups".into(), "--no-new-privs".into()]
}

/// The step `tests`.
pub(crate) fn run(shell: &Shell) -> Tally {
    let file = skips_file(shell);
    // Every user appends to it.
    let created = fs::create_dir_all(shell.target())
        .and_then(|()| fs::write(&file, ""))
        .and_then(|()| fs::set_permissions(&file, Permissions::from_mode(0o666)));
    let mut tally =
        created.map_or_else(|error| Tally::failure(format!("{}: {error}", file.display())), |()| Tally::default());
    // Compiling prints nothing for minutes, so it is no part of a run that is ended when it is silent.
    for targets in [&["--exclude=lab"][..], &["--bin=lab"][..]] {
        let compile = [&["test", "--workspace", "--no-run"], targets].concat();
        if !succeeds(&mut shell.cargo(&compile)) {
            tally.add(Tally::failure("tests: they do not compile"));
            return tally;
        }
    }
    tally.add(twice(shell, &Pass::together()));
    tally.add(twice(shell, &Pass::named(ALONE, false)));
    // The programs in `lab` are not tested but for this.
    let smoke = Pass { cargo: &["--bin=lab"], harness: vec!["smoke".to_owned()], as_nobody: false };
    tally.add(count(shell, &smoke));
    let [program, options @ ..] = as_nobody();
    if !is_root() {
        println!("this user has no rights: no test is run as nobody");
    } else if is_there(shell.command(program, &options).arg("ls").arg(shell.program())) {
        tally.add(twice(shell, &Pass::named(BY_USER, true)));
    } else {
        tally.add(Tally::skip("tests as nobody: setpriv is missing, or nobody cannot read the target folder"));
    }
    let skips: BTreeSet<String> = fs::read_to_string(&file).unwrap_or_default().lines().map(str::to_owned).collect();
    tally.skipped.extend(skips);
    tally
}

/// Builds the program as the tests use it; nothing is left to do where they ran before.
pub(crate) fn build(shell: &Shell) -> bool {
    succeeds(&mut shell.cargo(&["test", "--quiet", "--workspace", "--exclude=lab", "--no-run", "--tests"]))
}

pub(crate) fn skips_file(shell: &Shell) -> PathBuf {
    shell.target().join("tests.skips")
}

/// Runs a pass, and each of a few failed tests once more, alone.
fn twice(shell: &Shell, pass: &Pass) -> Tally {
    again(count(shell, pass), |test| count(shell, &Pass::named(&["--exact", test], pass.as_nobody)))
}

pub(crate) fn again(mut tally: Tally, mut run: impl FnMut(&str) -> Tally) -> Tally {
    if tally.failures.len() > MOST_AGAIN {
        return tally;
    }
    for failure in std::mem::take(&mut tally.failures) {
        let alone = (!failure.contains(' ')).then(|| run(&failure));
        if alone.is_some_and(|alone| alone.passed > 0 && alone.failed == 0) {
            tally.failed -= 1;
            tally.passed += 1;
            tally.unsteady.push(failure);
        } else {
            tally.failures.push(failure);
        }
    }
    tally
}

fn count(shell: &Shell, pass: &Pass) -> Tally {
    counted(&mut pass.command(shell)).0
}

/// Runs a command that runs tests; what came of them, and how many were filtered out.
pub(crate) fn counted(command: &mut Command) -> (Tally, u64) {
    let mut report = Report::default();
    let ending = read_lines(command, SILENCE, |line| report.read(line));
    let filtered = report.filtered;
    (report.end(&ending), filtered)
}

/// What harnesses have printed so far.
#[derive(Default)]
struct Report {
    tally: Tally,
    filtered: u64,
    /// The tests that have begun and not ended: a harness names a test when it begins where one runs at a time, and after
    /// a minute where several do.
    running: BTreeSet<String>,
}

impl Report {
    fn read(&mut self, line: &str) {
        let Some(text) = line.trim().strip_prefix("test ") else { return };
        if let Some((_, counts)) = text.strip_prefix("result: ").and_then(|rest| rest.split_once(". ")) {
            self.add_counts(counts);
        } else if let Some((name, _)) = text.split_once(" has been running for over ") {
            self.running.insert(name.to_owned());
        } else if let Some(name) = text.strip_suffix(" ...") {
            self.running.insert(name.to_owned());
        } else if let Some((name, outcome)) = text.split_once(" ... ") {
            self.running.remove(name);
            if outcome == "FAILED" {
                self.tally.failures.push(name.to_owned());
            }
        }
    }

    /// Adds counts of the form `3 passed; 2 failed; 1 ignored; …`.
    fn add_counts(&mut self, counts: &str) {
        let number = |what: &str| -> u64 {
            let count = counts.split(';').find_map(|count| count.trim().strip_suffix(what));
            count.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
        };
        self.tally.passed += number("passed");
        self.tally.failed += number("failed");
        self.tally.ignored += number("ignored");
        self.filtered += number("filtered out");
    }

    /// The tally once the command has ended. A test that ended its process, and tests that do not compile, are a failure
    /// without a name.
    fn end(self, ending: &Ending) -> Tally {
        let Self { mut tally, running, .. } = self;
        let why = match ending {
            Ending::Success => return tally,
            Ending::Failure => "the tests do not compile, or a program of tests ended without a result",
            Ending::Killed(why) => why,
        };
        tally.failures.extend(running.iter().map(|test| format!("{test} did not end: {why}")));
        tally.failed = tally.failed.max(tally.failures.len() as u64);
        if tally.failed == 0 || (matches!(ending, Ending::Killed(_)) && running.is_empty()) {
            tally.add(Tally::failure(format!("tests: {why}")));
        }
        tally
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(lines: &[&str], ending: &Ending) -> Tally {
        let mut report = Report::default();
        for line in lines {
            report.read(line);
        }
        report.end(ending)
    }

    #[test]
    fn harnesses_are_read() {
        let lines = [
            "test a::b ... ok",
            "test c ... FAILED",
            "test result: FAILED. 3 passed; 1 failed; 2 ignored; 0 measured; 4 filtered out; finished in 0.1s",
            "test result: ok. 56 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out",
        ];
        let tally = reported(&lines, &Ending::Failure);
        assert_eq!((tally.passed, tally.failed, tally.ignored), (59, 1, 2));
        assert_eq!(tally.failures, ["c"]);
    }

    #[test]
    fn a_test_that_hangs_is_a_failure_of_its_own_name() {
        let killed = Ending::Killed("no output for 300 s".into());
        let tally = reported(&["test a ... ok", "test b ... FAILED", "test c ... "], &killed);
        assert_eq!((tally.failed, tally.failures[1].as_str()), (2, "c did not end: no output for 300 s"));
        let slow = |name| format!("test {name} has been running for over 60 seconds");
        let tally = reported(&[&slow("a"), &slow("b"), "test a ... ok"], &killed);
        assert_eq!(tally.failures, ["b did not end: no output for 300 s"]);
    }

    #[test]
    fn tests_that_do_not_compile_or_end_their_process_fail() {
        assert_eq!(reported(&["test a ... ok"], &Ending::Failure).failed, 1);
        assert_eq!(reported(&[], &Ending::Killed("no output".into())).failed, 1);
    }

    #[test]
    fn what_fails_only_among_others_is_named_and_what_is_broken_fails() {
        let failed = |names: &[&str]| Tally {
            passed: 7,
            failed: names.len() as u64,
            failures: names.iter().map(|name| (*name).to_owned()).collect(),
            ..Tally::default()
        };
        let alone = |test: &str| if test == "broken" { failed(&["broken"]) } else { Tally::check(true) };
        let tally = again(failed(&["unsteady", "broken"]), alone);
        assert_eq!((tally.passed, tally.failed), (8, 1), "{tally}");
        assert_eq!((tally.failures, tally.unsteady), (vec!["broken".to_owned()], vec!["unsteady".to_owned()]));
        let hung = Tally::failure("c did not end: no output for 300 s");
        assert_eq!(again(hung.clone(), |_| panic!("it is not run again")), hung);
        let many = failed(&["a", "b", "c", "d", "e"]);
        assert_eq!(again(many.clone(), |_| panic!("nothing is run again")), many);
    }

    #[test]
    fn tests_that_are_named_are_there() {
        let folder = Shell::at_root().root().join("crates/cli/tests/e2e");
        for name in ALONE.iter().chain(BY_USER) {
            let (modules, function) = name.rsplit_once("::").unwrap();
            let path = folder.join(modules.replace("::", "/"));
            let source =
                fs::read_to_string(path.with_extension("rs")).or_else(|_| fs::read_to_string(path.join("mod.rs")));
            let source = source.unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(function.is_empty() || source.contains(&format!("fn {function}(")), "{name}");
        }
    }
}
