//! One attempt at HPL across nodes, by the first node's worker: what it is run with, what it printed, what that says.
//!
//! In the attempt's folder stay `HPL.dat` as it was read, `hpl.txt` as it was printed, and `said.txt`.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::Arc;

use model::cluster::{Claim, HplPlan, NodeFacts, OutcomeStatus, Task, Work};
use sys::clock::monotonic_raw_seconds;

use super::launch::{self, Reach, machine, reach, usual};
use super::size::{Member, Size, size};
use crate::attempt::{
    Came, Ended, MOST_LOST, MOST_MORE_SECONDS, MOST_TIMES, Place, SAID, fail, last_words, outcome, publish, wait_out,
    work_folder,
};
use crate::claim;
use crate::evaluate::Standpoint;
use crate::folder::{State, cannot_write, read};
use crate::lease::Lease;
use crate::make::{NODE, program_path};
use crate::pairs::Here;
use crate::scheduler::{Environment, find_program, mpi_types};
use crate::tasks::tried;
use bench::reference::hpl;
use bench::reference::{Output, Reading};

/// The file with what it printed.
const PRINTED: &str = "hpl.txt";

/// The most that is read of what it printed, in bytes: a page for its one result, and what each process may complain of.
const MOST_PRINTED: u64 = 4 << 20;

/// HPL's number of the standard output.
const TO_STDOUT: u32 = 6;

/// Claims a task of this name and makes an attempt at it.
///
/// # Errors
/// A sentence: the folder cannot be read or written, or the program not started. The task has been given back then, if
/// that was possible.
pub(super) fn one(here: &Here<'_>, hpl: &HplPlan, name: &str, known: &[Standpoint]) -> Result<(), String> {
    let place = here.place;
    let folders = [State::Waiting, State::Running].map(|state| place.folder.tasks(state, place.node));
    let Some(held) = claim::claim(&folders[0], &folders[1], name, here.us)? else { return Ok(()) };
    let task: Task = read(held.path()).map_err(|error| format!("cannot read '{}': {error}", held.path().display()))?;
    let lease = place.leases.hold(held);
    let came = attempt(here, hpl, &task, &lease, known);
    place.leases.forget(&lease);
    match came {
        Ok(came) => {
            (here.came)(&task, &came);
            Ok(())
        }
        Err(why) => {
            let _ = lease.held().clone().give_back(&folders[0]);
            Err(why)
        }
    }
}

fn attempt(
    here: &Here<'_>,
    hpl: &HplPlan,
    task: &Task,
    lease: &Arc<Lease>,
    known: &[Standpoint],
) -> Result<Came, String> {
    let place = here.place;
    let (failed, lost) = tried(place.folder, place.node, &task.name)?;
    let mut outcome = outcome(task, &lease.held().claim, failed);
    let work = work_folder(place, &lease.held().seen());
    fs::create_dir_all(&work).map_err(|error| cannot_write(&work, &error))?;
    if lost >= MOST_LOST {
        outcome.reason = Some(format!("{lost} workers went away in the middle of it"));
        return publish(place, lease, &outcome);
    }
    let prepared = match prepare(place, hpl, task, known) {
        Ok(prepared) => prepared,
        // What is not there will not be there the next time.
        Err(why) => {
            (outcome.status, outcome.reason) = (OutcomeStatus::Skipped, Some(why));
            return publish(place, lease, &outcome);
        }
    };
    let size = &prepared.size;
    outcome.figures = figures(size);
    (here.tell)(&format!(
        "{}: {}, N = {}, {} processes on {} nodes, about {:.0} s",
        place.node, task.name, size.params.n, size.params.threads, prepared.nodes, size.seconds
    ));
    let began = monotonic_raw_seconds();
    let ended = launched(place, lease, &work, &prepared)?;
    outcome.seconds = monotonic_raw_seconds() - began;
    let judged = match ended {
        Ended::Exited(status) => {
            outcome.exit_status = status.code();
            judge(&work, status, size)
        }
        Ended::TooLong => Err(format!("ended by us after {:.0} s; {}", most_seconds(size), last_words(&work))),
        Ended::Stopped | Ended::Lost => {
            let given = lease.held().clone().give_back(&place.folder.tasks(State::Waiting, place.node))?;
            let _ = fs::remove_dir_all(&work);
            return Ok(if given { Came::GivenBack } else { Came::Lost });
        }
    };
    match judged {
        Ok(reading) => {
            outcome.figures.extend(measured(&reading));
            outcome.status = OutcomeStatus::Ok;
            publish(place, lease, &outcome)
        }
        Err(reason) => {
            outcome.reason = Some(reason);
            fail(place, lease, outcome)
        }
    }
}

