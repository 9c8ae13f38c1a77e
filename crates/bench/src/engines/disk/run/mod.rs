//! What disk benchmarks keep as long as a run lasts: the test files, and the observed rate of the disk.

mod files;
mod pace;
pub(super) mod writes;

use model::sample::MetricName;
use model::wire::{HeldFile, TestFile};
use sys::code::read_in;

use crate::engines::resources::{
    Forecast, NextRun, Provided, Release, ResourceContext, RunResources, Scheduling, User, WillMake,
};
use crate::evidence::Repetition;
use files::{Layout, TestFiles};
use model::disk_target::DiskTarget;
use model::plan::Planned;
use pace::Pace;

/// Largest share of a time budget for writing a test file that need not be whole.
const LAYOUT_SHARE: f64 = 1.0 / 3.0;
/// Longest time for the requests in flight when time is up, because the observed rate may be far too low.
const LONGEST_DRAIN_SECONDS: f64 = 2.0;

pub(crate) struct DiskResources<'a> {
    files: TestFiles,
    pace: Pace,
    target: Option<&'a DiskTarget>,
    layout: Layout,
}

impl<'a> DiskResources<'a> {
    /// Reads this program into memory, so that a slow disk is not asked for it later.
    pub(crate) fn new(context: ResourceContext<'a>) -> Self {
        let _ = read_in();
        let layout = Layout {
            seed: context.plan.seed,
            seconds: layout_seconds(context.plan.layout_seconds, context.time_budget),
        };
        Self { files: TestFiles::default(), pace: Pace::default(), target: context.disk, layout }
    }
}

impl RunResources for DiskResources<'_> {
    fn scheduling(&self) -> Scheduling {
        let devices = self.target.iter().flat_map(|target| &target.storage.chain);
        let disks = devices.map(|device| device.name.clone()).collect();
        Scheduling {
            first_block_in_order: true,
            operations_wait: true,
            shares_time: true,
            watched: machine::Watched { disks, interface: None },
        }
    }

    fn forecast(&self, next: NextRun<'_>) -> Forecast {
        let Some(params) = next.planned.experiment.disk() else { return Forecast::default() };
        Forecast {
            waits_seconds: self.pace.waits_seconds(params),
            drain_seconds: self.pace.drain_seconds(params).min(LONGEST_DRAIN_SECONDS),
            warm_up_finds_peak: params.load_percent.is_some(),
            writes: writes::forecast(next, params, self.files.missing_bytes(params)),
        }
    }

    fn learn(&mut self, planned: &Planned, last: &Repetition) {
        let Some(params) = planned.experiment.disk() else { return };
        let value =
            |name: MetricName| last.metrics.iter().find(|metric| metric.name == name).map(|metric| metric.sample.value);
        if let (Some(iops), Some(throughput)) = (value(MetricName::Iops), value(MetricName::Throughput)) {
            self.pace.note(params, iops, throughput);
        }
    }

    fn provide(&mut self, planned: &Planned, user: User, will_make: WillMake<'_>) -> Result<Provided, String> {
        let Some(params) = planned.experiment.disk() else { return Ok(Provided::default()) };
        if user == User::Worker {
            self.files.0.retain(|holding| !holding.overwritten);
        }
        let files = TestFile::of_benchmark(params);
        let mut held = files.into_iter().map(|file| self.files.one(file, params, self.layout, self.target, will_make));
        let first = held.next().transpose()?;
        let others = held.collect::<Result<Vec<_>, _>>()?;
        let file = first.map(|first| HeldFile { others, ..first });
        Ok(Provided { file, ends: None })
    }

    fn release(&mut self, what: Release<'_>) {
        match what {
            // The space of a test file is needed only as long as its area is measured.
            Release::All => self.files = TestFiles::default(),
            Release::Contents(file) => file.all().for_each(|file| self.files.overwritten(&file.path)),
        }
    }
}

/// Time limit of a layout in seconds, where the plan has one.
fn layout_seconds(planned: Option<u32>, budget: Option<f64>) -> Option<u32> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a budget of a run is no century")]
    let share = budget.map(|budget| (LAYOUT_SHARE * budget) as u32);
    planned.map(|planned| planned.min(share.unwrap_or(planned)))
}

#[cfg(test)]
mod tests {
    use super::layout_seconds;

    #[test]
    fn a_layout_has_no_more_than_its_share_of_a_shorter_time() {
        assert_eq!(layout_seconds(Some(20), Some(60.0)), Some(20));
        assert_eq!(layout_seconds(Some(20), Some(20.0)), Some(6));
        assert_eq!(layout_seconds(Some(20), Some(1.0)), Some(0));
        assert_eq!(layout_seconds(Some(20), Some(600.0)), Some(20));
        assert_eq!((layout_seconds(Some(20), None), layout_seconds(None, Some(20.0))), (Some(20), None));
    }
}
