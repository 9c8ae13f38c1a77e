//! Signals, killed processes, resumed runs and folders that cannot be written.

mod cut_off;
mod resume;
mod storage;
mod threads;
