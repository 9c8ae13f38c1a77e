//! The table of steps: what `cargo xtask test` does in order, and what each can be called by itself.

use std::process::ExitCode;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::family::Family;
use crate::shell::{Shell, succeeds};
use crate::tally::Tally;
use crate::{
    browser, cluster, codegen, deny, documents, harness, invariants, peers, set_up, simulate, trust, unprivileged,
};

/// One thing that can be asked for.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    about: &'static str,
    /// Whether it is part of `cargo xtask test`; what changes files is not.
    in_test: bool,
    /// How many minutes it may last: a few times what it takes where nothing has been built yet. Then it hangs.
    minutes: u64,
    run: fn(&Shell) -> Tally,
}

/// Every step, in the order in which `cargo xtask test` takes them: what is quick and likely to fail first.
#[rustfmt::skip]
pub(crate) const STEPS: &[Step] = &[
    Step { name: "set-up", about: "install what the tests need, where this user may", in_test: true, minutes: 10, run: set_up::run },
    Step { name: "fmt", about: "formatting (rustfmt)", in_test: true, minutes: 2, run: fmt },
    Step { name: "invariants", about: "the rules of ARCHITECTURE.md that a program can check", in_test: true, minutes: 2, run: invariants::run },
    Step { name: "lint", about: "clippy, warnings as errors", in_test: true, minutes: 15, run: lint },
    Step { name: "crate-tests", about: "the tests of every crate but the program, in parallel", in_test: true, minutes: 25, run: harness::crates },
    Step { name: "codegen", about: "the program's machine code, every kernel (alone: the release build, or --binary PATH)", in_test: true, minutes: 10, run: codegen::step },
    Step { name: "program-tests", about: "the program end to end, what disturbs or measures others one at a time", in_test: true, minutes: 20, run: harness::program },
    Step { name: "unprivileged-tests", about: "the same as a user without any right", in_test: true, minutes: 15, run: unprivileged::run },
    Step { name: "browser", about: "the report's page in Chromium (pictures in target/browser)", in_test: true, minutes: 12, run: browser::run },
    Step { name: "schema-check", about: "whether the committed schemas are the code's", in_test: true, minutes: 5, run: documents::check_schema },
    Step { name: "schema", about: "write the schemas in schema/ anew", in_test: false, minutes: 5, run: documents::write_schema },
    Step { name: "docs", about: "the API documentation, warnings as errors", in_test: true, minutes: 10, run: documents::api },
    Step { name: "docs-test", about: "the commands that README.md marks as runnable", in_test: true, minutes: 10, run: documents::commands },
    Step { name: "deny", about: "licences, bans and sources of dependencies (cargo-deny)", in_test: true, minutes: 10, run: deny::run },
];

/// What can be asked for, one line each.
pub(crate) fn usage() -> String {
    let all = "  test                everything below but what changes files: all that must hold\n";
    let all =
        format!("{all}  test --cluster      what must hold on a real Slurm of four nodes, which it starts and ends\n");
    let lines = STEPS.iter().map(|step| format!("  {:<18}  {}\n", step.name, step.about));
    let peers = format!(
        "\n  {}\n      compare with the tools that people trust, and write docs/performance.md\n",
        peers::USAGE
    );
    let trust = format!("\n  {}\n      try out what is claimed, and write docs/trust.md\n", trust::USAGE);
    let cluster = format!("\n  {}\n      a real Slurm of four nodes on this machine\n", cluster::USAGE);
    let simulate =
        format!("\n  {}\n      how often slow nodes are named, for docs/cluster-simulation.md\n", simulate::USAGE);
    format!("Usage: cargo xtask COMMAND\n\n{all}{}{peers}{trust}{cluster}{simulate}", lines.collect::<String>())
}

/// How long all of `cargo xtask test` may last. CI ends it without a word after 90 minutes.
const ALL: Duration = Duration::from_mins(55);

/// Pause between two looks at what a step has started.
const LOOK: Duration = Duration::from_secs(2);

/// How long a step may take to come to its end once everything that it has started was ended.
const LEAVE: Duration = Duration::from_secs(30);

/// Runs one step and says what came of it.
pub(crate) fn run_one(shell: &Shell, step: &Step) -> ExitCode {
    finish(&bounded(shell, step, step.bound(), LEAVE))
}

