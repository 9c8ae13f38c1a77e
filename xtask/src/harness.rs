//! Running the tests of the workspace: those that may share the machine first, those that measure it one at a time.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::builds::{Built, Tests};
use crate::passes::{User, passes};
use crate::shell::Shell;
use crate::tally::Tally;
use crate::watch::{Ending, Patience, watch};

/// Names the file to which a test appends a line when it cannot run here: `what: why`. The harness has no word for
/// that.
const SKIPS: &str = "ASSAY_TEST_SKIPS";

/// How many failed tests of a program are run once more.
const RUN_AGAIN: usize = 4;

/// How many tests of a crate run at a time: two CPUs are the fewest that tests are run on, and many tests wait.
const CRATES_AT_A_TIME: usize = 4;

/// How long a harness may say nothing. Each test is a line, and the longest takes half a minute on an idle machine.
const SILENCE: Patience = Patience::Silent(Duration::from_mins(5));

/// The tests of every crate but the program, and the examples in its documentation.
pub(crate) fn crates(shell: &Shell) -> Tally {
    const NAME: &str = "crate-tests";
    let Some(built) = Built::now(shell) else { return does_not_compile(NAME) };
    let mut tally = Tally::default();
    for tests in built.of_crates(shell) {
        let options = [format!("--test-threads={CRATES_AT_A_TIME}")];
        tally.add(twice(shell, &|| command(shell, tests), &options, &shell.target(), NAME));
    }
    let mut examples = shell.cargo(&["test", "--quiet", "--workspace", "--doc", "--no-fail-fast"]);
    tally.add(count(shell, &mut examples, &shell.target(), NAME));
    tally
}

/// The tests of the program: several at a time where they may be, and then those that must be alone.
pub(crate) fn program(shell: &Shell) -> Tally {
    const NAME: &str = "program-tests";
    let Some(built) = Built::now(shell) else { return does_not_compile(NAME) };
    let mut tally = Tally::default();
    for tests in built.of_program(shell) {
        for pass in passes(User::Ours) {
            tally.add(twice(shell, &|| command(shell, tests), &pass, &shell.target(), NAME));
        }
    }
    tally
}

/// What a step comes to whose tests do not compile.
pub(crate) fn does_not_compile(name: &str) -> Tally {
    Tally::failure(format!("{name}: the tests do not compile"))
}

/// Runs a program of tests as cargo does.
fn command(shell: &Shell, tests: &Tests) -> Command {
    let mut command = shell.command(&tests.executable, &[""; 0]);
    command.current_dir(&tests.folder).env("CARGO_MANIFEST_DIR", &tests.folder);
    command
}

/// Runs a program of tests, and each test that failed once more, alone: a test that needs the machine to keep time fails
/// where a shared host stands still for a second, and what is broken fails twice. Which tests needed that is said. Where
/// more than a few failed, something is broken, and nothing is run again.
pub(crate) fn twice(
    shell: &Shell,
    program: &dyn Fn() -> Command,
    options: &[String],
    scratch: &Path,
    name: &str,
) -> Tally {
    again(options, name, |options| count(shell, program().args(options), scratch, name))
}

/// [`twice`], of a program that is run with these options.
fn again(options: &[String], name: &str, mut run: impl FnMut(&[String]) -> Tally) -> Tally {
    let mut tally = run(options);
    if tally.failures.len() > RUN_AGAIN {
        return tally;
    }
    let failures = std::mem::take(&mut tally.failures);
    for failure in failures {
        let alone = failed_test(&failure, name).map(|test| {
            println!("{test} is run once more, alone");
            run(&["--exact", "--test-threads=1", test].map(str::to_owned))
        });
        if alone.is_some_and(|alone| (alone.passed, alone.failed) == (1, 0)) {
            tally.failed -= 1;
            tally.passed += 1;
            tally.unsteady.push(failure);
        } else {
            tally.failures.push(failure);
        }
    }
    tally
}

/// The test that a line of [`Tally::failures`] is about: none where it is not about one that failed and ended.
fn failed_test<'a>(failure: &'a str, of: &str) -> Option<&'a str> {
    failure.strip_suffix(&format!(" ({of})"))
}

/// Runs a test command and counts what its harnesses report. A command that fails without a failed test (a test killed
/// its process) is one failure, and so is each test that has not ended when the command has. Tests that skip themselves
/// say so to a file in `scratch`.
pub(crate) fn count(shell: &Shell, command: &mut Command, scratch: &Path, name: &str) -> Tally {
    let skips = Skips::new(scratch, name);
    // Snapshots are compared, never rewritten.
    command.env(SKIPS, &skips.file).env("INSTA_UPDATE", "no").env("INSTA_WORKSPACE_ROOT", shell.root());
    let mut report = Report::new(name);
    let ending = watch(command, SILENCE, |line| report.read(line));
    let mut tally = report.end(&ending);
    tally.skipped.extend(skips.read());
    tally
}

/// What harnesses have said so far.
struct Report<'a> {
    tally: Tally,
    /// The tests that are known to have begun and not to have ended: a harness names a test when it begins where there
    /// is one at a time, and after a minute where there are several.
    running: BTreeSet<String>,
    of: &'a str,
}

impl<'a> Report<'a> {
    fn new(of: &'a str) -> Self {
        Self { tally: Tally::default(), running: BTreeSet::new(), of }
    }

