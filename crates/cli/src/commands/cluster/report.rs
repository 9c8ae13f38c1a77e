//! `assay cluster report`: the evaluation of a plan, as files in its folder or in one format.

use std::io::{self, Write};
use std::path::Path;

use bench::store::write_pieces;
use cluster::error::cannot_write;
use cluster::evaluate::evaluate;
use cluster::folder::Folder;
use model::cluster::ClusterDocument;
use report::cluster::{FORMS, Form, form, terminal};

use crate::args::cluster::ReportArgs;
use crate::commands::program::program;
use crate::environment::Stream;
use crate::exit::{Outcome, Result, print};

pub(crate) fn report(arguments: &ReportArgs) -> Result {
    let folder = Folder::at(&arguments.folder);
    let document = evaluate(&folder, program())?;
    let Some(name) = &arguments.format else { return everything(&folder, &document) };
    let form = form(name).ok_or_else(|| format!("unknown format '{name}'"))?;
    match &arguments.output {
        Some(path) if path != Path::new("-") => write(form, &document, path)?,
        _ => show(form, &document)?,
    }
    Ok(Outcome::Done)
}

/// Writes every format with a file name into the plan's folder, and prints the summary.
fn everything(folder: &Folder, document: &ClusterDocument) -> Result {
    let target = folder.report();
    // The summary is printed even if the folder cannot be written.
    let written = std::fs::create_dir_all(&target)
        .map_err(|error| cannot_write(&target)(error).to_string())
        .and_then(|()| write_all(&target, document));
    let summary = terminal::render(document, &Stream::Output.style());
    let place = target.join("index.html");
    let place = if written.is_ok() { format!("\nReport: {}\n", place.display()) } else { String::new() };
    print((summary + &place).as_bytes())?;
    written.map(|()| Outcome::Done).map_err(|why| {
        format!("{why}. The summary is above; write the report to another place with --format FORMAT -o FILE")
    })
}

fn write_all(target: &Path, document: &ClusterDocument) -> Result<()> {
    for form in FORMS {
        if let Some(file) = form.file {
            write(form, document, &target.join(file))?;
        }
    }
    Ok(())
}

fn write(form: &Form, document: &ClusterDocument, path: &Path) -> Result<()> {
    let pieces = (form.render)(document).map_err(|error| error.to_string())?;
    write_pieces(path, pieces).map_err(|error| format!("cannot write '{}': {error}", path.display()))
}

/// Prints a format piece by piece; the summary is styled for the terminal.
fn show(form: &Form, document: &ClusterDocument) -> Result<()> {
    if form.name == "terminal" {
        return print(terminal::render(document, &Stream::Output.style()).as_bytes());
    }
    let mut stdout = io::BufWriter::new(io::stdout().lock());
    let mut pieces = (form.render)(document).map_err(|error| error.to_string())?;
    match pieces.try_for_each(|piece| stdout.write_all(piece.as_bytes())).and_then(|()| stdout.flush()) {
        // A reader that has closed the pipe is no error.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(format!("cannot write to standard output: {error}"))
        }
        _ => Ok(()),
    }
}
