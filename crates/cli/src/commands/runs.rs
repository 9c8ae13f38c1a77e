//! `assay show` and `assay runs`: the runs in the store.

use std::fmt::Write;

use bench::store::{Listed, Store};
use model::document::Document;
use model::number::{counted, duration};

use crate::args::results::Show;
use crate::environment::{self, Stream};
use crate::exit::{Outcome, Result, print};

pub(crate) fn show(arguments: &Show) -> Result {
    let document = loaded(&environment::store()?, &arguments.run)?;
    let style = Stream::Output.style();
    let text = if arguments.answer {
        let around = report::terminal::Surroundings { name: Some(arguments.run.clone()), ..Default::default() };
        report::terminal::answer(&document, &around, &style)
    } else {
        report::terminal::render(&document, &style)
    };
    print(text.as_bytes())?;
    Ok(Outcome::Done)
}

/// A stored run; one of an earlier version is judged by the rules of this one.
pub(super) fn loaded(store: &Store, run: &str) -> Result<Document> {
    let mut document = store.load(run)?;
    if document.answers.is_empty() {
        verdict::run::judge_again(&mut document, areas::RULES);
    }
    Ok(document)
}

pub(crate) fn runs() -> Result {
    print(list(&environment::store()?.list()?).as_bytes())?;
    Ok(Outcome::Done)
}

fn list(runs: &[Listed]) -> String {
    if runs.is_empty() {
        return "The store has no run. Measure one: assay\n".to_owned();
    }
    let width = runs.iter().map(|run| run.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for run in runs {
        let what = match &run.summary {
            Ok(run) => {
                let planned = counted(run.planned as u64, "benchmark");
                let mut parts = vec![format!("{} of {planned}", run.measured), duration(run.seconds)];
                parts.extend(run.confidence.map(|confidence| format!("{confidence} confidence")));
                parts.extend((!run.complete).then(|| "interrupted".to_owned()));
                parts.extend(run.label.as_ref().map(|label| format!("label '{}'", label.escape_debug())));
                parts.join(", ")
            }
            Err(reason) => reason.clone(),
        };
        let _ = writeln!(text, "{:width$}   {what}", run.name);
    }
    text
}
