//! Licences, versions and sources of what we depend on, by the rules of `deny.toml` and what cargo knows of each package.
//!
//! `cargo deny check licenses bans sources` reads the same file, but takes longer to build than everything else here.
//! Security advisories are not asked for: the answer changes from day to day without a change of ours.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use toml::Table;

use xtask::process::output;
use xtask::shell::Shell;
use xtask::tally::Tally;

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

pub(crate) fn run(shell: &Shell) -> Tally {
    let rules = std::fs::read_to_string(shell.root().join("deny.toml")).ok().and_then(|text| text.parse().ok());
    let metadata = output(shell.cargo(&["metadata", "--format-version=1", "--all-features"]).arg("--quiet"));
    let metadata = metadata.and_then(|text| serde_json::from_str(&text).ok());
    let (Some(rules), Some(metadata)) = (rules, metadata) else {
        return Tally::failure("deny: deny.toml or cargo's metadata cannot be read");
    };
    let violations = check(&rules, &metadata);
    for violation in &violations {
        println!("{violation}");
    }
    Tally::check(violations.is_empty())
}

/// What breaks a rule, a sentence each.
fn check(rules: &Table, metadata: &Value) -> Vec<String> {
    let allowed = rules.get("licenses").and_then(|licenses| licenses.get("allow")?.as_array());
    let allowed: Vec<&str> = allowed.into_iter().flatten().filter_map(toml::Value::as_str).collect();
    let all = items(&metadata["packages"]).map(|package| (text(package, "id"), package));
    let packages: BTreeMap<&str, &Value> = all.collect();
    let used = reached(metadata, &[], &packages);
    let mut violations = Vec::new();
    for package in packages.values() {
        let name = full_name(package);
        if used.contains(text(package, "id")) && !is_allowed(text(package, "license"), &allowed) {
            violations.push(format!("{name}: its licence '{}' is not allowed", text(package, "license")));
        }
        let is_ours = package["source"].is_null();
        if !is_ours && package["source"] != REGISTRY {
            violations.push(format!("{name}: is not from crates.io"));
        }
        let wild = items(&package["dependencies"]).filter(|of| is_ours && of["req"] == "*" && of["path"].is_null());
        violations.extend(wild.map(|of| format!("{name}: any version of {} would do", text(of, "name"))));
    }
    violations.extend(doubles(rules, metadata, &packages));
    violations
}

/// Crates of which there are two versions, but for those that the rules skip, with or without what is below them.
fn doubles(rules: &Table, metadata: &Value, packages: &BTreeMap<&str, &Value>) -> Vec<String> {
    let skipped = |list: &str| -> Vec<String> {
        let entries = rules.get("bans").and_then(|bans| bans.get(list)).and_then(toml::Value::as_array);
        let crates = entries.into_iter().flatten().filter_map(|entry| entry.get("crate")?.as_str());
        crates.map(|name| name.replace('@', " ")).collect()
    };
    let skip = skipped("skip");
    let mut found: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in reached(metadata, &skipped("skip-tree"), packages).iter().filter_map(|id| packages.get(id)) {
        if !skip.contains(&full_name(package)) {
            found.entry(text(package, "name")).or_default().insert(text(package, "version"));
        }
    }
    let doubles = found.into_iter().filter(|(_, versions)| versions.len() > 1);
    doubles
        .map(|(name, versions)| format!("{name}: {}", versions.into_iter().collect::<Vec<_>>().join(" and ")))
        .collect()
}

