//! The size of a plan's test files: as wanted, if all files that exist at the same time have room.

use std::collections::BTreeMap;

use model::disk_target::DiskTarget;
use model::experiment::DiskParams;
use model::io::DiskLayout;
use model::plan::PlanError;
use model::unit::format_size;
use model::wire::Grain;

use super::choice::DiskChoice;
use crate::request::Request;

/// Bytes of a page of memory.
pub const PAGE_BYTES: usize = 4096;
const MOST_RESERVE_BYTES: u64 = 2 << 30;
/// The most that is left free of a file system, as this part of it: fuller ones become slow, and other programs need room.
const RESERVE_PART: u64 = 20;
/// A file of our own choice is at least this large, in bytes: below, a drive's own cache may hold it.
const LEAST_FILE_BYTES: u64 = 64 << 20;

/// Where files are; by default as if there were room for everything.
#[derive(Default)]
pub(super) struct Ground<'a> {
    pub(super) target: Option<&'a DiskTarget>,
    pub(super) halvings: u32,
    pub(super) obstacle: Option<String>,
}

impl<'a> Ground<'a> {
    /// The ground of the benchmarks that are asked for; an error for a named directory that they cannot use.
    pub(super) fn find(request: &'a Request, asked: &[&DiskParams]) -> Result<Self, PlanError> {
        let Some(target) = &request.disk else {
            let obstacle = Some("no directory to measure disks in is known: name one with --dir".to_owned());
            return Ok(Self { target: None, halvings: 0, obstacle });
        };
        let (halvings, obstacle) = match &target.obstacle {
            Some(obstacle) if target.named && !asked.is_empty() => return Err(PlanError(obstacle.clone())),
            Some(obstacle) => (0, Some(obstacle.clone())),
            None => fit(target, &wishes(asked), !request.choices.disk.size.is_empty())?,
        };
        Ok(Self { target: Some(target), halvings, obstacle })
    }

    pub(super) fn size(&self, wanted: u64) -> u64 {
        halved(wanted, self.halvings)
    }
}

/// Checks that the sizes of test files are whole pages.
pub(super) fn check_sizes(stanzas: &[DiskChoice]) -> Result<(), PlanError> {
    let odd = |size: &u64| *size == 0 || !size.is_multiple_of(PAGE_BYTES as u64);
    let found = stanzas.iter().flat_map(|stanza| stanza.size.iter().copied()).find(odd);
    found.map_or(Ok(()), |size| {
        let why = "its size must be a multiple of 4 KiB";
        Err(PlanError(format!("a test file of {} is not possible: {why}", format_size(size))))
    })
}

/// The number of files of each size and grain; all of them exist at the same time.
fn wishes(asked: &[&DiskParams]) -> BTreeMap<(u64, Grain), u32> {
    let mut wishes: BTreeMap<(u64, Grain), u32> = BTreeMap::new();
    for params in asked {
        let count = wishes.entry((params.size, Grain::of_blocks(params.block))).or_default();
        *count = files_of(params.layout, params.threads).max(*count);
    }
    wishes
}

/// A size halved this many times, in whole pages and not below the least size.
fn halved(wanted: u64, halvings: u32) -> u64 {
    let page = PAGE_BYTES as u64;
    (wanted.checked_shr(halvings).unwrap_or(0) / page * page).max(wanted.min(LEAST_FILE_BYTES))
}

/// How often the sizes must be halved until all files fit; an error if the size was chosen.
fn fit(
    target: &DiskTarget,
    wishes: &BTreeMap<(u64, Grain), u32>,
    chosen: bool,
) -> Result<(u32, Option<String>), PlanError> {
    let reserve = MOST_RESERVE_BYTES.min(target.total_bytes / RESERVE_PART);
    let room = target.available_bytes.saturating_sub(reserve);
    let bytes = |halvings| {
        let files = wishes.iter().map(|((size, _), count)| halved(*size, halvings).saturating_mul(u64::from(*count)));
        files.fold(0, u64::saturating_add)
    };
    if bytes(0) <= room {
        return Ok((0, None));
    }
    let free = format!("{} are free, {} must stay free", rounded(target.available_bytes), rounded(reserve));
    let directory = target.directory.display();
    if chosen {
        let wanted = rounded(bytes(0));
        let what = match wishes.values().sum::<u32>() {
            1 => format!("a test file of {wanted} does"),
            files => format!("{files} test files of together {wanted} do"),
        };
        return Err(PlanError(format!("{what} not fit into '{directory}': {free}")));
    }
    // Each halving but the last makes a difference, and after 64 nothing is left to be halved.
    if let Some(halvings) = (1..u64::BITS).find(|halvings| bytes(*halvings) <= room) {
        return Ok((halvings, None));
    }
    let least = rounded(bytes(u64::BITS - 1));
    let which = if target.named { "another" } else { "a" };
    let advice = format!("name {which} directory with --dir, or free some");
    let obstacle = format!("'{directory}' is nearly full: {free}, and test files need {least} at least; {advice}");
    Ok((0, Some(obstacle)))
}

pub use model::number::size_rounded as rounded;

/// The number of files for this many threads.
pub fn files_of(layout: DiskLayout, threads: u32) -> u32 {
    if layout == DiskLayout::PerThread { threads } else { 1 }
}
