//! Labels of disk results.

use model::document::{Row, Status};
use model::experiment::{DiskParams, Params};
use model::io::{DiskCache, DiskEngine, DiskLayout, DiskOp, DiskPattern, DiskSync};
use model::machine::Disk;

use crate::label::parts::{Axis, Common, Label, Labels, TableRules, Workload, block_words, same, threads};
use model::number::{counted, size};

pub(super) const LABELS: Labels = Labels {
    title: "Disk",
    in_sentence: "the disk",
    colours: ["#b35900", "#f0a35e"],
    before: "disk ",
    label: |row, _| params(row).map(label),
    aspects: |row, axis| params(row).map_or_else(Vec::new, |own| aspects(row, own, axis)),
    axis,
    say,
    declaration: |row| params(row).filter(|own| has_ceiling(own)).map(declaration),
    workload,
    table: TableRules { per_core: false, requests: true, always_heading: true },
};

fn workload(row: &Row) -> Option<Workload> {
    let own = params(row)?;
    let same = DiskParams { block: 0, size: 0, threads: 0, ..own.clone() };
    Some(Workload { key: format!("{same:?}"), block: Some(own.block) })
}

/// Whether a device's limit applies: not memory's, our own loop's or the offered load.
fn has_ceiling(params: &DiskParams) -> bool {
    params.cache != DiskCache::Warm && params.engine != DiskEngine::Null && params.load_percent.is_none()
}

const fn declaration(params: &DiskParams) -> &'static str {
    let random = matches!(params.pattern, DiskPattern::Random);
    match (params.op, random) {
        (DiskOp::Read | DiskOp::Reread | DiskOp::Mixed, false) => "--declare disk.read_bps=7e9",
        (DiskOp::Read | DiskOp::Reread | DiskOp::Mixed, true) => "--declare disk.read_iops=1e6",
        (DiskOp::Write | DiskOp::Rewrite, false) => "--declare disk.write_bps=5e9",
        (DiskOp::Write | DiskOp::Rewrite, true) => "--declare disk.write_iops=5e5",
    }
}

// Depth, unless only the threads differ.
fn axis(rows: &[&Row]) -> Axis {
    let depths = || rows.iter().map(|row| depth(row));
    let only_threads = same(depths()).is_some() && same(rows.iter().map(|row| row.params.threads())).is_none();
    if !only_threads && depths().all(|depth| depth.is_some()) { Axis::Depth } else { Axis::Threads }
}

/// Keeps the unusual aspects; directory, engine and file are the same for nearly all results of a run.
fn say(_: &Row, common: &mut Common) {
    let of_row = common.aspects.iter_mut().take(ASPECTS_OF_A_ROW.end).skip(ASPECTS_OF_A_ROW.start);
    for aspect in of_row.filter(|aspect| aspect.as_deref() != Some(DIRECT)) {
        *aspect = None;
    }
}

const FEW: usize = 2;

pub fn params(row: &Row) -> Option<&DiskParams> {
    if let Params::Disk(params) = &row.params { Some(params) } else { None }
}

pub fn depth(row: &Row) -> Option<u32> {
    params(row).map(|params| params.depth)
}

/// `read`, `random 4 KiB`.
pub fn label(params: &DiskParams) -> Label {
    let how = format!("{} {}", params.pattern, block_words(params.block));
    Label { what: params.op.to_string(), how, detail: String::new() }
}

/// The aspects that differ within a run: sentences name them if unusual.
const ASPECTS_OF_A_ROW: std::ops::Range<usize> = 2..6;

/// Directory, engine, cache, load, synchronous writes, layout, file size, and threads or depth.
fn aspects(row: &Row, params: &DiskParams, axis: Axis) -> Vec<Option<String>> {
    let other = match axis {
        Axis::Depth if params.threads == 1 => String::new(),
        Axis::Depth => threads(params.threads),
        Axis::Threads | Axis::Streams | Axis::Connections => Axis::Depth.words(params.depth),
    };
    let of_file = |words: String| if params.engine == DiskEngine::Null { String::new() } else { words };
    vec![
        Some(of_file(params.path.clone())),
        Some(engine_words(params.engine).to_owned()),
        Some(of_file(cache_words(params).to_owned())),
        Some(params.load_percent.map_or_else(String::new, load_words)),
        Some(sync_words(params.sync).to_owned()),
        Some(of_file(layout_words(params.layout).to_owned())),
        (row.status == Status::Ok).then(|| of_file(file_words(row, params))),
        Some(other),
    ]
}

