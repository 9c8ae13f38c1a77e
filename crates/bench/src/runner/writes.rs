//! The budget of writes: how much a run has written to disks, and whether a row may go on to write. Writes wear drives out,
//! and cost where they are sold.
//!
//! What counts is what this program's requests and layouts wrote, warm-ups included. What trusted tools write is theirs.

use std::collections::BTreeSet;

use model::experiment::{DiskParams, Params};
use model::io::DiskEngine;
use model::sample::MetricName;
use model::wire::TestFile;

use super::Run;
use super::row::Progressing;
use crate::plan::Planned;

/// The reason of a row that the budget of writes left nothing for.
pub const WRITE_BUDGET: &str = "write_budget";

/// So many times what is in flight a launch has to be left: a slice of warm-up and a sample, and what is in flight at their
/// ends.
const LEAST_ROUNDS: u64 = 4;

impl Run<'_> {
    /// Bytes that may still be written; `None` where there is no budget.
    fn write_bytes_left(&self) -> Option<u64> {
        let budget = self.setting.write_budget.or(self.plan.write_budget)?;
        let written: u64 = self.rows.iter().zip(&self.plan.rows).map(|(row, planned)| written(row, planned)).sum();
        Some(budget.saturating_sub(written))
    }

    /// Whether what a row certainly writes next is more than there is left: its file, where that is not there yet, the
    /// total that it is to do in full, and else as much as its last launch wrote.
    pub(super) fn is_beyond_write_budget(&self, index: usize) -> bool {
        let (row, planned) = (&self.rows[index], &self.plan.rows[index]);
        let Some(params) = on_a_device(planned) else { return false };
        let file_bytes = self.file_bytes_next(planned, params);
        let next = if params.op.writes() { next_launch_bytes(row, planned, params) } else { Some(0) };
        // Where it is not known yet what a launch writes, as much has to be left as says something.
        let next = next.unwrap_or(LEAST_ROUNDS.saturating_mul(params.bytes_in_flight()));
        self.write_bytes_left().is_some_and(|left| file_bytes.saturating_add(next) > left)
    }

    /// What the next launch of a row may write besides its file.
    pub(super) fn most_written_bytes(&self, index: usize) -> Option<u64> {
        let planned = &self.plan.rows[index];
        let params = on_a_device(planned).filter(|params| params.op.writes() && planned.exact_work.is_none())?;
        self.write_bytes_left().map(|left| left.saturating_sub(self.file_bytes_next(planned, params)))
    }

    /// Bytes of test files that the next launch of a row writes before its first request.
    fn file_bytes_next(&self, planned: &Planned, params: &DiskParams) -> u64 {
        let all = || TestFile::of(params).iter().map(|file| file.bytes).sum::<u64>();
        // Before rounds that go on until the drive is steady the file is written over once more.
        self.held.missing_bytes(params) + if planned.sampling.until_steady { all() } else { 0 }
    }
}

/// The parameters of a row that has a file.
fn on_a_device(planned: &Planned) -> Option<&DiskParams> {
    match &planned.experiment.params {
        Params::Disk(params) if params.engine != DiskEngine::Null => Some(params),
        _ => None,
    }
}

/// What the next launch of a row that writes will write; `None` where that is not known.
fn next_launch_bytes(row: &Progressing, planned: &Planned, params: &DiskParams) -> Option<u64> {
    if let Some(requests) = planned.exact_work {
        let bytes = f64::from(row.samples_next(planned)) * requests * params.block as f64 * write_share(params);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "bytes of a plan, which saturate"
        )]
        return Some(bytes as u64);
    }
    row.launches.last().and_then(|launch| launch.seen.disk.as_ref()?.written_bytes)
}

