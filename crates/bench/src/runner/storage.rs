//! What a run stores: journal, document, histograms and tool output.

use std::path::Path;

use model::document::Document;
use sys::clock::monotonic_raw_seconds;

use super::progress::State;
use crate::evidence::Repetition;
use crate::histogram;
use crate::journal::{Entry, Journal, Journalled};
use crate::leftovers::Owner;
use crate::references::own::Lasting;
use crate::store::{HISTOGRAMS, RAW, RunFolder};

#[derive(Debug)]
pub(super) struct Storage<'a> {
    folder: Option<&'a RunFolder>,
    pub(super) journal: Option<Journal>,
    pub(super) failure: Option<String>,
    reported: bool,
    pub(super) documents: u32,
    pub(super) document_seconds: f64,
}

impl<'a> Storage<'a> {
    pub(super) const fn new(folder: Option<&'a RunFolder>) -> Self {
        Self { folder, journal: None, failure: None, reported: false, documents: 0, document_seconds: 0.0 }
    }

    pub(super) fn new_failure(&mut self) -> Option<&str> {
        let is_new = self.failure.is_some() && !self.reported;
        self.reported |= is_new;
        self.failure.as_deref().filter(|_| is_new)
    }

    fn fail(&mut self, reason: String) {
        self.failure.get_or_insert(reason);
    }

    fn folder(&self) -> Option<&'a RunFolder> {
        self.folder.filter(|_| self.failure.is_none())
    }

    pub(super) fn note(&mut self, entry: &Entry) {
        if let Some(Err(error)) = self.journal.as_mut().map(|journal| journal.note(entry)) {
            self.fail(format!("cannot write the run's journal: {error}"));
        }
    }

    pub(super) fn will_make(&mut self, path: &Path) -> std::io::Result<()> {
        self.journal.as_mut().map_or(Ok(()), |journal| journal.will_make(path))
    }

    pub(super) fn sample(&mut self, id: &str, repetition: &Repetition) {
        self.note(&Entry::Sample(Journalled { id: id.to_owned(), repetition: repetition.clone() }));
    }

    pub(super) fn lasting(&mut self, lasting: Lasting<'_>) {
        // Best effort: the tool ends by itself later, and its files have no names.
        let _ = self.journal.as_mut().map(|journal| match lasting {
            Lasting::Process(group) => journal.note(&Entry::Started(Owner::of(group))),
            Lasting::File(path) => journal.will_make(path),
        });
    }

    pub(super) fn document(&mut self, document: &Document) {
        let Some(folder) = self.folder() else { return };
        let began = monotonic_raw_seconds();
        if let Err(reason) = folder.write(document) {
            self.fail(reason);
        }
        self.documents += 1;
        self.document_seconds += monotonic_raw_seconds() - began;
    }

    /// Stores the finished document even after a failure: space may have been freed.
    pub(super) fn last_document(&mut self, document: &Document) {
        match self.folder.map(|folder| folder.write(document)) {
            Some(Err(reason)) => self.fail(reason),
            Some(Ok(())) => self.failure = None,
            None => {}
        }
    }

    pub(super) fn histograms<'s, 'p: 's>(&mut self, states: impl IntoIterator<Item = &'s mut State<'p>>) {
        let Some(folder) = self.folder() else { return };
        let of = states.into_iter().filter(|state| !state.histograms_stored);
        let (stored, logs): (Vec<_>, Vec<_>) =
            of.filter_map(|state| histogram_log(state).map(|log| (state, log))).unzip();
        match folder.write_all_in(HISTOGRAMS, &logs) {
            Ok(()) => stored.into_iter().for_each(|state| state.histograms_stored = true),
            Err(reason) => self.fail(reason),
        }
    }

    pub(super) fn tool_output(&mut self, state: &State<'_>) {
        let Some(folder) = self.folder() else { return };
        let printed = state.progress.tools.iter().filter_map(super::paired_tool::PairedTool::raw);
        let files: Vec<_> = printed.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec())).collect();
        if let Err(reason) = folder.write_all_in(RAW, &files) {
            self.fail(reason);
        }
    }

    pub(super) fn end_journal(&mut self, is_left: bool) {
        if let Some(journal) = self.journal.take().filter(|_| self.failure.is_none()) {
            journal.end(is_left);
        }
    }
}

pub(super) fn has_histograms(state: &State<'_>) -> bool {
    state.progress.samples.iter().any(|one| one.histogram.is_some())
}

fn histogram_log(state: &State<'_>) -> Option<(String, Vec<u8>)> {
    let repetitions = state.progress.samples.iter().filter_map(|one| {
        let sample = &one.metrics.first()?.sample;
        Some((sample.start, sample.seconds, one.histogram.as_deref()?))
    });
    let (id, stored) = (state.id(), has_histograms(state));
    stored.then(|| (format!("{}.hlog", id.replace('/', "_")), histogram::log(id, repetitions).into_bytes()))
}