/// The packages that the workspace's own depend on, tests not counted, and not over those that are left out.
fn reached<'a>(metadata: &'a Value, left_out: &[String], packages: &BTreeMap<&str, &Value>) -> BTreeSet<&'a str> {
    let nodes: BTreeMap<&str, &Value> =
        items(&metadata["resolve"]["nodes"]).map(|node| (text(node, "id"), node)).collect();
    let mut next: Vec<&str> = items(&metadata["workspace_members"]).filter_map(Value::as_str).collect();
    let mut seen = BTreeSet::new();
    while let Some(id) = next.pop() {
        let is_out = packages.get(id).is_some_and(|package| left_out.contains(&full_name(package)));
        if !is_out && seen.insert(id) {
            let below = nodes.get(id).into_iter().flat_map(|node| items(&node["deps"]));
            let shipped = below.filter(|of| items(&of["dep_kinds"]).any(|kind| kind["kind"] != "dev"));
            next.extend(shipped.map(|of| text(of, "pkg")));
        }
    }
    seen
}

/// Whether a licence expression (`MIT OR (Apache-2.0 AND ISC)`) can be met with what is allowed.
fn is_allowed(expression: &str, allowed: &[&str]) -> bool {
    // Stands for parentheses whose content can be met.
    const MET: &str = "+";
    let is_met = |text: &str| {
        let holds = |licence: &str| licence.trim() == MET || allowed.contains(&licence.trim());
        text.split(" OR ").any(|alternative| alternative.split(" AND ").all(holds))
    };
    let mut text = expression.replace('/', " OR ");
    while let Some(open) = text.rfind('(') {
        let Some(length) = text[open..].find(')') else { return false };
        let met = if is_met(&text[open + 1..open + length]) { MET } else { "" };
        text.replace_range(open..=open + length, met);
    }
    is_met(&text)
}

fn full_name(package: &Value) -> String {
    format!("{} {}", text(package, "name"), text(package, "version"))
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn licences() {
        let allowed = ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "ISC"];
        let holds = |expression| is_allowed(expression, &allowed);
        let good = ["MIT", "GPL-3.0 OR MIT", "MIT/GPL-3.0", "(MIT OR GPL-3.0) AND ISC"];
        assert_eq!(good.map(holds), [true; 4]);
        assert!(holds("Apache-2.0 WITH LLVM-exception OR GPL-3.0"));
        let not = ["", "GPL-3.0", "MIT AND GPL-3.0", "(GPL-3.0 OR MPL-2.0) AND ISC", "MIT WITH X", "MIT ISC", "(MIT"];
        assert_eq!(not.map(holds), [false; 7]);
    }

    #[test]
    fn versions_sources_and_wildcards() {
        let package = |name: &str, version: &str, source: Option<&str>| {
            json!({"id": format!("{name}{version}"), "name": name, "version": version, "license": "MIT", "source": source,
                   "dependencies": [{"name": "z", "req": "*", "path": null}]})
        };
        let known = Some(REGISTRY);
        let metadata = json!({
            "packages": [package("a", "1", None), package("b", "1", known), package("b", "2", known), package("b", "3", known), package("c", "1", Some("git")), package("d", "1", known)],
            "workspace_members": ["a1"],
            "resolve": {"nodes": [
                {"id": "a1", "deps": [
                    {"pkg": "b1", "dep_kinds": [{"kind": null}]},
                    {"pkg": "c1", "dep_kinds": [{"kind": "build"}]},
                    {"pkg": "d1", "dep_kinds": [{"kind": "dev"}]},
                ]},
                {"id": "c1", "deps": [{"pkg": "b2", "dep_kinds": [{"kind": null}]}]},
                {"id": "d1", "deps": [{"pkg": "b3", "dep_kinds": [{"kind": null}]}]},
            ]},
        });
        let found = |rules: &str| check(&rules.parse().unwrap(), &metadata);
        let rules = "[licenses]\nallow = [\"MIT\"]\n";
        let always = ["a 1: any version of z would do", "c 1: is not from crates.io"];
        assert_eq!(found(rules), [&always[..], &["b: 1 and 2"]].concat());
        assert_eq!(found(&format!("{rules}[bans]\nskip = [{{ crate = \"b@2\" }}]")), always);
        assert_eq!(found(&format!("{rules}[bans]\nskip-tree = [{{ crate = \"c@1\" }}]")), always);
        assert_eq!(found("").len(), 7, "no licence is allowed, but tests may use any");
    }
}
