//! A LaTeX document for `pdflatex`, `xelatex` or `lualatex`: tables of `booktabs` and `longtable` on landscape pages.
//!
//! The file is ASCII and accented letters of Latin-1; other characters are written by their code, which `pdflatex` shows.

use std::fmt::Write;

use model::document::Document;

use crate::formats::escape::one_line;
use crate::grid::grids;
use crate::grid::groups::tables_by_area;
use crate::terminal::{state, summary};
use areas::chart::grid::{Column, Grid, GridLine};
use areas::label::area_title;

/// Before the body. `\assaychar` is a character beyond Latin-1, by its code.
const PREAMBLE: &str = r##"\documentclass[a4paper,landscape]{article}
\usepackage[margin=15mm]{geometry}
\usepackage{iftex}
\ifPDFTeX
  \usepackage[T1]{fontenc}
  \usepackage[utf8]{inputenc}
  \IfFileExists{lmodern.sty}{\usepackage{lmodern}}{}
  \newcommand{\assaychar}[1]{\texttt{U+#1}}
\else
  \usepackage{fontspec}
  \newcommand{\assaychar}[1]{\char"#1\relax}
\fi
\usepackage{textcomp}
\usepackage{booktabs}
\usepackage{longtable}
\usepackage{array}
\setlength{\parindent}{0pt}
\setlength{\tabcolsep}{3pt}
\setlength{\LTleft}{0pt}
\setlength{\LTright}{0pt plus 1fill}
\emergencystretch=3em
"##;

/// Width of the text in millimetres: A4 on its side less two margins.
const TEXT_WIDTH: f64 = 267.0;

/// Mean width of a character of `\scriptsize`, and room between two columns, in millimetres.
const CHARACTER: f64 = 1.45;
const GAP: f64 = 2.2;

/// A column of words with more characters than this is broken into lines.
const WIDE: usize = 24;

/// A word longer than this may be broken after every this many characters.
const LONG_WORD: usize = 24;

/// The whole document.
pub fn render(document: &Document) -> String {
    let grids = grids(document);
    let mut text = format!("{PREAMBLE}\\begin{{document}}\n\\section*{{Assay: {}}}\n", escaped(&document.run.id));
    let parts: Vec<String> = summary(document).iter().map(|part| escaped(part)).collect();
    let _ = writeln!(text, "\\textbf{{{}}}\n", parts.join(" \\textperiodcentered{} "));
    if let Some(state) = state(document) {
        let _ = writeln!(text, "{}\n", escaped(&state));
    }
    for (area, own, findings) in tables_by_area(document, &grids) {
        let _ = writeln!(text, "\\section*{{{}}}", area_title(area));
        text.extend(own.into_iter().map(table));
        text.push_str(&list(findings.iter().map(|finding| finding.text.as_str())));
    }
    text.extend(grids.iter().filter(|grid| grid.area.is_none()).map(table));
    let argv = escaped(&document.assay.argv.join(" "));
    let _ = writeln!(text, "\\bigskip\nMeasured from {}: \\texttt{{{argv}}}", escaped(&document.run.started));
    text.push_str("\\end{document}\n");
    text
}

/// A table with its title and its notes, to be put into a document that uses `booktabs`, `longtable`, `array` and
/// `textcomp` and defines `\assaychar`, as the preamble of [`render`] does.
pub fn table(grid: &Grid) -> String {
    let specification: Vec<String> = specification(grid);
    let cells = |cells: Vec<String>| format!("{} \\\\\n", cells.join(" & "));
    let heading =
        cells(grid.columns.iter().map(|column| format!("\\textbf{{{}}}", escaped(&column.title()))).collect());
    let mut text = format!(
        "\\subsection*{{{}}}\n{{\\scriptsize\n\\begin{{longtable}}{{@{{}}{}@{{}}}}\n\\toprule\n{heading}\\midrule\n\\endhead\n\
         \\bottomrule\n\\endfoot\n",
        escaped(&grid.title),
        specification.join(""),
    );
    for line in &grid.lines {
        text.push_str(&cells(line.cells.iter().map(|cell| escaped(&cell.text)).collect()));
    }
    text.push_str("\\end{longtable}}\n");
    text.push_str(&list(grid.notes.iter().map(String::as_str)));
    text
}

/// The columns: numbers flush right, short words flush left, long ones in what room is left, shared by their lengths.
fn specification(grid: &Grid) -> Vec<String> {
    let longest = |index: usize, column: &Column| {
        let cell = |line: &GridLine| line.cells[index].text.chars().count();
        grid.lines.iter().map(cell).chain([column.title().chars().count()]).max().unwrap_or(0)
    };
    let longest: Vec<usize> = grid.columns.iter().enumerate().map(|(index, column)| longest(index, column)).collect();
    let is_wide = |index: usize| !grid.columns[index].numeric && longest[index] > WIDE;
    let sum = |wide: bool| -> f64 {
        (0..longest.len()).filter(|index| is_wide(*index) == wide).map(|index| longest[index].min(200) as f64).sum()
    };
    let room = TEXT_WIDTH - sum(false) * CHARACTER - grid.columns.len() as f64 * GAP;
    let wanted = sum(true) * CHARACTER;
    // However little room is left, a column has some.
    let share = (room / wanted).clamp(0.1, 1.0);
    let of = |index: usize| {
        if is_wide(index) {
            let width = longest[index].min(200) as f64 * CHARACTER * share;
            format!(">{{\\raggedright\\arraybackslash}}p{{{width:.0}mm}}")
        } else if grid.columns[index].numeric {
            "r".to_owned()
        } else {
            "l".to_owned()
        }
    };
    (0..longest.len()).map(of).collect()
}

fn list<'a>(items: impl Iterator<Item = &'a str>) -> String {
    // The braces keep a text that begins with a bracket from being an option of the command.
    let items: Vec<String> = items.map(|item| format!("\\item {{}}{}\n", escaped(item))).collect();
    let items = items.concat();
    if items.is_empty() { items } else { format!("\\begin{{itemize}}\n{items}\\end{{itemize}}\n") }
}

/// Text escaped for LaTeX, on one line; a long word may be broken.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for (index, word) in one_line(text).split(' ').enumerate() {
        if index > 0 {
            escaped.push(' ');
        }
        let is_long = word.chars().count() > LONG_WORD;
        for (place, c) in word.chars().enumerate() {
            if is_long && place > 0 && place % LONG_WORD == 0 {
                escaped.push_str("\\allowbreak{}");
            }
            push(&mut escaped, c, is_long);
        }
    }
    escaped
}

