//! Interference that could hide a slow node, because it slows the nodes with which that one is compared.

use model::cluster::{AreaLimit, Problem};
use model::experiment::Area;
use model::number::percent_whole;
use stats::Observations;

use super::problems::problem;
use super::results::NodeResults;
use super::seen::{AreaConditions, Seen};
use crate::rules::{AreaRules, Resource};

/// The code of its problems.
pub(super) const INTERFERENCE: &str = "interference";

struct Kind {
    /// The resource that is taken; `None` for the CPUs, which everything needs.
    of: Option<Resource>,
    share: fn(&AreaConditions) -> Option<f64>,
    words: &'static str,
}

const KINDS: [Kind; 2] = [
    Kind {
        of: None,
        share: |seen| {
            let shares = [Seen::OtherLoad, Seen::Steal].map(|share| seen.of(share));
            shares.into_iter().flatten().reduce(|one, other| one + other)
        },
        words: "other processes or VMs used {} of CPU time",
    },
    Kind {
        of: Some(Resource::Disk),
        share: |seen| seen.of(Seen::DiskOthers),
        words: "other processes caused {} of the disk traffic",
    },
];

/// The interference in a group with which a node below the needed limit might not stand out. A share taken from the typical
/// node lowers the median by up to that share, so the limit counts for less: of the median without interference. Load on
/// fewer than half of the nodes leaves the median as it is.
pub(super) fn hiding(nodes: &[&NodeResults], limits: &[AreaLimit], rules: &[AreaRules]) -> Vec<Problem> {
    let one = |kind: &Kind| {
        let areas = limits.iter().filter_map(|limit| hiding_in(kind, nodes, limit, rules));
        let (median, nodes) = areas.max_by(|one, other| one.0.total_cmp(&other.0))?;
        let words = kind.words.replace("{}", &percent_whole(median));
        Some(problem(INTERFERENCE, format!("{words}, which could hide a slow node"), nodes))
    };
    KINDS.iter().filter_map(one).collect()
}

/// The median share in an area and the nodes with a share that hides, if the median hides.
fn hiding_in(
    kind: &Kind,
    nodes: &[&NodeResults],
    limit: &AreaLimit,
    rules: &[AreaRules],
) -> Option<(f64, Vec<String>)> {
    let area: Area = limit.area.parse().ok()?;
    let uses = AreaRules::of(rules, area).uses;
    // While pairs of nodes are measured, the node's own server is among the other processes.
    let counts = !uses.contains(&Resource::Network) && kind.of.is_none_or(|of| uses.contains(&of));
    let share = |node: &&NodeResults| (kind.share)(node.conditions.get(&area).filter(|_| counts)?);
    let shares: Vec<(&str, f64)> = nodes.iter().filter_map(|node| Some((node.name.as_str(), share(node)?))).collect();
    let median = Observations::new(&shares.iter().map(|(_, share)| *share).collect::<Vec<_>>())?.median();
    // Where the spread alone hides a node, that is said of the spread.
    let hides = |share: f64| limit.limit >= limit.needed && limit.limit * (1.0 - share) < limit.needed;
    let names = || shares.iter().filter(|(_, share)| hides(*share)).map(|(name, _)| (*name).to_owned()).collect();
    hides(median).then(|| (median, names()))
}
