//! The real program, run end to end on this machine. No test asserts a speed: they assert structure, verified results,
//! refusals, exit statuses, conservation, and that nothing is lost or left behind.
//!
//! * `common`: the program, scratch folders, documents and their independent check
//! * `system`: mounts, control groups and processes, taken away again when a test ends
//! * `bad_input`: what is refused, with which sentence and status
//! * `charts`: a run's charts as files
//! * `cluster`: plans, agents that drain them, and agents that are killed
//! * `cluster_pairs`: the network between the nodes of a plan
//! * `cluster_forms`: the report and the state of plans, done or not, and what cannot be read or written
//! * `cluster_run`: workers on nodes, through ssh, this host and a made-up Slurm
//! * `compare`: two runs, compared
//! * `cpu_trouble`: instruction sets that are missing, fewer CPUs than threads, CPUs that go away
//! * `cpu`: rows of arithmetic, how they scale, totals done in full
//! * `disk`: disk rows, where they are measured, with which engine, on which file systems
//! * `disk_cache`: disk rows through the page cache, below a sector, with files of their own, and totals in full
//! * `disk_limits`: what may be written to disks, and disks that are somebody else's
//! * `disk_steady`: disks that are written to until they are steady
//! * `disk_trouble`: disks that fill up, fail or go away, and runs of them that are ended
//! * `documents`: plans, documents, formats
//! * `doctor`: `assay doctor`, on this machine as it is and where something is wrong on purpose
//! * `disturbances`: what rows are warned of when they are disturbed on purpose
//! * `linpack`: systems that are solved and checked, products, refusals, interrupts
//! * `live`: two sides measured in turn, and the commands that switch between them
//! * `memory`: streams, blocks, chases and cores among each other
//! * `net`: streams and round trips between two processes, and ends that die or hang
//! * `net_faults`: networks that are slow, late, lossy or blind to long packets
//! * `net_server`: servers and their visitors, queues, keys, hostile clients, ends that are stopped or killed
//! * `references`: trusted tools beside our rows, real ones and fakes
//! * `report`: where each form of a report goes, and what the programs that it is for make of it
//! * `resume`: runs that were cut off, and go on
//! * `guide`: questions on a terminal
//! * `family`: the processes that a run has started
//! * `machines`: `assay info`, here and of recorded machines
//! * `cut_off`: signals, killed runs and killed workers
//! * `storage`: closed outputs, folders that cannot be written to, full disks
//! * `sampling`: sessions, launches that are made again, waiting for a quiet machine
//! * `surroundings`: quotas, memory limits, neighbours, a kernel that shows nothing
//! * `emulation`: older processors under qemu
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, reason = "tests")]

mod bad_input;
mod charts;
mod cluster;
mod cluster_forms;
mod cluster_pairs;
mod cluster_run;
mod common;
mod compare;
mod cpu;
mod cpu_trouble;
mod cut_off;
mod disk;
mod disk_cache;
mod disk_limits;
mod disk_steady;
mod disk_trouble;
mod disturbances;
mod doctor;
mod documents;
mod emulation;
mod family;
mod guide;
mod linpack;
mod live;
mod machines;
mod memory;
mod net;
mod net_faults;
mod net_server;
mod references;
mod references_here;
mod references_trouble;
mod report;
mod resume;
mod sampling;
mod storage;
mod surroundings;
mod system;
