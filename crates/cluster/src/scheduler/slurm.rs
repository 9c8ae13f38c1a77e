//! Slurm through its commands, which every site has and every user may call.

use std::collections::{BTreeMap, BTreeSet};

use model::cluster::PlanNode;

use super::accounting::{Accounting, TimeLimit};
use super::command::{CommandOutput, Environment, call};
use super::error::SchedulerError;
use super::job::{
    Availability, Job, JobEnd, JobLimits, JobSettings, Refusal, Scheduler, SchedulerState, Script, Submitted,
};
use super::parse::{self, Partition};
use super::script;

/// Polls after which limits and partitions are read again.
const ROUNDS_BETWEEN_LIMITS: u32 = 30;

/// Slurm for the jobs of one plan.
#[derive(Debug)]
pub struct Slurm {
    settings: JobSettings,
    environment: Environment,
    user: String,
    /// The plan's partitions, whose limits apply to its jobs.
    partitions: Vec<Option<String>>,
    /// Limits of jobs, with the polls since they were read.
    known: Option<(u32, Known)>,
}

#[derive(Clone, Debug, Default)]
struct Known {
    /// The most jobs of this user in the queue.
    most_jobs: Option<u32>,
    bounds: BTreeMap<String, JobLimits>,
}

impl Slurm {
    /// Slurm for the jobs of a plan with these nodes.
    pub fn new(settings: JobSettings, environment: Environment, nodes: &[PlanNode]) -> Result<Self, SchedulerError> {
        let user = own_name(&environment)?;
        let mut partitions: Vec<Option<String>> = nodes.iter().map(|node| node.partition.clone()).collect();
        partitions.sort();
        partitions.dedup();
        Ok(Self { settings, environment, user, partitions, known: None })
    }

    /// Limits of jobs, which are read again every [`ROUNDS_BETWEEN_LIMITS`] polls.
    fn known(&mut self) -> Result<Known, SchedulerError> {
        if let Some((rounds, known)) = &mut self.known
            && *rounds < ROUNDS_BETWEEN_LIMITS
        {
            *rounds += 1;
            return Ok(known.clone());
        }
        let text = ask(&["scontrol", "show", "partition", "-o"], &self.environment)?.stdout;
        let partitions = parse::partitions(&text)?;
        let [account, qos] =
            [["--account", "-A"], ["--qos", "-q"]].map(|names| option_of(&self.settings.lines, &names));
        let accounting = Accounting::of(&self.user, account, &self.environment);
        let most_jobs = accounting.most_jobs(qos, &used(&partitions, &self.partitions));
        let bounds = bounds(&partitions, |partition| accounting.longest(qos, partition));
        let known = Known { most_jobs, bounds };
        self.known = Some((0, known.clone()));
        Ok(known)
    }
}

fn used<'a>(partitions: &'a [Partition], wanted: &[Option<String>]) -> Vec<&'a Partition> {
    let is_wanted = |partition: &&Partition| {
        wanted.iter().any(|name| name.as_ref().map_or(partition.default, |name| *name == partition.name))
    };
    partitions.iter().filter(is_wanted).collect()
}

/// The value of an option of sbatch in the user's lines.
fn option_of<'a>(lines: &'a [String], names: &[&str]) -> Option<&'a str> {
    let value = |line: &'a str| {
        let (name, value) = line.split_once(['=', ' '])?;
        names.contains(&name).then(|| value.trim().trim_matches(['"', '\'']))
    };
    lines.iter().rev().find_map(|line| value(line))
}

/// Above this limit one place stays free for another job of the user. Of two jobs, one measures and one waits.
const SPARED_ABOVE: u32 = 2;

/// How many more jobs a user with this many in the queue may submit; `None`: no limit.
pub(crate) fn room(most_jobs: Option<u32>, queued: u32) -> Option<u32> {
    let limit = most_jobs?;
    Some(limit.saturating_sub(u32::from(limit > SPARED_ABOVE)).saturating_sub(queued))
}

fn bounds(partitions: &[Partition], longest: impl Fn(&Partition) -> Option<TimeLimit>) -> BTreeMap<String, JobLimits> {
    let of = |partition: &Partition| JobLimits {
        seconds: longest(partition).map(|limit| limit.seconds),
        nodes: partition.most_nodes,
    };
    let named = partitions.iter().map(|partition| (partition.name.clone(), of(partition)));
    let default =
        partitions.iter().filter(|partition| partition.default).map(|partition| (String::new(), of(partition)));
    named.chain(default).collect()
}

fn own_name(environment: &Environment) -> Result<String, SchedulerError> {
    Ok(ask(&["id", "-un"], environment)?.stdout.trim().to_owned())
}

