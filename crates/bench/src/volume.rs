//! How much a plan writes to a disk, since writes wear drives out: known for test files and for totals that are done in
//! full; where rows are so many seconds long the device decides.

use model::experiment::{DiskParams, Params};
use model::io::DiskEngine;
use model::wire::TestFile;

use crate::plan::{Plan, Planned};

/// What a plan writes at most.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Writes {
    /// Bytes of test files, each laid out once.
    pub file_bytes: u64,
    /// Bytes of totals that are done in full.
    pub total_bytes: f64,
    /// Seconds in which a device takes as much as it can, warm-ups included.
    pub seconds: f64,
    /// The most that is written in all, where there is a limit.
    pub budget: Option<u64>,
    /// Whether trusted tools stand beside rows that write: what they write is theirs to say.
    pub tools: bool,
}

/// What the rows that can be measured write; `None` where none has a file.
pub(crate) fn of(plan: &Plan) -> Option<Writes> {
    let mut files: Vec<TestFile> = Vec::new();
    let budget = plan.write_budget.filter(|bytes| *bytes < u64::MAX);
    let mut writes = Writes { budget, ..Writes::default() };
    for (planned, params) in plan.rows.iter().filter_map(on_a_disk) {
        for file in TestFile::of(params) {
            if !files.contains(&file) {
                files.push(file);
            }
        }
        if params.op.writes() {
            writes.add(planned, params, plan.repeat);
        }
    }
    writes.file_bytes += files.iter().map(|file| file.bytes).sum::<u64>();
    (!files.is_empty()).then_some(writes)
}

fn on_a_disk(planned: &Planned) -> Option<(&Planned, &DiskParams)> {
    match &planned.experiment.params {
        Params::Disk(params) if params.engine != DiskEngine::Null && planned.obstacle.is_none() => {
            Some((planned, params))
        }
        _ => None,
    }
}

impl Writes {
    fn add(&mut self, planned: &Planned, params: &DiskParams, repeat: Option<u32>) {
        let sampling = &planned.sampling;
        let samples = repeat.or(sampling.most).unwrap_or(sampling.samples);
        let launches = f64::from(samples.div_ceil(sampling.per_launch.max(1)));
        self.seconds += launches * sampling.warm_up_seconds[1];
        // As many reads as writes where both are made.
        let share = if params.op.reads() { 0.5 } else { 1.0 };
        match planned.exact_work {
            Some(requests) => self.total_bytes += f64::from(samples) * requests * params.block as f64 * share,
            None => self.seconds += f64::from(samples) * sampling.sample_seconds,
        }
        if sampling.until_steady {
            // The file is written over once more before the first round.
            self.file_bytes += TestFile::of(params).iter().map(|file| file.bytes).sum::<u64>();
        }
        self.tools |= !planned.beside.is_empty();
    }
}

#[cfg(test)]
mod tests {
    use model::experiment::Area;
    use model::io::{DiskLayout, DiskOp};

    use super::*;
    use crate::tests::{asked, disk_params, planned};

    fn row(params: DiskParams, exact_work: Option<f64>) -> Planned {
        let mut row = Planned { exact_work, ..planned() };
        (row.experiment.area, row.experiment.params) = (Area::Disk, Params::Disk(params));
        row.sampling.samples = 4;
        (row.sampling.per_launch, row.sampling.sample_seconds, row.sampling.warm_up_seconds) = (2, 0.5, [0.0, 0.25]);
        row
    }

    #[test]
    fn files_count_once_and_writes_by_their_time_or_total() {
        let of_rows = |rows: Vec<Planned>| of(&Plan { rows, repeat: None, ..asked().plan });
        let read = || disk_params(1);
        let write = || DiskParams { op: DiskOp::Write, ..disk_params(1) };
        let size = read().size;
        assert_eq!(of_rows(vec![planned()]), None, "no row of a disk");
        let skipped = Planned { obstacle: Some("no room".into()), ..row(write(), None) };
        assert_eq!(of_rows(vec![skipped]), None);
        let files_alone = Writes { file_bytes: size, ..Writes::default() };
        assert_eq!(of_rows(vec![row(read(), None), row(read(), None)]), Some(files_alone), "one file for both");
        let each = DiskParams { layout: DiskLayout::PerThread, threads: 3, ..read() };
        assert_eq!(of_rows(vec![row(read(), None), row(each, None)]).unwrap().file_bytes, 3 * size);
        let timed = of_rows(vec![row(read(), None), row(write(), None)]);
        assert_eq!(timed, Some(Writes { seconds: 4.0 * 0.5 + 2.0 * 0.25, ..files_alone }));
        let mixed = DiskParams { op: DiskOp::Mixed, ..write() };
        let whole = of_rows(vec![row(write(), Some(10.0)), row(mixed, Some(10.0))]).unwrap();
        assert_eq!((whole.total_bytes, whole.seconds), (4.0 * 10.0 * 4096.0 * 1.5, 1.0));
        let mut steady = row(write(), None);
        steady.sampling.until_steady = true;
        assert_eq!(of_rows(vec![steady]).unwrap().file_bytes, 2 * size);
    }
}
