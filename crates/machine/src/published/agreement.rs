//! Whether a machine is what its machine type is sold as. Firmware can lie, and a user can be wrong.

use std::fmt;

use model::machine::Machine;
use model::number::size;

use crate::published::instances::{InstanceType, Platform, arm_cores, core};
use crate::published::processors::processor_model;

/// What was seen inside the machine. Limits of control groups are no part of it: a container with two CPUs of a host
/// with eight runs on a type with eight.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// Logical CPUs of the machine, whether this process may use them or not.
    pub vcpus: Option<u32>,
    /// Memory that the kernel manages, B.
    pub memory_bytes: Option<u64>,
    /// The brand string.
    pub brand: Option<String>,
    /// The microarchitecture.
    pub microarchitecture: Option<String>,
}

/// What differs from the published values of a machine type.
#[derive(Clone, Debug, PartialEq)]
pub enum Disagreement {
    /// Another number of logical CPUs; also where the user turned SMT off.
    Vcpus {
        /// As published.
        published: f64,
        /// As seen.
        seen: u32,
    },
    /// More memory, or less than firmware and the kernel would leave.
    Memory {
        /// As published, B.
        published: f64,
        /// As seen, B.
        seen: u64,
    },
    /// A model or platform that the type is not known to run on.
    Processor {
        /// The models or platforms that are known.
        published: Vec<String>,
        /// As seen.
        seen: String,
    },
}

impl Seen {
    /// What discovery saw of a machine.
    pub fn of(machine: &Machine) -> Self {
        Self {
            vcpus: machine.cpu.threads,
            memory_bytes: machine.memory.total_bytes,
            brand: machine.cpu.model_name.clone(),
            microarchitecture: machine.cpu.microarchitecture.clone(),
        }
    }
}

/// Every published value that the machine contradicts. What is unknown on either side contradicts nothing.
pub fn disagreements(of: &InstanceType, seen: &Seen) -> Vec<Disagreement> {
    let vcpus =
        of.vcpus.as_ref().zip(seen.vcpus).filter(|(published, seen)| (published.value - f64::from(*seen)).abs() > 0.5);
    let vcpus = vcpus.map(|(published, seen)| Disagreement::Vcpus { published: published.value, seen });
    let memory = of.memory_bytes.as_ref().zip(seen.memory_bytes);
    let memory = memory.filter(|(published, seen)| !is_what_is_left(published.value, *seen));
    let memory = memory.map(|(published, seen)| Disagreement::Memory { published: published.value, seen });
    vcpus.into_iter().chain(memory).chain(other_model(of, seen)).chain(other_platform(of, seen)).collect()
}

/// On 1,093 EC2 types the kernel and firmware kept at most 558 MiB of 8 GiB, 20 % of 512 MiB and 4 % of 1 TiB.
fn is_what_is_left(published: f64, seen: u64) -> bool {
    const SMALL_MACHINES: f64 = 256.0 * 1_048_576.0;
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53 B")]
    let seen = seen as f64;
    seen <= published * 1.001 && seen >= published * 0.92 - SMALL_MACHINES
}

/// A hidden model agrees with all.
fn other_model(of: &InstanceType, seen: &Seen) -> Option<Disagreement> {
    let model = processor_model(seen.brand.as_deref()?)?;
    let known = of.processors.is_empty() || of.processors.contains(&model);
    (!known).then(|| Disagreement::Processor { published: of.processors.clone(), seen: model })
}

fn other_platform(of: &InstanceType, seen: &Seen) -> Option<Disagreement> {
    let seen = seen.microarchitecture.as_deref()?;
    let is_it = |platform: &Platform| match arm_cores(&platform.name) {
        [] => seen.starts_with(core(&platform.name)),
        cores => cores.contains(&seen),
    };
    let known = of.platforms.is_empty() || of.platforms.iter().any(is_it);
    let published = || of.platforms.iter().map(|platform| platform.name.clone()).collect();
    (!known).then(|| Disagreement::Processor { published: published(), seen: seen.to_owned() })
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Vcpus { published, seen } => write!(f, "the type has {published} CPUs, this machine {seen}"),
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a size of memory")]
            Self::Memory { published, seen } => {
                write!(f, "the type has {} of memory, this machine {}", size(*published as u64), size(*seen))
            }
            Self::Processor { published, seen } => {
                write!(f, "the type runs on {}, this machine on {seen}", published.join(" or "))
            }
        }
    }
}
