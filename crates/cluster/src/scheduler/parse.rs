//! What Slurm's commands print, as values. Pure: the commands themselves are in `slurm.rs`.
//!
//! Forms are from the manual pages of Slurm 20.11 to 25.05; outputs recorded from a real one are in `recorded/`. A line
//! that is not of the form asked for is left out where it is a remark, and is an error where a whole answer has none.

use super::error::SchedulerError;
use super::job::{Availability, JobEnd, Phase, Queued, Refusal};
use super::limits::UserLimits;

/// Arguments of `sinfo` for [`nodes`]: a line for each node in each partition.
pub(super) const NODES: &[&str] = &["sinfo", "--noheader", "-N", "-o", "%N|%R|%t|%E"];

/// A node in a partition.
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
    // The reason comes last, since people write it and may use any character.
    let mut words = line.trim().splitn(4, '|');
    let (name, partition, state) = (words.next()?, words.next()?, words.next()?);
    let reason = words.next().unwrap_or("none");
    if name.is_empty() || state.is_empty() {
        return None;
    }
    Some(NodeLine { name: name.into(), partition: partition.into(), availability: availability(state, reason) })
}

/// Compact states in which a node is not there: `sinfo(1)`, "NODE STATE CODES".
const DOWN: &[&str] =
    &["down", "drain", "drng", "fail", "failg", "inval", "unk", "unknown", "futr", "err", "boot", "no_respond"];

/// A node by its compact state and the reason that the site gave for it.
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
    // Other marks of an idle node: asleep, waking, about to be rebooted, planned for another job. It will not start at
    // once.
    if word == "idle" && mark.is_empty() { Availability::Idle } else { Availability::Busy(format!("{state}{because}")) }
}

/// The format of `squeue` for [`queue`]. `-r` gives a line to each task of an array, since limits count them so.
pub(super) const QUEUE: &str = "%i|%t|%r";

/// States, compact, of jobs that are over but still shown: `squeue(1)`, "JOB STATE CODES".
const OVER: &[&str] = &["BF", "CA", "CD", "DL", "F", "NF", "OOM", "PR", "RV", "TO"];

/// States of jobs that wait, for nodes or for somebody.
const WAITING: &[&str] = &["PD", "RD", "RF", "RH", "RQ"];

pub(super) fn queue(text: &str) -> Result<Vec<Queued>, SchedulerError> {
    let lines: Vec<(Queued, bool)> = text.lines().filter_map(queued).collect();
    if lines.is_empty() && !text.trim().is_empty() {
        return Err(unread("squeue", text));
    }
    Ok(lines.into_iter().filter(|(_, is_over)| !is_over).map(|(job, _)| job).collect())
}

/// A line of the queue, and whether the job is over.
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

/// A partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Partition {
    pub(super) name: String,
    pub(super) default: bool,
    pub(super) qos: Option<String>,
    /// The longest that a job may take, in seconds.
    pub(super) longest: Option<u64>,
    /// The most nodes that a job may have.
    pub(super) most_nodes: Option<u32>,
}

/// Reads what `scontrol show partition -o` printed.
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
            _ => {}
        }
    }
    (!found.name.is_empty()).then_some(found)
}

/// A duration as Slurm writes it, in seconds: `MIN`, `MIN:SS`, `H:MM:SS`, `D-H`, `D-HH:MM`, `D-HH:MM:SS`. `None` for
/// one without an end (`UNLIMITED`, `INFINITE`), or none at all.
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
pub(super) const ASSOCIATION: &str = "format=Account,Partition,DefaultQOS,QOS,MaxJobs,MaxSubmit,GrpJobs,GrpSubmit";

/// A user's association with an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Association {
    pub(super) account: String,
    /// The partition it is for; `None` for all.
    pub(super) partition: Option<String>,
    pub(super) default_qos: Option<String>,
    pub(super) qos: Vec<String>,
    pub(super) limits: UserLimits,
}

