//! The classic tables of LINPACK in a terminal: for each number of threads the trials, then the sizes.

use model::document::Status;

use super::Marks;
use super::linpack::{LinpackSeries, LinpackSize, LinpackTable, Trial};
use super::text::{known, rate, seconds};
use crate::label::threads;
use crate::layout::{Align, Block, Cell, Column, table, table_width, wrap};
use crate::style::{Style, Tone};

pub(super) const READING: &str = "Time: of factors and solution, without making the matrix and checking. GFlops: (2/3 N^3 + 3/2 N^2) \
                       over the time. Residual: ||Ax - b||; (norm): over eps (||A|| ||x|| + ||b||) N; pass: less than 16.";

/// The tables with what must be known to read them.
pub(super) fn paragraphs(table: &LinpackTable, marks: Marks<'_>, style: &Style) -> Vec<Vec<String>> {
    let mut paragraphs: Vec<Vec<String>> = Vec::new();
    for series in &table.series {
        paragraphs.extend(trials(series, marks, style));
        paragraphs.extend(summary(series, style));
        paragraphs.extend(missing_lines(series, style));
    }
    if paragraphs.is_empty() {
        return paragraphs;
    }
    paragraphs.push(wrap(READING, "  ", style.width));
    paragraphs
}

fn titled(text: &str, lines: Vec<String>, style: &Style) -> Vec<String> {
    let title = wrap(text, "", style.width);
    title.iter().map(|line| style.paint(line, Tone::Strong)).chain(lines).collect()
}

/// The blocks with the wider gap that fits.
fn set(blocks: &[Block], style: &Style) -> Vec<String> {
    let gap = if table_width(blocks, 2) <= style.width { 2 } else { 1 };
    table(blocks, gap, style)
}

fn right(heading: &str, cells: impl Iterator<Item = Cell>) -> Block {
    Block::new(heading, Align::Right, vec![Column::new(Align::Right, cells)])
}

fn left(heading: &str, cells: impl Iterator<Item = Cell>) -> Block {
    Block::new(heading, Align::Left, vec![Column::new(Align::Left, cells)])
}

/// Size, leading dimension and alignment.
fn layout<'a>(sizes: impl Iterator<Item = &'a LinpackSize> + Clone) -> [Block; 3] {
    [
        right("Size", sizes.clone().map(|size| Cell::plain(size.n.to_string()).indented())),
        right("LDA", sizes.clone().map(|size| Cell::plain(size.lda.to_string()))),
        right("Align", sizes.map(|size| Cell::plain((size.align >> 10).to_string()))),
    ]
}

/// A line for each trial.
fn trials(series: &LinpackSeries, marks: Marks<'_>, style: &Style) -> Option<Vec<String>> {
    series.solved().next()?;
    let each = || series.solved().flat_map(|size| size.trials.iter().enumerate().map(move |trial| (size, trial)));
    let of = |cell: fn(&Trial) -> Cell| each().map(move |(_, (_, trial))| cell(trial));
    let mut blocks: Vec<Block> = layout(each().map(|(size, _)| size).collect::<Vec<_>>().into_iter()).into();
    blocks.extend([
        right("Time", of(|trial| Cell::plain(seconds(trial.seconds)))),
        right("GFlops", of(|trial| rate(Some(trial.rate)))),
        right("Residual", of(|trial| known(trial.residual.map(scientific)))),
        right("Residual(norm)", of(|trial| known(trial.scaled.map(scientific)))),
        left("Check", of(|trial| known(trial.passes.map(check)))),
        left(
            "",
            each().map(|(size, (index, _))| match marks(&size.id).filter(|_| index == 0) {
                Some((text, tone)) => Cell::new(text, tone),
                None => Cell::default(),
            }),
        ),
    ]);
    let title = format!("The classic LINPACK table, {} (Align in KiB)", threads(series.threads));
    Some(titled(&title, set(&blocks, style), style))
}

pub(super) fn check(passes: bool) -> String {
    if passes { "pass" } else { "fail" }.to_owned()
}

/// A line for each size.
fn summary(series: &LinpackSeries, style: &Style) -> Option<Vec<String>> {
    series.solved().next()?;
    let sizes: Vec<&LinpackSize> = series.solved().collect();
    let mut blocks: Vec<Block> = layout(sizes.iter().copied()).into();
    blocks.push(right("Average", sizes.iter().map(|size| rate(size.average))));
    blocks.push(right("Maximal", sizes.iter().map(|size| rate(size.maximal))));
    let title = format!("LINPACK performance, {} (GFlops)", threads(series.threads));
    Some(titled(&title, set(&blocks, style), style))
}

/// The sizes without a trial that this became of; `None` where there are none.
pub(super) fn missing(series: &LinpackSeries, status: Status) -> Option<String> {
    let without = series.sizes.iter().filter(|size| size.trials.is_empty() && size.status == status);
    let sizes: Vec<String> = without.map(|size| size.n.to_string()).collect();
    (!sizes.is_empty()).then(|| format!("{} on {}: N = {}.", words(status), threads(series.threads), sizes.join(", ")))
}

/// All sizes without a trial, by what became of them.
fn missing_lines(series: &LinpackSeries, style: &Style) -> Option<Vec<String>> {
    let notes = [Status::Failed, Status::Skipped].into_iter().filter_map(|status| missing(series, status));
    let lines: Vec<String> = notes.flat_map(|note| wrap(&note, "  ", style.width)).collect();
    (!lines.is_empty()).then_some(lines)
}

const fn words(status: Status) -> &'static str {
    match status {
        Status::Failed => "Failed",
        _ => "Not measured",
    }
}

/// A residual as LINPACK prints it: `1.857e-12`.
pub(super) fn scientific(value: f64) -> String {
    format!("{value:.3e}")
}
