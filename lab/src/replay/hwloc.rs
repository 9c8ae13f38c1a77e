//! hwloc's test data: recorded trees of Linux and CPUID of every CPU, each with the topology that hwloc prints.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::case::{Case, file_name, files, leaf_line, only_folder, read, write_cpuid};
use super::facts::Facts;
use crate::source::{Source, unpack};

const FOLDER: &str = "tests/hwloc";

/// The cases of the folders `linux` and `x86`.
pub(crate) fn cases(source: &Source, scratch: &Path) -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    for (data, kind) in [("linux", "Linux"), ("x86", "CPUID"), ("x86+linux", "Linux and CPUID")] {
        let under = format!("{FOLDER}/{data}");
        source.write_files(&under, scratch)?;
        for (tarball, output) in tests(&scratch.join(&under))? {
            let name = file_name(&tarball).replace(".tar.bz2", "");
            let folder = scratch.join(format!("{data}-{name}"));
            unpack(&tarball, &folder)?;
            let recorded = only_folder(&folder)?;
            let root = match data {
                "x86" => as_cpuid(&recorded, &folder.join("root"))?,
                "linux" => recorded,
                _ => as_cpuid(&recorded.join("cpuid"), &recorded.join("fsroot"))?,
            };
            cases.push(Case::new(format!("hwloc, {kind}"), name, stated(&read(&output)?), &root, false)?);
        }
    }
    Ok(cases)
}

/// Each archive with its expected output: of several the one with all CPUs, else the one of the same name.
fn tests(folder: &Path) -> Result<BTreeMap<PathBuf, PathBuf>, String> {
    let mut found = BTreeMap::new();
    for test in files(folder, "test")? {
        let text = read(&test)?;
        let key = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
        let (Some(archive), Some(target)) = (key("source:"), key("target:")) else { continue };
        let is_same = test.file_stem().and_then(|stem| stem.to_str()) == archive.strip_suffix(".tar.bz2");
        let shows_all = text.contains("--disallowed");
        if archive.ends_with(".tar.bz2") && (shows_all || is_same && !found.contains_key(&folder.join(archive))) {
            found.insert(folder.join(archive), folder.join(target));
        }
    }
    Ok(found)
}

/// The topology that hwloc prints, as text or as XML.
fn stated(text: &str) -> Facts {
    let is_xml = text.starts_with("<?xml");
    let objects = |kind: &str| -> Vec<&str> {
        let (element, start) = (format!("<object type=\"{kind}\""), format!("{kind} L#"));
        text.lines().map(str::trim).filter(|line| line.starts_with(if is_xml { &element } else { &start })).collect()
    };
    let mut facts = Facts::default();
    let (threads, cores) = (objects("PU").len(), objects("Core").len());
    facts.counts(count(threads), (cores > 0).then(|| count(cores)));
    let masks = text.lines().filter_map(|line| {
        let after = if is_xml { "<cpukind cpuset=\"" } else { "cpuset 0x" };
        let start = if is_xml { "<cpukind" } else { "CPU kind #" };
        line.trim().starts_with(start).then(|| line.split_once(after))?
    });
    let kinds: Vec<u32> = masks.map(|(_, mask)| bits(mask)).collect();
    facts.kinds(if kinds.len() < 2 { vec![count(threads)] } else { kinds });
    for (kind, level) in
        [("L1dCache", "L1d"), ("L1Cache", "L1d"), ("L1iCache", "L1i"), ("L2Cache", "L2"), ("L3Cache", "L3")]
    {
        let found = objects(kind);
        if !found.is_empty() {
            facts.caches(level, found.len(), found.iter().map(|line| cache_bytes(line)).sum());
        }
    }
    facts
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The bits set in a mask of hexadecimal groups, up to the first other character.
fn bits(mask: &str) -> u32 {
    let digits = mask.chars().take_while(|c| c.is_ascii_hexdigit() || matches!(c, ',' | 'x'));
    digits.filter_map(|digit| digit.to_digit(16)).map(u32::count_ones).sum()
}

/// The size in `cache_size="49152"` or `size=48KiB`.
fn cache_bytes(line: &str) -> u64 {
    let text = line.split_once("size=").map_or("", |(_, size)| size.trim_start_matches('"'));
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    let unit = match &text[digits.len()..] {
        unit if unit.starts_with("KiB") => 10,
        unit if unit.starts_with("MiB") => 20,
        unit if unit.starts_with("GiB") => 30,
        _ => 0,
    };
    digits.parse::<u64>().unwrap_or(0) << unit
}

/// A folder for our discovery from files of lines such as `5 4 0 1 0 => fc004122 3c0003f 3f 0`, one file a CPU.
fn as_cpuid(recorded: &Path, root: &Path) -> Result<PathBuf, String> {
    let mut text = String::new();
    for file in files(recorded, "")? {
        let Some(Ok(cpu)) = file_name(&file).strip_prefix("pu").map(str::parse::<u32>) else { continue };
        let _ = writeln!(text, "CPU {cpu}:");
        for line in read(&file)?.lines() {
            let words: Vec<u32> =
                line.split_whitespace().filter_map(|word| u32::from_str_radix(word, 16).ok()).collect();
            if let [_, leaf, _, subleaf, _, registers @ ..] = words.as_slice() {
                text += &leaf_line(*leaf, *subleaf, registers);
            }
        }
    }
    write_cpuid(root, &text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_formats_of_a_topology_are_read() {
        let mut expected = Facts::default();
        expected.counts(3, Some(2));
        expected.kinds(vec![1, 2]);
        expected.caches("L1d", 2, 80 << 10);
        let text = "L1dCache L#0 (P#0 size=48KiB ways=12)\nCore L#0 (P#0)\nPU L#0 (P#0)\nPU L#1 (P#1)\n\
            L1dCache L#1 (size=32KiB)\nCore L#1 (P#4)\nPU L#2 (P#2)\n\
            CPU kind #0 efficiency 0 cpuset 0x00000004\nCPU kind #1 efficiency 1 cpuset 0x00000003\n";
        assert_eq!(stated(text), expected);
        let object = |of: &str| format!("<object type=\"{of}/>\n");
        let cache = |bytes: u32| object(&format!("L1Cache\" cache_size=\"{bytes}\""));
        let objects =
            [cache(49152), object("Core\""), object("PU\"").repeat(2), cache(32768), object("Core\""), object("PU\"")];
        let kinds = "<cpukind cpuset=\"0x00000003\"/>\n<cpukind cpuset=\"0x00000004\"/>\n";
        assert_eq!(stated(&format!("<?xml?>\n{}{kinds}", objects.concat())), expected);
    }
}
