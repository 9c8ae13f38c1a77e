//! Comparisons of two series of measurements: tests of difference, ratios, and verdicts.

pub(crate) mod holm;
pub(crate) mod mann_whitney;
pub(crate) mod noise;
pub(crate) mod ratio;
pub(crate) mod shift;
pub(crate) mod signed_rank;
pub(crate) mod verdict;
