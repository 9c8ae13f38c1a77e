//! One recorded machine, and the files that recordings are read from and unpacked to.

use std::path::{Path, PathBuf};

use machine::Sysroot;

use super::facts::{self, Facts};
use crate::record::write;

/// A recorded machine: what its project states, and what our discovery finds.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) data: String,
    pub(crate) name: String,
    pub(crate) stated: Facts,
    pub(crate) found: Facts,
}

impl Case {
    pub(crate) fn new(
        data: String,
        name: String,
        stated: Facts,
        root: &Path,
        of_one_package: bool,
    ) -> Result<Self, String> {
        let sysroot = Sysroot::folder(root).map_err(|error| format!("{}: {error}", root.display()))?;
        Ok(Self { data, name, stated, found: facts::of(&machine::discover(&sysroot), of_one_package) })
    }
}

pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The files under a folder whose names end in `.EXTENSION`, sorted; all files if it is empty.
pub(crate) fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut found = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            found.extend(files(&path, extension)?);
        } else if extension.is_empty() || path.extension().is_some_and(|end| end == extension) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

pub(crate) fn read(path: &Path) -> Result<String, String> {
    let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The folder that an archive consists of.
pub(crate) fn only_folder(folder: &Path) -> Result<PathBuf, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut folders = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir());
    folders.next().ok_or_else(|| format!("{}: no folder", folder.display()))
}

/// A line of `cpuid -r`; empty without four registers.
pub(crate) fn leaf_line(leaf: u32, subleaf: u32, registers: &[u32]) -> String {
    let [eax, ebx, ecx, edx] = registers else { return String::new() };
    format!("{leaf:#010x} {subleaf:#04x}: eax={eax:#010x} ebx={ebx:#010x} ecx={ecx:#010x} edx={edx:#010x}\n")
}

/// A folder with these leaves of CPUID for our discovery.
pub(crate) fn write_cpuid(root: &Path, text: &str) -> Result<PathBuf, String> {
    std::fs::create_dir_all(root).map_err(|error| format!("{}: {error}", root.display()))?;
    write(&root.join("cpuid.txt"), text)?;
    Ok(root.to_owned())
}
