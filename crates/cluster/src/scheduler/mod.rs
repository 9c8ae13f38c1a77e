//! What starts workers: Slurm, an allocation of Slurm, ssh, or this host. Claims in the plan's folder decide which worker does
//! which task; the campaign decides when to submit which job ([`crate::campaign`]).

pub mod accounting;
mod children;
pub mod command;
pub mod direct;
pub mod error;
pub mod job;
pub(crate) mod log;
mod parse;
pub mod script;
pub mod slurm;
pub mod words;
