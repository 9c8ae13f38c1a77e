//! From evidence to judgement. Pure: the same documents give the same judgement, so stored runs can be judged again.
#![forbid(unsafe_code)]

pub mod compare;
pub mod efficiency;
pub mod findings;
pub mod fleet;
pub mod grouping;
pub mod judge;
pub mod live;
mod process_run;
pub mod rules;
pub mod run;
pub mod samples;
pub mod scaling;

#[cfg(test)]
mod tests;
