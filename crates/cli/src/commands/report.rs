//! `assay report`: a stored run in another form.

use bench::store::write_whole;
use model::document::Document;
use report::Render;
use report::terminal::Terminal;

use crate::args::Report;
use crate::environment::{self, Stream};
use crate::exit::{Outcome, Result, print};

/// Renders a run.
pub(crate) fn report(arguments: &Report) -> Result {
    let document = environment::store()?.load(&arguments.run)?;
    let bytes = rendered(&document, &arguments.format, arguments.output.is_none())?;
    match &arguments.output {
        Some(path) => {
            write_whole(path, &bytes).map_err(|error| format!("cannot write '{}': {error}", path.display()))?;
        }
        None => print(&bytes)?,
    }
    Ok(Outcome::Done)
}

/// The document in a form of the table of renderers; text is made for the terminal, if it goes to one.
fn rendered(document: &Document, format: &str, to_stdout: bool) -> Result<Vec<u8>> {
    let found = report::renderer(format).ok_or_else(|| format!("there is no format '{format}'"))?;
    let for_terminal = Terminal { style: Stream::Output.style() };
    let render: &dyn Render = if format == "text" && to_stdout { &for_terminal } else { found.render };
    render.render(document).map_err(|error| error.to_string())
}
