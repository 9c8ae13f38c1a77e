//! The journal of a run: its plan, samples, outcomes, and everything that would outlive a killed run, noted before it exists.
//!
//! One JSON object per line, append-only. It is removed when nothing is left to do; else a later run resumes from it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use model::json::FromJson;
use model::plan::Plan;
use model::surroundings::Change;
use model::wire::MetricSample;
use serde::{Deserialize, Serialize};
use sys::file::{is_only_ours, is_own, open_regular_to_append, read_regular};

use crate::evidence::{Outcome, Repetition};
use crate::leftovers::Owner;
use crate::references::ToolProgress;
use crate::references::detect::Detected;

pub const JOURNAL: &str = "journal.jsonl";
/// The largest journal that is read.
const MOST_BYTES: u64 = 240 << 20;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Entry {
    /// The process that writes from here on.
    Owner(Owner),
    Asked(Box<Asked>),
    /// A file that must not outlive the run.
    WillMake {
        path: PathBuf,
    },
    /// A group leader (a reference tool or its server) that must not outlive the run.
    Started(Owner),
    Sample(Journalled),
    Launched(EndedRun),
    /// The last process run was disturbed and is repeated.
    Again {
        id: String,
    },
    /// The time budget ended a benchmark with its required samples.
    Enough {
        id: String,
    },
    ReferenceTools {
        id: String,
        tools: Vec<ToolProgress>,
    },
    /// Samples of these process runs no longer count.
    Dropped {
        id: String,
        launches: Vec<u32>,
    },
    Retried {
        id: String,
    },
}

model::from_tagged_json!(Entry {
    "owner" => Owner(value),
    "asked" => Asked(value),
    "will_make" => WillMake { path: PathBuf },
    "started" => Started(value),
    "sample" => Sample(value),
    "launched" => Launched(value),
    "again" => Again { id: String },
    "enough" => Enough { id: String },
    "reference_tools" => ReferenceTools { id: String, tools: Vec<ToolProgress> },
    // Of version 0.1.
    "beside" => ReferenceTools { id: String, tools: Vec<ToolProgress> },
    "dropped" => Dropped { id: String, launches: Vec<u32> },
    "retried" => Retried { id: String },
});

impl Entry {
    pub(crate) fn row(&self) -> Option<&str> {
        match self {
            Self::Owner(_) | Self::Asked(_) | Self::WillMake { .. } | Self::Started(_) => None,
            Self::Sample(Journalled { id, .. })
            | Self::Launched(EndedRun { id, .. })
            | Self::Again { id }
            | Self::Enough { id }
            | Self::ReferenceTools { id, .. }
            | Self::Dropped { id, .. }
            | Self::Retried { id } => Some(id),
        }
    }
}

/// What a run was asked to do. It has the plan itself, because disk space, memory and suite files may have changed since.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    pub plan: Plan,
    pub verify_only: bool,
    /// The directory for disks, and whether it was given.
    pub disk: Option<(PathBuf, bool)>,
    /// Address and port of the server.
    pub server: Option<String>,
    /// The plan's reference tools as they were found, by id.
    pub(crate) tools: Detected,
}

