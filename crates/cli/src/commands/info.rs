//! `assay info`: what a machine is, and its peaks. On this machine it also measures the clock of each kernel, which
//! sustained peaks need.

use std::collections::BTreeMap;
use std::path::Path;

use areas::cpu::CpuChoice;
use areas::{IsaChoice, Request, Threads, cpu, plan};
use bench::probe::Probing;
use bench::runner::{self, Setting};
use machine::{Declared, Sysroot};
use model::disk_target::IoLimits;
use model::document::Row;
use model::isa::CpuOp;
use model::machine::{Machine, Storage};
use model::peak::{InfoPeak, Peak, PeakKind};

use super::program::{program, worker_command};
use crate::args::machine::Info;
use crate::environment::Stream;
use crate::exit::{Outcome, Result, print};

pub(crate) fn info(arguments: &Info, began: f64) -> Result {
    let declared = Declared::parse(&arguments.declare)?;
    let mut machine = read_machine(arguments)?;
    machine::declare_type(&mut machine, &declared);
    let probing = arguments.dir.as_deref().filter(|_| arguments.sysroot.is_none()).map(Probing::begin);
    let behind = arguments.dir.as_deref().map(|dir| storage_behind(dir, arguments)).transpose()?;
    let disk = behind.as_ref().map(|(storage, limits)| (storage, limits));
    let mut peaks = machine::info_peaks(&machine, &declared, &BTreeMap::new(), disk);
    if arguments.sysroot.is_none() && arguments.capture.is_none() {
        peaks.splice(0..0, sustained(&machine, &declared, began));
    }
    let storage = behind.map(|(storage, _)| storage);
    let probe = probing.map(Probing::finish);
    let text = if arguments.json {
        let mut value = report::info::info_json(&machine, &peaks);
        if let Some(storage) = &storage {
            value["storage"] = serde_json::to_value(storage).map_err(|error| error.to_string())?;
        }
        if let Some(probe) = &probe {
            value["probe"] = serde_json::to_value(probe).map_err(|error| error.to_string())?;
        }
        format!("{}\n", serde_json::to_string_pretty(&value).map_err(|error| error.to_string())?)
    } else {
        let style = Stream::Output.style();
        let behind = storage.map(|storage| report::info::storage(&storage, &machine::storage_source(), &style));
        let probed = probe.map(|probe| report::info::probe(&probe, &style));
        let parts = std::iter::once(report::info::info(&machine, &peaks, &style)).chain(behind).chain(probed);
        parts.collect::<Vec<_>>().join("\n")
    };
    print(text.as_bytes())?;
    Ok(Outcome::Done)
}

/// The devices behind a directory of this machine, or of a recorded one, with the limits of their control groups.
fn storage_behind(dir: &Path, arguments: &Info) -> Result<(Storage, IoLimits)> {
    let cannot = |error: std::io::Error| format!("cannot inspect the directory '{}': {error}", dir.display());
    let (root, dir) = match &arguments.sysroot {
        Some(folder) => (Sysroot::folder(folder).map_err(cannot)?, dir.to_owned()),
        None => (Sysroot::host(), dir.canonicalize().map_err(cannot)?),
    };
    let storage = machine::storage(&root, &dir);
    let limits = machine::io_limits(&root, &storage);
    Ok((storage, limits))
}

fn read_machine(arguments: &Info) -> Result<Machine> {
    let cannot =
        |what: &str, path: &Path, error: std::io::Error| format!("cannot {what} '{}': {error}", path.display());
    match (&arguments.sysroot, &arguments.capture) {
        (Some(path), _) => {
            let root = Sysroot::folder(path).map_err(|error| cannot("read the recorded machine", path, error))?;
            Ok(machine::discover(&root))
        }
        (None, Some(path)) => machine::capture(path).map_err(|error| cannot("record this machine in", path, error)),
        (None, None) => Ok(machine::discover(&Sysroot::host())),
    }
}

/// The operations whose sustained peaks are shown.
const HEADLINES: [CpuOp; 4] = [CpuOp::Fma, CpuOp::Dot, CpuOp::Matrix, CpuOp::Plain];

/// The sustained peaks of this machine, from a brief run of each kernel; none if that is impossible.
fn sustained(machine: &Machine, declared: &Declared, began: f64) -> Vec<InfoPeak> {
    // The widest kernel of each operation: all of them would take ten seconds.
    let headlines = CpuChoice { op: HEADLINES.to_vec(), isa: vec![IsaChoice::Vector], ..CpuChoice::default() };
    let (Ok(suite), Ok(worker)) = (cpu::suite(&headlines), worker_command()) else { return Vec::new() };
    let threads = vec![Threads::Count(1), Threads::All];
    // The user has chosen nothing, so kernels that this CPU lacks are left out.
    let request = Request { threads, ..bench::host::request(suite, machine) };
    let Ok(plan) = plan(&request, machine) else { return Vec::new() };
    let setting = Setting::new(worker, program(), machine, declared, began);
    let setting = Setting { verify_only: true, ..setting };
    let finished = runner::run(&plan, &setting, None, &mut |_| {});
    finished.map(|finished| finished.document.experiments.iter().flat_map(of_row).collect()).unwrap_or_default()
}

fn of_row(row: &Row) -> Vec<InfoPeak> {
    let Some(metric) = row.metrics.first() else { return Vec::new() };
    let measured = |peak: &&Peak| matches!(peak.kind, PeakKind::Sustained | PeakKind::Inferred);
    let listed = |peak: &Peak| InfoPeak {
        area: row.area.to_string(),
        what: row.id.rsplit_once('/').map_or(row.id.as_str(), |(what, _)| what).to_owned(),
        threads: row.params.threads(),
        kind: peak.kind,
        value: peak.value,
        unit: metric.unit.to_string(),
        formula: peak.formula.clone(),
        inputs: peak.inputs.clone(),
    };
    metric.peaks.iter().filter(measured).map(listed).collect()
}
