//! The summary of a complete run, in a small file next to its document: lists and searches read nothing else of a run.
//!
//! It is a cache. It is written again where it is missing or of another state of the document.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use model::document::Document;
use model::machine::Machine;
use model::warning::Confidence;
use serde::{Deserialize, Serialize};
use sys::file::{Directory, is_own, read_regular};

use super::read::{DOCUMENT, load_folder};
use super::write::write_unsynced;

const SUMMARY: &str = "summary.json";
/// A summary has a few hundred bytes.
const MOST_BYTES: u64 = 64 << 10;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    pub suite: String,
    pub started: String,
    pub seconds: f64,
    pub complete: bool,
    pub confidence: Option<Confidence>,
    pub label: Option<String>,
    pub planned: usize,
    pub measured: usize,
    pub(super) host: Option<String>,
    cpu: Option<String>,
    cores: Option<u32>,
}

impl From<&Document> for RunSummary {
    fn from(document: &Document) -> Self {
        let (run, machine) = (&document.run, &document.machine);
        Self {
            suite: run.suite.clone(),
            started: run.started.clone(),
            seconds: run.seconds,
            complete: run.complete,
            confidence: run.confidence,
            label: run.label.clone(),
            planned: document.experiments.len(),
            measured: document.experiments.iter().filter(|row| row.confidence.is_some()).count(),
            host: machine.host.clone(),
            cpu: machine.cpu.model_name.clone(),
            cores: machine.cpu.cores,
        }
    }
}

impl RunSummary {
    /// Whether it can be of this machine; its document has the last word.
    pub(super) fn may_be_of(&self, machine: &Machine) -> bool {
        (&self.cpu, self.cores) == (&machine.cpu.model_name, machine.cpu.cores)
    }
}

/// A summary as it is stored.
#[derive(Serialize, Deserialize)]
struct Stored {
    /// Size and time of change of the document that it is of.
    document: [i64; 3],
    run: RunSummary,
}

fn stamp(folder: &Path) -> Option<[i64; 3]> {
    let found = fs::metadata(folder.join(DOCUMENT)).ok()?;
    Some([i64::try_from(found.size()).ok()?, found.mtime(), found.mtime_nsec()])
}

pub(super) fn summary(folder: &Path) -> Result<RunSummary, String> {
    let stored = read_regular(&folder.join(SUMMARY), MOST_BYTES).ok();
    let stored = stored.and_then(|bytes| serde_json::from_slice::<Stored>(&bytes).ok());
    if let Some(stored) = stored.filter(|stored| Some(stored.document) == stamp(folder)) {
        return Ok(stored.run);
    }
    let summary = RunSummary::from(&load_folder(folder)?);
    // The journal of an interrupted run may still grow.
    if summary.complete {
        store(folder, &summary);
    }
    Ok(summary)
}

/// Stores a summary in a folder of this user; a failure costs only time.
pub(super) fn store(folder: &Path, summary: &RunSummary) {
    let is_ours = fs::metadata(folder).is_ok_and(|found| is_own(&found));
    let Some(document) = stamp(folder).filter(|_| is_ours) else { return };
    let text = serde_json::to_vec(&Stored { document, run: summary.clone() }).unwrap_or_default();
    let name = OsStr::new(SUMMARY);
    // Not synced: a damaged one is written again.
    let _ = Directory::open(folder)
        .and_then(|directory| write_unsynced(&directory, name, [text])?.publish(&directory, name));
}
