//! Signals, killed processes, resumed runs, and folders that cannot be written or belong to another user.

mod cut_off;
mod foreign;
mod resume;
mod storage;
mod threads;
