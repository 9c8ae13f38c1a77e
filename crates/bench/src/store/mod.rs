//! The store of runs: whole-file writes, and reading interrupted runs.
//!
//! A run is a folder with `run.json`, and a journal while it is measured. No file is changed in place.

mod folder;
mod read;
mod summary;
mod sweep;
mod write;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use model::document::Document;
use model::machine::Machine;
use verdict::compare::is_same_machine;

use crate::references::left::end_left_tools;
use read::load_folder;

pub use folder::RunFolder;
pub(crate) use folder::{HISTOGRAMS, RAW};
pub use read::{DOCUMENT, MOST_DOCUMENT_BYTES, PAGE, load_file};
pub use summary::RunSummary;
pub use sweep::sweep;
pub(crate) use sweep::sweep_entries;
pub use write::{check_writable, replace, write_pieces, write_whole};

#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
}

#[derive(Debug)]
pub struct Listed {
    pub name: String,
    pub summary: Result<RunSummary, String>,
}

impl Store {
    pub fn at(root: PathBuf) -> Self {
        Self { root }
    }

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
            match RunFolder::create(path.clone()) {
                Ok(folder) => return Ok(folder),
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

    pub fn folder(&self, run: &str) -> Result<RunFolder, String> {
        let path = self.find(run)?;
        let is_document = !path.is_dir() && path.file_name().is_some_and(|name| name == DOCUMENT);
        let folder = if path.is_dir() { Some(path.as_path()) } else { path.parent().filter(|_| is_document) };
        let folder = folder.map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
        let folder =
            folder.ok_or_else(|| format!("'{run}' is not a run's folder; give the folder or its {DOCUMENT}"))?;
        Ok(RunFolder::existing(folder.to_owned()))
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
            "latest" => self.names()?.pop(),
            "previous" => match self.names()?.last() {
                Some(latest) => self.previous(&load_folder(&self.runs().join(latest))?).map(|run| run.0),
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

    /// The newest run of the same machine and suite before this one: its name and document.
    pub fn previous(&self, of: &Document) -> Option<(String, Document)> {
        let is_like = |summary: &RunSummary| {
            summary.started < of.run.started && summary.suite == of.run.suite && summary.host == of.machine.host
        };
        self.of_machine(&of.machine, is_like).next()
    }

    /// The runs of a machine, newest first, read one by one.
    pub fn of_machine(
        &self,
        machine: &Machine,
        is_wanted: impl Fn(&RunSummary) -> bool,
    ) -> impl Iterator<Item = (String, Document)> {
        let names = self.names().unwrap_or_default().into_iter().rev();
        let may_be = move |name: &String| {
            self.summary(name).is_ok_and(|summary| summary.may_be_of(machine) && is_wanted(&summary))
        };
        let loaded = names.filter(may_be).filter_map(|name| Some((load_folder(&self.runs().join(&name)).ok()?, name)));
        loaded
            .filter(|(document, _)| is_same_machine(&document.machine, machine))
            .map(|(document, name)| (name, document))
    }

    /// The one run whose name begins so, or the newest with this label.
    fn begins_or_is_labelled(&self, text: &str) -> Result<Option<String>, String> {
        let all = self.names()?;
        let names: Vec<&String> = all.iter().filter(|name| name.starts_with(text)).collect();
        if let [one] = &names[..] {
            return Ok(Some((*one).clone()));
        }
        let has_label = |name: &&String| self.summary(name).is_ok_and(|summary| summary.label.as_deref() == Some(text));
        match (all.iter().rev().find(has_label), &names[..]) {
            (Some(labelled), _) => Ok(Some(labelled.clone())),
            (None, [first, .., last]) => {
                Err(format!("{} runs begin with '{text}', from {first} to {last}. Give more of the name", names.len()))
            }
            (None, _) => Ok(None),
        }
    }

    /// All runs, oldest first.
    pub fn list(&self) -> Result<Vec<Listed>, String> {
        let listed = |name: String| Listed { summary: self.summary(&name), name };
        Ok(self.names()?.into_iter().map(listed).collect())
    }

    fn summary(&self, name: &str) -> Result<RunSummary, String> {
        summary::summary(&self.runs().join(name))
    }

    /// The names of all runs, oldest first: they begin with the time. A folder without a document is no run.
    pub fn names(&self) -> Result<Vec<String>, String> {
        let runs = self.runs();
        let entries = match fs::read_dir(&runs) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(format!("cannot read the store '{}': {error}", runs.display())),
        };
        let has_document = entries.flatten().filter(|entry| entry.path().join(DOCUMENT).symlink_metadata().is_ok());
        let mut names: Vec<String> = has_document.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        Ok(names)
    }

    /// Cleans up after killed runs.
    pub fn sweep(&self) {
        end_left_tools();
        for entry in fs::read_dir(self.runs()).into_iter().flatten().flatten() {
            sweep::sweep_folder(&entry.path());
            sweep::remove_empty(&entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{document, scratch};

    #[test]
    fn a_document_comes_back_as_it_was_written() {
        let scratch = scratch();
        let store = Store::at(scratch.path().to_owned());
        let folder = store.create("a").unwrap();
        folder.write(&document()).unwrap();
        assert_eq!(store.load("a").unwrap(), document());
        assert_eq!(store.load(folder.path().to_str().unwrap()).unwrap(), document());
        assert_ne!(store.create("a").unwrap().path(), folder.path());
        assert_eq!(store.list().unwrap().len(), 1, "a folder without a document is no run");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing unfinished is left");
    }

    #[test]
    fn a_summary_serves_until_its_document_changes() {
        let scratch = scratch();
        let store = Store::at(scratch.path().to_owned());
        let folder = store.create("a").unwrap();
        let mut document = document();
        (document.run.complete, document.run.label) = (true, Some("one".to_owned()));
        folder.write(&document).unwrap();
        let label = || store.list().unwrap().remove(0).summary.unwrap().label;
        let summary = folder.path().join("summary.json");
        let text = fs::read_to_string(&summary).unwrap();
        fs::write(&summary, text.replace("\"one\"", "\"from the summary\"")).unwrap();
        assert_eq!(label().as_deref(), Some("from the summary"), "nothing else was read");
        for broken in ["", "{", "null"] {
            fs::write(&summary, broken).unwrap();
            assert_eq!(label().as_deref(), Some("one"));
        }
        document.run.label = Some("another".to_owned());
        fs::write(folder.path().join(DOCUMENT), serde_json::to_vec(&document).unwrap()).unwrap();
        assert_eq!(label().as_deref(), Some("another"));
        assert_eq!(store.find("another").unwrap(), folder.path());
    }

    #[test]
    fn a_store_that_is_a_file_is_not_an_empty_one() {
        let scratch = scratch();
        fs::write(scratch.path().join("runs"), "").unwrap();
        let error = Store::at(scratch.path().to_owned()).list().unwrap_err();
        assert!(error.contains("cannot read the store"), "{error}");
        assert!(Store::at(scratch.path().join("none")).list().unwrap().is_empty());
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
