//! No absolute path in `machine`: it reads through a `Sysroot`, so that a folder can stand for any machine on earth.

use super::Violation;
use super::repository::Repository;

/// The absolute paths that the crate's code names.
pub(super) fn check(repository: &Repository) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in repository.files.iter().filter(|file| file.owner() == "machine") {
        let paths = file.tokens.iter().filter(|token| token.is_literal && !token.in_test && is_absolute(&token.text));
        violations.extend(paths.map(|token| Violation::at_line(&file.path, token.line, token.text.clone())));
    }
    violations
}

/// Whether a literal, as it is written in the source, is a string that starts with `/` and a name.
fn is_absolute(literal: &str) -> bool {
    let Some((_, text)) = literal.split_once('"') else { return false };
    text.strip_prefix('/').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_leaves_the_sysroot() {
        let wrong = |path, text| check(&Repository::of(&[(path, text)])).len();
        assert_eq!(wrong("crates/machine/src/cpu.rs", "fn f() { open(\"/proc/cpuinfo\") }"), 1);
        assert_eq!(wrong("crates/machine/src/cpu.rs", "const A: &[u8] = br#\"/sys\"#;"), 1);
        assert_eq!(
            wrong("crates/machine/src/cpu.rs", "/// Reads /proc.\nfn f() { open(\"proc/cpuinfo\", '/', \"/\") }"),
            0
        );
        assert_eq!(wrong("crates/machine/src/cpu.rs", "#[cfg(test)] mod tests { const A: &str = \"/proc\"; }"), 0);
        assert_eq!(wrong("crates/sys/src/lib.rs", "const A: &str = \"/proc/self\";"), 0);
    }
}
