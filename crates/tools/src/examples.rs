//! Small benchmarks to try tools with.

use model::experiment::{
    Area, DiskChoices, DiskParams, Experiment, MemoryChoices, MemoryParams, NetParams, Params, disk_id, memory_id,
    net_id,
};
use model::io::{Direction, DiskCache, DiskEngine, DiskLayout, DiskOp, DiskPattern, DiskSync, NetMode, Protocol};
use model::isa::{Element, Isa, MemoryOp, MemoryPattern, Pages};
use model::linpack::{LinpackChoices, LinpackEngine, LinpackOp, LinpackParams, linpack_id};

/// Straight through memory.
pub fn memory(op: MemoryOp, isa: Isa, working_set: u64, threads: u32) -> Experiment {
    let params = MemoryParams {
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
    };
    Experiment {
        id: memory_id(&params, MemoryChoices::default()),
        area: Area::Memory,
        params: Params::Memory(params),
        method: "memory-read/1".to_owned(),
        classic: None,
        kernel: None,
    }
}

/// A chase of one chain through a whole buffer in huge pages.
pub fn chase(working_set: u64) -> Experiment {
    let mut experiment = memory(MemoryOp::Load, Isa::Scalar, working_set, 1);
    if let Params::Memory(params) = &mut experiment.params {
        (params.pattern, params.pages, params.chains) = (MemoryPattern::Chase, Pages::Huge2M, Some(1));
        experiment.id = memory_id(params, MemoryChoices::default());
    }
    experiment
}

/// Requests to a disk.
pub fn disk(params: DiskParams) -> Experiment {
    Experiment {
        id: disk_id(&params, DiskChoices::default()),
        area: Area::Disk,
        params: Params::Disk(params),
        method: "disk-random/1".to_owned(),
        classic: None,
        kernel: None,
    }
}

/// Over the loopback interface, from the near end to the far one.
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
    Experiment {
        id: net_id(&params),
        area: Area::Net,
        params: Params::Net(params),
        method: "net-stream/1".to_owned(),
        classic: None,
        kernel: None,
    }
}

/// Random direct reads of 4 KiB of a file of 1 MiB, so many at a time.
pub fn random_reads(engine: DiskEngine, depth: u32) -> Experiment {
    disk(DiskParams {
        pattern: DiskPattern::Random,
        op: DiskOp::Read,
        block: 4096,
        size: 1 << 20,
        depth,
        load_percent: None,
        engine,
        direct: true,
        sync: DiskSync::None,
        cache: DiskCache::Bypassed,
        layout: DiskLayout::Shared,
        threads: 1,
        path: ".".to_owned(),
    })
}

/// Linear equations of this many unknowns.
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
    Experiment {
        id: linpack_id(&params, LinpackChoices { n: true, ..LinpackChoices::default() }),
        area: Area::Linpack,
        params: Params::Linpack(params),
        method: "linpack-lu/1".to_owned(),
        classic: None,
        kernel: None,
    }
}
