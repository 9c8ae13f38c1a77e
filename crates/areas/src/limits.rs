//! The limits of a planned benchmark on a machine, and the warnings of a result that reaches or exceeds them.

use kernels::table::KERNELS;
use machine::{CpuKernel, Declared, NetEnd, NetPath};
use model::disk_target::DiskTarget;
use model::document::Row;
use model::experiment::Params;
use model::isa::Isa;
use model::linpack::LinpackParams;
use model::machine::Machine;
use model::peak::Peak;
use model::plan::Planned;
use model::sample::Sample;

use crate::disk::judge::limits::{Limits, hold_against};
use crate::memory::is_beyond_caches;

#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    pub machine: &'a Machine,
    pub declared: &'a Declared,
    pub disk: Option<&'a DiskTarget>,
    pub server: Option<NetEnd<'a>>,
}

/// The limits of a benchmark. `best` is the most operations per cycle that any benchmark of the same kernel has shown.
pub fn peaks(planned: &Planned, row: &Row, best: Option<f64>, known: &Known<'_>) -> Vec<Peak> {
    let Known { machine, declared, .. } = known;
    let computing = |kernel: CpuKernel| {
        let clocks = row.metrics.first().and_then(|metric| thread_clocks(&metric.samples));
        let best = best.or(row.conditions.ops_per_cycle_p90);
        machine::cpu_peaks(machine, kernel, &planned.cpus, clocks.as_deref(), best)
    };
    match &planned.experiment.params {
        Params::Cpu(params) => computing(CpuKernel { op: params.op, element: params.element, isa: params.isa }),
        Params::Linpack(params) => {
            let isa = params.isa.or_else(|| widest(machine, params));
            let kernel = |isa| CpuKernel { op: params.bound(), element: params.element, isa };
            isa.map_or_else(Vec::new, |isa| computing(kernel(isa)))
        }
        Params::Memory(params) if is_beyond_caches(params, &planned.cpus, machine) => {
            machine::memory_peaks(machine, declared, params, &planned.cpus)
        }
        Params::Disk(params) => known.disk.map_or_else(Vec::new, |target| {
            machine::disk_peaks(machine, declared, &target.storage, &target.limits, params)
        }),
        Params::Net(params) => {
            let seen = row.conditions.net.as_ref();
            let path = NetPath {
                near: NetEnd { machine, interface: seen.and_then(|net| net.interface.as_deref()) },
                far: known.server,
                is_version_6: seen.and_then(|net| Some(net.address_family.as_deref()? == "IPv6")),
                two_copy_bytes_per_second: seen.and_then(|net| net.two_copy_bytes_per_second),
            };
            machine::net_peaks(&path, declared, params)
        }
        Params::Memory(_) | Params::Other(_) => Vec::new(),
    }
}

/// Adds the warnings of a result whose peaks are set: what it cannot be, and what caps it.
pub fn warn(row: &mut Row, known: &Known<'_>) {
    if let Some(target) = known.disk {
        hold_against(row, Limits { target, machine: known.machine, declared: &known.declared.to_map() });
    }
}

/// The widest instruction set of this machine that multiplies and adds the elements of a system.
fn widest(machine: &Machine, params: &LinpackParams) -> Option<Isa> {
    let kernels = KERNELS.iter().filter(|kernel| (kernel.op, kernel.element) == (params.bound(), params.element));
    kernels.map(|kernel| kernel.isa).find(|isa| machine.cpu.isa.contains(isa))
}

/// The median clock of each thread, in the threads' order; `None` where it was not measured on every thread.
fn thread_clocks(samples: &[Sample]) -> Option<Vec<f64>> {
    let threads = samples.first()?.per_thread.len();
    let of_thread = |thread: usize| {
        let clocks: Option<Vec<f64>> = samples.iter().map(|sample| sample.per_thread.get(thread)?.clock_hz).collect();
        verdict::judge::median(&clocks?)
    };
    (0..threads).map(of_thread).collect()
}
