//! The journal of a run: its plan, samples, outcomes, and everything that would outlive a killed run, noted before it exists.
//!
//! One JSON object per line, append-only. It is removed when nothing is left to do; else a later run resumes from it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use machine::Sysroot;
use model::plan::Plan;
use model::surroundings::Change;
use serde::{Deserialize, Serialize};

use crate::evidence::{Outcome, Repetition};
use crate::references::ToolProgress;
use crate::references::detect::Detected;

/// File name in a run's folder.
pub const JOURNAL: &str = "journal.jsonl";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    #[serde(alias = "beside")]
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
#[expect(missing_docs, reason = "the other fields are what their names say")]
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

/// A process, distinct from later ones with its number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the other fields are what their names say")]
pub struct Owner {
    pub process: u32,
    /// Start in ticks since boot, from /proc.
    pub started: Option<u64>,
    /// The boot's id; `None` where the kernel does not report it.
    pub boot: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Journalled {
    pub(crate) id: String,
    #[serde(flatten)]
    pub(crate) repetition: Repetition,
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
        let file = OpenOptions::new().create_new(true).append(true).open(&path)?;
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
        let mut file = OpenOptions::new().read(true).append(true).open(&path).map_err(Reopening::Unusable)?;
        let locked = file.try_lock();
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_end(&mut bytes)).map_err(Reopening::Unusable)?;
        let entries = parse(&bytes);
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

impl Owner {
    /// A process as it is now.
    pub fn of(process: u32) -> Self {
        let host = Sysroot::host();
        // The 22nd field of /proc/PID/stat; the second, in parentheses, may hold spaces.
        let started = host.text(&format!("proc/{process}/stat")).and_then(|stat| {
            let (_, rest) = stat.rsplit_once(')')?;
            rest.split_ascii_whitespace().nth(19)?.parse().ok()
        });
        let boot = host.text("proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned());
        Self { process, started, boot }
    }

    fn is_gone(&self) -> bool {
        *self != Self::of(self.process)
    }
}

fn entries(folder: &Path) -> Vec<Entry> {
    parse(&fs::read(folder.join(JOURNAL)).unwrap_or_default())
}

/// The lines of a journal; cut-off lines and those of later versions are skipped.
fn parse(bytes: &[u8]) -> Vec<Entry> {
    String::from_utf8_lossy(bytes).lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
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

pub(crate) fn samples(folder: &Path) -> Vec<Journalled> {
    let mut samples: Vec<Journalled> = Vec::new();
    for entry in entries(folder) {
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

/// Removes what a journal names, if its process is gone.
pub fn sweep(folder: &Path) {
    let entries = entries(folder);
    let gone = owner(&entries).is_some_and(Owner::is_gone);
    for entry in entries.iter().filter(|_| gone) {
        match entry {
            Entry::WillMake { path } => {
                let _ = fs::remove_file(path);
            }
            // A group whose leader is gone may belong to a new process with its number.
            Entry::Started(leader) if leader.started.is_some() && !leader.is_gone() => {
                crate::references::run::end_group(leader.process);
            }
            _ => {}
        }
    }
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
    fn only_what_a_dead_process_left_is_swept() {
        let scratch = scratch();
        let left = scratch.path().join("left");
        let mut journal = Journal::create(scratch.path()).unwrap();
        journal.will_make(&left).unwrap();
        fs::write(&left, "x").unwrap();
        sweep(scratch.path());
        assert!(left.exists(), "its process lives");
        let journal_path = scratch.path().join(JOURNAL);
        let of_another_boot = fs::read_to_string(&journal_path).unwrap().replace("\"boot\":\"", "\"boot\":\"0");
        fs::write(&journal_path, of_another_boot).unwrap();
        sweep(scratch.path());
        assert!(!left.exists(), "its process is gone");
        fs::write(&left, "x").unwrap();
        journal.end(false);
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
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
