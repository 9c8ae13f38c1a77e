//! Kernel counters while samples are taken (steal, throttling), and memory nodes of the buffers. Never in a timed part.

use machine::Sysroot;
use model::wire::Observations;
use sys::clock::monotonic_raw_seconds;

#[derive(Debug)]
pub(super) struct Observer {
    cpus: Vec<u32>,
    began: f64,
    steal_seconds: Option<f64>,
    throttled_seconds: Option<f64>,
}

impl Observer {
    pub(super) fn begin(cpus: &[u32]) -> Self {
        Self {
            began: monotonic_raw_seconds(),
            steal_seconds: machine::steal_seconds(&Sysroot::host(), Some(cpus)),
            throttled_seconds: machine::throttled_seconds(&Sysroot::host()),
            cpus: cpus.to_vec(),
        }
    }

    pub(super) fn end(self) -> Observations {
        let added = |before: Option<f64>, now: Option<f64>| Some((now? - before?).max(0.0));
        Observations {
            watched_seconds: monotonic_raw_seconds() - self.began,
            steal_seconds: added(self.steal_seconds, machine::steal_seconds(&Sysroot::host(), Some(&self.cpus))),
            throttled_seconds: added(self.throttled_seconds, machine::throttled_seconds(&Sysroot::host())),
            ..Observations::default()
        }
    }
}

/// The nodes of these CPUs; `None` with one node, or if they are unknown.
pub(super) fn nodes_of(cpus: &[u32]) -> Option<Vec<u32>> {
    let nodes = machine::nodes_of(&Sysroot::host());
    let node_of = |cpu: &u32| nodes.iter().find(|(_, cpus)| cpus.contains(cpu)).map(|(node, _)| *node);
    (nodes.len() > 1).then(|| cpus.iter().map(node_of).collect::<Option<Vec<u32>>>()).flatten()
}
