//! What is known about an area is in its two folders: other code names no area's parameters.

use super::repository::Repository;
use super::violation::Violation;

/// Where an area is at home.
const HOMES: &[&str] = &["crates/areas/", "crates/bench/src/engines/", "crates/model/"];

/// The files outside that name an area or its parameters, tests not counted.
pub(super) fn check(repository: &Repository) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in repository.files.iter().filter(|file| !HOMES.iter().any(|home| file.path.starts_with(home))) {
        let mut lines = Vec::new();
        for area in ["Cpu", "Linpack", "Memory", "Disk", "Net"] {
            for path in ["Area", "Params"].map(|of| format!("{of} : : {area}")) {
                lines.extend(file.occurrences(&path).filter(|token| !token.in_test).map(|token| token.line));
            }
        }
        if let Some(first) = lines.iter().min() {
            violations.push(Violation::at_line(&file.path, *first, format!("{} times", lines.len())));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_knows_an_area() {
        let wrong = |path, text| check(&Repository::of(&[(path, text)])).len();
        let text = "fn f(p: &Params) { matches!(p, Params::Disk(_)) || g(model::Area::Net) }";
        assert_eq!(wrong("crates/report/src/a.rs", text), 1);
        assert_eq!(wrong("crates/bench/src/engines/disk/mod.rs", text), 0);
        assert_eq!(wrong("crates/report/src/a.rs", "#[test]\nfn f() { Area::Net }"), 0);
        assert_eq!(wrong("crates/report/src/a.rs", "fn f() { DiskParams::Disk; Area::Other }"), 0);
    }
}
