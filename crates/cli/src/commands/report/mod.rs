//! `assay report`: a stored run in another form.

mod charts;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use bench::store::{PAGE, Store, write_whole};
use model::document::{Document, Status};
use report::grid::grids;

use crate::args::results::Report;
use crate::commands::runs::loaded;
use crate::environment::{self, Stream};
use crate::exit::{Outcome, Result, print};
use charts::write_charts;

const USUAL: &str = "html";

/// Renders a stored run: html next to the document, other formats to standard output, unless the user chose a file.
pub(crate) fn report(arguments: &Report) -> Result {
    let store = environment::store()?;
    let mut document = loaded(&store, &arguments.run)?;
    if let Some(folder) = &arguments.charts {
        return write_charts(&document, folder);
    }
    let format = arguments.format.as_deref();
    let below: Vec<(usize, String)> =
        document.experiments.iter().enumerate().filter_map(|(index, row)| Some((index, areas::below(row)?))).collect();
    let outcome = if arguments.fail_below && !below.is_empty() { Outcome::Failed } else { Outcome::Done };
    for (index, sentence) in below.into_iter().filter(|_| arguments.fail_below && format == Some("junit")) {
        let row = &mut document.experiments[index];
        (row.status, row.reason) = (Status::Failed, Some(sentence));
    }
    let is_page = arguments.table.is_none() && format.is_none_or(|format| format == USUAL);
    let file = match &arguments.output {
        Some(path) => Some(path.clone()).filter(|path| path != Path::new("-")),
        None if is_page => Some(page(&arguments.run, &store)?),
        None => None,
    };
    let text = match &arguments.table {
        Some(name) => table(&document, name, format)?,
        None if format == Some("text") && file.is_none() => {
            report::terminal::render(&document, &Stream::Output.style())
        }
        None => {
            let name = format.unwrap_or(USUAL);
            let found = report::renderer(name).ok_or_else(|| format!("unknown format '{name}'"))?;
            (found.render)(&document)?
        }
    };
    let Some(file) = file else {
        print(text.as_bytes())?;
        return Ok(outcome);
    };
    write(&file, text.as_bytes())?;
    if arguments.output.is_none() {
        print(format!("{}\n", file.display()).as_bytes())?;
    }
    Ok(outcome)
}

fn page(run: &str, store: &Store) -> Result<PathBuf> {
    let own = store.folder(run).and_then(|folder| folder.check_own().map(|()| folder));
    let folder = own.map_err(|why| format!("{why}, or choose the file with -o FILE"))?;
    Ok(folder.path().join(PAGE))
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    write_whole(path, bytes).map_err(|error| {
        let advice = match error.kind() {
            ErrorKind::IsADirectory => ". Choose a file in it",
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => ". Choose another file with -o",
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => ". Free some space, or choose another file with -o",
            ErrorKind::NotFound => ". Create its folder first",
            _ => "",
        };
        format!("cannot write '{}': {error}{advice}", path.display())
    })
}

fn table(document: &Document, name: &str, format: Option<&str>) -> Result<String> {
    let forms = report::TABLE_RENDERERS;
    let usual = forms.first().map(|(name, _)| *name);
    let form = forms.iter().find(|(name, _)| format.or(usual) == Some(*name));
    let (_, render) = form.ok_or_else(|| {
        let names: Vec<&str> = forms.iter().map(|(name, _)| *name).collect();
        format!("a single table is available as {}, not as {}", names.join(", "), format.unwrap_or_default())
    })?;
    let grids = grids(document);
    let grid = grids.iter().find(|grid| grid.name == name).ok_or_else(|| {
        let names: Vec<&str> = grids.iter().map(|grid| grid.name.as_str()).collect();
        format!("this run has no table '{name}'; it has {}", names.join(", "))
    })?;
    Ok(render(grid))
}
