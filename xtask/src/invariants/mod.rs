//! The rules of ARCHITECTURE.md that a program can check, each able to fail: its test shows it a repository that breaks
//! it.
//!
//! They complement the compiler and clippy, which hold the rest. They read files and nothing else, so they also see
//! code that this machine does not compile.

mod arrows;
mod bans;
mod files;
mod paths;
mod repository;
mod roots;

use std::fmt;

use crate::shell::Shell;
use crate::tally::Tally;
use repository::Repository;

/// A place where a rule is broken.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Violation {
    path: String,
    /// Counted from 1; `None` where the whole file is meant.
    line: Option<usize>,
    what: String,
}

impl Violation {
    fn of_file(path: &str, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: None, what: what.into() }
    }

    fn at_line(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: Some(line), what: what.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.what),
            None => write!(f, "{}: {}", self.path, self.what),
        }
    }
}

/// A rule and how it is checked.
struct Invariant {
    rule: &'static str,
    check: fn(&Repository) -> Vec<Violation>,
}

const INVARIANTS: &[Invariant] = &[
    Invariant { rule: "every file can be read", check: files::unreadable },
    Invariant { rule: "crates depend on each other only along the arrows", check: arrows::check },
    Invariant {
        rule: "unsafe code, time, files, argv, the environment and output stay in their crates",
        check: bans::check,
    },
    Invariant {
        rule: "every crate's root tells the compiler what to hold: forbid(unsafe_code), no_std",
        check: roots::check,
    },
    Invariant { rule: "machine names no absolute path", check: paths::check },
    Invariant { rule: "no file of ours is over 40 kB", check: files::too_large },
    Invariant { rule: "nothing is built for the building machine's processor", check: files::native },
];

/// Checks every rule and names every place that breaks one.
pub(crate) fn run(shell: &Shell) -> Tally {
    let repository = match Repository::read(shell.root()) {
        Ok(repository) => repository,
        Err(error) => {
            println!("cannot read the repository: {error}");
            return Tally::check(false);
        }
    };
    let mut tally = Tally::default();
    for invariant in INVARIANTS {
        let violations = (invariant.check)(&repository);
        println!("{:<6} {}", if violations.is_empty() { "ok" } else { "BROKEN" }, invariant.rule);
        for violation in &violations {
            println!("       {violation}");
        }
        tally.add(Tally::check(violations.is_empty()));
    }
    tally
}
