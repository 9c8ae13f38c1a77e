//! `#![forbid(unsafe_code)]` at the root of every crate that may not have any: then the compiler holds that rule, and no
//! `allow` below can lift it.

use super::Violation;
use super::repository::Repository;

/// The crates whose business unsafe code is.
const MAY: &[&str] = &["kernels", "sys"];

/// The roots that lack the line.
pub(super) fn check(repository: &Repository) -> Vec<Violation> {
    let is_root = |path: &str| path.ends_with("/src/lib.rs") || path.ends_with("/src/main.rs");
    let bound = repository.files.iter().filter(|file| is_root(&file.path) && !MAY.contains(&file.owner()));
    let lacking = bound.filter(|file| file.occurrences("# ! [ forbid ( unsafe_code ) ]").next().is_none());
    lacking.map(|file| Violation::of_file(&file.path, "lacks #![forbid(unsafe_code)]")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_without_the_line() {
        let wrong = |path, text| check(&Repository::of(&[(path, text)])).len();
        assert_eq!(wrong("crates/model/src/lib.rs", "//! Words.\n#![forbid(unsafe_code)]\npub mod a;"), 0);
        assert_eq!(wrong("crates/model/src/lib.rs", "//! Words, #![forbid(unsafe_code)]\npub mod a;"), 1);
        assert_eq!(wrong("crates/cli/src/main.rs", "#![deny(unsafe_code)] fn main() {}"), 1);
        assert_eq!(wrong("crates/sys/src/lib.rs", "pub mod clock;"), 0);
    }
}
