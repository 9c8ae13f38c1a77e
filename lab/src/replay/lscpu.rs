//! The test data of util-linux: recorded trees of Linux, each with the output of `lscpu`.

use std::path::Path;

use super::case::{Case, file_name, files, read};
use super::facts::Facts;
use crate::source::{Source, unpack};

const ARCHIVES: &str = "tests/ts/lscpu/dumps";
const OUTPUTS: &str = "tests/expected/lscpu";

pub(crate) fn cases(source: &Source, scratch: &Path) -> Result<Vec<Case>, String> {
    source.write_files(ARCHIVES, scratch)?;
    source.write_files(OUTPUTS, scratch)?;
    let mut cases = Vec::new();
    for archive in files(&scratch.join(ARCHIVES), "gz")? {
        let name = file_name(&archive).replace(".tar.gz", "");
        unpack(&archive, scratch)?;
        let output = read(&scratch.join(OUTPUTS).join(format!("lscpu-{name}")))?;
        let root = scratch.join(&name);
        cases.push(Case::new("util-linux, Linux".to_owned(), name, stated(&output), &root, false)?);
    }
    Ok(cases)
}

/// The online CPUs are the lines of the first table; each kind of core has a block that begins with its model.
fn stated(output: &str) -> Facts {
    let (summary, tables) = output.split_once("\n#").unwrap_or((output, ""));
    let values = |key: &str| -> Vec<&str> {
        let pairs = summary.lines().filter_map(|line| line.split_once(':'));
        pairs.filter(|(name, _)| *name == key).map(|(_, value)| value.trim()).collect()
    };
    let numbers = |key: &str| values(key).into_iter().filter_map(|value| value.parse::<u32>().ok()).collect::<Vec<_>>();
    let table = tables.split("\n\n").next().unwrap_or_default();
    let is_cpu = |line: &&str| line.starts_with(|c: char| c.is_ascii_digit());
    let threads = u32::try_from(table.lines().filter(is_cpu).count()).unwrap_or(0);
    let each_core = numbers("Thread(s) per core");
    let mut facts = Facts::default();
    facts.counts(threads, each_core.iter().max().map(|each| threads / each));
    let (cores, sockets) = (numbers("Core(s) per socket"), numbers("Socket(s)"));
    let kinds = each_core.iter().zip(&cores).zip(&sockets).map(|((each, cores), sockets)| each * cores * sockets);
    let kinds: Vec<u32> = kinds.collect();
    facts.kinds(if kinds.len() > 1 { kinds } else { vec![threads] });
    for level in ["L1d", "L1i", "L2", "L3"] {
        if let Some((bytes, number)) = values(&format!("{level} cache")).first().and_then(|value| caches(value)) {
            facts.caches(level, number, bytes);
        }
    }
    facts
}

/// `1.5 MiB (48 instances)`.
fn caches(text: &str) -> Option<(u64, usize)> {
    let (size, number) = text.split_once(" (")?;
    let (value, unit) = size.split_once(' ')?;
    let unit = [("KiB", 1024.0), ("MiB", 1_048_576.0)].into_iter().find(|(name, _)| *name == unit)?.1;
    let bytes = (value.parse::<f64>().ok()? * unit).round();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a size of a cache in bytes")]
    Some((bytes as u64, number.split_whitespace().next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offline_cpus_and_kinds_of_core_are_read() {
        let block = |model: &str, cores: u32| {
            format!("Model name: {model}\nThread(s) per core: 1\nCore(s) per socket: {cores}\nSocket(s): 1\n")
        };
        let summary = format!("CPU(s): 8\n{}{}L2 cache: 1.5 MiB (3 instances)\n", block("A", 1), block("B", 2));
        let output = format!("{summary}\n# CPU,Core\n0,0\n1,0\n2,1\n\n# CPU,Core\n0,0\n1,0\n2,1\n");
        let mut expected = Facts::default();
        expected.counts(3, Some(3));
        expected.kinds(vec![1, 2]);
        expected.caches("L2", 3, 1536 << 10);
        assert_eq!(stated(&output), expected);
    }
}
