//! Why a result is below what it should be, as far as its conditions and the machine show.

use model::document::Row;
use model::machine::{Dimm, Disk, Machine, Provider};
use model::number::{clock, counted, percent_whole, size};
use model::sample::{ExpectationVerdict, MetricName};
use model::warning::WarningCode;

use crate::rules::Resource;

/// From this share of lost rate or time on, a loss is a cause.
pub(crate) const LOST: f64 = 0.05;
/// From this share of CPU time on, an answer names who took it.
const LEAST_TAKEN: f64 = 0.01;

type Cause = fn(&Row, &Machine) -> Option<String>;

/// Causes by the part of the machine that they slow, the most certain first; `None` slows all.
const CAUSES: &[(Option<Resource>, Cause)] = &[
    (None, quota),
    (Some(Resource::Cores), heat_or_power),
    (Some(Resource::Memory), swap),
    (Some(Resource::Memory), modules),
    (Some(Resource::Disk), link),
    (Some(Resource::Disk), device_heat),
    (Some(Resource::Cores), turbo),
    (Some(Resource::Cores), burst_credit),
    (None, |row, _| taken(row).map(|(share, by)| format!("{by} took {} of CPU time", percent_whole(share)))),
    (Some(Resource::Cores), shared_with_vms),
    (Some(Resource::Cores), shared_cores),
];

/// The cause in words: `a CPU quota stopped it for 50 % of the time`; `no cause found` without one.
pub(crate) fn cause(row: &Row, machine: &Machine, uses: &[Resource]) -> String {
    let slows = |resource: &Option<Resource>| resource.is_none_or(|resource| uses.contains(&resource));
    let found = CAUSES.iter().filter(|(resource, _)| slows(resource)).find_map(|(_, cause)| cause(row, machine));
    found.unwrap_or_else(|| "no cause found".to_owned())
}

fn quota(row: &Row, _: &Machine) -> Option<String> {
    let throttled = row.conditions.throttled.filter(|share| *share >= LOST)?;
    Some(format!("a CPU quota stopped it for {} of the time", percent_whole(throttled)))
}

fn heat_or_power(row: &Row, _: &Machine) -> Option<String> {
    let times = |events: Option<u64>| events.filter(|events| *events > 0).map(|events| counted(events, "time"));
    let heat = times(row.conditions.thermal_events).map(|times| format!("heat lowered the clock {times}"));
    heat.or_else(|| times(row.conditions.power_events).map(|times| format!("a power limit lowered the clock {times}")))
}

fn swap(row: &Row, _: &Machine) -> Option<String> {
    let rate = row.conditions.swapped_bytes_per_second.filter(|rate| *rate > 0.0)?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate for reading")]
    Some(format!("the kernel swapped {} per second", size(rate as u64)))
}

/// Slots without a module, and modules that run slower than they are made for.
fn modules(_: &Row, machine: &Machine) -> Option<String> {
    let memory = &machine.memory;
    let channels = memory.channels.zip(memory.platform_channels).filter(|(used, has)| used < has);
    if let Some((used, has)) = channels {
        return Some(format!("{used} of {has} memory channels have modules"));
    }
    let is_slow = |dimm: &&Dimm| dimm.mts.zip(dimm.rated_mts).is_some_and(|(runs, rated)| runs < rated);
    let slow = memory.dimms.iter().find(is_slow)?;
    let [runs, rated] = [slow.mts, slow.rated_mts].map(Option::unwrap_or_default);
    Some(format!("memory modules for {rated:.0} MT/s run at {runs:.0} MT/s"))
}

fn devices<'m>(row: &'m Row, machine: &'m Machine) -> impl Iterator<Item = &'m Disk> {
    let names = row.conditions.disk.as_ref().map_or(&[][..], |disk| &disk.devices);
    machine.disks.iter().filter(|disk| names.contains(&disk.name))
}

fn link(row: &Row, machine: &Machine) -> Option<String> {
    devices(row, machine).find_map(|disk| {
        let link = disk.link.as_ref().filter(|link| link.below_maximum == Some(true))?;
        Some(format!("the link of {} is below its maximum: {}", disk.name, link.detail))
    })
}

fn device_heat(row: &Row, _: &Machine) -> Option<String> {
    let disk = row.conditions.disk.as_ref()?;
    let celsius =
        disk.device_celsius.filter(|celsius| disk.device_limit_celsius.is_some_and(|limit| *celsius >= limit))?;
    Some(format!("the drive reached {celsius:.0} °C, where it throttles"))
}

/// Beginnings of the names of machine types whose CPUs earn credit for bursts: the documentation of EC2 (burstable performance
/// instances), Azure (B family) and GCE (shared-core machine types).
const BURSTABLE: &[(Provider, &[&str])] = &[
    (Provider::Ec2, &["t1.", "t2.", "t3.", "t3a.", "t4g."]),
    (Provider::Azure, &["Standard_B"]),
    (Provider::Gce, &["e2-micro", "e2-small", "e2-medium", "f1-micro", "g1-small"]),
];

/// A hypervisor holds a machine to its baseline as if other VMs took the rest.
fn burst_credit(row: &Row, machine: &Machine) -> Option<String> {
    let cloud = machine.cloud.as_ref()?;
    let name = cloud.machine_type.as_deref()?;
    let (_, types) = BURSTABLE.iter().find(|(provider, _)| *provider == cloud.provider)?;
    let steal = row.conditions.steal.filter(|steal| *steal >= LOST)?;
    let is_burstable = types.iter().any(|begin| name.starts_with(begin));
    is_burstable.then(|| {
        let share = percent_whole(steal);
        format!("its burst credit may be used up: the hypervisor withheld {share} of CPU time from this {name}")
    })
}

