//! One result as one line, for the live progress.

use model::document::{Row, Status};
use model::machine::Machine;
use model::sample::MetricName;
use model::unit::Unit;

use super::answer::scale;
use super::notes::short_kind;
use super::table::per_cycle;
use crate::layout::{cut, width};
use crate::reason::{NO_REASON, reason_words};
use crate::style::{Style, Tone};
use crate::terminal::row::{confidence_tone, p99};
use model::number::{Notation, digits, percent, quantity, spread};

/// Wide enough for the id of every headline benchmark, so that values are in a column.
const ID_WIDTH: usize = 34;

/// Wide enough for `147.2 GFLOP/s`.
const VALUE_WIDTH: usize = 13;

/// A finished row: `cpu/fma/fp64/avx512/t1   147.2 GFLOP/s ±0.3 %  98.9 % of peak  high`, or why it was not measured; where
/// there is room with the 99th percentile of the latency, or with operations per cycle.
pub fn row_line(row: &Row, style: &Style) -> String {
    let id = padded_id(row, style);
    if row.status != Status::Ok {
        let room = style.width.saturating_sub(width(&id)).max(16);
        let reason = reason_words(row.reason.as_deref().unwrap_or(NO_REASON));
        let text = cut(&style.clean(&format!("{}: {reason}", row.status)), room, style);
        return format!("{id}{}", style.paint(&text, if row.status == Status::Failed { Tone::Bad } else { Tone::Dim }));
    }
    let share = row.metrics.first().and_then(|metric| metric.efficiency);
    let share = share.map(|share| format!("{:>7} of {}", percent(share.value), short_kind(share.of)));
    let tail = p99(row).map(|seconds| format!("p99 {:>8}", quantity(seconds, Unit::Second)));
    let tail = tail.or_else(|| per_cycle(row).map(|ops| format!("{:>5} per cycle", digits(ops))));
    let words = |tail: Option<String>, share: &Option<String>| {
        let parts = [Some(format!("{id}{}", value_words(row, style))), tail, share.clone()];
        format!("{}  ", parts.into_iter().flatten().collect::<Vec<_>>().join("  "))
    };
    let whole = words(tail, &share);
    let (confidence, tone) = row.confidence.map_or(("", Tone::Plain), |own| (own.name(), confidence_tone(own)));
    let fits = width(&whole) + width(confidence) <= style.width;
    let line = if fits { whole } else { words(None, &share) };
    format!("{line}{}", style.paint(confidence, tone)).trim_end().to_owned()
}

/// A row with fewer samples than are wanted: `cpu/fma/fp64/avx512/t1   147.2 GFLOP/s n=3  … so far, 3 of 9 samples`.
pub fn provisional_line(row: &Row, wanted: u32, style: &Style) -> String {
    let id = padded_id(row, style);
    let samples = row.metrics.first().map_or(0, |metric| metric.summary.n);
    let dots = if style.unicode { "… " } else { "" };
    let so_far = format!("{dots}so far, {samples} of {wanted} samples");
    let text = [value_words(row, style), so_far].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>();
    format!("{id}{}", text.join("  "))
}

/// The headline benchmarks of a plan, for a line of each that is finished.
#[derive(Debug)]
pub struct HeadlineLines(Vec<HeadlineLine>);

#[derive(Debug)]
struct HeadlineLine {
    id: String,
    /// Its area, on the first screen.
    title: &'static str,
    words: String,
    metric: MetricName,
}

impl HeadlineLines {
    /// Those among the planned benchmarks.
    pub fn new(planned: &[Row], machine: &Machine) -> Self {
        let mut title = "";
        let all = areas::headlines_of(planned, machine).into_iter().map(|line| {
            title = if line.group.is_empty() { title } else { line.group };
            HeadlineLine { id: line.row.id.clone(), title, words: line.words, metric: line.metric_name }
        });
        Self(all.collect())
    }

    /// Whether the plan has none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The lines of a finished benchmark: `CPU  FP64 multiply-add, 2 threads    116 GFLOP/s  ±0.9%  high`.
    pub fn of(&self, row: &Row, style: &Style) -> Vec<String> {
        let widest = |of: fn(&HeadlineLine) -> &str| self.0.iter().map(|line| width(of(line))).max().unwrap_or(0);
        let (title, what) = (widest(|line| line.title), widest(|line| &line.words));
        let line = |line: &HeadlineLine| {
            let words = format!("{:title$}  {:what$}  ", line.title, style.clean(&line.words));
            let Some(metric) = row.metric(line.metric).filter(|_| row.status == Status::Ok) else {
                let reason = format!("not measured: {}", reason_words(row.reason.as_deref().unwrap_or(NO_REASON)));
                let room = style.width.saturating_sub(width(&words)).max(16);
                return format!("{words}{}", style.paint(&cut(&style.clean(&reason), room, style), Tone::Dim));
            };
            let scale = scale(metric, row.area);
            let value = format!("{} {}", scale.three(metric.summary.median), scale.unit());
            let spread = spread(&metric.summary, style.plus_minus()).replace(" %", "%");
            let (confidence, tone) = row.confidence.map_or(("", Tone::Plain), |own| (own.name(), confidence_tone(own)));
            format!("{words}{value:>VALUE_WIDTH$}  {spread:<6}  {}", style.paint(confidence, tone))
        };
        self.0.iter().filter(|line| line.id == row.id).map(line).collect()
    }
}

fn padded_id(row: &Row, style: &Style) -> String {
    format!("{:<ID_WIDTH$}  ", style.clean(&row.id))
}

fn value_words(row: &Row, style: &Style) -> String {
    let Some(metric) = row.metrics.first() else { return String::new() };
    let value = quantity(metric.summary.median, Notation::of(row.area, metric.unit));
    format!("{value:>VALUE_WIDTH$} {:<7}", spread(&metric.summary, style.plus_minus()))
}