/// Runs every step of the test, whatever came of those before it, and says what came of all.
pub(crate) fn run_all(shell: &Shell) -> ExitCode {
    let mut total = Tally::default();
    let mut table = Vec::new();
    let begin = Instant::now();
    for step in STEPS.iter().filter(|step| step.in_test) {
        println!("\n=== {}: {}", step.name, step.about);
        let start = Instant::now();
        let tally = bounded(shell, step, step.bound().min(ALL.saturating_sub(begin.elapsed())), LEAVE);
        let verdict = if tally.failed > 0 { "FAILED" } else { "ok" };
        table.push(format!("{:<18}  {verdict:<6}  {:>4} s", step.name, start.elapsed().as_secs()));
        total.add(tally);
    }
    println!("\n{}\n{:<18}  {:>12} s\n", table.join("\n"), "all", begin.elapsed().as_secs());
    finish(&total)
}

impl Step {
    fn bound(&self) -> Duration {
        Duration::from_mins(self.minutes)
    }
}

/// Runs a step that may last so long. After that everything that we have started is ended, again and again until the
/// step has come to its end by that; a step that does not even then is left alone, and ends with us.
fn bounded(shell: &Shell, step: &Step, bound: Duration, leave: Duration) -> Tally {
    if bound.is_zero() {
        return Tally::failure(format!("{}: no time was left for it", step.name));
    }
    let (sender, receiver) = mpsc::channel();
    let (run, shell) = (step.run, shell.clone());
    // Not a scoped thread: it need not end.
    std::thread::spawn(move || sender.send(run(&shell)));
    let mut family = Family::of_ours();
    let start = Instant::now();
    while start.elapsed() < bound {
        match receiver.recv_timeout(LOOK.min(bound.saturating_sub(start.elapsed()))) {
            Ok(tally) => return tally,
            Err(RecvTimeoutError::Timeout) => drop(family.look()),
            Err(RecvTimeoutError::Disconnected) => return Tally::failure(format!("{}: xtask panicked", step.name)),
        }
    }
    let why = format!("{} has lasted longer than {} s and was ended", step.name, bound.as_secs());
    println!("\n{why}");
    let mut tally = Tally::failure(why);
    let end = Instant::now();
    while end.elapsed() < leave {
        family.end().into_iter().for_each(|process| println!("could not be ended: {process}"));
        if let Ok(of_step) = receiver.recv_timeout(LOOK) {
            tally.add(of_step);
            return tally;
        }
    }
    tally
}

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

    /// A step that starts what does not end by itself: one command after the other.
    fn endless(shell: &Shell) -> Tally {
        let mut tally = Tally::default();
        for _ in 0..3 {
            tally.add(Tally::check(succeeds(&mut shell.command("sleep", &["300"]))));
        }
        tally
    }

    /// A step that waits for nobody.
    fn deaf(_: &Shell) -> Tally {
        std::thread::sleep(Duration::from_mins(5));
        Tally::default()
    }

    fn step(run: fn(&Shell) -> Tally) -> Step {
        Step { name: "hangs", about: "", in_test: false, minutes: 1, run }
    }

    #[test]
    fn a_step_that_lasts_too_long_is_ended_and_failed() {
        const ALONE: &str = "ASSAY_XTASK_TEST_ALONE";
        if std::env::var_os(ALONE).is_none() {
            // What this process has started is ended, that of other tests too: so it is one of its own.
            let name = "steps::tests::a_step_that_lasts_too_long_is_ended_and_failed";
            let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
            let output = alone.args(["--exact", name]).env(ALONE, "1").output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && said.contains("1 passed"), "{said}");
            return;
        }
        let (shell, second) = (Shell::at_root(), Duration::from_secs(1));
        let start = Instant::now();
        let tally = bounded(&shell, &step(endless), second, LEAVE);
        assert_eq!((tally.failed, tally.failures.len()), (4, 1), "each command was ended: {tally}");
        let tally = bounded(&shell, &step(deaf), second, second);
        assert!(tally.failures[0].contains("hangs has lasted longer than 1 s"), "{tally}");
        assert!(start.elapsed() < Duration::from_mins(2), "{:?}", start.elapsed());
        assert_eq!(bounded(&shell, &step(endless), Duration::ZERO, LEAVE).failures, ["hangs: no time was left for it"]);
        assert_eq!(bounded(&shell, &step(|_| Tally::check(true)), LEAVE, LEAVE), Tally::check(true));
    }

    #[test]
    fn a_step_that_panics_is_a_failure() {
        let tally = bounded(&Shell::at_root(), &step(|_| panic!("on purpose")), LEAVE, LEAVE);
        assert_eq!(tally.failed, 1);
    }
}
