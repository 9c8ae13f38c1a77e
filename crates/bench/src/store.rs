//! The store of runs: whole-file writes, and reading interrupted runs.
//!
//! A run is a folder with `run.json`, and a journal while it is measured. No file is changed in place.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use model::document::{Document, EARLIER_SCHEMA, RunInfo, SCHEMA};
use model::warning::Confidence;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use verdict::compare::is_same_machine;

use crate::journal::{self, Asked, Entry, Journal};

/// File name of the document.
pub const DOCUMENT: &str = "run.json";
/// File name of the HTML report.
pub const PAGE: &str = "report.html";
const UNFINISHED: &str = ".run.json.unfinished";
const OTHER_RUN: &str = "Name another run: assay runs";
const SYNCED_TOGETHER: usize = 32;

/// The store.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
}

/// The folder of one run.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    made: bool,
    /// The journal in it is ours; another run may have taken the folder.
    journal_begun: std::cell::Cell<bool>,
}

/// A run in a list.
#[derive(Debug)]
#[expect(missing_docs, reason = "the names say what they are")]
pub struct Listed<T = Document> {
    pub name: String,
    pub document: Result<T, String>,
}

/// What a list of runs shows of a document; reading no more of it takes a tenth of the time.
#[derive(Debug, Deserialize)]
pub struct RunHead {
    schema: String,
    /// What was run.
    pub run: RunInfo,
    experiments: Vec<RowHead>,
}

#[derive(Debug, Deserialize)]
struct RowHead {
    #[serde(alias = "grade")]
    confidence: Option<Confidence>,
}

impl RunHead {
    /// The planned benchmarks.
    pub fn planned(&self) -> usize {
        self.experiments.len()
    }

    /// The measured benchmarks.
    pub fn measured(&self) -> usize {
        self.experiments.iter().filter(|row| row.confidence.is_some()).count()
    }
}

impl From<Document> for RunHead {
    fn from(document: Document) -> Self {
        let experiments = document.experiments.iter().map(|row| RowHead { confidence: row.confidence });
        Self { experiments: experiments.collect(), schema: document.schema, run: document.run }
    }
}

impl Store {
    /// A store at this path, which need not exist.
    pub fn at(root: PathBuf) -> Self {
        Self { root }
    }

    /// Its path.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Whether a run's folder is in it, so that its name suffices.
    pub fn holds(&self, folder: &Path) -> bool {
        folder.parent() == Some(&self.runs())
    }

    fn runs(&self) -> PathBuf {
        self.root.join("runs")
    }

