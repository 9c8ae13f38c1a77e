//! The mathematics of repeated measurements: `&[f64]` in, plain results with their warnings out.
//!
//! Distribution-free throughout, since timings are skewed, bounded on one side and often of two modes: the centre is
//! the median, the interval is the exact one from order statistics with the confidence that it really has, and nothing
//! is ever removed. Randomness ([`random`]) is seeded, so that an order can be repeated.
//!
//! Not here: units, clocks, files, what is good or bad about a figure, and how it is shown. The crate depends on
//! nothing.
//!
//! ```
//! let seconds = [1.02, 1.00, 1.01, 0.99, 1.00, 1.03, 1.01, 1.00, 1.02];
//! let summary = stats::summarise(&seconds)?;
//! assert_eq!(summary.median, 1.01);
//! let interval = summary.interval.expect("nine repetitions are enough");
//! assert_eq!(interval.bounds(), [1.00, 1.02]);
//! assert_eq!(format!("{:.3}", interval.confidence), "0.961");
//! # Ok::<(), stats::Unusable>(())
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::float_cmp, reason = "the values in tests are exact"))]

mod autocorrelation;
mod components;
mod distributions;
pub mod fleet;
mod grouped;
mod holm;
mod interval;
mod levels;
mod mann_whitney;
mod modes;
mod noise;
mod observations;
pub mod random;
mod ranks;
mod ratio;
#[cfg(test)]
mod scipy;
mod shift;
mod signed_rank;
mod spread;
mod steady;
mod stop;
mod summary;
mod trend;
mod verdict;
mod warning;

pub use autocorrelation::{Autocorrelation, autocorrelation};
pub use components::{Components, components};
pub use grouped::grouped_interval;
pub use holm::holm;
pub use interval::{Interval, NEEDED_FOR_INTERVAL, NOMINAL_CONFIDENCE, Ranks, Units, intervals_overlap, median_ranks};
pub use levels::{Level, NoCurve, levels};
pub use mann_whitney::{MannWhitney, mann_whitney};
pub use modes::{Modes, modes};
pub use noise::noise_between;
pub use observations::{MAD_TO_SIGMA, Observations, Unusable};
pub use ratio::{AT_LEAST_POINT, AT_LEAST_WORSE_BOUND, BELOW_BETTER_BOUND, Ratio, RatioVerdict, ratio};
pub use shift::{Shift, shift_ratio};
pub use signed_rank::{SignedRank, signed_rank};
pub use spread::{NOT_ABOVE_UPPER_BOUND, SpreadRatio, SpreadVerdict, spread_ratio};
pub use steady::{STEADY_ROUNDS, Steadiness, first_steady, left_steady, steadiness};
pub use stop::{Adaptive, StopReason, StopRule, UnusableRule};
pub use summary::{Better, Summary, summarise, summarise_grouped};
pub use trend::{Trend, mann_kendall};
pub use verdict::{ChangeVerdict, LEVEL, NEEDED_FOR_CHANGE, judge_change, needed};
pub use warning::Warning;
