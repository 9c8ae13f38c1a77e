//! From evidence to judgement: scaling, findings, comparisons of runs, and which node of a cluster is slow.
//!
//! Pure: the same documents give the same judgement, so that stored runs can be judged again. Nothing here reads a file,
//! a clock or the machine.
#![forbid(unsafe_code)]

pub mod compare;
pub mod efficiency;
pub mod findings;
pub mod fleet;
pub mod judge;
pub mod live;
mod process_run;
pub mod rules;
pub mod run;
pub mod samples;
pub mod scaling;

#[cfg(test)]
mod tests;