fn file_words(row: &Row, params: &DiskParams) -> String {
    let planned = size(params.size);
    cut_file(row).map_or_else(|| format!("{planned} file"), |bytes| format!("{} file ({planned} planned)", size(bytes)))
}

/// Bytes of the file of a measured result, if it is smaller than planned.
pub(super) fn cut_file(row: &Row) -> Option<u64> {
    let planned = params(row)?.size;
    let laid_out = row.conditions.disk.as_ref()?.file_bytes?;
    (row.status == Status::Ok && laid_out < planned).then_some(laid_out)
}

/// The file system and the devices that all measured results share: `ext4 on loop0 on vda (virtio)`.
pub fn below(rows: &[&Row], disks: &[Disk]) -> Option<String> {
    let conditions = || rows.iter().filter_map(|row| row.conditions.disk.as_ref());
    let mut upper = same(conditions().filter_map(|disk| disk.filesystem.clone()))?;
    let named = |disk: &&model::document::DiskConditions| !disk.devices.is_empty();
    let devices = same(conditions().filter(named).map(|disk| disk.devices.clone())).unwrap_or_default();
    for layer in same(conditions().filter(named).map(|disk| disk.layers.clone())).unwrap_or_default() {
        upper = format!("{upper} on {layer}");
    }
    let transport = |name: &String| disks.iter().find(|disk| disk.name == *name)?.transport.clone();
    let words = |name: &String| transport(name).map_or_else(|| name.clone(), |way| format!("{name} ({way})"));
    let lowest = match devices.len() {
        0 => return Some(upper),
        1..=FEW => devices.iter().map(words).collect::<Vec<_>>().join(" and "),
        many => counted(many as u64, "disk"),
    };
    Some(format!("{upper} on {lowest}"))
}

/// The interface of requests: `io_uring`, `sync threads`.
pub const fn engine_words(engine: DiskEngine) -> &'static str {
    match engine {
        DiskEngine::Sync => "sync threads",
        DiskEngine::Null => "our own loop without a device",
        other => other.name(),
    }
}

/// The state of the page cache as the title of a column.
pub const fn cache_column(cache: DiskCache) -> &'static str {
    match cache {
        DiskCache::Bypassed => "past it",
        other => other.name(),
    }
}

/// An unusual page cache or layout of files.
pub fn other_words(params: &DiskParams) -> Option<String> {
    let cache = if params.direct { "" } else { cache_words(params) };
    let layout = layout_words(params.layout);
    let words: Vec<&str> = [cache, layout].into_iter().filter(|words| !words.is_empty()).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

const fn layout_words(layout: DiskLayout) -> &'static str {
    if matches!(layout, DiskLayout::PerThread) { "a file per thread" } else { "" }
}

/// Past the page cache, the usual case.
const DIRECT: &str = "direct";

const fn cache_words(params: &DiskParams) -> &'static str {
    match (params.direct, params.cache) {
        (true, _) => DIRECT,
        (false, DiskCache::Bypassed) => "buffered",
        (false, DiskCache::Cold) => "through a cold page cache",
        (false, DiskCache::Warm) => "through a warm page cache",
    }
}

/// What a write waits for; empty if only for the device.
pub const fn sync_words(sync: DiskSync) -> &'static str {
    match sync {
        DiskSync::None => "",
        DiskSync::Dsync => "to the medium (dsync)",
        DiskSync::Sync => "to the medium with all metadata (sync)",
    }
}

/// `at 50 % load`.
pub fn load_words(percent: u32) -> String {
    format!("at {percent} % load")
}
