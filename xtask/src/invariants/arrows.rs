//! Which crate may depend on which of ours: the arrows of ARCHITECTURE.md and no others.
//!
//! Dependencies of the shipped code only; a crate's tests may use what they like.

use toml::{Table, Value};

use super::repository::Repository;
use super::violation::Violation;

/// Every crate, by its folder, and the crates of ours that it may depend on. A crate that is not here has no rule, and
/// so no reason to be a crate.
const ARROWS: &[(&str, &[&str])] = &[
    ("areas", &["kernels", "machine", "model", "stats", "verdict"]),
    ("bench", &["areas", "kernels", "machine", "model", "stats", "sys", "tools", "verdict"]),
    ("cli", &["areas", "bench", "cluster", "machine", "model", "report", "stats", "tools", "verdict"]),
    ("cluster", &["areas", "bench", "machine", "model", "stats", "sys", "tools", "verdict"]),
    ("kernels", &["model"]),
    ("machine", &["model", "sys"]),
    ("model", &[]),
    ("report", &["areas", "model", "stats", "verdict"]),
    ("stats", &[]),
    ("sys", &[]),
    ("tools", &["model"]),
    ("verdict", &["model", "stats"]),
];

/// Crates that depend on nothing at all.
const ALONE: &[&str] = &["stats"];

/// The arrows that should not be there, and the crates that should not.
pub(super) fn check(repository: &Repository) -> Vec<Violation> {
    let manifests = repository.files.iter().filter(|file| file.path.ends_with("/Cargo.toml"));
    let mut violations = Vec::new();
    // Programs that are not part of the product may depend on every crate.
    for file in manifests.filter(|file| !["fuzz", "lab", "xtask"].contains(&file.owner())) {
        let broken = |what: String| Violation::of_file(&file.path, what);
        let owner = file.owner();
        let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| *name == owner) else {
            violations.push(broken(format!("the crate '{owner}' has no rule in xtask's table of arrows")));
            continue;
        };
        let Ok(manifest) = file.text.parse::<Table>() else {
            violations.push(broken("is not TOML".into()));
            continue;
        };
        let found = dependencies(&manifest);
        let ours = found.iter().filter(|name| is_ours(name));
        let forbidden = ours.filter(|name| !allowed.contains(&name.as_str()));
        violations.extend(forbidden.map(|name| broken(format!("there is no arrow from {owner} to {name}"))));
        if ALONE.contains(&owner) {
            violations.extend(found.iter().map(|name| broken(format!("{owner} depends on nothing, not on {name}"))));
        }
    }
    violations
}

fn is_ours(package: &str) -> bool {
    ["assay", "lab", "xtask"].contains(&package) || ARROWS.iter().any(|(name, _)| *name == package)
}

/// The packages that the code itself depends on: for every target, for the build script too, under their real names.
fn dependencies(manifest: &Table) -> Vec<String> {
    let targets = manifest.get("target").and_then(Value::as_table);
    let places =
        std::iter::once(manifest).chain(targets.into_iter().flat_map(Table::values).filter_map(Value::as_table));
    let tables = places.flat_map(|place| [place.get("dependencies"), place.get("build-dependencies")]);
    let entries = tables.flatten().filter_map(Value::as_table).flatten();
    entries.map(|(name, value)| value.get("package").and_then(Value::as_str).unwrap_or(name).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(path: &str, text: &str) -> Vec<String> {
        check(&Repository::of(&[(path, text)])).into_iter().map(|violation| violation.what).collect()
    }

    #[test]
    fn the_arrows_that_are_meant_pass() {
        let text = "[dependencies]\nmodel.workspace = true\nstats.workspace = true\nserde_json = \"1\"";
        assert!(wrong("crates/report/Cargo.toml", text).is_empty());
    }

    #[test]
    fn a_report_that_could_measure() {
        let text = "[dependencies]\nmodel.workspace = true\nbench.workspace = true";
        assert_eq!(wrong("crates/report/Cargo.toml", text), ["there is no arrow from report to bench"]);
    }

    #[test]
    fn an_arrow_under_another_name_or_for_one_target() {
        let renamed = "[dependencies]\nwords = { package = \"sys\", path = \"../sys\" }";
        assert_eq!(wrong("crates/model/Cargo.toml", renamed), ["there is no arrow from model to sys"]);
        let target = "[target.'cfg(unix)'.dependencies]\nsys.workspace = true";
        assert_eq!(wrong("crates/model/Cargo.toml", target), ["there is no arrow from model to sys"]);
        let build = "[build-dependencies]\nassay = { path = \"../cli\" }";
        assert_eq!(wrong("crates/model/Cargo.toml", build), ["there is no arrow from model to assay"]);
    }

    #[test]
    fn mathematics_with_a_dependency() {
        let text = "[dependencies]\nlibm = \"0.2\"\n[dev-dependencies]\nproptest.workspace = true";
        assert_eq!(wrong("crates/stats/Cargo.toml", text), ["stats depends on nothing, not on libm"]);
    }

    #[test]
    fn tests_may_use_what_they_like() {
        assert!(wrong("crates/model/Cargo.toml", "[dev-dependencies]\nbench.workspace = true").is_empty());
    }

    #[test]
    fn a_crate_without_a_rule() {
        assert_eq!(wrong("crates/utils/Cargo.toml", ""), ["the crate 'utils' has no rule in xtask's table of arrows"]);
    }
}
