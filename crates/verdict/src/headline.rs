//! The headline benchmarks of an area. They are fixed: the same in every run of a suite on every machine, whatever came
//! of them.

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
    /// Its lines, in order: each is the first of these that the plan has.
    pub headlines: &'static [&'static [Headline]],
    /// What to do where no expectation is known.
    pub unknown: &'static str,
    /// What these benchmarks are instead of an answer, and why: `Loopback`.
    pub no_answer: fn(&[&Row]) -> Option<[&'static str; 2]>,
}

impl AnswerRules {
    /// No lines.
    pub const DEFAULT: Self =
        Self { title: "", headlines: &[], unknown: "assay info lists what is known", no_answer: |_| None };
}

/// Reasons for which a benchmark that this machine can run was not reached.
const NOT_REACHED: [&str; 4] = ["not reached", "time_budget", "write_budget", "interrupted"];

/// The benchmark of each line among those of its area, on a machine with this many CPUs; `None` where none was planned. A
/// clock alone does not say how fast a machine is, so it has no line either.
pub fn planned<'a>(
    lines: &'static [&'static [Headline]],
    rows: &[&'a Row],
    cpus: u32,
) -> Vec<Option<(&'static Headline, &'a Row)>> {
    let of_line = |line: &&'static [Headline]| {
        let headlines: &'static [Headline] = line;
        headlines.iter().find_map(|headline| Some((headline, headline.row(rows, cpus)?)))
    };
    let found: Vec<_> = lines.iter().map(of_line).collect();
    let says = found.iter().flatten().any(|(headline, _)| headline.metric != MetricName::Clock);
    if says { found } else { vec![None; lines.len()] }
}

impl Headline {
    /// The benchmark that fits best. Threads with a CPU each come first, then what this machine can run.
    fn row<'a>(&self, rows: &[&'a Row], cpus: u32) -> Option<&'a Row> {
        let is_possible = |row: &Row| {
            row.status != Status::Skipped || row.reason.as_deref().is_none_or(|reason| NOT_REACHED.contains(&reason))
        };
        let ranked = rows.iter().filter_map(|row| {
            let rank = (self.rank)(row)?;
            Some(((row.params.threads() <= cpus, is_possible(row), rank), *row))
        });
        ranked.max_by_key(|(rank, _)| *rank).map(|(_, row)| row)
    }

    /// The metric that is shown of a measured benchmark.
    pub fn metric<'a>(&self, row: &'a Row) -> Option<&'a Metric> {
        row.metric(self.metric).filter(|_| row.status == Status::Ok)
    }

    /// The line's text: `FP64 FMA, 2 threads`.
    pub fn words(&self, row: &Row) -> String {
        let detail = (self.detail)(row);
        if detail.is_empty() { self.title.to_owned() } else { format!("{}, {detail}", self.title) }
    }
}
