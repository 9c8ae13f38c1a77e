//! Running programs for 64-bit Arm through qemu's emulation of user space, and the processes that they start.

use std::fs;
use std::path::Path;
use std::process::Command;

use xtask::process::succeeds;
use xtask::set_up::is_root;
use xtask::shell::Shell;

use super::toolchain::{QEMU, Toolchain};

/// The kernel's table of formats that interpreters execute (`admin-guide/binfmt-misc.rst`).
const TABLE: &str = "/proc/sys/fs/binfmt_misc";

/// The first 20 bytes of a little-endian ELF file of the type `EXEC` or `DYN` for `EM_AARCH64`, 183, and which bits count.
const MAGIC: &str = r"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00";
const MASK: &str = r"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff";

/// An entry of the kernel's table through which emulated programs start their own kind. It is removed at the end, if it is
/// ours.
#[derive(Debug)]
pub(super) struct Emulator<'a> {
    shell: &'a Shell,
    toolchain: &'a Toolchain,
    is_ours: bool,
    mounted: bool,
}

impl<'a> Emulator<'a> {
    pub(super) fn start(shell: &'a Shell, toolchain: &'a Toolchain) -> Result<Self, String> {
        let entry = Path::new(TABLE).join(QEMU);
        let is_known = || fs::read_to_string(&entry).is_ok_and(|text| text.starts_with("enabled"));
        let mut emulator = Self { shell, toolchain, is_ours: false, mounted: false };
        if is_known() {
            return Ok(emulator);
        }
        let why = "the kernel does not start its programs through qemu";
        if !is_root() {
            return Err(format!("{why} (as root: this command, or apt-get install qemu-user-binfmt)"));
        }
        let register = Path::new(TABLE).join("register");
        if !register.exists() {
            emulator.mounted = succeeds(&mut shell.command("mount", &["-t", "binfmt_misc", "binfmt_misc", TABLE]));
        }
        // F: the interpreter is opened now, and needs no path in another root.
        let path = qemu_file().ok_or_else(|| format!("{QEMU} is not in PATH"))?;
        let line = format!(":{QEMU}:M::{MAGIC}:{MASK}:{}:F", path.display());
        fs::write(&register, line).map_err(|error| format!("{why}: {}: {error}", register.display()))?;
        emulator.is_ours = true;
        Ok(emulator)
    }

    /// Lets a command, and what it starts, run programs for Arm with vectors of this many bytes in SVE.
    pub(super) fn of<'c>(&self, command: &'c mut Command, vector_bytes: u32) -> &'c mut Command {
        command.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", QEMU);
        command.env("QEMU_LD_PREFIX", &self.toolchain.libraries);
        command.env("QEMU_CPU", format!("max,sve-default-vector-length={vector_bytes}"))
    }
}

impl Drop for Emulator<'_> {
    fn drop(&mut self) {
        if self.is_ours {
            let _ = fs::write(Path::new(TABLE).join(QEMU), "-1");
        }
        if self.mounted {
            succeeds(&mut self.shell.command("umount", &[TABLE]));
        }
    }
}

fn qemu_file() -> Option<std::path::PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(QEMU)).find(|path| path.exists())
}
