//! Rules about whole files: that they can be read, how large they are, what they are built for.

use super::Violation;
use super::repository::Repository;

/// What a person still reads in one sitting, in bytes.
const LARGEST: usize = 40_000;

/// Split, so that this file does not break the rule.
const NATIVE: &str = concat!("target-cpu", "=native");

/// Rust files that are no Rust: no rule about code could see into them.
pub(super) fn unreadable(repository: &Repository) -> Vec<Violation> {
    let reason = |file: &super::repository::File| Some(Violation::of_file(&file.path, file.unreadable.clone()?));
    repository.files.iter().filter_map(reason).collect()
}

/// Files that should be several.
pub(super) fn too_large(repository: &Repository) -> Vec<Violation> {
    let large = repository.files.iter().filter(|file| file.text.len() > LARGEST);
    large
        .map(|file| Violation::of_file(&file.path, format!("{} bytes are too many to read", file.text.len())))
        .collect()
}

/// Files that would build for the processor of the building machine: one binary serves every machine, and chooses at
/// run time. Documents may name what they warn of.
pub(super) fn native(repository: &Repository) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in repository.files.iter().filter(|file| file.extension() != "md") {
        let lines = file.text.lines().enumerate().filter(|(_, line)| line.replace([' ', '"'], "").contains(NATIVE));
        violations.extend(lines.map(|(index, _)| Violation::at_line(&file.path, index + 1, NATIVE)));
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_rust() {
        assert_eq!(unreadable(&Repository::of(&[("xtask/src/a.rs", "fn ( {")])).len(), 1);
        assert_eq!(unreadable(&Repository::of(&[("xtask/src/a.rs", "fn f() {}"), ("README.md", "fn ( {")])).len(), 0);
    }

    #[test]
    fn a_file_that_nobody_reads() {
        let (long, short) = ("x".repeat(40_001), "x".repeat(40_000));
        assert_eq!(too_large(&Repository::of(&[("README.md", &long)])).len(), 1);
        assert_eq!(too_large(&Repository::of(&[("README.md", &short)])).len(), 0);
    }

    #[test]
    fn a_build_for_this_machine_alone() {
        let flags = format!("[build]\nrustflags = [\"-C\", \"{NATIVE}\"]");
        let found = native(&Repository::of(&[(".cargo/config.toml", &flags), ("ARCHITECTURE.md", NATIVE)]));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, Some(2));
    }
}
