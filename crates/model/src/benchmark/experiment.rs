//! What is measured: a benchmark, its parameters per area, and the id that names it everywhere.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::benchmark::io::{
    Direction, DiskCache, DiskEngine, DiskLayout, DiskOp, DiskPattern, DiskSync, NetMode, Protocol, Segmentation, Wait,
};
use crate::benchmark::isa::{CpuOp, Element, Isa, MemoryOp, MemoryPattern, Pages, Placement};
use crate::benchmark::linpack::LinpackParams;
use crate::unit::format_size;
use crate::words::id;

crate::words::words! {
    /// The areas of a machine.
    Area, "area", {
        /// Arithmetic.
        Cpu => "cpu",
        /// Dense linear algebra.
        Linpack => "linpack",
        /// Memory and caches.
        Memory => "memory",
        /// Block storage.
        Disk => "disk",
        /// The network.
        Net => "net",
    }
}

/// Parameters of a cpu experiment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct CpuParams {
    /// What is computed.
    pub op: CpuOp,
    /// Element type of the operands.
    #[serde(rename = "type")]
    pub element: Element,
    /// Instruction set of the kernel.
    pub isa: Isa,
    /// Threads that compute at the same time.
    pub threads: u32,
}

/// Parameters of a memory experiment. What does not apply is `null`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct MemoryParams {
    /// Order of the accesses.
    pub pattern: MemoryPattern,
    /// Operation on each block.
    pub op: MemoryOp,
    /// Bytes per block, where the working set is accessed in blocks.
    pub block: Option<u64>,
    /// Bytes over all threads and arrays.
    pub working_set: u64,
    /// Page size asked for.
    pub pages: Pages,
    /// Instruction set of the kernel.
    pub isa: Isa,
    /// Independent dependent-load chains per thread, for a chase.
    pub chains: Option<u32>,
    /// Bytes in which a chase stays until it has loaded all lines; `null`: at random through the whole buffer.
    pub group: Option<u64>,
    /// What the other threads do while the first one chases.
    pub background: Option<Background>,
    /// Which cores the threads were put on, where that was chosen.
    pub placement: Option<Placement>,
    /// Threads that work at the same time.
    pub threads: u32,
    /// Cache level or DRAM (`l1`, `l2`, `l3`, `dram`), as found from the data.
    pub level: Option<String>,
    /// NUMA nodes of threads and of memory, where chosen (`0-1`); of a handoff the two CPUs (`cpu0-cpu1`).
    pub nodes: Option<String>,
}

/// Traffic that the other threads of a loaded chase make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Background {
    /// What they do.
    pub op: MemoryOp,
    /// How long each waits after every few KiB, in nanoseconds; 0: as fast as they can.
    pub pause_ns: u32,
}

/// Parameters of a disk experiment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct DiskParams {
    /// Order of the accesses.
    pub pattern: DiskPattern,
    /// Operation on each block.
    pub op: DiskOp,
    /// Bytes per request.
    pub block: u64,
    /// Bytes per file.
    pub size: u64,
    /// Requests in flight per thread; with a load, at most.
    pub depth: u32,
    /// Offered load in percent of its own peak rate, timed from when a request was due; `null`: closed loop.
    pub load_percent: Option<u32>,
    /// How requests reach the kernel; what was used in the end, not what was hoped for.
    pub engine: DiskEngine,
    /// Whether the page cache is bypassed (`O_DIRECT`).
    pub direct: bool,
    /// What a write waits for.
    pub sync: DiskSync,
    /// What the page cache is allowed to do.
    pub cache: DiskCache,
    /// How threads share files.
    pub layout: DiskLayout,
    /// Threads that work at the same time.
    pub threads: u32,
    /// The directory of the file.
    pub path: String,
}

impl DiskParams {
    /// Direct requests by `io_uring` on one shared file of 1 GiB, from one thread.
    pub fn new(pattern: DiskPattern, op: DiskOp, block: u64, depth: u32) -> Self {
        Self {
            pattern,
            op,
            block,
            size: 1 << 30,
            depth,
            load_percent: None,
            engine: DiskEngine::IoUring,
            direct: true,
            sync: DiskSync::None,
            cache: DiskCache::Bypassed,
            layout: DiskLayout::Shared,
            threads: 1,
            path: String::new(),
        }
    }

    /// Whether requests go to a device at all, rather than measure the loop without one.
    pub fn has_device(&self) -> bool {
        self.engine != DiskEngine::Null
    }

    /// Whether every request goes to the device, past the page cache.
    pub fn bypasses_cache(&self) -> bool {
        self.has_device() && self.direct && self.cache == DiskCache::Bypassed
    }

