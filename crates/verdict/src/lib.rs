//! From evidence to judgement. Pure: the same evidence gives the same judgement.
#![forbid(unsafe_code)]

pub mod answer;
pub mod compare;
pub mod efficiency;
pub mod expectation;
pub mod findings;
pub mod fleet;
pub mod grouping;
pub mod headline;
pub mod history;
pub mod judge;
pub mod live;
pub mod rules;
pub mod run;
pub mod samples;
pub mod scaling;

#[cfg(test)]
mod tests;
