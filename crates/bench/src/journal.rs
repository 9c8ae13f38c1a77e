//! The journal of a run: what it was asked, every sample as it comes, what came of every launch, and every thing that
//! would outlive us if we were killed, noted before it is made.
//!
//! One JSON object a line, appended and never changed. It goes when nothing is left to do; of a run that was cut off it
//! gives the samples that the document does not hold yet and all that it takes to go on, and tells the next run what to
//! take away.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use machine::Sysroot;
use model::surroundings::Change;
use serde::{Deserialize, Serialize};

use crate::asked::Asked;
use crate::evidence::{Outcome, Repetition};
use crate::references::progress::ToolProgress;

/// Its name in a run's folder.
pub const JOURNAL: &str = "journal.jsonl";

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Entry {
    /// The process that writes it from here on.
    Owner(Owner),
    /// What the run was asked.
    Asked(Box<Asked>),
    /// A file that is going to be made and must not outlive the run.
    WillMake { path: PathBuf },
    /// A process that leads a group of its own, a trusted tool or its server, and must not outlive the run.
    Started(Owner),
    /// A sample of a row.
    Sample(Journalled),
    /// A launch of a row is over.
    Launched(Ended),
    /// The samples of a row's last launch are asked for once more, since others had disturbed it.
    Again { id: String },
    /// The time was over for a row that had as many samples as it was to have at least.
    Enough { id: String },
    /// What the trusted tools beside a row have measured so far.
    Beside { id: String, tools: Vec<ToolProgress> },
    /// The samples of these launches of a row do not count any more: they are taken again.
    Dropped { id: String, launches: Vec<u32> },
    /// A row that had failed is tried again.
    Retried { id: String },
}

impl Entry {
    /// The row that it is about, if it is about one.
    pub(crate) fn row(&self) -> Option<&str> {
        match self {
            Self::Owner(_) | Self::Asked(_) | Self::WillMake { .. } | Self::Started(_) => None,
            Self::Sample(Journalled { id, .. })
            | Self::Launched(Ended { id, .. })
            | Self::Again { id }
            | Self::Enough { id }
            | Self::Beside { id, .. }
            | Self::Dropped { id, .. }
            | Self::Retried { id } => Some(id),
        }
    }
}

/// What lines begin with that tell the next run what to take away.
const TO_SWEEP: &[&str] = &["{\"kind\":\"owner\"", "{\"kind\":\"will_make\"", "{\"kind\":\"started\""];

/// A process that cannot be mistaken for a later one of the same number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Owner {
    /// Its number.
    pub process: u32,
    /// When it started, in ticks since boot, from /proc.
    pub started: Option<u64>,
    /// Which boot.
    pub boot: Option<String>,
}

/// A sample and the row it belongs to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Journalled {
    pub(crate) id: String,
    #[serde(flatten)]
    pub(crate) repetition: Repetition,
}

/// What came of a launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ended {
    pub(crate) id: String,
    /// Its number.
    pub(crate) launch: u32,
    /// Seconds that it took.
    pub(crate) seconds: f64,
    /// What the kernel counted all over the machine meanwhile.
    pub(crate) around: Box<Change>,
    pub(crate) outcome: Outcome,
}

/// The journal of the run that we are measuring.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    path: PathBuf,
    will_make: Vec<PathBuf>,
    /// Whether the last line could not be written whole.
    broken: bool,
}

impl Journal {
    pub(crate) fn create(folder: &Path) -> io::Result<Self> {
        let path = folder.join(JOURNAL);
        let file = OpenOptions::new().create_new(true).append(true).open(&path)?;
        // Where files cannot be locked, the owner's process alone tells whether the run goes on.
        let _ = file.try_lock();
        let mut journal = Self { file, path, will_make: Vec::new(), broken: false };
        // A journal that cannot even be begun is not left behind.
        let begun = journal.append(&Entry::Owner(Owner::of(std::process::id())));
        begun.inspect_err(|_| {
            let _ = fs::remove_file(&journal.path);
        })?;
        Ok(journal)
    }

