//! Running programs for 64-bit Arm through qemu's emulation of user space, and the processes that they start.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use xtask::process::succeeds;
use xtask::set_up::is_root;
use xtask::shell::Shell;

use super::toolchain::{QEMU, Toolchain, write_program};

/// The kernel's table of formats that interpreters execute (`admin-guide/binfmt-misc.rst`).
const TABLE: &str = "/proc/sys/fs/binfmt_misc";

/// The first 20 bytes of a little-endian ELF file of the type `EXEC` or `DYN` for `EM_AARCH64`, 183, and which bits count.
const MAGIC: &str = r"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00";
const MASK: &str = r"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff";

/// The names of our entries, each followed by the number of its process. The newest entry for a format counts.
const ENTRY: &str = "assay-aarch64-";

/// Names the package whose programs of tests run; the others of cargo's selection end at once.
pub(super) const PACKAGE: &str = "ASSAY_ARM_PACKAGE";

/// An entry of the kernel's table through which emulated programs start their own kind, whatever their environment. It is
/// removed at the end.
#[derive(Debug)]
pub(super) struct Emulator<'a> {
    shell: &'a Shell,
    /// Runs a program for Arm.
    pub(super) script: PathBuf,
    mounted: bool,
}

impl<'a> Emulator<'a> {
    /// Emulated programs have vectors of this many bytes in SVE, unless [`Emulator::of`] says otherwise.
    pub(super) fn start(shell: &'a Shell, toolchain: &Toolchain, vector_bytes: u32) -> Result<Self, String> {
        if !is_root() {
            return Err("only root can let the kernel start its programs through qemu (binfmt_misc)".to_owned());
        }
        let folders = std::env::var_os("PATH").unwrap_or_default();
        // Programs under test may have another search path.
        let qemu = std::env::split_paths(&folders).map(|folder| folder.join(QEMU)).find(|path| path.is_file());
        let qemu = qemu.ok_or_else(|| format!("{QEMU} is not in PATH"))?;
        let script = shell.target().join("arm/qemu");
        let text = format!(
            "#!/bin/sh\n[ \"${{{PACKAGE}:-$CARGO_PKG_NAME}}\" = \"$CARGO_PKG_NAME\" ] || exit 0\n\
             exec {} -L {} -cpu \"${{QEMU_CPU:-{}}}\" \"$@\"\n",
            qemu.display(),
            toolchain.libraries.display(),
            cpu(vector_bytes)
        );
        write_program(&script, &text)?;
        let register = Path::new(TABLE).join("register");
        let mounted =
            !register.exists() && succeeds(&mut shell.command("mount", &["-t", "binfmt_misc", "binfmt_misc", TABLE]));
        let emulator = Self { shell, script, mounted };
        let killed = entries().into_iter().filter(|(_, process)| !Path::new("/proc").join(process).exists());
        killed.for_each(|(entry, _)| remove(&entry));
        let line = format!(":{ENTRY}{}:M::{MAGIC}:{MASK}:{}:", std::process::id(), emulator.script.display());
        fs::write(&register, line).map_err(|error| format!("cannot write to {}: {error}", register.display()))?;
        Ok(emulator)
    }

    /// Lets a command of cargo run programs for Arm with vectors of this many bytes in SVE.
    pub(super) fn of<'c>(&self, command: &'c mut Command, vector_bytes: u32) -> &'c mut Command {
        command.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", &self.script).env("QEMU_CPU", cpu(vector_bytes))
    }
}

impl Drop for Emulator<'_> {
    fn drop(&mut self) {
        remove(&own_entry());
        if self.mounted && entries().is_empty() {
            succeeds(&mut self.shell.command("umount", &[TABLE]));
        }
    }
}

/// Our entries, each with its process.
fn entries() -> Vec<(PathBuf, String)> {
    let all = fs::read_dir(TABLE).into_iter().flatten().flatten();
    let process = |name: &OsStr| name.to_str()?.strip_prefix(ENTRY).map(str::to_owned);
    all.filter_map(|entry| Some((entry.path(), process(&entry.file_name())?))).collect()
}

fn own_entry() -> PathBuf {
    Path::new(TABLE).join(format!("{ENTRY}{}", std::process::id()))
}

fn remove(entry: &Path) {
    let _ = fs::write(entry, "-1");
}

/// Every extension that qemu has.
fn cpu(vector_bytes: u32) -> String {
    format!("max,sve-default-vector-length={vector_bytes}")
}