    /// Creates the folder of a new run; a taken name gets a number.
    pub fn create(&self, name: &str) -> Result<RunFolder, String> {
        let runs = self.runs();
        fs::create_dir_all(&runs).map_err(|error| {
            let runs = runs.display();
            format!("cannot create the store '{runs}': {error}; use --out DIR or ASSAY_STORE to choose another")
        })?;
        for attempt in 1..1000 {
            let path = runs.join(if attempt == 1 { name.to_owned() } else { format!("{name}-{attempt}") });
            match fs::create_dir(&path) {
                Ok(()) => return Ok(RunFolder { path, made: true, journal_begun: false.into() }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(format!("cannot create the run's folder '{}': {error}", path.display())),
            }
        }
        Err(format!("the store '{}' has a thousand runs named '{name}'", runs.display()))
    }

    /// Loads a document by folder, `run.json`, name in the store or a unique beginning of it, label, `latest`, `previous`.
    pub fn load(&self, run: &str) -> Result<Document, String> {
        let path = self.find(run)?;
        if path.is_dir() { load_folder(&path) } else { load_file(&path) }
    }

    /// The folder of a run.
    pub fn folder(&self, run: &str) -> Result<RunFolder, String> {
        let path = self.find(run)?;
        let is_document = !path.is_dir() && path.file_name().is_some_and(|name| name == DOCUMENT);
        let folder = if path.is_dir() { Some(path.as_path()) } else { path.parent().filter(|_| is_document) };
        let folder = folder.map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
        let folder =
            folder.ok_or_else(|| format!("'{run}' is not a run's folder; give the folder or its {DOCUMENT}"))?;
        Ok(RunFolder { path: folder.to_owned(), made: false, journal_begun: false.into() })
    }

    /// A folder, a file, a name in the store or a unique beginning of one, a label, `latest`, or `previous`.
    fn find(&self, run: &str) -> Result<PathBuf, String> {
        let given = Path::new(run);
        if given.is_dir() || given.is_file() {
            return Ok(given.to_owned());
        }
        if run.is_empty() || run.contains('/') {
            return Err(self.no_run(run));
        }
        let in_store = self.runs().join(run);
        if in_store.is_dir() {
            return Ok(in_store);
        }
        let name = match run {
            "latest" => self.names().pop(),
            "previous" => match self.latest_first().next() {
                Some(latest) => self.previous(&latest.document?).map(|run| run.name),
                None => return Err(self.no_run("latest")),
            },
            _ => self.begins_or_is_labelled(run)?,
        };
        name.map(|name| self.runs().join(name)).ok_or_else(|| self.no_run(run))
    }

    fn no_run(&self, run: &str) -> String {
        let store = self.runs();
        let store = store.display();
        match run {
            "latest" => format!("the store '{store}' has no run. Measure one: assay"),
            "previous" => {
                format!(
                    "the store '{store}' has no earlier run of this machine with the latest suite. List all: assay runs"
                )
            }
            _ => format!(
                "no run '{run}': it is no folder, no file, no label, and no name in '{store}' begins so. List all: assay runs"
            ),
        }
    }

    /// The newest run of the same machine and suite before this one.
    pub fn previous(&self, of: &Document) -> Option<Listed> {
        let is_like = |other: &Document| {
            other.run.started < of.run.started
                && (&other.machine.host, &other.run.suite) == (&of.machine.host, &of.run.suite)
                && is_same_machine(&other.machine, &of.machine)
        };
        self.latest_first().find(|run| run.document.as_ref().is_ok_and(is_like))
    }

    /// The one run whose name begins so, or the newest with this label.
    fn begins_or_is_labelled(&self, text: &str) -> Result<Option<String>, String> {
        let names: Vec<String> = self.names().into_iter().filter(|name| name.starts_with(text)).collect();
        if let [one] = &names[..] {
            return Ok(Some(one.clone()));
        }
        let has_label =
            |run: &Listed| run.document.as_ref().is_ok_and(|document| document.run.label.as_deref() == Some(text));
        match (self.latest_first().find(has_label), &names[..]) {
            (Some(labelled), _) => Ok(Some(labelled.name)),
            (None, [first, .., last]) => {
                Err(format!("{} runs begin with '{text}', from {first} to {last}. Give more of the name", names.len()))
            }
            (None, _) => Ok(None),
        }
    }

    /// All runs, oldest first.
    pub fn list(&self) -> Vec<Listed<RunHead>> {
        let head = |name: String| {
            let folder = self.runs().join(&name);
            let document = read(&folder.join(DOCUMENT), |head: &RunHead| &head.schema).and_then(|head| {
                // Its journal has more.
                if head.run.complete { Ok(head) } else { load_folder(&folder).map(RunHead::from) }
            });
            Listed { name, document }
        };
        self.names().into_iter().map(head).collect()
    }

    /// All runs, newest first, read one by one.
    pub fn latest_first(&self) -> impl Iterator<Item = Listed> {
        let runs = self.runs();
        self.names().into_iter().rev().map(move |name| Listed { document: load_folder(&runs.join(&name)), name })
    }

    /// The names of all runs, oldest first: they begin with the time. A folder without a document is no run.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.runs()).into_iter().flatten().flatten();
        let runs = entries.filter(|entry| entry.path().join(DOCUMENT).exists());
        let mut names: Vec<String> = runs.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names
    }

    /// Cleans up after killed runs.
    pub fn sweep(&self) {
        let entries = fs::read_dir(self.runs()).into_iter().flatten().flatten();
        entries.for_each(|entry| journal::sweep(&entry.path()));
    }
}

