//! libcpuid's test data: CPUID of one or of every CPU, and after it what libcpuid states of each kind of core.

use std::fmt::Write as _;
use std::path::Path;

use super::case::{Case, files, leaf_line, read, write_cpuid};
use super::facts::{CORES, Facts, THREADS};
use crate::source::Source;

pub(crate) fn cases(source: &Source, scratch: &Path) -> Result<Vec<Case>, String> {
    source.write_files("tests", scratch)?;
    let mut cases = Vec::new();
    for file in files(&scratch.join("tests"), "test")? {
        let text = read(&file)?;
        let (recorded, results) = text.split_once("\n----------").unwrap_or((&text, ""));
        let name = file.strip_prefix(scratch.join("tests")).unwrap_or(&file).with_extension("");
        let root = write_cpuid(&scratch.join("root").join(&name), &as_cpuid(recorded))?;
        let (name, stated) = (name.display().to_string(), stated(results));
        cases.push(Case::new("libcpuid, CPUID".to_owned(), name, stated, &root, true)?);
    }
    Ok(cases)
}

/// What the sections after the dump state, one for each kind of core and in each one value a line.
fn stated(text: &str) -> Facts {
    const COUNTS: usize = 8;
    const SIZES: usize = 10;
    const INSTANCES: usize = 25;
    let sections = text.split("----------").map(|section| section.lines().map(str::trim).collect::<Vec<_>>());
    let mut sections: Vec<Vec<&str>> = sections.filter(|lines| lines.contains(&"x86")).collect();
    sections.iter_mut().for_each(|lines| lines.retain(|line| !line.trim_matches('-').is_empty()));
    let number = |lines: &[&str], index: usize| lines.get(index).and_then(|line| line.parse::<u32>().ok());
    let each = |index: usize| sections.iter().filter_map(|lines| number(lines, index)).collect::<Vec<u32>>();
    let mut facts = Facts::default();
    let (cores, threads) = (each(COUNTS), each(COUNTS + 1));
    if threads.is_empty() {
        return facts;
    }
    // SMT is not stated: the CPUs are those of all packages, the cores those of one.
    facts.0.insert(THREADS, threads.iter().sum::<u32>().to_string());
    facts.0.insert(CORES, cores.iter().sum::<u32>().to_string());
    facts.kinds(threads);
    // The third level may be shared by kinds of core, and is stated for each.
    for (index, level) in ["L1d", "L1i", "L2", "L3"].into_iter().enumerate() {
        let (sizes, numbers) = (each(SIZES + index), each(INSTANCES + index));
        let is_stated = !sizes.is_empty() && sizes.len() == numbers.len() && numbers.iter().all(|number| *number > 0);
        if is_stated && (level != "L3" || sizes.len() == 1) {
            let bytes = sizes.iter().zip(&numbers).map(|(size, number)| (u64::from(*size) * u64::from(*number)) << 10);
            facts.caches(level, numbers.iter().map(|number| *number as usize).sum(), bytes.sum());
        }
    }
    facts
}

/// The lines `CPUID 00000004: fc004121-… [SL 00]` and, of older dumps, `intel_fn4[0]=fc004121 …`.
fn as_cpuid(recorded: &str) -> String {
    let mut text = String::new();
    let (mut basic, mut extended) = (u32::MAX, u32::MAX);
    let mut last = (u32::MAX, 0);
    for line in recorded.lines() {
        if let Some((_, cpu)) = line.split_once("CPU #") {
            let cpu: String = cpu.chars().take_while(char::is_ascii_digit).collect();
            let _ = writeln!(text, "CPU {cpu}:");
        }
        let Some((leaf, subleaf, registers)) = parse(line) else { continue };
        // Some dumps have the subleaves in order, without numbers.
        let subleaf = subleaf.unwrap_or(if last.0 == leaf { last.1 + 1 } else { 0 });
        last = (leaf, subleaf);
        match leaf {
            0 => basic = registers[0],
            0x8000_0000 => extended = registers[0],
            _ => {}
        }
        // Older dumps have leaves that the processor does not have.
        if leaf <= basic || (0x8000_0000..=extended).contains(&leaf) {
            text += &leaf_line(leaf, subleaf, &registers);
        }
    }
    text
}

fn parse(line: &str) -> Option<(u32, Option<u32>, Vec<u32>)> {
    let hexadecimal = |text: &str| u32::from_str_radix(text, 16).ok();
    if let Some(rest) = line.strip_prefix("CPUID ") {
        let (leaf, rest) = rest.split_once([':', ' '])?;
        let registers: Vec<u32> = rest.split_whitespace().next()?.split('-').filter_map(hexadecimal).collect();
        let subleaf = rest.split_once("[SL ").and_then(|(_, rest)| hexadecimal(rest.split_once(']')?.0));
        return Some((hexadecimal(leaf)?, subleaf, registers));
    }
    let (name, rest) = line.split_once('[')?;
    let (index, registers) = rest.split_once("]=")?;
    let index: u32 = index.parse().ok()?;
    let (leaf, subleaf) = match name {
        "basic_cpuid" => (index, 0),
        "ext_cpuid" => (0x8000_0000 + index, 0),
        "intel_fn4" => (4, index),
        "intel_fn11" => (0xb, index),
        "amd_fn8000001dh" => (0x8000_001d, index),
        _ => return None,
    };
    Some((leaf, Some(subleaf), registers.split_whitespace().filter_map(hexadecimal).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_of_a_dump_is_read() {
        let new = "--[ Logical CPU #3 ]--\nCPUID 00000000: 00000004-00000001-00000002-00000003 [x]\nCPUID 00000004: 00000005-00000006-00000007-00000008 [SL 02]\n";
        let line = |leaf, subleaf, first: u32| leaf_line(leaf, subleaf, &[first, first + 1, first + 2, first + 3]);
        let head = "0x00000000 0x00: eax=0x00000004 ebx=0x00000001 ecx=0x00000002 edx=0x00000003\n";
        assert_eq!(as_cpuid(new), format!("CPU 3:\n{head}{}", line(4, 2, 5)));
        let without_numbers = "CPUID Registers (CPU #1 Virtual):\nCPUID 00000004 \t00000001-00000002-00000003-00000004\nCPUID 00000004 \t00000005-00000006-00000007-00000008\n";
        assert_eq!(as_cpuid(without_numbers), format!("CPU 1:\n{}{}", line(4, 0, 1), line(4, 1, 5)));
        let old = "basic_cpuid[0]=00000004 00000001 00000002 00000003\nbasic_cpuid[5]=00000001 00000002 00000003 00000004\nintel_fn4[1]=00000005 00000006 00000007 00000008\n";
        assert_eq!(as_cpuid(old), format!("{head}{}", line(4, 1, 5)), "leaf 5 is above the highest");
    }

    #[test]
    fn each_kind_of_core_has_its_section() {
        let section = |values: &[(usize, &str)]| {
            let line = |index| values.iter().find(|(at, _)| *at == index).map_or("0", |(_, value)| value);
            (0..30).map(line).collect::<Vec<_>>().join("\n")
        };
        let fast = section(&[(0, "x86"), (8, "2"), (9, "4"), (10, "48"), (25, "2")]);
        let small = section(&[(0, "x86"), (8, "1"), (9, "1"), (10, "32"), (25, "1")]);
        let found = stated(&format!("----\n{fast}\n{}\n{small}\n", "-".repeat(80)));
        let values: Vec<&str> = found.0.values().map(String::as_str).collect();
        assert_eq!(values, ["3, 128 KiB in all", "3", "2 of 1 and 4 CPUs", "5"]);
    }
}