/// Reads a user's associations: none where nothing is accounted for. What a group may have counts as if we were all of
/// it.
pub(super) fn associations(text: &str) -> Vec<Association> {
    text.lines().filter_map(association).collect()
}

fn association(line: &str) -> Option<Association> {
    let words: Vec<&str> = line.trim_end().split('|').collect();
    let [account, partition, default_qos, qos, jobs, submit, group_jobs, group_submit, ..] = words.as_slice() else {
        return None;
    };
    let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let own = UserLimits { running: jobs.parse().ok(), submitted: submit.parse().ok() };
    let group = UserLimits { running: group_jobs.parse().ok(), submitted: group_submit.parse().ok() };
    Some(Association {
        account: some(account)?,
        partition: some(partition),
        default_qos: some(default_qos),
        qos: qos.split(',').filter_map(some).collect(),
        limits: own.and(group),
    })
}

/// The format of `sacctmgr show qos` for [`qualities`].
pub(super) const QUALITY: &str = "format=Name,MaxJobsPU,MaxSubmitPU,GrpJobs,GrpSubmit";

/// Reads the limits of each quality of service, by its name.
pub(super) fn qualities(text: &str) -> Vec<(String, UserLimits)> {
    text.lines().filter_map(quality).collect()
}

fn quality(line: &str) -> Option<(String, UserLimits)> {
    let words: Vec<&str> = line.trim_end().split('|').collect();
    let [name, jobs, submit, group_jobs, group_submit, ..] = words.as_slice() else { return None };
    let own = UserLimits { running: jobs.parse().ok(), submitted: submit.parse().ok() };
    let group = UserLimits { running: group_jobs.parse().ok(), submitted: group_submit.parse().ok() };
    (!name.is_empty()).then(|| ((*name).to_owned(), own.and(group)))
}

/// How a job ended, from what `scontrol show job -o` printed of it.
pub(super) fn job_end(text: &str) -> Option<JobEnd> {
    let value = |key: &str| text.split_whitespace().find_map(|word| word.strip_prefix(key));
    let (state, exit) = (value("JobState=")?, value("ExitCode=")?);
    // One that was requeued is not over, nor is one that completes.
    let is_over = !["PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "REQUEUED"].contains(&state);
    is_over.then(|| JobEnd { state: state.to_owned(), exit: exit.to_owned() })
}

/// The id that `sbatch --parsable` printed: `ID` or `ID;CLUSTER`, after any remarks of the site.
pub(super) fn submitted(text: &str) -> Option<String> {
    let last = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
    let id = last.split(';').next()?;
    (!id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit())).then(|| id.to_owned())
}

/// What `sbatch` says when a user, an account or the whole cluster has as many jobs as it may: Slurm's words for
/// reasons (`squeue(1)`, "JOB REASON CODES") and sentences of `slurm_strerror(3)`.
const LIMITED: &[&str] = &[
    "MaxSubmit",
    "GrpSubmit",
    "MaxJobs",
    "GrpJobs",
    "temporarily unable to accept job",
    "Resource temporarily unavailable",
];

/// The sentence for any limit of an association or a quality; alone it is taken for one of the number of jobs, beside a
/// reason of another kind (size, time) it is not.
const POLICY: &str = "Job violates accounting/QOS policy";

/// What it says when the controller cannot be asked.
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

/// What a refusal by `sbatch` or `srun` means.
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
    } else {
        Refusal::Wrong(text)
    }
}

fn unread(command: &'static str, text: &str) -> SchedulerError {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("nothing").chars().take(120).collect();
    SchedulerError::Unreadable(command, line)
}

/// The kinds in the answer to `srun --mpi=list`: words that stand alone on their lines, below or behind a heading.
pub(super) fn mpi_types(text: &str) -> Vec<String> {
    let plain = |line: &str| line.strip_prefix("srun:").unwrap_or(line).trim().to_owned();
    let is_kind = |word: &String| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    text.lines().map(plain).filter(is_kind).collect()
}

#[cfg(test)]
mod tests;
