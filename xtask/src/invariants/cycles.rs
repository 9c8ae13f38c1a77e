//! No cycle between the files of a crate: a file that uses a name of another is not used by it, however far around.

use std::collections::BTreeSet;

use super::modules::{Arrows, Modules};
use super::repository::Repository;
use super::violation::Violation;

/// How many arrows of a cycle are shown.
const SHOWN: usize = 40;

pub(super) fn check(repository: &Repository) -> Vec<Violation> {
    let roots = repository.files.iter().filter_map(|file| {
        let folder = file.path.strip_suffix("lib.rs").or_else(|| file.path.strip_suffix("main.rs"))?;
        folder.ends_with("src/").then_some(folder)
    });
    let mut violations = Vec::new();
    for folder in roots.collect::<BTreeSet<_>>() {
        let arrows = Modules::read(repository, folder).arrows();
        violations.extend(cycles(&arrows).iter().map(|files| describe(folder, files, &arrows)));
    }
    violations
}

fn cycles<'a>(arrows: &Arrows<'a>) -> Vec<BTreeSet<&'a str>> {
    let mut found: Vec<BTreeSet<&str>> = Vec::new();
    for file in arrows.keys() {
        let reached = reach(arrows, file);
        if reached.contains(file) && !found.iter().any(|cycle| cycle.contains(file)) {
            found.push(reached.into_iter().filter(|other| reach(arrows, other).contains(file)).collect());
        }
    }
    found
}

/// The files that a file depends on, over others too.
fn reach<'a>(arrows: &Arrows<'a>, from: &'a str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut next = vec![from];
    while let Some(file) = next.pop() {
        next.extend(
            arrows.get(file).into_iter().flatten().map(|(other, _)| *other).filter(|other| reached.insert(*other)),
        );
    }
    reached
}

fn describe(folder: &str, files: &BTreeSet<&str>, arrows: &Arrows) -> Violation {
    let short = |path: &str| path.strip_prefix(folder).unwrap_or(path).to_owned();
    let mut lines = Vec::new();
    for (from, to) in arrows.iter().filter(|(from, _)| files.contains(*from)) {
        for (other, names) in to.iter().filter(|(other, _)| files.contains(*other)) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            lines.push(format!("\n         {} -> {}: {}", short(from), short(other), names.join(", ")));
        }
    }
    let more = lines.len().saturating_sub(SHOWN);
    lines.truncate(SHOWN);
    if more > 0 {
        lines.push(format!("\n         and {more} more"));
    }
    Violation::of_file(folder, format!("an import cycle of {} files{}", files.len(), lines.concat()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let paths: Vec<String> = files.iter().map(|(path, _)| format!("crates/bench/src/{path}.rs")).collect();
        let files: Vec<_> = paths.iter().zip(files).map(|(path, (_, text))| (path.as_str(), *text)).collect();
        check(&Repository::of(&files)).into_iter().map(|violation| violation.what).collect()
    }

    #[test]
    fn a_cycle_and_the_names_that_tie_it() {
        let whole = found(&[
            ("lib", "mod a; mod b; mod c;"),
            ("a", "use crate::b::{self, Wide as Narrow, inner::{Deep, self as deeper}}; pub fn one(_: Narrow) {}"),
            ("b/mod", "pub mod inner; pub struct Wide; fn f() { super::c::two() }"),
            ("b/inner", "pub struct Deep;"),
            ("c", "pub fn two() { crate::a::one() }"),
        ]);
        assert_eq!(whole.len(), 1, "{whole:?}");
        let lines: Vec<&str> = whole[0].lines().map(str::trim).collect();
        let arrows = ["a.rs -> b/mod.rs: Wide", "b/mod.rs -> c.rs: two", "c.rs -> a.rs: one"];
        assert_eq!(lines, [&["an import cycle of 3 files"][..], &arrows].concat());
    }

    #[test]
    fn a_name_is_of_the_file_that_defines_it_and_not_of_one_that_passes_it_on() {
        let files = |child: &'static str| {
            found(&[
                ("lib", "mod a;"),
                ("a/mod", "mod x; mod y; pub use x::{X, *}; pub struct Own; fn f() { y::y() }"),
                ("a/x", "pub struct X; pub enum All { A }"),
                ("a/y", child),
            ])
        };
        assert!(files("use super::X; pub fn y() {}").is_empty());
        assert!(files("use super::*; pub fn y() -> All { All::A }").is_empty());
        assert_eq!(files("use super::Own; pub fn y() {}").len(), 1);
        assert_eq!(files("use super::*; pub fn y() -> Own { Own }").len(), 1);
        assert_eq!(files("pub fn y() { use super::Own; }").len(), 1);
        assert_eq!(files("mod inner { pub(super) fn g() -> super::super::Own {} } pub fn y() {}").len(), 1);
    }

    #[test]
    fn a_re_export_is_an_arrow() {
        let files = [
            ("lib", "mod a;"),
            ("a/mod", "mod x; pub use x::X; pub struct Own;"),
            ("a/x", "pub struct X(super::Own);"),
        ];
        assert_eq!(found(&files).len(), 1);
    }

    #[test]
    fn tests_words_in_text_and_other_crates_tie_nothing() {
        let tests =
            "#[cfg(test)] mod tests { use crate::a::A; } #[cfg(test)] mod support; /// [`crate::a::A`]\npub struct B;";
        let files = [
            ("lib", "mod a; mod b; mod c;"),
            ("a", "use crate::b::B; pub struct A;"),
            ("b", tests),
            ("b/support", "use crate::a::A;"),
            ("c", "use model::a; fn f(a: u8) { a::g(x.b, std::a::A) }"),
        ];
        assert!(found(&files).is_empty(), "{:?}", found(&files));
    }
}
