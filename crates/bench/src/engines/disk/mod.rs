//! The disk engine: requests on a file of our own, each timed from before its submission to its completion. The file is laid
//! out with data that nothing can compress ([`contents`]), read and written through a window ([`flow`], [`lane`]) by an engine
//! that [`engines`] chooses, and all of it is checked.

mod cache;
mod claims;
mod contents;
mod engines;
mod flow;
mod helpers;
mod lane;
mod layout;
pub(super) mod observed;
mod order;
pub(super) mod run;
mod stretch;
#[cfg(test)]
mod tests;
mod traffic;
mod trouble;

use model::experiment::{Area, DiskParams, Experiment};
use model::io::{self, DiskCache};
use model::wire::{DiskTask, Task};

use super::{Engine, Opened, Placement, Preparing, Trouble, params_of};

pub(super) struct DiskEngine;

impl Engine for DiskEngine {
    fn area(&self) -> Area {
        Area::Disk
    }

    fn prepare(&self, task: &Task, preparing: &mut dyn Preparing) -> Result<(), Trouble> {
        let (params, given) = parts(task)?;
        let held = &given.file;
        // Without a device the file is neither read nor written.
        if params.engine == io::DiskEngine::Null {
            return Ok(());
        }
        flow::check_alignment(params, held)?;
        layout::ensure(held, preparing)?;
        if given.precondition {
            layout::write_over(held, preparing)?;
        }
        match params.cache {
            DiskCache::Cold => Ok(()),
            DiskCache::Bypassed => held.all().try_for_each(cache::empty),
            DiskCache::Warm => {
                layout::at_the_files(held, preparing, &|held, filled| cache::fill(held, task.most_seconds, filled))
            }
        }
    }

    fn placement(&self, task: &Task, homes: Vec<u32>) -> Placement {
        // Without a device no thread sleeps.
        let keeps_ticks = parts(task).is_ok_and(|(params, _)| params.engine != io::DiskEngine::Null);
        Placement { keeps_ticks, homes }
    }

    fn open(&self, task: &Task, thread: usize) -> Result<Opened, Trouble> {
        let (params, given) = parts(task)?;
        Ok(Opened::Flow(Box::new(flow::DiskFlow::open(params, &given.file, task, thread)?)))
    }
}

fn parts(task: &Task) -> Result<(&DiskParams, &DiskTask), Trouble> {
    let params = params_of(task, Experiment::disk)?;
    let no_file = || Trouble::Failed(format!("'{}' has no file to work on", task.experiment.id));
    Ok((params, task.disk.as_ref().ok_or_else(no_file)?))
}
