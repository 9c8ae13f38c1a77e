//! What two projects state of one machine, in the same words.

use std::collections::BTreeMap;

use model::machine::Machine;

pub(crate) const THREADS: &str = "logical CPUs";
pub(crate) const CORES: &str = "cores";
pub(crate) const SMT: &str = "SMT";
pub(crate) const KINDS: &str = "kinds of core";
pub(crate) const MICROARCHITECTURES: &str = "microarchitectures";
/// The order of a table's rows.
pub(crate) const NAMES: [&str; 9] = [THREADS, CORES, SMT, KINDS, MICROARCHITECTURES, "L1d", "L1i", "L2", "L3"];

/// Values by the name of the fact; what is not stated is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts(pub(crate) BTreeMap<&'static str, String>);

impl Facts {
    pub(crate) fn counts(&mut self, threads: u32, cores: Option<u32>) {
        self.0.insert(THREADS, threads.to_string());
        if let Some(cores) = cores {
            self.0.insert(CORES, cores.to_string());
            self.0.insert(SMT, if cores < threads { "on" } else { "off" }.to_owned());
        }
    }

    /// The logical CPUs of each kind of core.
    pub(crate) fn kinds(&mut self, mut threads: Vec<u32>) {
        threads.sort_unstable();
        let threads: Vec<String> = threads.iter().map(u32::to_string).collect();
        self.0.insert(KINDS, format!("{} of {} CPUs", threads.len(), threads.join(" and ")));
    }

    /// Microarchitectures with their cores.
    pub(crate) fn microarchitectures(&mut self, of_cores: &BTreeMap<String, u32>) {
        let each: Vec<String> = of_cores.iter().map(|(name, cores)| format!("{cores} {name}")).collect();
        self.0.insert(MICROARCHITECTURES, each.join(", "));
    }

    /// The caches of one level: `L1d`, their number and the sum of their sizes.
    pub(crate) fn caches(&mut self, level: &str, number: usize, bytes: u64) {
        if let Some(name) = NAMES.iter().find(|name| **name == level) {
            self.0.insert(name, format!("{number}, {} KiB in all", bytes >> 10));
        }
    }
}

/// What our discovery found; what it lists as unknown is missing. A project may state the cores of one package.
pub(crate) fn of(machine: &Machine, of_one_package: bool) -> Facts {
    let (cpu, mut facts) = (&machine.cpu, Facts::default());
    if let Some(smt) = cpu.smt {
        facts.0.insert(SMT, if smt { "on" } else { "off" }.to_owned());
    }
    let (Some(threads), Some(cores), Some(packages)) = (cpu.threads, cpu.cores, cpu.packages) else { return facts };
    facts.0.insert(THREADS, threads.to_string());
    facts.0.insert(CORES, (cores / if of_one_package { packages } else { 1 }).to_string());
    if machine.unknown.iter().all(|unknown| unknown.fact != "cpu.core_types") {
        facts.kinds(cpu.core_types.iter().map(|kind| kind.threads).collect());
    }
    let mut of_cores: BTreeMap<String, u32> = BTreeMap::new();
    for kind in &cpu.core_types {
        *of_cores.entry(kind.microarchitecture.clone().unwrap_or_default()).or_default() += kind.cores;
    }
    if !of_cores.contains_key("") {
        facts.microarchitectures(&of_cores);
    }
    let mut levels: BTreeMap<String, (usize, u64)> = BTreeMap::new();
    for cache in &machine.caches {
        let letter = match (cache.level, cache.kind.as_str()) {
            (1, "data") => "d",
            (1, "instruction") => "i",
            _ => "",
        };
        let level = levels.entry(format!("L{}{letter}", cache.level)).or_default();
        *level = (level.0 + 1, level.1 + cache.bytes.unwrap_or(0));
    }
    levels.iter().for_each(|(level, (number, bytes))| facts.caches(level, *number, *bytes));
    facts
}
