//! What rows do, in words, as sentences begin with it.

use model::document::Row;
use model::experiment::{CpuParams, DiskParams, MemoryParams, NetParams, Params, memory_id_names_working_set};
use model::io::{Direction, DiskCache, DiskLayout, DiskOp, DiskSync, NetMode, Segmentation, Wait};
use model::isa::{CpuOp, MemoryOp, MemoryPattern};
use model::linpack::{LinpackMatrix, LinpackOp, LinpackParams};

use super::words::{capital, size};

/// What a row does, its threads included where they are several.
pub(super) fn named(row: &Row) -> String {
    let threads = row.params.threads();
    let what = kind(row);
    match &row.params {
        _ if threads < 2 => what,
        Params::Net(_) => format!("{what} on {threads} connections"),
        _ => format!("{what} on {threads} threads"),
    }
}

/// What a row does, its threads left out.
pub(super) fn kind(row: &Row) -> String {
    match &row.params {
        Params::Cpu(params) => cpu(params, row.classic.is_some()),
        Params::Linpack(params) => linpack(params),
        Params::Memory(params) => memory(params, &row.id),
        Params::Disk(params) => disk(params),
        Params::Net(params) => net(params),
        Params::Other(_) => row.id.clone(),
    }
}

/// `FP64 FMA`; with its instruction set where it is not the one that stands for its type.
fn cpu(params: &CpuParams, stands_for_type: bool) -> String {
    let op = match params.op {
        CpuOp::Fma => "FMA",
        CpuOp::MulAdd => "multiply-add",
        CpuOp::AllPipes => "all pipes",
        CpuOp::Plain => "plain loop",
        CpuOp::Dot | CpuOp::Add | CpuOp::Matrix => params.op.name(),
    };
    let set = if stands_for_type { String::new() } else { format!(" ({})", params.isa.title()) };
    format!("{} {op}{set}", params.element.name().to_uppercase())
}

fn linpack(params: &LinpackParams) -> String {
    match params.op {
        LinpackOp::Gemm => format!("GEMM of {} (N = {})", params.element, params.n),
        LinpackOp::Lu => format!("LINPACK (N = {})", params.n),
        LinpackOp::LuMixed if params.matrix() == Some(LinpackMatrix::DiagonallyDominant) => {
            format!("HPL-MxP with factors in {} (N = {})", params.element, params.n)
        }
        LinpackOp::LuMixed => format!("LINPACK of mixed precision (N = {})", params.n),
    }
}

/// `Random memory copy of 8 KiB blocks`.
fn memory(params: &MemoryParams, id: &str) -> String {
    let what = match (params.pattern, params.op) {
        (MemoryPattern::Chase, _) => "dependent loads from memory".to_owned(),
        (MemoryPattern::Pair, _) => "handing a line over between two cores".to_owned(),
        (MemoryPattern::Random, op) => format!("random memory {}", operation(op)),
        (MemoryPattern::Sequential, op) => format!("memory {}", operation(op)),
    };
    let blocks = params.block.map_or_else(String::new, |block| format!(" of {} blocks", size(block)));
    let over = if memory_id_names_working_set(id, params) {
        format!(" over {}", size(params.working_set))
    } else {
        String::new()
    };
    let named = id.split('/').any(|part| part == params.isa.name());
    let set = if named { format!(" ({})", params.isa.title()) } else { String::new() };
    capital(&format!("{what}{blocks}{over}{set}"))
}

/// `copy past the cache`.
pub(super) fn operation(op: MemoryOp) -> String {
    match op.name().strip_suffix("_nt") {
        Some(op) => format!("{op} past the cache"),
        None => op.name().replace('_', " "),
    }
}

/// `Random reads of 4 KiB at depth 32`.
fn disk(params: &DiskParams) -> String {
    capital(&format!("{} of {}{}", act(params), size(params.block), how(params)))
}

fn act(params: &DiskParams) -> String {
    let what = match params.op {
        DiskOp::Read => "reads",
        DiskOp::Write => "writes",
        DiskOp::Mixed => "mixed reads and writes",
        DiskOp::Rewrite => "rewrites",
        DiskOp::Reread => "rereads",
    };
    format!("{} {what}", params.pattern)
}

/// What there is to say of how requests are made: what is more than one request of a thread.
fn how(params: &DiskParams) -> String {
    let sync = match params.sync {
        DiskSync::None => "",
        DiskSync::Dsync => " with O_DSYNC",
        DiskSync::Sync => " with O_SYNC",
    };
    let cache = match params.cache {
        DiskCache::Bypassed => "",
        DiskCache::Cold => " through a cold page cache",
        DiskCache::Warm => " through a warm page cache",
    };
    let layout = match params.layout {
        DiskLayout::Shared => "",
        DiskLayout::PerThread => " of a file per thread",
    };
    let depth = if params.depth > 1 { format!(" at depth {}", params.depth) } else { String::new() };
    format!("{sync}{cache}{layout}{depth}")
}

/// `TCP streams of 128 KiB down`.
fn net(params: &NetParams) -> String {
    let protocol = params.protocol.name().to_uppercase();
    let what = match params.mode {
        NetMode::Stream => "streams",
        NetMode::NoDrop | NetMode::Blast => "datagrams",
        NetMode::Pingpong => "round trips",
        NetMode::Connect => "connections",
        NetMode::Transfer => "transfers",
        NetMode::Load => "round trips under load",
    };
    let direction = match params.direction {
        None | Some(Direction::Up) => "",
        Some(Direction::Down) => " down",
        Some(Direction::Both) => " both ways",
    };
    let how: String = [
        (params.segmentation == Some(Segmentation::Gso), " with segmentation offload"),
        (params.zero_copy == Some(true), " with MSG_ZEROCOPY"),
        (params.wait == Some(Wait::Spinning), ", spinning"),
    ]
    .into_iter()
    .filter(|(holds, _)| *holds)
    .map(|(_, words)| words)
    .collect();
    format!("{protocol} {what} of {}{direction}{how}", size(params.block))
}