/// What it is run with.
struct Prepared {
    argv: Vec<String>,
    environment: BTreeMap<String, String>,
    size: Size,
    nodes: usize,
}

/// Finds out what it can be run with.
///
/// # Errors
/// A sentence: why it cannot be run.
fn prepare(place: &Place<'_>, hpl: &HplPlan, task: &Task, known: &[Standpoint]) -> Result<Prepared, String> {
    let Work::Hpl(work) = &task.work else { return Err(format!("the task '{}' is none of HPL", task.name)) };
    let environment = Environment::of(&place.environment.iter().cloned().collect());
    let program = found(&hpl.program, &environment).ok_or_else(|| {
        format!(
            "'{}' is no program on '{}'; name the path of xhpl with assay cluster plan --hpl",
            hpl.program, place.node
        )
    })?;
    let workers = work.nodes.iter().map(|node| Ok((node.as_str(), worker(place, node)?)));
    let workers = workers.collect::<Result<Vec<(&str, Claim)>, String>>()?;
    let reach = reach(&workers.iter().map(|(node, claim)| (*node, claim)).collect::<Vec<_>>())?;
    let members = workers.iter().map(|(node, claim)| member(place, node, claim, known));
    let size = size(&members.collect::<Result<Vec<Member>, String>>()?, hpl.most_seconds)?;
    let launcher = launcher(hpl, &reach, &environment)?;
    let program = program.to_string_lossy();
    Ok(Prepared {
        argv: launch::command(&launcher, &reach, &work.nodes, &size, &program),
        environment: launch::environment(&size.params, &reach),
        nodes: work.nodes.len(),
        size,
    })
}

/// The program: a path as it is, a name by the search path.
fn found(program: &str, environment: &Environment) -> Option<PathBuf> {
    let path = Path::new(program);
    if path.is_absolute() { path.is_file().then(|| path.to_owned()) } else { find_program(program, environment) }
}

/// What starts the processes, with the program's path.
fn launcher(hpl: &HplPlan, reach: &Reach, environment: &Environment) -> Result<Vec<String>, String> {
    let mut words = hpl.launcher.clone();
    if words.is_empty() {
        words.push(usual(reach).to_owned());
        // Slurm's own default is often none, with which every process would believe to be alone.
        let has_pmix = matches!(reach, Reach::Job(_)) && mpi_types(environment).iter().any(|kind| kind == "pmix");
        words.extend(has_pmix.then(|| "--mpi=pmix".to_owned()));
    }
    let path = found(&words[0], environment).ok_or_else(|| {
        format!(
            "there is no '{}' on this node to start MPI's processes with; name what does with --hpl-launcher",
            words[0]
        )
    })?;
    words[0] = path.to_string_lossy().into_owned();
    Ok(words)
}

/// The worker that has a node.
fn worker(place: &Place<'_>, node: &str) -> Result<Claim, String> {
    let running = place.folder.tasks(State::Running, node);
    let seen = claim::claims(&running)?.into_iter().find(|seen| seen.name == NODE);
    let who = seen.and_then(|seen| read(&running.join(format!("{}.who", seen.plain()))).ok());
    who.ok_or_else(|| format!("the node '{node}' has no worker"))
}

