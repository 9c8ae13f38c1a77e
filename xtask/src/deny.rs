//! Licences, bans and sources of what we depend on, by cargo-deny and the rules of `deny.toml`.
//!
//! Security advisories are not asked for: their database is fetched from the network, and the answer changes from day
//! to day without a change of ours.

use std::path::PathBuf;
use std::process::Command;

use crate::shell::{Shell, is_there, succeeds};
use crate::tally::Tally;

/// The version that is installed where there is none; older ones than [`OLDEST`] do not know `deny.toml`'s words.
const VERSION: &str = "0.20.2";
const OLDEST: (u32, u32) = (0, 18);

/// Checks every dependency of the workspace.
pub(crate) fn run(shell: &Shell) -> Tally {
    let Some(program) = installed(shell).or_else(|| install(shell)) else {
        return Tally::skip(format!(
            "licences, bans and sources of dependencies: no cargo-deny here, and it cannot be installed \
             (cargo install cargo-deny --locked --version {VERSION})"
        ));
    };
    Tally::check(succeeds(&mut shell.command(program, &["check", "licenses", "bans", "sources"])))
}

/// A cargo-deny that is there and new enough: the user's, or the one installed by an earlier run.
fn installed(shell: &Shell) -> Option<PathBuf> {
    [PathBuf::from("cargo-deny"), ours(shell)].into_iter().find(|program| {
        let output = Command::new(program).arg("--version").output();
        output.is_ok_and(|output| version(&String::from_utf8_lossy(&output.stdout)) >= Some(OLDEST))
    })
}

/// Where ours is kept, so that it is built once for a checkout.
fn ours(shell: &Shell) -> PathBuf {
    shell.target().join("tools/bin/cargo-deny")
}

/// Builds cargo-deny, which takes some minutes; `None` where it cannot be had.
fn install(shell: &Shell) -> Option<PathBuf> {
    let root = shell.target().join("tools");
    let mut command = shell.cargo(&["install", "cargo-deny", "--locked", "--version", VERSION]);
    // Optimising it would take longer than it ever runs.
    command.args(["--debug", "--config", "profile.dev.debug=false", "--root"]).arg(&root);
    command.env("CARGO_TARGET_DIR", root.join("build"));
    succeeds(&mut command);
    // What it was built from is several hundred megabytes and of no more use.
    let _ = std::fs::remove_dir_all(root.join("build"));
    Some(ours(shell)).filter(|program| is_there(Command::new(program).arg("--version")))
}

/// The first two numbers of `cargo-deny 0.18.4`.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.trim().rsplit(' ').next()?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert_eq!(version("cargo-deny 0.18.4\n"), Some((0, 18)));
        assert!(version("cargo-deny 0.9.1") < Some(OLDEST));
        assert!(version("cargo-deny 1.0.0") > Some(OLDEST));
        assert_eq!(version(""), None);
        assert!(version(VERSION) >= Some(OLDEST));
    }
}