impl Asked {
    pub(crate) fn unknown_tool(&self) -> Option<&str> {
        let mut tools = self.plan.rows.iter().flat_map(|row| &row.reference_tools);
        tools.find(|tool| tools::find(tool).is_none()).map(String::as_str)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Sample")]
pub(crate) struct Journalled {
    pub(crate) id: String,
    #[serde(flatten)]
    pub(crate) repetition: Repetition,
}

/// [`Journalled`] as it is read.
#[derive(Deserialize)]
struct Sample {
    id: String,
    metrics: Vec<MetricSample>,
    histogram: Option<String>,
}

impl From<Sample> for Journalled {
    fn from(Sample { id, metrics, histogram }: Sample) -> Self {
        Self { id, repetition: Repetition { metrics, histogram } }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct EndedRun {
    pub(crate) id: String,
    pub(crate) launch: u32,
    pub(crate) seconds: f64,
    /// The kernel's counters all over the machine meanwhile.
    pub(crate) around: Box<Change>,
    pub(crate) outcome: Outcome,
}

#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    path: PathBuf,
    will_make: Vec<PathBuf>,
    /// The last line was not written whole.
    broken: bool,
}

impl Journal {
    pub(crate) fn create(folder: &Path) -> io::Result<Self> {
        let path = folder.join(JOURNAL);
        // Writable by its owner only: a sweep believes no other journal.
        let file = OpenOptions::new().create_new(true).append(true).mode(0o644).open(&path)?;
        // Without file locks, only the owner's process shows that the run is active.
        let _ = file.try_lock();
        let mut journal = Self { file, path, will_make: Vec::new(), broken: false };
        let begun = journal.take_over();
        begun.inspect_err(|_| {
            let _ = fs::remove_file(&journal.path);
        })?;
        Ok(journal)
    }

    /// Reopens the journal of an interrupted run and reads its entries; writes nothing.
    pub(crate) fn reopen(folder: &Path) -> Result<(Self, Vec<Entry>), Reopening> {
        let path = folder.join(JOURNAL);
        let file = own(folder).map_err(Reopening::Unusable)?;
        let locked = file.try_lock();
        let bytes = read_whole(&file).map_err(Reopening::Unusable)?;
        let entries: Vec<Entry> = parse(&bytes).collect();
        match (locked, owner(&entries)) {
            (Err(TryLockError::WouldBlock), owner) => return Err(Reopening::Alive(owner.map(|owner| owner.process))),
            (_, Some(owner)) if !owner.is_gone() => return Err(Reopening::Alive(Some(owner.process))),
            _ => {}
        }
        // The next line ends one that was cut off.
        let broken = bytes.last().is_some_and(|last| *last != b'\n');
        Ok((Self { file, path, will_make: Vec::new(), broken }, entries))
    }

    pub(crate) fn take_over(&mut self) -> io::Result<()> {
        self.note(&Entry::Owner(Owner::of(std::process::id())))
    }

    pub(crate) fn will_make(&mut self, path: &Path) -> io::Result<()> {
        self.will_make.push(path.to_owned());
        self.note(&Entry::WillMake { path: path.to_owned() })
    }

    pub(crate) fn note(&mut self, entry: &Entry) -> io::Result<()> {
        // End a line that was not written whole, or this one would be lost with it.
        let mut line = if self.broken { vec![b'\n'] } else { Vec::new() };
        serde_json::to_writer(&mut line, entry)?;
        line.push(b'\n');
        // One write: a line is whole, or it is the last one and broken.
        let written = self.file.write_all(&line);
        self.broken = written.is_err();
        written
    }

    /// Ends the journal, which stays if something is left to do.
    pub(crate) fn end(self, is_left: bool) {
        // Most had a name only for a moment. Removing even absent files would wait for a hanging disk.
        for path in self.will_make.iter().filter(|path| path.symlink_metadata().is_ok()) {
            let _ = fs::remove_file(path);
        }
        let _ = if is_left { self.file.sync_all() } else { fs::remove_file(&self.path) };
    }
}

#[derive(Debug)]
pub(crate) enum Reopening {
    /// It is being measured by this process, if known.
    Alive(Option<u32>),
    /// The journal is missing, unreadable or unwritable.
    Unusable(io::Error),
}

/// Opens the journal in a folder of this user. A journal names files to remove and processes to end, so one that another
/// user could have written is refused.
fn own(folder: &Path) -> io::Result<File> {
    let file = open_regular_to_append(&folder.join(JOURNAL))?;
    let found = file.metadata()?;
    if is_own(&fs::metadata(folder)?) && is_only_ours(&found) && found.nlink() == 1 {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::PermissionDenied, "another user owns it or may write to it"))
}

fn read_whole(mut file: &File) -> io::Result<Vec<u8>> {
    if file.metadata()?.len() > MOST_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(MOST_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The lines of a journal; cut-off lines and those of later versions are skipped.
fn parse(bytes: &[u8]) -> impl Iterator<Item = Entry> {
    bytes.split(|byte| *byte == b'\n').filter_map(|line| Entry::from_json(line).ok())
}

/// Parses bytes as a journal and writes its entries: for the fuzzer, which looks for panics.
#[doc(hidden)]
pub fn read_as_journal(bytes: &[u8]) {
    for entry in parse(bytes) {
        entry.row();
        let _ = serde_json::to_string(&entry);
    }
}

fn owner(entries: &[Entry]) -> Option<&Owner> {
    entries.iter().rev().find_map(|entry| if let Entry::Owner(owner) = entry { Some(owner) } else { None })
}

/// The samples in a run's journal, which may be another user's.
pub(crate) fn samples(folder: &Path) -> Vec<Journalled> {
    let mut samples: Vec<Journalled> = Vec::new();
    for entry in parse(&read_regular(&folder.join(JOURNAL), MOST_BYTES).unwrap_or_default()) {
        match entry {
            Entry::Sample(sample) => samples.push(sample),
            Entry::Dropped { id, launches } => {
                samples.retain(|sample| sample.id != id || !launches.contains(&sample.repetition.launch()));
            }
            Entry::Launched(EndedRun { launch, outcome: Outcome::Failed(_) | Outcome::Unavailable(_), .. }) => {
                samples.retain(|sample| sample.repetition.launch() != launch);
            }
            _ => {}
        }
    }
    samples
}

/// The entries of a journal of this user whose process is gone, and its file, which is locked while it is open.
pub(crate) fn of_a_dead_run(folder: &Path) -> Option<(File, Vec<Entry>)> {
    let journal = own(folder).ok()?;
    let has_lock = match journal.try_lock() {
        Err(TryLockError::WouldBlock) => return None,
        locked => locked.is_ok(),
    };
    let entries: Vec<Entry> = parse(&read_whole(&journal).ok()?).collect();
    // Without locks, a process in another PID namespace or on another host cannot be seen.
    let is_gone = |owner: &Owner| owner.is_gone() && (has_lock || owner.is_visible());
    owner(&entries).map_or(has_lock, is_gone).then_some((journal, entries))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{asked, machine_with_cpus, repetition, scratch};
    use areas::{Suite, plan};

    #[test]
    fn samples_come_back_even_if_the_last_line_was_cut_off() {
        let scratch = scratch();
        let mut journal = Journal::create(scratch.path()).unwrap();
        for (id, value) in [("a", 1.0), ("b", 2.0)] {
            let sample = Journalled { id: id.to_owned(), repetition: repetition(value) };
            journal.note(&Entry::Sample(sample)).unwrap();
        }
        journal.file.write_all(b"{\"kind\":\"sample\",\"id\":\"c\",\"met").unwrap();
        let ids: Vec<_> = samples(scratch.path()).into_iter().map(|sample| sample.id).collect();
        assert_eq!(ids, ["a", "b"]);
    }

    #[test]
    fn every_plan_comes_back_as_it_was() {
        for name in Suite::names() {
            let machine = machine_with_cpus(2);
            let mut request = crate::host::request(Suite::embedded(name).unwrap(), &machine);
            request.references.tools = tools::ids().map(str::to_owned).collect();
            let plan = plan(&request, &machine).unwrap();
            let asked = Asked { plan, disk: Some(("/a b".into(), true)), ..asked() };
            let text = serde_json::to_string(&asked).unwrap();
            assert_eq!(serde_json::from_str::<Asked>(&text).unwrap(), asked, "{name}");
        }
    }

    #[test]
    fn a_tool_that_this_version_does_not_know_is_found() {
        let mut asked = asked();
        asked.plan.rows[0].reference_tools = vec!["fio".into()];
        assert_eq!(asked.unknown_tool(), None);
        asked.plan.rows[0].reference_tools.push("papyrus".into());
        assert_eq!(asked.unknown_tool(), Some("papyrus"));
    }
}
