//! Labels of memory results.

use model::document::Row;
use model::experiment::{Background, MemoryParams, Params, memory_id_names_working_set};
use model::isa::{MemoryOp, MemoryPattern, Placement};

use crate::label::parts::{Axis, Common, Label, Labels, TableRules, Workload, block_words, page_words};
use model::number::{counted, size};

pub(super) const LABELS: Labels = Labels {
    title: "Memory",
    in_sentence: "memory",
    colours: ["#1a7f5a", "#4cc38a"],
    before: "memory ",
    label: |row, common| Some(label(params(row)?, common, row.conditions.c_library.as_deref())),
    aspects: |_, _| Vec::new(),
    axis: |_| Axis::Threads,
    say,
    declaration: |row| params(row).map(|_| "--declare memory.channels=12 --declare memory.mts=6000"),
    workload,
    table: TableRules { per_core: false, requests: false, always_heading: false },
};

// The blocks of one workload need different working sets.
fn workload(row: &Row) -> Option<Workload> {
    let own = params(row)?;
    let same = MemoryParams { block: None, working_set: 0, level: None, threads: 0, ..own.clone() };
    Some(Workload { key: format!("{same:?}"), block: own.block })
}

/// The result without its block and the working set that follows from it.
pub fn without_block(row: &Row) -> Row {
    let mut bare = row.clone();
    if let Params::Memory(params) = &mut bare.params {
        (params.block, params.working_set) = (None, 0);
    }
    bare
}

pub(super) fn streams(row: &Row, op: MemoryOp) -> bool {
    let beyond_caches = |own: &MemoryParams| own.level.as_deref().is_none_or(|level| level == "dram");
    params(row).is_some_and(|own| own.pattern == MemoryPattern::Sequential && own.op == op && beyond_caches(own))
}

pub fn params(row: &Row) -> Option<&MemoryParams> {
    if let Params::Memory(params) = &row.params { Some(params) } else { None }
}

fn say(row: &Row, common: &mut Common) {
    if params(row).is_some_and(|params| memory_id_names_working_set(&row.id, params)) {
        common.working_set = None;
    }
}

fn words(op: MemoryOp) -> (&'static str, Option<&'static str>, bool) {
    match op {
        MemoryOp::Update => ("update", Some("in place"), true),
        MemoryOp::Mix31 => ("mix", Some("3 reads : 1 write"), true),
        MemoryOp::Mix21 => ("mix", Some("2 reads : 1 write"), true),
        MemoryOp::Mix11 => ("mix", Some("1 read : 1 write"), true),
        MemoryOp::RepMovsb => ("copy", Some("rep movsb"), false),
        MemoryOp::DcZva => ("zero", Some("dc zva"), false),
        MemoryOp::Memcpy => ("copy", Some("memcpy (C library)"), false),
        MemoryOp::ByteLoop => ("copy", Some("bytes one by one (bound by instructions)"), false),
        MemoryOp::Increment => ("increment", Some("single words"), false),
        MemoryOp::Load => ("latency", None, false),
        MemoryOp::Handoff => ("handoff", Some("round trip"), false),
        other => match other.name().strip_suffix("_nt") {
            Some(what) => (what, Some("non-temporal"), true),
            None => (other.name(), None, true),
        },
    }
}

/// An operation in a few words: `copy, non-temporal`.
pub fn op_words(op: MemoryOp) -> String {
    let (what, detail, _) = words(op);
    detail.map_or_else(|| what.to_owned(), |detail| format!("{what}, {detail}"))
}

/// The name of a memory limit that is not the id of a benchmark.
pub fn peak_words(what: &str) -> Option<&'static str> {
    (what == "memory/dram").then_some("DRAM bandwidth")
}

/// The label of a result; `library` is the C library of a `memcpy`.
fn label(params: &MemoryParams, common: &Common, library: Option<&str>) -> Label {
    let (what, detail, has_vectors) = words(params.op);
    let chase = params.pattern == MemoryPattern::Chase;
    let mut how: Vec<String> = Vec::new();
    match (params.pattern, params.group) {
        (MemoryPattern::Chase, Some(bytes)) => how.push(format!("by {}", size(bytes))),
        (MemoryPattern::Random | MemoryPattern::Chase, _) => how.push("random".to_owned()),
        (MemoryPattern::Sequential | MemoryPattern::Pair, _) => {}
    }
    how.extend(has_vectors.then(|| params.isa.title().to_owned()));
    how.extend(detail.map(|detail| match library {
        Some(library) if params.op == MemoryOp::Memcpy => format!("memcpy ({library})"),
        _ => detail.to_owned(),
    }));
    how.extend(params.block.map(|block| format!("blocks of {}", block_words(block))));
    how.extend(common.working_set.is_none().then(|| size(params.working_set)));
    how.extend((chase || common.pages.is_none()).then(|| page_words(params.pages).to_owned()));
    how.extend(params.chains.filter(|chains| *chains > 1).map(|chains| counted(u64::from(chains), "chain")));
    let load_words = |load: Background| format!("{}, pausing {} ns", op_words(load.op), load.pause_ns);
    how.extend(params.background.map(|load| format!("while other threads {}", load_words(load))));
    how.extend(params.placement.map(|placement| match placement {
        Placement::Compact => "one group of cores after the other".to_owned(),
        Placement::Scatter => "groups of cores in turn".to_owned(),
    }));
    how.extend(params.nodes.as_ref().map(|nodes| match params.pattern {
        MemoryPattern::Pair => nodes.replace("cpu", "CPU ").replace('-', " to "),
        _ => format!("nodes {nodes}"),
    }));
    Label { what: what.to_owned(), how: how.join(", "), detail: String::new() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn stream(op: MemoryOp) -> MemoryParams {
        MemoryParams { working_set: 1 << 30, ..crate::memory::tests::params(MemoryPattern::Sequential, op, None) }
    }

    #[test]
    fn the_librarys_copy_names_the_library_where_it_is_known() {
        let how = |op: MemoryOp, library: Option<&str>| label(&stream(op), &Common::default(), library).how;
        assert_eq!(how(MemoryOp::Memcpy, Some("glibc 2.36")), "memcpy (glibc 2.36), 1 GiB, 2 MiB pages");
        assert_eq!(how(MemoryOp::Memcpy, None), "memcpy (C library), 1 GiB, 2 MiB pages");
        assert_eq!(how(MemoryOp::RepMovsb, Some("musl")), "rep movsb, 1 GiB, 2 MiB pages");
    }

    #[test]
    fn every_operation_has_words_of_its_own() {
        let all: BTreeSet<String> = MemoryOp::ALL.iter().map(|op| op_words(*op)).collect();
        assert!(all.contains("mix, 3 reads : 1 write") && all.contains("copy, rep movsb"));
        assert_eq!(all.len(), MemoryOp::ALL.len(), "{all:?}");
    }
}
