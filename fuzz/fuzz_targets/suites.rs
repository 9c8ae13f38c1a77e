//! Every suite that parses is planned for a machine of two CPUs, or refused.
#![no_main]

use std::collections::BTreeMap;

use areas::{CoreFeatures, Request, Suite};
use kernels::features::Features;
use libfuzzer_sys::fuzz_target;
use model::disk_target::DiskTarget;
use model::machine::{Cache, Cpu, LogicalCpu, Machine, Memory};

fuzz_target!(|text: &str| {
    let Ok(suite) = Suite::parse(text, "fuzzed.toml") else { return };
    let features = CoreFeatures { here: Features::detect(), by_type: BTreeMap::new() };
    let disk = DiskTarget { total_bytes: 1 << 40, available_bytes: 1 << 39, ..DiskTarget::default() };
    let request = Request { disk: Some(disk), ..Request::new(suite, features) };
    if let Ok(plan) = areas::plan(&request, &machine()) {
        plan.expected_seconds();
    }
});

fn machine() -> Machine {
    let cpus = vec![0, 1];
    let place = |cpu: &u32| LogicalCpu { cpu: *cpu, core: *cpu, siblings: vec![*cpu], ..LogicalCpu::default() };
    let cache =
        Cache { level: 3, kind: "unified".into(), bytes: Some(32 << 20), cpus: cpus.clone(), ..Cache::default() };
    Machine {
        cpu: Cpu { topology: cpus.iter().map(place).collect(), available_cpus: cpus, ..Cpu::default() },
        caches: vec![cache],
        memory: Memory { available_bytes: Some(16 << 30), ..Memory::default() },
        ..Machine::default()
    }
}
