//! What the peaks of a disk need to know of a row, and a figure on its way to becoming one.

use model::experiment::DiskParams;
use model::io::{DiskCache, DiskEngine, DiskOp, DiskPattern, DiskSync};
use model::peak::PeakInput;
use model::unit::format_size;

/// Which way the bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From the device.
    Read,
    /// To the device.
    Write,
}

/// Requests of a row that go one way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) way: Direction,
    /// Whether the row is headed by requests per second. Requests against the order and with gaps count as those in
    /// order: those are the fastest, so their ceiling holds for all.
    pub(crate) random: bool,
    /// Whether each request reaches the device as it is, past the page cache.
    pub(crate) direct: bool,
    /// What the row does as a whole.
    pub(crate) op: DiskOp,
    /// What a write waits for.
    pub(crate) sync: DiskSync,
    /// B.
    pub(crate) block: u64,
    /// Size of the file that requests are spread over, B.
    pub(crate) size: u64,
    /// Requests in flight at once, all threads together.
    pub(crate) in_flight: u64,
}

impl Request {
    /// The requests of a row that go this way; `None` where they do not all reach a device, or where their rate is set
    /// from outside.
    pub(crate) fn of_benchmark(params: &DiskParams, way: Direction) -> Option<Self> {
        let random = params.pattern == DiskPattern::Random;
        let direct = params.direct && params.cache == DiskCache::Bypassed;
        let reaches_device = match (params.op, way) {
            // What was written before may be read.
            (DiskOp::Mixed, _) => direct,
            // The page cache answers what was read before.
            (op, Direction::Read) => direct || (params.cache == DiskCache::Cold && !random && op == DiskOp::Read),
            (_, Direction::Write) => direct || params.sync != DiskSync::None,
        };
        let real = params.engine != DiskEngine::Null && params.block > 0 && params.load_percent.is_none();
        (real && reaches_device).then_some(Self {
            way,
            random,
            direct,
            op: params.op,
            sync: params.sync,
            block: params.block,
            size: params.size,
            in_flight: u64::from(params.depth) * u64::from(params.threads),
        })
    }

    /// Whether a stretch is visited again and again, so that the memory of a drive may hold it.
    pub(crate) fn again(self) -> bool {
        matches!(self.op, DiskOp::Reread | DiskOp::Rewrite)
    }

    /// Whether each write waits until it is on stable storage.
    pub(crate) fn durable(self) -> bool {
        self.sync != DiskSync::None
    }

    #[expect(clippy::cast_precision_loss, reason = "blocks are far below 2^53 B")]
    pub(crate) fn block_bytes(self) -> f64 {
        self.block as f64
    }

    /// A rate in B/s as the row counts.
    pub(crate) fn by_bytes(self, rate: Figure) -> Figure {
        if !self.random {
            return rate;
        }
        let mut inputs = rate.inputs;
        inputs.push(input("block_bytes", self.block_bytes(), "the row's block"));
        let formula = format!("{} / {}", rate.formula, format_size(self.block));
        Figure { value: rate.value / self.block_bytes(), formula, inputs, ..rate }
    }
}

/// What can pass, or be done, at most.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Figure {
    /// B/s or 1/s.
    pub(crate) value: f64,
    pub(crate) formula: String,
    /// Of what, for a reader; may be empty.
    pub(crate) about: String,
    pub(crate) inputs: Vec<PeakInput>,
    /// Whether as much passes the other way at the same time.
    pub(crate) both_ways: bool,
}

impl Figure {
    /// The smaller one; the other where only one is known.
    pub(crate) fn tighter(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(one), Some(other)) => Some(if other.value < one.value { other } else { one }),
            (one, other) => one.or(other),
        }
    }

    /// The formula with what it is of.
    pub(crate) fn told(&self) -> String {
        if self.about.is_empty() { self.formula.clone() } else { format!("{} ({})", self.formula, self.about) }
    }
}

/// A figure in a formula with its source.
pub(crate) fn input(name: &str, value: f64, source: &str) -> PeakInput {
    PeakInput { name: name.to_owned(), value, source: source.to_owned() }
}
