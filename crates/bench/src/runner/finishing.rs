//! From what has come of benchmarks to results, and the end of a run.

use model::experiment::id_without_threads;

use super::assemble;
use super::run::{Run, machine_state};
use super::setting::{Ending, Finished, INTERRUPTED};

impl Run<'_> {
    /// Rebuilds a result, and remembers what its kernel has shown.
    pub(super) fn assemble(&mut self, index: usize) {
        let state = &mut self.states[index];
        let kernel = id_without_threads(state.id());
        let best = self.best_ops_per_cycle.get(&kernel).copied();
        let mut row = assemble::row(state.planned, &state.progress, best, self.setting);
        let shown = row.conditions.ops_per_cycle_p90;
        if shown > best {
            row = assemble::row(state.planned, &state.progress, shown, self.setting);
            self.best_ops_per_cycle.extend(shown.map(|shown| (kernel, shown)));
        }
        state.result = row;
    }

    /// Ends the run: every result once more, what they say together, the last document.
    pub(super) fn end(mut self, ending: Ending) -> Finished {
        if ending != Ending::Complete {
            for state in self.states.iter_mut().filter(|state| !state.progress.is_over()) {
                state.progress.out_of(INTERRUPTED);
            }
        }
        self.storage.histograms(&mut self.states);
        // Once more, now that all of them have shown what their kernels can do.
        (0..self.states.len()).for_each(|index| self.assemble(index));
        self.report_storage_failure();
        let mut document = self.document_so_far();
        document.run.complete = ending == Ending::Complete;
        document.conditions.after = machine_state(self.setting.began);
        let (calibration, timer) = &self.clock;
        document.conditions.timer.drift = Some(calibration.drift(timer));
        verdict::run::judge_together(&mut document, areas::RULES);
        self.storage.last_document(&document);
        self.report_storage_failure();
        let is_left = self.states.iter().any(|state| state.progress.is_left() || state.progress.has_failed());
        self.storage.end_journal(is_left);
        Finished { document, ending, not_stored: self.storage.failure().map(str::to_owned) }
    }
}
