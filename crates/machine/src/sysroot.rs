//! All access to the machine: files, folders and links by relative path, and CPUID leaves, of this host or of a capture
//! folder. Unreadable means absent. In a capture no link leads outside the folder.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use crate::cpu::dump::Dump;
use crate::list::{parse_list, parse_mask};

const CPUID_FILE: &str = "cpuid.txt";
const XCR0_FILE: &str = "xcr0.txt";

/// The root that discovery reads.
#[derive(Debug)]
pub struct Sysroot {
    root: PathBuf,
    host: bool,
    cpuid: OnceCell<Cpuid>,
    record: Option<RefCell<Record>>,
}

#[derive(Debug)]
pub(crate) struct Cpuid {
    pub(crate) dump: Dump,
    /// `None` in a capture without it.
    pub(crate) xcr0: Option<u64>,
}

impl Cpuid {
    /// The source label, equal for a host and a capture.
    pub(crate) const LABEL: &'static str = "CPUID of every CPU";
}

#[derive(Debug, Default)]
struct Record {
    files: BTreeMap<String, Option<Vec<u8>>>,
    links: BTreeMap<String, PathBuf>,
    folders: BTreeMap<String, Vec<String>>,
}

impl Sysroot {
    /// This machine.
    pub fn host() -> Self {
        Self::new(PathBuf::from(std::path::MAIN_SEPARATOR_STR), true)
    }

    /// A machine recorded in a folder.
    pub fn folder(path: &Path) -> io::Result<Self> {
        let root = path.canonicalize()?;
        if !root.is_dir() {
            return Err(io::Error::new(io::ErrorKind::NotADirectory, format!("{} is not a folder", path.display())));
        }
        Ok(Self::new(root, false))
    }

    fn new(root: PathBuf, host: bool) -> Self {
        Self { root, host, cpuid: OnceCell::new(), record: None }
    }

    /// The same root, recording everything read through it.
    pub(crate) fn recording(mut self) -> Self {
        self.record = Some(RefCell::default());
        self
    }

    /// The text of a file, without trailing white space; `None` if it cannot be read or is empty. Some kernels end it with a
    /// NUL byte.
    pub fn text(&self, relative: &str) -> Option<String> {
        let bytes = self.bytes(relative)?;
        let text = String::from_utf8_lossy(bytes.split(|byte| *byte == 0).next()?).trim_end().to_owned();
        (!text.is_empty()).then_some(text)
    }

    /// The numbers in a file with a list, else those in one with a mask; `None` if there is neither.
    pub(crate) fn cpus(&self, list: &str, mask: &str) -> Option<Vec<u32>> {
        // A node without CPUs has an empty list.
        let is_list = self.bytes(list).is_some();
        let listed = || parse_list(&self.text(list).unwrap_or_default());
        if is_list { Some(listed()) } else { parse_mask(&self.text(mask)?) }
    }

    /// The CPUs in a list, else in a mask, of those that share something with a CPU. A set without the CPU itself is wrong.
    pub(crate) fn cpus_with(&self, cpu: u32, list: &str, mask: &str) -> Option<Vec<u32>> {
        let listed = self.text(list).map(|text| parse_list(&text));
        let masked = || parse_mask(&self.text(mask)?);
        listed.filter(|cpus| cpus.contains(&cpu)).or_else(|| masked().filter(|cpus| cpus.contains(&cpu)))
    }

    pub(crate) fn bytes(&self, relative: &str) -> Option<Vec<u8>> {
        let Some(record) = &self.record else { return self.load(relative) };
        record.borrow_mut().files.entry(relative.to_owned()).or_insert_with(|| self.load(relative)).clone()
    }

    pub(crate) fn number<N: std::str::FromStr>(&self, relative: &str) -> Option<N> {
        self.text(relative)?.trim().parse().ok()
    }

    /// The sorted names in a folder; empty if it cannot be read.
    pub(crate) fn names(&self, relative: &str) -> Vec<String> {
        let entries = self.inside(relative).and_then(|path| std::fs::read_dir(path).ok());
        let entries = entries.into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_by_key(|name| by_number(name));
        if let Some(record) = &self.record
            && !names.is_empty()
        {
            record.borrow_mut().folders.insert(relative.to_owned(), names.clone());
        }
        names
    }

    pub(crate) fn link(&self, relative: &str) -> Option<PathBuf> {
        let parent = Path::new(relative).parent()?.to_str()?;
        let name = Path::new(relative).file_name()?;
        let target = std::fs::read_link(self.inside(parent)?.join(name)).ok()?;
        if let Some(record) = &self.record {
            record.borrow_mut().links.insert(relative.to_owned(), target.clone());
        }
        Some(target)
    }

