//! Makes a plan and its tasks from a request.

use std::collections::{BTreeMap, BTreeSet};

use areas::{Request as RunRequest, plan as plan_of};
use model::cluster::{PLAN_SCHEMA, Pairing, Plan, PlanNode, SuiteTask, Task, Work};
use model::disk_target::DiskTarget;
use model::experiment::Area;
use model::machine::Machine;
use verdict::rules::Resource;

use super::suite;
use super::write::PROGRAM;
use crate::error::{Error, Result};
use crate::folder::is_plain_name;
use crate::hpl;
use crate::network::pairs;
use crate::scheduler::script::usable_seconds;
use crate::scheduler::slurm::NodeGroup;

/// Ten times the largest cluster that the paths are built for.
const MOST_NODES: usize = 100_000;
/// With more nodes all pairs are more than a million tasks.
const MOST_NODES_OF_ALL_PAIRS: usize = 1000;
/// Seconds of an `assay run` outside its benchmarks: start, discovery, HTML report. Estimated for a debug build on a slow
/// disk.
const AROUND_SECONDS: f64 = 3.0;

/// What a plan is made from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// The plan without its expected seconds. An empty path of the program: a copy of this one.
    pub plan: Plan,
    /// Only these areas. The network of a node with itself is measured only if it is among them.
    pub areas: Vec<Area>,
    /// Only benchmark ids that match.
    pub filter: Option<String>,
    /// Exactly this many samples per benchmark.
    pub repeat: Option<u32>,
}

/// Expected seconds of each requested area on this machine, with the most samples of each benchmark. Other nodes will
/// differ: more threads, more benchmarks.
pub fn expected(request: &Request, machine: &Machine, disk: DiskTarget) -> Result<BTreeMap<Area, f64>> {
    let suite = suite(&request.plan.suite)?;
    let budget = suite.time_budget.filter(|_| request.repeat.is_none());
    let of = RunRequest {
        areas: request.areas.clone(),
        filter: request.filter.clone(),
        repeat: request.repeat,
        disk: Some(disk),
        ..bench::host::request(suite, machine)
    };
    let planned = |of: &RunRequest| plan_of(of, machine).map_err(|error| Error::Suite(error.to_string()));
    for glob in request.filter.iter().flat_map(|globs| globs.split(',')) {
        planned(&RunRequest { filter: Some(glob.to_owned()), ..of.clone() })?;
    }
    let plan = planned(&of)?;
    let pauses = f64::from(plan.sessions.saturating_sub(1)) * plan.pause_seconds;
    let mut areas: BTreeMap<Area, f64> = BTreeMap::new();
    for row in &plan.rows {
        *areas.entry(row.experiment.area).or_insert(AROUND_SECONDS + pauses) +=
            row.expected_seconds(plan.repeat.or(row.sampling.most));
    }
    if areas.len() > 1 {
        // A network between nodes needs two of them.
        let on_node = |area: &Area| !areas::rules(*area).uses.contains(&Resource::Network);
        areas.retain(|area, _| request.areas.contains(area) || on_node(area));
    }
    if let Some(area) = request.areas.iter().find(|area| !areas.contains_key(area)) {
        return Err(Error::EmptyArea(*area));
    }
    for seconds in areas.values_mut() {
        *seconds = seconds.min(budget.map_or(f64::INFINITY, |budget| budget + AROUND_SECONDS));
    }
    Ok(areas)
}

