//! The requests of a disk benchmark in one direction, and a limit on its way to becoming a peak.

use model::experiment::DiskParams;
use model::io::{DiskCache, DiskEngine, DiskOp, DiskPattern, DiskSync};
use model::peak::PeakInput;
use model::unit::format_size;

use crate::limits::input;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Read,
    Write,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) way: Direction,
    /// Counted in requests per second. Backward and strided requests count as sequential: their limit is the same.
    pub(crate) random: bool,
    /// Each request reaches the device unchanged, past the page cache.
    pub(crate) direct: bool,
    pub(crate) op: DiskOp,
    pub(crate) sync: DiskSync,
    pub(crate) block: u64,
    pub(crate) size: u64,
    pub(crate) in_flight: u64,
}

impl Request {
    /// `None` if the requests do not all reach a device, or if their rate is set.
    pub(crate) fn new(params: &DiskParams, way: Direction) -> Option<Self> {
        let random = params.pattern == DiskPattern::Random;
        let direct = params.direct && params.cache == DiskCache::Bypassed;
        let reaches_device = match (params.op, way) {
            // Data written before may be read.
            (DiskOp::Mixed, _) => direct,
            // The page cache answers repeated reads.
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

    /// Whether a range is accessed repeatedly, so that the drive's memory may hold it.
    pub(crate) fn again(self) -> bool {
        matches!(self.op, DiskOp::Reread | DiskOp::Rewrite)
    }

    pub(crate) fn durable(self) -> bool {
        self.sync != DiskSync::None
    }

    pub(crate) fn block_bytes(self) -> f64 {
        self.block as f64
    }

    /// A limit in B/s as the benchmark counts.
    pub(crate) fn by_bytes(self, rate: Ceiling) -> Ceiling {
        if !self.random {
            return rate;
        }
        let mut inputs = rate.inputs;
        inputs.push(input("block_bytes", self.block_bytes(), "the benchmark's block"));
        let formula = format!("{} / {}", rate.formula, format_size(self.block));
        Ceiling { value: rate.value / self.block_bytes(), formula, inputs, ..rate }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ceiling {
    /// B/s or 1/s.
    pub(crate) value: f64,
    pub(crate) formula: String,
    pub(crate) about: String,
    pub(crate) inputs: Vec<PeakInput>,
    /// The other direction carries as much at the same time.
    pub(crate) both_ways: bool,
}

impl Ceiling {
    pub(crate) fn new(value: f64, formula: String, inputs: Vec<PeakInput>) -> Self {
        Self { value, formula, inputs, ..Self::default() }
    }

    pub(crate) fn tighter(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(one), Some(other)) => Some(if other.value < one.value { other } else { one }),
            (one, other) => one.or(other),
        }
    }

    pub(crate) fn with_subject(&self) -> String {
        if self.about.is_empty() { self.formula.clone() } else { format!("{} ({})", self.formula, self.about) }
    }
}
