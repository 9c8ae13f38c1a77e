//! Starts and ends the daemons of the cluster. Each is found again by its pid file and by a mark in its environment.

use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::config::{CONTROLLER_PORT, DATABASE_PORT, FOLDER, NODES, USER, path};
use super::network;
use crate::record::{processes, stat, words_of};

const MARK: (&str, &str) = ("ASSAY_CLUSTER_DAEMON", "1");
const THERE: Duration = Duration::from_secs(90);
const PAUSE: Duration = Duration::from_millis(100);

pub(super) fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    command.env("SLURM_CONF", path("slurm.conf")).env("LC_ALL", "C").current_dir(FOLDER).stdin(Stdio::null());
    command
}

fn daemon(program: &str) -> Command {
    let mut command = command(program);
    command.env(MARK.0, MARK.1).env("MYSQL_UNIX_PORT", path("sql/mysql.socket"));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

pub(super) fn must(command: &mut Command) -> Result<String, String> {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let line = words.map(|word| word.display().to_string()).collect::<Vec<_>>().join(" ");
    let output = command.output().map_err(|error| format!("cannot start {line}: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(format!("{line} failed ({}): {said}", output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

pub(super) fn until(what: &str, patience: Duration, mut holds: impl FnMut() -> bool) -> Result<(), String> {
    let start = Instant::now();
    while !holds() {
        if start.elapsed() >= patience {
            return Err(format!("{what}: not within {} s", patience.as_secs()));
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

fn listens(port: u16) -> bool {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
}

pub(super) fn munge() -> Result<(), String> {
    let option = |name: &str, file: &str| format!("--{name}={FOLDER}/{file}");
    let files = [("key-file", "munge.key"), ("socket", "run/munge.socket"), ("pid-file", "run/munged.pid")].into_iter();
    let files = files.chain([("log-file", "log/munged.log"), ("seed-file", "run/munge.seed")]);
    // It wants to be asked twice, since the folder above is one that everybody may write to.
    must(daemon("munged").arg("--force").args(files.map(|(name, file)| option(name, file)))).map(drop)
}

pub(super) fn database() -> Result<(), String> {
    let data = format!("--datadir={FOLDER}/mysql");
    must(daemon("mariadb-install-db").args(["--no-defaults", "--user=mysql", "--skip-test-db", &data]))?;
    let mut server = daemon("mariadbd");
    server.args(["--no-defaults", "--user=mysql", "--skip-networking", &data]);
    let files = [("socket", "mysql.socket"), ("pid-file", "mariadbd.pid"), ("log-error", "mariadbd.log")];
    server.args(files.map(|(name, file)| format!("--{name}={FOLDER}/sql/{file}")));
    // Small, for a few rows; slurmdbd only warns.
    server.args(["--innodb-buffer-pool-size=64M", "--innodb-log-file-size=16M", "--innodb-lock-wait-timeout=900"]);
    // It does not put itself into the background: at least a Ctrl-C at our terminal is not meant for it.
    server.process_group(0).spawn().map_err(|error| format!("cannot start mariadbd: {error}"))?;
    until("MariaDB's socket", THERE, || path("sql/mysql.socket").exists())?;
    must(&mut daemon("slurmdbd"))?;
    until("slurmdbd's port", THERE, || listens(DATABASE_PORT))
}

pub(super) fn accounts(user: &str, limit: usize) -> Result<(), String> {
    let add = |words: &[&str]| must(command("sacctmgr").args(["-i", "add"]).args(words)).map(drop);
    add(&["cluster", "assay"])?;
    add(&["account", "limited", "Description=limited", "Organization=assay"])?;
    add(&["user", user, "account=limited", &format!("MaxSubmitJobs={limit}")])
}

pub(super) fn controller() -> Result<(), String> {
    must(&mut daemon("slurmctld"))?;
    until("slurmctld's port", THERE, || listens(CONTROLLER_PORT))
}

pub(super) fn node(name: &str, group: Option<&Path>) -> Result<(), String> {
    // The shell enters the group and then becomes the daemon: whatever it starts is in it.
    let script = "[ -z \"$1\" ] || echo $$ > \"$1\"; exec slurmd -N \"$2\"";
    let group = group.map_or_else(PathBuf::new, |group| group.join("cgroup.procs"));
    inside(name, &["sh", "-c", script, "sh"], &group)
}

/// Starts a node that has an empty folder in place of the one given.
pub(super) fn node_without(name: &str, folder: &Path) -> Result<(), String> {
    let script = "mount -t tmpfs assay-hides \"$1\" && exec slurmd -N \"$2\"";
    inside(name, &["unshare", "--mount", "sh", "-c", script, "sh"], folder)
}

fn inside(node: &str, words: &[&str], path: &Path) -> Result<(), String> {
    let [program, network] = network::inside(node);
    must(daemon(&program).arg(network).args(words).arg(path).arg(node)).map(drop)
}

pub(super) fn process(file: &str) -> Option<u32> {
    fs::read_to_string(path(file)).ok()?.trim().parse().ok()
}

pub(super) fn signal(name: &str, processes: &[u32]) {
    let mut kill = Command::new("sh");
    kill.args(["-c", "kill -s \"$@\"", "sh", name]).args(processes.iter().map(u32::to_string));
    if !processes.is_empty() {
        let _ = kill.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

pub(super) fn lives(process: u32) -> bool {
    stat(process).is_some_and(|fields| !matches!(fields[0].as_str(), "Z" | "X"))
}

fn marked() -> Vec<u32> {
    let mark = format!("{}={}", MARK.0, MARK.1);
    processes().filter(|id| words_of(*id, "environ").contains(&mark) && lives(*id)).collect()
}

pub(super) fn user_name() -> String {
    let name = must(Command::new("id").args(["-nu", &USER.to_string()]));
    name.map_or_else(|_| "nobody".to_owned(), |name| name.trim().to_owned())
}

pub(super) fn kill(file: &str) -> Result<(), String> {
    let process = process(file).ok_or_else(|| format!("no process in {FOLDER}/{file}"))?;
    signal("KILL", &[process]);
    until(&format!("the end of process {process}"), THERE, || !lives(process))
}

pub(super) fn end_all() -> Result<(), String> {
    if process("run/slurmctld.pid").is_some_and(lives) {
        // Root may end everybody's.
        let _ = must(command("scancel").args(["--full", "--user", &user_name()]));
        let ours = || must(command("squeue").args(["-h", "-o", "%i"])).is_ok_and(|jobs| jobs.trim().is_empty());
        let _ = until("the end of all jobs", Duration::from_secs(15), ours);
    }
    let nodes = NODES.map(|node| format!("run/slurmd.{node}.pid"));
    let others = ["run/slurmctld.pid", "run/slurmdbd.pid", "sql/mariadbd.pid", "run/munged.pid"];
    for file in nodes.iter().map(String::as_str).chain(others) {
        let Some(process) = process(file).filter(|process| marked().contains(process)) else { continue };
        // A slurmd that cannot register does not hear the friendly signal.
        signal(if file.starts_with("run/slurmd.") { "KILL" } else { "TERM" }, &[process]);
        let _ = until(file, Duration::from_secs(20), || !lives(process));
    }
    signal("KILL", &marked());
    until("the end of every daemon", THERE, || marked().is_empty())
}