/// What a row has written so far: what its launches have counted, and of those that did not come to that (they were cut
/// off) what their samples tell.
fn written(row: &Progressing, planned: &Planned) -> u64 {
    let Some(params) = on_a_device(planned) else { return 0 };
    let seen = row.launches.iter().filter_map(|launch| Some((launch.number, launch.seen.disk.as_ref()?)));
    let (mut counted, mut bytes) = (BTreeSet::new(), 0_u64);
    for (number, disk) in seen {
        counted.insert(number);
        bytes += disk.laid_out_bytes.unwrap_or(0) + disk.written_bytes.unwrap_or(0);
    }
    let rest = row.samples.iter().filter(|sample| params.op.writes() && !counted.contains(&sample.launch()));
    let moved = rest.flat_map(|sample| &sample.metrics).filter(|metric| metric.name == MetricName::Throughput);
    let moved: f64 = moved.filter_map(|metric| metric.sample.work).sum();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bytes of a run, which saturate")]
    let of_samples = (moved * write_share(params)) as u64;
    bytes + of_samples
}

/// Which share of a row's bytes is written: of both in turn half.
fn write_share(params: &DiskParams) -> f64 {
    if params.op.reads() { 0.5 } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use model::document::DiskConditions;
    use model::experiment::Area;
    use model::io::DiskOp;

    use super::*;
    use crate::journal::Repetition;
    use crate::runner::Outcome;
    use crate::tests::{disk_params, planned, repetition};

    const MIB: u64 = 1 << 20;

    fn row(params: DiskParams, exact_work: Option<f64>) -> Planned {
        let mut row = Planned { exact_work, ..planned() };
        (row.experiment.area, row.experiment.params) = (Area::Disk, Params::Disk(params));
        row
    }

    fn writes() -> DiskParams {
        DiskParams { op: DiskOp::Write, ..disk_params(1) }
    }

    /// A sample of this launch in which so many bytes were moved.
    fn moved(launch: u32, bytes: f64) -> Repetition {
        let mut moved = repetition(bytes);
        let metric = &mut moved.metrics[0];
        metric.name = MetricName::Throughput;
        (metric.sample.work, metric.sample.launch) = (Some(bytes), launch);
        moved
    }

    fn launched(row: &mut Progressing, launch: u32, laid_out: u64, written: u64) {
        row.pending(moved(launch, MIB as f64));
        let disk = DiskConditions {
            laid_out_bytes: Some(laid_out),
            written_bytes: Some(written),
            ..DiskConditions::default()
        };
        let seen = model::wire::Observations { disk: Some(disk), ..model::wire::Observations::default() };
        row.launched(1.0, Outcome::Done(Box::new(seen)), model::surroundings::Change::default());
    }

    #[test]
    fn what_launches_counted_and_samples_of_those_that_were_cut_off_are_what_was_written() {
        let planned = row(writes(), None);
        let mut progress = Progressing::new(&planned, Some(9), false);
        assert_eq!(written(&progress, &planned), 0);
        assert_eq!(next_launch_bytes(&progress, &planned, &writes()), None, "nobody knows yet");
        launched(&mut progress, 1, 64 * MIB, 5 * MIB);
        launched(&mut progress, 2, 0, 3 * MIB);
        assert_eq!(written(&progress, &planned), 72 * MIB, "warm-ups are in it");
        assert_eq!(next_launch_bytes(&progress, &planned, &writes()), Some(3 * MIB));
        progress.pending(moved(3, 2.0 * MIB as f64));
        progress.cut_off();
        assert_eq!(written(&progress, &planned), 74 * MIB);
        let mixed = row(DiskParams { op: DiskOp::Mixed, ..disk_params(1) }, None);
        assert_eq!(written(&progress, &mixed), 73 * MIB, "half of what it moved");
        let read = row(disk_params(1), None);
        assert_eq!(written(&progress, &read), 72 * MIB, "reads lay files out, and write nothing else");
        let without = row(DiskParams { engine: DiskEngine::Null, ..writes() }, None);
        assert_eq!(written(&progress, &without), 0, "there is no device");
    }

    #[test]
    fn a_total_that_is_done_in_full_is_known_beforehand() {
        let planned = row(writes(), Some(1000.0));
        let progress = Progressing::new(&planned, Some(1), false);
        let block = writes().block;
        assert_eq!(next_launch_bytes(&progress, &planned, &writes()), Some(1000 * block));
        let both = DiskParams { op: DiskOp::Mixed, ..writes() };
        assert_eq!(next_launch_bytes(&progress, &planned, &both), Some(500 * block));
    }
}