    /// Reads one line.
    fn read(&mut self, line: &str) {
        self.tally.read_harness(line, self.of);
        let Some(said) = line.trim().strip_prefix("test ") else { return };
        if let Some((name, _)) = said.split_once(" has been running for over ") {
            self.running.insert(name.to_owned());
        } else if let Some(name) = said.strip_suffix(" ...") {
            self.running.insert(name.to_owned());
        } else if let Some((name, _)) = said.split_once(" ... ") {
            self.running.remove(name);
        }
    }

    /// What it comes to, once the command has ended in this way.
    fn end(self, ending: &Ending) -> Tally {
        let Self { mut tally, running, of } = self;
        let why = match ending {
            Ending::Well => return tally,
            Ending::Badly => "the harness ended without a failed test",
            Ending::Ended(why) => why,
        };
        tally.failures.extend(running.iter().map(|test| format!("{test} ({of}) did not end: {why}")));
        // Failures that no figures came for any more.
        tally.failed = tally.failed.max(tally.failures.len() as u64);
        if tally.failed == 0 {
            tally.add(Tally::failure(format!("{of}: {why}")));
        }
        tally
    }
}

/// The file that tests report to when they cannot run.
struct Skips {
    file: PathBuf,
}

impl Skips {
    /// An empty file that every user may append to, since the tests also run as one without rights.
    fn new(scratch: &Path, name: &str) -> Self {
        use std::os::unix::fs::PermissionsExt;
        let file = scratch.join(format!("{name}.skips"));
        let created = std::fs::write(&file, "")
            .and_then(|()| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)));
        if let Err(error) = created {
            println!("tests that skip themselves will go unnamed: {}: {error}", file.display());
        }
        Self { file }
    }

    /// What was reported, each line once.
    fn read(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.file).unwrap_or_default();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines.dedup();
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(lines: &[&str], ending: &Ending) -> Tally {
        let mut report = Report::new("step");
        for line in lines {
            report.read(line);
        }
        report.end(ending)
    }

    #[test]
    fn a_test_that_hangs_is_a_failure_of_its_own_name() {
        let lines = ["running 3 tests", "test a ... ok", "test b ... FAILED", "test c ... "];
        let tally = reported(&lines, &Ending::Ended("it has said nothing for 300 s".into()));
        assert_eq!(tally.failed, 2);
        assert_eq!(tally.failures, ["b (step)", "c (step) did not end: it has said nothing for 300 s"]);
    }

    #[test]
    fn of_several_tests_at_a_time_those_that_go_on_for_long_are_known() {
        let slow = |name| format!("test {name} has been running for over 60 seconds");
        let lines = [&slow("a"), &slow("b"), "test a ... ok", "test c ... ok"];
        let tally = reported(&lines, &Ending::Badly);
        assert_eq!(tally.failures, ["b (step) did not end: the harness ended without a failed test"]);
        assert_eq!(tally.failed, 1);
    }

    /// What a program of tests comes to of which these fail, `broken` also where it is alone.
    fn program(options: &[String], failing: &[&str]) -> Tally {
        let alone = options.strip_prefix(&["--exact".to_owned(), "--test-threads=1".to_owned()]);
        let failing: Vec<&str> = match alone {
            Some([test]) if test == "broken" => vec!["broken"],
            Some([test]) => {
                assert!(failing.contains(&test.as_str()), "nobody was to ask for {test}");
                Vec::new()
            }
            Some(tests) => panic!("one test at a time: {tests:?}"),
            None => failing.to_vec(),
        };
        let failures: Vec<String> = failing.iter().map(|test| format!("{test} (step)")).collect();
        let (passed, failed) = (u64::from(alone.is_none() || failures.is_empty()), failures.len() as u64);
        Tally { passed, failed, failures, ..Tally::default() }
    }

    #[test]
    fn what_fails_only_among_others_is_named_and_what_is_broken_fails() {
        let tally = again(&[], "step", |options| program(options, &["unsteady", "broken"]));
        assert_eq!((tally.passed, tally.failed), (2, 1), "{tally}");
        assert_eq!(tally.failures, ["broken (step)"]);
        assert_eq!(tally.unsteady, ["unsteady (step)"]);
        assert!(tally.to_string().contains("UNSTEADY: unsteady (step): failed, and passed when"), "{tally}");
    }

    #[test]
    fn where_much_fails_nothing_is_run_again() {
        let mut runs = 0;
        let tally = again(&[], "step", |options| {
            runs += 1;
            program(options, &["a", "b", "c", "d", "e"])
        });
        assert_eq!((runs, tally.failed, tally.failures.len()), (1, 5, 5), "{tally}");
        assert!(tally.unsteady.is_empty());
    }

    #[test]
    fn what_did_not_end_is_not_run_again() {
        let hung = || Tally::failure("c (step) did not end: it has said nothing for 300 s");
        let tally = again(&[], "step", |options| {
            assert!(options.is_empty());
            hung()
        });
        assert_eq!(tally, hung());
    }

    #[test]
    fn a_harness_that_dies_is_one_failure_and_has_a_name() {
        let tally = reported(&["test a ... ok"], &Ending::Badly);
        assert_eq!((tally.failed, tally.failures.len()), (1, 1), "{tally}");
        let counted = ["test b ... FAILED", "test result: FAILED. 1 passed; 1 failed; 0 ignored"];
        let tally = reported(&counted, &Ending::Badly);
        assert_eq!((tally.passed, tally.failed), (1, 1));
        assert_eq!(tally.failures, ["b (step)"]);
        assert_eq!(reported(&["test a ... ok"], &Ending::Well), Tally::default());
    }
}
