//! A campaign: jobs for a plan's tasks, until all of them are finished.

pub mod clock;
pub mod decide;
pub mod events;
pub mod forecast;
mod give_up;
mod history;
mod probe;
mod remaining;
pub mod run;
#[cfg(test)]
mod tests;
