//! The crates in the program, as a `CycloneDX` document.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use xtask::process::output;

use super::release::Release;
use super::staging;

/// Name, version, licence.
const FORMAT: &str = "{p}|{l}";

/// Writes the software bill of materials.
pub(super) fn write(release: &Release) -> Result<(), String> {
    let options =
        ["tree", "--locked", "--package", "assay", "--edges", "normal", "--prefix", "none", "--format", FORMAT];
    let tree = output(&mut release.command("cargo", &options)).ok_or("cargo tree failed")?;
    let path = release.shell.root().join("Cargo.lock");
    let lock = std::fs::read_to_string(path).map_err(|error| format!("Cargo.lock: {error}"))?;
    let document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": staging::time(release, "+%Y-%m-%dT%H:%M:%SZ")?,
            "component": {"type": "application", "name": "assay", "version": release.version},
        },
        "components": components(&tree, &checksums(&lock)?),
    });
    let text = serde_json::to_string_pretty(&document).map_err(|error| error.to_string())?;
    release.write(&release.made.join(format!("assay-{}.cdx.json", release.version)), text + "\n")
}

/// The crates of crates.io in the output of `cargo tree`.
fn components(tree: &str, checksums: &BTreeMap<String, String>) -> Vec<Value> {
    let lines = tree.lines().map(|line| line.trim_end_matches(" (*)")).filter(|line| !line.contains(" (/"));
    let lines: BTreeSet<&str> = lines.collect();
    let component = |line: &&str| {
        let (package, licence) = line.split_once('|')?;
        let (name, version) = package.trim_end_matches(" (proc-macro)").split_once(" v")?;
        let checksum = checksums.get(&format!("{name} {version}"))?;
        Some(json!({
            "type": "library",
            "name": name,
            "version": version,
            "purl": format!("pkg:cargo/{name}@{version}"),
            "hashes": [{"alg": "SHA-256", "content": checksum}],
            "licenses": [{"expression": licence.replace('/', " OR ")}],
        }))
    };
    lines.iter().filter_map(component).collect()
}

/// The checksum of each `name version` of a lock file.
fn checksums(lock: &str) -> Result<BTreeMap<String, String>, String> {
    let lock: toml::Table = lock.parse().map_err(|error| format!("Cargo.lock: {error}"))?;
    let packages = lock.get("package").and_then(toml::Value::as_array).into_iter().flatten();
    let entry = |package: &toml::Value| {
        let text = |key: &str| package.get(key)?.as_str().map(str::to_owned);
        Some((format!("{} {}", text("name")?, text("version")?), text("checksum")?))
    };
    Ok(packages.filter_map(entry).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_are_listed_once_with_their_checksum_and_licence() {
        let lock = "[[package]]\nname = \"libc\"\nversion = \"0.2.1\"\nchecksum = \"ab\"\n[[package]]\nname = \"assay\"\nversion = \"0.1.0\"\n";
        let tree = "assay v0.1.0 (/assay/crates/cli)|MIT\nlibc v0.2.1|MIT/Apache-2.0\nlibc v0.2.1|MIT/Apache-2.0 (*)\n";
        let found = components(tree, &checksums(lock).unwrap());
        assert_eq!(found.len(), 1);
        assert_eq!(found[0]["purl"], "pkg:cargo/libc@0.2.1");
        assert_eq!(found[0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(found[0]["hashes"][0]["content"], "ab");
    }
}
