//! What is known of each area: benchmarks, ids, methods, expected cost, labels, rules of judgement and charts.
//!
//! Pure: no I/O and no clock.
#![forbid(unsafe_code)]
#![expect(missing_docs, reason = "most items are named after what they are")]

mod answer;
mod fields;
mod plan;
mod request;
mod suite;
mod threads;

pub mod chart;
pub mod cpu;
pub mod disk;
pub mod label;
pub mod limits;
pub mod linpack;
pub mod memory;
pub mod net;

pub use answer::{AnswerLine, answer_lines, headlines, headlines_of, unplanned};
pub use fields::{IsaChoice, MOST_THREADS, Threads};
pub use plan::{RULES, method, plan, rules};
pub use request::{Choices, CoreFeatures, References, Request};
pub use suite::{Suite, SuiteReferences};
pub use threads::place;
pub use verdict::answer::HeadlineRow;
pub use verdict::expectation::{below, source_words};

#[cfg(test)]
mod tests;