fn ask(argv: &[&str], environment: &Environment) -> Result<CommandOutput, SchedulerError> {
    let output = call(argv, None, environment)?;
    if output.succeeded { Ok(output) } else { Err(SchedulerError::Failed(argv[0].to_owned(), output.complaint())) }
}

impl Scheduler for Slurm {
    fn script(&self, job: &Job) -> Script {
        let folder = format!("--chdir={}", self.settings.plan.display());
        let command = ["sbatch", "--parsable", &folder].map(str::to_owned).to_vec();
        Script { command, input: Some(script::batch(&self.settings, job)) }
    }

    fn submit(&mut self, job: &Job) -> Result<Submitted, Refusal> {
        let Script { command, input } = self.script(job);
        let called = call(&command, input.as_deref(), &self.environment)
            .map_err(|error| Refusal::Unreachable(error.to_string()))?;
        if !called.succeeded {
            return Err(parse::refusal(&called.complaint()));
        }
        match parse::submitted(&called.stdout) {
            Some(id) => Ok(Submitted { id, launcher: "slurm", command }),
            None => {
                Err(Refusal::Wrong(format!("sbatch did not answer with a job's number: '{}'", called.stdout.trim())))
            }
        }
    }

    fn poll(&mut self) -> Result<SchedulerState, SchedulerError> {
        let known = self.known()?;
        let nodes = parse::nodes(&ask(parse::NODES, &self.environment)?.stdout)?;
        let user = format!("--user={}", self.user);
        let queue = ["squeue", "--noheader", "-r", &user, "-o", parse::QUEUE];
        let queue = parse::queue(&ask(&queue, &self.environment)?.stdout)?;
        let queued = u32::try_from(queue.len()).unwrap_or(u32::MAX);
        Ok(SchedulerState {
            nodes: nodes.into_iter().map(|node| (node.name, node.availability)).collect(),
            queue,
            room: room(known.most_jobs, queued),
            bounds: known.bounds,
        })
    }

    fn cancel(&mut self, id: &str) -> Result<(), SchedulerError> {
        match ask(&["scancel", id], &self.environment) {
            Err(error) if !error.to_string().contains("Invalid job id") => Err(error),
            _ => Ok(()),
        }
    }

    fn end_of(&mut self, id: &str) -> Option<JobEnd> {
        let shown = ask(&["scontrol", "show", "job", "-o", id], &self.environment).map(|called| called.stdout);
        let accounted = || {
            let words = [parse::ACCOUNTED, &[id]].concat();
            parse::accounted_end(&ask(&words, &self.environment).ok()?.stdout)
        };
        shown.map_or_else(|_| accounted(), |text| parse::job_end(&text))
    }
}

/// A selection of nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say which")]
pub enum NodeSelection {
    /// By an expression such as `n[1-4],gpu7`.
    Expression(String),
    Partitions(Vec<String>),
    All,
    Idle,
}

/// Nodes of a plan with the same partition and hardware.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeGroup {
    /// The partition's name.
    pub partition: String,
    /// The partition that its jobs request; `None` for the default.
    pub job_partition: Option<String>,
    /// CPUs, memory and devices, as far as Slurm knows them.
    pub hardware: String,
    /// The names.
    pub nodes: Vec<String>,
    /// The longest time limit of a job with the default QOS.
    pub longest: Option<TimeLimit>,
    /// The longest time limit of a job with the QOS that allows most.
    pub longest_of_any: Option<TimeLimit>,
    /// Whether other jobs can use its nodes at the same time (`OverSubscribe=FORCE`, or the plan asks for it).
    pub shared: bool,
}

/// Slurm's selected nodes without some, each with the partition for its jobs: the requested, `None` for the default, else
/// the first; and their groups, the largest first.
pub fn choose(
    wanted: &NodeSelection,
    without: &[String],
    environment: &Environment,
) -> Result<(Vec<PlanNode>, Vec<NodeGroup>), SchedulerError> {
    let lines = parse::nodes(&ask(parse::NODES, environment)?.stdout)?;
    let partitions = parse::partitions(&ask(&["scontrol", "show", "partition", "-o"], environment)?.stdout)?;
    let expression = match wanted {
        NodeSelection::Expression(expression) => expand(expression, environment)?,
        _ => Vec::new(),
    };
    let mut nodes = chosen(wanted, &expression, &lines, &partitions)?;
    nodes.retain(|node| !without.contains(&node.name));
    let hardware = ask(parse::HARDWARE, environment).map(|called| parse::hardware(&called.stdout)).unwrap_or_default();
    let accounting = Accounting::of(&own_name(environment)?, None, environment);
    let groups = groups(&nodes, &partitions, &hardware, &accounting);
    Ok((nodes, groups))
}

