//! Documents of clusters made by hand, one per situation that a rendering must cope with.

use std::collections::BTreeMap;

use model::cluster::{
    AreaLimit, Cause, ClusterDocument, ClusterHpl, ClusterInfo, ClusterVerdict, Deviation, Difference, Distribution,
    FailedAttempts, FleetNode, Group, History, NodeState, NodeValue, PairMatrix, PairValue, Problem, SCHEMA,
    SLOWER_THAN_BEFORE, SlowNode, SlowerNode, Standing,
};
use model::document::Program;
use model::unit::{Better, Unit};

/// Experiment, metric, unit, what is better, its usual value, its share of the peak.
type Metric = (&'static str, &'static str, Unit, Better, f64, Option<f64>);

/// Metrics of a suite.
pub(crate) const METRICS: &[Metric] = &[
    ("cpu/fma/fp64/avx512/t1", "throughput", Unit::FlopPerSecond, Better::Higher, 120.9e9, Some(0.993)),
    ("cpu/fma/fp64/avx512/t64", "throughput", Unit::FlopPerSecond, Better::Higher, 6.9e12, Some(0.981)),
    ("cpu/dot/int8/avx512_vnni/t64", "throughput", Unit::OpPerSecond, Better::Higher, 55.3e12, Some(0.979)),
    ("linpack/fp64/n20000/t64", "throughput", Unit::FlopPerSecond, Better::Higher, 5.4e12, Some(0.77)),
    ("memory/sequential-read/1GiB/t64", "throughput", Unit::BytePerSecond, Better::Higher, 402.1e9, Some(0.87)),
    ("memory/sequential-copy_nt/1GiB/t64", "throughput", Unit::BytePerSecond, Better::Higher, 371.5e9, Some(0.81)),
    ("memory/chase-load/1GiB/t1", "latency", Unit::Second, Better::Lower, 112.4e-9, None),
    ("disk/random-read/4KiB/d32", "throughput", Unit::PerSecond, Better::Higher, 68.9e3, None),
    ("disk/random-read/4KiB/d1", "latency", Unit::Second, Better::Lower, 71.3e-6, None),
];

