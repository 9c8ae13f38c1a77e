//! `assay references`: which reference tools are known and installed, and whether each works as its adapter expects.

use std::io::Write;

use bench::host;
use bench::references::catalogue::{self, Trying};
use bench::references::detect::{Places, VERSION_SECONDS};
use indicatif::ProgressBar;
use model::number::duration;
use model::reference::{CATALOGUE_SCHEMA, Catalogue, CheckOutcome, ToolCheck};

use crate::args::machine::References;
use crate::environment::{self, Stream};
use crate::exit::{Outcome, Result, print};
use crate::progress;

/// The id of a known tool of this name.
pub(crate) fn known_tool(name: &str) -> Option<&'static str> {
    tools::ids().find(|id| *id == name)
}

pub(crate) fn unknown_tool(name: &str) -> String {
    let known: Vec<_> = tools::ids().collect();
    format!("unknown reference tool '{name}'; known: {}, all, none", known.join(", "))
}

pub(crate) fn places(named: &[String]) -> Result<Places> {
    let mut places = Places { search_path: environment::search_path(), ..Places::default() };
    for item in named {
        let (name, path) =
            item.split_once('=').ok_or_else(|| format!("'{item}' is not NAME=PATH, such as fio=/opt/fio/bin/fio"))?;
        let tool = known_tool(name).ok_or_else(|| unknown_tool(name))?;
        places.overrides.insert(tool.to_owned(), path.into());
    }
    Ok(places)
}

pub(crate) fn references(arguments: &References) -> Result {
    let places = places(&arguments.tool)?;
    let mut tools = catalogue::known(&places, VERSION_SECONDS);
    if arguments.check {
        host::note_stop_signals();
        let directory = match &arguments.dir {
            Some(directory) => directory.clone(),
            None => environment::store()?.root().to_owned(),
        };
        let mut progress = Progress { bar: progress::bar("{bar:20} {wide_msg}"), ..Progress::default() };
        catalogue::check(&mut tools, &places, &directory, &mut |trying| progress.show(trying));
        drop(progress);
        if let Some(signal) = host::stop_signal() {
            return Ok(Outcome::Interrupted(signal));
        }
    }
    let failed = |check: &ToolCheck| check.status == CheckOutcome::Failed;
    let any_failed = tools.iter().filter_map(|tool| tool.check.as_ref()).any(failed);
    let catalogue = Catalogue { schema: CATALOGUE_SCHEMA.to_owned(), tools };
    let text = if arguments.json {
        report::json::pretty(&catalogue, "list")?
    } else {
        report::references::text(&catalogue, &Stream::Output.style())
    };
    print(text.as_bytes())?;
    Ok(if any_failed { Outcome::Failed } else { Outcome::Done })
}

#[derive(Default)]
struct Progress {
    bar: Option<ProgressBar>,
    count: usize,
    ended: usize,
}

impl Progress {
    fn show(&mut self, trying: Trying<'_>) {
        let line = match trying {
            Trying::Tools(count, seconds) => {
                self.count = count;
                let tools = if count == 1 { "tool" } else { "tools" };
                (count > 0).then(|| format!("trying {count} {tools}, about {}", duration(seconds)))
            }
            Trying::Begins(tool) => {
                self.bar.iter().for_each(|bar| bar.set_message(format!("{tool} …")));
                None
            }
            Trying::Ended(tool, seconds, check) => {
                self.ended += 1;
                let what = if check.status == CheckOutcome::Ok { "works" } else { "FAILED" };
                Some(format!("{} of {}: {tool} {what}, {}", self.ended, self.count, duration(seconds)))
            }
        };
        if let Some(bar) = &self.bar {
            bar.set_length(self.count as u64);
            bar.set_position(self.ended as u64);
            line.into_iter().for_each(|line| bar.set_message(line));
        } else if let Some(line) = line {
            // Failure to write this is no reason to stop.
            let _ = writeln!(std::io::stderr(), "{line}");
        }
    }
}
