//! Texts about nodes and metrics that all formats share.

use std::collections::HashMap;

use model::cluster::{ClusterDocument, Distribution, NodeState, NodeValue, PairValue, Problem, Standing};
use model::experiment::Area;
use model::unit::{Better, Unit};

use crate::formats::escape::one_line;
pub(super) use crate::html::text::some_of;
use crate::html::text::{capital, moment};
use areas::label::area_title;
use model::number::{Notation, counted, percent};

const OF_AREA: &str = "area:";
/// The cell of a limit, or of the share of one, that is unknown.
pub(super) const UNKNOWN: &str = "unknown";

/// A metric as text, from its id: `fma fp64 avx512, 2 threads`, with its name if that is not `throughput`.
pub(super) fn metric_name(experiment: &str, metric: &str) -> String {
    if let Some(area) = experiment.strip_prefix(OF_AREA) {
        return format!("all metrics of {}", one_line(area));
    }
    let experiment = one_line(experiment);
    let parts: Vec<&str> = experiment.split('/').collect();
    // The area is in the heading.
    let parts = if parts.len() > 1 { &parts[1..] } else { &parts[..] };
    let (counts, plain): (Vec<&str>, Vec<&str>) = parts.iter().copied().partition(|part| count(part).is_some());
    let metric = if metric == "throughput" { String::new() } else { one_line(metric) };
    let counts = counts.into_iter().filter_map(count);
    let words = [plain.join(" ")].into_iter().chain(counts).chain([metric]);
    words.filter(|words| !words.is_empty()).collect::<Vec<_>>().join(", ")
}

/// A count in an id as text: `t2`, `d32`.
fn count(part: &str) -> Option<String> {
    let number = |digits: &str| digits.parse::<u64>().ok().filter(|_| digits.bytes().all(|b| b.is_ascii_digit()));
    match (part.strip_prefix('t').and_then(number), part.strip_prefix('d').and_then(number)) {
        (Some(threads), _) => Some(counted(threads, "thread")),
        (_, Some(depth)) => Some(format!("depth {depth}")),
        _ => None,
    }
}

/// When the nodes were measured: `measured 20 November 2026, 12:00 to 13:10 UTC`; without results when they were planned.
pub(super) fn measured_from(document: &ClusterDocument) -> String {
    let plan = &document.plan;
    match plan.first.as_ref().zip(plan.last.as_ref()) {
        None => format!("planned {}", moment(&plan.created)),
        Some((first, last)) if first == last => format!("measured {}", moment(first)),
        Some((first, last)) => {
            let (first, last) = (moment(first), moment(last));
            match (first.split_once(", "), last.split_once(", ")) {
                (Some((day, from)), Some((same, to))) if day == same => {
                    format!("measured {day}, {} to {to}", from.trim_end_matches(" UTC"))
                }
                _ => format!("measured {first} to {last}"),
            }
        }
    }
}

/// A problem with some of its nodes: `The disk was not measured. (n6)`.
pub(super) fn with_nodes(of: &Problem, most: usize) -> String {
    let nodes = if of.nodes.is_empty() { String::new() } else { format!(" ({})", some_of(&of.nodes, most)) };
    one_line(&of.text) + &nodes
}

/// The ends of a pair: `n1 to n2`.
pub(super) fn ends(pair: &PairValue) -> String {
    format!("{} to {}", one_line(&pair.from), one_line(&pair.to))
}

/// How values of a unit are written in an area.
pub(super) fn notation(area: &str, unit: Unit) -> Notation {
    area.parse::<Area>().map_or(Notation::Plain(unit), |area| Notation::of(area, unit))
}

/// An area as a heading.
pub(super) fn title(area: &str) -> String {
    area.parse::<Area>().map_or_else(|_| capital(&one_line(area)), |area| area_title(area).to_owned())
}

/// A value as a share of the median, below 1 being worse; `None` where that is not finite.
pub(super) fn of_median(value: f64, median: f64, better: Better) -> Option<f64> {
    let share = match better {
        Better::Higher => value / median,
        Better::Lower => median / value,
    };
    share.is_finite().then_some(share)
}

/// The first pass of a node as a share of the median.
pub(super) fn share(value: &NodeValue, metric: &Distribution) -> Option<f64> {
    of_median(*value.values.first()?, metric.median, metric.better)
}

/// The outliers of a metric, worst first, with their shares of the median.
pub(super) fn outliers(metric: &Distribution) -> Vec<(String, f64)> {
    let Some(limit) = metric.limit else { return Vec::new() };
    let is_worse = |value: f64| match metric.better {
        Better::Higher => value < limit,
        Better::Lower => value > limit,
    };
    let beyond = metric.values.iter().filter(|value| value.values.first().copied().is_some_and(is_worse));
    beyond.filter_map(|value| Some((one_line(&value.node), share(value, metric)?))).collect()
}

pub(super) const fn state(state: NodeState) -> &'static str {
    match state {
        NodeState::Done => "measured",
        NodeState::Partly => "partly measured",
        NodeState::Running => "running",
        NodeState::Waiting => "waiting",
        NodeState::Failed => "failed",
    }
}

/// The judgement of a node: a second measurement confirms that it is slow.
pub(super) const fn standing(standing: Standing) -> &'static str {
    match standing {
        Standing::Healthy => "not slow",
        Standing::Slow => "slow, confirmed",
        Standing::Suspect => "suspect",
        Standing::Unknown => "not compared",
    }
}

/// Shares of the median, the first and the second measurement: `62.1 %, 61.8 %`.
pub(super) fn passes(shares: &[f64]) -> String {
    shares.iter().map(|share| percent(*share)).collect::<Vec<_>>().join(", ")
}

/// Whether a slow node's result has a share of its limit; else there is no such column.
pub(super) fn has_peaks(document: &ClusterDocument) -> bool {
    document.slow.iter().flat_map(|slow| &slow.deviations).any(|of| of.efficiency.is_some())
}

/// Each node's slowest first-pass result as a share of the median.
pub(super) fn slowest_shares(document: &ClusterDocument) -> HashMap<&str, f64> {
    let mut slowest = HashMap::with_capacity(document.nodes.len());
    for metric in &document.distributions {
        for value in &metric.values {
            let Some(share) = share(value, metric) else { continue };
            let least = slowest.entry(value.node.as_str()).or_insert(share);
            *least = least.min(share);
        }
    }
    slowest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_becomes_words() {
        assert_eq!(metric_name("cpu/fma/fp64/avx512/t2", "throughput"), "fma fp64 avx512, 2 threads");
        assert_eq!(metric_name("disk/read/random/4KiB/d32", "latency"), "read random 4KiB, depth 32, latency");
        assert_eq!(metric_name("area:memory", ""), "all metrics of memory");
        assert_eq!(metric_name("", ""), "");
        assert_eq!(metric_name("net/tcp/t\u{202e}x\n", "throughput"), "tcp t\u{fffd}x");
    }

    #[test]
    fn a_share_below_one_is_worse_in_both_directions() {
        assert_eq!(of_median(50.0, 100.0, Better::Higher), Some(0.5));
        assert_eq!(of_median(200.0, 100.0, Better::Lower), Some(0.5));
        assert_eq!((of_median(1.0, 0.0, Better::Higher), of_median(0.0, 1.0, Better::Lower)), (None, None));
    }

    #[test]
    fn long_lists_of_names_are_cut() {
        let names: Vec<String> = (1..=9).map(|node| format!("n{node}")).collect();
        assert_eq!(some_of(&names, 3), "n1, n2, n3 and 6 more");
        assert_eq!(some_of(&names[..2], 3), "n1 and n2");
    }
}
