//! `cargo lab kills`: runs that are killed or get a signal at random times, and a store with 10 000 runs.

mod kinds;
mod scale;
mod trial;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use stats::random::Random;
use xtask::shell::Shell;

use self::kinds::KINDS;
use self::scale::Listing;
use self::trial::{Ended, Seen, TOOLS, Trial};
use crate::record::{build, machine_line, with_section, write};

pub(crate) const USAGE: &str = "kills [KILLS] [SIGNALS] [SEED]";
const PAGE: &str = "docs/evidence/security.md";
const MARKS: [&str; 2] = ["<!-- kills -->", "<!-- end of kills -->"];
const DEFAULTS: [u64; 3] = [1000, 500, 46];
const SIGNALS: [(&str, i32); 3] = [("INT", 2), ("TERM", 15), ("HUP", 1)];
/// Every tenth killed run is resumed.
const RESUMED: u64 = 10;
/// Attempts to hit a run before its end.
const ATTEMPTS: u32 = 20;
/// Every fourth signal comes in the first tenth of a run, where its folder, journal and document are created.
const EARLY: u64 = 4;
/// Trials between two writes of the page.
const SHOWN: u64 = 25;

pub(crate) fn run(shell: &Shell, arguments: &[String]) -> Result<bool, String> {
    match arguments {
        [first, rest @ ..] if first == "--listen" => kinds::listen(rest).map(|()| true),
        _ => numbers(arguments).and_then(|numbers| campaign(shell, numbers)),
    }
}

fn numbers(arguments: &[String]) -> Result<[u64; 3], String> {
    let mut numbers = DEFAULTS;
    if arguments.len() > numbers.len() {
        return Err("too many arguments".to_owned());
    }
    for (number, argument) in numbers.iter_mut().zip(arguments) {
        *number = argument.parse().map_err(|_| format!("'{argument}' is not a number"))?;
    }
    Ok(numbers)
}

struct Line {
    what: String,
    trials: u64,
    wrong: Vec<String>,
}

impl Line {
    fn new(what: String) -> Self {
        Self { what, trials: 0, wrong: Vec::new() }
    }

    fn row(&self) -> String {
        let first = self.wrong.first().map_or("", String::as_str).replace('|', "\\|");
        let wrong = self.wrong.len() as u64;
        format!("| {} | {} | {} | {wrong} | {first} |\n", self.what, self.trials, self.trials - wrong)
    }
}

struct Outcomes {
    seed: u64,
    lines: Vec<Line>,
    seen: Seen,
    listing: Option<Listing>,
}

/// Runs all trials and writes the page; whether all were right.
fn campaign(shell: &Shell, [kills, signals, seed]: [u64; 3]) -> Result<bool, String> {
    let folder = std::env::temp_dir().join(format!("assay-lab-kills-{}", std::process::id()));
    let cannot = |error: std::io::Error| format!("{}: {error}", folder.display());
    fs::create_dir_all(&folder).map_err(cannot)?;
    // A copy of its own distinguishes its processes from those of all other programs.
    let program = folder.join("assay");
    fs::copy(build(shell)?, &program).map_err(cannot)?;
    kinds::write_tools(&folder.join(TOOLS))?;
    let tested = Campaign::new(shell, program, seed).and_then(|mut campaign| {
        campaign.kills(kills)?;
        campaign.signals(signals)?;
        campaign.listing()?;
        Ok(campaign.outcomes)
    });
    let is_right = tested.as_ref().is_ok_and(|outcomes| outcomes.lines.iter().all(|line| line.wrong.is_empty()));
    if is_right {
        fs::remove_dir_all(&folder).map_err(cannot)?;
    } else {
        println!("Stores of wrong cases: {}", folder.display());
    }
    tested.map(|_| is_right)
}

struct Campaign {
    page: PathBuf,
    program: PathBuf,
    random: Random,
    usual: Vec<Duration>,
    /// A folder of a complete run.
    complete: PathBuf,
    outcomes: Outcomes,
}

impl Campaign {
    fn new(shell: &Shell, program: PathBuf, seed: u64) -> Result<Self, String> {
        let (mut usual, mut complete) = (Vec::new(), PathBuf::new());
        for kind in KINDS {
            let time;
            (complete, time) = Trial::new(&program, kind, &format!("complete-{}", usual.len()))?.complete()?;
            println!("{}: {:.1} s", kind.name, time.as_secs_f64());
            usual.push(time);
        }
        let killed = KINDS.iter().map(|kind| Line::new(format!("SIGKILL, {}", kind.name)));
        let signalled = SIGNALS.iter().map(|(name, _)| Line::new(format!("SIG{name}")));
        let lines = killed.chain(signalled).collect();
        let outcomes = Outcomes { seed, lines, seen: Seen::default(), listing: None };
        Ok(Self { page: shell.root().join(PAGE), program, random: Random::new(seed), usual, complete, outcomes })
    }

