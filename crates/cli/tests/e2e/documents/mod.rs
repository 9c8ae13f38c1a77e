//! Plans, documents, reports, charts, comparisons and recorded machines.

use std::sync::LazyLock;

use serde_json::Value;

use crate::common::{Scratch, document, only_run, succeed};

mod charts;
mod compare;
mod formats;
mod machines;
mod report;

/// A short run: two kernels on one thread and two, six samples each.
static RUN: LazyLock<Value> = LazyLock::new(|| {
    let scratch = Scratch::new();
    succeed(&scratch, "cpu --op fma --type fp64 --isa vector,scalar --threads 1,2 --repeat 6");
    document(&only_run(&scratch))
});

/// A scratch folder with this document as `a-run` in its store.
fn with_run(document: &Value) -> Scratch {
    let scratch = Scratch::new();
    let folder = scratch.join("store/runs/a-run");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("run.json"), document.to_string()).unwrap();
    scratch
}
