//! Why a tool's figure and ours may differ: rules that are stated beforehand, each with the side to which it moves the
//! tool's figure. One that moves it to the other side explains nothing and is not said.

use model::experiment::Experiment;
use model::sample::MetricName;

use super::{Reading, Reference};

/// How far apart the two may be before a difference is worth explaining.
const WORTH_EXPLAINING: f64 = 0.05;

/// One thing that is known to set a tool's figure apart from ours.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its id among the tool's rules.
    pub name: &'static str,
    /// Where it holds; `None` for wherever the tool is run.
    pub when: Option<&'static str>,
    /// To which side it moves the tool's figure.
    pub makes_it: Side,
}

/// A side to which a tool's figure is moved, as its rate is: a longer latency is a slower one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The tool is slower for it.
    Slower,
    /// The tool is faster for it.
    Faster,
    /// It depends on the machine.
    Either,
}

/// A rule that holds here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The rule.
    pub rule: &'static Rule,
    /// What it says, as a part of a sentence that begins with the tool.
    pub says: String,
}

impl Rule {
    /// That it holds, in these words.
    pub(super) fn says(&'static self, words: impl Into<String>) -> Reason {
        Reason { rule: self, says: words.into() }
    }
}

/// What sets streams of a tool apart that leaves its threads to the scheduler.
pub(super) fn roaming(tool: &str) -> String {
    format!("{tool}'s threads run on whichever of the CPUs the scheduler takes, ours stay each on one")
}

/// Why the two differ, by stated rules, or that none of them explains it, and whether chance does, which the caller knows
/// in words of its own; `None` where they are within 5 % of each other.
pub fn explain(
    reference: &dyn Reference,
    version: &str,
    experiment: &Experiment,
    reading: &Reading,
    ours: f64,
    chance: Option<&str>,
) -> Option<String> {
    if (ours / reading.value - 1.0).abs() <= WORTH_EXPLAINING {
        return None;
    }
    let higher = reading.value > ours;
    let side = if higher == (reading.metric == MetricName::Latency) { Side::Slower } else { Side::Faster };
    let reasons = reference.reasons(version, experiment, reading).into_iter();
    let fitting = reasons.filter(|reason| [side, Side::Either].contains(&reason.rule.makes_it));
    let said: Vec<String> = fitting.map(|reason| reason.says).collect();
    Some(if said.is_empty() {
        let chance = chance.map_or_else(String::new, |words| format!(", and chance suffices: {words}"));
        format!("No stated rule explains it{chance}; equal were {}.", reference.about().equal)
    } else {
        format!("{}.", said.join("; "))
    })
}
