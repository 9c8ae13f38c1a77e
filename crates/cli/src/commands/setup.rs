//! `assay completions` and `assay man`: what a package installs with the program.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;

use clap_complete::engine::ValueCompleter;
use clap_complete::env::Shells;
use clap_complete::{ArgValueCompleter, CompletionCandidate, PathCompleter};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use super::measure;
use super::program::DATE;
use crate::args::{self, AREA_COMMANDS};
use crate::environment;
use crate::exit::{Outcome, Result, cannot_write, print};

/// The variable by which a shell's script asks this program for completions.
const VARIABLE: &str = "ASSAY_COMPLETE";
const PROGRAM: &str = "assay";

/// Answers a shell that asks for completions, and exits; otherwise does nothing.
pub(crate) fn answer_shell() {
    clap_complete::CompleteEnv::with_factory(|| with_completers(args::command())).var(VARIABLE).complete();
}

/// The command line with what completes its runs, suites and ids.
fn with_completers(command: clap::Command) -> clap::Command {
    let command = command.mut_args(with_completer);
    let names: Vec<String> = command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    names
        .into_iter()
        .fold(command, |command, name| command.mut_subcommand(name, |below| below.mut_args(with_completer)))
}

fn with_completer(argument: clap::Arg) -> clap::Arg {
    match argument.get_id().as_str() {
        "run" | "base" | "new" | "resume" => argument.add(ArgValueCompleter::new(runs)),
        "suite" => argument.add(ArgValueCompleter::new(suites)),
        "filter" => argument.add(ArgValueCompleter::new(ids)),
        _ => argument,
    }
}

pub(crate) fn completions(shell: &str) -> Result {
    let shells = Shells::builtins();
    let shell = shells.completer(shell).ok_or_else(|| format!("unknown shell '{shell}'"))?;
    let mut script = Vec::new();
    shell.write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script).map_err(|error| error.to_string())?;
    print(&script)?;
    Ok(Outcome::Done)
}

pub(crate) fn man(folder: &Path) -> Result {
    fs::create_dir_all(folder).map_err(|error| cannot_write(folder, &error))?;
    let mut command = args::command().disable_help_subcommand(true);
    command.build();
    pages_of(&command, folder)?;
    Ok(Outcome::Done)
}

fn pages_of(command: &clap::Command, folder: &Path) -> Result<()> {
    let man = Man::new(command.clone()).date(DATE.unwrap_or_default()).manual("Assay");
    let path = folder.join(man.get_filename());
    let page = page(&man, command).and_then(|page| fs::write(&path, page));
    page.map_err(|error| cannot_write(&path, &error))?;
    let has_page = |below: &&clap::Command| !below.is_hide_set() && below.get_name() != "help";
    command.get_subcommands().filter(has_page).try_for_each(|below| pages_of(below, folder))
}

/// A manual page: clap's, and the examples with which the help begins.
fn page(man: &Man, command: &clap::Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    man.render(&mut page)?;
    let examples = command.get_before_help().map(ToString::to_string).unwrap_or_default();
    let mut lines = examples.lines().skip(1).filter(|line| !line.is_empty()).peekable();
    if lines.peek().is_some() {
        let mut roff = Roff::new();
        roff.control("SH", ["EXAMPLES"]).control("nf", []);
        lines.for_each(|line| {
            roff.text([roman(line.trim_start())]);
        });
        roff.control("fi", []).to_writer(&mut page)?;
    }
    Ok(page)
}

/// Completes a run: by its name in the store, latest, previous, or a path.
fn runs(current: &OsStr) -> Vec<CompletionCandidate> {
    let names = environment::store().and_then(|store| store.names()).unwrap_or_default();
    let special = ["latest", "previous"].map(str::to_owned);
    // The newest first: it is the one that is wanted most.
    or_paths(special.into_iter().chain(names.into_iter().rev()), current)
}

/// Completes a suite: a built-in one, or a file.
fn suites(current: &OsStr) -> Vec<CompletionCandidate> {
    or_paths(areas::Suite::names().map(str::to_owned), current)
}

/// Completes the id of a benchmark: those that the command line before it plans on this machine.
fn ids(current: &OsStr) -> Vec<CompletionCandidate> {
    let words = environment::command_line();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    beginning_with(measure::ids(&planned_by(&words)).unwrap_or_default().into_iter(), current)
}

/// The measuring command and its suite, of the words that a shell hands over.
fn planned_by<'a>(words: &[&'a str]) -> Vec<&'a str> {
    let mut given = words.iter().copied().skip_while(|word| *word != "--").skip(2);
    match given.next() {
        Some(area) if AREA_COMMANDS.contains(&area) => vec![PROGRAM, area],
        Some("run") => {
            let suite = given.next().filter(|suite| !suite.starts_with('-'));
            [Some(PROGRAM), Some("run"), suite].into_iter().flatten().collect()
        }
        _ => vec![PROGRAM],
    }
}

fn beginning_with(words: impl Iterator<Item = String>, current: &OsStr) -> Vec<CompletionCandidate> {
    let current = current.to_string_lossy();
    words.filter(|word| word.starts_with(&*current)).map(CompletionCandidate::new).collect()
}

/// The words that begin so, else paths.
fn or_paths(words: impl Iterator<Item = String>, current: &OsStr) -> Vec<CompletionCandidate> {
    let found = beginning_with(words, current);
    if found.is_empty() { PathCompleter::any().complete(current) } else { found }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shown_command_has_a_page_with_its_examples() {
        let folder = std::env::temp_dir().join(format!("assay-man-{}", std::process::id()));
        man(&folder).unwrap();
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        let plan = read("assay-cluster-plan.1");
        assert!(plan.contains(".SH NAME\n") && plan.contains(".SH EXAMPLES\n"), "{plan}");
        assert!(read("assay.1").contains("assay\\-compare(1)"));
        assert!(["assay-worker.1", "assay-help.1"].iter().all(|hidden| !folder.join(hidden).exists()));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_plan_is_that_of_the_words_before() {
        let of = |line: &str| planned_by(&line.split(' ').collect::<Vec<_>>()).join(" ");
        assert_eq!(of("assay -- assay run classic --filter cpu/"), "assay run classic");
        assert_eq!(of("assay -- assay run --filter cpu/"), "assay run");
        assert_eq!(of("assay -- assay memory --filter m"), "assay memory");
        assert_eq!(of("assay -- assay --filter m"), "assay");
    }
}
