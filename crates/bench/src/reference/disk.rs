//! What the tools have in common that make one request to a disk at a time.

use model::experiment::{DiskParams, Experiment, Params};
use model::io::{DiskCache, DiskEngine};

/// Why a tool does not stand beside an experiment of its own area.
pub(super) fn not_beside(tool: &str, why: &str) -> String {
    format!("{tool} is not run beside this: {why}")
}

/// The parameters of an experiment of direct requests, one at a time for each thread, each sent when the one before it is
/// done.
///
/// # Errors
/// One sentence.
pub(super) fn one_at_a_time<'a>(tool: &str, experiment: &'a Experiment) -> Result<&'a DiskParams, String> {
    let Params::Disk(params) = &experiment.params else { return Err(format!("{tool} measures disks")) };
    let refuse = |why: &str| Err(not_beside(tool, why));
    if !params.direct || params.cache != DiskCache::Bypassed {
        return refuse("only direct I/O is compared");
    }
    if params.engine == DiskEngine::Null {
        return refuse("there is no device");
    }
    if params.depth > 1 {
        return refuse("each of its threads has one request at a time");
    }
    if params.load_percent.is_some() {
        return refuse("its requests do not wait for the moment at which they are due");
    }
    Ok(params)
}