/// Makes the plan and its tasks: one for each node and area, and those of pairs and HPL.
pub fn make(request: &Request, expected: &BTreeMap<Area, f64>) -> Result<(Plan, Vec<Task>)> {
    let Request { plan, filter, repeat, .. } = request;
    check_nodes(&plan.nodes)?;
    if expected.is_empty() {
        return Err(Error::Request(
            "this suite has no benchmark for single nodes in these areas. Choose other areas with --area",
        ));
    }
    if !(plan.lease_seconds >= 1.0 && plan.lease_seconds <= 86_400.0) {
        return Err(Error::LeaseSeconds(plan.lease_seconds));
    }
    let mut tasks = Vec::with_capacity(plan.nodes.len() * expected.len());
    for node in &plan.nodes {
        for (area, seconds) in expected {
            let work = SuiteTask { areas: vec![area.name().to_owned()], filter: filter.clone() };
            tasks.push(Task {
                node: node.name.clone(),
                name: area.name().to_owned(),
                pass: 1,
                seconds: *seconds,
                tried: 0,
                work: Work::Suite(work),
            });
        }
    }
    if let Some(pairing) = plan.pairing {
        if plan.nodes.len() < 2 {
            return Err(Error::Request("one node has no network between nodes. Omit --pairs"));
        }
        if pairing == Pairing::All && plan.nodes.len() > MOST_NODES_OF_ALL_PAIRS {
            return Err(Error::TooManyPairs(plan.nodes.len(), MOST_NODES_OF_ALL_PAIRS));
        }
        tasks.extend(pairs::tasks(&plan.nodes, pairing, plan.seed));
    }
    if let Some(hpl) = &plan.hpl {
        tasks.push(hpl::tasks::task(&plan.nodes, hpl)?);
    }
    let seconds: f64 = tasks.iter().map(|task| task.seconds).sum();
    let repeat = repeat.iter().flat_map(|repeat| ["--repeat".to_owned(), repeat.to_string()]);
    let program_path = if plan.program_path.is_empty() { PROGRAM } else { &plan.program_path };
    let plan = Plan {
        schema: PLAN_SCHEMA.to_owned(),
        program_path: program_path.to_owned(),
        options: repeat.chain(plan.options.iter().cloned()).collect(),
        seconds_per_node: seconds / plan.nodes.len() as f64,
        task_seconds: expected.iter().map(|(area, seconds)| (area.name().to_owned(), *seconds)).collect(),
        attempts: plan.attempts.max(1),
        ..plan.clone()
    };
    Ok((plan, tasks))
}

/// Checks that each task fits into a job of its node's partition.
pub fn check_time_limits(plan: &Plan, tasks: &[Task], groups: &[NodeGroup]) -> Result<()> {
    let partition: BTreeMap<&str, &Option<String>> =
        plan.nodes.iter().map(|node| (node.name.as_str(), &node.partition)).collect();
    for group in groups {
        let Some(limit) = group.longest_of_any.clone() else { continue };
        let usable = usable_seconds(limit.seconds as f64);
        let is_here = |task: &&Task| partition.get(task.node.as_str()).is_some_and(|of| **of == group.job_partition);
        let longest = tasks.iter().filter(is_here).max_by(|one, other| one.seconds.total_cmp(&other.seconds));
        if let Some(task) = longest.filter(|task| task.seconds > usable) {
            let partition = group.partition.clone();
            return Err(Error::TimeLimit { task: task.name.clone(), seconds: task.seconds, partition, limit, usable });
        }
    }
    Ok(())
}

