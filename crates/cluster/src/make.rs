//! Making a plan: from what was asked to a plan and its tasks, and these into a folder.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use model::cluster::{HplPlan, PLAN_SCHEMA, Pairing, Plan, PlanNode, SuiteTask, Task, Work};
use model::document::Program;
use model::experiment::Area;
use model::machine::Machine;

use super::folder::{Folder, State, cannot_write, is_plain_name, names, write as write_file};
use super::{hpl, pairs};
use bench::plan::{Request as RunRequest, plan as plan_of};
use bench::suite::Suite;
use bench::target::DiskTarget;

/// The most nodes of a plan: ten times the largest cluster that the paths are built for.
const MOST_NODES: usize = 100_000;

/// Seconds that an `assay run` takes besides its rows: the program's start, the look at the machine before and after, the
/// page. A guess, of the size of what a debug build takes on a slow disk.
const AROUND_SECONDS: f64 = 3.0;

/// Where the program is in a plan's folder.
const PROGRAM: &str = "program/assay";

/// The folder that it is in.
const PROGRAM_FOLDER: &str = "program";

/// The other folders of a plan's folder.
const FOLDERS: &[&str] = &["running", "work", "done", "failed", "nodes", "jobs", "probe", "log"];

/// Threads that write a new plan: on a shared file system each file costs a round trip to its server.
const WRITERS: usize = 8;

/// The name of the file by which a worker claims a node, without what files end in.
pub(super) const NODE: &str = ".node";

/// What was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The plan's name.
    pub name: String,
    /// When, UTC, ISO 8601.
    pub created: String,
    /// The program that makes the plan.
    pub program: Program,
    /// The program that nodes run, where another one than a copy of this is wanted: an absolute path on every node.
    pub program_path: Option<String>,
    /// The suite's name, or the text of a suite's file.
    pub suite: String,
    /// Only these areas; the network of a node with itself is measured only where it is among them.
    pub areas: Vec<Area>,
    /// Only ids that match.
    pub filter: Option<String>,
    /// Exactly so many samples a row.
    pub repeat: Option<u32>,
    /// What else each `assay run` is called with, word by word.
    pub options: Vec<String>,
    /// Directory on each node in which disks are measured.
    pub directory: Option<String>,
    /// The nodes.
    pub nodes: Vec<PlanNode>,
    /// How pairs of nodes are chosen for the network between them.
    pub pairing: Option<Pairing>,
    /// Which of a node's addresses the network is measured between: an interface's name, or a subnet.
    pub network: Option<String>,
    /// How HPL is run across all nodes together, where it is.
    pub hpl: Option<HplPlan>,
    /// The lease, in seconds.
    pub lease_seconds: f64,
    /// How often a task is tried.
    pub attempts: u32,
    /// Seed of orders and pairs.
    pub seed: u64,
}

/// The suite of this name, or of this text.
///
/// # Errors
/// A sentence: what is wrong in the text.
pub fn suite(name_or_text: &str) -> Result<Suite, String> {
    if Suite::names().any(|name| name == name_or_text) {
        return Suite::find(name_or_text);
    }
    Suite::parse(name_or_text, "of the plan")
}

/// Expected seconds of each area of what is asked for, by the suite's own plan on this machine; for rows that end when
/// their intervals are narrow enough, until they must end. On other nodes it will take another time: more threads, more
/// rows.
///
/// # Errors
/// A sentence: no such suite or area, a filter that matches nothing.
pub fn expected(request: &Request, machine: &Machine, disk: DiskTarget) -> Result<BTreeMap<Area, f64>, String> {
    let suite = suite(&request.suite)?;
    let budget = suite.time_budget.filter(|_| request.repeat.is_none());
    let of = RunRequest {
        areas: request.areas.clone(),
        filter: request.filter.clone(),
        repeat: request.repeat,
        disk: Some(disk),
        ..RunRequest::of(suite)
    };
    let plan = plan_of(&of, machine).map_err(|error| error.to_string())?;
    let pauses = f64::from(plan.sessions.saturating_sub(1)) * plan.pause_seconds;
    let mut areas: BTreeMap<Area, f64> = BTreeMap::new();
    for row in &plan.rows {
        *areas.entry(row.experiment.area).or_insert(AROUND_SECONDS + pauses) +=
            row.expected_seconds(plan.repeat.or(row.sampling.most));
    }
    if !request.areas.contains(&Area::Net) && areas.len() > 1 {
        areas.remove(&Area::Net);
    }
    for seconds in areas.values_mut() {
        *seconds = seconds.min(budget.map_or(f64::INFINITY, |budget| budget + AROUND_SECONDS));
    }
    Ok(areas)
}