impl RunFolder {
    /// Uses an absent or empty folder.
    pub fn at(path: &Path) -> Result<Self, String> {
        let shown = path.display();
        let made = match fs::read_dir(path) {
            Ok(mut entries) => {
                if entries.next().is_some() {
                    return Err(format!("the output folder '{shown}' is not empty; choose another one, or empty it"));
                }
                false
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(path)
                    .map_err(|error| format!("cannot create the output folder '{shown}': {error}"))?;
                true
            }
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                return Err(format!("the output folder '{shown}' is a file; choose a folder"));
            }
            Err(error) => return Err(format!("cannot use the output folder '{shown}': {error}")),
        };
        Ok(Self { path: path.to_owned(), made, journal_begun: false.into() })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn begin_journal(&self, asked: Asked) -> Result<Journal, String> {
        let begin = || {
            let mut journal = Journal::create(&self.path)?;
            self.journal_begun.set(true);
            journal.will_make(&self.path.join(UNFINISHED))?;
            match journal.note(&Entry::Asked(Box::new(asked))) {
                // A path that is not UTF-8 cannot be journalled: the run cannot be resumed.
                Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(journal),
                noted => noted.map(|()| journal),
            }
        };
        begin().map_err(|error| self.cannot_write(&error))
    }

    pub(crate) fn go_on_with_journal(&self, mut journal: Journal) -> Result<Journal, String> {
        let taken_over = journal.take_over().and_then(|()| journal.will_make(&self.path.join(UNFINISHED)));
        taken_over.map_err(|error| self.cannot_write(&error)).map(|()| journal)
    }

    /// Writes the document atomically.
    pub fn write(&self, document: &Document) -> Result<(), String> {
        let mut text =
            serde_json::to_vec_pretty(document).map_err(|error| format!("cannot write the document: {error}"))?;
        text.push(b'\n');
        self.replace(DOCUMENT, &text)
    }

    /// Writes the HTML report atomically; returns its path.
    pub fn write_page(&self, page: &[u8]) -> Result<PathBuf, String> {
        self.replace(PAGE, page).map(|()| self.path.join(PAGE))
    }

    /// Writes files in a subfolder, each atomically, and syncs them together: a slow disk takes as long for one as for all.
    pub fn write_all_in(&self, folder: &str, files: &[(String, Vec<u8>)]) -> Result<(), String> {
        if files.is_empty() {
            return Ok(());
        }
        let folder = self.path.join(folder);
        let unfinished = folder.join(UNFINISHED);
        let write = |(name, bytes): &(String, Vec<u8>)| {
            let file = write_unsynced(&unfinished, [bytes])?;
            fs::rename(&unfinished, folder.join(name))?;
            Ok(file)
        };
        let written = fs::create_dir_all(&folder).and_then(|()| {
            files.chunks(SYNCED_TOGETHER).try_for_each(|files| {
                let files = files.iter().map(write).collect::<io::Result<Vec<File>>>()?;
                sync_together(&files)
            })
        });
        sync_folder(&folder);
        written.map_err(|error| {
            let _ = fs::remove_file(&unfinished);
            self.cannot_write(&error)
        })
    }

    fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), String> {
        let (unfinished, path) = (self.path.join(UNFINISHED), self.path.join(name));
        replace(&unfinished, &path, [bytes]).map_err(|error| self.cannot_write(&error))
    }

    fn cannot_write(&self, error: &io::Error) -> String {
        let advice = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "; free some space, or use --out to choose another folder"
            }
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                "; use --out to choose another folder"
            }
            _ => "",
        };
        format!("cannot store the run in '{}': {error}{advice}", self.path.display())
    }

    /// Removes a folder without a stored run; one that existed before stays.
    pub fn abandon(self) {
        if self.journal_begun.get() {
            let _ = fs::remove_file(self.path.join(journal::JOURNAL));
            let _ = fs::remove_file(self.path.join(UNFINISHED));
        }
        if self.made {
            let _ = fs::remove_dir(&self.path);
        }
    }
}

/// Writes a file atomically. A link is followed; a device or pipe is written to directly.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_pieces(path, [bytes])
}

/// The same from pieces, without the whole file in memory.
pub fn write_pieces<T: AsRef<[u8]>>(path: &Path, pieces: impl IntoIterator<Item = T>) -> io::Result<()> {
    let Some(target) = file_behind(path)? else {
        let mut file = BufWriter::new(OpenOptions::new().write(true).open(path)?);
        pieces.into_iter().try_for_each(|piece| file.write_all(piece.as_ref()))?;
        return file.flush();
    };
    replace(&unfinished_path(&target), &target, pieces)
}

