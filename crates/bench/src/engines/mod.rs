//! Measuring: one folder for each area, the seam that the worker goes through, and the table of engines.

mod cpu;
mod disk;
mod linpack;
mod memory;
mod moments;
pub(crate) mod net;
pub(crate) mod resources;
mod seam;
mod tally;
#[cfg(test)]
pub(crate) mod tests;

use model::document::{DiskConditions, NetConditions};
use model::experiment::Area;
use model::wire::Observations;

use crate::net::frames::SILENCE;
#[cfg(test)]
pub(crate) use linpack::tests as linpack_tests;
use resources::{ResourceContext, RunResources};
pub(crate) use seam::{
    BackgroundJob, Engine, Flow, FlowMetric, FlowProfile, Job, JobProfile, Means, Measure, NextWindow, Opened,
    Placement, Preparing, Profile, Residuals, Trial, Trouble, Verified, params_of,
};
pub(crate) use tally::{Carried, Tally, Window, share_of_work};

/// Every engine; a new area is one folder and one line here.
pub(crate) static ENGINES: &[&dyn Engine] = &[
    &cpu::CpuEngine,
    &linpack::LinpackEngine,
    &memory::MemoryEngine,
    &disk::DiskEngine,
    &net::NetEngine { silence: SILENCE },
];

/// What the benchmarks of an area keep as long as a run lasts, if anything.
pub(crate) fn run_resources<'a>(area: Area, context: ResourceContext<'a>) -> Option<Box<dyn RunResources + 'a>> {
    match area {
        Area::Disk => Some(Box::new(disk::run::DiskResources::new(context))),
        Area::Net => Some(Box::new(net::NetResources { server: context.server })),
        Area::Cpu | Area::Linpack | Area::Memory => None,
    }
}

pub(crate) fn engine_of(area: Area) -> Option<&'static dyn Engine> {
    ENGINES.iter().copied().find(|engine| engine.area() == area)
}

/// The conditions of all threads of a process run on these CPUs, which only flows observe.
pub(crate) fn conditions_of_threads(
    seen: Vec<Observations>,
    cpus: &[u32],
) -> (Option<NetConditions>, Option<DiskConditions>) {
    let (mut together, mut disks) = (None, Vec::new());
    for one in seen {
        together = net::of_two_threads(together, one.net);
        disks.extend(one.disk);
    }
    (together, disk::observed::of_threads(&disks, cpus))
}
