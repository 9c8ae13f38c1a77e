//! The user's request, what the machine offers for it, and the table entry of an area that answers it.

use std::collections::BTreeMap;

use kernels::features::{Feature, Features};
use model::disk_target::DiskTarget;
use model::experiment::{Area, Classic, Experiment};
use model::machine::Machine;
use model::plan::{PlanError, Planned, Sampling};

use crate::cpu::choice::CpuChoice;
use crate::disk::choice::DiskChoice;
use crate::fields::Threads;
use crate::label::parts::Labels;
use crate::linpack::choice::LinpackChoice;
use crate::linpack::cost::ProductRate;
use crate::memory::choice::MemoryChoice;
use crate::net::choice::NetChoice;
use crate::suite::{Suite, matches_any};

#[derive(Clone, Debug)]
pub struct Request {
    pub suite: Suite,
    pub areas: Vec<Area>,
    /// Only benchmarks whose id matches this glob.
    pub filter: Option<String>,
    /// These thread counts instead of the suite's.
    pub threads: Vec<Threads>,
    /// Exactly this many samples per benchmark, without a stop rule.
    pub repeat: Option<u32>,
    /// Do the suite's totals in full, however long it takes.
    pub exact_workload: bool,
    /// The most bytes to write to disks, if the user set a limit.
    pub write_budget: Option<u64>,
    pub seed: u64,
    pub choices: Choices,
    pub features: CoreFeatures,
    /// `None` if no product was measured.
    pub product_rate: Option<ProductRate>,
    pub disk: Option<DiskTarget>,
    /// The host name of the server; `None` if client and server are on this machine.
    pub peer: Option<String>,
    /// Why nothing can be measured over loopback.
    pub no_loopback: Option<String>,
    pub references: References,
}

/// The options of an area's own command; an empty list was not given.
#[derive(Clone, Debug, Default)]
pub struct Choices {
    pub cpu: CpuChoice,
    pub linpack: LinpackChoice,
    pub memory: MemoryChoice,
    pub disk: DiskChoice,
    pub net: NetChoice,
}

#[derive(Clone, Debug)]
pub struct References {
    pub tools: Vec<String>,
    /// Whether the suite asked for those that are installed; they then run only with benchmarks that it selects.
    pub of_suite: bool,
    /// Whether a tool can run alongside a benchmark.
    pub can_run: fn(tool: &str, experiment: &Experiment) -> bool,
}

impl Default for References {
    fn default() -> Self {
        Self { tools: Vec::new(), of_suite: false, can_run: |_, _| false }
    }
}

pub(crate) struct AreaEntry {
    /// The benchmarks of a request on a machine; an error if a choice of the user is not possible there.
    pub(crate) expand: fn(&Request, &Machine) -> Result<Vec<Planned>, PlanError>,
    /// Kernel and counting rule by which this version measures a benchmark; `None` if it cannot.
    pub(crate) method: fn(&Experiment) -> Option<String>,
    pub(crate) labels: Labels,
}

/// The place of a benchmark in the classic table of its area.
pub(crate) fn in_table(area: Area, workload: &str, total: Option<f64>) -> Classic {
    Classic { table: area.to_string(), workload: workload.to_owned(), class: None, total }
}

#[derive(Clone, Debug)]
pub struct CoreFeatures {
    pub here: Features,
    /// Features of each core type by its index; empty if all cores are of one type.
    pub by_type: BTreeMap<usize, Features>,
}

impl CoreFeatures {
    /// The features that all of these CPUs have.
    pub fn common(&self, machine: &Machine, cpus: &[u32]) -> Features {
        let uses = |index: usize| machine.cpu.core_types[index].cpus.iter().any(|cpu| cpus.contains(cpu));
        let used: Vec<Features> =
            self.by_type.iter().filter(|(index, _)| uses(**index)).map(|(_, found)| *found).collect();
        if used.is_empty() {
            return self.here;
        }
        let everywhere = |feature: &&Feature| used.iter().all(|features| features.has(**feature));
        let binds = used.iter().all(|features| features.binds_at_renaming());
        Features::having(&Feature::ALL.iter().filter(everywhere).copied().collect::<Vec<_>>()).on_binding_core(binds)
    }
}

/// Whether the filter of a request selects this id. A filter that is no pattern is refused later.
pub(crate) fn is_asked(request: &Request, id: &str) -> bool {
    request.filter.as_ref().is_none_or(|filter| matches_any(filter, id).unwrap_or(true))
}

/// The fewest samples that the mission allows.
pub(crate) const LEAST_SAMPLES: u32 = 3;

/// The sampling of a total that is done in full and is expected to take this long.
pub(crate) fn exact(sampling: &Sampling, sample_seconds: f64) -> Sampling {
    Sampling { samples: LEAST_SAMPLES, most: None, per_launch: 1, sample_seconds, ..sampling.clone() }
}

impl Request {
    /// How benchmarks of an area are sampled, unless they have a sampling of their own.
    pub(crate) fn sampling(&self, area: Area, own: Option<&Sampling>) -> Sampling {
        own.cloned().unwrap_or_else(|| self.suite.sampling(area))
    }

    pub fn new(suite: Suite, features: CoreFeatures) -> Self {
        Self {
            suite,
            areas: Vec::new(),
            filter: None,
            threads: Vec::new(),
            repeat: None,
            exact_workload: false,
            write_budget: None,
            seed: 1,
            choices: Choices::default(),
            features,
            product_rate: None,
            disk: None,
            peer: None,
            no_loopback: None,
            references: References::default(),
        }
    }
}
