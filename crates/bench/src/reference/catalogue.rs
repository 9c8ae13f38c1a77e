//! Which tools there are, where they were found, and whether each does what its adapter says: `assay references`.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::Path;

use model::doctor::FoundTool;
use model::experiment::{Area, DiskParams, Experiment, Params};
use model::reference::{CheckOutcome, KnownTool, ToolCheck};
use model::sample::MetricName;
use model::unit::Unit;
use model::wire::HeldFile;

use super::detect::{Found, NotFound, Places, detect_within};
use super::run::run;
use super::{About, REFERENCES, Reference, Target};

/// Seconds that a tool is asked to measure for a check. Those that count in whole seconds take one.
const CHECK_SECONDS: f64 = 0.1;
/// Seconds that a tool has for its version: they answer in milliseconds.
pub const VERSION_SECONDS: f64 = 5.0;
/// Bytes per second that a tool which counts its own passes may take our own rate to be: it then does few.
const SLOW_RATE: f64 = 1e9;

/// Which tools are there, within so many seconds for their versions.
pub fn found(places: &Places, timeout_seconds: f64) -> Vec<FoundTool> {
    let brief = |known: KnownTool| {
        let reason = known.reason.filter(|_| known.path.is_some());
        FoundTool { tool: known.tool, path: known.path, version: known.version, reason }
    };
    known(places, timeout_seconds).into_iter().map(brief).collect()
}

/// All tools that are known, in the order of the table; all are asked at once for their versions, within so many seconds.
pub fn known(places: &Places, timeout_seconds: f64) -> Vec<KnownTool> {
    let ask = |about: &'static About| {
        let found = detect_within(about, places, timeout_seconds);
        let path = match &found {
            Ok(found) => Some(&found.path),
            Err(NotFound::Unusable { path, .. }) => Some(path),
            Err(NotFound::Missing(_)) => None,
        };
        KnownTool {
            tool: about.tool.to_owned(),
            found: found.is_ok(),
            path: path.map(|path| path.display().to_string()),
            version: found.as_ref().ok().and_then(|found| found.version.clone()),
            reason: found.as_ref().err().map(|error| error.reason().to_owned()),
            stands_beside: about.stands_beside.to_owned(),
            how_to_get: about.how_to_get.to_owned(),
            check: None,
        }
    };
    std::thread::scope(|scope| {
        let asked: Vec<_> = REFERENCES.iter().map(|reference| scope.spawn(move || ask(reference.about()))).collect();
        asked.into_iter().filter_map(|answer| answer.join().ok()).collect()
    })
}

/// Runs a tool once beside nothing, on a small example of what it stands beside, and reads what it prints. Those that
/// need a file are given a nameless one in `directory`, or the nearest above it that is there. `None` for a tool that is not there.
pub fn check(tool: &str, places: &Places, directory: &Path) -> Option<ToolCheck> {
    let reference = super::find(tool)?;
    let found = detect_within(reference.about(), places, VERSION_SECONDS).ok()?;
    let directory = directory.ancestors().find(|above| above.is_dir()).unwrap_or(directory);
    let experiment = reference.example();
    let tried = tried(reference, &found, &experiment, directory);
    Some(ToolCheck {
        status: if tried.is_ok() { CheckOutcome::Ok } else { CheckOutcome::Failed },
        experiment: experiment.id,
        value: tried.as_ref().ok().map(|(value, _)| *value),
        unit: tried.as_ref().ok().map(|(_, unit)| *unit),
        reason: tried.err(),
    })
}

/// Its figure, and the unit of it.
fn tried(
    reference: &dyn Reference,
    found: &Found,
    experiment: &Experiment,
    directory: &Path,
) -> Result<(f64, Unit), String> {
    let file = (experiment.area == Area::Disk).then(|| scratch(directory, experiment)).transpose()?;
    let cpus =
        sys::affinity::allowed_cpus().map_err(|error| format!("the CPUs of this process are not known: {error}"))?;
    let threads = experiment.params.threads() as usize;
    let ours: Vec<u32> = cpus.iter().copied().cycle().take(threads).collect();
    let target = Target {
        experiment,
        program: &found.path,
        launcher: found.launcher.as_deref(),
        cpus: &ours,
        other_cpus: &cpus[cpus.len() - 1..],
        seconds: CHECK_SECONDS,
        file: file.as_ref().map(|(_, held)| held),
        our_rate: (experiment.area != Area::Net).then_some(SLOW_RATE),
        version: found.version.as_deref().unwrap_or_default(),
        offered_rate: None,
    };
    let ran = run(&reference.invocation(&target)?, &mut |_| {})?;
    let reading = reference.parse(found.version.as_deref().unwrap_or_default(), &ran.output, experiment)?;
    let unit = match (reading.metric, experiment.area) {
        (MetricName::Latency, _) => Unit::Second,
        (MetricName::Iops, _) => Unit::PerSecond,
        (_, Area::Cpu | Area::Linpack) => Unit::FlopPerSecond,
        _ => Unit::BytePerSecond,
    };
    Ok((reading.value, unit))
}

