//! The classic suite's tables of LINPACK: each trial with its size, its layout, its time and its residual, and each size
//! with its mean and its best rate; for each number of threads.

use model::document::{Document, Row, Status};
use model::linpack::{LinpackOp, LinpackParams};
use model::sample::{MetricName, Sample};
use model::warning::Grade;

use areas::linpack::label::params;

/// The name of this table in a row's `Classic`.
const TABLE: &str = "linpack";

/// The scaled residual from which on a solution is none: HPL's.
const THRESHOLD: f64 = 16.0;

/// The tables, by threads, the fewest first.
#[derive(Clone, Debug, PartialEq)]
pub struct LinpackTable {
    /// One for each number of threads.
    pub series: Vec<LinpackSeries>,
}

/// The sizes that were solved on as many threads, the smallest first.
#[derive(Clone, Debug, PartialEq)]
pub struct LinpackSeries {
    /// Threads.
    pub threads: u32,
    /// One for each row.
    pub sizes: Vec<LinpackSize>,
}

/// One size.
#[derive(Clone, Debug, PartialEq)]
pub struct LinpackSize {
    /// Id of the row.
    pub id: String,
    /// Order of the system.
    pub n: u64,
    /// Elements from one column to the next.
    pub lda: u64,
    /// Alignment of the matrix in bytes.
    pub align: u64,
    /// What became of it.
    pub status: Status,
    /// How far it can be trusted.
    pub grade: Option<Grade>,
    /// Each solution; none where none was measured.
    pub trials: Vec<Trial>,
    /// Mean rate of the trials, flop/s.
    pub average: Option<f64>,
    /// Highest rate of a trial, flop/s.
    pub maximal: Option<f64>,
}

/// One solution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// Time of factors and solution, in seconds.
    pub seconds: f64,
    /// Rate, flop/s.
    pub rate: f64,
    /// `||Ax - b||`; `None` where it is not known.
    pub residual: Option<f64>,
    /// The same in multiples of what rounding explains; `None` where it is not known.
    pub scaled: Option<f64>,
    /// Whether the solution is one; `None` where its residual is not known.
    pub passes: Option<bool>,
}

impl LinpackTable {
    /// The tables of these rows; `None` where none belongs to them.
    pub(super) fn of(document: &Document) -> Option<Self> {
        let rows: Vec<(&Row, &LinpackParams)> = document.experiments.iter().filter_map(row_of).collect();
        let mut threads: Vec<u32> = rows.iter().map(|(_, params)| params.threads).collect();
        threads.sort_unstable();
        threads.dedup();
        let series = threads.into_iter().map(|threads| {
            let own = rows.iter().filter(|(_, params)| params.threads == threads);
            let mut sizes: Vec<LinpackSize> = own.map(|(row, params)| size(row, params)).collect();
            sizes.sort_by_key(|size| (size.n, size.lda));
            LinpackSeries { threads, sizes }
        });
        let series: Vec<LinpackSeries> = series.collect();
        (!series.is_empty()).then_some(Self { series })
    }
}

impl LinpackSeries {
    /// The sizes that have a trial.
    pub fn solved(&self) -> impl Iterator<Item = &LinpackSize> {
        self.sizes.iter().filter(|size| !size.trials.is_empty())
    }
}

/// A row of this table.
fn row_of(row: &Row) -> Option<(&Row, &LinpackParams)> {
    let params = params(row)?;
    let of_table = row.classic.as_ref().is_some_and(|classic| classic.table == TABLE);
    (of_table && params.op == LinpackOp::Lu).then_some((row, params))
}

fn size(row: &Row, params: &LinpackParams) -> LinpackSize {
    let samples = |name| row.metric(name).map_or(&[][..], |metric| metric.samples.as_slice());
    let rates: Vec<&Sample> = samples(MetricName::Throughput).iter().filter(|_| row.status == Status::Ok).collect();
    // Samples of one repetition share their beginning.
    let beside = |rate: &Sample, name| {
        let same = |other: &&Sample| other.launch == rate.launch && other.start.to_bits() == rate.start.to_bits();
        samples(name).iter().find(same).map(|sample| sample.value)
    };
    let trial = |rate: &&Sample| {
        let scaled = beside(rate, MetricName::Residual);
        Trial {
            seconds: rate.seconds,
            rate: rate.value,
            residual: beside(rate, MetricName::ResidualRaw),
            scaled,
            passes: scaled.map(|scaled| scaled < THRESHOLD),
        }
    };
    let trials: Vec<Trial> = rates.iter().map(trial).collect();
    let count = trials.len() as f64;
    LinpackSize {
        id: row.id.clone(),
        n: params.n,
        lda: params.lda,
        align: params.align,
        status: row.status,
        grade: row.grade,
        average: (!trials.is_empty()).then(|| trials.iter().map(|trial| trial.rate).sum::<f64>() / count),
        maximal: trials.iter().map(|trial| trial.rate).reduce(f64::max),
        trials,
    }
}