fn push(escaped: &mut String, c: char, is_long: bool) {
    match c {
        '\\' => escaped.push_str("\\textbackslash{}"),
        '{' | '}' | '$' | '&' | '#' | '%' | '_' => escaped.extend(['\\', c]),
        '^' => escaped.push_str("\\textasciicircum{}"),
        '~' => escaped.push_str("\\textasciitilde{}"),
        '<' => escaped.push_str("\\textless{}"),
        '>' => escaped.push_str("\\textgreater{}"),
        '|' => escaped.push_str("\\textbar{}"),
        '"' => escaped.push_str("\\textquotedbl{}"),
        '\'' => escaped.push_str("\\textquotesingle{}"),
        '`' => escaped.push_str("\\textasciigrave{}"),
        // Two of them would be a dash; a bracket after a line's end would be the distance to the next.
        '-' => escaped.push_str("-{}"),
        '[' | ']' => escaped.extend(['{', c, '}']),
        '*' => escaped.push_str("{*}"),
        '/' if is_long => escaped.push_str("/\\allowbreak{}"),
        '±' => escaped.push_str("\\textpm{}"),
        '×' => escaped.push_str("\\texttimes{}"),
        'µ' | 'μ' => escaped.push_str("\\textmu{}"),
        '←' => escaped.push_str("\\textleftarrow{}"),
        '→' => escaped.push_str("\\textrightarrow{}"),
        '…' => escaped.push_str("\\ldots{}"),
        '·' => escaped.push_str("\\textperiodcentered{}"),
        '≤' => escaped.push_str("\\ensuremath{\\le}"),
        '≥' => escaped.push_str("\\ensuremath{\\ge}"),
        '²' => escaped.push_str("\\texttwosuperior{}"),
        '°' => escaped.push_str("\\textdegree{}"),
        // The letters of Latin-1; 'times' and 'divided by' are among them.
        'À'..='ÿ' if c != '÷' => escaped.push(c),
        c if c.is_ascii() => escaped.push(c),
        c => {
            let _ = write!(escaped, "\\assaychar{{{:04X}}}", u32::from(c));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_elsewhere_stays_text() {
        assert_eq!(
            escaped("50 % of $x_1 & {y}\\z\n#~^"),
            "50 \\% of \\$x\\_1 \\& \\{y\\}\\textbackslash{}z \\#\\textasciitilde{}\\textasciicircum{}"
        );
        assert_eq!(escaped("é 数 ← [x]"), "é \\assaychar{6570} \\textleftarrow{} {[}x{]}");
        assert_eq!(escaped("a--b\"'`"), "a-{}-{}b\\textquotedbl{}\\textquotesingle{}\\textasciigrave{}");
    }

    #[test]
    fn a_long_word_may_be_broken() {
        let broken = escaped(&"x".repeat(60));
        assert_eq!(broken.matches("\\allowbreak{}").count(), 2, "{broken}");
        assert_eq!(escaped("/a/b"), "/a/b");
    }
}
