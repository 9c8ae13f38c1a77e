//! The table of engines, one line for each area.

use model::experiment::Area;

use super::resources::{ResourceContext, RunResources};
use super::seam::Engine;
use super::{cpu, disk, linpack, memory, net};

/// Every engine; a new area is one file and one line here.
pub(crate) static ENGINES: &[&dyn Engine] =
    &[&cpu::CpuEngine, &linpack::LinpackEngine, &memory::MemoryEngine, &disk::DiskEngine, &net::NetEngine];

/// What the benchmarks of an area keep for as long as a run lasts; `None` where they keep nothing.
pub(crate) fn run_resources<'a>(area: Area, context: ResourceContext<'a>) -> Option<Box<dyn RunResources + 'a>> {
    match area {
        Area::Disk => Some(Box::new(disk::run::DiskResources::new(context))),
        Area::Net => Some(Box::new(net::run::NetResources::new(context))),
        Area::Cpu | Area::Linpack | Area::Memory => None,
    }
}

/// The engine of an area.
pub(crate) fn of(area: Area) -> Option<&'static dyn Engine> {
    ENGINES.iter().copied().find(|engine| engine.area() == area)
}
