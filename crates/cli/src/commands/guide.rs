//! `assay guide`: asks what to measure, shows the plan and the equivalent command, and runs it.

use areas::Threads;
use bench::host;
use bench::net::Target;
use bench::references::detect::usable;
use clap::Parser;
use inquire::list_option::ListOption;
use inquire::validator::{ErrorMessage, Validation};
use inquire::{Confirm, InquireError, MultiSelect, Select, Text};
use model::experiment::Area;
use model::unit::{parse_seconds, parse_size};
use verdict::rules::Resource;

use super::references::places;
use crate::args::Arguments;
use crate::environment::{self, Stream};
use crate::exit::{Outcome, Result, complain};

const AREAS: &[(&str, bool)] = &[
    ("cpu: arithmetic, each precision and instruction set", false),
    ("linpack: dense systems of equations", false),
    ("memory: bandwidth and latency", true),
    ("disk: bandwidth, IOPS and latency", true),
    ("net: TCP and UDP", true),
];

const SUITES: &[(&str, &str)] = &[
    ("quick", "quick: the main results, at most two minutes"),
    ("standard", "standard: until the confidence intervals are narrow"),
    ("classic", "classic: the classic tables, at most 45 minutes"),
];

#[derive(Debug, Default)]
struct Answers {
    areas: Vec<Area>,
    suite: String,
    /// Options of the command with their values; an empty value means the plan's default.
    options: Vec<(&'static str, String)>,
}

impl Answers {
    /// The only area, which has parameters of its own.
    fn only_area(&self) -> Option<Area> {
        if let [area] = self.areas[..] { Some(area) } else { None }
    }

    fn command_line(&self) -> Vec<String> {
        let mut words = vec!["assay".to_owned()];
        if let Some(area) = self.only_area() {
            words.push(area.to_string());
        } else {
            words.extend(["run".to_owned(), self.suite.clone()]);
            if self.areas.len() < AREAS.len() {
                let areas: Vec<String> = self.areas.iter().map(ToString::to_string).collect();
                words.extend(["--area".to_owned(), areas.join(",")]);
            }
        }
        for (option, value) in self.options.iter().filter(|(_, value)| !value.is_empty()) {
            words.extend([(*option).to_owned(), value.clone()]);
        }
        words
    }
}

enum Stopped {
    Left,
    Broken(String),
}

impl From<InquireError> for Stopped {
    fn from(error: InquireError) -> Self {
        match error {
            InquireError::OperationCanceled | InquireError::OperationInterrupted => Self::Left,
            InquireError::IO(error) if error.kind() == std::io::ErrorKind::Interrupted => Self::Left,
            other => {
                Self::Broken(format!("cannot ask on this terminal: {other}. See 'assay run --help' for the options"))
            }
        }
    }
}

/// Asks, shows the plan, and measures by `carry_out`.
pub(super) fn guide(carry_out: fn(Arguments, f64) -> Result) -> Result {
    if !(environment::asks() && Stream::Error.is_terminal()) {
        return Err("'assay guide' needs a terminal. See 'assay run --help' for the options".into());
    }
    // A signal ends the questions, not the program in the middle of one.
    host::note_stop_signals();
    match asked(carry_out) {
        Ok(Some(arguments)) => carry_out(arguments, host::monotonic_raw_seconds()),
        Ok(None) => Ok(Outcome::Done),
        Err(Stopped::Left) => Ok(Outcome::Interrupted(host::stop_signal().unwrap_or(SIGINT))),
        Err(Stopped::Broken(sentence)) => Err(sentence),
    }
}

/// Cancelling with Esc counts as Ctrl-C: POSIX.1-2017, `kill`.
const SIGINT: i32 = 2;

/// The confirmed command line; `None` if the user declined.
fn asked(carry_out: fn(Arguments, f64) -> Result) -> std::result::Result<Option<Arguments>, Stopped> {
    let answers = answers()?;
    let words = answers.command_line();
    let read = |words: &[String]| Arguments::try_parse_from(words).map_err(|error| Stopped::Broken(error.to_string()));
    let mut plan = read(&words)?;
    if let Some(options) = plan.measure_mut() {
        (options.list, options.brief) = (true, true);
    }
    complain("the plan:");
    carry_out(plan, host::monotonic_raw_seconds()).map_err(Stopped::Broken)?;
    let line = shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "));
    complain(&format!("the equivalent command: {line}"));
    if host::stop_signal().is_some() {
        return Err(Stopped::Left);
    }
    if !Confirm::new("Measure now?").with_default(true).prompt()? {
        return Ok(None);
    }
    let arguments = read(&words)?;
    environment::called_as(words);
    Ok(Some(arguments))
}

fn answers() -> std::result::Result<Answers, Stopped> {
    let mut answers = Answers { areas: areas()?, ..Answers::default() };
    let only = answers.only_area();
    if only.is_none() {
        let names: Vec<&str> = SUITES.iter().map(|(_, text)| *text).collect();
        let chosen = Select::new("How thoroughly?", names).raw_prompt()?.index;
        SUITES[chosen].0.clone_into(&mut answers.suite);
    }
    let writes = answers.areas.iter().any(|area| uses(*area, Resource::Disk));
    let mut ask = |option, question: &str, help: &str, wrong: Check| -> std::result::Result<(), Stopped> {
        let validator = move |text: &str| {
            let text = Some(text.trim()).filter(|text| !text.is_empty());
            Ok(text.and_then(wrong).map_or(Validation::Valid, invalid))
        };
        let answer = Text::new(question).with_help_message(help).with_validator(validator).prompt()?;
        answers.options.push((option, answer.trim().to_owned()));
        Ok(())
    };
    ask("--threads", "Threads?", "such as 1,2,4 or all; Enter for the plan's default", |text| {
        text.split(',').find_map(|item| item.trim().parse::<Threads>().err())
    })?;
    if only.is_some_and(|area| AREAS.iter().any(|(text, has_blocks)| *has_blocks && area_of(text) == Some(area))) {
        ask("--block", "Blocks?", "such as 4KiB,1MiB; Enter for the plan's default", |text| {
            text.split(',').find_map(|item| parse_size(item.trim()).err())
        })?;
    }
    if writes {
        let store = environment::store().map(|store| format!("; Enter for {}", store.root().display()));
        let help = format!("a test file is written there and removed afterwards{}", store.unwrap_or_default());
        ask("--dir", "Directory on the disk?", &help, |text| {
            (!std::path::Path::new(text).is_dir()).then(|| format!("there is no directory '{text}'"))
        })?;
    }
    if only.is_some_and(|area| uses(area, Resource::Network)) {
        let help = "HOST or HOST:PORT; Enter for loopback";
        ask("--to", "Host with 'assay net serve'?", help, |text| Target::parse(text).err())?;
    }
    ask("--time-budget", "Time limit?", "such as 90s or 5m; Enter for none", |text| parse_seconds(text).err())?;
    let references = references(&answers)?.join(",");
    answers.options.push(("--references", references));
    Ok(answers)
}

/// Whether an area's benchmarks depend on this part of the machine.
fn uses(area: Area, resource: Resource) -> bool {
    areas::rules(area).uses.contains(&resource)
}

/// The area that a description begins with.
fn area_of(text: &str) -> Option<Area> {
    text.split_once(':')?.0.parse().ok()
}

fn areas() -> std::result::Result<Vec<Area>, Stopped> {
    let names: Vec<&str> = AREAS.iter().map(|(text, _)| *text).collect();
    let some = |chosen: &[ListOption<&&str>]| {
        let nothing = chosen.is_empty().then(|| "choose at least one, with the space bar".to_owned());
        Ok(nothing.map_or(Validation::Valid, invalid))
    };
    let chosen =
        MultiSelect::new("Which areas?", names).with_all_selected_by_default().with_validator(some).raw_prompt()?;
    Ok(chosen.iter().filter_map(|option| area_of(AREAS[option.index].0)).collect())
}

/// The selected reference tools of those installed; the classic suite has its own.
fn references(answers: &Answers) -> std::result::Result<Vec<String>, Stopped> {
    let places = places(&[]).map_err(Stopped::Broken)?;
    let found = usable(&places);
    if found.is_empty() || answers.only_area().is_none() && answers.suite == "classic" {
        return Ok(Vec::new());
    }
    let help = "usually none; each makes the run longer";
    let chosen = MultiSelect::new("Reference tools alongside?", found).with_help_message(help).prompt()?;
    Ok(chosen.into_iter().map(str::to_owned).collect())
}

fn invalid(sentence: String) -> Validation {
    Validation::Invalid(ErrorMessage::Custom(sentence))
}

/// What is wrong with a text, if anything.
type Check = fn(&str) -> Option<String>;

#[cfg(test)]
mod tests {
    use super::*;

