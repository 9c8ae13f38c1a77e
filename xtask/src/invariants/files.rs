//! Rules about whole files: that they can be read, how large they are, what they are built for.

use std::collections::{BTreeMap, BTreeSet};

use super::repository::Repository;
use super::violation::Violation;

/// The longest file of code, in lines, and the largest document, in bytes.
const MOST_LINES: usize = 600;
const MOST_BYTES: usize = 40_000;

/// The most modules of one folder.
const MOST_SIBLINGS: usize = 15;

/// Folders of tables, recordings and snapshots, which may be long and many.
const DATA: &[&str] = &["/recorded/", "/snapshots/", "/machines/"];

/// Split, so that this file does not break the rule.
const NATIVE: &str = concat!("target-cpu", "=native");

/// Rust files that are no Rust: no rule about code could see into them.
pub(super) fn unreadable(repository: &Repository) -> Vec<Violation> {
    let reason = |file: &super::repository::File| Some(Violation::of_file(&file.path, file.unreadable.clone()?));
    repository.files.iter().filter_map(reason).collect()
}

fn is_data(path: &str) -> bool {
    DATA.iter().any(|folder| path.contains(folder))
}

pub(super) fn too_large(repository: &Repository) -> Vec<Violation> {
    let large = repository.files.iter().filter(|file| !is_data(&file.path)).filter_map(|file| {
        let (bytes, lines) = (file.text.len(), file.text.lines().count());
        let what = match file.extension() {
            "md" if bytes > MOST_BYTES => format!("{bytes} bytes"),
            "md" => return None,
            _ if lines > MOST_LINES => format!("{lines} lines"),
            _ => return None,
        };
        Some(Violation::of_file(&file.path, what))
    });
    large.collect()
}

/// Folders of code that lack a level: a module's file and its folder count once, and roots and tests not at all.
pub(super) fn too_many(repository: &Repository) -> Vec<Violation> {
    let mut folders: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for file in repository.files.iter().filter(|file| file.extension() == "rs" && !is_data(&file.path)) {
        let mut path = file.path.strip_suffix(".rs").unwrap_or(&file.path);
        while let Some((folder, name)) = path.rsplit_once('/') {
            if !["lib", "main", "mod", "tests"].contains(&name) {
                folders.entry(folder).or_default().insert(name);
            }
            path = folder;
        }
    }
    let many = folders.into_iter().filter(|(_, names)| names.len() > MOST_SIBLINGS);
    many.map(|(folder, names)| Violation::of_file(folder, format!("{} modules", names.len()))).collect()
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
        let wrong = |path: &str, text: &str| too_large(&Repository::of(&[(path, text)])).len();
        let (long, short) = ("\n".repeat(601), "\n".repeat(600));
        assert_eq!((wrong("xtask/src/a.rs", &long), wrong("xtask/src/a.rs", &short)), (1, 0));
        assert_eq!((wrong("README.md", &"x".repeat(40_001)), wrong("README.md", &long)), (1, 0));
        assert_eq!(wrong("crates/tools/src/recorded/a.sh", &long), 0);
    }

    #[test]
    fn a_folder_that_lacks_a_level() {
        let folder = |count: usize| {
            let modules =
                (0..count).flat_map(|i| [format!("xtask/src/a/m{i}.rs"), format!("xtask/src/a/m{i}/part.rs")]);
            let paths: Vec<String> =
                modules.chain(["xtask/src/a/mod.rs".into(), "xtask/src/a/tests.rs".into()]).collect();
            let files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "")).collect();
            too_many(&Repository::of(&files))
        };
        assert_eq!(folder(15), []);
        assert_eq!(folder(16), [Violation::of_file("xtask/src/a", "16 modules")]);
    }

    #[test]
    fn a_build_for_this_machine_alone() {
        let flags = format!("[build]\nrustflags = [\"-C\", \"{NATIVE}\"]");
        let found = native(&Repository::of(&[(".cargo/config.toml", &flags), ("ARCHITECTURE.md", NATIVE)]));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, Some(2));
    }
}
