//! Parsers of what Slurm's commands print, by the manual pages of Slurm 20.11 to 25.05; `recorded/` has output of a real one. A
//! line of another format is skipped as a remark; an output without any good line is an error. Pure.

use std::collections::BTreeMap;

use model::number::counted;

use super::error::SchedulerError;
use super::job::{Availability, JobEnd, Phase, Queued, Refusal};

/// Arguments of `sinfo` for [`nodes`]: a line for each node in each partition.
pub(super) const NODES: &[&str] = &["sinfo", "--noheader", "-N", "-o", "%N|%R|%t|%E"];

/// Arguments of `sinfo` for [`hardware`].
pub(super) const HARDWARE: &[&str] = &["sinfo", "--noheader", "-N", "-o", "%N|%c|%m|%G"];

/// The hardware of each node in words: CPUs, memory, generic resources.
pub(super) fn hardware(text: &str) -> BTreeMap<String, String> {
    let node = |line: &str| {
        let mut words = line.trim().splitn(4, '|');
        let name = words.next()?.to_owned();
        let (cpus, mib): (u64, u64) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let devices = words.next().filter(|devices| !matches!(*devices, "" | "(null)"));
        let devices = devices.map(|devices| format!(", {devices}")).unwrap_or_default();
        Some((name, format!("{}, {}{devices}", counted(cpus, "CPU"), rough_size(mib))))
    };
    text.lines().filter_map(node).collect()
}