fn check_nodes(nodes: &[PlanNode]) -> Result<()> {
    if nodes.is_empty() {
        return Err(Error::Request("a plan needs at least one node. List nodes with --nodes or --hosts"));
    }
    if nodes.len() > MOST_NODES {
        return Err(Error::TooManyNodes(nodes.len(), MOST_NODES));
    }
    let mut seen = BTreeSet::new();
    for PlanNode { name, .. } in nodes {
        if !is_plain_name(name) {
            return Err(Error::NodeName(name.clone()));
        }
        if !seen.insert(name) {
            return Err(Error::DuplicateNode(name.clone()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::accounting::TimeLimit;
    use crate::tests::support::{expected_seconds as two, request};

    #[test]
    fn every_node_has_a_task_for_each_area() {
        let asked = Request { repeat: Some(3), filter: Some("cpu/**".into()), ..request(&["n1", "n2"]) };
        let (plan, tasks) = make(&asked, &two()).unwrap();
        let named: Vec<_> = tasks.iter().map(|task| (task.node.as_str(), task.name.as_str(), task.seconds)).collect();
        assert_eq!(named, [("n1", "cpu", 10.0), ("n1", "memory", 20.0), ("n2", "cpu", 10.0), ("n2", "memory", 20.0)]);
        assert_eq!((plan.seconds_per_node, plan.options.join(" ")), (30.0, "--repeat 3".to_owned()));
        let Work::Suite(work) = &tasks[1].work else { panic!("{tasks:?}") };
        assert_eq!((work.areas.join(","), work.filter.as_deref()), ("memory".to_owned(), Some("cpu/**")));
    }

    #[test]
    fn nodes_that_cannot_be_are_refused() {
        let many: Vec<String> = (0..=MOST_NODES).map(|n| format!("n{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        for (nodes, why) in [
            (&[][..], "at least one node"),
            (&["n1", "n2", "n1"][..], "listed twice"),
            (&["../n1"][..], "not a valid node name"),
            (&["a\nb"][..], "'a\\nb'"),
            (&many[..], "at most 100000"),
        ] {
            let error = make(&request(nodes), &two()).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
        let mut all_pairs = request(&many[..1001]);
        all_pairs.plan.pairing = Some(Pairing::All);
        assert!(make(&all_pairs, &two()).unwrap_err().to_string().contains("Use --pairs ring"));
        let error = make(&request(&["n1"]), &BTreeMap::new()).unwrap_err().to_string();
        assert!(error.contains("no benchmark for single nodes"), "{error}");
        for lease in [f64::NAN, 0.0, 1e9] {
            let mut request = request(&["n1"]);
            request.plan.lease_seconds = lease;
            assert!(make(&request, &two()).is_err());
        }
    }

    #[test]
    fn a_task_that_no_job_of_its_partition_can_hold_is_refused() {
        let (plan, tasks) = make(&request(&["n1", "n2"]), &two()).unwrap();
        let limit = |seconds| Some(TimeLimit { seconds, by: "the QOS 'q'".into() });
        let group = |longest: Option<u64>| NodeGroup {
            partition: "short".into(),
            job_partition: None,
            hardware: String::new(),
            nodes: vec!["n1".into(), "n2".into()],
            longest: limit(1),
            longest_of_any: longest.and_then(limit),
            shared: false,
        };
        assert!(check_time_limits(&plan, &tasks, &[group(None), group(Some(60))]).is_ok());
        let error = check_time_limits(&plan, &tasks, &[group(Some(20))]).unwrap_err().to_string();
        assert!(error.starts_with("the task memory takes about 20 s, but jobs in the partition 'short'"), "{error}");
        assert!(error.contains("can take 20 s (limit of the QOS 'q'), of which 15 s are for tasks"), "{error}");
    }

    #[test]
    fn loopback_is_measured_only_where_it_is_asked_for() {
        let recorded = "../machine/tests/machines/intel-raptor-lake-core-i7-1370p";
        let machine = machine::discover(&machine::Sysroot::folder(recorded.as_ref()).unwrap());
        let disk = || bench::target::look(std::env::temp_dir(), false);
        let areas = |areas: Vec<Area>| expected(&Request { areas, ..request(&["n1"]) }, &machine, disk());
        let all = areas(Vec::new()).unwrap();
        assert!(all.contains_key(&Area::Cpu) && all.contains_key(&Area::Disk) && !all.contains_key(&Area::Net));
        assert!(all.values().all(|seconds| *seconds > AROUND_SECONDS && *seconds < 600.0), "{all:?}");
        let filtered =
            Request { areas: vec![Area::Cpu, Area::Memory], filter: Some("cpu/**".into()), ..request(&["n1"]) };
        let error = expected(&filtered, &machine, disk()).unwrap_err().to_string();
        assert!(error.contains("no benchmark of the area 'memory'"), "{error}");
        let typo = Request { filter: Some("cpu/**,memry/**".into()), ..request(&["n1"]) };
        assert!(expected(&typo, &machine, disk()).unwrap_err().to_string().contains("'memry/**'"));
        let both = Request { filter: Some("cpu/**,memory/**".into()), ..request(&["n1"]) };
        assert_eq!(
            expected(&both, &machine, disk()).unwrap().into_keys().collect::<Vec<_>>(),
            [Area::Cpu, Area::Memory]
        );
        assert_eq!(areas(vec![Area::Net]).unwrap().into_keys().collect::<Vec<_>>(), [Area::Net]);
        let text = "name = \"t\"\n[[cpu]]\nop = \"fma\"\ntype = [\"fp64\"]\nisa = [\"scalar\"]\nthreads = [\"1\"]\n";
        let of_suite =
            |suite: &str| Request { plan: Plan { suite: suite.into(), ..Plan::default() }, ..Request::default() };
        let of_text = of_suite(text);
        assert_eq!(expected(&of_text, &machine, disk()).unwrap().len(), 1);
        assert!(expected(&Request { areas: vec![Area::Net], ..of_text }, &machine, disk()).is_err());
        assert!(expected(&of_suite("nothing"), &machine, disk()).is_err());
    }
}
