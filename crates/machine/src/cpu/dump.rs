//! CPUID leaves and their text format, that of `cpuid -r`. Invalid lines are ignored.

use std::collections::BTreeMap;
use std::fmt;

use crate::list::HIGHEST_CPU;

/// The leaves of every CPU of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dump {
    cpus: BTreeMap<u32, Leaves>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Leaves {
    leaves: BTreeMap<(u32, u32), Registers>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Registers {
    pub(crate) eax: u32,
    pub(crate) ebx: u32,
    pub(crate) ecx: u32,
    pub(crate) edx: u32,
}

impl Dump {
    pub(crate) fn from_cpus(cpus: Vec<sys::cpuid::CpuLeaves>) -> Self {
        let leaves_of = |cpu: sys::cpuid::CpuLeaves| {
            let leaves = cpu.leaves.into_iter().map(|subleaf| {
                let [eax, ebx, ecx, edx] = subleaf.registers;
                ((subleaf.leaf, subleaf.subleaf), Registers { eax, ebx, ecx, edx })
            });
            (cpu.cpu, Leaves { leaves: leaves.collect() })
        };
        Self { cpus: cpus.into_iter().map(leaves_of).collect() }
    }

    /// The leaves in the text of `cpuid -r`. A text without a `CPU` line describes CPU 0.
    pub fn parse(text: &str) -> Self {
        let mut dump = Self::default();
        let mut current = Some(0);
        for line in text.lines() {
            if let Some(number) = line.trim().strip_prefix("CPU") {
                let number = number.trim().trim_end_matches(':').trim();
                let cpu = if number.is_empty() { Some(0) } else { number.parse().ok() };
                current = cpu.filter(|cpu| *cpu <= HIGHEST_CPU);
            } else if let (Some(cpu), Some((key, registers))) = (current, parse_leaf(line)) {
                dump.cpus.entry(cpu).or_default().leaves.insert(key, registers);
            }
        }
        dump
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.cpus.is_empty()
    }

    pub(crate) fn cpus(&self) -> impl Iterator<Item = (u32, &Leaves)> {
        self.cpus.iter().map(|(cpu, leaves)| (*cpu, leaves))
    }

    pub(crate) fn cpu(&self, cpu: u32) -> Option<&Leaves> {
        self.cpus.get(&cpu)
    }

    /// The leaves of the lowest CPU known.
    pub(crate) fn first(&self) -> Option<&Leaves> {
        self.cpus.values().next()
    }
}

impl fmt::Display for Dump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (cpu, leaves) in &self.cpus {
            writeln!(f, "CPU {cpu}:")?;
            for ((leaf, subleaf), Registers { eax, ebx, ecx, edx }) in &leaves.leaves {
                writeln!(
                    f,
                    "   {leaf:#010x} {subleaf:#04x}: eax={eax:#010x} ebx={ebx:#010x} ecx={ecx:#010x} edx={edx:#010x}"
                )?;
            }
        }
        Ok(())
    }
}

/// A line such as `0x00000004 0x01: eax=0x04000122 ebx=0x01c0003f ecx=0x0000003f edx=0x00000000`.
fn parse_leaf(line: &str) -> Option<((u32, u32), Registers)> {
    let mut words = line.split_whitespace();
    let leaf = hexadecimal(words.next()?)?;
    let subleaf = hexadecimal(words.next()?.trim_end_matches(':'))?;
    let mut values = [None; 4];
    for word in words {
        let (name, value) = word.split_once('=')?;
        let register = ["eax", "ebx", "ecx", "edx"].iter().position(|known| *known == name)?;
        values[register] = Some(hexadecimal(value)?);
    }
    let [eax, ebx, ecx, edx] = values;
    Some(((leaf, subleaf), Registers { eax: eax?, ebx: ebx?, ecx: ecx?, edx: edx? }))
}

fn hexadecimal(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

pub(crate) const fn bits(register: u32, high: u32, low: u32) -> u32 {
    (register >> low) & (u32::MAX >> (31 - (high - low)))
}

pub(crate) const fn bit(register: u32, bit: u32) -> bool {
    register >> bit & 1 == 1
}

impl Leaves {
    pub(crate) fn get(&self, leaf: u32, subleaf: u32) -> Option<Registers> {
        self.leaves.get(&(leaf, subleaf)).copied()
    }

    /// One subleaf, or zeros, as CPUID itself answers.
    pub(crate) fn or_zero(&self, leaf: u32, subleaf: u32) -> Registers {
        self.get(leaf, subleaf).unwrap_or_default()
    }

    /// The subleaves of one leaf in order, while `present`.
    pub(crate) fn each(&self, leaf: u32, present: impl Fn(Registers) -> bool) -> impl Iterator<Item = Registers> {
        let subleaves = self.leaves.range((leaf, 0)..=(leaf, u32::MAX)).map(|(_, registers)| *registers);
        subleaves.take_while(move |registers| present(*registers))
    }

    pub(crate) fn vendor(&self) -> Option<String> {
        let Registers { ebx, ecx, edx, .. } = self.get(0, 0)?;
        letters(&[ebx, edx, ecx])
    }

    pub(crate) fn brand(&self) -> Option<String> {
        let words: Vec<u32> = (0x8000_0002..=0x8000_0004)
            .filter_map(|leaf| self.get(leaf, 0))
            .flat_map(|r| [r.eax, r.ebx, r.ecx, r.edx])
            .collect();
        letters(&words).map(|brand| brand.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    pub(crate) fn signature(&self) -> Option<(u32, u32, u32)> {
        let eax = self.get(1, 0)?.eax;
        let base = bits(eax, 11, 8);
        let family = if base == 0xf { base + bits(eax, 27, 20) } else { base };
        let extended = if base == 0x6 || base == 0xf { bits(eax, 19, 16) << 4 } else { 0 };
        Some((family, extended + bits(eax, 7, 4), bits(eax, 3, 0)))
    }

    pub(crate) fn under_hypervisor(&self) -> bool {
        bit(self.or_zero(1, 0).ecx, 31)
    }

    pub(crate) fn hypervisor(&self) -> Option<String> {
        let Registers { ebx, ecx, edx, .. } = self.get(0x4000_0000, 0)?;
        letters(&[ebx, ecx, edx])
    }
}

/// The printable characters in registers, up to the first NUL.
fn letters(registers: &[u32]) -> Option<String> {
    let bytes = registers.iter().flat_map(|register| register.to_le_bytes());
    let text: String = bytes.take_while(|byte| *byte != 0).map(char::from).filter(|c| matches!(c, ' '..='~')).collect();
    let text = text.trim().to_owned();
    (!text.is_empty()).then_some(text)
}
