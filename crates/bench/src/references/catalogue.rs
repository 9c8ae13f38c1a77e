//! The known tools, where they are, and whether each works (`assay references`).

use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::thread::{Builder, ScopedJoinHandle};

use model::doctor::FoundTool;
use model::experiment::Experiment;
use model::reference::{CheckOutcome, KnownTool, ToolCheck};
use model::sample::MetricName;
use model::unit::Unit;
use model::wire::HeldFile;
use sys::clock::monotonic_raw_seconds;
use sys::process::stop_signal;
use tools::{Invocation, ReferenceTool, TOOLS, Target, ToolDescription};

use super::detect::{Found, NotFound, Places, detect, detect_within};
use super::run::run;

/// Seconds to measure in a check; some tools round to 1.
const CHECK_SECONDS: f64 = 0.1;
/// Assumed rate of ours, so that tools which size their work by it do little.
const SLOW_RATE: f64 = 1e9;

pub fn found(places: &Places, timeout_seconds: f64) -> Vec<FoundTool> {
    let brief = |KnownTool { tool, path, version, reason, .. }: KnownTool| FoundTool {
        tool,
        reason: reason.filter(|_| path.is_some()),
        path,
        version,
    };
    known(places, timeout_seconds).into_iter().map(brief).collect()
}

/// All known tools in the order of the table; their versions are queried concurrently.
pub fn known(places: &Places, timeout_seconds: f64) -> Vec<KnownTool> {
    let ask = |tool: &'static ToolDescription| {
        let (path, version, reason) = match detect_within(tool, places, timeout_seconds) {
            Ok(found) => (Some(found.path), found.version, None),
            Err(NotFound::Unusable { path, reason }) => (Some(path), None, Some(reason)),
            Err(NotFound::Missing(reason)) => (None, None, Some(reason)),
        };
        KnownTool {
            tool: tool.id.to_owned(),
            found: reason.is_none(),
            path: path.map(|path| path.display().to_string()),
            version,
            reason,
            compared_with: tool.compared_with.to_owned(),
            how_to_get: tool.how_to_get.to_owned(),
            check: None,
        }
    };
    std::thread::scope(|scope| {
        let ask_alongside = |tool: &&'static dyn ReferenceTool| {
            let tool = tool.description();
            (tool, Builder::new().spawn_scoped(scope, move || ask(tool)).ok())
        };
        let asked: Vec<_> = TOOLS.iter().map(ask_alongside).collect();
        // Where no thread can be started, one after the other.
        let answer = |(tool, asked): (_, Option<ScopedJoinHandle<'_, KnownTool>>)| {
            asked.map_or_else(|| Some(ask(tool)), |answer| answer.join().ok())
        };
        asked.into_iter().filter_map(answer).collect()
    })
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trying<'a> {
    /// All: number of tools and expected seconds.
    Tools(usize, f64),
    Begins(&'a str),
    /// A tool ended after these seconds.
    Ended(&'a str, f64, &'a ToolCheck),
}

