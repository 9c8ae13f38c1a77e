//! What the kernel counts about the machine while samples are taken: time stolen from our CPUs, time a quota stopped
//! us.

use machine::Sysroot;
use sys::clock::monotonic_raw_seconds;

/// Reads the counts at the beginning, to be compared with those at the end.
#[derive(Debug)]
pub(super) struct Observer {
    sysroot: Sysroot,
    cpus: Vec<u32>,
    began: f64,
    steal_seconds: Option<f64>,
    throttled_seconds: Option<f64>,
}

/// What was added.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Watched {
    pub(super) seconds: f64,
    pub(super) steal_seconds: Option<f64>,
    pub(super) throttled_seconds: Option<f64>,
}

impl Observer {
    pub(super) fn begin(cpus: &[u32]) -> Self {
        let sysroot = Sysroot::host();
        Self {
            began: monotonic_raw_seconds(),
            steal_seconds: machine::steal_seconds(&sysroot, Some(cpus)),
            throttled_seconds: machine::throttled_seconds(&sysroot),
            cpus: cpus.to_vec(),
            sysroot,
        }
    }

    pub(super) fn end(self) -> Watched {
        let added = |before: Option<f64>, now: Option<f64>| Some((now? - before?).max(0.0));
        Watched {
            seconds: monotonic_raw_seconds() - self.began,
            steal_seconds: added(self.steal_seconds, machine::steal_seconds(&self.sysroot, Some(&self.cpus))),
            throttled_seconds: added(self.throttled_seconds, machine::throttled_seconds(&self.sysroot)),
        }
    }
}