/// The plan that was asked for and its tasks: on every node one for each area, and those of the pairs.
///
/// # Errors
/// A sentence: no nodes, too many, one that is named twice or is no plain name; nothing to be measured.
pub fn make(request: &Request, expected: &BTreeMap<Area, f64>) -> Result<(Plan, Vec<Task>), String> {
    check_nodes(&request.nodes)?;
    if expected.is_empty() {
        return Err("of this suite nothing is measured on a node alone; name other areas with --area".to_owned());
    }
    if !(request.lease_seconds >= 1.0 && request.lease_seconds <= 86_400.0) {
        return Err(format!("a lease is between 1 s and a day, not {} s", request.lease_seconds));
    }
    let mut tasks = Vec::with_capacity(request.nodes.len() * expected.len());
    for node in &request.nodes {
        for (area, seconds) in expected {
            let work = SuiteTask { areas: vec![area.name().to_owned()], filter: request.filter.clone() };
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
    if let Some(pairing) = request.pairing {
        if request.nodes.len() < 2 {
            return Err("there is no network between nodes where there is one node; leave --pairs out".to_owned());
        }
        tasks.extend(pairs::tasks(&request.nodes, pairing, request.seed));
    }
    if let Some(hpl) = &request.hpl {
        tasks.push(hpl::task(&request.nodes, hpl)?);
    }
    let seconds: f64 = tasks.iter().map(|task| task.seconds).sum();
    let repeat = request.repeat.iter().flat_map(|repeat| ["--repeat".to_owned(), repeat.to_string()]);
    let plan = Plan {
        schema: PLAN_SCHEMA.to_owned(),
        name: request.name.clone(),
        created: request.created.clone(),
        program: request.program.clone(),
        program_path: request.program_path.clone().unwrap_or_else(|| PROGRAM.to_owned()),
        suite: request.suite.clone(),
        options: repeat.chain(request.options.iter().cloned()).collect(),
        directory: request.directory.clone(),
        nodes: request.nodes.clone(),
        pairing: request.pairing,
        network: request.network.clone(),
        hpl: request.hpl.clone(),
        seconds_per_node: seconds / request.nodes.len() as f64,
        task_seconds: expected.iter().map(|(area, seconds)| (area.name().to_owned(), *seconds)).collect(),
        lease_seconds: request.lease_seconds,
        attempts: request.attempts.max(1),
        seed: request.seed,
    };
    Ok((plan, tasks))
}

fn check_nodes(nodes: &[PlanNode]) -> Result<(), String> {
    if nodes.is_empty() {
        return Err("a plan needs at least one node; name some with --nodes or --hosts".to_owned());
    }
    if nodes.len() > MOST_NODES {
        return Err(format!("{} nodes are more than the {MOST_NODES} that a plan can have", nodes.len()));
    }
    let mut seen = BTreeSet::new();
    for PlanNode { name, .. } in nodes {
        if !is_plain_name(name) {
            return Err(format!(
                "'{}' is no name for a node: letters, digits, '-', '_' and '.', not beginning with a dot, at most 200",
                name.escape_debug()
            ));
        }
        if !seen.insert(name) {
            return Err(format!("the node '{name}' is named twice; name each once"));
        }
    }
    Ok(())
}

/// The program that nodes run, as a path.
#[must_use]
pub fn program_path(folder: &Folder, plan: &Plan) -> PathBuf {
    folder.path().join(&plan.program_path)
}

/// Writes a plan into its folder, which must be absent or empty, and a copy of `program` unless the plan names another
/// one. The plan itself comes last: a folder without it holds none. That all of it is on the disk is asked for once, at
/// the end. Where it cannot be written whole, nothing of it stays.
///
/// # Errors
/// A sentence: the folder is not empty, or cannot be written.
pub fn write(folder: &Folder, plan: &Plan, tasks: &[Task], program: &Path) -> Result<(), String> {
    check_empty(folder)?;
    let was_there = folder.path().exists();
    fill(folder, plan, tasks, program).inspect_err(|_| {
        // It was empty: all that is in it is ours.
        for name in [PROGRAM_FOLDER, State::Waiting.name()].iter().chain(FOLDERS) {
            let _ = fs::remove_dir_all(folder.path().join(name));
        }
        if !was_there {
            let _ = fs::remove_dir(folder.path());
        }
    })
}

fn fill(folder: &Folder, plan: &Plan, tasks: &[Task], program: &Path) -> Result<(), String> {
    make_folder(folder.path())?;
    if plan.program_path == PROGRAM {
        copy_program(program, &folder.path().join(PROGRAM))?;
    }
    for name in FOLDERS {
        make_folder(&folder.path().join(name))?;
    }
    let mut of_node: BTreeMap<&str, Vec<&Task>> =
        plan.nodes.iter().map(|node| (node.name.as_str(), Vec::new())).collect();
    for task in tasks {
        of_node.entry(&task.node).or_default().push(task);
    }
    let nodes: Vec<(&str, Vec<&Task>)> = of_node.into_iter().collect();
    std::thread::scope(|scope| {
        let part = |nodes| scope.spawn(move || fill_nodes(folder, nodes));
        let writers: Vec<_> = nodes.chunks(nodes.len().div_ceil(WRITERS).max(1)).map(part).collect();
        // All are waited for: what is still being written could not be taken away.
        let ended: Vec<_> = writers.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        ended.into_iter().try_for_each(|ended| ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })?;
    let synced = File::open(folder.path()).and_then(|folder| rustix::fs::syncfs(folder).map_err(io::Error::from));
    synced.map_err(|error| cannot_write(folder.path(), &error))?;
    write_file(&folder.path().join("plan.json"), plan)
}

/// Makes the folders of these nodes and writes their tasks, as they are to stay: nobody looks for tasks where there is no
/// plan yet.
fn fill_nodes(folder: &Folder, nodes: &[(&str, Vec<&Task>)]) -> Result<(), String> {
    for (node, tasks) in nodes {
        let waiting = folder.tasks(State::Waiting, node);
        make_folder(&waiting)?;
        let path = waiting.join(format!("{NODE}.json"));
        fs::write(&path, "{}").map_err(|error| cannot_write(&path, &error))?;
        for task in tasks {
            let path = waiting.join(format!("{}.json", task.name));
            fs::write(&path, in_words(task)?).map_err(|error| cannot_write(&path, &error))?;
        }
    }
    Ok(())
}

fn in_words(task: &Task) -> Result<Vec<u8>, String> {
    serde_json::to_vec(task).map_err(|error| format!("cannot put a task into words: {error}"))
}

/// Adds tasks to a plan's folder, for anybody to claim. One that is there already, or is over, must not be among them.
///
/// # Errors
/// A sentence: the folder cannot be written.
pub fn add(folder: &Folder, tasks: &[Task]) -> Result<(), String> {
    for task in tasks {
        let waiting = folder.tasks(State::Waiting, &task.node);
        let path = waiting.join(format!("{}.json", task.name));
        // Whole or not at all, since workers may be there already. A name with a dot is nobody's task.
        let unfinished = waiting.join(format!(".{}.unfinished", task.name));
        let bytes = in_words(task)?;
        let written = fs::write(&unfinished, bytes).and_then(|()| fs::rename(&unfinished, &path));
        written.map_err(|error| cannot_write(&path, &error))?;
    }
    Ok(())
}

/// Makes sure that the folder is absent or empty.
///
/// # Errors
/// A sentence with what is in it.
pub fn check_empty(folder: &Folder) -> Result<(), String> {
    let shown = folder.path().display();
    if folder.path().exists() && !folder.path().is_dir() {
        return Err(format!("'{shown}' is a file; name a folder for the plan"));
    }
    let found = names(folder.path())?;
    if found.iter().any(|name| name == "plan.json") {
        return Err(format!(
            "'{shown}' holds a plan already: go on with it by assay cluster run, or name another folder"
        ));
    }
    let ours = |name: &String| name == PROGRAM_FOLDER || name == State::Waiting.name();
    if found.iter().any(ours) {
        return Err(format!(
            "'{shown}' holds a plan that was cut off while it was made: remove the folder, and make the plan again"
        ));
    }
    match found.first() {
        Some(other) => Err(format!("'{shown}' is not empty: there is '{other}' in it; name a new folder")),
        None => Ok(()),
    }
}

fn make_folder(path: &Path) -> Result<(), String> {
    fs::create_dir_all(path).map_err(|error| cannot_write(path, &error))
}

/// Copies a program, so that nodes run what the plan was made with, whatever is installed on them.
fn copy_program(from: &Path, to: &Path) -> Result<(), String> {
    to.parent().map_or(Ok(()), make_folder)?;
    let copied = fs::copy(from, to)
        .and_then(|_| fs::set_permissions(to, fs::Permissions::from_mode(0o755)))
        .and_then(|()| File::open(to)?.sync_all());
    copied.map_err(|error| format!("cannot copy the program '{}': {}", from.display(), cannot_write(to, &error)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{machine_with_cpus, scratch};

    pub(crate) fn request(nodes: &[&str]) -> Request {
        let node = |name: &&str| PlanNode { name: (*name).to_owned(), partition: None };
        Request {
            name: "p".into(),
            created: "2026-11-22T12:00:00Z".into(),
            program: Program { version: "0.1.0".into(), git: None, profile: "debug".into(), argv: Vec::new() },
            program_path: None,
            suite: "quick".into(),
            areas: Vec::new(),
            filter: None,
            repeat: None,
            options: Vec::new(),
            directory: None,
            nodes: nodes.iter().map(node).collect(),
            pairing: None,
            network: None,
            hpl: None,
            lease_seconds: 60.0,
            attempts: 3,
            seed: 1,
        }
    }

    fn two() -> BTreeMap<Area, f64> {
        [(Area::Cpu, 10.0), (Area::Memory, 20.0)].into()
    }

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
            (&["n1", "n2", "n1"][..], "named twice"),
            (&["../n1"][..], "no name for a node"),
            (&["a\nb"][..], "'a\\nb'"),
            (&many[..], "more than the 100000"),
        ] {
            let error = make(&request(nodes), &two()).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        assert!(make(&request(&["n1"]), &BTreeMap::new()).unwrap_err().contains("nothing is measured"));
        for lease in [f64::NAN, 0.0, 1e9] {
            assert!(make(&Request { lease_seconds: lease, ..request(&["n1"]) }, &two()).is_err());
        }
    }

    #[test]
    fn loopback_is_measured_only_where_it_is_asked_for() {
        let machine = machine_with_cpus(2);
        let disk = || DiskTarget::look(std::env::temp_dir(), false);
        let areas = |areas: Vec<Area>| expected(&Request { areas, ..request(&["n1"]) }, &machine, disk());
        let all = areas(Vec::new()).unwrap();
        assert!(all.contains_key(&Area::Cpu) && all.contains_key(&Area::Disk) && !all.contains_key(&Area::Net));
        assert!(all.values().all(|seconds| *seconds > AROUND_SECONDS && *seconds < 600.0), "{all:?}");
        assert_eq!(areas(vec![Area::Net]).unwrap().into_keys().collect::<Vec<_>>(), [Area::Net]);
        let text = "name = \"t\"\n[[cpu]]\nop = \"fma\"\ntype = [\"fp64\"]\nisa = [\"scalar\"]\nthreads = [\"1\"]\n";
        let of_text = Request { suite: text.into(), ..request(&["n1"]) };
        assert_eq!(expected(&of_text, &machine, disk()).unwrap().len(), 1);
        assert!(expected(&Request { areas: vec![Area::Net], ..of_text }, &machine, disk()).is_err());
        let unknown = Request { suite: "nothing".into(), ..request(&["n1"]) };
        assert!(expected(&unknown, &machine, disk()).is_err());
    }

    #[test]
    fn a_plan_is_there_only_when_all_of_it_is() {
        let scratch = scratch();
        let folder = Folder::at(&scratch.path().join("plan"));
        let program = scratch.path().join("assay-here");
        fs::write(&program, "#!/bin/sh\n").unwrap();
        let (plan, tasks) = make(&request(&["n1", "n2"]), &two()).unwrap();
        assert!(folder.plan().unwrap_err().contains("holds no plan"));
        write(&folder, &plan, &tasks, &program).unwrap();
        assert_eq!(folder.plan().unwrap(), plan);
        let copy = program_path(&folder, &plan);
        assert_eq!(fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o755);
        let task: Task = super::super::folder::read(&folder.path().join("waiting/n2/cpu.json")).unwrap();
        assert_eq!(task, tasks[2]);
        assert!(write(&folder, &plan, &tasks, &program).unwrap_err().contains("holds a plan already"));
        fs::remove_file(folder.path().join("plan.json")).unwrap();
        assert!(write(&folder, &plan, &tasks, &program).unwrap_err().contains("cut off"));
        let other = Folder::at(scratch.path());
        assert!(write(&other, &plan, &tasks, &program).unwrap_err().contains("not empty"));
        let missing = Folder::at(&scratch.path().join("other"));
        assert!(write(&missing, &plan, &tasks, &scratch.path().join("none")).unwrap_err().contains("cannot copy"));
        assert!(!missing.path().exists(), "nothing of it stays");
        assert!(write(&Folder::at(&program), &plan, &tasks, &program).unwrap_err().contains("is a file"));
    }
}
