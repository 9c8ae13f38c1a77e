//! What campaigns of a plan leave in its folder for other commands: the mark of the last one, and the request to end.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use model::cluster::{CampaignMark, Claim};

use crate::claims::claim::{has_died, now_of};
use crate::error::{Result, cannot_write};
use crate::folder::{Folder, read, write};

/// A campaign that has not renewed its mark for this long is gone: longer than two polls, each with three commands of a
/// scheduler that does not answer.
const GONE: Duration = Duration::from_secs(480);

fn file(folder: &Folder) -> PathBuf {
    folder.path().join("campaign.json")
}

fn cancelled(folder: &Folder) -> PathBuf {
    folder.path().join("cancelled")
}

pub(super) fn set(folder: &Folder, claim: &Claim, text: &str, ended: Option<u8>) -> Result<()> {
    write(&file(folder), &CampaignMark { claim: claim.clone(), text: text.to_owned(), ended })
}

/// The last campaign of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct LastCampaign {
    /// What it left.
    pub mark: CampaignMark,
    /// Whether it still runs.
    pub is_alive: bool,
}

/// The last campaign of a plan; `None` before the first.
pub fn last(folder: &Folder, us: &Claim) -> Option<LastCampaign> {
    let mark: CampaignMark = read(&file(folder)).ok()?;
    let age = || {
        let renewed = fs::metadata(file(folder)).and_then(|data| data.modified()).ok()?;
        // In a folder that cannot be written its clock is unknown.
        now_of(folder.path()).ok().map(|now| now.duration_since(renewed).unwrap_or_default())
    };
    let is_alive = mark.ended.is_none() && !has_died(&mark.claim, us) && age().is_none_or(|age| age < GONE);
    Some(LastCampaign { mark, is_alive })
}

/// Asks the campaigns and workers of a plan to end; workers return their tasks.
pub fn cancel(folder: &Folder) -> Result<()> {
    let path = cancelled(folder);
    fs::write(&path, "").map_err(cannot_write(&path))
}

/// Whether the plan was cancelled since the last campaign began.
pub(crate) fn is_cancelled(folder: &Folder) -> bool {
    cancelled(folder).exists()
}

pub(super) fn forget_cancel(folder: &Folder) {
    let _ = fs::remove_file(cancelled(folder));
}