    /// Goes on with the journal of a run that was cut off; what it holds. Nothing is written yet.
    pub(crate) fn reopen(folder: &Path) -> Result<(Self, Vec<Entry>), Reopening> {
        let path = folder.join(JOURNAL);
        let mut file = OpenOptions::new().read(true).append(true).open(&path).map_err(Reopening::Unusable)?;
        let locked = file.try_lock();
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_end(&mut bytes)).map_err(Reopening::Unusable)?;
        let entries = parse(&bytes, |_| true);
        match (locked, owner(&entries)) {
            (Err(TryLockError::WouldBlock), owner) => return Err(Reopening::Alive(owner.map(|owner| owner.process))),
            (_, Some(owner)) if !owner.is_gone() => return Err(Reopening::Alive(Some(owner.process))),
            _ => {}
        }
        // A last line that was cut off is ended by the next one.
        let broken = bytes.last().is_some_and(|last| *last != b'\n');
        Ok((Self { file, path, will_make: Vec::new(), broken }, entries))
    }

    /// From here on the journal is ours.
    ///
    /// # Errors
    /// What the system said.
    pub(crate) fn take_over(&mut self) -> io::Result<()> {
        self.append(&Entry::Owner(Owner::of(std::process::id())))
    }

    /// Notes what comes of a row.
    ///
    /// # Errors
    /// What the system said.
    pub(crate) fn note(&mut self, entry: &Entry) -> io::Result<()> {
        self.append(entry)
    }

    /// Notes that this file is going to be made. Call it before making it.
    pub(crate) fn will_make(&mut self, path: &Path) -> io::Result<()> {
        self.will_make.push(path.to_owned());
        self.append(&Entry::WillMake { path: path.to_owned() })
    }

    /// Notes that a process has been started that leads a group of its own.
    ///
    /// # Errors
    /// What the system said.
    pub(crate) fn started(&mut self, process: u32) -> io::Result<()> {
        self.append(&Entry::Started(Owner::of(process)))
    }

    /// Notes a sample.
    ///
    /// # Errors
    /// What the system said.
    pub(crate) fn sample(&mut self, id: &str, repetition: &Repetition) -> io::Result<()> {
        self.append(&Entry::Sample(Journalled { id: id.to_owned(), repetition: repetition.clone() }))
    }

    fn append(&mut self, entry: &Entry) -> io::Result<()> {
        // A line that could not be written whole is ended first, or this one would be lost with it.
        let mut line = if self.broken { vec![b'\n'] } else { Vec::new() };
        serde_json::to_writer(&mut line, entry)?;
        line.push(b'\n');
        // One write: a line is there whole, or is the last one and broken.
        let written = self.file.write_all(&line);
        self.broken = written.is_err();
        written
    }

    /// The run is over, the document holds everything, and nothing is left to do.
    pub(crate) fn close(self) {
        self.take_away();
        let _ = fs::remove_file(&self.path);
    }

    /// The run is over for now: the journal stays, for who goes on with it.
    pub(crate) fn leave(self) {
        self.take_away();
        let _ = self.file.sync_all();
    }

    /// Takes away what must not outlive the run.
    fn take_away(&self) {
        // Mostly they had a name for a moment only. Taking away even what is not there waits for a disk that hangs.
        for path in self.will_make.iter().filter(|path| path.symlink_metadata().is_ok()) {
            let _ = fs::remove_file(path);
        }
    }
}

/// Why a journal cannot be gone on with.
#[derive(Debug)]
pub(crate) enum Reopening {
    /// Its run is being measured, by the process of this number where it is known.
    Alive(Option<u32>),
    /// It is not there, or cannot be read or written.
    Unusable(io::Error),
}

impl Owner {
    /// The process of this number, as it is now.
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

/// The whole lines of a run's journal that are wanted. A last line that was cut off, or one of a later version, is passed
/// over.
fn entries(folder: &Path, wanted: fn(&str) -> bool) -> Vec<Entry> {
    parse(&fs::read(folder.join(JOURNAL)).unwrap_or_default(), wanted)
}

fn parse(bytes: &[u8], wanted: fn(&str) -> bool) -> Vec<Entry> {
    let text = String::from_utf8_lossy(bytes);
    text.lines().filter(|line| wanted(line)).filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Who wrote last.
fn owner(entries: &[Entry]) -> Option<&Owner> {
    entries.iter().rev().find_map(|entry| if let Entry::Owner(owner) = entry { Some(owner) } else { None })
}

/// The samples in a run's journal that count, in the order in which they were taken.
pub(crate) fn samples(folder: &Path) -> Vec<Journalled> {
    let mut samples: Vec<Journalled> = Vec::new();
    for entry in entries(folder, |_| true) {
        match entry {
            Entry::Sample(sample) => samples.push(sample),
            Entry::Dropped { id, launches } => {
                samples.retain(|sample| sample.id != id || !launches.contains(&sample.repetition.launch()));
            }
            Entry::Launched(Ended { launch, outcome: Outcome::Failed(_) | Outcome::Unavailable(_), .. }) => {
                samples.retain(|sample| sample.repetition.launch() != launch);
            }
            _ => {}
        }
    }
    samples
}

/// Takes away what a run's journal names, if the process that wrote it is gone.
pub fn sweep(folder: &Path) {
    let entries = entries(folder, |line| TO_SWEEP.iter().any(|start| line.starts_with(start)));
    let gone = owner(&entries).is_some_and(Owner::is_gone);
    for entry in entries.iter().filter(|_| gone) {
        match entry {
            Entry::WillMake { path } => {
                let _ = fs::remove_file(path);
            }
            // One that is gone may have a successor of the same number: that is not ours to end.
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
    use crate::tests::{repetition, scratch};

    #[test]
    fn samples_come_back_even_if_the_last_line_was_cut_off() {
        let scratch = scratch();
        let mut journal = Journal::create(scratch.path()).unwrap();
        journal.sample("a", &repetition(1.0)).unwrap();
        journal.sample("b", &repetition(2.0)).unwrap();
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
    }

    #[test]
    fn closing_leaves_nothing() {
        let scratch = scratch();
        let mut journal = Journal::create(scratch.path()).unwrap();
        let made = scratch.path().join("made");
        journal.will_make(&made).unwrap();
        fs::write(&made, "x").unwrap();
        journal.close();
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
    }
}
