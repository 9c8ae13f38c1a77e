//! The report as a page: one file with its style, script, charts and data inside, which opens from a disk without a
//! network, prints to A4, and reads without scripts.
//!
//! What it says is worked out here as plain values; how it is set is in `page.html`, `page.css` and `page.js` in the folder `page` beside
//! this file. Everything from the document passes `text::escaped` on its way into the page.

mod again;
mod area;
mod beside;
pub(crate) mod data;
mod gauge;
mod log;
mod machine;
mod peaks;
mod scaling;
mod tables;
pub(crate) mod text;
mod verdict;

use minijinja::value::{Value, ValueKind};
use minijinja::{Environment, Output, State};
use model::document::{Document, Status};
use serde::Serialize;

use crate::chart::{self, charts};
use crate::grid::grids;
use crate::render::{Render, RenderError};
use crate::terminal::machine_words;
use area::Section;
use model::number::{counted, duration};
use tables::Anchors;

const TEMPLATE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
pub(crate) const SCRIPT: &str = include_str!("page/page.js");

/// Writes the page.
#[derive(Clone, Copy, Debug)]
pub struct Html;

impl Render for Html {
    fn render(&self, document: &Document) -> Result<Vec<u8>, RenderError> {
        render(document).map(String::into_bytes)
    }
}

/// The whole page.
///
/// # Errors
/// Where the document holds a figure that is not finite, so that it cannot be packed into the page.
pub fn render(document: &Document) -> Result<String, RenderError> {
    let mut page = Page::of(document)?;
    let mut text = set(TEMPLATE, &page)?;
    // The table of summaries is in the document too, from which `assay report` makes it again.
    while text.len() > LARGE && page.files.len() > 1 {
        page.files.pop();
        text = set(TEMPLATE, &page)?;
    }
    Ok(text)
}

/// A page of more bytes than this takes only the document itself along, so that it stays light enough to be sent.
const LARGE: usize = 3_000_000;

/// A page set by a template; text of its values is escaped.
///
/// # Errors
/// Where the template asks for what there is not.
pub(crate) fn set(template: &str, page: &impl Serialize) -> Result<String, RenderError> {
    let refuse = |error: minijinja::Error| RenderError::new(format!("the page cannot be set: {error:#}"));
    let mut environment = Environment::new();
    environment.set_formatter(write_value);
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    environment.set_keep_trailing_newline(true);
    environment.add_template("page.html", template).map_err(refuse)?;
    let template = environment.get_template("page.html").map_err(refuse)?;
    template.render(Value::from_serialize(page)).map_err(refuse)
}

/// Writes a value into the page: text is escaped, numbers are short, and only what the template calls safe is written
/// as it is.
fn write_value(out: &mut Output<'_>, state: &State<'_, '_>, value: &Value) -> Result<(), minijinja::Error> {
    match value.as_str() {
        Some(text) if value.is_safe() => Ok(out.write_str(text)?),
        Some(text) => Ok(out.write_str(&text::escaped(text))?),
        None if value.kind() == ValueKind::Number => Ok(write!(out, "{value}")?),
        None => minijinja::escape_formatter(out, state, value),
    }
}

/// Everything on the page.
#[derive(Debug, Serialize)]
struct Page {
    title: String,
    style: String,
    script: &'static str,
    head: Head,
    verdict: verdict::Verdict,
    gauges: Vec<gauge::Gauge>,
    peaks: Vec<peaks::OfArea>,
    sections: Vec<Section>,
    scaling: Vec<scaling::Series>,
    roofline: Vec<area::Figure>,
    beside: Vec<beside::Beside>,
    beside_summary: String,
    tools: Vec<beside::Tool>,
    log: Vec<log::WarningKind>,
    absences: Vec<log::Absence>,
    machines: Vec<machine::Described>,
    commands: Vec<again::Command>,
    files: Vec<data::File>,
}

/// What stands above the verdict.
#[derive(Debug, Serialize)]
struct Head {
    program: String,
    suite: String,
    machine: String,
    host: Option<String>,
    started: String,
    took: String,
    rows: String,
    id: String,
    sessions: u32,
    /// How often the run was gone on with; empty where it never was.
    resumed: String,
    declared: Vec<String>,
}

impl Page {
    fn of(document: &Document) -> Result<Self, RenderError> {
        // Links can only lead to lines that are there: the tables come first.
        let mut anchors = Anchors::of(document);
        let (sections, roofline) = area::sections(document, &grids(document), charts(document), &mut anchors);
        let gauges = gauge::gauges(document, &anchors);
        let log = log::kinds(document, &anchors);
        let beside = beside::lines(document, &anchors);
        let head = Head::of(document);
        Ok(Self {
            title: format!("{} · {} · Assay", head.machine, head.suite),
            style: style(),
            script: SCRIPT,
            verdict: verdict::Verdict::of(document, &gauges, &log),
            head,
            gauges,
            peaks: peaks::areas(document),
            sections,
            scaling: scaling::series(document, &anchors),
            roofline,
            beside_summary: beside::summary(&beside),
            beside,
            tools: beside::tools(document),
            log,
            absences: log::absences(document, &anchors),
            machines: machine::machines(document),
            commands: again::commands(document),
            files: data::files(document)?,
        })
    }
}

/// The style sheet: that of the charts with both themes, then the page's own.
pub(crate) fn style() -> String {
    let dark = chart::colours(chart::Theme::Dark);
    let themes = format!(
        ":root[data-theme=\"dark\"]{{{dark}}}\n\
         @media screen and (prefers-color-scheme:dark){{:root:not([data-theme=\"light\"]){{{dark}}}}}\n"
    );
    [chart::style(), themes, STYLE.to_owned()].concat()
}

impl Head {
    fn of(document: &Document) -> Self {
        let run = &document.run;
        let measured = document.experiments.iter().filter(|row| row.status == Status::Ok).count();
        let planned = counted(document.experiments.len() as u64, "row");
        Self {
            program: format!("Assay {}", document.assay.version),
            suite: if run.suite.parse::<model::experiment::Area>().is_ok() {
                run.suite.clone()
            } else {
                format!("{} suite", run.suite)
            },
            machine: machine_words(&document.machine),
            host: document.machine.host.clone(),
            started: text::moment(&run.started),
            took: duration(run.seconds),
            rows: if measured == document.experiments.len() { planned } else { format!("{measured} of {planned}") },
            id: run.id.clone(),
            sessions: run.sessions,
            resumed: match run.resumed.len() {
                0 => String::new(),
                1 => "gone on with once after it had been cut off".to_owned(),
                times => format!("gone on with {times} times after it had been cut off"),
            },
            declared: run.declared.iter().map(|(name, value)| format!("{name}={value}")).collect(),
        }
    }
}