/// Runs each installed tool once on its example and parses the output; their values do not count. Files are nameless, in
/// `directory` or its nearest existing parent. After a stop signal, unfinished tools count as unchecked.
pub fn check(tools: &mut [KnownTool], places: &Places, directory: &Path, progress: &mut dyn FnMut(Trying<'_>)) {
    let directory = directory.ancestors().find(|above| above.is_dir()).unwrap_or(directory);
    let here = tools.iter_mut().filter(|tool| tool.found);
    let trials: Vec<(&mut KnownTool, Trial)> =
        here.filter_map(|tool| Trial::new(&tool.tool, places, directory).map(|trial| (tool, trial))).collect();
    progress(Trying::Tools(trials.len(), trials.iter().map(|(_, trial)| trial.expected_seconds()).sum()));
    for (tool, trial) in trials {
        progress(Trying::Begins(&tool.tool));
        let began = monotonic_raw_seconds();
        let check = trial.run();
        // The signal ended the tool, too.
        if stop_signal().is_some() {
            return;
        }
        progress(Trying::Ended(&tool.tool, monotonic_raw_seconds() - began, &check));
        tool.check = Some(check);
    }
}

struct Trial {
    reference: &'static dyn ReferenceTool,
    experiment: Experiment,
    invocation: Result<Invocation, String>,
    _file: Option<File>,
}

impl Trial {
    fn new(tool: &str, places: &Places, directory: &Path) -> Option<Self> {
        let reference = tools::find(tool)?;
        let found = detect(reference.description(), places).ok()?;
        let experiment = (reference.description().example)();
        let (invocation, file) = match invocation(reference, &found, &experiment, directory) {
            Ok((invocation, file)) => (Ok(invocation), file),
            Err(why) => (Err(why), None),
        };
        Some(Self { reference, experiment, invocation, _file: file })
    }

    fn expected_seconds(&self) -> f64 {
        self.invocation.as_ref().map_or(0.0, |invocation| invocation.expected_seconds)
    }

    fn run(self) -> ToolCheck {
        let (status, value, unit, reason) = match self.read() {
            Ok((value, unit)) => (CheckOutcome::Ok, Some(value), Some(unit), None),
            Err(reason) => (CheckOutcome::Failed, None, None, Some(reason)),
        };
        ToolCheck { status, experiment: self.experiment.id, value, unit, reason }
    }

    fn read(&self) -> Result<(f64, Unit), String> {
        let ran = run(self.invocation.as_ref().map_err(Clone::clone)?, &mut |_| {})?;
        let reading = self.reference.parse(&ran.output, &self.experiment)?;
        let is_flop = self.experiment.cpu().is_some() || self.experiment.linpack().is_some();
        let unit = match reading.metric {
            MetricName::Latency => Unit::Second,
            MetricName::Iops => Unit::PerSecond,
            _ if is_flop => Unit::FlopPerSecond,
            _ => Unit::BytePerSecond,
        };
        Ok((reading.value, unit))
    }
}

fn invocation(
    reference: &dyn ReferenceTool,
    found: &Found,
    experiment: &Experiment,
    directory: &Path,
) -> Result<(Invocation, Option<File>), String> {
    let (file, held) = experiment.disk().map(|params| scratch(directory, params.size)).transpose()?.unzip();
    let cpus =
        sys::affinity::allowed_cpus().map_err(|error| format!("cannot read the CPUs of this process: {error}"))?;
    let threads = experiment.params.threads() as usize;
    let ours: Vec<u32> = cpus.iter().copied().cycle().take(threads).collect();
    let target = Target {
        experiment,
        program: &found.path,
        launcher: found.launcher.as_deref(),
        cpus: &ours,
        other_cpus: &cpus[cpus.len() - 1..],
        seconds: CHECK_SECONDS,
        file: held.as_ref(),
        our_rate: experiment.net().is_none().then_some(SLOW_RATE),
        version: found.version.as_deref().unwrap_or_default(),
        offered_rate: None,
        receive_buffer: None,
    };
    Ok((reference.invocation(&target)?, file))
}

fn scratch(directory: &Path, bytes: u64) -> Result<(File, HeldFile), String> {
    let cannot = |error: std::io::Error| format!("cannot create a file in '{}': {error}", directory.display());
    let mut file = sys::file::unnamed(directory, std::ffi::OsStr::new("assay-check")).map_err(cannot)?;
    let mut random = stats::random::Random::new(1);
    let contents: Vec<u8> = (0..bytes.div_ceil(8)).flat_map(|_| random.next_u64().to_le_bytes()).collect();
    file.write_all(&contents).and_then(|()| file.sync_all()).map_err(cannot)?;
    let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
    let directory = directory.display().to_string();
    Ok((file, HeldFile { path, directory, bytes, seed: 1, ..HeldFile::default() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::references::detect::VERSION_SECONDS;
    use crate::references::tests::program_in;
    use crate::tests::scratch as scratch_folder;

    fn only(folder: &Path) -> Places {
        Places { search_path: vec![folder.to_owned()], ..Places::default() }
    }

    #[test]
    fn each_tool_is_tried_and_reported() {
        let folder = scratch_folder();
        program_in(folder.path(), "fio", "test \"$1\" = --version && echo fio-3.33 || echo nonsense");
        program_in(
            folder.path(),
            "sysbench",
            "test \"$1\" = --version && echo sysbench 1.0.20 || \
             printf 'Number of threads: 2\\n  block size: 32768KiB\\n  operation: read\\n1 MiB transferred (100.00 MiB/sec)\\n'",
        );
        let places = only(folder.path());
        let mut tools = known(&places, VERSION_SECONDS);
        let (mut begun, mut ended, mut announced) = (Vec::new(), Vec::new(), None);
        // Files are made in the nearest folder above.
        check(&mut tools, &places, &folder.path().join("not/there/yet"), &mut |trying| match trying {
            Trying::Tools(count, seconds) => announced = Some((count, seconds)),
            Trying::Begins(tool) => begun.push(tool.to_owned()),
            Trying::Ended(tool, _, check) => ended.push((tool.to_owned(), check.status)),
        });
        assert!(matches!(announced, Some((2, seconds)) if seconds >= 1.0), "{announced:?}");
        assert_eq!(begun, ["sysbench", "fio"], "in the order of the table");
        let wanted = [("sysbench", CheckOutcome::Ok), ("fio", CheckOutcome::Failed)];
        assert_eq!(ended, wanted.map(|(tool, status)| (tool.to_owned(), status)));
        let check = |name: &str| tools.iter().find(|tool| tool.tool == name).and_then(|tool| tool.check.clone());
        assert!(check("fio").unwrap().reason.unwrap().contains("not JSON"));
        assert!(check("ping").is_none(), "what is not there is not tried");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "fio's file is gone");
        let check = check("sysbench").unwrap();
        assert_eq!((check.value, check.unit), (Some(100.0 * f64::from(1 << 20)), Some(Unit::BytePerSecond)));
    }

    #[test]
    fn every_tool_is_listed_found_or_not_and_how_to_get_it() {
        let folder = scratch_folder();
        program_in(folder.path(), "fio", "echo fio-3.33");
        program_in(folder.path(), "iperf3", "echo iperf 2.9");
        let tools = known(&only(folder.path()), VERSION_SECONDS);
        let names: Vec<&str> = tools.iter().map(|tool| tool.tool.as_str()).collect();
        let table: Vec<&str> = tools::ids().collect();
        assert_eq!(names, table, "in the order of the table");
        for tool in &tools {
            assert_eq!(tool.found, tool.tool == "fio", "{tool:?}");
            assert_eq!(tool.reason.is_some(), !tool.found, "{tool:?}");
            assert!(tool.check.is_none() && !tool.how_to_get.is_empty() && !tool.compared_with.is_empty());
        }
        let of = |name: &str| tools.iter().find(|tool| tool.tool == name).unwrap();
        assert_eq!((of("fio").version.as_deref(), of("ping").path.as_ref()), (Some("3.33"), None));
        assert!(of("iperf3").path.is_some() && of("iperf3").reason.as_ref().unwrap().contains("2.9"));
        assert_eq!(found(&only(folder.path()), 5.0).len(), TOOLS.len());
    }
}
