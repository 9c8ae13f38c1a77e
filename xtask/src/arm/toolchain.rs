//! What compiles and links for 64-bit Arm on x86-64: rustup's standard library, or a compiler from Debian where rustup has
//! none to add.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use xtask::process::{is_there, output, succeeds};
use xtask::set_up::{self, Tool, tool};
use xtask::shell::Shell;

pub(crate) const TARGET: &str = "aarch64-unknown-linux-gnu";

const LINKER: &str = "aarch64-linux-gnu-gcc";
pub(super) const QEMU: &str = "qemu-aarch64";

const TOOLS: &[Tool] = &[
    tool(LINKER, "gcc-aarch64-linux-gnu libc6-dev-arm64-cross", "--version", "the program for 64-bit Arm"),
    tool(QEMU, "qemu-user", "--version", "64-bit Arm under emulation"),
];

/// Debian's newest compiler in a stable release: it is there for building browsers.
const COMPILER: &str = "rustc-web";

/// Parts of a compiler's dependencies that are unpacked with it; the system has the others.
const PARTS: [&str; 2] = ["libstd-rust", "libllvm"];

#[derive(Debug)]
pub(crate) struct Toolchain {
    /// Debian's compiler, where rustup's lacks the target.
    rustc: Option<PathBuf>,
    /// The folder of the target's C library.
    pub(super) libraries: PathBuf,
}

impl Toolchain {
    /// Installs what is missing; an error says what cannot be had here.
    pub(crate) fn get(shell: &Shell) -> Result<Self, String> {
        if std::env::consts::ARCH != "x86_64" {
            return Err("only x86-64 machines build and emulate it".to_owned());
        }
        if let Some(missing) = set_up::get(shell, TOOLS).skipped.into_iter().next() {
            return Err(missing);
        }
        let loader = output(&mut shell.command(LINKER, &["-print-file-name=ld-linux-aarch64.so.1"]));
        let loader = loader.and_then(|path| fs::canonicalize(path.trim()).ok());
        let libraries = loader.as_deref().and_then(|path| path.parent()?.parent()).map(Path::to_owned);
        let libraries =
            libraries.ok_or("its C library is not here (as root on Debian: apt-get install libc6-dev-arm64-cross)")?;
        let rustc = if has_target(shell, TARGET) { None } else { Some(from_debian(shell)?) };
        Ok(Self { rustc, libraries })
    }

    /// Whether it compiles for another target, the one without glibc.
    pub(crate) fn has(&self, shell: &Shell, target: &str) -> bool {
        self.rustc.is_none() && has_target(shell, target)
    }

    /// Lets a command of cargo compile with it.
    pub(crate) fn compiles<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.envs(self.rustc.iter().map(|rustc| ("RUSTC", rustc)))
    }

    /// Lets a command of cargo compile and link with it.
    pub(crate) fn links<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        for target in ["AARCH64_UNKNOWN_LINUX_GNU", "AARCH64_UNKNOWN_LINUX_MUSL"] {
            command.env(format!("CARGO_TARGET_{target}_LINKER"), LINKER);
        }
        self.compiles(command)
    }
}

/// Whether rustup has the standard library of a target, or can add it.
fn has_target(shell: &Shell, target: &str) -> bool {
    set_up::has("rustup", "--version") && is_there(&mut shell.command("rustup", &["target", "add", target]))
}

