//! `cargo lab trust`: whether the program's figures, intervals, verdicts and warnings can be believed, tried out on
//! this machine.
//!
//! The program and the crate `stats` are what is tried; here they are built, called and disturbed, what they say is
//! counted and kept: every result, whatever it shows, is a line of `lab/data/trust.jsonl`, and `docs/trust.md` is written
//! from all lines. Nothing is worked out here but shares of counts.

mod disturbances;
mod held;
mod line;
mod live;
mod page;
mod program;
mod sessions;
mod statistics;

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use serde_json::Value;

use line::Line;
use xtask::shell::Shell;

/// Every result, one a line.
const RESULTS: &str = "lab/data/trust.jsonl";
/// What a reader looks at.
const PAGE: &str = "docs/trust.md";

/// What this command takes, for the usage.
pub(crate) const USAGE: &str = "trust [statistics|live|same|sessions|disturbances|page]";

/// One part of the command.
struct Part {
    name: &'static str,
    /// Whether nothing else may run on the machine meanwhile.
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

/// Keeps what the parts find, at once, so that what was found before a part was cut off is kept too.
struct Keeper<'a> {
    shell: &'a Shell,
    /// What every line of this call carries.
    common: Vec<(String, Value)>,
    kept: u32,
}

impl<'a> Keeper<'a> {
    fn new(shell: &'a Shell) -> Result<Self, String> {
        let said = |program: &str, arguments: &[&str]| {
            let output = shell.command(program, arguments).output().ok().filter(|output| output.status.success());
            output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        };
        let when = said("date", &["-u", "+%Y-%m-%dT%H:%M:%SZ"]).ok_or("cannot tell the time: date failed")?;
        let changed =
            said("git", &["status", "--porcelain", "--untracked-files=no"]).is_none_or(|text| !text.is_empty());
        let commit = said("git", &["rev-parse", "--short", "HEAD"]).unwrap_or_else(|| "unknown".to_owned());
        let git = if changed { format!("{commit}, changed") } else { commit };
        let common = vec![("batch".to_owned(), when.into()), ("git".to_owned(), git.into())];
        Ok(Self { shell, common, kept: 0 })
    }

    /// Adds something to all lines from now on.
    fn carry(&mut self, key: &str, value: impl Into<Value>) {
        self.common.retain(|(kept, _)| kept != key);
        self.common.push((key.to_owned(), value.into()));
    }

    /// Appends one result.
    fn keep(&mut self, result: &Value) -> Result<(), String> {
        let line = Line::new(&self.common, result);
        let path = self.shell.root().join(RESULTS);
        let written = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .and_then(|mut file| file.write_all(format!("{}\n", line.text()).as_bytes()));
        written.map_err(|error| format!("cannot add a line to {}: {error}", path.display()))?;
        self.kept += 1;
        Ok(())
    }

    /// A folder that is not there yet, for what the program stores.
    fn fresh_folder(&self) -> PathBuf {
        let beside = self.shell.target().join("trust");
        let numbers = 1..=u32::MAX;
        numbers.map(|number| beside.join(number.to_string())).find(|path| !path.exists()).unwrap_or(beside)
    }
}

/// Runs one part or all, and writes the page.
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

/// The parts that were asked for.
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
