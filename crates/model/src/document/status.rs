//! What became of a benchmark, and what ended its sampling.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Serialize;

use crate::words::words;

words! {
    /// What became of a planned experiment.
    #[derive(Default)]
    Status, "status", {
        /// Measured and verified.
        #[default]
        Ok => "ok",
        /// Tried, and something went wrong; the reason says what.
        Failed => "failed",
        /// Not measured; the reason says why.
        Skipped => "skipped",
    }

    /// What ended the sampling of a row.
    Stop, "stop", {
        /// The number of repetitions was fixed beforehand.
        Planned => "planned",
        /// The interval was narrow enough.
        Narrow => "narrow",
        /// The most repetitions that the rule allows were made.
        Most => "most",
        /// The time budget was spent.
        Time => "time",
        /// The last five rounds were steady.
        Steady => "steady",
        /// The most rounds that were allowed had no steady state.
        NotSteady => "not_steady",
    }
}