    fn kills(&mut self, count: u64) -> Result<(), String> {
        for number in 0..count {
            let at = index(number, KINDS.len());
            self.trial(number, at, at, &mut |trial, moment, seen| {
                trial.kill(moment, number % RESUMED == RESUMED - 1, seen)
            })?;
        }
        Ok(())
    }

    fn signals(&mut self, count: u64) -> Result<(), String> {
        for number in 0..count {
            let (at, signal) = (index(number / 3, KINDS.len()), index(number, SIGNALS.len()));
            let (name, status) = SIGNALS[signal];
            self.trial(number, at, KINDS.len() + signal, &mut |trial, moment, _| trial.signal(moment, name, status))?;
        }
        Ok(())
    }

    fn trial(
        &mut self,
        number: u64,
        at: usize,
        line: usize,
        end: &mut dyn FnMut(&mut Trial<'_>, Duration, &mut Seen) -> Result<Ended, String>,
    ) -> Result<(), String> {
        let kind = &KINDS[at];
        for attempt in 0..ATTEMPTS {
            let within = if self.random.below(EARLY) == 0 { 0.1 } else { 1.0 };
            let moment = self.usual[at].mul_f64(within * self.random.unit());
            let name = format!("{}-{number}-{attempt}", self.outcomes.lines[line].what.replace([' ', ','], "-"));
            let mut trial = Trial::new(&self.program, kind, &name)?;
            let ended = end(&mut trial, moment, &mut self.outcomes.seen)?;
            let counted = &mut self.outcomes.lines[line];
            if let Ended::Wrong(why) = &ended {
                let case = format!("{} after {:.3} s: {why}", kind.name, moment.as_secs_f64());
                println!("WRONG {case}\n      {}", trial.folder().display());
                counted
                    .wrong
                    .push(case.replace(&self.program.parent().unwrap_or(Path::new("")).display().to_string(), "…"));
            } else {
                let _ = fs::remove_dir_all(trial.folder());
            }
            if ended != Ended::TooEarly {
                counted.trials += 1;
                return self.progress(number + 1);
            }
        }
        Err(format!("{} ended before every signal", kind.name))
    }

    fn progress(&self, number: u64) -> Result<(), String> {
        if !number.is_multiple_of(SHOWN) {
            return Ok(());
        }
        let count = |of: fn(&Line) -> u64| self.outcomes.lines.iter().map(of).sum::<u64>();
        println!("{} trials, {} wrong", count(|line| line.trials), count(|line| line.wrong.len() as u64));
        self.write()
    }

    fn listing(&mut self) -> Result<(), String> {
        self.outcomes.listing = Some(Listing::measure(&self.program, &self.complete)?);
        println!("{}", self.outcomes.section());
        self.write()
    }

    /// Writes the section; an interrupted campaign keeps what it did.
    fn write(&self) -> Result<(), String> {
        let text = fs::read_to_string(&self.page).unwrap_or_else(|_| "# Security: evidence\n".to_owned());
        write(&self.page, &with_section(MARKS, &text, &self.outcomes.section()))
    }
}

fn index(number: u64, length: usize) -> usize {
    usize::try_from(number % length as u64).unwrap_or(0)
}

impl Outcomes {
    fn section(&self) -> String {
        let machine = machine::discover(&machine::Sysroot::host());
        let machine = serde_json::to_value(&machine).map(|machine| machine_line(&machine)).unwrap_or_default();
        let rows: String = self.lines.iter().filter(|line| line.trials > 0).map(Line::row).collect();
        let Seen { stored, removed, resumed } = self.seen;
        let listing = self.listing.as_ref().map(Listing::text).unwrap_or_default();
        format!(
            "## Kills and signals\n\nWritten by `cargo lab kills`, seed {seed}. {machine}.\n\n\
             A run of the release program gets a signal at a random moment between its start and its usual end, every fourth in the first\n\
             tenth of that time. It has a store and a measured directory of its own. In two kinds it runs fake reference tools, each of\n\
             which leaves two processes behind, one of them in another session.\n\n\
             Right after SIGKILL: its workers end within 2 s; every tenth run is resumed and ends complete; after the next start, no process\n\
             of the run or of its tools is left, the measured directory is empty, and every folder of a run loads and is listed, or was\n\
             removed. Right after another signal: the exit status is 128 plus its number (or the default action ended a program without a\n\
             handler yet), finished results are stored, the measured directory is empty, and no process is left.\n\n\
             | signal | trials | right | wrong | first wrong case |\n| --- | ---: | ---: | ---: | --- |\n{rows}\n\
             Of the folders of killed runs, {stored} load, and the next start removed {removed} without a document. The others were killed\n\
             before they had a folder. {resumed} runs were resumed.\n{listing}",
            seed = self.seed,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smoke_numbers_have_defaults() {
        let numbers = |words: &[&str]| numbers(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert_eq!(numbers(&[]), Ok(DEFAULTS));
        assert_eq!(numbers(&["2", "3"]), Ok([2, 3, 46]));
        assert!(numbers(&["x"]).is_err() && numbers(&["1", "2", "3", "4"]).is_err());
    }
}