/// Memory as an operator reads it: nodes of the same model differ by some MiB.
fn rough_size(mib: u64) -> String {
    format!("{:.0} GiB", mib as f64 / 1024.0)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NodeLine {
    pub(super) name: String,
    pub(super) partition: String,
    pub(super) availability: Availability,
}

pub(super) fn nodes(text: &str) -> Result<Vec<NodeLine>, SchedulerError> {
    let lines: Vec<NodeLine> = text.lines().filter_map(node).collect();
    if lines.is_empty() && !text.trim().is_empty() { Err(unread("sinfo", text)) } else { Ok(lines) }
}

fn node(line: &str) -> Option<NodeLine> {
    // The reason comes last, because people write it with any character.
    let mut words = line.trim().splitn(4, '|');
    let (name, partition, state) = (words.next()?, words.next()?, words.next()?);
    let reason = words.next().unwrap_or("none");
    if name.is_empty() || state.is_empty() {
        return None;
    }
    Some(NodeLine { name: name.into(), partition: partition.into(), availability: availability(state, reason) })
}

/// Compact states of unavailable nodes: `sinfo(1)`, "NODE STATE CODES".
const DOWN: &[&str] =
    &["down", "drain", "drng", "fail", "failg", "inval", "unk", "unknown", "futr", "err", "boot", "no_respond"];

/// A node's availability by its compact state and the site's reason.
fn availability(state: &str, reason: &str) -> Availability {
    let word = state.trim_end_matches(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let mark = &state[word.len()..];
    let because = match reason.trim() {
        "" | "none" | "(null)" => String::new(),
        reason => format!(" ({reason})"),
    };
    // `*`: the node does not answer.
    if DOWN.contains(&word) || mark.contains('*') {
        return Availability::Down(format!("{state}{because}"));
    }
    // Other marks: powered down, powering up, about to reboot, planned for another job. A job would not start at once.
    if word == "idle" && mark.is_empty() { Availability::Idle } else { Availability::Busy(format!("{state}{because}")) }
}

/// The format of `squeue` for [`queue`], with `-r`: a line for each task of an array, as limits count them.
pub(super) const QUEUE: &str = "%i|%t|%r";
/// Compact states of jobs that have ended but are still shown: `squeue(1)`, "JOB STATE CODES".
const OVER: &[&str] = &["BF", "CA", "CD", "DL", "F", "NF", "OOM", "PR", "RV", "TO"];
const WAITING: &[&str] = &["PD", "RD", "RF", "RH", "RQ"];

pub(super) fn queue(text: &str) -> Result<Vec<Queued>, SchedulerError> {
    let lines: Vec<(Queued, bool)> = text.lines().filter_map(queued).collect();
    if lines.is_empty() && !text.trim().is_empty() {
        return Err(unread("squeue", text));
    }
    Ok(lines.into_iter().filter(|(_, is_over)| !is_over).map(|(job, _)| job).collect())
}

/// A line of the queue, and whether the job has ended.
fn queued(line: &str) -> Option<(Queued, bool)> {
    let mut words = line.trim().splitn(3, '|');
    let (id, state) = (words.next()?, words.next()?);
    let reason = words.next().unwrap_or_default().to_owned();
    if !id.starts_with(|c: char| c.is_ascii_digit()) || state.is_empty() {
        return None;
    }
    let phase = if WAITING.contains(&state) { Phase::Pending } else { Phase::Running };
    Some((Queued { id: id.into(), phase, reason }, OVER.contains(&state)))
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Partition {
    pub(super) name: String,
    pub(super) default: bool,
    pub(super) qos: Option<String>,
    /// The longest time limit, in seconds.
    pub(super) longest: Option<u64>,
    pub(super) most_nodes: Option<u32>,
    /// Whether other jobs can use a job's nodes although it asks for whole ones (`OverSubscribe=FORCE`).
    pub(super) shared: bool,
}

/// Parses the output of `scontrol show partition -o`.
pub(super) fn partitions(text: &str) -> Result<Vec<Partition>, SchedulerError> {
    let partitions: Vec<Partition> = text.lines().filter_map(partition).collect();
    if partitions.is_empty() { Err(unread("scontrol show partition", text)) } else { Ok(partitions) }
}

fn partition(line: &str) -> Option<Partition> {
    let mut found = Partition::default();
    for (key, value) in line.split_whitespace().filter_map(|word| word.split_once('=')) {
        match key {
            "PartitionName" => value.clone_into(&mut found.name),
            "Default" => found.default = value == "YES",
            "QoS" => found.qos = Some(value.to_owned()).filter(|value| value != "N/A"),
            "MaxTime" => found.longest = duration(value),
            "MaxNodes" => found.most_nodes = value.parse().ok(),
            "OverSubscribe" => found.shared = value.starts_with("FORCE"),
            _ => {}
        }
    }
    (!found.name.is_empty()).then_some(found)
}

/// A duration of Slurm in seconds: `MIN`, `MIN:SS`, `H:MM:SS`, `D-H`, `D-HH:MM`, `D-HH:MM:SS`. `None` if it has no end
/// (`UNLIMITED`, `INFINITE`) or is none.
pub(super) fn duration(text: &str) -> Option<u64> {
    let number = |text: &str| text.parse::<u64>().ok();
    let (days, rest) = match text.split_once('-') {
        Some((days, rest)) => (Some(number(days)?), rest),
        None => (None, text),
    };
    let parts: Vec<u64> = rest.split(':').map(number).collect::<Option<_>>()?;
    let (hours, minutes, seconds) = match (days.is_some(), parts.as_slice()) {
        (true, [hours]) => (*hours, 0, 0),
        (true, [hours, minutes]) => (*hours, *minutes, 0),
        (false, [minutes]) => (0, *minutes, 0),
        (false, [minutes, seconds]) => (0, *minutes, *seconds),
        (_, [hours, minutes, seconds]) => (*hours, *minutes, *seconds),
        _ => return None,
    };
    let hours = days.unwrap_or(0).checked_mul(24)?.checked_add(hours)?;
    hours.checked_mul(60)?.checked_add(minutes)?.checked_mul(60)?.checked_add(seconds)
}

/// The format of `sacctmgr show assoc` for [`associations`].
pub(super) const ASSOCIATION: &str =
    "format=Account,Partition,DefaultQOS,QOS,MaxJobs,MaxSubmit,GrpJobs,GrpSubmit,MaxWall";

/// A user's association with an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Association {
    pub(super) account: String,
    /// Its partition; `None` for all.
    pub(super) partition: Option<String>,
    pub(super) default_qos: Option<String>,
    pub(super) qos: Vec<String>,
    /// The most jobs that it allows.
    pub(super) limit: Option<u32>,
    /// The longest time limit of a job, in seconds.
    pub(super) longest: Option<u64>,
}

/// Parses a user's associations; none without accounting. A group's limits count as if this user were alone in it.
pub(super) fn associations(text: &str) -> Vec<Association> {
    text.lines().filter_map(association).collect()
}

fn association(line: &str) -> Option<Association> {
    let words: Vec<&str> = line.trim_end().split('|').collect();
    let [account, partition, default_qos, qos, jobs, submit, group_jobs, group_submit, rest @ ..] = words.as_slice()
    else {
        return None;
    };
    let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    Some(Association {
        account: some(account)?,
        partition: some(partition),
        default_qos: some(default_qos),
        qos: qos.split(',').filter_map(some).collect(),
        limit: limit([jobs, submit, group_jobs, group_submit]),
        longest: rest.first().and_then(|wall| duration(wall)),
    })
}

/// The format of `sacctmgr show qos` for [`qualities`].
pub(super) const QUALITY: &str = "format=Name,MaxJobsPU,MaxSubmitPU,GrpJobs,GrpSubmit,MaxWall";

/// What a quality of service allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Quality {
    /// The most jobs.
    pub(super) limit: Option<u32>,
    /// The longest time limit of a job, in seconds.
    pub(super) longest: Option<u64>,
}

/// Parses the qualities of service with their names.
pub(super) fn qualities(text: &str) -> Vec<(String, Quality)> {
    let quality = |line: &str| {
        let words: Vec<&str> = line.trim_end().split('|').collect();
        let [name, jobs, submit, group_jobs, group_submit, rest @ ..] = words.as_slice() else { return None };
        let limit = limit([jobs, submit, group_jobs, group_submit]);
        let longest = rest.first().and_then(|wall| duration(wall));
        (!name.is_empty()).then(|| ((*name).to_owned(), Quality { limit, longest }))
    };
    text.lines().filter_map(quality).collect()
}

/// The least of the limits of running and submitted jobs, of a user and of a group.
fn limit(words: [&str; 4]) -> Option<u32> {
    words.iter().filter_map(|word| word.parse().ok()).min()
}

/// How a job ended, from the output of `scontrol show job -o`.
pub(super) fn job_end(text: &str) -> Option<JobEnd> {
    let value = |key: &str| text.split_whitespace().find_map(|word| word.strip_prefix(key));
    let (state, exit) = (value("JobState=")?, value("ExitCode=")?);
    ended(state, exit)
}

/// Arguments of `sacct` for [`accounted_end`], before the job's id: the controller forgets jobs after some minutes.
pub(super) const ACCOUNTED: &[&str] = &["sacct", "-n", "-P", "-X", "-o", "State,ExitCode", "-j"];

/// How a job ended, from the output of [`ACCOUNTED`], such as `CANCELLED by 1000|0:15`.
pub(super) fn accounted_end(text: &str) -> Option<JobEnd> {
    let (state, exit) = text.lines().last()?.trim().split_once('|')?;
    ended(state.split(' ').next()?, exit)
}

/// A job that is requeued or completing has not ended.
fn ended(state: &str, exit: &str) -> Option<JobEnd> {
    let is_over = !["PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "REQUEUED"].contains(&state);
    is_over.then(|| JobEnd { state: state.to_owned(), exit: exit.to_owned() })
}

/// The id that `sbatch --parsable` printed: `ID` or `ID;CLUSTER`, after remarks of the site.
pub(super) fn submitted(text: &str) -> Option<String> {
    let last = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
    let id = last.split(';').next()?;
    (!id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit())).then(|| id.to_owned())
}

/// Too many jobs: Slurm's reasons (`squeue(1)`, "JOB REASON CODES") and messages of `slurm_strerror(3)`.
const LIMITED: &[&str] = &[
    "MaxSubmit",
    "GrpSubmit",
    "MaxJobs",
    "GrpJobs",
    "temporarily unable to accept job",
    "Resource temporarily unavailable",
];

/// The message for any limit of an association or a quality of service: alone, or with another reason (size, time).
const POLICY: &str = "Job violates accounting/QOS policy";

/// Messages when the controller cannot be reached.
const UNREACHABLE: &[&str] = &[
    "Unable to contact slurm controller",
    "Socket timed out",
    "Connection refused",
    "Connection timed out",
    "Zero Bytes were transmitted",
    "Slurm backup controller in standby mode",
    "Communication connection failure",
    "system is shutting down",
];

/// Messages about options that every job of the plan has.
const OPTIONS: &[&str] = &[
    "Invalid account",
    "Invalid qos",
    "Invalid partition name",
    "invalid partition specified",
    "Invalid feature specification",
    "Invalid reservation",
    "Requested reservation is invalid",
    "Invalid license",
    "Invalid generic resource",
    "not permitted to use this partition",
    "unrecognized option",
    "invalid option",
];

/// The kind of a refusal by `sbatch` or `srun`.
pub(super) fn refusal(said: &str) -> Refusal {
    let has = |words: &[&str]| words.iter().any(|word| said.contains(word));
    let other_limit = ["Assoc", "QOS"].iter().any(|start| {
        let words = said.split(|c: char| !c.is_ascii_alphanumeric());
        words.into_iter().any(|word| word.len() > start.len() && word.starts_with(start) && word.contains("Max"))
    });
    let text = said.trim().to_owned();
    if has(LIMITED) || said.contains(POLICY) && !other_limit {
        Refusal::Limit(text)
    } else if has(UNREACHABLE) {
        Refusal::Unreachable(text)
    } else if has(OPTIONS) {
        Refusal::Options(text)
    } else {
        Refusal::Wrong(text)
    }
}

fn unread(command: &'static str, text: &str) -> SchedulerError {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("nothing").chars().take(120).collect();
    SchedulerError::Unreadable(command, line)
}

/// The MPI types in the output of `srun --mpi=list`: single words on their lines, below or after a heading.
pub(super) fn mpi_types(text: &str) -> Vec<String> {
    let plain = |line: &str| line.strip_prefix("srun:").unwrap_or(line).trim().to_owned();
    let is_kind = |word: &String| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    text.lines().map(plain).filter(is_kind).collect()
}

#[cfg(test)]
mod tests;