    pub(crate) fn link_name(&self, relative: &str) -> Option<String> {
        self.link(relative)?.file_name()?.to_str().map(str::to_owned)
    }

    /// A link's target below the root. Nothing may be read below the link's own name: a capture has one or the other.
    pub(crate) fn resolve(&self, relative: &str) -> Option<String> {
        let target = self.link(relative)?;
        let mut parts: Vec<&str> = Path::new(relative).parent()?.to_str()?.split('/').collect();
        for component in target.components() {
            match component {
                Component::Normal(part) => parts.push(part.to_str()?),
                Component::ParentDir => drop(parts.pop()?),
                Component::CurDir => {}
                Component::RootDir => parts.clear(),
                Component::Prefix(_) => return None,
            }
        }
        Some(parts.join("/"))
    }

    pub(crate) fn cpuid(&self) -> &Cpuid {
        self.cpuid.get_or_init(|| {
            if self.host {
                let dump = Dump::from_cpus(sys::cpuid::every_cpu());
                return Cpuid { dump, xcr0: sys::cpuid::xcr0() };
            }
            let dump = self.text(CPUID_FILE).map(|text| Dump::parse(&text)).unwrap_or_default();
            let xcr0 = self
                .text(XCR0_FILE)
                .and_then(|text| u64::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok());
            Cpuid { dump, xcr0 }
        })
    }

    /// Writes everything read, filtered through `fit`, under `folder`.
    pub(crate) fn write_record(&self, folder: &Path, fit: impl Fn(&str, &[u8]) -> Vec<u8>) -> io::Result<()> {
        let Some(record) = &self.record else { return Ok(()) };
        let record = record.borrow();
        for (relative, bytes) in &record.files {
            if let Some(bytes) = bytes {
                write_under(folder, relative, &fit(relative, bytes))?;
            }
        }
        for (relative, target) in &record.links {
            let path = folder.join(relative);
            create_parent(&path)?;
            std::os::unix::fs::symlink(target, path)?;
        }
        // Names seen but never read become empty files. Deeper folders first, because their names create folders above.
        for (relative, names) in record.folders.iter().rev() {
            for name in names {
                let path = format!("{relative}/{name}");
                if folder.join(&path).symlink_metadata().is_err() {
                    write_under(folder, &path, b"")?;
                }
            }
        }
        let cpuid = self.cpuid();
        if !cpuid.dump.is_empty() {
            write_under(folder, CPUID_FILE, cpuid.dump.to_string().as_bytes())?;
        }
        if let Some(xcr0) = cpuid.xcr0 {
            write_under(folder, XCR0_FILE, format!("{xcr0:#018x}\n").as_bytes())?;
        }
        Ok(())
    }

    fn load(&self, relative: &str) -> Option<Vec<u8>> {
        /// No file that discovery reads is larger; a recorded folder may hold anything.
        const LARGEST: u64 = 16 << 20;
        let path = self.inside(relative)?;
        // Opening a pipe would wait for a writer.
        if !std::fs::metadata(&path).ok()?.is_file() {
            return None;
        }
        let mut bytes = Vec::new();
        File::open(path).ok()?.take(LARGEST).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// The real path, if it is inside the root.
    fn inside(&self, relative: &str) -> Option<PathBuf> {
        let relative = Path::new(relative);
        if !relative.components().all(|component| matches!(component, Component::Normal(_))) {
            return None;
        }
        let path = self.root.join(relative);
        if self.host {
            return Some(path);
        }
        path.canonicalize().ok().filter(|real| real.starts_with(&self.root))
    }
}

/// The source label of a file: its absolute path.
pub(crate) fn label(relative: &str) -> String {
    format!("/{relative}")
}

/// A key that sorts `cpu10` after `cpu9`: text before the first number, number, whole name.
fn by_number(name: &str) -> (String, u64, String) {
    let word = name.chars().take_while(|c| !c.is_ascii_digit()).collect();
    let digits: String = name.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
    (word, digits.parse().unwrap_or(0), name.to_owned())
}

fn create_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), std::fs::create_dir_all)
}

fn write_under(folder: &Path, relative: &str, bytes: &[u8]) -> io::Result<()> {
    let path = folder.join(relative);
    create_parent(&path)?;
    std::fs::write(path, bytes)
}
