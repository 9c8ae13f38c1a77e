//! What is known of each area: the benchmarks of a request, their ids, methods, expected cost and labels, the rules by which
//! results are judged, and charts.
//!
//! Pure: no I/O and no clock. Order of the modules, each using only those before it: `fields`, each area's `choice`, `suite`,
//! `request`, `threads`, each area's other modules, `plan`, `label`, `chart`, each area's `charts`, the table of charts,
//! `chart/classic`.
#![forbid(unsafe_code)]

mod area;
mod features;
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

pub use area::Area;
pub use features::CoreFeatures;
pub use fields::{IsaChoice, MOST_THREADS, Threads};
pub use plan::{AREAS, RULES, method, plan, rules};
pub use request::{Choices, References, Request};
pub use suite::{Suite, SuiteReferences, matches_id};
pub use threads::place;

#[cfg(test)]
mod tests;
