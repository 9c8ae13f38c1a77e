//! Runs of scripts in place of tools, and of installed tools.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use model::experiment::{DiskParams, Experiment, Params};
use model::io::{DiskEngine, DiskOp};
use model::isa::{Isa, MemoryOp};
use model::sample::MetricName;
use model::wire::HeldFile;
use tools::examples::{chase, disk, linpack, memory};
use tools::{
    FILES, FOLDER, Invocation, NeededFile, NeededSetting, Otherwise, Output, OwnFiles, OwnFolder, Reading, Server,
    Target, ToolDescription, find,
};

use super::detect::{Places, detect};
use super::own::Lasting;
use super::run::{Ran, run};
use crate::tests::{disk_params, scratch, skip};

pub(super) fn description(tool: &str) -> &'static ToolDescription {
    find(tool).unwrap().description()
}

pub(super) fn program_in(folder: &Path, name: &str, script: &str) {
    let path = folder.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn held(path: &Path, bytes: u64) -> HeldFile {
    let directory = path.parent().map(|folder| folder.display().to_string()).unwrap_or_default();
    let path = path.display().to_string();
    HeldFile { path, directory, filesystem: "ext4".to_owned(), bytes, seed: 1, ..HeldFile::default() }
}

fn process(lasting: Lasting<'_>) -> u32 {
    match lasting {
        Lasting::Process(number) => number,
        Lasting::File(path) => panic!("no file is made here: {}", path.display()),
    }
}

fn shell(script: &str) -> Vec<String> {
    ["/bin/sh", "-c", script].map(str::to_owned).into()
}

fn environment<const N: usize>(variables: [(&str, &str); N]) -> BTreeMap<String, String> {
    variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

fn invocation(script: &str) -> Invocation {
    let env = environment([("PATH", "/usr/bin:/bin")]);
    Invocation { argv: shell(script), env, timeout_seconds: 5.0, ..Invocation::default() }
}

fn try_run(invocation: &Invocation) -> Result<Ran, String> {
    run(invocation, &mut |_| {})
}

fn play(script: &str, server: Option<&str>, timeout_seconds: f64) -> Result<Ran, String> {
    let server = server.map(|script| Server { argv: shell(script), ..Server::default() });
    try_run(&Invocation { env: BTreeMap::new(), server, timeout_seconds, ..invocation(script) })
}

#[test]
fn what_a_tool_prints_and_how_it_ends_is_kept() {
    let ran = play("echo out; echo err >&2; exit 7", None, 5.0).unwrap();
    assert_eq!(ran.output, Output { stdout: "out\n".into(), stderr: "err\n".into(), status: Some(7) });
    assert!(ran.raw().contains("$ /bin/sh -c") && ran.raw().contains("out\nerr"), "{}", ran.raw());
    let env = environment([("LC_ALL", "C"), ("HOME", FOLDER)]);
    let wanted = Invocation { argv: vec!["/bin/true".into()], env, ..invocation("") };
    assert_eq!(try_run(&wanted).unwrap().raw(), "# environment\nHOME={folder}\nLC_ALL=C\n\n$ /bin/true\n");
    let server_env = environment([("LANG", "C")]);
    let with_server = Ran { server_argv: vec!["serve".into(), "-p".into()], server_env, ..Ran::default() };
    assert_eq!(with_server.raw(), "$ \n\n# environment of the server\nLANG=C\n\n$ serve -p\n");
    let ended = play("kill -SEGV $$", None, 5.0).unwrap().output;
    assert_eq!(ended.status, None);
    assert!(ended.stderr.contains("SIGSEGV"), "{ended:?}");
    let nothing = play("exec /no/such/program", None, 5.0).unwrap().output;
    assert_eq!(nothing.status, Some(127));
    let missing = try_run(&Invocation { argv: vec!["/no/such/program".into()], ..Invocation::default() });
    assert!(missing.unwrap_err().contains("/no/such/program"));
    assert!(try_run(&Invocation::default()).is_err());
}

#[test]
fn a_tool_has_nothing_of_our_environment_and_no_input() {
    let ran = play("cat; env | grep -v -e '^PWD=' -e '^SHLVL=' -e '^_='; exit 0", None, 5.0).unwrap();
    assert_eq!(ran.output.stdout, "", "{ran:?}");
}

#[test]
fn a_tool_runs_on_its_cpus_in_a_group_of_its_own() {
    let cpu = *sys::affinity::allowed_cpus().unwrap().last().unwrap();
    let mut pid = 0;
    let script = "grep Cpus_allowed_list /proc/self/status; cut -d' ' -f5 /proc/$$/stat";
    let ran =
        run(&Invocation { cpus: vec![cpu], ..invocation(script) }, &mut |lasting| pid = process(lasting)).unwrap();
    let words: Vec<_> = ran.output.stdout.split_whitespace().collect();
    assert_eq!(words, ["Cpus_allowed_list:", &cpu.to_string(), &pid.to_string()]);
}

#[test]
fn a_tool_that_hangs_is_ended_with_all_its_children() {
    let began = sys::clock::monotonic_raw_seconds();
    let scratch = scratch();
    let note = scratch.path().join("child");
    let script = format!("sleep 60 & echo $! > '{}'; echo begun; trap '' TERM; wait; sleep 60", note.display());
    let reason = play(&script, None, 0.3).unwrap_err();
    assert!(reason.contains("took longer") && reason.contains("begun"), "{reason}");
    assert!(sys::clock::monotonic_raw_seconds() - began < 20.0);
    let child: u32 = std::fs::read_to_string(note).unwrap().trim().parse().unwrap();
    assert!(is_gone(child), "its child still runs");
}

#[test]
fn a_tool_that_leaves_children_behind_is_cleared_up() {
    let ran = play("sleep 60 & echo $!", None, 10.0).unwrap();
    assert_eq!(ran.output.status, Some(0));
    assert!(is_gone(ran.output.stdout.trim().parse().unwrap()), "its child still runs");
}

#[test]
fn a_child_of_a_tool_in_another_session_ends_as_well() {
    let scratch = scratch();
    let note = scratch.path().join("child");
    let escaping =
        |end: &str| format!("setsid sh -c 'echo $$ > {}; exec sleep 100' & sleep 0.3; {end}", note.display());
    let number = || -> u32 { std::fs::read_to_string(&note).unwrap().trim().parse().unwrap() };
    for (end, timeout_seconds) in [("exit 0", 10.0), ("sleep 100", 0.6)] {
        let invocation = Invocation { timeout_seconds, ..invocation(&escaping(end)) };
        assert_eq!(try_run(&invocation).is_ok(), end == "exit 0");
        // Tools of concurrent tests may postpone it until one ends alone.
        let gone = (0..30).any(|_| is_gone(number()) || try_run(&self::invocation("true")).is_err());
        assert!(gone, "its child in another session still runs");
    }
}

fn is_gone(process: u32) -> bool {
    let state = || std::fs::read_to_string(format!("/proc/{process}/stat")).ok();
    (0..200).any(|_| {
        let gone = state().is_none_or(|stat| stat.contains(") Z "));
        if !gone {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        gone
    })
}

#[test]
fn more_than_can_be_kept_is_read_and_let_go() {
    // Built in the shell alone: lines of 1000 characters, 9 MB in all.
    let script = "line=$(printf '%0999d' 0); i=0; while [ $i -lt 9000 ]; do echo $line; i=$((i+1)); done; exit 3";
    let output = play(script, None, 30.0).unwrap().output;
    assert_eq!((output.status, output.stdout.len()), (Some(3), 4 << 20));
}

#[test]
fn a_tool_that_cannot_be_called_so_is_called_otherwise() {
    let otherwise = |first: &str| {
        let otherwise = Some(Otherwise { when_it_says: "no memory", argv: shell("echo second") });
        try_run(&Invocation { otherwise, ..invocation(first) }).unwrap()
    };
    let second = otherwise("echo no memory >&2; exit 1");
    assert_eq!((second.output.stdout.as_str(), second.argv), ("second\n", shell("echo second")));
    assert_eq!(otherwise("echo no memory >&2").output.status, Some(0), "it did succeed");
    assert_eq!(otherwise("echo another reason >&2; exit 3").output.status, Some(3));
}

#[test]
fn a_file_that_is_too_short_is_not_given_to_a_tool() {
    let scratch = scratch();
    let path = scratch.path().join("file");
    std::fs::write(&path, [0; 100]).unwrap();
    let with = |path: &Path, bytes| {
        let files = vec![NeededFile { path: path.to_owned(), bytes, overwritten: false }];
        try_run(&Invocation { files, ..invocation("true") })
    };
    assert!(with(&path, 100).is_ok());
    assert!(with(&path, 101).unwrap_err().contains("100 B, not 101 B"));
    assert!(with(scratch.path(), 1).unwrap_err().contains("not a regular file"));
    assert!(with(&scratch.path().join("none"), 1).is_err());
}

#[test]
fn a_tool_has_a_folder_of_its_own_that_is_gone_after_it() {
    let folder = OwnFolder { files: BTreeMap::from([("in.dat", "given\n".to_owned())]), results: Some("out.txt") };
    let env = environment([("PATH", "/usr/bin:/bin"), ("HERE", FOLDER)]);
    let script = "ls; pwd; echo $HERE; while read line; do echo got $line > out.txt; done < in.dat";
    let invocation = Invocation { env, folder: Some(folder), ..invocation(script) };
    let ran = try_run(&invocation).unwrap();
    let words: Vec<&str> = ran.output.stdout.split_whitespace().collect();
    let [name, here, home, got, given] = words[..] else { panic!("{ran:?}") };
    assert_eq!((name, got, given), ("in.dat", "got", "given"), "what it wrote counts as printed");
    assert!(here == home && here.starts_with('/') && !Path::new(here).exists(), "{here}");
    let begin = "# environment\nHERE={folder}\nPATH=/usr/bin:/bin\n\n# in.dat\ngiven\n\n$ /bin/sh -c ls; pwd;";
    assert!(ran.raw().starts_with(begin), "{}", ran.raw());
    let again = try_run(&invocation).unwrap();
    assert_ne!(again.output.stdout, ran.output.stdout, "no folder is used twice");
}

#[test]
fn a_tool_has_files_of_its_own_without_names_that_are_gone_after_it() {
    let scratch = scratch();
    let script = "for file; do printf laid >$file; cat $file; ls -l $file; done; rm -f $1; ls";
    let own_files = |bytes_each| OwnFiles { directory: scratch.path().to_owned(), count: 2, bytes_each };
    let argv = [shell(script), vec!["sh".into(), FILES.into()]].concat();
    let invocation = Invocation { argv, own_files: Some(own_files(4096)), ..invocation("") };
    let mut noted = Vec::new();
    let mut note = |lasting: Lasting<'_>| {
        if let Lasting::File(path) = lasting {
            noted.push(path.to_owned());
        }
    };
    let ran = run(&invocation, &mut note).unwrap();
    assert_eq!(ran.output.stdout.matches("laid").count(), 2, "{ran:?}");
    let paths: Vec<&String> = ran.argv.iter().filter(|word| word.starts_with("/proc/")).collect();
    assert_eq!(paths.len(), 2, "{ran:?}");
    assert!(noted.len() == 2 && noted.iter().all(|path| path.parent() == Some(scratch.path())), "{noted:?}");
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0, "nothing has a name there");
    assert!(!paths.iter().any(|path| std::fs::read_to_string(path).is_ok_and(|text| text == "laid")), "still there");
    let nowhere = OwnFiles { directory: "/no/such/directory".into(), ..own_files(1) };
    for (files, why) in [(own_files(1 << 60), "they need 2305843009213693952 B"), (nowhere, "'/no/such/directory'")] {
        let reason = try_run(&Invocation { own_files: Some(files), ..invocation.clone() }).unwrap_err();
        assert!(reason.contains(why), "{reason}");
    }
}

#[test]
fn a_tool_that_would_change_a_setting_is_not_run() {
    let scratch = scratch();
    let with = |path: &'static str, one_of: &'static [&'static str]| {
        let settings = vec![NeededSetting { path, one_of }];
        try_run(&Invocation { settings, ..invocation("true") })
    };
    let setting = scratch.path().join("enabled");
    std::fs::write(&setting, "always [madvise] never\n").unwrap();
    let path: &'static str = Box::leak(setting.display().to_string().into_boxed_str());
    assert!(with(path, &["[always]", "[madvise]"]).is_ok());
    let reason = with(path, &["[always]", "[never]"]).unwrap_err();
    assert!(reason.contains("which is 'always [madvise] never' and not [always] or [never]"), "{reason}");
    assert!(with("/no/such/setting", &["[always]"]).unwrap_err().contains("cannot be read"));
}

#[test]
fn a_server_that_does_not_stay_is_a_reason() {
    let reason = play("true", Some("echo cannot do this >&2; exit 1"), 5.0).unwrap_err();
    assert!(reason.contains("exited early") && reason.contains("cannot do this"), "{reason}");
    let taken = play("true", Some("echo bind: Address already in use; exit 1"), 5.0).unwrap_err();
    assert!(taken.contains("5 ports") && taken.contains("in use"), "{taken}");
}

/// Runs the real tool for a benchmark; `None` where it is not installed.
fn live(tool: &str, experiment: &Experiment, file: Option<&HeldFile>, our_rate: Option<f64>) -> Option<Reading> {
    let reference = find(tool).unwrap();
    let search_path = ["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from).to_vec();
    let found = match detect(reference.description(), &Places { search_path, ..Places::default() }) {
        Ok(found) => found,
        Err(missing) => {
            skip(&format!("reference {tool}"), missing.reason());
            return None;
        }
    };
    let cpus = sys::affinity::allowed_cpus().unwrap();
    // Not the first CPU: an unpinned tool would run there.
    let [other_cpus, cpus] = [&cpus[..1], &cpus[cpus.len() - 1..]];
    let launcher = found.launcher.as_deref();
    let target = Target { launcher, cpus, other_cpus, file, our_rate, ..Target::new(experiment, &found.path, 0.1) };
    let mut pids = Vec::new();
    let mut note = |lasting: Lasting<'_>| {
        if let Lasting::Process(number) = lasting {
            pids.push(number);
        }
    };
    let ran = run(&reference.invocation(&target).unwrap(), &mut note).unwrap();
    assert!(pids.iter().all(|pid| !sys::process::exists(*pid)), "nothing is left running");
    assert_eq!(pids.len(), 1 + usize::from(!ran.server_argv.is_empty()));
    let reading = reference.parse(&ran.output, experiment);
    Some(reading.unwrap_or_else(|reason| panic!("{reason}\n{}", ran.raw())))
}

#[test]
fn the_real_stream_loops_of_likwid_bench_count_every_byte_once() {
    for (op, bytes) in [(MemoryOp::Triad, 48 << 20), (MemoryOp::TriadNt, 48 << 20), (MemoryOp::Read, 16 << 10)] {
        let experiment = memory(op, Isa::Sse2, bytes, 1);
        let Some(reading) = live("likwid-bench", &experiment, None, Some(2e9)) else { return };
        let detail = |key: &str| reading.details[key].as_f64().unwrap();
        let moved = detail("iterations_per_thread") * detail("working_set");
        assert!((moved / detail("seconds") / reading.value - 1.0).abs() < 1e-3, "{op}: {reading:?}");
        assert!(detail("working_set") > 0.99 * bytes as f64, "{op}: {reading:?}");
    }
}

#[test]
fn the_other_real_memory_and_linpack_tools_run_with_our_settings() {
    let read = |bytes| memory(MemoryOp::Read, Isa::Sse2, bytes, 1);
    let [write, triad] =
        [(MemoryOp::Write, 32 << 20), (MemoryOp::Triad, 4 << 20)].map(|(op, bytes)| memory(op, Isa::Sse2, bytes, 1));
    let mut equations = linpack(200, 1);
    if let Params::Linpack(params) = &mut equations.params {
        params.isa = Some(Isa::Sse2);
    }
    let throughput = MetricName::Throughput;
    for (tool, experiment, metric, detail, range) in [
        ("multichase", &chase(4 << 20), MetricName::Latency, "samples", 1.0..=1.0),
        ("pmbw", &read(4 << 20), throughput, "working_set", 4_194_304.0..=4_194_304.0),
        ("sysbench", &read(32 << 20), throughput, "blocks", 1.0..=f64::MAX),
        ("sysbench", &write, throughput, "blocks", 1.0..=f64::MAX),
        ("hpl", &equations, throughput, "residual", 0.0..=16.0),
        ("hpcc", &equations, throughput, "residual", 0.0..=16.0),
        ("hpcc", &triad, throughput, "processes", 1.0..=1.0),
    ] {
        let Some(reading) = live(tool, experiment, None, None) else { continue };
        assert_eq!(reading.metric, metric, "{tool}: {reading:?}");
        assert!(range.contains(&reading.details[detail].as_f64().unwrap()), "{tool}: {reading:?}");
    }
}

#[test]
fn the_real_ioping_reads_our_file_and_leaves_it_as_it_was() {
    let scratch = scratch();
    let folder = scratch.path();
    let (_file, held) = scratch_file(folder, 1 << 20);
    if let Err(error) = sys::file::open(&folder.join("file"), true, true, false) {
        return skip("reference ioping", &format!("no direct I/O in {}: {error}", folder.display()));
    }
    let contents = || std::fs::read(folder.join("file")).unwrap();
    let before = contents();
    for engine in [DiskEngine::Sync, DiskEngine::Libaio] {
        let experiment = disk(DiskParams { engine, ..disk_params(1) });
        let Some(reading) = live("ioping", &experiment, Some(&held), None) else { break };
        assert_eq!(reading.metric, MetricName::Iops);
    }
    assert!(contents() == before, "it only reads");
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 1, "and makes no file of its own");
}

