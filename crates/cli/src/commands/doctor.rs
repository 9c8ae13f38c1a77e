//! `assay doctor`: whether results taken now can be trusted, and what to change.

use bench::doctor::{Patient, diagnose};
use bench::host;
use bench::references::detect::Places;

use console::Term;

use super::program::{program, worker_command};
use crate::args::machine::Doctor;
use crate::environment::{self, Stream};
use crate::exit::{Outcome, Result, print};

pub(crate) fn doctor(arguments: &Doctor, began: f64) -> Result {
    let patient = Patient {
        worker: worker_command()?,
        program: program(),
        places: Places { search_path: environment::search_path(), ..Places::default() },
        // Without a store the diagnosis reports that no disk can be measured.
        store: environment::store().ok().map(|store| store.root().to_owned()),
        began,
    };
    host::note_stop_signals();
    let watched = Stream::Error.is_terminal().then(Term::stderr);
    // Failure to write this is no reason to stop.
    let _ = watched.as_ref().map(|terminal| terminal.write_str("Observing this machine for five seconds ..."));
    let diagnosis = diagnose(&patient);
    let _ = watched.as_ref().map(Term::clear_line);
    if let Some(signal) = host::stop_signal() {
        return Ok(Outcome::Interrupted(signal));
    }
    let text = if arguments.json {
        report::json::pretty(&diagnosis, "diagnosis")?
    } else {
        report::doctor::text(&diagnosis, &Stream::Output.style())
    };
    print(text.as_bytes())?;
    Ok(if diagnosis.quotable { Outcome::Done } else { Outcome::Failed })
}
