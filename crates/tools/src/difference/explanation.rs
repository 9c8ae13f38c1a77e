//! Why a tool's value and ours differ, in a sentence.

use model::experiment::Experiment;
use model::sample::MetricName;

use crate::difference::rules::Side;
use crate::output::Reading;
use crate::tool::ReferenceTool;

/// How far apart the two may be before a difference is worth explaining.
const WORTH_EXPLAINING: f64 = 0.05;

/// Why the two differ, by stated rules, or that none of them explains it, and whether chance does, which the caller knows
/// in words of its own; `None` where they are within 5 % of each other.
pub fn explain(
    tool: &dyn ReferenceTool,
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
    let reasons = tool.reasons(version, experiment, reading).into_iter();
    let fitting = reasons.filter(|reason| [side, Side::Either].contains(&reason.rule.makes_it));
    let said: Vec<String> = fitting.map(|reason| reason.says).collect();
    Some(if said.is_empty() {
        let chance = chance.map_or_else(String::new, |words| format!(", and chance suffices: {words}"));
        format!("No stated rule explains it{chance}; equal were {}.", tool.description().equal)
    } else {
        format!("{}.", said.join("; "))
    })
}
