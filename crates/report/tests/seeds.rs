//! The fixtures as seeds of the fuzzer: `cargo test -p report --test seeds -- --ignored` writes them to `fuzz/corpus`.

#[path = "cluster/fixture.rs"]
#[allow(dead_code, reason = "the other documents are no seeds")]
mod cluster;
mod fixture;

use std::fs;
use std::path::Path;

use model::document::Document;

/// A small document is fuzzed more often.
fn cut(mut document: Document) -> Document {
    document.experiments.truncate(3);
    for metric in document.experiments.iter_mut().flat_map(|row| &mut row.metrics) {
        metric.samples.truncate(4);
    }
    document
}

#[test]
#[ignore = "cargo lab fuzz runs it"]
fn fuzz_seeds() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let write = |target: &str, name: &str, text: &str| {
        fs::create_dir_all(corpus.join(target)).unwrap();
        fs::write(corpus.join(target).join(name), text).unwrap();
    };
    for (name, document) in fixture::documents() {
        write("documents", name, &serde_json::to_string(&cut(document)).unwrap());
    }
    for (name, document) in
        [("single", cluster::single()), ("unbegun", cluster::unbegun()), ("holes", cluster::holes())]
    {
        write("plans", name, &serde_json::to_string(&document).unwrap());
    }
}