/// A number from -1 to 1, by its place.
pub(crate) fn noise(node: usize, metric: usize, pass: usize) -> f64 {
    let mut x = (node as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ ((metric as u64) << 32) ^ ((pass as u64) << 56);
    for _ in 0..3 {
        x ^= x >> 29;
        x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    }
    (x >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

fn program() -> Program {
    let argv = ["assay", "cluster", "plan", "--partition", "batch", "--suite", "quick", "/scratch/rack7"];
    Program {
        version: "0.1.0".into(),
        git: Some("2849586".into()),
        profile: "release".into(),
        argv: argv.map(str::to_owned).into(),
    }
}

/// A plan without nodes.
pub(crate) fn nothing() -> ClusterDocument {
    ClusterDocument {
        schema: SCHEMA.into(),
        assay: program(),
        plan: ClusterInfo {
            name: "rack7".into(),
            created: "2026-11-20T12:00:00Z".into(),
            suite: "quick".into(),
            program: program(),
            ..ClusterInfo::default()
        },
        verdict: ClusterVerdict::Inconclusive,
        doubts: Vec::new(),
        area_limits: Vec::new(),
        nodes: Vec::new(),
        groups: Vec::new(),
        distributions: Vec::new(),
        slow: Vec::new(),
        differences: Vec::new(),
        pairs: Vec::new(),
        hpl: Vec::new(),
        problems: Vec::new(),
        drain: Vec::new(),
        history: None,
    }
}

fn node(name: String, group: u32, standing: Standing) -> FleetNode {
    let runs = ["cpu", "memory", "disk"].map(|area| format!("done/{name}/{area}/run/run.json")).into();
    let seconds = [("cpu", 30.5), ("memory", 20.25), ("disk", 37.25)].map(|(area, seconds)| (area.to_owned(), seconds));
    FleetNode {
        name,
        state: NodeState::Done,
        why: None,
        group: Some(group),
        standing,
        runs,
        last: Some("2026-11-20T12:41:00Z".into()),
        seconds: seconds.into(),
        failed_attempts: Vec::new(),
    }
}

fn hardware(kind: u32) -> BTreeMap<String, String> {
    let (processor, cores, memory) =
        if kind == 0 { ("AMD EPYC 9355", "2 x 32", "384 GiB") } else { ("Intel Xeon 6530", "2 x 32", "512 GiB") };
    [("processor", processor), ("cores", cores), ("memory", memory)].map(|(k, v)| (k.to_owned(), v.to_owned())).into()
}

/// The share of its group's usual value that a node reaches in a metric, less being slower.
pub(crate) type Reaches<'a> = &'a dyn Fn(usize, &str) -> f64;

fn quantile(sorted: &[f64], quarters: usize) -> f64 {
    sorted[(sorted.len() - 1) * quarters / 4]
}

/// A metric over nodes; those that reach less than 0.95 have two passes.
fn distribution(
    place: usize,
    of: &Metric,
    group: u32,
    names: &[(usize, String)],
    reaches: Reaches<'_>,
) -> Distribution {
    let (experiment, metric, unit, better, usual, efficiency) = *of;
    let value = |node: usize, pass: usize| {
        let share = reaches(node, experiment) * (1.0 + 0.008 * noise(node, place, pass));
        usual * (1.0 - 0.1 * f64::from(group)) * if better == Better::Higher { share } else { 1.0 / share }
    };
    let node_value = |(node, name): &(usize, String)| {
        let share = reaches(*node, experiment);
        let passes = if share < 0.95 { 2 } else { 1 };
        let values = (0..passes).map(|pass| value(*node, pass)).collect();
        NodeValue { node: name.clone(), values, efficiency: efficiency.map(|of| of * share) }
    };
    let mut values: Vec<NodeValue> = names.iter().map(node_value).collect();
    values.sort_by(|one, other| one.values[0].total_cmp(&other.values[0]));
    let sorted: Vec<f64> = values.iter().map(|value| value.values[0]).collect();
    if better == Better::Lower {
        values.reverse();
    }
    let median = quantile(&sorted, 2);
    let allowed = if experiment.starts_with("disk") { 0.1 } else { 0.05 };
    let limit = median * if better == Better::Higher { 1.0 - allowed } else { 1.0 / (1.0 - allowed) };
    Distribution {
        experiment: experiment.into(),
        area: experiment.split('/').next().unwrap_or_default().into(),
        metric: metric.into(),
        unit,
        better,
        group,
        n: names.len() as u64,
        median,
        spread: 0.0061,
        least: sorted[0],
        lower_quartile: quantile(&sorted, 1),
        upper_quartile: quantile(&sorted, 3),
        most: sorted[sorted.len() - 1],
        limit: (names.len() >= 4).then_some(limit),
        remark: (names.len() < 4).then(|| format!("{} equal nodes are too few to say who is slow", names.len())),
        values,
    }
}

/// Nodes in groups of these sizes, with these metrics.
pub(crate) fn cluster(sizes: &[usize], metrics: &[Metric], reaches: Reaches<'_>) -> ClusterDocument {
    let mut document = nothing();
    let mut first = 0;
    for (group, size) in (0_u32..).zip(sizes) {
        let name = |place: usize| {
            if sizes.iter().sum::<usize>() < 10 { format!("n{}", place + 1) } else { format!("node-{:05}", place + 1) }
        };
        let names: Vec<(usize, String)> = (first..first + size).map(|place| (place, name(place))).collect();
        let standing = if *size < 4 { Standing::Unknown } else { Standing::Healthy };
        document.nodes.extend(names.iter().map(|(_, name)| node(name.clone(), group, standing)));
        document.groups.push(Group { id: group, hardware: hardware(group), nodes: *size as u64 });
        let of = metrics.iter().enumerate();
        document.distributions.extend(of.map(|(place, metric)| distribution(place, metric, group, &names, reaches)));
        let mut areas: Vec<&str> = metrics.iter().filter_map(|metric| metric.0.split('/').next()).collect();
        areas.dedup();
        let limit = |area: &str| AreaLimit { group, area: area.into(), limit: 0.94, needed: 0.9 };
        document.area_limits.extend(areas.into_iter().filter(|_| *size >= 4).map(limit));
        first += size;
    }
    let [began, ended] = ["2026-11-20T12:02:00Z", "2026-11-20T12:41:00Z"].map(str::to_owned);
    (document.plan.first, document.plan.last) = (Some(began), Some(ended));
    let tasks = document.nodes.len() as u64 * 3;
    (document.plan.tasks, document.plan.ok) = (tasks, tasks);
    document.plan.node_seconds = document.nodes.len() as f64 * 88.0;
    document
}

/// Makes a node slow in an area, with metrics as the document has them.
pub(crate) fn slow(
    document: &mut ClusterDocument,
    name: &str,
    area: &str,
    standing: Standing,
    causes: &[(&str, &str)],
) {
    let passes = if standing == Standing::Slow { 2 } else { 1 };
    let of_median = |metric: &Distribution, value: f64| match metric.better {
        Better::Higher => value / metric.median,
        Better::Lower => metric.median / value,
    };
    let deviations = document.distributions.iter().filter(|metric| metric.area == area).filter_map(|metric| {
        let own = metric.values.iter().find(|value| value.node == name)?;
        let of_median: Vec<f64> = own.values.iter().take(passes).map(|value| of_median(metric, *value)).collect();
        (of_median[0] < 0.95).then(|| Deviation {
            experiment: metric.experiment.clone(),
            metric: metric.metric.clone(),
            of_median,
            efficiency: own.efficiency,
        })
    });
    let mut deviations: Vec<Deviation> = deviations.collect();
    deviations.sort_by(|one, other| one.of_median[0].total_cmp(&other.of_median[0]));
    assert!(!deviations.is_empty(), "{name} is not slow in {area}");
    let causes = causes.iter().map(|(code, text)| Cause { code: (*code).into(), text: (*text).into() }).collect();
    document.slow.push(SlowNode { node: name.into(), standing, areas: vec![area.into()], deviations, causes });
    if let Some(node) = document.nodes.iter_mut().find(|node| node.name == name) {
        node.standing = standing;
    }
    if standing == Standing::Slow {
        document.drain.push(name.into());
    }
}

/// Four nodes, nothing to complain of, the network between them and HPL.
pub(crate) fn healthy() -> ClusterDocument {
    let mut document = cluster(&[4], METRICS, &|_, _| 1.0);
    document.pairs = vec![square(&document, false, &|_, _| Some(1.0)), square(&document, true, &|_, _| Some(0.8))];
    document.hpl.push(ClusterHpl {
        nodes: document.nodes.iter().map(|node| node.name.clone()).collect(),
        n: 390_000,
        nb: 232,
        p: 16,
        q: 16,
        rate: Some(21.4e12),
        residual: Some(1.7e-3),
        peak: Some(28.1e12),
        linpack: Some(24.6e12),
        reason: None,
    });
    document
}

/// Six nodes: one slow by a quota and confirmed, one suspected to have a module of memory less.
pub(crate) fn troubled() -> ClusterDocument {
    let reaches = |node: usize, experiment: &str| match node {
        2 if experiment.starts_with("cpu") || experiment.starts_with("linpack") => 0.5,
        4 if experiment.starts_with("memory") => 0.88,
        _ => 1.0,
    };
    let mut document = cluster(&[6], METRICS, &reaches);
    let quota = "its control group may use 32 of 64 CPUs' time (cpu.max), others have no quota";
    slow(&mut document, "n3", "cpu", Standing::Slow, &[("cpu_quota", quota)]);
    slow(
        &mut document,
        "n5",
        "memory",
        Standing::Suspect,
        &[("fewer_channels", "11 of 12 memory channels hold a module.")],
    );
    let difference = |fact: &str, majority: &str, value: &str, nodes: &[&str]| Difference {
        group: 0,
        fact: fact.into(),
        majority: majority.into(),
        value: value.into(),
        nodes: nodes.iter().map(|node| (*node).to_owned()).collect(),
    };
    document.differences = vec![
        difference("cpu quota", "none", "3200 ms in 100 ms", &["n3"]),
        difference("memory channels in use", "12", "11", &["n5"]),
        difference("kernel", "6.12.43", "6.12.38", &["n1", "n6"]),
    ];
    let problem = |code: &str, text: &str, nodes: &[&str]| Problem {
        code: code.into(),
        text: text.into(),
        nodes: nodes.iter().map(|node| (*node).to_owned()).collect(),
    };
    document.problems = vec![
        problem("task_failed", "The disk was not measured: /scratch is full there.", &["n6"]),
        problem("clock_skew", "Its clock is 73 s ahead of the file system's; nothing rests on it.", &["n2"]),
    ];
    document.nodes[0].failed_attempts = vec![FailedAttempts {
        task: "memory".into(),
        area: "memory".into(),
        reason: "the worker on n1 (process 4711) is gone".into(),
        count: 2,
    }];
    document.nodes[5].state = NodeState::Partly;
    document.nodes[5].why = Some("1 of 3 tasks failed: /scratch is full".into());
    (document.plan.ok, document.plan.failed) = (17, 1);
    document.pairs = vec![with_holes(&document)];
    document
}

/// Four equal nodes, of which two are slower than in an earlier plan.
pub(crate) fn slower() -> ClusterDocument {
    let mut document = healthy();
    let slower = |node: &str, ratio: f64| SlowerNode {
        node: node.into(),
        experiment: "memory/sequential-read/1GiB/t64".into(),
        metric: "throughput".into(),
        unit: Unit::BytePerSecond,
        better: Better::Higher,
        earlier: 402.1e9,
        present: 402.1e9 * ratio,
        ratio,
        slower: 2,
        compared: 9,
    };
    document.history = Some(History {
        plan: "rack7-october".into(),
        created: "2026-10-20T12:00:00Z".into(),
        compared: 4,
        slower: vec![slower("n2", 0.81), slower("n4", 0.87)],
    });
    let problem = |code: &str, text: &str, nodes: &[&str]| Problem {
        code: code.into(),
        text: text.into(),
        nodes: nodes.iter().map(|node| (*node).to_owned()).collect(),
    };
    let worst = "memory/sequential-read/1GiB/t64: throughput 325.7 GB/s, 81.0 % of the earlier speed (402.1 GB/s in \
                 'rack7-october' (2026-10-20)); 2 of 9 results are slower";
    document.problems = vec![
        problem(
            "cluster_slower_than_before",
            "2 of 4 nodes are slower than in 'rack7-october' (2026-10-20)",
            &["n2", "n4"],
        ),
        problem(SLOWER_THAN_BEFORE, worst, &["n2"]),
    ];
    document
}

/// Sixteen nodes: every path to one has 41 % of the usual rate, another one lacks memory modules.
pub(crate) fn narrow() -> ClusterDocument {
    let path = |id| (id, "throughput", Unit::BytePerSecond, Better::Higher, 11.4e9, None);
    let paths = ["net/inbound/tcp-stream/128KiB/t4", "net/outbound/tcp-stream/128KiB/t4"].map(path);
    let reaches = |node: usize, experiment: &str| match node {
        6 if experiment.starts_with("net/inbound") => 0.41,
        11 if experiment.starts_with("memory") => 0.82,
        _ => 1.0,
    };
    let mut document = cluster(&[16], &[METRICS, &paths].concat(), &reaches);
    slow(&mut document, "node-00007", "net", Standing::Slow, &[]);
    let channels = [("fewer_channels", "14 memory channels in use where 16 is usual")];
    slow(&mut document, "node-00012", "memory", Standing::Slow, &channels);
    document.differences.push(Difference {
        group: 0,
        fact: "memory_channels".into(),
        majority: "16".into(),
        value: "14".into(),
        nodes: vec!["node-00012".into()],
    });
    document.pairs = vec![square(&document, false, &|_, to| Some(if to == 6 { 0.41 } else { 1.0 }))];
    document
}

/// A thousand nodes in two groups, three of them slow.
pub(crate) fn thousand() -> ClusterDocument {
    let reaches = |node: usize, experiment: &str| match node {
        16 if experiment.starts_with("memory") => 0.62,
        421 if experiment.starts_with("cpu") => 0.9,
        777 if experiment.starts_with("disk") => 0.4,
        _ => 1.0,
    };
    let mut document = cluster(&[600, 400], METRICS, &reaches);
    slow(
        &mut document,
        "node-00778",
        "disk",
        Standing::Slow,
        &[("disk_full", "Its file system is 97 % full, others 20 %.")],
    );
    slow(
        &mut document,
        "node-00017",
        "memory",
        Standing::Slow,
        &[("fewer_channels", "8 of 12 memory channels hold a module.")],
    );
    slow(&mut document, "node-00422", "cpu", Standing::Slow, &[]);
    document.nodes[990].state = NodeState::Failed;
    document.nodes[990].why = Some("never came up: 3 jobs ended without a worker".into());
    document.nodes[990].standing = Standing::Unknown;
    document.plan.failed = 3;
    document.plan.ok -= 3;
    document
}

/// Six nodes, one of them under a quota that its results do not show.
pub(crate) fn faulty() -> ClusterDocument {
    let mut document = cluster(&[6], METRICS, &|_, _| 1.0);
    let causes = [
        ("cpu_quota", "its control group was throttled for 86 % of the time (quota of 0.25 CPUs)"),
        ("other_load", "other processes used 86 % of its CPU time"),
    ];
    document.slow.push(SlowNode {
        node: "n3".into(),
        standing: Standing::Suspect,
        areas: Vec::new(),
        deviations: Vec::new(),
        causes: causes.map(|(code, text)| Cause { code: code.into(), text: text.into() }).into(),
    });
    document.nodes[2].standing = Standing::Suspect;
    document
}

/// Six nodes that differ too much in memory.
pub(crate) fn varied() -> ClusterDocument {
    let mut document = cluster(&[6], METRICS, &|_, _| 1.0);
    document.area_limits.iter_mut().filter(|limit| limit.area == "memory").for_each(|limit| limit.limit = 0.71);
    document.problems.push(Problem {
        code: "interference".into(),
        text: "other processes or VMs used 25 % of CPU time, which could hide a slow node".into(),
        nodes: vec!["n1".into(), "n4".into()],
    });
    document
}

/// Four nodes that were drained all the time.
pub(crate) fn drained() -> ClusterDocument {
    let mut document = unbegun();
    let why = "never became available: drained";
    for node in &mut document.nodes {
        (node.state, node.why) = (NodeState::Failed, Some(format!("'cpu': {why}")));
    }
    (document.plan.left, document.plan.skipped) = (0, 12);
    document.problems = vec![Problem {
        code: "no_results".into(),
        text: format!("4 nodes have no results: {why}"),
        nodes: document.nodes.iter().map(|node| node.name.clone()).collect(),
    }];
    document
}

/// A plan that nobody has begun.
pub(crate) fn unbegun() -> ClusterDocument {
    let mut document = cluster(&[4], &[], &|_, _| 1.0);
    document.groups.clear();
    for node in &mut document.nodes {
        (node.state, node.group, node.standing) = (NodeState::Waiting, None, Standing::Unknown);
        node.why = Some("no worker has taken it yet".into());
        node.runs.clear();
        node.seconds.clear();
    }
    (document.plan.first, document.plan.last) = (None, None);
    document.nodes[1].state = NodeState::Running;
    document.nodes[1].why = Some("a worker is measuring it".into());
    (document.plan.ok, document.plan.left, document.plan.node_seconds) = (0, 12, 0.0);
    document
}

/// One node by itself.
pub(crate) fn single() -> ClusterDocument {
    cluster(&[1], METRICS, &|_, _| 1.0)
}

/// Pairs of nodes; `share` is of the usual value, `None` a hole.
pub(crate) fn square(
    document: &ClusterDocument,
    together: bool,
    share: &dyn Fn(usize, usize) -> Option<f64>,
) -> PairMatrix {
    let nodes = &document.nodes;
    let mut pairs = Vec::new();
    for (from, sender) in nodes.iter().enumerate() {
        for (to, receiver) in nodes.iter().enumerate().filter(|(to, _)| *to != from) {
            let value = share(from, to).map(|share| share * 11.4e9 * (1.0 + 0.004 * noise(from, to, 3)));
            pairs.push(PairValue {
                from: sender.name.clone(),
                to: receiver.name.clone(),
                value,
                at_once: if together { u32::try_from(nodes.len()).unwrap_or(u32::MAX) } else { 1 },
                reason: value.is_none().then(|| format!("{} did not listen", receiver.name)),
            });
        }
    }
    let mut values: Vec<f64> = pairs.iter().filter_map(|pair| pair.value).collect();
    values.sort_by(f64::total_cmp);
    PairMatrix {
        experiment: "net/tcp/stream/128KiB/t4".into(),
        metric: "throughput".into(),
        unit: Unit::BytePerSecond,
        better: Better::Higher,
        together,
        median: values.get(values.len() / 2).copied(),
        pairs,
    }
}

/// Pairs, of which those to the last node are missing and one is slow.
fn with_holes(document: &ClusterDocument) -> PairMatrix {
    let last = document.nodes.len() - 1;
    square(document, false, &|from, to| match (from, to) {
        (_, to) if to == last => None,
        (1, 3) => Some(0.41),
        _ => Some(1.0),
    })
}

/// Ten nodes, pairs with holes and nothing else.
pub(crate) fn holes() -> ClusterDocument {
    let mut document = cluster(&[10], &METRICS[..1], &|_, _| 1.0);
    document.pairs = vec![with_holes(&document)];
    document
}

/// As many nodes as the largest cluster that is planned for, with this many metrics each.
pub(crate) fn largest(nodes: usize, metrics: usize) -> ClusterDocument {
    let ids: Vec<String> = (0..metrics).map(|place| format!("{}/{place}", METRICS[place % METRICS.len()].0)).collect();
    let reaches = |node: usize, experiment: &str| if node == 7 && experiment.starts_with("cpu") { 0.8 } else { 1.0 };
    let mut document = cluster(&[nodes], &[], &reaches);
    let names: Vec<(usize, String)> = document.nodes.iter().map(|node| node.name.clone()).enumerate().collect();
    for (place, id) in ids.iter().enumerate() {
        let mut metric = distribution(place, &METRICS[place % METRICS.len()], 0, &names, &reaches);
        metric.experiment.clone_from(id);
        document.distributions.push(metric);
    }
    document.distributions.sort_by(|one, other| one.area.cmp(&other.area));
    if let Some(name) = document.nodes.get(7).map(|node| node.name.clone()) {
        let clock = "Its clock is 2.4 GHz, that of others 3.0 GHz.";
        slow(&mut document, &name, "cpu", Standing::Slow, &[("clock_low", clock)]);
    }
    document
}

/// A document with everything in it, and this text wherever text is from elsewhere.
pub(crate) fn hostile(texts: &[&str]) -> ClusterDocument {
    let mut document = troubled();
    let healthy = healthy();
    document.hpl = healthy.hpl;
    document.hpl.push(ClusterHpl {
        rate: None,
        peak: None,
        linpack: None,
        residual: None,
        reason: Some("none".into()),
        ..document.hpl[0].clone()
    });
    let mut texts = texts.iter().cycle();
    let mut next = || (*texts.next().unwrap_or(&"")).to_owned();
    let renamed: BTreeMap<String, String> = document.nodes.iter().map(|node| (node.name.clone(), next())).collect();
    let name = |own: &mut String| *own = renamed[own].clone();
    document.nodes.iter_mut().for_each(|node| name(&mut node.name));
    document.slow.iter_mut().for_each(|slow| name(&mut slow.node));
    document.drain.iter_mut().for_each(name);
    document.distributions.iter_mut().flat_map(|metric| &mut metric.values).for_each(|value| name(&mut value.node));
    document.hpl.iter_mut().flat_map(|hpl| &mut hpl.nodes).for_each(name);
    document.pairs.iter_mut().flat_map(|matrix| &mut matrix.pairs).for_each(|pair| {
        name(&mut pair.from);
        name(&mut pair.to);
        pair.reason = pair.reason.as_ref().map(|_| next());
    });
    document.plan.name = next();
    document.plan.created = next();
    document.plan.suite = next();
    document.plan.program.argv = vec!["assay".into(), next(), next()];
    document.assay.version = next();
    document.nodes.iter_mut().for_each(|node| node.why = Some(next()));
    for of in document.nodes.iter_mut().flat_map(|node| &mut node.failed_attempts) {
        (of.task, of.area, of.reason) = (next(), next(), next());
    }
    (document.plan.first, document.plan.last) = (Some(next()), Some(next()));
    document.groups.iter_mut().for_each(|group| group.hardware = [(next(), next())].into());
    for metric in &mut document.distributions {
        (metric.experiment, metric.metric, metric.remark) = (next(), next(), Some(next()));
    }
    for slow in &mut document.slow {
        slow.causes.iter_mut().for_each(|cause| (cause.code, cause.text) = (next(), next()));
        slow.deviations.iter_mut().for_each(|of| (of.experiment, of.metric) = (next(), next()));
    }
    for of in &mut document.differences {
        (of.fact, of.majority, of.value, of.nodes) = (next(), next(), next(), vec![next(), next()]);
    }
    for of in &mut document.problems {
        (of.code, of.text, of.nodes) = (next(), next(), vec![next()]);
    }
    document.hpl[1].reason = Some(next());
    let mut slower = slower().history;
    if let Some(history) = &mut slower {
        (history.plan, history.created) = (next(), next());
        history.slower.iter_mut().for_each(|of| (of.node, of.experiment, of.metric) = (next(), next(), next()));
    }
    document.history = slower;
    document
}