/// Settings that cap the clock, where the clock is below its own expectation.
fn turbo(row: &Row, machine: &Machine) -> Option<String> {
    let metric = row.metric(MetricName::Clock)?;
    let base = machine.cpu.base_hz.unwrap_or_default();
    let is_capped = metric.verdict == Some(ExpectationVerdict::Below) || metric.summary.median < 0.9 * base;
    let hz = clock(metric.summary.median);
    // What a clock can be above a cap without contradicting it.
    let cap = machine.cpu.clock_cap_hz.filter(|cap| metric.summary.median <= 1.02 * cap);
    match (machine.cpu.turbo, machine.cpu.governor.as_deref()) {
        (Some(false), _) => Some(format!("turbo is off: the clock was {hz}")),
        _ if cap.is_some() => cap.map(|cap| format!("a setting of the kernel caps the clock at {}", clock(cap))),
        (_, Some(governor @ ("powersave" | "conservative"))) if is_capped => {
            Some(format!("the governor {governor} kept the clock at {hz}"))
        }
        _ if is_capped => Some(format!("the clock was {hz}")),
        _ => None,
    }
}

/// Another VM on the second hardware thread of a core: no CPU time is missing, the rate is lower.
fn shared_with_vms(row: &Row, _: &Machine) -> Option<String> {
    let shared = row.warnings.iter().find(|warning| warning.code == WarningCode::VcpuShared)?;
    let lost = shared.value.filter(|lost| *lost >= LOST)?;
    Some(format!("other VMs on the same cores took {} of the rate", percent_whole(lost)))
}

/// In a virtual machine, whose threads a user takes for cores.
fn shared_cores(row: &Row, machine: &Machine) -> Option<String> {
    let cpu = &machine.cpu;
    let is_shared =
        machine.virtualization.is_some() && cpu.threads > cpu.cores && Some(row.params.threads()) > cpu.cores;
    is_shared.then(|| "two virtual CPUs share a core".to_owned())
}

/// The share of CPU time that was taken while a benchmark ran, and by what; `None` where the kernel counted too little to
/// explain a loss.
pub(crate) fn taken(row: &Row) -> Option<(f64, &'static str)> {
    let [processes, vms] = [row.conditions.other_load, row.conditions.steal].map(|share| share.unwrap_or(0.0));
    let by = match (processes >= LEAST_TAKEN, vms >= LEAST_TAKEN) {
        (true, true) => "other processes and VMs",
        (true, false) => "other processes",
        _ => "other VMs on the host",
    };
    Some((processes + vms, by)).filter(|(share, _)| *share >= LOST / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::document;
    use model::machine::Cloud;
    use model::warning::Warning;

    fn with(change: impl FnOnce(&mut Row, &mut Machine)) -> String {
        let (mut row, mut machine) = (document().experiments.remove(0), Machine::default());
        change(&mut row, &mut machine);
        cause(&row, &machine, &[Resource::Cores, Resource::Memory])
    }

    #[test]
    fn the_most_certain_cause_is_named_and_none_is_made_up() {
        assert_eq!(with(|_, _| {}), "no cause found");
        assert_eq!(with(|row, _| row.conditions.steal = Some(0.2)), "other VMs on the host took 20 % of CPU time");
        let on = |name: &str| {
            with(|row, machine| {
                row.conditions.steal = Some(0.6);
                machine.cloud = Some(Cloud { provider: Provider::Ec2, machine_type: Some(name.to_owned()) });
            })
        };
        assert_eq!(on("m7i.large"), "other VMs on the host took 60 % of CPU time");
        assert!(on("t3.medium").contains("burst credit"), "{}", on("t3.medium"));
        let throttled = with(|row, _| {
            row.conditions.steal = Some(0.2);
            row.conditions.throttled = Some(0.5);
        });
        assert_eq!(throttled, "a CPU quota stopped it for 50 % of the time");
        let warned = |lost| Warning::new(WarningCode::VcpuShared, lost, "");
        assert_eq!(with(|row, _| row.warnings.push(warned(0.06))), "other VMs on the same cores took 6 % of the rate");
        assert_eq!(with(|row, _| row.warnings.push(warned(0.03))), "no cause found");
        assert_eq!(with(|row, _| row.conditions.thermal_events = Some(3)), "heat lowered the clock 3 times");
        let empty = with(|_, machine| {
            machine.memory.channels = Some(7);
            machine.memory.platform_channels = Some(8);
        });
        assert_eq!(empty, "7 of 8 memory channels have modules");
        let slow = with(|_, machine| {
            machine.memory.dimms = vec![Dimm { mts: Some(4400.0), rated_mts: Some(4800.0), ..Dimm::default() }];
        });
        assert_eq!(slow, "memory modules for 4800 MT/s run at 4400 MT/s");
    }

    #[test]
    fn a_disk_is_not_slow_for_its_memory() {
        let (mut row, mut machine) = (document().experiments.remove(0), Machine::default());
        (machine.memory.channels, machine.memory.platform_channels) = (Some(1), Some(2));
        row.conditions.thermal_events = Some(1);
        assert_eq!(cause(&row, &machine, &[Resource::Disk]), "no cause found");
    }
}
