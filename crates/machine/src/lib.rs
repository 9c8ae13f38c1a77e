//! The facts and the theoretical limits of a machine. [`discover`] reads a [`Sysroot`]: this host, or a folder recorded
//! by [`capture`]. It never fails and never guesses. Nothing here measures, prints, or opens a path outside the root.
#![forbid(unsafe_code)]

mod cpu;
mod declared;
mod discovery;
mod disk;
mod expected;
#[cfg(test)]
#[path = "tests/field.rs"]
mod field;
#[cfg(test)]
#[path = "tests/fixture.rs"]
mod fixture;
mod ledger;
mod limits;
mod list;
mod memory;
mod net;
mod published;
mod recording;
mod surroundings;
mod sysroot;
mod system;

pub use cpu::dump::Dump;
pub use cpu::latency::imul_cycles;
pub use cpu::rates::{Resolved, resolve};
pub use cpu::sets::{lacking, missing};
pub use cpu::steps::{CpuKernel, kernels, steps};
pub use declared::{Declared, KEYS as DECLARED_KEYS};
pub use discovery::discover;
pub use disk::filesystems::{FilesystemClass, FilesystemKind, filesystem_kind, filesystem_named};
pub use disk::storage::{storage, storage_source};
pub use disk::throttle::io_limits;
pub use expected::declare_type;
pub use expected::similar::similarity_key;
pub use limits::disk::disk_peaks;
pub use limits::memory::memory_peaks;
pub use limits::net::{NetEnd, NetPath, net_peaks};
pub use limits::peaks::{cpu_peaks, info_peaks};
pub use list::parse_list;
pub use memory::placement::{away_share, bytes_by_node, nodes_of};
pub use net::addresses::{OwnAddress, own_addresses};
pub use net::routes::interface_to;
pub use published::agreement::{Disagreement, Seen, disagreements};
pub use published::instances::{InstanceType, Platform, Rates, instance_type, nearest_names};
pub use published::processors::{PublishedClocks, processor_clocks, processor_model};
pub use published::results::{PublishedResult, published_results};
pub use published::table::{FORMAT as PUBLISHED_FORMAT, Published, TableError, check as check_published};
pub use recording::{capture, capture_from};
pub use surroundings::activity::{activity, steal_seconds};
pub use surroundings::counters::{DeviceIo, ProcessIo, device_io, process_io};
pub use surroundings::settings::settings;
pub use surroundings::{Watched, surroundings};
pub use sysroot::Sysroot;
pub use system::cgroup::throttled_seconds;
