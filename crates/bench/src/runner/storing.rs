//! What a run stores while it goes on, besides its journal: the document, histograms, and what tools printed. How files
//! are written is the [store](crate::store)'s business.

use sys::clock::monotonic_raw_seconds;

use super::beside::Beside;
use super::{Event, Run};
use crate::histogram::{self, Logged};
use crate::journal::Repetition;

impl Run<'_> {
    /// Stores the document.
    pub(super) fn store(&mut self) {
        if self.not_stored.is_some() {
            return;
        }
        let began = monotonic_raw_seconds();
        if let Some(Err(reason)) = self.folder.map(|folder| folder.write(&self.document)) {
            self.cannot_store(&reason);
        }
        self.stored += 1;
        self.storing_seconds += monotonic_raw_seconds() - began;
    }

    /// Seconds that storing the document took on this disk; 0 as long as it was not.
    pub(super) fn seconds_of_a_store(&self) -> f64 {
        self.storing_seconds / f64::from(self.stored.max(1))
    }

    /// Stores how long each operation of these rows took, where operations were timed.
    pub(super) fn store_histograms(&mut self, of: impl IntoIterator<Item = usize>) {
        let Some(folder) = self.folder.filter(|_| self.not_stored.is_none()) else { return };
        let of = of.into_iter().filter(|index| !self.histograms_stored.contains(index));
        let (stored, logs): (Vec<usize>, Vec<_>) =
            of.filter_map(|index| Some((index, self.histogram_log(index)?))).unzip();
        if logs.is_empty() {
            return;
        }
        match folder.write_all_in("histograms", &logs) {
            Ok(()) => self.histograms_stored.extend(stored),
            Err(reason) => self.cannot_store(&reason),
        }
    }

    /// Rows whose histograms are not in their files yet.
    pub(super) fn histograms_to_store(&self) -> usize {
        let is_timed = |index: &usize| self.rows[*index].samples.iter().any(|one| one.histogram.is_some());
        let is_left = |index: &usize| is_timed(index) && !self.histograms_stored.contains(index);
        (0..self.rows.len()).filter(is_left).count()
    }

    /// The file of a row's histograms, one for each of its repetitions, with its name; `None` where no operation was
    /// timed.
    fn histogram_log(&self, index: usize) -> Option<(String, Vec<u8>)> {
        let logged = |one: &'_ Repetition| {
            let sample = &one.metrics.first()?.sample;
            Some((sample.start, sample.seconds, one.histogram.clone()?))
        };
        let repetitions: Vec<_> = self.rows[index].samples.iter().filter_map(logged).collect();
        if repetitions.is_empty() {
            return None;
        }
        let id = &self.plan.rows[index].experiment.id;
        let lines = repetitions.iter().map(|(start, seconds, text)| Logged { start: *start, seconds: *seconds, text });
        Some((format!("{}.hlog", id.replace('/', "_")), histogram::log(id, lines).into_bytes()))
    }

    /// Stores what the tools beside a row have printed so far.
    pub(super) fn store_raw(&mut self, index: usize) {
        let Some(folder) = self.folder.filter(|_| self.not_stored.is_none()) else { return };
        let written = self.rows[index].beside.iter().filter_map(Beside::raw);
        let failed: Vec<String> =
            written.filter_map(|(name, text)| folder.write_in("raw", name, text.as_bytes()).err()).collect();
        if let Some(reason) = failed.first() {
            self.cannot_store(reason);
        }
    }

    /// The run cannot be stored any more; it goes on.
    pub(super) fn cannot_store(&mut self, reason: &str) {
        if self.not_stored.is_none() {
            self.watcher.event(Event::CannotStore { reason });
            self.not_stored = Some(reason.to_owned());
        }
    }
}
