//! One figure over equal nodes: its middle, how far they differ, and from where on one stands out.

use crate::observations::{MAD_TO_SIGMA, Observations, Unusable, is_divisible};
use crate::summary::Better;

use super::sort::{ENOUGH_NODES, Sort};

/// Below the median by so many scales stands out: of normal noise one value in 10^9, so that many figures of many nodes
/// can be looked at (issue 12: median - 6 MAD).
const SCALES: f64 = 6.0;
/// The least scale as a share of the median: nodes that agree to a hair are not to make a hair's difference a fault.
const LEAST_SCALE: f64 = 0.005;
/// A spread between equals above this share is worth a word (Intel's MKL benchmark for clusters warns at 2 %).
const WIDE: f64 = 0.02;

/// Why a figure has no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TooWide {
    /// Fewer than [`ENOUGH_NODES`] nodes have a value.
    FewNodes,
    /// Six scales are the whole figure: even a node that stands still would not stand out.
    Everything,
}

/// A figure over equal nodes, in the figure's unit where nothing else is said.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    /// Nodes with a value.
    pub n: usize,
    /// Their median.
    pub median: f64,
    /// 1.4826 x the median absolute deviation of the ratios to the median, at least 0.5 %: a share.
    pub scale: f64,
    /// The least value.
    pub least: f64,
    /// The first quartile.
    pub lower_quartile: f64,
    /// The third quartile.
    pub upper_quartile: f64,
    /// The greatest value.
    pub most: f64,
    /// A ratio to the median below this stands out, whichever way the figure counts.
    pub limit_ratio: Result<f64, TooWide>,
    better: Better,
}

impl Spread {
    /// A value over the median, turned round where less is better: below 1 is worse. `None` for what is no positive
    /// number.
    #[must_use]
    pub fn ratio(&self, value: f64) -> Option<f64> {
        is_divisible(value).then(|| match self.better {
            Better::Higher => value / self.median,
            Better::Lower => self.median / value,
        })
    }

    /// The limit as a value of the figure; a worse one stands out.
    #[must_use]
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

    /// Whether equals differ so much that the figure says little of a single node.
    #[must_use]
    pub fn is_wide(&self) -> bool {
        self.scale > WIDE
    }
}

/// How a figure is spread over nodes.
///
/// # Errors
/// There is no value, or one that is no positive number.
pub fn spread(values: &[f64], better: Better, sort: Sort) -> Result<Spread, Unusable> {
    let seen = Observations::new(values)?;
    if let Some(index) = values.iter().position(|value| !is_divisible(*value)) {
        return Err(Unusable::NotPositive { index });
    }
    let [lower_quartile, upper_quartile] =
        [25.0, 75.0].map(|percent| seen.percentile(percent).unwrap_or(seen.median()));
    let mut spread = Spread {
        n: seen.n(),
        median: seen.median(),
        scale: LEAST_SCALE,
        least: seen.min(),
        lower_quartile,
        upper_quartile,
        most: seen.max(),
        limit_ratio: Err(TooWide::FewNodes),
        better,
    };
    let ratios: Vec<f64> = values.iter().filter_map(|value| spread.ratio(*value)).collect();
    spread.scale = (MAD_TO_SIGMA * Observations::new(&ratios)?.mad()).max(LEAST_SCALE);
    spread.set_limit(spread.scale, sort);
    Ok(spread)
}
