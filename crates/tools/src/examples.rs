//! Small benchmarks to try tools with.

use model::experiment::{
    DiskChoices, DiskParams, Experiment, MemoryChoices, MemoryParams, NetParams, disk_id, memory_id, net_id,
};
use model::io::{Direction, DiskEngine, DiskOp, DiskPattern, NetMode, Protocol};
use model::isa::{Element, Isa, MemoryOp, MemoryPattern, Pages};
use model::linpack::{LinpackChoices, LinpackEngine, LinpackOp, LinpackParams, linpack_id};

fn memory_params(op: MemoryOp, isa: Isa, working_set: u64, threads: u32) -> MemoryParams {
    MemoryParams {
        pattern: MemoryPattern::Sequential,
        op,
        block: None,
        working_set,
        pages: Pages::Base4K,
        isa,
        chains: None,
        threads,
        level: None,
        nodes: None,
        group: None,
        background: None,
        placement: None,
    }
}

fn of_memory(params: MemoryParams) -> Experiment {
    Experiment::new(memory_id(&params, MemoryChoices::default()), params, "memory-read/1")
}

/// Sequential accesses in 4 KiB pages.
pub fn memory(op: MemoryOp, isa: Isa, working_set: u64, threads: u32) -> Experiment {
    of_memory(memory_params(op, isa, working_set, threads))
}

/// A chase of one chain through a buffer in 2 MiB pages.
pub fn chase(working_set: u64) -> Experiment {
    let (pattern, pages, chains) = (MemoryPattern::Chase, Pages::Huge2M, Some(1));
    of_memory(MemoryParams { pattern, pages, chains, ..memory_params(MemoryOp::Load, Isa::Scalar, working_set, 1) })
}

pub fn disk(params: DiskParams) -> Experiment {
    Experiment::new(disk_id(&params, DiskChoices::default()), params, "disk-random/1")
}

/// Over loopback, from client to server.
pub fn net(protocol: Protocol, mode: NetMode, block: u64, threads: u32) -> Experiment {
    let params = NetParams {
        protocol,
        mode,
        block,
        direction: matches!(mode, NetMode::Stream | NetMode::Blast | NetMode::NoDrop).then_some(Direction::Up),
        threads,
        path: "loopback".to_owned(),
        zero_copy: None,
        segmentation: None,
        loss_goal_per_million: None,
        wait: None,
    };
    Experiment::new(net_id(&params), params, "net-stream/1")
}

/// Random direct reads of 4 KiB in a file of 1 MiB.
pub fn random_reads(engine: DiskEngine, depth: u32) -> Experiment {
    let reads = DiskParams::new(DiskPattern::Random, DiskOp::Read, 4096, depth);
    disk(DiskParams { size: 1 << 20, engine, path: ".".to_owned(), ..reads })
}

/// A system of this many equations.
pub fn linpack(n: u64, threads: u32) -> Experiment {
    let params = LinpackParams {
        op: LinpackOp::Lu,
        engine: LinpackEngine::Own,
        n,
        nb: Some(192),
        lda: n,
        align: 64,
        threads,
        element: Element::Fp64,
        isa: Some(Isa::Avx512),
    };
    let id = linpack_id(&params, LinpackChoices { n: true, ..LinpackChoices::default() });
    Experiment::new(id, params, "linpack-lu/1")
}
