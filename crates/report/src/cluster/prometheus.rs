//! A campaign in Prometheus' text format: its verdict, the state and judgement of each node, and each node's values.

use model::cluster::{ClusterDocument, ClusterVerdict, Distribution, FleetNode, NodeState, Standing};

use super::labels::share;
use crate::formats::prometheus::{Exposition, name, unix_seconds};

pub(super) fn render(document: &ClusterDocument) -> String {
    let plan = &document.plan;
    let mut all = Exposition::new([("plan", plan.name.clone()), ("suite", plan.suite.clone())]);
    let help = "Whether the nodes are equal, one is slow, or neither is certain: 1 for the verdict, else 0.";
    for verdict in ClusterVerdict::ALL {
        let is_it = if *verdict == document.verdict { 1.0 } else { 0.0 };
        all.add("assay_cluster_verdict", help, &[("verdict", verdict.name())], is_it);
    }
    let count = |is: &dyn Fn(&FleetNode) -> bool| document.nodes.iter().filter(|node| is(node)).count() as f64;
    for state in NodeState::ALL {
        let nodes = count(&|node| node.state == *state);
        all.add("assay_cluster_nodes", "Nodes by state.", &[("state", state.name())], nodes);
    }
    for standing in Standing::ALL {
        let nodes = count(&|node| node.standing == *standing);
        all.add("assay_cluster_standing_nodes", "Nodes by judgement.", &[("standing", standing.name())], nodes);
    }
    let tasks = [("ok", plan.ok), ("failed", plan.failed), ("skipped", plan.skipped), ("left", plan.left)];
    for (status, tasks) in tasks {
        all.add("assay_cluster_tasks", "Tasks by outcome.", &[("status", status)], tasks as f64);
    }
    for (name, help, moment) in [
        ("assay_cluster_first_task_time_seconds", "When the first task began, in seconds since 1970.", &plan.first),
        ("assay_cluster_last_task_time_seconds", "When the last task began, in seconds since 1970.", &plan.last),
    ] {
        all.add(name, help, &[], moment.as_deref().and_then(unix_seconds).unwrap_or(f64::NAN));
    }
    document.nodes.iter().for_each(|node| add_node(&mut all, node));
    document.distributions.iter().for_each(|metric| add_values(&mut all, metric));
    for slower in document.history.iter().flat_map(|history| &history.slower) {
        let labels = [("node", &*slower.node), ("id", &*slower.experiment), ("metric", &*slower.metric)];
        let help = "Speed of a node's worst result over that in an earlier plan.";
        all.add("assay_cluster_slower_ratio", help, &labels, slower.ratio);
    }
    all.text()
}

fn add_node(all: &mut Exposition, node: &FleetNode) {
    let labels = [("node", &*node.name), ("state", node.state.name()), ("standing", node.standing.name())];
    all.add("assay_cluster_node", "State and judgement of a node; always 1.", &labels, 1.0);
    let attempts = node.failed_attempts.iter().map(|of| of.count).sum::<u64>() as f64;
    all.add("assay_cluster_node_failed_attempts", "Failed attempts at tasks of a node.", &labels[..1], attempts);
    for (area, seconds) in &node.seconds {
        let help = "How long the tasks of a node took.";
        all.add("assay_cluster_node_duration_seconds", help, &[labels[0], ("area", area)], *seconds);
    }
}

fn add_values(all: &mut Exposition, metric: &Distribution) {
    let name = name("assay_cluster", &metric.metric, "", metric.unit);
    let help = format!("Median of {} on a node, in the first pass.", metric.metric);
    for value in &metric.values {
        let labels = [("node", &*value.node), ("id", &*metric.experiment), ("area", &*metric.area)];
        all.add(&name, &help, &labels, value.values.first().copied().unwrap_or(f64::NAN));
        let labels = [labels[0], labels[1], labels[2], ("metric", &*metric.metric)];
        let help = "A node's value over the median of its hardware; below 1 is slower.";
        all.add("assay_cluster_of_median_ratio", help, &labels, share(value, metric).unwrap_or(f64::NAN));
    }
}
