//! Folders that another user wrote, read by root: nothing outside of them is changed, and nobody waits for them.

use std::fs;
use std::os::unix::fs::{lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Scratch, assay, command, is_root, ran, skip, stored_runs, succeed};
use crate::system::process::{Running, has};

/// The user `nobody`.
const OTHER: u32 = 65534;
/// A command that waits for a FIFO or reads a device without end is killed, with status 124.
const PATIENCE: &str = "20";
const SHORT: &str = "cpu --threads 1 --isa scalar --type fp64 --repeat 1";

/// Gives everything in a folder to the other user; false without the right to.
fn given_away(folder: &Path) -> bool {
    let all = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    all.chain([folder.to_owned()]).all(|path| lchown(path, Some(OTHER), Some(OTHER)).is_ok())
}

/// A store with one short run.
fn with_a_run(scratch: &Scratch) -> PathBuf {
    succeed(scratch, SHORT);
    stored_runs(scratch).remove(0)
}

fn within_patience(scratch: &Scratch, arguments: &str) -> crate::common::Ran {
    let own = command(scratch, arguments.split_whitespace());
    let mut limited = Command::new("timeout");
    limited.arg(PATIENCE).arg(own.get_program()).args(own.get_args()).env_clear();
    limited.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
    ran(limited)
}

/// The journal of a dead process that names a file to remove and a process to end.
fn planted_journal(file: &Path, process: u32) -> String {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let started = stat.rsplit_once(')').unwrap().1.split_ascii_whitespace().nth(19).unwrap().to_owned();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let namespace = fs::read_link("/proc/self/ns/pid").unwrap();
    let (boot, namespace, file) = (boot.trim(), namespace.display(), file.display());
    format!(
        "{{\"kind\":\"owner\",\"process\":1,\"started\":1,\"boot\":\"x\"}}\n\
         {{\"kind\":\"will_make\",\"path\":\"{file}\"}}\n\
         {{\"kind\":\"started\",\"process\":{process},\"started\":{started},\"boot\":\"{boot}\",\
         \"namespace\":\"{namespace}\"}}\n"
    )
}

#[test]
fn a_planted_journal_removes_no_file_and_ends_no_process() {
    if !is_root() {
        return skip("a planted journal", "only root can give files away");
    }
    let scratch = Scratch::new();
    let file = scratch.join(".assay-1-2.tmp");
    fs::write(&file, "precious").unwrap();
    let process = Running::start(Command::new("setsid").args(["sleep", "60"]));
    let planted = scratch.join("store/runs/2026-01-01T00-00-00Z-x");
    fs::create_dir_all(&planted).unwrap();
    fs::write(planted.join("journal.jsonl"), planted_journal(&file, process.id())).unwrap();
    assert!(given_away(&planted));
    succeed(&scratch, SHORT);
    assert!(file.exists() && planted.join("journal.jsonl").exists());
    assert!(Path::new(&format!("/proc/{}/exe", process.id())).exists(), "the process was ended");
    let resumed = assay(&scratch, &format!("run --resume {}", planted.display()));
    assert_eq!(resumed.status, Some(2), "{resumed:?}");
}

#[test]
fn a_fifo_a_device_or_a_giant_as_a_run_is_refused_at_once() {
    if !has("mkfifo") || !has("timeout") {
        return skip("a FIFO as a run", "mkfifo or timeout is missing");
    }
    let scratch = Scratch::new();
    let good = with_a_run(&scratch);
    let name = good.file_name().unwrap().to_str().unwrap().to_owned();
    let [fifo, device, giant] = ["fifo", "device", "giant"].map(|name| scratch.join("store/runs").join(name));
    for folder in [&fifo, &device, &giant] {
        fs::create_dir(folder).unwrap();
    }
    for file in ["run.json", "journal.jsonl", "summary.json"] {
        assert!(Command::new("mkfifo").arg(fifo.join(file)).status().unwrap().success());
        symlink("/dev/zero", device.join(file)).unwrap();
    }
    fs::File::create(giant.join("run.json")).unwrap().set_len(200 << 20).unwrap();
    let listed = within_patience(&scratch, "runs");
    assert_eq!((listed.status, listed.stdout.lines().count()), (Some(0), 4), "{listed:?}");
    assert!(listed.stdout.contains("not a regular file") && listed.stdout.contains("larger than"), "{listed:?}");
    for folder in [&fifo, &device, &giant] {
        for arguments in ["show {}", "report {}", "compare {} {name}", "run --resume {}"] {
            let arguments = arguments.replace("{}", folder.to_str().unwrap()).replace("{name}", &name);
            let refused = within_patience(&scratch, &arguments);
            assert_eq!(refused.status, Some(2), "{arguments}: {refused:?}");
        }
    }
    let measured = within_patience(&scratch, SHORT);
    assert_eq!(measured.status, Some(0), "{measured:?}");
}

