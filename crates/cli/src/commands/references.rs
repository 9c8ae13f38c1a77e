//! `assay references`: which trusted tools are known, which are here, and whether each does what its adapter says.

use bench::host;
use bench::reference::catalogue::{self, VERSION_SECONDS};
use model::reference::{CATALOGUE_SCHEMA, Catalogue, CheckOutcome};

use super::run::places;
use crate::args::References;
use crate::environment::{self, Stream};
use crate::exit::{Outcome, Result, print};

/// Lists the tools, and tries them if that was asked for.
pub(crate) fn references(arguments: &References) -> Result {
    let places = places(&arguments.tool)?;
    let mut tools = catalogue::known(&places, VERSION_SECONDS);
    if arguments.check {
        host::note_stop_signals();
        let directory = match &arguments.dir {
            Some(directory) => directory.clone(),
            None => environment::store()?.root().to_owned(),
        };
        for tool in &mut tools {
            tool.check = catalogue::check(&tool.tool, &places, &directory);
            if let Some(signal) = host::stop_signal() {
                return Ok(Outcome::Interrupted(signal));
            }
        }
    }
    let failed = |check: &model::reference::ToolCheck| check.status == CheckOutcome::Failed;
    let any_failed = tools.iter().filter_map(|tool| tool.check.as_ref()).any(failed);
    let catalogue = Catalogue { schema: CATALOGUE_SCHEMA.to_owned(), tools };
    let text = if arguments.json {
        report::references::json(&catalogue).map_err(|error| error.to_string())?
    } else {
        report::references::text(&catalogue, &Stream::Output.style())
    };
    print(text.as_bytes())?;
    Ok(if any_failed { Outcome::SomeFailed } else { Outcome::Done })
}
