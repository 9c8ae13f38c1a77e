//! The operating system, the hypervisor, and the settings of the processor that the system controls.

pub(crate) mod cgroup;
pub(crate) mod cloud;
pub(crate) mod guest;
pub(crate) mod mounts;
pub(crate) mod online;
pub(crate) mod pcie;

use std::collections::{BTreeMap, BTreeSet};

use model::isa::Isa;
use model::machine::{Cpu, Os, Virtualization};

use crate::ledger::{Found, Ledger};
use crate::list::parse_list;
use crate::sysroot::{Cpuid, Sysroot, label};

pub(crate) const STATUS: &str = "proc/self/status";

pub(crate) fn os(root: &Sysroot, ledger: &mut Ledger) -> Os {
    Os {
        name: ledger.take("os.name", distribution(root)),
        kernel: ledger.need("os.kernel", file(root, "proc/sys/kernel/osrelease"), "no /proc/sys/kernel", "none"),
        kernel_build: ledger.take("os.kernel_build", file(root, "proc/sys/kernel/version")),
        clocksource: ledger
            .take("os.clocksource", file(root, "sys/devices/system/clocksource/clocksource0/current_clocksource")),
    }
}

/// By CPUID signature, else by what the kernel shows of Xen.
pub(crate) fn virtualization(root: &Sysroot, ledger: &mut Ledger) -> Option<Virtualization> {
    let cpuid = root.cpuid();
    if let Some(leaves) = cpuid.dump.first().filter(|leaves| leaves.under_hypervisor()) {
        ledger.source("virtualization", format!("leaves 1, 0x40000000 in {}", Cpuid::LABEL));
        let signature = leaves.hypervisor();
        let hypervisor = signature.as_deref().and_then(common_name).map(str::to_owned);
        return Some(Virtualization { hypervisor, signature });
    }
    let (kind, source) = file(root, "sys/hypervisor/type")?;
    ledger.source("virtualization", source);
    let hypervisor = if kind == "xen" { "Xen".to_owned() } else { kind };
    Some(Virtualization { hypervisor: Some(hypervisor), signature: None })
}

fn common_name(signature: &str) -> Option<&'static str> {
    Some(match signature {
        "KVMKVMKVM" | "Linux KVM Hv" => "KVM",
        "Microsoft Hv" => "Hyper-V",
        "VMwareVMware" => "VMware",
        "XenVMMXenVMM" => "Xen",
        "TCGTCGTCGTCG" => "QEMU (emulated)",
        "bhyve bhyve" => "bhyve",
        "ACRNACRNACRN" => "ACRN",
        "prl hyperv" | "lrpepyh vr" => "Parallels",
        "VBoxVBoxVBox" => "VirtualBox",
        _ => return None,
    })
}

pub(crate) fn controls(root: &Sysroot, cpu: &mut Cpu, ledger: &mut Ledger) {
    let cpus: Vec<u32> = cpu.topology.iter().map(|place| place.cpu).collect();
    let governors = in_use(root, &cpus, "scaling_governor");
    let governor = (!governors.is_empty())
        .then(|| (governors.join(", "), label("sys/devices/system/cpu/cpu*/cpufreq/scaling_governor")));
    let driver = cpus.first().and_then(|cpu| file(root, &cpufreq(*cpu, "scaling_driver")));
    let consequence = "only a measurement shows whether the clock is limited";
    cpu.scaling_driver = ledger.take("cpu.scaling_driver", driver);
    cpu.governor = ledger.need("cpu.governor", governor, "no cpufreq", consequence);
    cpu.turbo = ledger.need("cpu.turbo", turbo(root), "no switch in /sys/devices/system/cpu", consequence);
    // Arm's small cores are often first.
    let clock = |cpu: &u32| root.number::<u64>(&cpufreq(*cpu, "cpuinfo_max_freq"));
    let fast = if cpu.isa.contains(&Isa::Neon) { cpus.iter().max_by_key(|cpu| clock(cpu)) } else { cpus.first() };
    cpu.clock_cap_hz = ledger.take("cpu.clock_cap_hz", fast.and_then(|cpu| clock_cap(root, *cpu)));
    cpu.smt_control = ledger.take("cpu.smt_control", file(root, "sys/devices/system/cpu/smt/control"));
    cpu.mitigations = mitigations(root, ledger);
}

