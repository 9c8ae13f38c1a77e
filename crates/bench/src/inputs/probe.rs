//! What a measurement would find in a directory (`assay info --dir`), without creating a named file.

use std::path::Path;

use machine::Watched;
use model::disk_target::{DiskTarget, IoLimit, IoLimits};
use model::io::DiskEngine;
use model::probe::{EngineProbe, LimitProbe, StorageProbe};
use model::surroundings::Surroundings;

use crate::doctor::{Host, Source};
use crate::target::only_look;

/// Minimum seconds of watching: some write-backs happen once a second.
const LEAST_WATCH_SECONDS: f64 = 1.0;

#[derive(Debug)]
pub struct Probing {
    target: DiskTarget,
    host: Host,
    before: Surroundings,
}

impl Probing {
    /// Looks at a directory and starts watching its devices.
    pub fn begin(directory: &Path) -> Self {
        let target = only_look(directory.to_owned());
        let disks = target.storage.chain.iter().map(|device| device.name.clone()).collect();
        let mut host = Host(Watched { disks, interface: None });
        let before = host.look();
        Self { target, host, before }
    }

    /// The result, after the minimum time.
    pub fn finish(mut self) -> StorageProbe {
        let watched = self.host.look().at_seconds - self.before.at_seconds;
        self.host.pause((LEAST_WATCH_SECONDS - watched).max(0.0));
        let change = self.host.look().since(&self.before);
        let others = change.other_disk_bytes.filter(|_| change.seconds > 0.0);
        StorageProbe {
            others_bytes_per_second: others.map(|bytes| bytes as f64 / change.seconds),
            watched_seconds: others.map(|_| change.seconds),
            ..found(&self.target)
        }
    }
}

fn found(target: &DiskTarget) -> StorageProbe {
    let known = target.total_bytes > 0;
    let engine = |engine, why_not: &Option<String>| EngineProbe { engine, why_not: why_not.clone() };
    StorageProbe {
        obstacle: target.obstacle.clone(),
        total_bytes: known.then_some(target.total_bytes),
        available_bytes: known.then_some(target.available_bytes),
        no_direct: target.no_direct.clone(),
        memory_align_bytes: target.alignment.map(|alignment| alignment.memory_bytes).filter(|bytes| *bytes > 0),
        offset_align_bytes: target.alignment.map(|alignment| alignment.offset_bytes).filter(|bytes| *bytes > 0),
        engines: vec![
            engine(DiskEngine::IoUring, &target.no_io_uring),
            engine(DiskEngine::Libaio, &target.no_libaio),
            engine(DiskEngine::Sync, &None),
        ],
        limits: limits(&target.limits),
        ..StorageProbe::default()
    }
}

fn limits(limits: &IoLimits) -> Vec<LimitProbe> {
    let probe = |what: &str, limit: &Option<IoLimit>| {
        let IoLimit { value, source } = limit.clone()?;
        Some(LimitProbe { what: what.to_owned(), value, source })
    };
    let all = [
        probe("read_bytes_per_second", &limits.read_bytes_per_second),
        probe("write_bytes_per_second", &limits.write_bytes_per_second),
        probe("reads_per_second", &limits.reads_per_second),
        probe("writes_per_second", &limits.writes_per_second),
    ];
    all.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::scratch;

    #[test]
    fn a_probe_reports_the_file_system_and_leaves_no_file() {
        let scratch = scratch();
        let probing = Probing::begin(scratch.path());
        let (total, obstacle) = (probing.target.total_bytes, probing.target.obstacle.clone());
        let probe = probing.finish();
        assert_eq!((probe.total_bytes, &probe.obstacle), (Some(total), &obstacle));
        assert!(probe.available_bytes <= probe.total_bytes);
        assert!(probe.watched_seconds.is_none_or(|seconds| seconds >= LEAST_WATCH_SECONDS), "{probe:?}");
        assert!(probe.engines.last().unwrap().why_not.is_none(), "blocking calls always work");
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
    }

    #[test]
    fn limits_are_reported_with_their_source() {
        let limit = |value| Some(IoLimit { value, source: "io.max".into() });
        let set =
            IoLimits { read_bytes_per_second: limit(1e6), writes_per_second: limit(400.0), ..IoLimits::default() };
        let found: Vec<_> = limits(&set).into_iter().map(|limit| (limit.what, limit.value)).collect();
        assert_eq!(found, [("read_bytes_per_second".to_owned(), 1e6), ("writes_per_second".to_owned(), 400.0)]);
    }
}
