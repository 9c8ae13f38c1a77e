//! The real program, run end to end on this machine. No test asserts a speed: they assert structure, verified results, refusals,
//! exit statuses, conservation, and that nothing is lost or left behind.
//!
//! * `common`: the program, scratch folders, documents and their independent check
//! * `bad_input`: what is refused, with which sentence and status
//! * `documents`: plans, documents, formats
//! * `machines`: `assay info`, here and of recorded machines
//! * `trouble`: signals, full disks, quotas, neighbours, missing files
//! * `emulation`: older processors under qemu

mod bad_input;
mod common;
mod documents;
mod emulation;
mod machines;
mod trouble;
