//! Discovery reads any text in the files of `/sys`, `/proc` and `/etc`.
//!
//! The input's first byte selects a recorded machine. Then follow files, each after a line `--`: a line with the path, and
//! the content that replaces the machine's.
#![no_main]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use machine::{Declared, Sysroot};

/// A copy of a recorded machine in memory, and the content of its files.
struct Base {
    folder: PathBuf,
    files: BTreeMap<String, Vec<u8>>,
}

static BASES: OnceLock<Vec<Base>> = OnceLock::new();
const SMALL: usize = 70;

fuzz_target!(|bytes: &[u8]| {
    let Some((which, rest)) = bytes.split_first() else { return };
    let bases = BASES.get_or_init(bases);
    let base = &bases[usize::from(*which) % bases.len()];
    let text = String::from_utf8_lossy(rest);
    let mut written = Vec::new();
    for section in text.split("\n--\n") {
        let (path, content) = section.split_once('\n').unwrap_or((section, ""));
        if let Some(path) = base.write(path, content) {
            written.push(path);
        }
    }
    if let Ok(root) = Sysroot::folder(&base.folder) {
        let machine = machine::discover(&root);
        let behind = machine::storage(&root, Path::new("/data"));
        let limits = machine::io_limits(&root, &behind);
        machine::info_peaks(&machine, &Declared::default(), &BTreeMap::new(), Some((&behind, &limits)));
        machine::settings(&root);
        machine::similarity_key(&machine);
    }
    written.iter().for_each(|path| base.restore(path));
});

impl Base {
    /// Replaces a file, which the machine has or which discovery could read; the path that was written.
    fn write(&self, path: &str, content: &str) -> Option<String> {
        let known = path.starts_with("proc/") || path.starts_with("sys/") || self.files.contains_key(path);
        let target = self.folder.join(path);
        if !known || path.contains("..") || path.contains('\0') || path.len() > 200 {
            return None;
        }
        fs::create_dir_all(target.parent()?).ok()?;
        fs::write(target, content).ok().map(|()| path.to_owned())
    }

    fn restore(&self, path: &str) {
        let target = self.folder.join(path);
        match self.files.get(path) {
            Some(content) => drop(fs::write(target, content)),
            None => drop(fs::remove_file(target)),
        }
    }
}

fn bases() -> Vec<Base> {
    // libFuzzer ends the process without cleanup, so the next one removes the copies.
    let memory = Path::new("/dev/shm/assay-fuzz");
    let _ = fs::remove_dir_all(memory);
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/machine/tests/machines");
    let mut machines: Vec<PathBuf> = entries(&recorded).into_iter().filter(|path| path.is_dir()).collect();
    machines.sort();
    let copy = |machine: &PathBuf| {
        let folder = memory.join(machine.file_name()?);
        let mut files = BTreeMap::new();
        copy_folder(machine, &folder, "", &mut files);
        (files.len() < SMALL).then_some(Base { folder, files })
    };
    machines.iter().filter_map(copy).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

fn copy_folder(from: &Path, to: &Path, relative: &str, files: &mut BTreeMap<String, Vec<u8>>) {
    let _ = fs::create_dir_all(to);
    for path in entries(from) {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        let inner = if relative.is_empty() { name.to_owned() } else { format!("{relative}/{name}") };
        if let Ok(target) = fs::read_link(&path) {
            let _ = std::os::unix::fs::symlink(target, to.join(name));
        } else if path.is_dir() {
            copy_folder(&path, &to.join(name), &inner, files);
        } else if let Ok(content) = fs::read(&path) {
            let _ = fs::write(to.join(name), &content);
            files.insert(inner, content);
        }
    }
}