/// Whether [`write_whole`] would succeed; leaves everything unchanged.
pub fn check_writable(path: &Path) -> io::Result<()> {
    let Some(target) = file_behind(path)? else { return Ok(()) };
    let unfinished = unfinished_path(&target);
    File::create(&unfinished)?;
    fs::remove_file(&unfinished)
}

/// The file behind a path; `None` for devices and pipes.
fn file_behind(path: &Path) -> io::Result<Option<PathBuf>> {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(found) if found.is_file() => fs::canonicalize(path).map(Some),
        Ok(_) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Some(path.to_owned())),
        Err(error) => Err(error),
    }
}

fn unfinished_path(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.unfinished", std::process::id()));
    path.with_file_name(name)
}

fn replace<T: AsRef<[u8]>>(unfinished: &Path, path: &Path, pieces: impl IntoIterator<Item = T>) -> io::Result<()> {
    let written = write_unsynced(unfinished, pieces).and_then(|file| file.sync_all());
    written.and_then(|()| fs::rename(unfinished, path)).inspect_err(|_| {
        let _ = fs::remove_file(unfinished);
    })?;
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        sync_folder(folder);
    }
    Ok(())
}

fn write_unsynced<T: AsRef<[u8]>>(path: &Path, pieces: impl IntoIterator<Item = T>) -> io::Result<File> {
    let mut file = BufWriter::new(File::create(path)?);
    pieces.into_iter().try_for_each(|piece| file.write_all(piece.as_ref()))?;
    file.into_inner().map_err(io::IntoInnerError::into_error)
}

/// Syncs a folder's names, where the file system can.
fn sync_folder(folder: &Path) {
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}

/// Syncs files concurrently, so that they share one commit of the file system's journal.
fn sync_together(files: &[File]) -> io::Result<()> {
    std::thread::scope(|scope| {
        let syncing: Vec<_> = files.iter().map(|file| scope.spawn(|| file.sync_all())).collect();
        let lost = |_| Err(io::Error::other("the thread that synced a file panicked"));
        syncing.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(lost))
    })
}

/// A run's document, with journalled samples if it was interrupted.
fn load_folder(folder: &Path) -> Result<Document, String> {
    let mut document = load_file(&folder.join(DOCUMENT))?;
    if !document.run.complete {
        crate::runner::add_journalled(&mut document, &journal::samples(folder));
    }
    Ok(document)
}

/// The document in a file.
pub fn load_file(path: &Path) -> Result<Document, String> {
    let document: Document = read(path, |document: &Document| &document.schema)?;
    Ok(Document { schema: SCHEMA.to_owned(), ..document })
}

