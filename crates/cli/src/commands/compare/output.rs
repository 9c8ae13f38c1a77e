//! The output of a comparison, and its exit status.

use bench::store::write_whole;
use model::comparison::{Change, Comparison, Direction};
use report::{Style, comparison};

use crate::args::results::Compare;
use crate::environment::Stream;
use crate::exit::{Outcome, Result, cannot_write, print};

pub(super) fn show(found: &Comparison, arguments: &Compare) -> Result {
    let format = if arguments.json { "json" } else { arguments.format.as_str() };
    let text = match format {
        "json" => report::json::pretty(found, "comparison")?,
        "markdown" => comparison::markdown(found),
        _ => {
            let style = if arguments.output.is_some() { Style::PLAIN } else { Stream::Output.style() };
            comparison::text(found, &style)
        }
    };
    match &arguments.output {
        Some(path) => {
            write_whole(path, text.as_bytes()).map_err(|error| cannot_write(path, &error))?;
        }
        None => print(text.as_bytes())?,
    }
    Ok(outcome(found))
}

fn outcome(found: &Comparison) -> Outcome {
    let rows = &found.experiments;
    if rows.iter().any(|row| row.direction == Some(Direction::Worse)) {
        Outcome::Failed
    } else if rows.iter().any(|row| row.verdict == Change::Inconclusive) {
        Outcome::Inconclusive
    } else {
        Outcome::Done
    }
}
