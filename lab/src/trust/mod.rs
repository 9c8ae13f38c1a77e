//! `cargo lab trust`: tests values, intervals, verdicts and warnings of the program on this machine.

mod disturbances;
mod live;
mod page;
mod program;
mod sessions;
mod statistics;
mod undisturbed;
mod verdicts;

use std::time::Instant;

use program::RESULTS;
use xtask::shell::Shell;

use crate::record::{Keeper, records, write};

const PAGE: &str = "docs/evidence/trust.md";

pub(crate) const USAGE: &str = "trust [statistics|live|sessions|disturbances|undisturbed|page]";

struct Part {
    name: &'static str,
    /// The machine must be idle.
    quiet: bool,
    run: fn(&mut Keeper) -> Result<(), String>,
}

const PARTS: &[Part] = &[
    Part { name: "statistics", quiet: false, run: statistics::run },
    Part { name: "live", quiet: true, run: live::run },
    Part { name: "sessions", quiet: true, run: sessions::run },
    Part { name: "disturbances", quiet: true, run: disturbances::run },
    Part { name: "undisturbed", quiet: true, run: undisturbed::run },
    // Every part writes the page; this one does nothing else.
    Part { name: "page", quiet: false, run: |_| Ok(()) },
];

pub(crate) fn run(shell: &Shell, arguments: &[String]) -> Result<(), String> {
    run_parts(shell, &chosen(arguments)?)
}

fn chosen(arguments: &[String]) -> Result<Vec<&'static Part>, String> {
    match arguments {
        [] => Ok(PARTS.iter().collect()),
        [name] => PARTS
            .iter()
            .find(|part| part.name == name)
            .map(|part| vec![part])
            .ok_or_else(|| format!("unknown part '{name}'")),
        _ => Err("one part at a time".to_owned()),
    }
}

fn run_parts(shell: &Shell, parts: &[&Part]) -> Result<(), String> {
    let mut keeper = Keeper::new(shell, RESULTS)?;
    let mut failed = Vec::new();
    for part in parts {
        let quiet = if part.quiet { " (do not use the machine meanwhile)" } else { "" };
        println!("\n=== {}{quiet}", part.name);
        let (start, before) = (Instant::now(), keeper.kept);
        // A part that fails prevents no other one.
        if let Err(reason) = (part.run)(&mut keeper) {
            println!("{}: {reason}", part.name);
            failed.push(part.name);
        }
        println!("{}: {} results in {} s", part.name, keeper.kept - before, start.elapsed().as_secs());
    }
    let root = shell.root();
    write(&root.join(PAGE), &page::render(&records(root, RESULTS)))?;
    println!("added {} results to {RESULTS} and wrote {PAGE} again", keeper.kept);
    if failed.is_empty() { Ok(()) } else { Err(format!("these parts failed: {}", failed.join(", "))) }
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
        assert_eq!(names(&[]).unwrap().len(), PARTS.len());
        assert_eq!(names(&["live"]).unwrap(), ["live"]);
        assert!(names(&["gpu"]).is_err() && names(&["live", "page"]).is_err());
        assert!(PARTS.iter().all(|part| USAGE.contains(part.name)));
    }

    #[test]
    fn smoke_the_page_is_the_one_written_from_the_recorded_data() {
        let shell = Shell::at_root();
        let current = std::fs::read_to_string(shell.root().join(PAGE)).unwrap();
        assert!(
            current == page::render(&records(shell.root(), RESULTS)),
            "it is not what `cargo lab trust page` writes"
        );
    }
}
