//! What every part of a release needs: its version and time, its folders, and the programs that make it.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use xtask::process::{output, succeeds};
use xtask::shell::Shell;

use crate::arm::Toolchain;

/// The target of the static program for this machine.
pub(super) const STATIC: &str = "x86_64-unknown-linux-musl";

/// What programs and packages are made for.
#[derive(Debug)]
pub(super) struct Architecture<'a> {
    /// Its name in targets, wheels and the rpm.
    pub(super) name: &'static str,
    pub(super) deb: &'static str,
    /// What compiles for it, if not this machine's own compiler.
    pub(super) toolchain: Option<&'a Toolchain>,
}

/// What every part of a release needs to know.
#[derive(Debug)]
pub(super) struct Release<'a> {
    pub(super) shell: &'a Shell,
    pub(super) version: String,
    /// The time of the commit, seconds since 1970.
    pub(super) epoch: String,
    /// Where files are made.
    pub(super) made: PathBuf,
    /// A folder for what is packed.
    pub(super) stage: PathBuf,
    /// Programs from `PyPI`.
    pub(super) tools: PathBuf,
}

impl<'a> Release<'a> {
    pub(super) fn new(shell: &'a Shell) -> Result<Self, String> {
        let epoch = output(&mut shell.command("git", &["show", "--no-patch", "--format=%ct", "HEAD"]));
        let epoch = epoch.ok_or("the time of the commit is unknown: git failed")?.trim().to_owned();
        let work = work(shell);
        let [made, stage] = ["made", "stage"].map(|name| work.join(name));
        for folder in [&made, &stage] {
            let _ = fs::remove_dir_all(folder);
            fs::create_dir_all(folder).map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
        }
        let tools = tools(shell)?;
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Ok(Self { shell, version, epoch, made, stage, tools })
    }

    /// A command that finds the programs from `PyPI` first, whose output does not depend on the time.
    pub(super) fn command(&self, program: impl AsRef<OsStr>, arguments: &[&str]) -> Command {
        let mut command = self.shell.command(program, arguments);
        let rest = std::env::var_os("PATH").unwrap_or_default();
        let paths = [self.tools.clone()].into_iter().chain(std::env::split_paths(&rest));
        let paths = std::env::join_paths(paths).unwrap_or(rest.clone());
        command.env("PATH", paths).env("SOURCE_DATE_EPOCH", &self.epoch);
        command
    }

    /// Checksums of all files.
    pub(super) fn sums(&self) -> Result<(), String> {
        let sums = output(self.command("sh", &["-c", "sha256sum -- *"]).current_dir(&self.made));
        self.write(&self.made.join("SHA256SUMS"), sums.ok_or("sha256sum failed")?)
    }

    pub(super) fn write(&self, path: &Path, text: impl AsRef<[u8]>) -> Result<(), String> {
        let folder = path.parent().unwrap_or(&self.stage);
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(path, text));
        written.map_err(|error| format!("cannot write {}: {error}", path.display()))
    }

    pub(super) fn copy(&self, from: &Path, to: &Path) -> Result<(), String> {
        let folder = to.parent().unwrap_or(&self.stage);
        let copied = fs::create_dir_all(folder).and_then(|()| fs::copy(from, to));
        copied.map(|_| ()).map_err(|error| format!("cannot copy {} to {}: {error}", from.display(), to.display()))
    }
}

/// Runs a command that makes something.
pub(super) fn must(command: &mut Command) -> Result<(), String> {
    if succeeds(command) { Ok(()) } else { Err(format!("{} failed", command.get_program().display())) }
}

/// The folder of what is only needed for making a release.
fn work(shell: &Shell) -> PathBuf {
    shell.target().join("packaging")
}

/// Installs the programs that are not crates, once for each version of the list.
pub(super) fn tools(shell: &Shell) -> Result<PathBuf, String> {
    let list = "packaging/requirements.txt";
    let [folder, mark] = ["tools", "tools/requirements.txt"].map(|name| work(shell).join(name));
    let read = |path: &Path| fs::read_to_string(path).ok();
    let wanted = read(&shell.root().join(list)).ok_or_else(|| format!("cannot read {list}"))?;
    if read(&mark).as_ref() != Some(&wanted) {
        let _ = fs::remove_dir_all(&folder);
        must(&mut shell.command("python3", &["-m".as_ref(), "venv".as_ref(), folder.as_os_str()]))?;
        let pip = folder.join("bin/pip");
        must(&mut shell.command(pip, &["install", "--quiet", "--disable-pip-version-check", "-r", list]))?;
        must(&mut shell.command("rustup", &["target", "add", STATIC]))?;
        fs::write(&mark, wanted).map_err(|error| error.to_string())?;
    }
    Ok(folder.join("bin"))
}
