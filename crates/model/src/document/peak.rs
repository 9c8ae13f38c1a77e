//! What a machine could do at best: a value, the formula behind it and where each input came from.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words::words;

words! {
    /// What a peak rests on.
    PeakKind, "kind of peak", {
        /// Work per cycle times the clock measured during the work.
        Sustained => "sustained",
        /// Work per cycle times the highest single-core clock.
        Boost => "boost",
        /// Work per cycle times the guaranteed clock.
        Base => "base",
        /// Values declared by the owner.
        Declared => "declared",
        /// Data sheets of the parts found in the machine.
        Datasheet => "datasheet",
        /// The speed of a network link.
        Link => "link",
        /// A limit set by the system, such as a throttle.
        Limit => "limit",
        /// What this family of machines can have at most; not what is fitted here.
        PlatformMaximum => "platform_maximum",
        /// The best another measurement on this machine reached.
        MeasuredCeiling => "measured_ceiling",
        /// Work per cycle rounded from a measurement, times the measured clock: circular, so a share near 1 is no evidence about the hardware.
        Inferred => "inferred",
    }
}

impl PeakKind {
    /// The kinds that carry an efficiency: the tightest wins. The others are only shown.
    pub const fn carries_efficiency(self) -> bool {
        matches!(self, Self::Sustained | Self::Inferred | Self::Declared | Self::Datasheet | Self::Limit | Self::Link)
    }
}

/// A theoretical peak, in the unit of its metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Peak {
    /// What it rests on.
    pub kind: PeakKind,
    /// The value, in the metric's unit.
    pub value: f64,
    /// How it was worked out, for a reader: `2 cores x 3.80 GHz x 32 flop/cycle`.
    pub formula: String,
    /// Each input of the formula, in base units, with its source.
    pub inputs: Vec<PeakInput>,
    /// Relative uncertainty (0.01 is 1 %), from the clock's interval; `None` where it is not known.
    pub uncertainty: Option<f64>,
}

/// One input of a peak's formula.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct PeakInput {
    /// What it is: `flop/cycle`, `clock_hz`, `cores`, `channels`.
    pub name: String,
    /// The value, in base units.
    pub value: f64,
    /// Where it comes from.
    pub source: String,
}

/// How much of a peak was reached, 1 being all of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Efficiency {
    /// The ratio.
    pub value: f64,
    /// The peak it is against.
    pub of: PeakKind,
}

/// A peak as `assay info --json` lists it, with its benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct InfoPeak {
    /// `cpu`, `memory`, …
    pub area: String,
    /// The experiment's id without its threads.
    pub what: String,
    /// How many threads the peak is for.
    pub threads: u32,
    /// What it rests on.
    pub kind: PeakKind,
    /// The value, in `unit`.
    pub value: f64,
    /// `flop/s`, `op/s`, `B/s`, `1/s` or `s`.
    pub unit: String,
    /// How it was worked out.
    pub formula: String,
    /// Each input of the formula with its source.
    pub inputs: Vec<PeakInput>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_only_kinds_carry_no_efficiency() {
        let shown: Vec<_> = PeakKind::ALL.iter().filter(|kind| !kind.carries_efficiency()).map(|k| k.name()).collect();
        assert_eq!(shown, ["boost", "base", "platform_maximum", "measured_ceiling"]);
    }
}
