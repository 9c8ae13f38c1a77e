//! A node with a CPU quota is reported as slow, with its cause.

use serde_json::Value;

use super::accept::check;
use super::config::NODES;
use super::daemons;
use super::plan::Plan;
use super::rig::ready;
use crate::held::{Group, shell};
use xtask::shell::Shell;
use xtask::tally::Tally;

const SLOWED: [&str; 3] = [NODES[2], NODES[0], NODES[3]];
const PERCENT: u32 = 25;
const CAUSE: &str = "cpu_quota";

pub(super) fn run(_: &Shell) -> Tally {
    let [free, limited] = match groups() {
        Ok(groups) => groups,
        Err(why) => return Tally::skip(format!("a node with a CPU quota is named: {why}")),
    };
    let mut tally = Tally::default();
    for (trial, slowed) in (1..).zip(SLOWED) {
        let restarted = ready().and_then(|()| ended()).and_then(|()| {
            NODES.iter().try_for_each(|node| {
                daemons::node(node, Some(if *node == slowed { &limited.path } else { &free.path }))
            })
        });
        let measured = restarted.and_then(|()| ready()).and_then(|()| measured(trial));
        let name = format!("trial {trial}: {slowed}, which gets {PERCENT} % of a CPU, is named with its cause");
        tally.add(check(&name, measured.and_then(|report| judged(&report, slowed))));
    }
    // Out of the groups, whatever came of it.
    if let Err(why) = ended().and_then(|()| ready()) {
        tally.add(Tally::failure(why));
    }
    tally
}

fn groups() -> Result<[Group; 2], String> {
    let [free, limited] = [Group::make("cpu", "cluster")?, Group::make("cpu", "cluster-slowed")?];
    for command in [free.priority_command(), limited.priority_command(), limited.quota_commands(PERCENT)[0].clone()] {
        shell(&command)?;
    }
    Ok([free, limited])
}

fn ended() -> Result<(), String> {
    NODES.iter().try_for_each(|node| daemons::kill(&format!("run/slurmd.{node}.pid")))
}

fn measured(trial: u64) -> Result<Value, String> {
    let plan = Plan::made(&format!("slowed-{trial}"), &["--area", "cpu"])?;
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