/// A nameless file of random bytes, and how a tool opens it. It is gone when it is closed.
fn scratch(directory: &Path, experiment: &Experiment) -> Result<(File, HeldFile), String> {
    let cannot = |error: std::io::Error| format!("no file can be made in '{}': {error}", directory.display());
    let Params::Disk(DiskParams { size: bytes, .. }) = experiment.params else {
        return Err("only disk experiments have a file".to_owned());
    };
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
    use crate::reference::tests::program_in;
    use crate::tests::scratch as scratch_folder;

    fn only(folder: &Path) -> Places {
        Places { search_path: vec![folder.to_owned()], ..Places::default() }
    }

    #[test]
    fn every_tool_is_listed_found_or_not_and_how_to_get_it() {
        let folder = scratch_folder();
        program_in(folder.path(), "fio", "echo fio-3.33");
        program_in(folder.path(), "iperf3", "echo iperf 2.9");
        let tools = known(&only(folder.path()), VERSION_SECONDS);
        let names: Vec<&str> = tools.iter().map(|tool| tool.tool.as_str()).collect();
        let table: Vec<&str> = REFERENCES.iter().map(|reference| reference.about().tool).collect();
        assert_eq!(names, table, "in the order of the table");
        for tool in &tools {
            assert_eq!(tool.found, tool.tool == "fio", "{tool:?}");
            assert_eq!(tool.reason.is_some(), !tool.found, "{tool:?}");
            assert!(tool.check.is_none() && !tool.how_to_get.is_empty() && !tool.stands_beside.is_empty());
        }
        let of = |name: &str| tools.iter().find(|tool| tool.tool == name).unwrap();
        assert_eq!((of("fio").version.as_deref(), of("qperf").path.as_ref()), (Some("3.33"), None));
        assert!(of("iperf3").path.is_some() && of("iperf3").reason.as_ref().unwrap().contains("2.9"));
        assert_eq!(found(&only(folder.path()), 5.0).len(), REFERENCES.len());
    }

    #[test]
    fn a_tool_that_is_tried_is_read_and_leaves_nothing() {
        let folder = scratch_folder();
        program_in(
            folder.path(),
            "sysbench",
            "test \"$1\" = --version && echo sysbench 1.0.20 || \
             printf 'Number of threads: 2\\n  block size: 32768KiB\\n  operation: read\\n1 MiB transferred (100.00 MiB/sec)\\n'",
        );
        let check = check("sysbench", &only(folder.path()), folder.path()).unwrap();
        assert_eq!((check.status, check.value), (CheckOutcome::Ok, Some(100.0 * f64::from(1 << 20))), "{check:?}");
        assert_eq!(check.unit, Some(Unit::BytePerSecond));
    }

    #[test]
    fn a_tool_that_says_nonsense_fails_its_check_with_the_reason() {
        let folder = scratch_folder();
        program_in(folder.path(), "fio", "test \"$1\" = --version && echo fio-3.33 || echo nonsense");
        let check = check("fio", &only(folder.path()), folder.path()).unwrap();
        assert_eq!((check.status, check.value), (CheckOutcome::Failed, None));
        assert!(check.reason.unwrap().contains("no JSON"));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "its file is gone");
        let nowhere = folder.path().join("not/there/yet");
        let check = super::check("fio", &only(folder.path()), &nowhere).unwrap();
        assert!(check.reason.unwrap().contains("no JSON"), "its file is made above");
        assert!(super::check("qperf", &only(folder.path()), folder.path()).is_none(), "what is not there is not tried");
    }
}
