//! The table of steps: what `cargo xtask test` does in order, and what each can be called by itself.

use std::process::ExitCode;
use std::time::Instant;

use xtask::process::succeeds;
use xtask::set_up;
use xtask::shell::Shell;
use xtask::tally::Tally;

use crate::{arm, browser, codegen, deny, dist, documents, invariants, test_runs};

pub(crate) struct Step {
    pub(crate) name: &'static str,
    about: &'static str,
    /// Whether it is part of `cargo xtask test`; what changes files is not.
    in_test: bool,
    pub(crate) run: fn(&Shell) -> Tally,
}

/// Every step, in the order in which `cargo xtask test` takes them: what is quick and likely to fail first.
#[rustfmt::skip]
pub(crate) const STEPS: &[Step] = &[
    Step { name: "set-up", about: "install what the tests need, where this user may", in_test: true, run: set_up::run },
    Step { name: "fmt", about: "formatting (rustfmt)", in_test: true, run: fmt },
    Step { name: "invariants", about: "the rules of ARCHITECTURE.md that a program can check", in_test: true, run: invariants::run },
    Step { name: "deny", about: "licences, versions and sources of dependencies, by deny.toml", in_test: true, run: deny::run },
    Step { name: "lint", about: "clippy, warnings as errors", in_test: true, run: lint },
    Step { name: "docs", about: "the API documentation, warnings as errors", in_test: true, run: documents::api },
    Step { name: "tests", about: "the tests of every crate and of the program, some of them as nobody too", in_test: true, run: test_runs::run },
    Step { name: "arm-smoke", about: "the program for 64-bit Arm, built and used under emulation", in_test: true, run: arm::smoke },
    Step { name: "arm", about: "the tests for 64-bit Arm under emulation, with three vector lengths of SVE", in_test: false, run: arm::run },
    Step { name: "codegen", about: "the program's machine code, every kernel (alone: the dist build, or --binary PATH)", in_test: true, run: codegen::step },
    Step { name: "browser", about: "the report's page in Chromium (pictures in target/browser)", in_test: true, run: browser::run },
    Step { name: "dist", about: "write the files of a release to dist/: programs, packages, checksums", in_test: false, run: dist::run },
    Step { name: "packages", about: "those for x86-64, and each package installed and used in other distributions", in_test: true, run: dist::packages },
    Step { name: "schema", about: "write the schemas in schema/", in_test: false, run: documents::write_schema },
    Step { name: "words", about: "how long the sentences are that users read", in_test: false, run: invariants::words::measure },
    Step { name: "docs-test", about: "the commands that the documents mark as runnable", in_test: true, run: documents::commands },
];

pub(crate) fn usage() -> String {
    let lines: Vec<String> = STEPS.iter().map(|step| format!("  {:<12}  {}\n", step.name, step.about)).collect();
    let lines = lines.concat();
    let all = "everything below but what changes files: all that must hold";
    let similar = "add a run to the results of similar machines that the program ships: similar add RUN";
    let release = "check the version and the changelog, write dist/, and tag the commit: release VERSION";
    let [test, add, tag] = [("test", all), ("similar", similar), ("release", release)]
        .map(|(name, about)| format!("  {name:<12}  {about}\n"));
    format!("Usage: cargo xtask COMMAND\n\n{test}{lines}{add}{tag}")
}

/// Runs every step of the test, whatever came of those before it, and prints what came of all.
pub(crate) fn run_all(shell: &Shell) -> ExitCode {
    let mut total = Tally::default();
    let mut table = Vec::new();
    let begin = Instant::now();
    for step in STEPS.iter().filter(|step| step.in_test) {
        println!("\n=== {}: {}", step.name, step.about);
        let start = Instant::now();
        let tally = (step.run)(shell);
        let verdict = if tally.failed > 0 { "FAILED" } else { "ok" };
        table.push(format!("{:<12}  {verdict:<6}  {:>4} s", step.name, start.elapsed().as_secs()));
        total.add(tally);
    }
    println!("\n{}\n{:<12}  {:>12} s\n", table.join("\n"), "all", begin.elapsed().as_secs());
    finish(&total)
}

/// Prints what came of a step, or of all.
pub(crate) fn finish(tally: &Tally) -> ExitCode {
    print!("{tally}");
    if tally.failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn fmt(shell: &Shell) -> Tally {
    component(shell, &["fmt", "--all", "--check"])
}

fn lint(shell: &Shell) -> Tally {
    component(shell, &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])
}

/// Runs a command of cargo that a minimal installation of Rust lacks.
fn component(shell: &Shell, arguments: &[&str]) -> Tally {
    if arguments.first().is_some_and(|command| !set_up::knows(shell, command)) {
        return Tally::skip(format!("cargo {}: this installation of Rust lacks it", arguments.join(" ")));
    }
    Tally::check(succeeds(&mut shell.cargo(arguments)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_no_step_is_called_test() {
        let mut names: Vec<_> = STEPS.iter().map(|step| step.name).chain(["test"]).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }

    #[test]
    fn the_usage_names_every_step() {
        let usage = usage();
        assert!(STEPS.iter().all(|step| usage.contains(step.name) && usage.contains(step.about)));
    }
}
