//! `assay report`: a stored run in another form.

mod charts;
#[cfg(feature = "png")]
mod png;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use bench::store::{PAGE, Store, write_whole};
use model::document::Document;
use report::grid::{Grid, grids};

use crate::args::results::Report;
use crate::environment::{self, Stream};
use crate::exit::{Outcome, Result, print};
use charts::write_charts;

/// The default format.
const USUAL: &str = "html";

/// Where a report goes.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Target {
    /// Standard output.
    Output,
    /// A file that the user named.
    File(PathBuf),
    /// The HTML report in the run's folder, whose path is printed.
    Page(PathBuf),
}

/// Renders a stored run.
pub(crate) fn report(arguments: &Report) -> Result {
    let store = environment::store()?;
    let document = store.load(&arguments.run)?;
    if let Some(folder) = &arguments.charts {
        return write_charts(&document, folder);
    }
    let target = target(arguments, &store)?;
    let bytes = match &arguments.table {
        Some(name) => table(&document, name, arguments.format.as_deref())?,
        None => rendered(&document, arguments.format.as_deref().unwrap_or(USUAL), &target)?,
    };
    match &target {
        Target::Output => print(&bytes)?,
        Target::File(path) => write(path, &bytes)?,
        Target::Page(path) => {
            write(path, &bytes)?;
            print(format!("{}\n", path.display()).as_bytes())?;
        }
    }
    Ok(Outcome::Done)
}

/// Where the report goes: where the user chose, else html next to the document and other formats to standard output.
fn target(arguments: &Report, store: &Store) -> Result<Target> {
    let is_page = arguments.table.is_none() && arguments.format.as_deref().is_none_or(|format| format == USUAL);
    match &arguments.output {
        Some(path) if path == Path::new("-") => Ok(Target::Output),
        Some(path) => Ok(Target::File(path.clone())),
        None if is_page => page(&arguments.run, store).map(Target::Page),
        None => Ok(Target::Output),
    }
}

fn page(run: &str, store: &Store) -> Result<PathBuf> {
    let folder = store.folder(run).map_err(|why| format!("{why}, or choose the file with -o FILE"))?;
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

/// The document in one of the formats; text is styled for the terminal.
fn rendered(document: &Document, format: &str, target: &Target) -> Result<Vec<u8>> {
    let found = report::renderer(format).ok_or_else(|| format!("unknown format '{format}'"))?;
    if format == "text" && *target == Target::Output {
        return Ok(report::terminal::render(document, &Stream::Output.style()).into_bytes());
    }
    (found.render)(document).map(String::into_bytes).map_err(|error| error.to_string())
}

fn table(document: &Document, name: &str, format: Option<&str>) -> Result<Vec<u8>> {
    let forms = report::TABLE_RENDERERS;
    let usual = forms.first().map(|(name, _)| *name);
    let form = forms.iter().find(|(name, _)| format.or(usual) == Some(*name));
    let (_, render) = form.ok_or_else(|| {
        let names: Vec<&str> = forms.iter().map(|(name, _)| *name).collect();
        format!("a single table is available as {}, not as {}", names.join(", "), format.unwrap_or_default())
    })?;
    let grids = grids(document);
    let grid = grids.iter().find(|grid| grid.name == name).ok_or_else(|| no_table(name, &grids))?;
    Ok(render(grid).into_bytes())
}

fn no_table(name: &str, grids: &[Grid]) -> String {
    let names: Vec<&str> = grids.iter().map(|grid| grid.name.as_str()).collect();
    if names.is_empty() {
        return format!("this run has no table '{name}', nor any other");
    }
    format!("this run has no table '{name}'; it has {}", names.join(", "))
}
