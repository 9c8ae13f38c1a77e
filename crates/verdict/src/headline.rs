//! The headline benchmarks of an area. They are fixed: the same in every run on every machine, whatever came of them.

use model::document::{Row, Status};
use model::sample::{Metric, MetricName};

/// One line of the first screen.
#[derive(Clone, Copy, Debug)]
pub struct Headline {
    /// What is measured, in few letters: `FP64 FMA`.
    pub title: &'static str,
    /// The metric that is shown.
    pub metric: MetricName,
    /// How well a planned benchmark fits, by its parameters alone: the best is shown; `None` where it is another one.
    pub rank: fn(&Row) -> Option<i64>,
    /// What a benchmark adds to the title: `2 threads`.
    pub detail: fn(&Row) -> String,
}

/// What the first screen says of an area.
#[derive(Clone, Copy, Debug)]
pub struct AnswerRules {
    /// The area's name there.
    pub title: &'static str,
    /// Its lines, in order.
    pub headlines: &'static [Headline],
    /// What to do where no expectation is known.
    pub unknown: &'static str,
    /// What these benchmarks are instead of an answer, and why: `Loopback`.
    pub no_answer: fn(&[&Row]) -> Option<[&'static str; 2]>,
}

impl AnswerRules {
    /// No lines.
    pub const DEFAULT: Self = Self { title: "", headlines: &[], unknown: "no expectation known", no_answer: |_| None };
}

impl Headline {
    /// The benchmark of this line among those of its area; `None` where none was planned.
    pub fn row<'a>(&self, rows: &[&'a Row]) -> Option<&'a Row> {
        let ranked = rows.iter().filter_map(|row| Some(((self.rank)(row)?, *row)));
        ranked.max_by_key(|(rank, _)| *rank).map(|(_, row)| row)
    }

    /// The metric that is shown of a measured benchmark.
    pub fn metric<'a>(&self, row: &'a Row) -> Option<&'a Metric> {
        row.metric(self.metric).filter(|_| row.status == Status::Ok)
    }

    /// The line's text: `FP64 FMA, 2 threads`.
    pub fn words(&self, row: Option<&Row>) -> String {
        match row.map(self.detail).filter(|detail| !detail.is_empty()) {
            Some(detail) => format!("{}, {detail}", self.title),
            None => self.title.to_owned(),
        }
    }
}
