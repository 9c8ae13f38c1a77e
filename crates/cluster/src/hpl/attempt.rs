//! One attempt at HPL across nodes by the first node's worker. `HPL.dat`, `hpl.txt` (its output) and `stderr.txt` stay in
//! the attempt's folder.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use model::cluster::{Claim, HplPlan, NodeFacts, OutcomeStatus, Task, Work};
use sys::clock::monotonic_raw_seconds;
use tools::{Output, Reading, hpl};
use verdict::fleet::Standpoint;

use super::launch::{self, Reach, machine, reach};
use super::size::{Member, Size, size};
use crate::attempt::context::{
    AttemptResult, MOST_LOST, MOST_MORE_SECONDS, MOST_TIMES, NodeContext, ProcessEnd, outcome,
};
use crate::attempt::process::{STDERR, append_to, last_words, wait_out};
use crate::attempt::publish::{fail, publish};
use crate::claims::claim;
use crate::claims::lease::Lease;
use crate::error::{Result, cannot_read, cannot_write};
use crate::folder::{FACTS, NODE, State, make_folder, read};
use crate::network::idle::IdleWorker;
use crate::scheduler::command::{Environment, find_program};
use crate::scheduler::slurm::mpi_types;
use crate::tasks::tried;

const PRINTED: &str = "hpl.txt";
/// The most bytes that are read of its output: one page for the result, the rest for messages of the processes.
const MOST_PRINTED: u64 = 4 << 20;
const TO_STDOUT: u32 = 6;

/// Claims a task of this name and makes an attempt at it. After an error the task has been returned, if possible.
pub(super) fn attempt_task(worker: &IdleWorker<'_>, hpl: &HplPlan, name: &str, known: &[Standpoint]) -> Result<()> {
    let context = worker.context;
    let (waiting, running) = context.folder.open_tasks(context.node);
    let Some(held) = claim::claim(&waiting, &running, name, worker.us)? else { return Ok(()) };
    let task = held.task()?;
    let result = context.with_lease(held, |lease| attempt(worker, hpl, &task, lease, known))?;
    (worker.on_result)(&task, &result);
    Ok(())
}

fn attempt(
    worker: &IdleWorker<'_>,
    hpl: &HplPlan,
    task: &Task,
    lease: &Lease,
    known: &[Standpoint],
) -> Result<AttemptResult> {
    let context = worker.context;
    let (failed, lost) = tried(context.folder, context.node, &task.name)?;
    let mut outcome = outcome(task, &lease.held().claim, failed);
    let work = context.work_folder(&lease.held().seen());
    make_folder(&work)?;
    if lost >= MOST_LOST {
        outcome.reason = Some(format!("{lost} workers were lost during this task"));
        return publish(context, lease, &outcome);
    }
    let prepared = match prepare(context, hpl, task, known) {
        Ok(prepared) => prepared,
        // What is missing now will be missing in the next attempt.
        Err(why) => {
            (outcome.status, outcome.reason) = (OutcomeStatus::Skipped, Some(why));
            return publish(context, lease, &outcome);
        }
    };
    let size = &prepared.size;
    let (rows, columns) = size.grid;
    let nb = f64::from(size.params.nb.unwrap_or_default());
    let known = [("n", size.params.n as f64), ("nb", nb), ("p", f64::from(rows)), ("q", f64::from(columns))];
    outcome.values = known.map(|(name, value)| (name.to_owned(), value)).into();
    (worker.report)(&format!(
        "{}: {}, N = {}, {} processes on {} nodes, about {:.0} s",
        context.node, task.name, size.params.n, size.params.threads, prepared.nodes, size.seconds
    ));
    let began = monotonic_raw_seconds();
    let ended = launched(context, lease, &work, &prepared)?;
    outcome.seconds = monotonic_raw_seconds() - began;
    let judged = match ended {
        ProcessEnd::Exited(status) => {
            outcome.exit_status = status.code();
            judge(&work, status, size)
        }
        ProcessEnd::TimedOut => Err(format!("timed out after {:.0} s; {}", most_seconds(size), last_words(&work))),
        ProcessEnd::Stopped | ProcessEnd::LeaseLost => {
            let is_ours = context.give_back(lease)?;
            let _ = fs::remove_dir_all(&work);
            return Ok(AttemptResult::returned(is_ours));
        }
    };
    match judged {
        Ok(reading) => {
            let detail = |name: &str| Some((name.to_owned(), reading.details.get(name)?.as_f64()?));
            outcome.values.extend(["seconds", "residual", "nb", "p", "q"].into_iter().filter_map(detail));
            outcome.values.insert("flop_per_s".to_owned(), reading.value);
            outcome.status = OutcomeStatus::Ok;
            publish(context, lease, &outcome)
        }
        Err(reason) => {
            outcome.reason = Some(reason);
            fail(context, lease, outcome)
        }
    }
}

type Reasoned<T> = std::result::Result<T, String>;

struct Prepared {
    argv: Vec<String>,
    environment: BTreeMap<String, String>,
    size: Size,
    nodes: usize,
}