fn groups(
    nodes: &[PlanNode],
    partitions: &[Partition],
    hardware: &BTreeMap<String, String>,
    accounting: &Accounting,
) -> Vec<NodeGroup> {
    let mut groups: Vec<NodeGroup> = Vec::new();
    for node in nodes {
        let hardware = hardware.get(&node.name).cloned().unwrap_or_default();
        let is_ours = |group: &&mut NodeGroup| group.job_partition == node.partition && group.hardware == hardware;
        if let Some(group) = groups.iter_mut().find(is_ours) {
            group.nodes.push(node.name.clone());
            continue;
        }
        let of = used(partitions, std::slice::from_ref(&node.partition)).into_iter().next();
        groups.push(NodeGroup {
            partition: of.map(|of| of.name.clone()).unwrap_or_default(),
            job_partition: node.partition.clone(),
            hardware,
            nodes: vec![node.name.clone()],
            longest: of.and_then(|of| accounting.longest(None, of)),
            longest_of_any: of.and_then(|of| accounting.longest_of_any(of)),
            shared: of.is_some_and(|of| of.shared),
        });
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.nodes.len()));
    groups
}

/// The names in a node expression of Slurm.
pub fn expand(expression: &str, environment: &Environment) -> Result<Vec<String>, SchedulerError> {
    if expression.starts_with('-') {
        return Err(SchedulerError::NotNodes(expression.to_owned(), None));
    }
    let called = ask(&["scontrol", "show", "hostnames", expression], environment)
        .map_err(|error| SchedulerError::NotNodes(expression.to_owned(), Some(Box::new(error))))?;
    Ok(called.stdout.lines().map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

/// The MPI types of `srun`; empty if unknown.
pub(crate) fn mpi_types(environment: &Environment) -> Vec<String> {
    // Older versions print them as an error.
    let said = ask(&["srun", "--mpi=list"], environment).map(|called| called.stdout + "\n" + &called.stderr);
    parse::mpi_types(&said.unwrap_or_default())
}

/// Selects nodes and their partitions. Pure.
fn chosen(
    wanted: &NodeSelection,
    named: &[String],
    lines: &[parse::NodeLine],
    partitions: &[Partition],
) -> Result<Vec<PlanNode>, SchedulerError> {
    let default = partitions.iter().find(|partition| partition.default).map(|partition| partition.name.as_str());
    let mut homes: BTreeMap<&str, Vec<&parse::NodeLine>> = BTreeMap::new();
    for line in lines {
        homes.entry(&line.name).or_default().push(line);
    }
    let node = |name: &str, of: &[&parse::NodeLine]| {
        let in_default = of.iter().any(|line| Some(line.partition.as_str()) == default);
        let partition = if in_default { None } else { of.first().map(|line| line.partition.clone()) };
        PlanNode { name: name.to_owned(), partition }
    };
    // In Slurm's order, which has n10 after n9.
    let mut seen = BTreeSet::new();
    let order = lines.iter().map(|line| line.name.as_str()).filter(|name| seen.insert(*name));
    let with_home = order.map(|name| (name, &homes[name]));
    let found: Vec<PlanNode> = match wanted {
        NodeSelection::Expression(_) => named
            .iter()
            .map(|name| match homes.get(name.as_str()) {
                Some(of) => Ok(node(name, of)),
                None => Err(SchedulerError::UnknownNode(name.clone())),
            })
            .collect::<Result<_, _>>()?,
        NodeSelection::Partitions(wanted) => {
            let is_known = |name: &&String| partitions.iter().any(|known| known.name == **name);
            if let Some(unknown) = wanted.iter().find(|name| !is_known(name)) {
                let known: Vec<&str> = partitions.iter().map(|known| known.name.as_str()).collect();
                return Err(SchedulerError::UnknownPartition(unknown.clone(), known.join(", ")));
            }
            // A node of several partitions is in the first that was requested.
            let of = |name: &str, of: &[&parse::NodeLine]| {
                let partition = wanted.iter().find(|wanted| of.iter().any(|line| line.partition == **wanted))?;
                Some(PlanNode { name: name.to_owned(), partition: Some(partition.clone()) })
            };
            with_home.filter_map(|(name, lines)| of(name, lines)).collect()
        }
        NodeSelection::All => with_home.map(|(name, of)| node(name, of)).collect(),
        NodeSelection::Idle => with_home
            .filter(|(_, of)| of[0].availability == Availability::Idle)
            .map(|(name, of)| node(name, of))
            .collect(),
    };
    if found.is_empty() { Err(SchedulerError::NoNodes) } else { Ok(found) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, partition: &str, availability: Availability) -> parse::NodeLine {
        parse::NodeLine { name: name.into(), partition: partition.into(), availability }
    }

    fn partition(name: &str, default: bool) -> Partition {
        Partition { name: name.into(), default, ..Partition::default() }
    }

    #[test]
    fn nodes_are_chosen_with_the_partition_that_their_jobs_need() {
        let lines = [
            line("n2", "debug", Availability::Idle),
            line("n2", "long", Availability::Idle),
            line("n10", "long", Availability::Busy("alloc".into())),
            line("n11", "debug", Availability::Down("down".into())),
        ];
        let partitions = [partition("debug", true), partition("long", false)];
        let names = |wanted: &NodeSelection, named: &[&str]| {
            let named: Vec<String> = named.iter().map(|name| (*name).to_owned()).collect();
            let found = chosen(wanted, &named, &lines, &partitions)?;
            let text = found.iter().map(|node| format!("{}:{}", node.name, node.partition.as_deref().unwrap_or("-")));
            Ok::<_, SchedulerError>(text.collect::<Vec<_>>().join(" "))
        };
        assert_eq!(names(&NodeSelection::All, &[]).unwrap(), "n2:- n10:long n11:-");
        assert_eq!(names(&NodeSelection::Idle, &[]).unwrap(), "n2:-");
        let of = |names: &[&str]| NodeSelection::Partitions(names.iter().map(|name| (*name).to_owned()).collect());
        assert_eq!(names(&of(&["long"]), &[]).unwrap(), "n2:long n10:long");
        assert_eq!(names(&of(&["debug", "long"]), &[]).unwrap(), "n2:debug n10:long n11:debug");
        assert_eq!(names(&NodeSelection::Expression("n10,n2".into()), &["n10", "n2"]).unwrap(), "n10:long n2:-");
        assert!(
            names(&NodeSelection::Expression("n3".into()), &["n3"]).unwrap_err().to_string().contains("no node 'n3'")
        );
        let sentence = names(&of(&["long", "gpu"]), &[]).unwrap_err().to_string();
        assert!(sentence.contains("'gpu'") && sentence.contains("debug, long"), "{sentence}");
    }

    #[test]
    fn nodes_of_other_hardware_or_another_partition_are_a_group_of_their_own() {
        let hardware =
            parse::hardware("n1|64|515000|(null)\nn2|64|515000|(null)\nn3|32|257000|gpu:a100:4\nbad|x|y|z\n");
        let node = |name: &str, partition: Option<&str>| PlanNode {
            name: name.into(),
            partition: partition.map(str::to_owned),
        };
        let nodes = [node("n3", None), node("n1", None), node("n2", None), node("n4", Some("short"))];
        let short = Partition { longest: Some(300), shared: true, ..partition("short", false) };
        let found = groups(&nodes, &[partition("all", true), short], &hardware, &Accounting::default());
        let texts = found.iter().map(|group| {
            let NodeGroup { partition, hardware, nodes, longest, shared, .. } = group;
            let longest = longest.as_ref().map(|limit| limit.seconds);
            format!("{} {partition} {hardware} {longest:?} {shared}", nodes.join(","))
        });
        let expected = [
            "n1,n2 all 64 CPUs, 503 GiB None false",
            "n3 all 32 CPUs, 251 GiB, gpu:a100:4 None false",
            "n4 short  Some(300) true",
        ];
        assert_eq!(texts.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn one_place_of_the_queue_stays_free_above_two() {
        let cases = [(None, 50, None), (Some(10), 0, Some(9)), (Some(10), 4, Some(5)), (Some(10), 9, Some(0))];
        let small = [(Some(10), 300, Some(0)), (Some(3), 0, Some(2)), (Some(2), 0, Some(2)), (Some(2), 1, Some(1))];
        for (limit, queued, expected) in cases.into_iter().chain(small).chain([(Some(0), 0, Some(0))]) {
            assert_eq!(room(limit, queued), expected, "{limit:?} {queued}");
        }
    }

    #[test]
    fn options_of_the_users_lines() {
        let lines = ["--account=a", "-q low", "--account=\"b\""].map(str::to_owned);
        assert_eq!(option_of(&lines, &["--account", "-A"]), Some("b"));
        assert_eq!(option_of(&lines, &["--qos", "-q"]), Some("low"));
        assert_eq!(option_of(&lines, &["--gres"]), None);
    }

    #[test]
    fn a_jobs_script_can_be_typed_by_a_person() {
        let settings = JobSettings {
            plan: "/a b".into(),
            name: "p".into(),
            program: "/a b/program/assay".into(),
            lines: Vec::new(),
            shared: false,
        };
        let environment = Environment::of(&BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]));
        let slurm = Slurm::new(settings, environment, &[]).unwrap();
        let job = Job {
            nodes: vec!["n1".into()],
            partition: None,
            seconds: 600.0,
            tasks: crate::scheduler::job::JobTasks::Alone,
            probe: None,
        };
        let text = slurm.script(&job).text();
        assert!(text.starts_with("sbatch --parsable '--chdir=/a b' <<'END'\n#!/bin/sh\n#SBATCH"), "{text}");
        assert!(text.ends_with("END\n") && !text.contains("--partition"), "{text}");
    }
}
