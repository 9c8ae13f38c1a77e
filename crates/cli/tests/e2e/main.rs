//! The real program, run end to end on this machine. No test asserts a speed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, reason = "tests")]

mod bad_input;
mod cluster;
mod commands;
mod common;
mod cpu;
mod disk;
mod documents;
mod interference;
mod interruptions;
mod linpack;
mod memory;
mod net;
mod references;
mod schema;
mod system;
