//! What is measured: an experiment, its parameters per area, and the id that names it everywhere.
//!
//! An experiment is a plain value. How it is carried out is `bench`'s business; what came of it is a
//! [`crate::document::Row`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::isa::{CpuOp, Element, Isa, MemoryOp, MemoryPattern, Pages};
use crate::unit::format_size;

crate::isa::words! {
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryParams {
    /// Order of the visits.
    pub pattern: MemoryPattern,
    /// What is done at each visit.
    pub op: MemoryOp,
    /// Bytes per block, where the working set is visited in blocks.
    pub block: Option<u64>,
    /// Bytes over all threads and arrays.
    pub working_set: u64,
    /// Page size asked for.
    pub pages: Pages,
    /// Instruction set of the kernel.
    pub isa: Isa,
    /// Independent dependent-load chains per thread, for a chase.
    pub chains: Option<u32>,
    /// Threads that work at the same time.
    pub threads: u32,
    /// Cache level or DRAM, as found from the data.
    pub level: Option<String>,
    /// NUMA nodes of threads and memory, where they are chosen.
    pub nodes: Option<String>,
}

/// Parameters by area. A document of a later version may hold areas that this one does not know: they are kept as they
/// are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Params {
    /// Of a cpu experiment.
    Cpu(CpuParams),
    /// Of a memory experiment.
    Memory(MemoryParams),
    /// Of an area this version does not know.
    Other(serde_json::Map<String, serde_json::Value>),
}

impl Params {
    /// Threads of the experiment, 1 where unknown.
    pub fn threads(&self) -> u32 {
        match self {
            Self::Cpu(params) => params.threads,
            Self::Memory(params) => params.threads,
            Self::Other(map) => {
                map.get("threads").and_then(serde_json::Value::as_u64).and_then(|n| u32::try_from(n).ok()).unwrap_or(1)
            }
        }
    }
}

/// Where a row stands in the classic suite's tables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Classic {
    /// The table: `cpu`, `memory`, `disk`, `net` …
    pub table: String,
    /// The workload label: `QP`, `HP`, `SP`, `DP`, `RWS` …
    pub workload: String,
    /// `plain` or `vector`, for the CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
}

/// One planned measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
}

/// The parameters of a memory experiment that an id shows only when the user chose them: where they follow from the
/// machine, the id must not, or the same experiment would have other names on other machines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryChoices {
    /// The working set was chosen.
    pub working_set: bool,
    /// The page size was chosen (a chase always shows it).
    pub pages: bool,
    /// The instruction set was chosen.
    pub isa: bool,
}

/// The id of a cpu experiment: `cpu/fma/fp64/avx512/t2`.
pub fn cpu_id(params: &CpuParams) -> String {
    format!("cpu/{}/{}/{}/t{}", params.op, params.element, params.isa, params.threads)
}

/// The id of a memory experiment: `memory/sequential-read/t2`, `memory/chase-load/2MiB/t1`.
pub fn memory_id(params: &MemoryParams, chosen: MemoryChoices) -> String {
    let mut id = format!("memory/{}-{}", params.pattern, params.op);
    let mut add = |part: String| {
        id.push('/');
        id.push_str(&part);
    };
    if let Some(block) = params.block {
        add(format_size(block));
    }
    if chosen.working_set {
        add(format_size(params.working_set));
    }
    if chosen.pages || params.pattern == MemoryPattern::Chase {
        add(params.pages.to_string());
    }
    if chosen.isa {
        add(params.isa.to_string());
    }
    if let Some(chains) = params.chains.filter(|chains| *chains > 1) {
        add(format!("c{chains}"));
    }
    add(format!("t{}", params.threads));
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_follow_the_contract() {
        let params = CpuParams { op: CpuOp::Fma, element: Element::Fp64, isa: Isa::Avx512, threads: 2 };
        assert_eq!(cpu_id(&params), "cpu/fma/fp64/avx512/t2");
    }

    #[test]
    fn a_memory_id_shows_only_what_was_chosen() {
        let params = MemoryParams {
            pattern: MemoryPattern::Sequential,
            op: MemoryOp::CopyNt,
            block: None,
            working_set: 1 << 30,
            pages: Pages::Huge2M,
            isa: Isa::Avx2,
            chains: None,
            threads: 1,
            level: None,
            nodes: None,
        };
        assert_eq!(memory_id(&params, MemoryChoices::default()), "memory/sequential-copy_nt/t1");
        let all = MemoryChoices { working_set: true, pages: true, isa: true };
        assert_eq!(memory_id(&params, all), "memory/sequential-copy_nt/1GiB/2MiB/avx2/t1");
    }

    #[test]
    fn unknown_areas_keep_their_params() {
        let text = r#"{"protocol":"tcp","mode":"stream","threads":4}"#;
        let params: Params = serde_json::from_str(text).unwrap();
        assert_eq!(params.threads(), 4);
        assert_eq!(serde_json::to_string(&params).unwrap(), text);
    }
}