    /// Bytes of the requests that all threads together have in flight.
    pub fn bytes_in_flight(&self) -> u64 {
        self.block.saturating_mul(u64::from(self.depth) * u64::from(self.threads))
    }
}

/// The path of a network experiment inside one machine.
pub const LOOPBACK: &str = "loopback";

/// Parameters of a network experiment. What does not apply is `null`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct NetParams {
    /// The transport.
    pub protocol: Protocol,
    /// What is done.
    pub mode: NetMode,
    /// Bytes per send, or per message.
    pub block: u64,
    /// Which way the bytes of a stream go.
    pub direction: Option<Direction>,
    /// Connections, each with a thread at either end.
    pub threads: u32,
    /// `loopback`, or the peer's name.
    pub path: String,
    /// Whether sends are asked to spare their copy (`MSG_ZEROCOPY`).
    pub zero_copy: Option<bool>,
    /// Who cuts large sends into segments, for UDP.
    pub segmentation: Option<Segmentation>,
    /// The loss that the highest rate may have, in datagrams of a million, where that rate is looked for.
    pub loss_goal_per_million: Option<u32>,
    /// How an answer is waited for, where one is.
    pub wait: Option<Wait>,
}

/// Parameters by area. Those of an area that only a later version knows are kept as they are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(untagged)]
pub enum Params {
    /// Of a cpu experiment.
    Cpu(CpuParams),
    /// Of a LINPACK experiment.
    Linpack(LinpackParams),
    /// Of a memory experiment.
    Memory(MemoryParams),
    /// Of a disk experiment.
    Disk(DiskParams),
    /// Of a network experiment.
    Net(NetParams),
    /// Of an area this version does not know.
    Other(serde_json::Map<String, serde_json::Value>),
}

/// Parameters of one area, which determine it.
pub trait AreaParams: Into<Params> {
    /// The area.
    const AREA: Area;
}

macro_rules! area_params {
    ($($area:ident, $name:ident: $params:ty,)+) => {
        $(
            impl From<$params> for Params {
                fn from(params: $params) -> Self {
                    Self::$area(params)
                }
            }

            impl AreaParams for $params {
                const AREA: Area = Area::$area;
            }
        )+

        impl Experiment {
            $(
                #[doc = concat!("The parameters of a ", stringify!($name), " benchmark; `None` in every other area.")]
                pub const fn $name(&self) -> Option<&$params> {
                    if let Params::$area(params) = &self.params { Some(params) } else { None }
                }
            )+
        }
    };
}

area_params! {
    Cpu, cpu: CpuParams,
    Linpack, linpack: LinpackParams,
    Memory, memory: MemoryParams,
    Disk, disk: DiskParams,
    Net, net: NetParams,
}

impl Params {
    /// Threads of the experiment, 1 where unknown.
    pub fn threads(&self) -> u32 {
        match self {
            Self::Cpu(params) => params.threads,
            Self::Linpack(params) => params.threads,
            Self::Memory(params) => params.threads,
            Self::Disk(params) => params.threads,
            Self::Net(params) => params.threads,
            Self::Other(map) => {
                map.get("threads").and_then(serde_json::Value::as_u64).and_then(|n| u32::try_from(n).ok()).unwrap_or(1)
            }
        }
    }
}

/// The place of a result in the classic tables.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Classic {
    /// The table: `cpu`, `memory`, `disk`, `net` …
    pub table: String,
    /// The workload label: `QP`, `HP`, `SP`, `DP`, `RWS` …
    pub workload: String,
    /// `plain` or `vector`, for the CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Operations or bytes that the table states, over all threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
}

/// The loop behind a cpu experiment: what a reader needs to know of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct Loop {
    /// The type of an accumulator, and of what is summed into it where that differs: `fp64`, `s32 <- u8 x s8`.
    pub accumulator: String,
    /// The instructions of one step of one accumulator.
    pub instructions: Vec<String>,
    /// Bits of one accumulator.
    pub accumulator_bits: u32,
    /// Independent accumulators.
    pub accumulators: u32,
    /// Operations of one iteration: a multiplication and an addition are one each.
    pub operations: u64,
}

/// One planned measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Experiment {
    /// Unique in a run; the same for the same experiment on every machine.
    pub id: String,
    /// Its area.
    pub area: Area,
    /// Its parameters.
    pub params: Params,
    /// Kernel and counting rule with a revision, such as `cpu-fma/1`.
    pub method: String,
    /// Its place in the classic tables.
    pub classic: Option<Classic>,
    /// The loop of a cpu experiment; `null` elsewhere, and where no such loop can run.
    pub kernel: Option<Loop>,
}

