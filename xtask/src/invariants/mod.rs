//! The rules of ARCHITECTURE.md that a program can check, each able to fail: its test shows it a repository that breaks
//! it.
//!
//! They complement the compiler and clippy, which hold the rest. They read files and nothing else, so they also see
//! code that this machine does not compile.

mod arrows;
mod bans;
mod cycles;
mod files;
mod modules;
mod prose;
mod repository;
mod violation;
pub(crate) mod words;

use repository::Repository;
use violation::Violation;
use xtask::shell::Shell;
use xtask::tally::Tally;

/// A rule and how it is checked.
struct Invariant {
    rule: &'static str,
    check: fn(&Repository) -> Vec<Violation>,
    /// How many places may still break it: a number that only falls.
    at_most: usize,
}

const INVARIANTS: &[Invariant] = &[
    Invariant { rule: "every file can be read", check: files::unreadable, at_most: 0 },
    Invariant { rule: "crates depend on each other only along the arrows", check: arrows::check, at_most: 0 },
    Invariant { rule: "unsafe code, time, files and output stay in their crates", check: bans::check, at_most: 0 },
    Invariant { rule: "every crate's root has forbid(unsafe_code), or no_std", check: bans::roots, at_most: 0 },
    Invariant { rule: "machine names no absolute path", check: bans::paths, at_most: 0 },
    Invariant { rule: "no import cycle between the files of a crate", check: cycles::check, at_most: 0 },
    Invariant { rule: "few files outside the areas name an area's parameters", check: bans::areas, at_most: 2 },
    Invariant { rule: "files have at most 600 lines, documents 40 kB", check: files::too_large, at_most: 0 },
    Invariant { rule: "no folder has over 15 modules", check: files::too_many, at_most: 0 },
    Invariant { rule: "the vocabulary of xtask/data/phrases.toml", check: words::phrases, at_most: 0 },
    Invariant { rule: "sentences that users read have at most 30 words", check: words::long_sentences, at_most: 0 },
    Invariant { rule: "documentation in code begins with a short sentence", check: words::long_summaries, at_most: 0 },
    Invariant { rule: "nothing is built for the building machine's processor", check: files::native, at_most: 0 },
];

/// Checks every rule and names every place that breaks one.
pub(crate) fn run(shell: &Shell) -> Tally {
    let repository = match Repository::read(shell.root()) {
        Ok(repository) => repository,
        Err(error) => return Tally::failure(format!("cannot read the repository: {error}")),
    };
    let mut tally = Tally::default();
    for invariant in INVARIANTS {
        let violations = (invariant.check)(&repository);
        let holds = violations.len() <= invariant.at_most;
        println!("{:<6} {}", if holds { "ok" } else { "BROKEN" }, invariant.rule);
        for violation in &violations {
            println!("       {violation}");
        }
        tally.add(Tally::check(holds));
    }
    tally
}