#[test]
fn nothing_is_written_unasked_into_a_folder_of_another_user_or_through_its_links() {
    if !is_root() {
        return skip("a folder of another user", "only root can give files away");
    }
    let scratch = Scratch::new();
    let run = with_a_run(&scratch);
    let victim = scratch.join("victim");
    fs::write(&victim, "untouched").unwrap();
    fs::remove_file(run.join("report.html")).unwrap();
    for name in ["report.html", ".run.json.unfinished", "mine.html"] {
        symlink(&victim, run.join(name)).unwrap();
    }
    fs::remove_file(run.join("summary.json")).unwrap();
    assert!(given_away(&run));
    let (shown, before) = (run.display(), crate::common::names(&run));
    let report = assay(&scratch, &format!("report {shown}"));
    assert!(
        report.status == Some(2) && report.stderr.contains("another user") && report.stderr.contains("-o"),
        "{report:?}"
    );
    let through = assay(&scratch, &format!("report {shown} -o {shown}/mine.html"));
    assert!(through.status == Some(2) && through.stderr.contains("a link of another user"), "{through:?}");
    succeed(&scratch, "runs");
    succeed(&scratch, &format!("report {shown} -o {}", scratch.join("own.html").display()));
    assert_eq!(crate::common::names(&run), before);
    assert_eq!(fs::read_to_string(&victim).unwrap(), "untouched");
    let resumed = assay(&scratch, &format!("run --resume {shown}"));
    assert_eq!(resumed.status, Some(2), "{resumed:?}");
}

#[test]
fn a_plan_of_another_user_is_read_and_neither_run_nor_written_to() {
    if !is_root() || !has("timeout") || !has("mkfifo") {
        return skip("a plan of another user", "root, timeout or mkfifo is missing");
    }
    let scratch = Scratch::new();
    let (plan, victim) = (scratch.join("plan"), scratch.join("victim"));
    succeed(&scratch, &format!("cluster plan --nodes n1,n2 --area cpu {}", plan.display()));
    fs::create_dir(&victim).unwrap();
    symlink(&victim, plan.join("report")).unwrap();
    assert!(given_away(&plan));
    let shown = plan.display();
    for command in ["run", "report"] {
        let refused = within_patience(&scratch, &format!("cluster {command} {shown}"));
        assert!(refused.status == Some(2) && refused.stderr.contains("another user"), "{command}: {refused:?}");
    }
    assert_eq!(within_patience(&scratch, &format!("cluster status {shown}")).status, Some(0));
    let own = scratch.join("own.json");
    succeed(&scratch, &format!("cluster report {shown} --format json -o {}", own.display()));
    assert!(own.exists() && fs::read_dir(&victim).unwrap().next().is_none());
    fs::remove_file(plan.join("plan.json")).unwrap();
    assert!(Command::new("mkfifo").arg(plan.join("plan.json")).status().unwrap().success());
    for command in ["run", "report", "status"] {
        let refused = within_patience(&scratch, &format!("cluster {command} {shown}"));
        assert_eq!(refused.status, Some(2), "{command}: {refused:?}");
    }
}

#[test]
fn a_run_is_not_swept_from_another_pid_namespace() {
    if !is_root() || !has("unshare") {
        return skip("another PID namespace", "root or unshare is missing");
    }
    let scratch = Scratch::new();
    let long = "cpu --threads 1 --isa scalar --type fp64 --repeat 400";
    let running = Running::assay(&scratch, long);
    let folder = crate::system::process::samples_in_journal(&scratch, 2);
    // A file with a name of ours, in the journal of the live run.
    let file = scratch.join(".assay-1-2.tmp");
    fs::write(&file, "in use").unwrap();
    let line = format!("{{\"kind\":\"will_make\",\"path\":\"{}\"}}\n", file.display());
    let mut journal = fs::OpenOptions::new().append(true).open(folder.join("journal.jsonl")).unwrap();
    std::io::Write::write_all(&mut journal, line.as_bytes()).unwrap();
    let own = command(&scratch, SHORT.split_whitespace());
    let mut inside = Command::new("unshare");
    inside.args(["--pid", "--fork", "--mount-proc"]).arg(own.get_program()).args(own.get_args()).env_clear();
    inside.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?)))).env("PATH", "/usr/bin:/bin");
    let inside = ran(inside);
    assert_eq!(inside.status, Some(0), "{inside:?}");
    assert!(file.exists(), "the live run was swept");
    drop(running);
}
