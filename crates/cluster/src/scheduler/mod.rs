//! What starts workers: Slurm, an allocation of Slurm, ssh, or this host.
//!
//! A scheduler only starts workers and reports what it knows of nodes and of our jobs. Claims in the plan's folder decide
//! which worker does which task, so that a job more or less, early or late, changes only the time. The campaign decides
//! when to submit which job ([`crate::campaign`]).

pub mod allocation;
mod children;
pub mod command;
pub mod direct;
pub mod error;
pub mod job;
pub(crate) mod limits;
pub(crate) mod log;
mod parse;
mod script;
pub mod slurm;
pub mod words;
