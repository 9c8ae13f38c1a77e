//! Statistics of repeated measurements: `&[f64]` in, plain results and warnings out. Depends on nothing.
//!
//! Distribution-free, since timings are skewed, bounded on one side and often bimodal: the centre is the median, the
//! interval is the exact one from order statistics with its actual confidence, and no value is removed.
//!
//! ```
//! let seconds = [1.02, 1.00, 1.01, 0.99, 1.00, 1.03, 1.01, 1.00, 1.02];
//! let summary = stats::summarise(&seconds).expect("finite values");
//! assert_eq!(summary.median, 1.01);
//! let interval = summary.interval.expect("nine repetitions are enough");
//! assert_eq!(interval.bounds, [1.00, 1.02]);
//! assert_eq!(format!("{:.3}", interval.confidence), "0.961");
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::float_cmp, reason = "the values in tests are exact"))]

mod comparison;
mod distributions;
pub mod fleet;
mod levels;
mod observations;
pub mod random;
mod ranks;
mod steady;
mod stop;
mod summary;
#[cfg(test)]
mod tests;
mod undisturbed;

pub use comparison::holm::holm;
pub use comparison::mann_whitney::{MannWhitney, mann_whitney};
pub use comparison::noise::noise_between;
pub use comparison::ratio::{Ratio, RatioVerdict, ratio};
pub use comparison::shift::{Shift, shift_ratio};
pub use comparison::signed_rank::{SignedRank, signed_rank};
pub use comparison::verdict::{ChangeVerdict, LEVEL, NEEDED_FOR_CHANGE, judge_change, needed};
pub use levels::{Level, levels};
pub use observations::{MAD_TO_SIGMA, Observations};
pub use steady::{STEADY_ROUNDS, Steadiness, first_steady, left_steady, steadiness};
pub use stop::{Adaptive, StopReason, StopRule};
pub use summary::components::{Components, components};
pub use summary::grouped::grouped_interval;
pub use summary::interval::{Interval, NEEDED_FOR_INTERVAL, NOMINAL_CONFIDENCE};
pub use summary::modes::Modes;
pub use summary::warning::Warning;
pub use summary::{Better, Summary, summarise, summarise_grouped};
pub use undisturbed::{Undisturbed, of_slices, undisturbed};