/// A document, or a part of one with its schema, if this version knows that.
fn read<T: DeserializeOwned>(path: &Path, schema: fn(&T) -> &str) -> Result<T, String> {
    #[derive(Deserialize)]
    struct Head {
        schema: Option<String>,
    }
    let shown = path.display();
    let text = fs::read_to_string(path).map_err(|error| format!("cannot read '{shown}': {error}"))?;
    let unknown = |schema: &str| {
        format!(
            "'{shown}' has the schema '{schema}', which this version of Assay does not know. Use the version that wrote it"
        )
    };
    let is_known = |schema: &str| matches!(schema, SCHEMA | EARLIER_SCHEMA);
    match serde_json::from_str::<T>(&text) {
        Ok(document) if is_known(schema(&document)) => Ok(document),
        Ok(document) => Err(unknown(schema(&document))),
        Err(error) => Err(match serde_json::from_str::<Head>(&text) {
            Ok(Head { schema: Some(schema) }) if is_known(&schema) => {
                format!("'{shown}' is a damaged run: {error}. {OTHER_RUN}")
            }
            Ok(Head { schema: Some(schema) }) => unknown(&schema),
            Err(error) if !error.is_data() => format!("'{shown}' is not a run: {error}. {OTHER_RUN}"),
            _ => format!("'{shown}' is not a run: it has no schema. {OTHER_RUN}"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{asked, document, scratch};

    #[test]
    fn a_document_comes_back_as_it_was_written() {
        let scratch = scratch();
        let store = Store::at(scratch.path().to_owned());
        let folder = store.create("a").unwrap();
        folder.write(&document()).unwrap();
        assert_eq!(store.load("a").unwrap(), document());
        assert_eq!(store.load(folder.path().to_str().unwrap()).unwrap(), document());
        assert_ne!(store.create("a").unwrap().path(), folder.path());
        assert_eq!(store.list().len(), 1, "a folder without a document is no run");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing unfinished is left");
    }

    #[test]
    fn files_that_are_stored_together_are_all_there_whole() {
        let scratch = scratch();
        let folder = RunFolder::at(&scratch.path().join("run")).unwrap();
        let files = |text: &str| -> Vec<(String, Vec<u8>)> {
            (0..SYNCED_TOGETHER + 3).map(|n| (format!("{n}.hlog"), format!("{text} {n}").into_bytes())).collect()
        };
        for text in ["one", "another"] {
            folder.write_all_in("histograms", &files(text)).unwrap();
        }
        let histograms = folder.path().join("histograms");
        assert_eq!(fs::read_dir(&histograms).unwrap().count(), SYNCED_TOGETHER + 3, "nothing unfinished is left");
        for (name, bytes) in files("another") {
            assert_eq!(fs::read(histograms.join(name)).unwrap(), bytes);
        }
        // A failed replacement keeps the files before it.
        fs::create_dir_all(histograms.join("taken/x")).unwrap();
        let failing = [("first".to_owned(), b"1".to_vec()), ("taken".to_owned(), b"2".to_vec())];
        let said = folder.write_all_in("histograms", &failing).unwrap_err();
        assert!(said.contains("cannot store the run in"), "{said}");
        assert_eq!(fs::read(histograms.join("first")).unwrap(), b"1");
        assert!(!histograms.join(UNFINISHED).exists());
    }

    #[test]
    fn an_output_folder_is_new_or_empty() {
        let scratch = scratch();
        let path = scratch.path().join("out");
        RunFolder::at(&path).unwrap();
        RunFolder::at(&path).unwrap();
        fs::write(path.join("x"), "x").unwrap();
        assert!(RunFolder::at(&path).unwrap_err().contains("not empty"));
        assert!(RunFolder::at(&path.join("x")).unwrap_err().contains("is a file"));
    }

    #[test]
    fn only_a_folder_of_our_own_is_abandoned_with_what_is_in_it() {
        let scratch = scratch();
        let path = scratch.path().join("out");
        RunFolder::at(&path).unwrap().abandon();
        assert!(!path.exists());
        fs::create_dir(&path).unwrap();
        RunFolder::at(&path).unwrap().abandon();
        assert!(path.exists(), "another process created it");
        let (first, second) = (RunFolder::at(&path).unwrap(), RunFolder::at(&path).unwrap());
        let _journal = first.begin_journal(asked()).unwrap();
        assert!(second.begin_journal(asked()).is_err());
        second.abandon();
        assert!(path.join(journal::JOURNAL).exists(), "it is the other run's");
    }

    #[test]
    fn a_file_is_written_whole_through_links_and_a_folder_is_refused() {
        let scratch = scratch();
        let path = scratch.path().join("file");
        check_writable(&path).unwrap();
        assert!(!path.exists(), "a check makes nothing");
        write_whole(&path, b"one").unwrap();
        write_whole(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert!(write_whole(scratch.path(), b"x").is_err() && check_writable(scratch.path()).is_err());
        assert!(check_writable(&scratch.path().join("no/such/folder")).is_err());
        let link = scratch.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        write_whole(&link, b"three").unwrap();
        assert!(link.is_symlink() && fs::read(&path).unwrap() == b"three");
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 2, "nothing unfinished is left");
    }

    #[test]
    fn damage_is_named() {
        let scratch = scratch();
        let store = Store::at(scratch.path().to_owned());
        let path = scratch.path().join(DOCUMENT);
        let named = path.to_str().unwrap();
        for (text, expected) in [
            ("{", "is not a run"),
            ("[]", "has no schema"),
            ("{\"schema\":\"assay.run/9\"}", "assay.run/9"),
            ("{\"schema\":\"assay.run/1\",\"run\":5}", "damaged"),
            ("\u{0}\u{1}", "is not a run"),
        ] {
            fs::write(&path, text).unwrap();
            let error = store.load(named).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        assert!(store.load("nothing").unwrap_err().contains("no run 'nothing'"));
        assert!(store.load("").is_err());
        assert!(store.load("..").is_err());
    }
}
