//! Every document that loads is judged again and written in every format.
#![no_main]

mod json;

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use model::document::Document;
use report::RENDERERS;

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut document) = serde_json::from_slice::<Document>(bytes) else { return };
    verdict::run::judge_again(&mut document, areas::RULES);
    for renderer in RENDERERS {
        let _ = (renderer.render)(&document);
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, most: usize, seed: u32| { json::mutate(data, size, most, seed) });
