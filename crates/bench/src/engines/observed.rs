//! What the threads of one launch saw whose operations wait, as one: what a thread knows is the area's own business.

use model::document::{DiskConditions, NetConditions};
use model::wire::Observations;

use super::{disk, net};

/// What only flows know, of all threads of a launch on these CPUs.
pub(crate) fn of_threads(seen: Vec<Observations>, cpus: &[u32]) -> (Option<NetConditions>, Option<DiskConditions>) {
    let (mut together, mut disks) = (None, Vec::new());
    for one in seen {
        together = net::observed::of_threads(together, one.net);
        disks.extend(one.disk);
    }
    (together, disk::observed::of_threads(&disks, cpus))
}
