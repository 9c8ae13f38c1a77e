//! The cluster as the checks use it: start, restore, end.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::config::{self, FOLDER, MAX_SUBMIT_JOBS, NODES, USER, path};
use super::daemons::{self, must, until, user_name};
use super::network;
use xtask::process::succeeds;
use xtask::shell::Shell;

const IDLE: Duration = Duration::from_mins(2);

#[derive(Debug)]
pub(super) struct Rig(());

impl Rig {
    pub(super) fn up(shell: &Shell) -> Result<Self, String> {
        if !xtask::set_up::is_root() {
            return Err("the cluster needs root: a slurmd starts programs as the user who submitted them".to_owned());
        }
        if Path::new(FOLDER).exists() {
            return Err(format!(
                "{FOLDER} is there already: `cargo lab cluster down` ends that cluster and removes it"
            ));
        }
        let rig = Self(());
        println!("starting Slurm with the nodes {} in {FOLDER}", NODES.join(", "));
        folders().and_then(|()| files()).and_then(|()| network::up())?;
        daemons::munge()?;
        daemons::database()?;
        daemons::accounts(&user_name(), MAX_SUBMIT_JOBS)?;
        daemons::controller()?;
        NODES.iter().try_for_each(|node| daemons::node(node, None))?;
        idle()?;
        install(shell)?;
        Ok(rig)
    }

    pub(super) fn down() -> Result<(), String> {
        if !Path::new(FOLDER).exists() {
            println!("there is no {FOLDER}: no cluster runs");
            return Ok(());
        }
        daemons::end_all()?;
        network::down();
        fs::remove_dir_all(FOLDER).map_err(|error| format!("cannot remove {FOLDER}: {error}"))?;
        println!("the cluster is gone, and {FOLDER} with it");
        Ok(())
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        if let Err(why) = Self::down() {
            println!("left behind: {why}");
        }
    }
}

/// Restores the cluster: every daemon runs, and no job of the limited user.
pub(super) fn ready() -> Result<(), String> {
    if !Path::new(FOLDER).is_dir() {
        return Err(format!("{FOLDER} is gone: the cluster was ended meanwhile"));
    }
    if !daemons::process("run/slurmctld.pid").is_some_and(daemons::lives) {
        daemons::controller()?;
    }
    let _ = must(daemons::command("scancel").args(["--full", "--user", &user_name()]));
    for node in NODES {
        if !daemons::process(&format!("run/slurmd.{node}.pid")).is_some_and(daemons::lives) {
            daemons::node(node, None)?;
        }
        // A node that Slurm drained stays so until it is resumed; other nodes refuse this.
        let node = format!("NodeName={node}");
        let _ = must(daemons::command("scontrol").args(["update", &node, "State=RESUME"]));
    }
    idle()
}

pub(super) fn idle() -> Result<(), String> {
    let all = format!("idle {}", NODES.len());
    until(&format!("four idle nodes in {FOLDER}"), IDLE, || {
        let states = must(daemons::command("sinfo").args(["-h", "-p", "all", "-o", "%T %D"]));
        states.is_ok_and(|states| states.trim() == all)
    })
}

pub(super) fn program() -> PathBuf {
    path("bin/assay")
}

pub(super) fn fresh(name: &str) -> Result<PathBuf, String> {
    let folder = path("plans").join(name);
    let text = |error: std::io::Error| format!("cannot make {}: {error}", folder.display());
    fs::create_dir(&folder).map_err(text)?;
    chown(&folder, Some(USER), Some(USER)).map_err(text)?;
    Ok(folder)
}

pub(super) fn as_user(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = daemons::command("setpriv");
    command.args([format!("--reuid={USER}"), format!("--regid={USER}")]).args(["--clear-groups", "--"]).arg(program);
    command.env("HOME", path("home")).env("TMPDIR", path("tmp")).env("USER", user_name()).current_dir(path("home"));
    command
}

pub(super) fn how_to_use() -> String {
    format!(
        "Slurm is up: nodes {}, partitions all and short.
The user {} may have {MAX_SUBMIT_JOBS} jobs in the queue; root has no limit.

  export SLURM_CONF={FOLDER}/slurm.conf                     in every shell that uses it
  cargo lab cluster user sinfo                            a command as the limited user
  cargo lab cluster user {FOLDER}/bin/assay cluster plan --nodes n1,n2,n3,n4 --suite quick {FOLDER}/home/plan
  cargo lab cluster down                                  ends it and removes {FOLDER}",
        NODES.join(", "),
        user_name()
    )
}

fn folders() -> Result<(), String> {
    let text = |name: &str, error: std::io::Error| format!("cannot make {FOLDER}/{name}: {error}");
    let shared = ["", "bin", "home", "log", "mysql", "node-tmp", "plans", "run", "spool", "sql", "state", "tmp"];
    let own = NODES.iter().flat_map(|node| ["spool", "node-tmp"].map(|folder| format!("{folder}/{node}")));
    for name in shared.into_iter().map(str::to_owned).chain(own) {
        fs::create_dir(path(&name)).map_err(|error| text(&name, error))?;
        // Whatever the umask is: the user and MariaDB pass through, and munge wants nobody else to write here.
        fs::set_permissions(path(&name), Permissions::from_mode(0o755)).map_err(|error| text(&name, error))?;
    }
    for name in ["home", "plans", "tmp"] {
        chown(path(name), Some(USER), Some(USER)).map_err(|error| text(name, error))?;
    }
    must(Command::new("chown").arg("mysql").args([path("mysql"), path("sql")])).map(drop)
}

fn files() -> Result<(), String> {
    let host = bench::host::name().ok_or("the host's name is unknown")?;
    let host = host.split('.').next().unwrap_or_default();
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let memory =
        machine::discover(&machine::Sysroot::host()).memory.total_bytes.ok_or("the memory's size is unknown")?;
    let mut key = vec![0; 1024];
    let urandom = fs::File::open("/dev/urandom").and_then(|mut file| std::io::Read::read_exact(&mut file, &mut key));
    urandom.map_err(|error| format!("/dev/urandom: {error}"))?;
    let write = |name: &str, text: &[u8], mode: u32| {
        let done =
            fs::write(path(name), text).and_then(|()| fs::set_permissions(path(name), Permissions::from_mode(mode)));
        done.map_err(|error| format!("cannot write {FOLDER}/{name}: {error}"))
    };
    write("munge.key", &key, 0o600)?;
    write("slurm.conf", config::slurm_conf(host, cpus, memory >> 20).as_bytes(), 0o644)?;
    // slurmdbd refuses to start where others can read it.
    write("slurmdbd.conf", config::slurmdbd_conf().as_bytes(), 0o600)
}

fn install(shell: &Shell) -> Result<(), String> {
    if !succeeds(&mut shell.cargo(&["build", "--quiet", "--release", "--package", "assay"])) {
        return Err("the program does not compile".to_owned());
    }
    let to = program();
    fs::copy(shell.target().join("release/assay"), &to)
        .map_err(|error| format!("cannot write {}: {error}", to.display()))?;
    fs::set_permissions(&to, Permissions::from_mode(0o755)).map_err(|error| format!("{}: {error}", to.display()))
}
