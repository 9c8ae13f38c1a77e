//! `assay show` and `assay runs`: the runs in the store.

use std::fmt::Write;

use bench::store::{Listed, RunHead, Store};
use model::document::Document;
use model::warning::Confidence;

use crate::args::results::Show;
use crate::environment::{self, Stream};
use crate::exit::{Outcome, Result, print};

/// Prints the tables of a stored run, or its one-screen answer.
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

/// Lists the runs in the store.
pub(crate) fn runs() -> Result {
    print(list(&environment::store()?.list()).as_bytes())?;
    Ok(Outcome::Done)
}

fn list(runs: &[Listed<RunHead>]) -> String {
    if runs.is_empty() {
        return "The store has no run. Measure one: assay\n".to_owned();
    }
    let width = runs.iter().map(|run| run.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for run in runs {
        let what = match &run.document {
            Ok(document) => {
                let confidence = match document.run.confidence {
                    Some(Confidence::High) => "high",
                    Some(Confidence::Fair) => "fair",
                    Some(Confidence::Low) => "low",
                    None => "no",
                };
                let (measured, rows) = (document.measured(), document.planned());
                let end = if document.run.complete { "" } else { ", interrupted" };
                let took = model::number::duration(document.run.seconds);
                format!("{confidence:4} confidence   {measured} of {rows} benchmarks, {took}{end}")
            }
            Err(reason) => reason.clone(),
        };
        let _ = writeln!(text, "{:width$}   {what}", run.name);
    }
    text
}