    fn line(answers: &Answers) -> String {
        let words = answers.command_line();
        assert!(Arguments::try_parse_from(&words).is_ok(), "{words:?}");
        words.join(" ")
    }

    fn all() -> Vec<Area> {
        AREAS.iter().filter_map(|(text, _)| area_of(text)).collect()
    }

    #[test]
    fn answers_come_to_a_command_line_that_is_read() {
        let quick = Answers { areas: all(), suite: "quick".into(), ..Answers::default() };
        assert_eq!(line(&quick), "assay run quick");
        let some = Answers {
            areas: vec![Area::Cpu, Area::Disk],
            suite: "standard".into(),
            options: vec![("--threads", "1,2".into()), ("--dir", "/a b".into()), ("--time-budget", String::new())],
        };
        assert_eq!(line(&some), "assay run standard --area cpu,disk --threads 1,2 --dir /a b");
        for area in all() {
            let only = Answers { areas: vec![area], ..Answers::default() };
            assert_eq!(line(&only), format!("assay {area}"));
        }
    }

    #[test]
    fn every_suite_that_is_offered_is_there() {
        for (name, text) in SUITES {
            assert!(areas::Suite::embedded(name).is_ok() && text.starts_with(name));
        }
        assert_eq!(all(), Area::ALL);
    }

    #[test]
    fn a_user_who_leaves_is_not_a_broken_terminal() {
        let interrupted = InquireError::IO(std::io::ErrorKind::Interrupted.into());
        assert!(matches!(Stopped::from(interrupted), Stopped::Left));
        assert!(matches!(Stopped::from(InquireError::OperationCanceled), Stopped::Left));
        assert!(matches!(Stopped::from(InquireError::NotTTY), Stopped::Broken(_)));
    }
}
