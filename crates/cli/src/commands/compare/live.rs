//! `assay compare --live A B`: two sets of options, or two builds of the program, measured alternately.

use std::io::Write;
use std::path::{Path, PathBuf};

use bench::host;
use bench::live::{Live, LiveProgress, LiveSide, live as measure};
use indicatif::ProgressBar;

use super::output::show;
use crate::args::Arguments;
use crate::args::results::Compare;
use crate::commands::program::own_file;
use crate::environment;
use crate::exit::{Outcome, Result, complain};
use crate::progress;

/// What is measured if neither side has options.
const DEFAULT_OPTIONS: &str = "run quick --area cpu,memory";

pub(super) fn live(arguments: &Compare, began: f64) -> Result {
    let sides = sides(arguments)?;
    host::note_stop_signals();
    let comparison = Live {
        sides,
        pairs: arguments.pairs,
        time_budget: arguments.time_budget,
        seed: arguments.seed,
        root: environment::store()?.root().to_owned(),
        environment: environment::everything(),
        began,
    };
    let bar = progress::bar("{bar:20} {wide_msg}").filter(|_| !arguments.quiet);
    if let Some(bar) = &bar {
        bar.set_message("measuring the first pair");
    }
    let end = measure(&comparison, &mut |now| show_progress(bar.as_ref(), arguments.quiet, now));
    drop(bar);
    let (outcome, trouble, signal) = match end {
        Ok(end) => (show(&end.comparison, arguments)?, end.trouble, end.signal),
        Err(sentence) => (Outcome::Failed, Some(sentence), host::stop_signal()),
    };
    // A signal decides the exit status, not the error that it caused.
    match (trouble, signal) {
        (Some(sentence), None) => Err(sentence),
        (trouble, Some(signal)) => {
            trouble.iter().for_each(|sentence| complain(sentence));
            Ok(Outcome::Interrupted(signal))
        }
        (None, None) => Ok(outcome),
    }
}

fn sides(arguments: &Compare) -> Result<[LiveSide; 2]> {
    let mut sides =
        [side(&arguments.base, arguments.switch_a.as_ref())?, side(&arguments.new, arguments.switch_b.as_ref())?];
    // A side without options gets those of the other.
    let options = [sides[1].options.clone(), sides[0].options.clone()];
    for (side, others) in sides.iter_mut().zip(options) {
        if side.options.is_empty() {
            side.options = if others.is_empty() { words(DEFAULT_OPTIONS)? } else { others };
        }
        check(side)?;
    }
    Ok(sides)
}

fn words(text: &str) -> Result<Vec<String>> {
    shlex::split(text).ok_or_else(|| format!("'{text}' cannot be read as options: a quotation mark is not closed"))
}

/// One side: options, or a program and its options.
fn side(text: &str, switch: Option<&String>) -> Result<LiveSide> {
    let mut options = words(text)?;
    let names_a_program = options.first().is_some_and(|word| word.contains('/'));
    let program = if names_a_program { other_program(&options.remove(0))? } else { own_file()? };
    Ok(LiveSide { name: text.to_owned(), program, options, switch: switch.cloned() })
}

fn other_program(path: &str) -> Result<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let cannot = |why: &dyn std::fmt::Display| format!("cannot use '{path}' as an assay: {why}");
    let metadata = Path::new(path).metadata().map_err(|error| cannot(&error))?;
    if !metadata.is_file() || metadata.permissions().mode() & 0o111 == 0 {
        return Err(cannot(&"it is not a program"));
    }
    std::path::absolute(path).map_err(|error| cannot(&error))
}

/// Checks the options of a side: those that compare sets itself are refused; all others only if the program is this one,
/// since another build may have other options.
fn check(side: &LiveSide) -> Result<()> {
    let name = &side.name;
    for option in ["--out", "--json", "--quiet", "--seed", "--list", "--verify", "--time-budget"] {
        if side.options.iter().any(|word| word == option || word.starts_with(&format!("{option}="))) {
            return Err(format!("'{name}': {option} cannot be part of a side. Give it to compare itself, or omit it"));
        }
    }
    if own_file().is_ok_and(|own| own != side.program) {
        return Ok(());
    }
    let given = std::iter::once("assay").chain(side.options.iter().map(String::as_str));
    let mut arguments = Arguments::read(given).map_err(|why| format!("'{name}': {why}"))?;
    if arguments.measure_mut().is_none() {
        return Err(format!("'{name}' is not a measuring command. Use run, cpu, linpack, memory, disk or net"));
    }
    Ok(())
}

/// Shows the progress on standard error: in a live line on a terminal, elsewhere a line per look.
fn show_progress(bar: Option<&ProgressBar>, quiet: bool, now: LiveProgress) {
    let text = line(now);
    if let Some(bar) = bar {
        bar.set_length(u64::from(now.of));
        bar.set_position(u64::from(now.pairs));
        bar.set_message(text);
    } else if !quiet && (now.open.is_some() || now.pairs == 1) {
        let _ = writeln!(std::io::stderr(), "{text}");
    }
}

fn line(now: LiveProgress) -> String {
    let left = model::number::duration(now.seconds_left);
    let open = now.open.map_or_else(String::new, |open| format!(", {open} undecided"));
    format!("{} of at most {} pairs of {} benchmarks{open}, at most {left} left", now.pairs, now.of, now.rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Command;

    fn compare(base: &str, new: &str) -> Compare {
        let arguments = Arguments::read(["assay", "compare", "--live", base, new]).unwrap();
        match arguments.command {
            Some(Command::Compare(compare)) => compare,
            _ => panic!("it is the command compare"),
        }
    }

    #[test]
    fn a_side_is_options_or_a_program_with_options() {
        let [a, b] = sides(&compare("cpu --threads 1", "cpu --op 'fma' --threads 1")).unwrap();
        assert_eq!(a.options, ["cpu", "--threads", "1"]);
        assert_eq!(b.options, ["cpu", "--op", "fma", "--threads", "1"]);
        let [a, b] = sides(&compare("/bin/sh", "/bin/sh cpu --threads 1")).unwrap();
        assert_eq!(
            (a.options, b.program),
            (vec!["cpu".into(), "--threads".into(), "1".into()], PathBuf::from("/bin/sh"))
        );
        let [a, _] = sides(&compare("", "")).unwrap();
        assert_eq!(a.options.join(" "), DEFAULT_OPTIONS);
    }

    #[test]
    fn what_cannot_be_measured_is_refused_in_a_sentence() {
        for (side, expected) in [
            ("cpu 'unclosed", "not closed"),
            ("info", "not a measuring command"),
            ("cpu --threads x", "valid number of threads"),
            ("cpu --out /tmp/x", "--out cannot be part"),
            ("cpu --json=-", "--json cannot be part"),
            ("/no/such/assay cpu", "/no/such/assay"),
            ("/tmp cpu", "not a program"),
        ] {
            let error = sides(&compare("cpu", side)).unwrap_err();
            assert!(error.contains(expected) && error.lines().count() == 1, "{side}: {error}");
        }
    }

    #[test]
    fn progress_is_a_line() {
        let now = LiveProgress { pairs: 10, of: 40, open: Some(3), rows: 12, seconds_left: 63.0 };
        assert!(line(now).starts_with("10 of at most 40 pairs of 12 benchmarks, 3 undecided"), "{}", line(now));
    }
}
