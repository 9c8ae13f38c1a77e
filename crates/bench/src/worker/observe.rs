//! Kernel counters while samples are taken (steal, throttling), and memory nodes of the buffers. Never in a timed part.

use machine::Sysroot;
use model::wire::Observations;
use sys::clock::monotonic_raw_seconds;

use super::context::Member;

#[derive(Debug)]
pub(super) struct Observer {
    cpus: Vec<u32>,
    began: f64,
    steal_seconds: Option<f64>,
    throttled_seconds: Option<f64>,
}

impl Observer {
    /// Starts to watch the CPUs of all threads, in the first of them.
    pub(super) fn begin(member: Member<'_, '_>) -> Option<Self> {
        let cpus = &member.context.task.cpus;
        member.is_first().then(|| Self {
            began: monotonic_raw_seconds(),
            steal_seconds: machine::steal_seconds(&Sysroot::host(), Some(cpus)),
            throttled_seconds: machine::throttled_seconds(&Sysroot::host()),
            cpus: cpus.clone(),
        })
    }

    pub(super) fn end(self, seen: Observations) -> Observations {
        let added = |before: Option<f64>, now: Option<f64>| Some((now? - before?).max(0.0));
        Observations {
            watched_seconds: monotonic_raw_seconds() - self.began,
            steal_seconds: added(self.steal_seconds, machine::steal_seconds(&Sysroot::host(), Some(&self.cpus))),
            throttled_seconds: added(self.throttled_seconds, machine::throttled_seconds(&Sysroot::host())),
            ..seen
        }
    }
}
