//! One result over equal nodes: its median, its spread, and the limit below which a node stands out.

use crate::observations::{MAD_TO_SIGMA, Observations, is_divisible};
use crate::summary::Better;

/// The fewest equal nodes that show which of them is slow: of three, the median is one of them, and its distance from
/// the nearer of the two others is all that shows the spread.
pub const ENOUGH_NODES: usize = 4;
/// Scales below the median from which on a node stands out: of normal noise one value in 10^9, so that many results of
/// many nodes can be judged.
const SCALES: f64 = 6.0;
/// The least scale as a share of the median, so that a tiny difference between nodes that agree is not a fault.
const LEAST_SCALE: f64 = 0.005;
/// A spread between equals above this share is worth a remark (Intel's MKL benchmark for clusters warns at 2 %).
const WIDE: f64 = 0.02;

/// The class of a result, by how much healthy nodes differ in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// Processor and memory.
    Core,
    /// Disks and the network, which vary more and are shared.
    Device,
}

impl Sort {
    /// The least share below its equals at which a node can be slow, however little they vary, as operators' acceptance
    /// tests have it: MKL's cluster benchmark warns at a spread of 2 %, HPC sites' node checks fail at 5 to 10 %.
    pub fn least_drop(self) -> f64 {
        match self {
            Self::Core => 0.05,
            Self::Device => 0.10,
        }
    }

    /// The expected spread of an area between healthy equals: a fifth of the least drop, so that with it alone the
    /// least drop is five scales, and decides.
    pub(super) fn expected_scale(self) -> f64 {
        self.least_drop() / 5.0
    }
}

/// Why a result has no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TooWide {
    /// Fewer than [`ENOUGH_NODES`] nodes have a value.
    FewNodes,
    /// Six scales exceed the whole median: even a rate of 0 would not stand out.
    Everything,
}

/// A result over equal nodes, in its own unit except where noted.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    /// Nodes with a value.
    pub n: usize,
    /// Their median.
    pub median: f64,
    /// 1.4826 x the median absolute deviation of the ratios to the median, at least 0.5 %, as a share.
    pub scale: f64,
    /// The least value.
    pub least: f64,
    /// The first quartile.
    pub lower_quartile: f64,
    /// The third quartile.
    pub upper_quartile: f64,
    /// The greatest value.
    pub most: f64,
    /// A ratio to the median below this stands out, for rates and costs alike.
    pub limit_ratio: Result<f64, TooWide>,
    better: Better,
}

impl Spread {
    /// A value over the median, inverted for costs: below 1 is worse. `None` for a value that is not a positive number.
    pub fn ratio(&self, value: f64) -> Option<f64> {
        is_divisible(value).then(|| match self.better {
            Better::Higher => value / self.median,
            Better::Lower => self.median / value,
        })
    }

    /// The limit as a value of the result; a worse one stands out.
    pub fn limit(&self) -> Option<f64> {
        let ratio = self.limit_ratio.ok()?;
        Some(match self.better {
            Better::Higher => self.median * ratio,
            Better::Lower => self.median / ratio,
        })
    }

    /// Sets the limit by a scale, which may be wider than its own.
    pub(super) fn set_limit(&mut self, scale: f64, sort: Sort) {
        let limit = (1.0 - SCALES * scale).min(1.0 - sort.least_drop());
        self.limit_ratio = match self.n {
            n if n < ENOUGH_NODES => Err(TooWide::FewNodes),
            _ if limit <= 0.0 => Err(TooWide::Everything),
            _ => Ok(limit),
        };
    }

    /// Whether equals differ more than 2 %, so that the result says little about a single node.
    pub fn is_wide(&self) -> bool {
        self.scale > WIDE
    }
}

/// The spread of a result over nodes; `None` without values, and for a value that is not a positive number.
pub(super) fn spread(values: &[f64], better: Better, sort: Sort) -> Option<Spread> {
    let seen = Observations::new(values).filter(|_| values.iter().all(|value| is_divisible(*value)))?;
    let mut spread = Spread {
        n: seen.n(),
        median: seen.median(),
        scale: LEAST_SCALE,
        least: seen.min(),
        lower_quartile: seen.percentile(25.0)?,
        upper_quartile: seen.percentile(75.0)?,
        most: seen.max(),
        limit_ratio: Err(TooWide::FewNodes),
        better,
    };
    let ratios: Vec<f64> = values.iter().filter_map(|value| spread.ratio(*value)).collect();
    spread.scale = (MAD_TO_SIGMA * Observations::new(&ratios)?.mad()).max(LEAST_SCALE);
    spread.set_limit(spread.scale, sort);
    Some(spread)
}