fn prepare(context: &NodeContext<'_>, hpl: &HplPlan, task: &Task, known: &[Standpoint]) -> Reasoned<Prepared> {
    let Work::Hpl(work) = &task.work else { return Err(format!("the task '{}' is not an HPL task", task.name)) };
    let environment = Environment::of(&context.environment.iter().cloned().collect());
    let program = found(&hpl.program, &environment).ok_or_else(|| {
        let node = context.node;
        format!("'{}' is not a program on '{node}'. Give the path of xhpl with assay cluster plan --hpl", hpl.program)
    })?;
    let workers = work.nodes.iter().map(|node| Ok((node.as_str(), worker(context, node)?)));
    let workers = workers.collect::<Reasoned<Vec<(&str, Claim)>>>()?;
    let reach = reach(&workers.iter().map(|(node, claim)| (*node, claim)).collect::<Vec<_>>())?;
    let members = workers.iter().map(|(node, claim)| member(context, node, claim, known));
    let size = size(&members.collect::<Reasoned<Vec<Member>>>()?, hpl.most_seconds)?;
    let launcher = launcher(hpl, &reach, &environment)?;
    let program = program.to_string_lossy();
    Ok(Prepared {
        argv: launch::command(&launcher, &reach, &work.nodes, &size, &program),
        environment: launch::environment(&size.params, &reach),
        nodes: work.nodes.len(),
        size,
    })
}

/// A path as it is, a name by the search path.
fn found(program: &str, environment: &Environment) -> Option<PathBuf> {
    let path = Path::new(program);
    if path.is_absolute() { path.is_file().then(|| path.to_owned()) } else { find_program(program, environment) }
}

/// The launcher's words, the first of them a path.
fn launcher(hpl: &HplPlan, reach: &Reach, environment: &Environment) -> Reasoned<Vec<String>> {
    let mut words = hpl.launcher.clone();
    if words.is_empty() {
        words.push(if matches!(reach, Reach::Job(_)) { "srun" } else { "mpirun" }.to_owned());
        // Slurm's default is often none, with which every process is a run of its own.
        let has_pmix = matches!(reach, Reach::Job(_)) && mpi_types(environment).iter().any(|kind| kind == "pmix");
        words.extend(has_pmix.then(|| "--mpi=pmix".to_owned()));
    }
    let path = found(&words[0], environment).ok_or_else(|| {
        let name = &words[0];
        format!("the MPI launcher '{name}' is not installed on this node. Choose another with --hpl-launcher")
    })?;
    words[0] = path.to_string_lossy().into_owned();
    Ok(words)
}

fn worker(context: &NodeContext<'_>, node: &str) -> Reasoned<Claim> {
    let running = context.folder.tasks(State::Running, node);
    let seen = claim::claims(&running)?.into_iter().find(|seen| seen.name == NODE);
    let who = seen.and_then(|seen| seen.claimer(&running));
    who.ok_or_else(|| format!("the node '{node}' has no worker"))
}

fn member(context: &NodeContext<'_>, node: &str, worker: &Claim, known: &[Standpoint]) -> Reasoned<Member> {
    let path = context.folder.node(node).join(FACTS);
    let facts: NodeFacts = read(&path).map_err(cannot_read(&path))?;
    let limit = facts.settings.get("memory_limit_bytes").and_then(|text| text.parse::<u64>().ok());
    let total = facts.machine.memory.total_bytes;
    let memory_bytes = total.into_iter().chain(limit).min();
    let (host, boot) = machine(worker);
    Ok(Member {
        node: node.to_owned(),
        machine: format!("{host} {}", boot.unwrap_or_default()),
        cores: facts.machine.cpu.cores.or(facts.machine.cpu.threads).unwrap_or(1),
        memory_bytes: memory_bytes.ok_or_else(|| format!("the memory size of the node '{node}' is unknown"))?,
        rate: known.iter().find(|standpoint| standpoint.node == node).and_then(|standpoint| standpoint.rate),
    })
}

fn most_seconds(size: &Size) -> f64 {
    MOST_TIMES * size.seconds + MOST_MORE_SECONDS
}

/// Runs HPL in the attempt's folder until it ends or has to be ended.
fn launched(context: &NodeContext<'_>, lease: &Lease, work: &Path, prepared: &Prepared) -> Result<ProcessEnd> {
    let input = work.join(hpl::INPUT);
    fs::write(&input, hpl::input(&prepared.size.params, TO_STDOUT)).map_err(cannot_write(&input))?;
    let (printed, said) = (append_to(work, PRINTED)?, append_to(work, STDERR)?);
    // Through the plan's program, so that the launcher ends with this worker.
    let mut command = Command::new(context.folder.program(context.plan));
    command
        .args(["attempt", "--program", &prepared.argv[0], &std::process::id().to_string()])
        .args(&prepared.argv[1..]);
    command.env_clear().envs(context.environment.iter().map(|(name, value)| (name, value))).envs(&prepared.environment);
    command.current_dir(work).stdout(printed).stderr(said);
    wait_out(command, context, lease, most_seconds(&prepared.size))
}

/// The result, if it ended well and its own check passed.
fn judge(work: &Path, status: ExitStatus, size: &Size) -> Reasoned<Reading> {
    let text = |name: &str| {
        let path = work.join(name);
        let mut bytes = Vec::new();
        let read = File::open(&path).and_then(|file| file.take(MOST_PRINTED).read_to_end(&mut bytes));
        read.map_err(cannot_read(&path)).map(|_| String::from_utf8_lossy(&bytes).into_owned())
    };
    if let Some(signal) = status.signal() {
        return Err(format!("ended by signal {signal}; {}", last_words(work)));
    }
    let output = Output { stdout: text(PRINTED)?, stderr: text(STDERR)?, status: status.code() };
    hpl::read("hpl", &output, &size.params)
}
