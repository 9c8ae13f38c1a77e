//! The two programs of a release for an architecture: one for every distribution with glibc, a static one for everything else.

use std::path::{Path, PathBuf};
use std::process::Command;

use object::{Object, ObjectSymbol};

use xtask::process::output;

use super::release::{Architecture, Release, must};

/// The oldest glibc on which Rust's own library works: RHEL 7 has it.
const GLIBC: [u32; 2] = [2, 17];
/// A tenth of the relocations' size, where GNU ld knows it, on x86-64: musl 1.2.4 and later read them (`DT_RELR`), glibc only from 2.36 on.
const SHORT_RELOCATIONS: &str = "-Clink-arg=-Wl,-z,pack-relative-relocs";
/// Rust's own linker, under the name that a C compiler looks for, keeps one copy of functions with equal machine code.
const FOLDED: [&str; 2] = ["-Clink-arg=-fuse-ld=lld", "-Clink-arg=-Wl,--icf=all"];
const PROGRAM: [&str; 4] = ["--package", "assay", "--profile", "dist"];

/// The dynamic program for glibc 2.17 or later.
pub(super) fn portable(release: &Release, architecture: &Architecture) -> Result<PathBuf, String> {
    let target = format!("{}-unknown-linux-gnu", architecture.name);
    let versioned = format!("{target}.{}.{}", GLIBC[0], GLIBC[1]);
    let mut command = release.command("cargo-zigbuild", &["zigbuild", "--locked", "--target", &versioned]);
    if let Some(toolchain) = architecture.toolchain {
        toolchain.compiles(&mut command);
    }
    must(with_flags(release, command.args(PROGRAM), &[]))?;
    let program = release.shell.target().join(target).join("dist/assay");
    let bytes = std::fs::read(&program).map_err(|error| format!("{}: {error}", program.display()))?;
    let newer = needs_newer_glibc(&bytes)?;
    if newer.is_empty() {
        Ok(program)
    } else {
        Err(format!("the program needs a glibc later than {}.{}: {}", GLIBC[0], GLIBC[1], newer.join(", ")))
    }
}

/// The static program; `None` if the compiler lacks the target.
pub(super) fn without_libc(release: &Release, architecture: &Architecture) -> Result<Option<PathBuf>, String> {
    let target = format!("{}-unknown-linux-musl", architecture.name);
    let mut command = release.command("cargo", &["build", "--locked", "--target", &target]);
    let linker = linker(release)?;
    let folded = [SHORT_RELOCATIONS, &linker, FOLDED[0], FOLDED[1]];
    let flags: &[&str] = match architecture.toolchain {
        None => &folded,
        Some(toolchain) if toolchain.has(release.shell, &target) => {
            toolchain.links(&mut command);
            &[]
        }
        Some(_) => return Ok(None),
    };
    must(with_flags(release, command.args(PROGRAM), flags))?;
    Ok(Some(release.shell.target().join(target).join("dist/assay")))
}

/// Lets the C compiler find Rust's own linker.
fn linker(release: &Release) -> Result<String, String> {
    let root = output(&mut release.command("rustc", &["--print", "sysroot"])).ok_or("rustc --print sysroot failed")?;
    Ok(format!("-Clink-arg=-B{}/lib/rustlib/x86_64-unknown-linux-gnu/bin/gcc-ld", root.trim()))
}

/// Leaves the folders of this machine out of what is compiled.
fn with_flags<'c>(release: &Release, command: &'c mut Command, flags: &[&str]) -> &'c mut Command {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let cargo = std::env::var_os("CARGO_HOME").map_or_else(|| home.join(".cargo"), PathBuf::from);
    let remap = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
    let folders = [remap(release.shell.root(), "/assay"), remap(&cargo, "/cargo")];
    let flags: Vec<String> = folders.into_iter().chain(flags.iter().map(|flag| (*flag).to_owned())).collect();
    command.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"))
}

/// The symbols of a program that glibc 2.17 lacks.
fn needs_newer_glibc(program: &[u8]) -> Result<Vec<String>, String> {
    let file = object::read::elf::ElfFile64::<object::Endianness>::parse(program).map_err(|error| error.to_string())?;
    let versions = file.elf_section_table().versions(file.endian(), program).map_err(|error| error.to_string())?;
    let mut found = Vec::new();
    for symbol in file.dynamic_symbols().filter(object::ObjectSymbol::is_undefined) {
        let index = versions.as_ref().map(|versions| versions.version_index(file.endian(), symbol.index()));
        let version =
            index.zip(versions.as_ref()).and_then(|(index, versions)| versions.version(index.index()).ok().flatten());
        let name = version.map(|version| String::from_utf8_lossy(version.name()).into_owned()).unwrap_or_default();
        if name.strip_prefix("GLIBC_").is_some_and(|version| numbers(version) > GLIBC.to_vec()) {
            found.push(format!("{}@{name}", symbol.name().unwrap_or_default()));
        }
    }
    Ok(found)
}

fn numbers(version: &str) -> Vec<u32> {
    version.split('.').filter_map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert!(numbers("2.4") < GLIBC.to_vec() && numbers("2.28") > GLIBC.to_vec());
        assert!(numbers("2.17") <= GLIBC.to_vec() && numbers("2.2.5") < GLIBC.to_vec());
    }

    #[test]
    fn this_program_of_this_machine_s_glibc_is_read() {
        let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let newer = needs_newer_glibc(&bytes).unwrap();
        assert!(newer.iter().all(|symbol| symbol.contains("@GLIBC_2.")), "{newer:?}");
        assert!(needs_newer_glibc(b"#!/bin/sh\n").is_err());
    }
}
