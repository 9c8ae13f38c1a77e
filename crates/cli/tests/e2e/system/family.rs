//! The processes of a run in /proc.

use std::fs;
use std::time::Duration;

use crate::common::Ran;
use crate::system::process::{Running, wait_for};

struct Member {
    id: u32,
    parent: u32,
    group: u32,
    /// Ticks since boot.
    started: u64,
}

/// A process in /proc; `None` if it has ended.
fn member(id: u32) -> Option<Member> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // After the name in parentheses: state, parent, group …; start time is field 22 of all.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |field: usize| fields.get(field)?.parse().ok();
    let started = fields.get(19)?.parse().ok()?;
    (fields.first() != Some(&"Z")).then_some(Member { id, parent: number(1)?, group: number(2)?, started })
}

fn members() -> Vec<Member> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter_map(member).collect()
}

pub(crate) fn lives(process: u32) -> bool {
    member(process).is_some()
}

pub(crate) fn children(parent: u32) -> Vec<u32> {
    let mut children: Vec<Member> = members().into_iter().filter(|member| member.parent == parent).collect();
    children.sort_unstable_by_key(|child| (child.started, child.id));
    children.into_iter().map(|child| child.id).collect()
}

pub(crate) fn group(leader: u32) -> Vec<u32> {
    members().into_iter().filter(|member| member.group == leader).map(|member| member.id).collect()
}

/// A run that must end by itself within this time.
#[track_caller]
pub(crate) fn ended_within(run: Running, patience: Duration) -> Ran {
    let ended = wait_for(patience, || (!lives(run.id())).then_some(()));
    assert!(ended.is_some(), "it still runs after {patience:?}");
    run.end()
}
