//! Markdown with GitHub's tables: for each area its tables and findings, then the warnings.
//!
//! In a classic run the classic tables come first, and the other tables are folded.

use std::fmt::Write;

use model::document::{Document, Finding};
use model::experiment::Area;

use crate::formats::escape::one_line;
use crate::grid::grids;
use crate::grid::groups::tables_by_area;
use crate::terminal::{state, summary};
use areas::AnswerLine;
use areas::chart::grid::{Column, Grid};
use areas::label::area_title;

const FEW: usize = 3;

/// The whole run, ending in a newline.
pub fn render(document: &Document) -> String {
    let grids = grids(document);
    let head: Vec<String> = summary(document).iter().map(|part| escaped(part)).collect();
    let mut parts = vec![format!("# Assay: {}", escaped(&document.run.id)), format!("**{}**", head.join(" · "))];
    parts.extend(state(document).map(|text| escaped(&text)));
    let answers: Vec<String> = areas::answer_lines(document).iter().map(answer).collect();
    parts.extend((!answers.is_empty()).then(|| answers.join("\n")));
    parts.extend(tables_by_area(document, &grids).map(|(area, grids, findings)| section(area, &grids, &findings)));
    let others = grids.iter().filter(|grid| grid.area.is_none());
    parts.extend(others.map(|grid| format!("## {}\n\n{}", escaped(&grid.title), body(grid))));
    let git = document.assay.git.as_ref().map_or_else(String::new, |git| format!(" ({})", escaped(git)));
    let [started, version] = [&document.run.started, &document.assay.version].map(|text| escaped(text));
    let command = code(&document.assay.argv.join(" "));
    parts.push(format!("<sub>Measured from {started} by Assay {version}{git}: {command}</sub>"));
    format!("{}\n", parts.join("\n\n"))
}

fn answer(line: &AnswerLine) -> String {
    format!("- **{}**: {}", line.title, escaped(&line.text))
}

/// A table with its title and its notes, ending in a newline.
pub fn table(grid: &Grid) -> String {
    format!("### {}\n\n{}\n", escaped(&grid.title), body(grid))
}

fn section(area: Area, grids: &[&Grid], findings: &[&Finding]) -> String {
    let is_classic = |grid: &Grid| grid.name.starts_with("classic-");
    let has_classic = grids.iter().any(|grid| is_classic(grid));
    let (first, rest): (Vec<&Grid>, Vec<&Grid>) = grids.iter().partition(|grid| is_classic(grid) || !has_classic);
    let mut parts = vec![format!("## {}", area_title(area))];
    parts.extend(first.into_iter().map(|grid| table(grid).trim_end().to_owned()));
    parts.extend(rest.into_iter().map(|grid| folded(&escaped(&grid.title), &body(grid))));
    if !findings.is_empty() {
        let words = |finding: &&Finding| {
            let named: Vec<String> = finding.evidence.iter().take(FEW).map(|id| code(id)).collect();
            let more = finding.evidence.len().saturating_sub(FEW);
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            let from = if named.is_empty() { String::new() } else { format!(" from {}{more}", named.join(", ")) };
            format!("- {} <sub>{}{from}</sub>", escaped(&finding.text), code(&finding.code))
        };
        let findings: Vec<String> = findings.iter().map(words).collect();
        parts.push(format!("### {}: findings\n\n{}", area_title(area), findings.join("\n")));
    }
    parts.join("\n\n")
}

fn body(grid: &Grid) -> String {
    let mut text = String::new();
    let heading: Vec<String> = grid.columns.iter().map(|column| escaped(&column.title())).collect();
    let rule = |column: &Column| if column.numeric { "--:" } else { "---" };
    let _ = writeln!(text, "| {} |", heading.join(" | "));
    let _ = writeln!(text, "|{}|", grid.columns.iter().map(rule).collect::<Vec<_>>().join("|"));
    for line in &grid.lines {
        let cells: Vec<String> = line.cells.iter().map(|cell| escaped(&cell.text)).collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    if !grid.notes.is_empty() {
        let notes: Vec<String> = grid.notes.iter().map(|note| format!("- {}", escaped(note))).collect();
        let _ = write!(text, "\n{}", notes.join("\n"));
    }
    text.trim_end().to_owned()
}

/// A body that opens with a click on its title.
pub(crate) fn folded(title: &str, body: &str) -> String {
    format!("<details><summary>{title}</summary>\n\n{body}\n\n</details>")
}

pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in one_line(text).chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' | '~' | '#' | '$' => escaped.extend(['\\', c]),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Text as code, without backticks, and with bars escaped for a cell.
pub(crate) fn code(text: &str) -> String {
    let text: String = one_line(text).chars().filter(|c| *c != '`').collect();
    if text.is_empty() {
        return text;
    }
    format!("`{}`", text.replace('|', "\\|"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_elsewhere_stays_text() {
        assert_eq!(escaped("a|b <c>\n*d* $e$"), "a\\|b &lt;c&gt; \\*d\\* \\$e\\$");
        assert_eq!(code("a|b`c\n"), "`a\\|bc`");
        assert_eq!(code("``"), "", "two ticks would begin a text of code");
    }
}