pub(crate) fn in_use(root: &Sysroot, cpus: &[u32], name: &str) -> Vec<String> {
    let of = |cpu: &u32| root.text(&cpufreq(*cpu, name));
    // A driver without the file lacks it on every CPU.
    if cpus.first().and_then(of).is_none() {
        return Vec::new();
    }
    cpus.iter().filter_map(of).collect::<BTreeSet<String>>().into_iter().collect()
}

pub(crate) fn cpufreq(cpu: u32, name: &str) -> String {
    format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/{name}")
}

pub(crate) fn affinity(root: &Sysroot) -> Vec<u32> {
    let status = root.text(STATUS).unwrap_or_default();
    status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).map(parse_list).unwrap_or_default()
}

/// `intel_pstate` reports when boost clocks are disabled, `cpufreq` when they are enabled.
pub(crate) fn turbo(root: &Sysroot) -> Found<bool> {
    const NO_TURBO: &str = "sys/devices/system/cpu/intel_pstate/no_turbo";
    const BOOST: &str = "sys/devices/system/cpu/cpufreq/boost";
    let off = root.number::<u32>(NO_TURBO).map(|off| (off == 0, label(NO_TURBO)));
    off.or_else(|| root.number::<u32>(BOOST).map(|on| (on != 0, label(BOOST))))
}

/// A clock in a file, in multiples of `unit` Hz.
pub(crate) fn clock_in(root: &Sysroot, file: &str, unit: f64) -> Found<f64> {
    root.number::<f64>(file).filter(|clock| clock.is_finite() && *clock > 0.0).map(|clock| (clock * unit, label(file)))
}

/// The highest clock that `scaling_max_freq` or `max_perf_pct` allows, where that is below the processor's own.
fn clock_cap(root: &Sysroot, cpu: u32) -> Found<f64> {
    const PERCENT: &str = "sys/devices/system/cpu/intel_pstate/max_perf_pct";
    let (own, _) = clock_in(root, &cpufreq(cpu, "cpuinfo_max_freq"), 1e3)?;
    let policy = clock_in(root, &cpufreq(cpu, "scaling_max_freq"), 1e3);
    let percent = clock_in(root, PERCENT, own / 100.0);
    let lower = policy.into_iter().chain(percent).min_by(|one, other| one.0.total_cmp(&other.0));
    // Drivers round to steps of 100 MHz at most.
    lower.filter(|(cap, _)| *cap < own - 1e8)
}

fn mitigations(root: &Sysroot, ledger: &mut Ledger) -> BTreeMap<String, String> {
    const FOLDER: &str = "sys/devices/system/cpu/vulnerabilities";
    let state = |name: String| Some((name.clone(), root.text(&format!("{FOLDER}/{name}"))?));
    let states: BTreeMap<String, String> = root.names(FOLDER).into_iter().filter_map(state).collect();
    if !states.is_empty() {
        ledger.source("cpu.mitigations", label(FOLDER));
    }
    states
}

fn distribution(root: &Sysroot) -> Found<String> {
    const FILES: [&str; 2] = ["etc/os-release", "usr/lib/os-release"];
    FILES.into_iter().find_map(|file| {
        let text = root.text(file)?;
        let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        let name = value("PRETTY_NAME").or_else(|| value("NAME"))?;
        Some((name.trim_matches('"').to_owned(), label(file)))
    })
}

pub(crate) fn file(root: &Sysroot, relative: &str) -> Found<String> {
    root.text(relative).map(|text| (text, label(relative)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn the_lowest_cap_of_the_clock_counts_where_it_is_below_the_processor_s_own() {
        let capped = |policy: &str, percent: &str| {
            let cpu = "sys/devices/system/cpu";
            let fixture = Fixture::new("clock-cap")
                .file(&format!("{cpu}/cpu0/cpufreq/cpuinfo_max_freq"), "3500000\n")
                .file(&format!("{cpu}/cpu0/cpufreq/scaling_max_freq"), policy)
                .file(&format!("{cpu}/intel_pstate/max_perf_pct"), percent);
            clock_cap(&fixture.root(), 0)
        };
        assert_eq!(capped("3500000\n", "100\n"), None);
        let (cap, source) = capped("2000000\n", "80\n").unwrap();
        assert!((cap - 2e9).abs() < 1.0 && source.contains("scaling_max_freq"), "{cap} {source}");
        let (cap, source) = capped("3500000\n", "60\n").unwrap();
        assert!((cap - 2.1e9).abs() < 1.0 && source.contains("max_perf_pct"), "{cap} {source}");
    }
}
