//! What a row of memory measured.

use model::experiment::MemoryParams;
use model::isa::{MemoryOp, MemoryPattern};

use super::{Common, Label, counted, page_words};
use crate::number::size;

pub(super) fn label(params: &MemoryParams, common: &Common) -> Label {
    let (op, detail) = match params.op {
        MemoryOp::Read => ("read", None),
        MemoryOp::Write => ("write", None),
        MemoryOp::WriteNt => ("write", Some("non-temporal")),
        MemoryOp::Copy => ("copy", None),
        MemoryOp::CopyNt => ("copy", Some("non-temporal")),
        MemoryOp::Load => ("latency", Some("random")),
        other => (other.name(), None),
    };
    let chase = params.pattern == MemoryPattern::Chase;
    let mut how: Vec<String> = Vec::new();
    if params.pattern == MemoryPattern::Random {
        how.push("random".to_owned());
    }
    if !chase {
        how.push(params.isa.title().to_owned());
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
    Label { what: op.to_owned(), how: how.join(", "), detail: String::new() }
}
