//! `assay cluster report`: the evaluation of a plan, as files in its folder or in one format.

use std::path::Path;

use bench::store::write_pieces;
use cluster::evaluate::evaluate_with_history;
use cluster::folder::Folder;
use model::cluster::{BELOW_EXPECTED, ClusterDocument, ClusterVerdict, SLOWER_THAN_BEFORE};
use report::cluster::{FORMS, Form, form, terminal};

use crate::args::cluster::ReportArgs;
use crate::commands::program::program;
use crate::environment::Stream;
use crate::exit::{Outcome, Result, print, print_pieces};

pub(crate) fn report(arguments: &ReportArgs) -> Result {
    let folder = Folder::at(&arguments.folder);
    let earlier = arguments.history.as_deref().map(Folder::at);
    let document = evaluate_with_history(&folder, earlier.as_ref(), program())?;
    let codes = [BELOW_EXPECTED, SLOWER_THAN_BEFORE];
    let is_below = document.problems.iter().any(|problem| codes.contains(&problem.code.as_str()));
    let outcome = outcome(arguments, document.verdict, is_below);
    let Some(name) = &arguments.format else {
        everything(&folder, &document)?;
        return Ok(outcome);
    };
    let form = form(name).ok_or_else(|| format!("unknown format '{name}'"))?;
    match &arguments.output {
        Some(path) if path != Path::new("-") => write(form, &document, path)?,
        // On a terminal the summary is styled.
        _ if form.name == "terminal" => print(terminal::render(&document, &Stream::Output.style()).as_bytes())?,
        _ => print_pieces((form.render)(&document)?)?,
    }
    Ok(outcome)
}

fn outcome(arguments: &ReportArgs, verdict: ClusterVerdict, is_below: bool) -> Outcome {
    match verdict {
        _ if arguments.fail_below && is_below => Outcome::Failed,
        ClusterVerdict::Slow if arguments.fail_on_slow => Outcome::Failed,
        ClusterVerdict::Inconclusive if arguments.fail_on_slow => Outcome::Inconclusive,
        _ => Outcome::Done,
    }
}

/// Writes every format with a file name into the plan's folder, and prints the summary.
fn everything(folder: &Folder, document: &ClusterDocument) -> Result<()> {
    let target = folder.report();
    // The summary is printed even if the folder cannot be written.
    let mut files = FORMS.iter().filter_map(|form| Some((form, form.file?)));
    let written = files.try_for_each(|(form, file)| -> Result<()> {
        let pieces = (form.render)(document)?;
        folder.write_in_report(file, pieces).map_err(String::from)
    });
    let summary = terminal::render(document, &Stream::Output.style());
    print(summary.as_bytes())?;
    written.map_err(|why| {
        format!("{why}. The summary is above; write the report to another place with --format FORMAT -o FILE")
    })?;
    print(format!("\nReport: {}\n", target.join("index.html").display()).as_bytes())
}

fn write(form: &Form, document: &ClusterDocument, path: &Path) -> Result<()> {
    let pieces = (form.render)(document)?;
    write_pieces(path, pieces).map_err(|error| format!("cannot write '{}': {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_node_is_status_1_and_an_inconclusive_verdict_3_where_it_was_asked_for() {
        let of = |fail_below, fail_on_slow, verdict, is_below| {
            let folder = "/p".into();
            let arguments = ReportArgs { folder, format: None, history: None, fail_below, fail_on_slow, output: None };
            outcome(&arguments, verdict, is_below)
        };
        let [equal, slow, inconclusive] = [ClusterVerdict::Equal, ClusterVerdict::Slow, ClusterVerdict::Inconclusive];
        assert_eq!(
            [equal, slow, inconclusive].map(|verdict| of(false, true, verdict, true)),
            [Outcome::Done, Outcome::Failed, Outcome::Inconclusive]
        );
        assert!([equal, slow, inconclusive].iter().all(|verdict| of(false, false, *verdict, true) == Outcome::Done));
        assert_eq!(of(true, true, inconclusive, true), Outcome::Failed);
        assert_eq!(of(true, false, slow, false), Outcome::Done);
    }
}
