//! A campaign: jobs for a plan's tasks, until all of them are finished.

pub mod decide;
pub mod forecast;
mod history;
mod probe;
mod remaining;
pub mod run;
#[cfg(test)]
mod tests;