/// The compiler from Debian, unpacked into `target/arm` once: nothing is installed.
fn from_debian(shell: &Shell) -> Result<PathBuf, String> {
    let folder = shell.target().join("arm");
    let rustc = folder.join("rustc");
    if rustc.exists() {
        return Ok(rustc);
    }
    let [debs, root] = ["debs", "root"].map(|name| folder.join(name));
    let _ = fs::remove_dir_all(&folder);
    let written = ["state/lists/partial", "cache/archives/partial", "debs", "root"]
        .iter()
        .try_for_each(|name| fs::create_dir_all(folder.join(name)))
        .and_then(|()| fs::write(folder.join("apt.conf"), configuration(&folder)));
    written.map_err(|error| format!("cannot write to {}: {error}", folder.display()))?;
    let apt = |program: &str, arguments: &[&str]| {
        let mut command = shell.command(program, arguments);
        command.env("APT_CONFIG", folder.join("apt.conf")).current_dir(&debs).stderr(Stdio::null());
        command
    };
    if !succeeds(apt("apt-get", &["update", "-qq"]).stdout(Stdio::null())) {
        return Err("rustup lacks the target, and apt-get cannot read the lists of Debian's packages".to_owned());
    }
    let show = |package: &str| output(&mut apt("apt-cache", &["show", "--no-all-versions", package]));
    let packages =
        closure(show).ok_or_else(|| format!("rustup lacks the target, and this system has no {COMPILER}"))?;
    let packages: Vec<&str> = packages.iter().map(String::as_str).collect();
    if !succeeds(&mut apt("apt-get", &[&["download", "-qq"], &packages[..]].concat())) {
        return Err(format!("apt-get cannot download {}", packages.join(", ")));
    }
    for deb in fs::read_dir(&debs).into_iter().flatten().flatten().map(|deb| deb.path()) {
        if !succeeds(&mut shell.command("dpkg-deb", &["-x".as_ref(), deb.as_path(), root.as_path()])) {
            return Err(format!("dpkg-deb cannot unpack {}", deb.display()));
        }
    }
    // Its libraries are for the compiler alone, and not for other programs that cargo starts.
    let root = root.display();
    let script =
        format!("#!/bin/sh\nLD_LIBRARY_PATH={root}/usr/lib/x86_64-linux-gnu exec {root}/usr/bin/rustc \"$@\"\n");
    write_program(&rustc, &script)?;
    let works = succeeds(shell.command(&rustc, &["--version"]).stderr(Stdio::inherit()));
    if works { Ok(rustc) } else { Err(format!("Debian's {COMPILER} does not start")) }
}

pub(super) fn write_program(path: &Path, text: &str) -> Result<(), String> {
    let written = fs::create_dir_all(path.parent().unwrap_or(path))
        .and_then(|()| fs::write(path, text))
        .and_then(|()| fs::set_permissions(path, fs::Permissions::from_mode(0o755)));
    written.map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// A state of apt of its own, with the system's sources and keys and the packages of both architectures.
fn configuration(folder: &Path) -> String {
    let folder = folder.display();
    format!(
        "APT::Architecture \"amd64\";\nAPT::Architectures {{ \"amd64\"; \"arm64\"; }};\nAPT::Sandbox::User \"root\";\n\
         Dir::State \"{folder}/state\";\nDir::State::status \"/dev/null\";\nDir::Cache \"{folder}/cache\";\n"
    )
}

/// The compiler and its parts as `apt-get download` takes them, the standard library for Arm too, all of one version.
fn closure(show: impl Fn(&str) -> Option<String>) -> Option<Vec<String>> {
    let mut names = vec![COMPILER.to_owned()];
    let mut found = Vec::new();
    while let Some(name) = names.get(found.len()).cloned() {
        let text = show(&name)?;
        let field = |field: &str| text.lines().find_map(|line| line.strip_prefix(field)).map(str::trim);
        found.push((name, field("Version:")?.to_owned()));
        let depends = field("Depends:").unwrap_or_default().split(", ").filter_map(|one| one.split(' ').next());
        for part in depends.filter(|one| PARTS.iter().any(|part| one.starts_with(part))) {
            if !names.iter().any(|known| known == part) {
                names.push(part.to_owned());
            }
        }
    }
    let of_arm = found.iter().filter(|(name, _)| name.starts_with(PARTS[0]));
    let of_arm: Vec<String> = of_arm.map(|(name, version)| format!("{name}:arm64={version}")).collect();
    let of_host = found.iter().map(|(name, version)| format!("{name}={version}"));
    (found.len() > 1).then(|| of_host.chain(of_arm).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiler_s_parts_are_found_by_their_dependencies() {
        let show = |name: &str| {
            let depends = match name {
                "rustc-web" => "libc6 (>= 2.34), libstd-rust-web-dev (= 1.96.0), gcc",
                "libstd-rust-web-dev" => "libstd-rust-web-1.96 (= 1.96.0)",
                "libstd-rust-web-1.96" => "libc6 (>= 2.34), libllvm22, libstdc++6 (>= 11)",
                "libllvm22" => "libc6 (>= 2.34), libz3-4",
                _ => return None,
            };
            Some(format!("Package: {name}\nVersion: 1.96.0\nDepends: {depends}\n"))
        };
        let expected = "rustc-web=1.96.0 libstd-rust-web-dev=1.96.0 libstd-rust-web-1.96=1.96.0 libllvm22=1.96.0 \
                        libstd-rust-web-dev:arm64=1.96.0 libstd-rust-web-1.96:arm64=1.96.0";
        assert_eq!(closure(show).unwrap().join(" "), expected);
        assert_eq!(closure(|_| None), None, "a system without the package");
    }
}
