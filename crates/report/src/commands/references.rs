//! `assay references`: the tools that are here and what each is compared with, then the others and how to get them.

use model::reference::{Catalogue, CheckOutcome, KnownTool, ToolCheck};

use super::doctor::program_words;
use super::{INDENT, named, with_sections};
use crate::layout::{width, wrap};
use crate::style::{Style, Tone};
use model::number::quantity;

/// The list as text, ending in a newline.
pub fn text(catalogue: &Catalogue, style: &Style) -> String {
    let widest = catalogue.tools.iter().map(|tool| width(&tool.tool)).max().unwrap_or(0);
    let (here, missing): (Vec<_>, Vec<_>) = catalogue.tools.iter().partition(|tool| tool.path.is_some());
    let lines = |tools: Vec<&KnownTool>| tools.into_iter().flat_map(|tool| tool_lines(tool, widest, style)).collect();
    let sections = [("Here", Tone::Good, lines(here)), ("Not here", Tone::Fair, lines(missing))];
    with_sections(vec![style.paint(&summary(catalogue), Tone::Strong)], sections, style)
}

fn summary(catalogue: &Catalogue) -> String {
    let count = |is: fn(&KnownTool) -> bool| catalogue.tools.iter().filter(|tool| is(tool)).count();
    let (all, usable) = (catalogue.tools.len(), count(|tool| tool.found));
    let tried = count(|tool| tool.check.is_some());
    let here = format!("{usable} of {all} reference tools can be used here");
    if tried == 0 {
        return format!("{here}; assay references --check runs each once.");
    }
    let failed = count(|tool| tool.check.as_ref().is_some_and(|check| check.status == CheckOutcome::Failed));
    match failed {
        0 => format!("{here}; all ran, and their output was read."),
        failed => format!("{here}; {failed} failed when tried."),
    }
}

fn tool_lines(tool: &KnownTool, widest: usize, style: &Style) -> Vec<String> {
    let first = match &tool.path {
        Some(path) => program_words(path, tool.reason.as_deref(), tool.version.as_deref()),
        None => tool.how_to_get.clone(),
    };
    let indent = " ".repeat(INDENT.len() + widest + 2);
    let more = |text: &str| wrap(&style.clean(text), &indent, style.width);
    let mut lines = named(&tool.tool, &first, widest, style);
    lines.extend(more(&format!("compared with {}", tool.compared_with)));
    lines.extend(tool.check.iter().filter(|_| tool.path.is_some()).flat_map(|check| more(&tried(check))));
    lines
}

fn tried(check: &ToolCheck) -> String {
    let came = match check.value.zip(check.unit) {
        Some((value, unit)) => format!("{} (short run, not a measurement)", quantity(value, unit)),
        None => format!("FAILED: {}", check.reason.as_deref().unwrap_or("no reason given")),
    };
    format!("tried for {}: {came}", check.experiment)
}
