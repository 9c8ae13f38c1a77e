//! What a row measured, in the words of the field: `FP64`, `FMA, AVX-512`.

use model::document::Row;
use model::experiment::{Area, CpuParams, MemoryParams, Params};
use model::isa::{CpuOp, Isa, MemoryOp, MemoryPattern, Pages};

use crate::number::size;

/// What a row measured, its threads left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Label {
    /// The short word: `FP64`, `copy`, `latency`.
    pub(crate) what: String,
    /// The rest: `FMA, AVX-512`, `random, 2 MiB pages`.
    pub(crate) how: String,
}

/// What the rows of a table have in common, said once above it and not again in each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Common {
    /// Working set of every row.
    pub(crate) working_set: Option<u64>,
    /// Page size of every row but the chases, which always name theirs.
    pub(crate) pages: Option<Pages>,
}

impl Common {
    /// What these rows have in common.
    pub(crate) fn of(rows: &[&Row]) -> Self {
        let memory = || rows.iter().filter_map(|row| memory(row));
        Self {
            working_set: same(memory().map(|params| params.working_set)),
            pages: same(memory().filter(|params| params.pattern != MemoryPattern::Chase).map(|params| params.pages)),
        }
    }

    /// It in words: `1 GiB in 2 MiB pages`.
    pub(crate) fn words(self) -> Option<String> {
        match (self.working_set, self.pages) {
            (Some(bytes), Some(pages)) => Some(format!("{} in {}", size(bytes), page_words(pages))),
            (Some(bytes), None) => Some(size(bytes)),
            (None, Some(pages)) => Some(page_words(pages).to_owned()),
            (None, None) => None,
        }
    }
}

fn same<T: PartialEq>(mut values: impl Iterator<Item = T>) -> Option<T> {
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}

fn memory(row: &Row) -> Option<&MemoryParams> {
    match &row.params {
        Params::Memory(params) => Some(params),
        _ => None,
    }
}

impl Label {
    /// The label of a row in a table that says `common` above it.
    pub(crate) fn of(row: &Row, common: Common) -> Self {
        match &row.params {
            Params::Cpu(params) => cpu(params, &row.method),
            Params::Memory(params) => memory_label(params, common),
            Params::Disk(_) | Params::Net(_) | Params::Other(_) => by_id(row),
        }
    }

    /// The label and the threads in a sentence: `FP64 FMA, AVX-512, 2 threads`.
    pub(crate) fn sentence(row: &Row) -> String {
        let label = Self::of(row, Common::of(&[row]));
        let parts = [format!("{} {}", label.what, label.how), threads(row.params.threads())];
        parts.map(|part| part.trim().to_owned()).join(", ")
    }
}

/// `1 thread`, `8 threads`.
pub(crate) fn threads(count: u32) -> String {
    counted(u64::from(count), "thread")
}

/// `1 row`, `5 rows`.
pub(crate) fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// The name of an area above its table.
pub(crate) const fn area_title(area: Area) -> &'static str {
    match area {
        Area::Cpu => "CPU",
        Area::Linpack => "LINPACK",
        Area::Memory => "Memory",
        Area::Disk => "Disk",
        Area::Net => "Network",
    }
}

/// The id without its threads: the same for the rows that stand on one line.
pub(crate) fn stem(row: &Row) -> String {
    let threads = format!("t{}", row.params.threads());
    row.id.split('/').filter(|part| *part != threads).collect::<Vec<_>>().join("/")
}

/// A CPU row. On a CPU that cannot fuse them, FMA is a multiplication and an addition, which the method says.
fn cpu(params: &CpuParams, method: &str) -> Label {
    let op = match params.op {
        CpuOp::Fma if params.isa == Isa::Sse2 || method.starts_with("cpu-mul-add") => "multiply + add",
        CpuOp::Fma => "FMA",
        CpuOp::Dot => "dot",
        CpuOp::MulAdd => "multiply-add",
        CpuOp::Add => "add",
        CpuOp::Matrix => "matrix",
        CpuOp::Plain => "plain loop",
        CpuOp::AllPipes => "all pipes",
    };
    Label { what: params.element.name().to_uppercase(), how: format!("{op}, {}", isa_words(params.isa)) }
}

fn memory_label(params: &MemoryParams, common: Common) -> Label {
    let (op, detail) = match params.op {
        MemoryOp::Read => ("read", None),
        MemoryOp::Write => ("write", None),
        MemoryOp::WriteNt => ("write", Some("non-temporal")),
        MemoryOp::Copy => ("copy", None),
        MemoryOp::CopyNt => ("copy", Some("non-temporal")),
        MemoryOp::Load => ("latency", Some("random")),
    };
    let chase = params.pattern == MemoryPattern::Chase;
    let mut how: Vec<String> = Vec::new();
    if params.pattern == MemoryPattern::Random {
        how.push("random".to_owned());
    }
    if !chase {
        how.push(isa_words(params.isa).to_owned());
    }
    how.extend(detail.map(str::to_owned));
    if let Some(block) = params.block {
        how.push(format!("blocks of {}", size(block)));
    }
    if common.working_set.is_none() {
        how.push(size(params.working_set));
    }
    if chase || common.pages.is_none() {
        how.push(page_words(params.pages).to_owned());
    }
    if let Some(chains) = params.chains.filter(|chains| *chains > 1) {
        how.push(counted(u64::from(chains), "chain"));
    }
    how.extend(params.nodes.as_ref().map(|nodes| format!("nodes {nodes}")));
    Label { what: op.to_owned(), how: how.join(", ") }
}

/// Where the parameters are of a later version, the id says it.
fn by_id(row: &Row) -> Label {
    let stem = stem(row);
    let mut parts = stem.split('/').skip(1);
    let what = parts.next().unwrap_or(&stem).to_owned();
    Label { what, how: parts.collect::<Vec<_>>().join(", ") }
}

const fn page_words(pages: Pages) -> &'static str {
    match pages {
        Pages::Base4K => "4 KiB pages",
        Pages::Huge2M => "2 MiB pages",
    }
}

/// An instruction set as its vendor writes it.
pub(crate) const fn isa_words(isa: Isa) -> &'static str {
    match isa {
        Isa::Scalar => "scalar",
        Isa::Sse2 => "SSE2",
        Isa::Ssse3 => "SSSE3",
        Isa::Avx2 => "AVX2",
        Isa::Avx512 => "AVX-512",
        Isa::Avx512Vl => "AVX-512VL",
        Isa::AvxVnni => "AVX-VNNI",
        Isa::AvxVnniInt8 => "AVX-VNNI-INT8",
        Isa::Avx512Vnni => "AVX-512 VNNI",
        Isa::Avx512Bf16 => "AVX-512 BF16",
        Isa::Avx512Fp16 => "AVX-512 FP16",
        Isa::Amx => "AMX",
        Isa::Neon => "NEON",
        Isa::Sve => "SVE",
    }
}

/// What an experiment's id without its threads is about, in a sentence: `FP64 FMA, AVX-512`; the id itself where it is
/// no cpu experiment of this version.
pub(crate) fn stem_words(stem: &str) -> String {
    let parts: Vec<&str> = stem.split('/').collect();
    let ["cpu", op, element, isa] = parts[..] else { return stem.to_owned() };
    match (op.parse(), element.parse(), isa.parse()) {
        (Ok(op), Ok(element), Ok(isa)) => {
            let Label { what, how } = cpu(&CpuParams { op, element, isa, threads: 1 }, "");
            format!("{what} {how}")
        }
        _ => stem.to_owned(),
    }
}
