//! `cargo lab trust`: tests values, intervals, verdicts and warnings of the program on this machine.
//!
//! Every result is a line of `lab/data/trust.jsonl`; docs/evidence/trust.md is written from all lines.

mod disturbances;
mod held;
mod keeper;
mod line;
mod live;
mod page;
mod program;
mod sessions;
mod statistics;

use std::process::ExitCode;
use std::time::Instant;

use keeper::{Keeper, RESULTS};
use line::Line;
use xtask::shell::Shell;

const PAGE: &str = "docs/evidence/trust.md";

pub(crate) const USAGE: &str = "trust [statistics|live|same|sessions|disturbances|page]";

struct Part {
    name: &'static str,
    quiet: bool,
    run: fn(&mut Keeper) -> Result<(), String>,
}

const PARTS: &[Part] = &[
    Part { name: "statistics", quiet: false, run: statistics::run },
    Part { name: "live", quiet: true, run: live::run },
    // Part of the one above; by itself where the slowdowns are known.
    Part { name: "same", quiet: true, run: live::run_same },
    Part { name: "sessions", quiet: true, run: sessions::run },
    Part { name: "disturbances", quiet: true, run: disturbances::run },
    // Written after every part, and by itself where only its words changed.
    Part { name: "page", quiet: false, run: |_| Ok(()) },
];

pub(crate) fn run(shell: &Shell, arguments: &[String]) -> ExitCode {
    match chosen(arguments).and_then(|parts| run_parts(shell, &parts)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            println!("trust: {reason}");
            println!("Usage: cargo lab {USAGE}");
            ExitCode::from(2)
        }
    }
}

fn chosen(arguments: &[String]) -> Result<Vec<&'static Part>, String> {
    match arguments {
        [] => Ok(PARTS.iter().filter(|part| part.name != "same").collect()),
        [name] => PARTS
            .iter()
            .find(|part| part.name == name)
            .map(|part| vec![part])
            .ok_or_else(|| format!("'{name}' is no part of it")),
        _ => Err("one part at a time".to_owned()),
    }
}

fn run_parts(shell: &Shell, parts: &[&Part]) -> Result<(), String> {
    let mut keeper = Keeper::new(shell)?;
    let mut failed = Vec::new();
    for part in parts {
        let quiet = if part.quiet { " (leave the machine to itself meanwhile)" } else { "" };
        println!("\n=== {}{quiet}", part.name);
        let (start, before) = (Instant::now(), keeper.kept);
        // A part that fails leaves the others and what it found.
        if let Err(reason) = (part.run)(&mut keeper) {
            println!("{}: {reason}", part.name);
            failed.push(part.name);
        }
        println!("{}: {} results in {} s", part.name, keeper.kept - before, start.elapsed().as_secs());
    }
    write_page(shell)?;
    println!("{} results more in {RESULTS}; {PAGE} is written from all of them", keeper.kept);
    if failed.is_empty() { Ok(()) } else { Err(format!("not everything could be tried: {}", failed.join(", "))) }
}

fn write_page(shell: &Shell) -> Result<(), String> {
    let (results, page) = (shell.root().join(RESULTS), shell.root().join(PAGE));
    let text = std::fs::read_to_string(&results).unwrap_or_default();
    let lines: Vec<Line> = text.lines().filter_map(Line::read).collect();
    std::fs::write(&page, page::render(&lines)).map_err(|error| format!("cannot write {}: {error}", page.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_part_or_all() {
        let names = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            chosen(&words).map(|parts| parts.iter().map(|part| part.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&[]).unwrap().len(), PARTS.len() - 1, "the same against itself is a part of live");
        assert_eq!(names(&["live"]).unwrap(), ["live"]);
        assert!(names(&["gpu"]).is_err() && names(&["live", "page"]).is_err());
        assert!(PARTS.iter().all(|part| USAGE.contains(part.name)));
    }
}
