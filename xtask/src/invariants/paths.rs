//! No absolute path in `machine`: it reads through a `Sysroot`, so that a folder can stand for any machine on earth.

use super::repository::{Repository, Token};
use super::violation::Violation;

/// Where an absolute path starts on Linux. Units start with a slash too.
const TOP: &[&str] = &["boot", "dev", "etc", "home", "lib", "mnt", "proc", "root", "run", "sys", "tmp", "usr", "var"];
/// Before a literal: what it is compared with is a path, but none that is opened.
const COMPARISONS: &[&str] = &["strip_prefix", "starts_with"];

/// The absolute paths that the crate's code names.
pub(super) fn check(repository: &Repository) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in repository.files.iter().filter(|file| file.owner() == "machine") {
        let paths = file.tokens.iter().enumerate().filter(|(_, token)| !token.in_test && is_absolute(token));
        let opened = paths.filter(|(index, _)| !is_compared(&file.tokens[..*index]));
        violations.extend(opened.map(|(_, token)| Violation::at_line(&file.path, token.line, token.text.clone())));
    }
    violations
}

/// Whether what stands before a token makes it the argument of a comparison.
fn is_compared(before: &[Token]) -> bool {
    matches!(before, [.., name, open] if open.text == "(" && COMPARISONS.contains(&name.text.as_str()))
}

/// Whether a token is a string that starts with `/` and a folder of the root.
fn is_absolute(token: &Token) -> bool {
    let Some((_, text)) = token.text.split_once('"').filter(|_| token.is_literal) else { return false };
    let first = text.strip_prefix('/').and_then(|rest| rest.split(|c: char| !c.is_ascii_alphanumeric()).next());
    first.is_some_and(|first| TOP.contains(&first))
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
        assert_eq!(wrong("crates/machine/src/a.rs", "fn f(s: &str) { s.strip_prefix(\"/dev/\"); }"), 0);
        assert_eq!(wrong("crates/machine/src/a.rs", "const UNIT: &str = \"/cycle\";"), 0);
        assert_eq!(wrong("crates/sys/src/lib.rs", "const A: &str = \"/proc/self\";"), 0);
    }
}
