//! The small tables of LINPACK: how rate, share of the peak and residual change with N, for each number of threads.

use std::collections::BTreeSet;

use model::document::{Row, Status};
use model::isa::Element;
use model::linpack::{LinpackEngine, LinpackOp};
use model::sample::MetricName;

use super::drawing::{Drawing, MetricColumns, measured_metric};
use crate::grid::groups::grouped;
use crate::layout::{Align, Block, Cell, wrap};
use crate::style::{Style, Tone};
use crate::terminal::notes::Notes;
use crate::terminal::row::headline;
use crate::terminal::sections::Section;
use areas::label::threads;
use areas::linpack::label::{self as linpack, params};
use model::number::percent;

/// From this many orders on, rows that differ in nothing else are a curve.
const LEAST_ORDERS: usize = 2;

type CurveKind = (LinpackOp, LinpackEngine, Element, Option<model::isa::Isa>);

/// The curve that a row may be a point of; `None` for products, which solutions are compared with, and in classic tables.
fn kind(row: &Row) -> Option<CurveKind> {
    let own = params(row).filter(|own| own.op != LinpackOp::Gemm && row.classic.is_none())?;
    Some((own.op, own.engine, own.element, own.isa))
}

pub(crate) fn is_apart(row: &Row, rows: &[&Row]) -> bool {
    let Some(own) = kind(row) else { return false };
    let points = || rows.iter().filter(|other| kind(other) == Some(own));
    let place = |row: &Row| params(row).map(|own| (own.n, own.threads));
    let alone = |row: &Row| points().filter(|other| place(other) == place(row)).count() == 1;
    // Layouts that are compared stand below each other.
    orders(points().copied()).len() >= LEAST_ORDERS && points().all(|row| alone(row))
}

fn orders<'a>(rows: impl Iterator<Item = &'a Row>) -> Vec<u64> {
    rows.filter_map(|row| Some(params(row)?.n)).collect::<BTreeSet<u64>>().into_iter().collect()
}

pub(crate) fn paragraphs(section: &Section<'_>, notes: &Notes<'_>, style: &Style) -> Vec<Vec<String>> {
    let draw = Drawing { notes, style };
    grouped(section.apart.iter().copied(), |row| kind(row)).iter().flat_map(|(_, rows)| draw.solutions(rows)).collect()
}

impl Drawing<'_> {
    /// One curve: all numbers of threads side by side, or one below the other where there is no room.
    fn solutions(&self, rows: &[&Row]) -> Vec<Vec<String>> {
        let Some(own) = rows.first().copied().and_then(params) else { return Vec::new() };
        let counts: BTreeSet<u32> = rows.iter().map(|row| row.params.threads()).collect();
        let counts: Vec<u32> = counts.into_iter().collect();
        let tables = |counts: &[u32]| {
            let lines = self.over_orders(rows, counts)?;
            let single = if let [count] = counts { format!(", {}", threads(*count)) } else { String::new() };
            Some([self.title(&[linpack::curve_title(own), single].concat()), lines].concat())
        };
        let mut paragraphs: Vec<Vec<String>> = match tables(&counts) {
            Some(lines) => vec![lines],
            None => counts.iter().filter_map(|count| tables(&[*count])).collect(),
        };
        if let (LinpackOp::LuMixed, Some(last)) = (own.op, paragraphs.last_mut()) {
            let matrix = if linpack::is_dominant(own) {
                " The matrix is diagonally dominant as in HPL-MxP, so this is not LINPACK."
            } else {
                ""
            };
            let reading = format!(
                "Of peak: share of the multiply-add peak in {}, the type of the factors. Rounds: \
                     refinement steps to the residual of fp64.{matrix}",
                own.element.name().to_uppercase()
            );
            last.extend(wrap(&reading, "  ", self.style.width));
        }
        paragraphs
    }

    /// The table of these numbers of threads; `None` where it is wider than the terminal.
    fn over_orders(&self, rows: &[&Row], counts: &[u32]) -> Option<Vec<String>> {
        let orders = orders(rows.iter().copied());
        let labels: Vec<Cell> = orders.iter().map(|n| Cell::plain(n.to_string()).indented()).collect();
        let of = |count: u32| -> Vec<Option<&Row>> {
            let at = |n: &u64| {
                rows.iter().copied().find(|row| params(row).is_some_and(|own| (own.n, own.threads) == (*n, count)))
            };
            orders.iter().map(at).collect()
        };
        let columns: Vec<(u32, Vec<Option<&Row>>)> = counts.iter().map(|count| (*count, of(*count))).collect();
        self.fitted(|spread, length| {
            let mut blocks = vec![Block::single("N", Align::Right, labels.clone())];
            for (count, rows) in &columns {
                blocks.extend(self.of_threads(*count, rows, spread, counts.len() > 1));
            }
            blocks.extend(columns.last().map(|(_, rows)| self.bars(rows, length)));
            blocks
        })
    }

    fn of_threads(&self, count: u32, rows: &[Option<&Row>], spread: bool, named: bool) -> Vec<Block> {
        let heading = if named { threads(count) } else { String::new() };
        let shown = MetricColumns { heading, rows: rows.to_vec(), metric: MetricName::Throughput, scale: None };
        let column = |heading: &str, text: fn(&Row) -> Option<String>| {
            let cells = rows.iter().map(|row| Cell::plain(row.and_then(text).unwrap_or_default()));
            Block::single(heading, Align::Decimal, cells)
        };
        vec![
            self.block(&shown, spread),
            column("of peak", |row| headline(row)?.efficiency.map(|efficiency| percent(efficiency.value))),
            // As LINPACK prints it.
            column("residual", |row| {
                Some(format!("{:.1e}", measured_metric(row, MetricName::Residual)?.summary.median))
            }),
            column("rounds", |row| {
                let seen = row.conditions.linpack.as_ref().filter(|_| row.status == Status::Ok)?;
                seen.refinements.map(|rounds| format!("{rounds:.0}"))
            }),
        ]
    }

    fn bars(&self, rows: &[Option<&Row>], length: usize) -> Block {
        let rate = |row: Option<&Row>| row.and_then(headline).map(|metric| metric.summary.median);
        let most = rows.iter().copied().filter_map(rate).fold(0.0, f64::max);
        let bar = |row: Option<&Row>| {
            let share = rate(row).filter(|_| most > 0.0).map(|rate| self.style.bar(rate / most, length));
            Cell::new(share.unwrap_or_default(), Tone::Accent)
        };
        Block::single("", Align::Left, rows.iter().copied().map(bar))
    }
}
