//! The HTML report: one file with style, script, charts and data, which opens without a network, prints to A4, and reads
//! without scripts. Its layout is in the folder `page`; text from the document passes `text::escaped`.

mod answer;
mod area;
pub(crate) mod data;
mod log;
mod machine;
mod peaks;
mod references;
pub(crate) mod repeat;
mod scaling;
mod tables;
pub(crate) mod text;

use minijinja::value::{Value, ValueKind};
use minijinja::{Environment, Output, State, context};
use model::document::{Document, Status};
use model::number::{counted, duration};

use crate::chart::{self, charts};
use crate::grid::grids;
use crate::terminal::{machine_words, suite_words};
use tables::Anchors;

const TEMPLATE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
pub(crate) const SCRIPT: &str = include_str!("page/page.js");

/// The whole report; an error where a value of the document is not finite, so that it cannot be packed into it.
pub fn render(document: &Document) -> Result<String, String> {
    let page = page(document);
    let bare = set(TEMPLATE, page.clone())?.len();
    let room = (bare / DATA_PART).min(LARGE.saturating_sub(bare)).max(LEAST_DATA);
    let files = data::files(document, room)?;
    set(TEMPLATE, context! { files, ..page })
}

/// The data are at most this part of the rest, so that a report remains small enough to be sent.
const DATA_PART: usize = 2;
/// The data make no report larger than this, in bytes.
const LARGE: usize = 1_190_000;
/// Bytes for data in every report.
const LEAST_DATA: usize = 60_000;

/// A page set by a template; text of its values is escaped.
pub(crate) fn set(template: &str, page: Value) -> Result<String, String> {
    let refuse = |error: minijinja::Error| format!("the page cannot be set: {error:#}");
    let mut environment = Environment::new();
    environment.set_formatter(write_value);
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    environment.set_keep_trailing_newline(true);
    environment.add_template("page.html", template).map_err(refuse)?;
    environment.get_template("page.html").and_then(|template| template.render(page)).map_err(refuse)
}

/// Writes a value: text is escaped unless the template calls it safe, and numbers are short.
fn write_value(out: &mut Output<'_>, state: &State<'_, '_>, value: &Value) -> Result<(), minijinja::Error> {
    match value.as_str() {
        Some(text) if value.is_safe() => Ok(out.write_str(text)?),
        Some(text) => Ok(out.write_str(&text::escaped(text))?),
        None if value.kind() == ValueKind::Number => Ok(write!(out, "{value}")?),
        None => minijinja::escape_formatter(out, state, value),
    }
}

fn page(document: &Document) -> Value {
    // Links lead to lines of tables, so the tables come first.
    let mut anchors = Anchors::of(document);
    let sections = area::sections(document, &grids(document), charts(document), &mut anchors);
    let headlines = areas::headlines(document);
    let log = log::kinds(document, &anchors);
    let (references, remarks) = references::lines(document);
    let run = &document.run;
    let measured = document.experiments.iter().filter(|row| row.status == Status::Ok).count();
    let planned = counted(document.experiments.len() as u64, "result");
    let suite = suite_words(&run.suite);
    let machine = machine_words(&document.machine);
    let resumed = match run.resumed.len() {
        0 => String::new(),
        1 => "resumed once".to_owned(),
        times => format!("resumed {times} times"),
    };
    let declared = run.declared.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>();
    let head = context! {
        program => format!("Assay {}", document.assay.version),
        suite,
        machine,
        host => document.machine.host,
        started => text::moment(&run.started),
        took => duration(run.seconds),
        rows => if measured == document.experiments.len() { planned } else { format!("{measured} of {planned}") },
        id => run.id,
        sessions => run.sessions,
        resumed,
        declared,
    };
    context! {
        title => format!("{machine} · {suite} · Assay"),
        style => style(),
        script => SCRIPT,
        answer => answer::answer(document, &headlines),
        headlines => answer::headlines(&headlines, &anchors),
        head,
        peaks => peaks::areas(document),
        sections => sections.areas,
        roofline => sections.roofline,
        over_time => sections.over_time,
        scaling => scaling::lines(document, &anchors),
        references_summary => references::summary(document),
        references,
        remarks,
        tools => references::tools(document),
        log,
        absences => log::absences(document, &anchors),
        state => machine::state(document),
        machines => machine::machines(document),
        commands => repeat::commands(document),
    }
}

/// The style sheet: that of charts with both themes, then the report's own.
pub(crate) fn style() -> String {
    let dark = chart::colours(chart::Theme::Dark);
    let themes = format!(
        ":root[data-theme=\"dark\"]{{{dark}}}\n\
         @media screen and (prefers-color-scheme:dark){{:root:not([data-theme=\"light\"]){{{dark}}}}}\n"
    );
    [chart::style(), themes, STYLE.to_owned()].concat()
}
