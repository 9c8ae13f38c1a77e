//! The trusted tools as text and as JSON: what is there, with what each stands beside, then what is not, with how to
//! get it.

use model::reference::{Catalogue, CheckOutcome, KnownTool, ToolCheck};

use crate::layout::{width, wrap};
use crate::render::RenderError;
use crate::style::{Style, Tone};
use model::number::quantity;

/// Columns before a line of a section.
const INDENT: &str = "  ";

/// The list as JSON, indented, with one trailing newline.
///
/// # Errors
/// Where a figure is not finite, which JSON has no word for.
pub fn json(catalogue: &Catalogue) -> Result<String, RenderError> {
    let refuse = |error: serde_json::Error| RenderError::new(format!("the list cannot be written as JSON: {error}"));
    let text = serde_json::to_string_pretty(catalogue).map_err(refuse)?;
    Ok(format!("{text}\n"))
}

/// The list as text, ending in a newline.
pub fn text(catalogue: &Catalogue, style: &Style) -> String {
    let widest = catalogue.tools.iter().map(|tool| width(&tool.tool)).max().unwrap_or(0);
    let (there, missing): (Vec<_>, Vec<_>) = catalogue.tools.iter().partition(|tool| tool.path.is_some());
    let mut lines = vec![style.paint(&summary(catalogue), Tone::Strong)];
    let mut section = |title: &str, tone: Tone, body: Vec<String>| {
        if !body.is_empty() {
            lines.extend([String::new(), style.paint(title, tone)]);
            lines.extend(body);
        }
    };
    section("Here", Tone::Good, there.iter().flat_map(|tool| found(tool, widest, style)).collect());
    section("Not here", Tone::Fair, missing.iter().flat_map(|tool| absent(tool, widest, style)).collect());
    format!("{}\n", lines.join("\n"))
}

/// How many there are, and what came of trying them.
fn summary(catalogue: &Catalogue) -> String {
    let count = |is: fn(&KnownTool) -> bool| catalogue.tools.iter().filter(|tool| is(tool)).count();
    let (all, usable) = (catalogue.tools.len(), count(|tool| tool.found));
    let tried = count(|tool| tool.check.is_some());
    let here = format!("{usable} of {all} trusted tools can be used here");
    if tried == 0 {
        return format!("{here}; `assay references --check` runs each of them once.");
    }
    let failed = count(|tool| tool.check.as_ref().is_some_and(|check| check.status == CheckOutcome::Failed));
    match failed {
        0 => format!("{here}; all of them ran and were read."),
        failed => format!("{here}; {failed} of them failed when tried."),
    }
}

/// A tool that is there: version and program, what it stands beside, and what came of trying it.
fn found(tool: &KnownTool, widest: usize, style: &Style) -> Vec<String> {
    let path = tool.path.as_deref().unwrap_or_default();
    let first = match (&tool.reason, &tool.version) {
        (Some(reason), _) => format!("{path} cannot be used: {reason}"),
        (None, Some(version)) => format!("{version}, {path}"),
        (None, None) => format!("{path}, which does not say its version"),
    };
    let mut lines = named(tool, &first, widest, style);
    let more = |text: &str| wrap(&style.clean(text), &indent(widest), style.width);
    lines.extend(more(&format!("beside {}", tool.stands_beside)));
    if let Some(check) = &tool.check {
        lines.extend(more(&tried(check)));
    }
    lines
}

/// A tool that is not there, and how to get it.
fn absent(tool: &KnownTool, widest: usize, style: &Style) -> Vec<String> {
    let mut lines = named(tool, &tool.how_to_get, widest, style);
    let beside = format!("beside {}", tool.stands_beside);
    lines.extend(wrap(&style.clean(&beside), &indent(widest), style.width));
    lines
}

/// What came of trying it.
fn tried(check: &ToolCheck) -> String {
    match (check.value, check.unit, &check.reason) {
        (Some(value), Some(unit), _) => {
            format!("tried as if beside {}: {} (brief, no measurement)", check.experiment, quantity(value, unit))
        }
        (_, _, reason) => {
            let why = reason.as_deref().unwrap_or("it says no reason");
            format!("tried as if beside {}: FAILED: {why}", check.experiment)
        }
    }
}

/// The lines of a text beside the tool's name.
fn named(tool: &KnownTool, text: &str, widest: usize, style: &Style) -> Vec<String> {
    let first = format!("{INDENT}{:<widest$}  ", style.clean(&tool.tool));
    wrap(&style.clean(text), &first, style.width)
}

/// What lines below the first begin with.
fn indent(widest: usize) -> String {
    " ".repeat(INDENT.len() + widest + 2)
}
