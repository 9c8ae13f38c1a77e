//! A campaign: jobs for a plan's tasks, until all of them are finished.

pub mod decide;
pub mod forecast;
mod history;
pub mod mark;
mod probe;
mod remaining;
pub mod retry;
pub mod run;
#[cfg(test)]
mod tests;