impl Experiment {
    /// A benchmark without a place in the classic tables.
    pub fn new<P: AreaParams>(id: String, params: P, method: &str) -> Self {
        Self { id, area: P::AREA, params: params.into(), method: method.to_owned(), classic: None, kernel: None }
    }
}

/// The parameters of a memory benchmark that an id shows only when chosen: ids are equal on all machines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each says of its parameter whether it was chosen")]
pub struct MemoryChoices {
    pub working_set: bool,
    /// The page size was chosen (a chase always shows it).
    pub pages: bool,
    pub isa: bool,
}

/// An id without its threads (`t2`), which is the same for all thread counts of an experiment.
pub fn id_without_threads(id: &str) -> String {
    let is_threads = |part: &str| {
        part.strip_prefix('t').is_some_and(|count| !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let parts: Vec<&str> = id.split('/').collect();
    let threads = parts.iter().rposition(|part| is_threads(part));
    let kept = parts.iter().enumerate().filter(|(index, _)| Some(*index) != threads);
    kept.map(|(_, part)| *part).collect::<Vec<_>>().join("/")
}

/// The id of a cpu experiment: `cpu/fma/fp64/avx512/t2`.
pub fn cpu_id(params: &CpuParams) -> String {
    format!("cpu/{}/{}/{}/t{}", params.op, params.element, params.isa, params.threads)
}

/// The id of a memory experiment: `memory/sequential-read/t2`, `memory/chase-load/2MiB/t1`.
pub fn memory_id(params: &MemoryParams, chosen: MemoryChoices) -> String {
    let nodes = params.nodes.as_ref();
    id([
        Some(format!("memory/{}-{}", params.pattern, params.op)),
        params.block.map(format_size),
        chosen.working_set.then(|| format_size(params.working_set)),
        (chosen.pages || params.pattern == MemoryPattern::Chase).then(|| params.pages.to_string()),
        chosen.isa.then(|| params.isa.to_string()),
        params.chains.filter(|chains| *chains > 1).map(|chains| format!("c{chains}")),
        params.group.map(|group| format!("g{}", format_size(group))),
        params.background.map(|Background { op, pause_ns }| format!("with-{op}-p{pause_ns}")),
        params.placement.map(|placement| placement.to_string()),
        Some(format!("t{}", params.threads)),
        nodes.map(|nodes| if params.pattern == MemoryPattern::Pair { nodes.clone() } else { format!("n{nodes}") }),
    ])
}

/// Whether an id names its working set: then it is a point of a curve and does not stand for the machine's memory.
pub fn memory_id_names_working_set(id: &str, params: &MemoryParams) -> bool {
    let choices = [(false, false), (false, true), (true, false), (true, true)];
    choices
        .iter()
        .any(|(pages, isa)| memory_id(params, MemoryChoices { working_set: true, pages: *pages, isa: *isa }) == id)
}

/// The parameters of a disk experiment that an id shows only when the user chose them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each says of its parameter whether it was chosen")]
pub struct DiskChoices {
    pub size: bool,
    pub engine: bool,
    /// It runs until the drive is steady.
    pub steady: bool,
}

/// The id of a disk experiment: `disk/random-read/4KiB/d32/t1`.
pub fn disk_id(params: &DiskParams, chosen: DiskChoices) -> String {
    id([
        Some(format!("disk/{}-{}/{}", params.pattern, params.op, format_size(params.block))),
        chosen.size.then(|| format_size(params.size)),
        Some(format!("d{}", params.depth)),
        params.load_percent.map(|percent| format!("load{percent}")),
        chosen.steady.then(|| "steady".to_owned()),
        chosen.engine.then(|| params.engine.to_string()),
        (params.sync != DiskSync::None).then(|| params.sync.to_string()),
        (params.cache != DiskCache::Bypassed).then(|| params.cache.to_string()),
        (params.layout != DiskLayout::Shared).then(|| params.layout.to_string()),
        Some(format!("t{}", params.threads)),
    ])
}

/// The id of a network experiment: `net/tcp-stream/128KiB/t2`.
pub fn net_id(params: &NetParams) -> String {
    id([
        Some(format!("net/{}-{}/{}", params.protocol, params.mode, format_size(params.block))),
        (params.path != LOOPBACK).then(|| "peer".to_owned()),
        params.direction.filter(|direction| *direction != Direction::Up).map(|direction| direction.to_string()),
        params.loss_goal_per_million.map(|goal| format!("loss{goal}ppm")),
        params.segmentation.filter(|kind| *kind == Segmentation::Gso).map(|kind| kind.to_string()),
        (params.zero_copy == Some(true)).then(|| "zero_copy".to_owned()),
        params.wait.filter(|wait| *wait == Wait::Spinning).map(|wait| wait.to_string()),
        Some(format!("t{}", params.threads)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::benchmark::linpack::{LinpackEngine, LinpackOp};

    fn cpu() -> CpuParams {
        CpuParams { op: CpuOp::Fma, element: Element::Fp64, isa: Isa::Avx512, threads: 2 }
    }

    fn read<P: serde::de::DeserializeOwned>(text: &str) -> P {
        serde_json::from_str(text).unwrap()
    }

    fn disk() -> DiskParams {
        read(
            r#"{"pattern": "random", "op": "read", "block": 4096, "size": 1073741824, "depth": 32, "engine": "io_uring",
                "direct": true, "sync": "none", "cache": "bypassed", "layout": "shared", "threads": 1, "path": "/tmp"}"#,
        )
    }

    fn net() -> NetParams {
        read(
            r#"{"protocol": "tcp", "mode": "stream", "block": 131072, "direction": "up", "threads": 2,
                "path": "loopback", "zero_copy": false}"#,
        )
    }

    #[test]
    fn a_memory_id_shows_only_what_was_chosen() {
        let params: MemoryParams = read(
            r#"{"pattern": "sequential", "op": "copy_nt", "working_set": 1073741824, "pages": "2MiB", "isa": "avx2",
                "threads": 1}"#,
        );
        assert_eq!(memory_id(&params, MemoryChoices::default()), "memory/sequential-copy_nt/t1");
        let all = MemoryChoices { working_set: true, pages: true, isa: true };
        assert_eq!(memory_id(&params, all), "memory/sequential-copy_nt/1GiB/2MiB/avx2/t1");
        assert!(memory_id_names_working_set("memory/sequential-copy_nt/1GiB/2MiB/avx2/t1", &params));
        assert!(!memory_id_names_working_set("memory/sequential-copy_nt/2MiB/avx2/t1", &params));
        let loaded = MemoryParams {
            pattern: MemoryPattern::Chase,
            op: MemoryOp::Load,
            group: Some(256 << 10),
            background: Some(Background { op: MemoryOp::Read, pause_ns: 400 }),
            nodes: Some("0-1".into()),
            threads: 2,
            ..params
        };
        let id = memory_id(&loaded, MemoryChoices::default());
        assert_eq!(id, "memory/chase-load/2MiB/g256KiB/with-read-p400/t2/n0-1");
    }

    #[test]
    fn ids_of_other_areas_show_what_the_plan_varies() {
        assert_eq!(cpu_id(&cpu()), "cpu/fma/fp64/avx512/t2");
        assert_eq!(disk_id(&disk(), DiskChoices::default()), "disk/random-read/4KiB/d32/t1");
        let all = DiskChoices { size: true, engine: true, steady: true };
        assert_eq!(disk_id(&disk(), all), "disk/random-read/4KiB/1GiB/d32/steady/io_uring/t1");
        let (sync, cache, layout) = (DiskSync::Dsync, DiskCache::Warm, DiskLayout::PerThread);
        let other = DiskParams { load_percent: Some(50), sync, cache, layout, ..disk() };
        let id = disk_id(&other, DiskChoices::default());
        assert_eq!(id, "disk/random-read/4KiB/d32/load50/dsync/warm/per_thread/t1");
        assert_eq!(net_id(&net()), "net/tcp-stream/128KiB/t2");
    }

    #[test]
    fn threads_are_taken_out_of_an_id_wherever_they_stand() {
        assert_eq!(id_without_threads("cpu/fma/fp64/avx512/t2"), "cpu/fma/fp64/avx512");
        assert_eq!(id_without_threads("linpack/gemm/n5000/t16/fp32"), "linpack/gemm/n5000/fp32");
        assert_eq!(id_without_threads("net/tcp-transfer/1B/t1"), "net/tcp-transfer/1B");
        assert_eq!(id_without_threads("t"), "t");
    }

    #[test]
    fn every_area_reads_its_own_params_back() {
        let linpack = LinpackParams {
            op: LinpackOp::Lu,
            engine: LinpackEngine::System,
            n: 1000,
            nb: None,
            lda: 1000,
            align: 4096,
            threads: 2,
            element: Element::Fp64,
            isa: None,
        };
        for params in [linpack.into(), cpu().into(), disk().into(), net().into()] {
            let text = serde_json::to_string::<Params>(&params).unwrap();
            assert_eq!(read::<Params>(&text), params, "{text}");
        }
        let unknown = r#"{"protocol":"carrier-pigeon","mode":"stream","threads":4}"#;
        let params: Params = read(unknown);
        assert_eq!((params.threads(), serde_json::to_string(&params).unwrap().as_str()), (4, unknown));
    }
}
