//! What each command does, a file each.

pub(crate) mod compare;
mod compare_live;
pub(crate) mod doctor;
pub(crate) mod info;
pub(crate) mod net_serve;
pub(crate) mod references;
pub(crate) mod report;
mod resume;
pub(crate) mod run;
pub(crate) mod runs;

use std::io::{self, BufReader};

use crate::exit::{Outcome, Result, print};

/// Carries out one launch of one experiment: the task comes on standard input.
pub(crate) fn worker() -> Outcome {
    let mut input = BufReader::new(io::stdin().lock());
    // If nobody listens any more there is nothing left to do, and nobody to tell.
    let _ = bench::worker::serve(&mut input, &mut io::stdout());
    Outcome::Done
}

/// Prints the schema of the document.
pub(crate) fn schema() -> Result {
    let text = serde_json::to_string_pretty(&::report::schema::schema()).map_err(|error| error.to_string())?;
    print(format!("{text}\n").as_bytes())?;
    Ok(Outcome::Done)
}
