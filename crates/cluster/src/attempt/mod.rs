//! One attempt at a task: the program as a child process, its result, and the one rename that publishes it.

pub(crate) mod context;
pub(crate) mod process;
pub(crate) mod publish;
pub(crate) mod run;
