//! Every file of a cluster plan's folder is parsed, and every cluster document that loads is written in every format.
#![no_main]

mod json;

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use model::cluster::{Claim, ClusterDocument, NodeFacts, Outcome, Plan, ServerRecord, SubmittedJob, Task, WorkerMark};
use report::cluster::FORMS;
use serde_json::from_slice;

fuzz_target!(|bytes: &[u8]| {
    let _ = from_slice::<Plan>(bytes);
    let _ = from_slice::<Task>(bytes);
    let _ = from_slice::<Claim>(bytes);
    let _ = from_slice::<Outcome>(bytes);
    let _ = from_slice::<NodeFacts>(bytes);
    let _ = from_slice::<WorkerMark>(bytes);
    let _ = from_slice::<ServerRecord>(bytes);
    let _ = from_slice::<SubmittedJob>(bytes);
    let Ok(document) = from_slice::<ClusterDocument>(bytes) else { return };
    for form in FORMS {
        if let Ok(pieces) = (form.render)(&document) {
            pieces.for_each(drop);
        }
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, most: usize, seed: u32| { json::mutate(data, size, most, seed) });