#[test]
fn the_real_iozone_runs_with_our_settings() {
    let scratch = scratch();
    let held = held(&scratch.path().join("file"), 4 << 20);
    if let Err(error) = sys::file::unnamed(scratch.path(), std::ffi::OsStr::new("direct")) {
        return skip("reference iozone", &error.to_string());
    }
    for threads in [1, 2] {
        let experiment = disk(DiskParams { size: 4 << 20, depth: 1, threads, ..disk_params(1) });
        if let Some(reading) = live("iozone", &experiment, Some(&held), None) {
            assert_eq!(reading.metric, MetricName::Iops);
        }
    }
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0, "its files have no names");
}

/// A file of random bytes, open, with its path through /proc like a benchmark's own file.
fn scratch_file(folder: &Path, bytes: usize) -> (std::fs::File, HeldFile) {
    use std::os::fd::AsRawFd;
    let path = folder.join("file");
    let mut random = stats::random::Random::new(1);
    let contents: Vec<u8> = (0..bytes / 8).flat_map(|_| random.next_u64().to_le_bytes()).collect();
    std::fs::write(&path, contents).unwrap();
    let file = std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let proc_path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
    let held = held(Path::new(&proc_path), bytes as u64);
    (file, held)
}

#[test]
fn the_real_fio_never_unlinks_extends_or_truncates() {
    let scratch = scratch();
    let folder = scratch.path();
    let (file, held) = scratch_file(folder, 4 << 20);
    if let Err(error) = sys::file::open(&folder.join("file"), true, true, false) {
        return skip("reference fio", &format!("no direct I/O in {}: {error}", folder.display()));
    }
    let before = file.metadata().unwrap();
    for (op, changes) in [(DiskOp::Read, false), (DiskOp::Write, true)] {
        let contents = std::fs::read(folder.join("file")).unwrap();
        let experiment = disk(DiskParams { op, size: 4 << 20, ..disk_params(1) });
        let Some(reading) = live("fio", &experiment, Some(&held), None) else { break };
        assert_eq!(reading.metric, MetricName::Iops);
        let latency = &reading.details["latency"];
        assert!(latency["p99"].as_f64().unwrap() >= latency["p50"].as_f64().unwrap(), "{reading:?}");
        let after = folder.join("file").metadata().unwrap();
        assert_eq!((after.ino(), after.len()), (before.ino(), before.len()), "the same file, of the same size");
        assert_eq!(std::fs::read(folder.join("file")).unwrap() != contents, changes, "{op}");
    }
    // fio never sees a file that is too short, and would not harm it.
    let experiment = disk(DiskParams { size: 8 << 20, op: DiskOp::Write, ..disk_params(1) });
    let target = Target { cpus: &[0], file: Some(&held), ..Target::new(&experiment, Path::new("/usr/bin/fio"), 0.1) };
    assert!(find("fio").unwrap().invocation(&target).unwrap_err().contains("would extend"));
    let lied_about = HeldFile { bytes: 8 << 20, ..held.clone() };
    let mut invocation = find("fio").unwrap().invocation(&Target { file: Some(&lied_about), ..target }).unwrap();
    assert!(try_run(&invocation).unwrap_err().contains("4194304 B, not 8388608 B"));
    invocation.files.clear();
    if let Ok(ran) = try_run(&invocation) {
        assert!(find("fio").unwrap().parse(&ran.output, &experiment).is_err(), "{}", ran.raw());
    }
    let after = folder.join("file").metadata().unwrap();
    assert_eq!((after.ino(), after.len()), (before.ino(), before.len()));
}
