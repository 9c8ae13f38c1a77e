//! The lines at the root of a crate by which the compiler holds a rule, so that no `allow` below can lift it.

use super::repository::Repository;
use super::violation::Violation;

/// A line, as tokens separated by spaces, and whom it binds.
struct Line {
    tokens: &'static str,
    /// Whether the crate in this folder must have it.
    binds: fn(&str) -> bool,
}

const LINES: &[Line] = &[
    Line { tokens: "# ! [ forbid ( unsafe_code ) ]", binds: |owner| !["kernels", "sys"].contains(&owner) },
    // Without the standard library there is no file, no socket, no clock and no allocation in a timed loop.
    Line { tokens: "# ! [ no_std ]", binds: |owner| owner == "kernels" },
];

/// The roots that lack a line.
pub(super) fn check(repository: &Repository) -> Vec<Violation> {
    let is_root = |path: &str| path.ends_with("/src/lib.rs") || path.ends_with("/src/main.rs");
    let mut violations = Vec::new();
    for file in repository.files.iter().filter(|file| is_root(&file.path)) {
        let lacking =
            LINES.iter().filter(|line| (line.binds)(file.owner()) && file.occurrences(line.tokens).next().is_none());
        violations.extend(
            lacking.map(|line| Violation::of_file(&file.path, format!("lacks {}", line.tokens.replace(' ', "")))),
        );
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(path: &str, text: &str) -> usize {
        check(&Repository::of(&[(path, text)])).len()
    }

    #[test]
    fn a_root_that_does_not_forbid_unsafe_code() {
        assert_eq!(wrong("crates/model/src/lib.rs", "//! Words.\n#![forbid(unsafe_code)]\npub mod a;"), 0);
        assert_eq!(wrong("crates/model/src/lib.rs", "//! Words, #![forbid(unsafe_code)]\npub mod a;"), 1);
        assert_eq!(wrong("crates/cli/src/main.rs", "#![deny(unsafe_code)] fn main() {}"), 1);
        assert_eq!(wrong("crates/sys/src/lib.rs", "pub mod clock;"), 0);
    }

    #[test]
    fn kernels_with_the_standard_library() {
        assert_eq!(wrong("crates/kernels/src/lib.rs", "#![no_std]\npub mod chain;"), 0);
        assert_eq!(wrong("crates/kernels/src/lib.rs", "pub mod chain;"), 1);
    }
}