/// What a node has.
fn member(place: &Place<'_>, node: &str, worker: &Claim, known: &[Standpoint]) -> Result<Member, String> {
    let path = place.folder.node(node).join("facts.json");
    let facts: NodeFacts = read(&path).map_err(|error| format!("cannot read '{}': {error}", path.display()))?;
    let limit = facts.settings.get("memory_limit_bytes").and_then(|text| text.parse::<u64>().ok());
    let total = facts.machine.memory.total_bytes;
    let memory_bytes = total.into_iter().chain(limit).min();
    let (host, boot) = machine(worker);
    Ok(Member {
        node: node.to_owned(),
        machine: format!("{host} {}", boot.unwrap_or_default()),
        cores: facts.machine.cpu.cores.or(facts.machine.cpu.threads).unwrap_or(1),
        memory_bytes: memory_bytes.ok_or_else(|| format!("the memory of the node '{node}' is not known"))?,
        rate: known.iter().find(|standpoint| standpoint.node == node).and_then(|standpoint| standpoint.rate),
    })
}

/// After so many seconds it is ended.
fn most_seconds(size: &Size) -> f64 {
    MOST_TIMES * size.seconds + MOST_MORE_SECONDS
}

/// Runs it in the attempt's folder until it ends or has to.
fn launched(place: &Place<'_>, lease: &Lease, work: &Path, prepared: &Prepared) -> Result<Ended, String> {
    let input = work.join(hpl::INPUT);
    fs::write(&input, hpl::input(&prepared.size.params, TO_STDOUT)).map_err(|error| cannot_write(&input, &error))?;
    let open = |name: &str| {
        let path = work.join(name);
        OpenOptions::new().create(true).append(true).open(&path).map_err(|error| cannot_write(&path, &error))
    };
    let (printed, said) = (open(PRINTED)?, open(SAID)?);
    let (program, rest) = prepared.argv.split_first().ok_or("HPL has no command")?;
    // Through the plan's program, so that the kernel ends the launcher with us, and it what it has started.
    let mut command = Command::new(program_path(place.folder, place.plan));
    command.args(["attempt", "--program", program, &std::process::id().to_string()]).args(rest);
    command.env_clear().envs(place.environment.iter().map(|(name, value)| (name, value))).envs(&prepared.environment);
    command.current_dir(work).stdout(printed).stderr(said);
    wait_out(command, place, lease, most_seconds(&prepared.size))
}

/// What it says, if it came to its end and found its own solution right.
fn judge(work: &Path, status: ExitStatus, size: &Size) -> Result<Reading, String> {
    let text = |name: &str| {
        let path = work.join(name);
        let whole = || format!("cannot read '{}'", path.display());
        let mut bytes = Vec::new();
        let file = File::open(&path).map_err(|error| format!("{}: {error}", whole()))?;
        std::io::Read::read_to_end(&mut std::io::Read::take(file, MOST_PRINTED), &mut bytes)
            .map_err(|error| format!("{}: {error}", whole()))?;
        Ok::<_, String>(String::from_utf8_lossy(&bytes).into_owned())
    };
    if let Some(signal) = status.signal() {
        return Err(format!("ended by signal {signal}; {}", last_words(work)));
    }
    let output = Output { stdout: text(PRINTED)?, stderr: text(SAID)?, status: status.code() };
    hpl::read("hpl", &output, &size.params)
}

/// What is known before it has run.
fn figures(size: &Size) -> BTreeMap<String, f64> {
    let (rows, columns) = size.grid;
    let known = [
        ("n", size.params.n as f64),
        ("nb", f64::from(size.params.nb.unwrap_or_default())),
        ("p", f64::from(rows)),
        ("q", f64::from(columns)),
    ];
    known.map(|(name, value)| (name.to_owned(), value)).into()
}

/// What is known afterwards.
fn measured(reading: &Reading) -> Vec<(String, f64)> {
    let detail = |name: &str| Some((name.to_owned(), reading.details.get(name)?.as_f64()?));
    let told = ["seconds", "residual", "nb", "p", "q"].into_iter().filter_map(detail);
    told.chain([("flop_per_s".to_owned(), reading.value)]).collect()
}
