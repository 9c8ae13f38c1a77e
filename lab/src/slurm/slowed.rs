//! A node with a CPU quota is reported as slow, with its cause.

use serde_json::Value;

use super::accept::{ALL, check};
use super::config::NODES;
use super::daemons;
use super::plan::Plan;
use super::quota::{self, Groups};
use super::rig::Rig;
use xtask::shell::Shell;
use xtask::tally::Tally;

const SLOWED: [&str; 3] = [NODES[2], NODES[0], NODES[3]];

const PERCENT: u64 = 25;

const CAUSE: &str = "cpu_quota";

pub(super) fn run(_: &Shell, rig: &Rig) -> Tally {
    let groups = match quota::make(PERCENT) {
        Ok(groups) => groups,
        Err(why) => return Tally::skip(format!("a node with a CPU quota is named: {why}")),
    };
    let mut tally = Tally::default();
    for (trial, slowed) in (1..).zip(SLOWED) {
        let named = with_one_slowed(rig, slowed, &groups)
            .and_then(|()| measured(rig, trial))
            .and_then(|report| judged(&report, slowed));
        tally.add(check(
            &format!("trial {trial}: {slowed}, which gets {PERCENT} % of a CPU, is named with its cause"),
            named,
        ));
    }
    // Out of the groups, whatever came of it.
    if let Err(why) = ended().and_then(|()| rig.ready()) {
        tally.add(Tally::failure(why));
    }
    quota::remove();
    tally
}

fn with_one_slowed(rig: &Rig, slowed: &str, groups: &Groups) -> Result<(), String> {
    rig.ready()?;
    ended()?;
    for node in NODES {
        daemons::node(node, Some(if node == slowed { &groups.slowed } else { &groups.free }))?;
    }
    rig.ready()
}

fn ended() -> Result<(), String> {
    NODES.iter().try_for_each(|node| daemons::kill(&format!("run/slurmd.{node}.pid")))
}

fn measured(rig: &Rig, trial: u64) -> Result<Value, String> {
    let plan = Plan::made(rig, &format!("slowed-{trial}"), &[ALL, &["--area", "cpu"]].concat())?;
    let said = plan.run(&["--max-concurrent", "1"]);
    if !said.well() {
        return Err(format!("assay cluster run: {}", said.tail()));
    }
    plan.report()
}

fn judged(report: &Value, node: &str) -> Result<(), String> {
    let slow: Vec<&Value> = report["slow"].as_array().into_iter().flatten().collect();
    let said = || format!("slow: {}; problems: {}", report["slow"], report["problems"]);
    let Some(named) = slow.iter().find(|slow| slow["node"] == node) else {
        return Err(format!("{node} is not named; {}", said()));
    };
    let confirmed: Vec<&str> =
        slow.iter().filter(|slow| slow["standing"] == "slow").filter_map(|slow| slow["node"].as_str()).collect();
    if confirmed != [node] {
        return Err(format!("named after two passes: {confirmed:?}; {}", said()));
    }
    let codes: Vec<&str> =
        named["causes"].as_array().into_iter().flatten().filter_map(|cause| cause["code"].as_str()).collect();
    if codes.contains(&CAUSE) { Ok(()) } else { Err(format!("its causes are {codes:?}, without {CAUSE}; {}", said())) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_right_node_with_the_right_cause_will_do() {
        let slow = |node: &str, standing, code| json!({"node": node, "standing": standing, "causes": [{"code": code}]});
        let good = json!({"slow": [slow("n2", "slow", CAUSE)]});
        assert_eq!(judged(&good, "n2"), Ok(()));
        let bad = [
            json!({"slow": []}),
            json!({"slow": [slow("n1", "slow", CAUSE)]}),
            json!({"slow": [slow("n2", "suspect", CAUSE)]}),
            json!({"slow": [slow("n2", "slow", "clock_low")]}),
            json!({"slow": [slow("n2", "slow", CAUSE), slow("n3", "slow", CAUSE)]}),
        ];
        assert!(bad.iter().all(|report| judged(report, "n2").is_err()));
    }
}
