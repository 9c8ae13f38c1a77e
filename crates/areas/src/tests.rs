//! Values that the tests of several modules need.

use kernels::features::Features;
use model::experiment::DiskParams;
use model::io::{DiskCache, DiskEngine, DiskLayout, DiskOp, DiskPattern, DiskSync};
use model::machine::{Cache, Cpu, LogicalCpu, Machine, Memory};

use crate::features::CoreFeatures;
use crate::request::Request;
use crate::suite::Suite;

/// A suite of the program as it is, on cores like this one.
pub(crate) fn request(suite: &str) -> Request {
    request_of(Suite::embedded(suite).unwrap())
}

/// A suite as it is, on cores like this one.
pub(crate) fn request_of(suite: Suite) -> Request {
    Request::new(suite, CoreFeatures::of_one_kind(Features::detect()))
}

/// A machine of so many single-threaded cores, 16 GiB available and an L3 of 32 MiB.
pub(crate) fn machine_with_cpus(count: u32) -> Machine {
    let cpus: Vec<u32> = (0..count).collect();
    let place = |cpu: &u32| LogicalCpu { cpu: *cpu, core: *cpu, siblings: vec![*cpu], ..LogicalCpu::default() };
    let cache =
        Cache { level: 3, kind: "unified".into(), bytes: Some(32 << 20), cpus: cpus.clone(), ..Cache::default() };
    Machine {
        cpu: Cpu { topology: cpus.iter().map(place).collect(), available_cpus: cpus, ..Cpu::default() },
        caches: vec![cache],
        memory: Memory { available_bytes: Some(16 << 30), ..Memory::default() },
        ..Machine::default()
    }
}

/// Random reads of 4 KiB at this depth.
pub(crate) fn disk_params(depth: u32) -> DiskParams {
    DiskParams {
        pattern: DiskPattern::Random,
        op: DiskOp::Read,
        block: 4096,
        size: 1 << 20,
        depth,
        load_percent: None,
        engine: DiskEngine::Sync,
        direct: true,
        sync: DiskSync::None,
        cache: DiskCache::Bypassed,
        layout: DiskLayout::Shared,
        threads: 1,
        path: "/x".into(),
    }
}
