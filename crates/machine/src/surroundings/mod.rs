//! Activity of the whole machine around a measurement: kernel counters with this process's own part, so that the rest
//! is interference. Read around every process run, so it must take less than a millisecond.

pub(crate) mod activity;
pub(crate) mod counters;
pub(crate) mod disk_state;
pub(crate) mod settings;

use model::surroundings::Surroundings;
use sys::usage::ProcessUsage;

use crate::cpu::arm::hwcap;
use crate::net::namespace;
use crate::surroundings::activity::TICKS_PER_SECOND;
use crate::surroundings::disk_state::DiskState;
use crate::sysroot::Sysroot;
use crate::system::online::online_cpus;

/// What is counted in addition to the CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watched {
    /// A chain of devices from the top, by their names under /sys/block; others (partitions) are ignored.
    pub disks: Vec<String>,
    /// The network interface whose traffic counts.
    pub interface: Option<String>,
}

const CPUS: &str = "sys/devices/system/cpu";

/// Reads the counters.
pub fn surroundings(root: &Sysroot, watched: &Watched) -> Surroundings {
    let own = ProcessUsage::now();
    let at_seconds = sys::clock::monotonic_raw_seconds();
    let times = CpuTimes::read(root);
    let pressure = |of: &str| root.text(&format!("proc/pressure/{of}")).and_then(|text| some_seconds(&text));
    let (thermal_events, power_events) = throttling_events(root);
    let disks = DiskState::read(root, &watched.disks);
    Surroundings {
        at_seconds,
        cpus: times.cpus,
        user_seconds: times.sum(&[0, 1]),
        system_seconds: times.sum(&[2, 5, 6]),
        steal_seconds: times.sum(&[7]),
        swapped_bytes: root.text("proc/vmstat").and_then(|text| swapped_bytes(&text, page_bytes(root))),
        cpu_pressure_seconds: pressure("cpu"),
        memory_pressure_seconds: pressure("memory"),
        io_pressure_seconds: pressure("io"),
        thermal_events,
        power_events,
        disk_bytes: disks.io.map(|io| io.read_bytes.saturating_add(io.write_bytes)),
        disk_written_bytes: disks.io.map(|io| io.write_bytes),
        disk_heat: disks.heat,
        disk_link_bytes_per_second: disks.link_bytes_per_second,
        net_bytes: watched.interface.as_deref().and_then(|interface| namespace::bytes(root, interface)),
        own_user_seconds: own.user_seconds,
        own_system_seconds: own.system_seconds,
        own_disk_bytes: own.disk_bytes,
        own_disk_written_bytes: own.disk_written_bytes,
    }
}

struct CpuTimes {
    cpus: u32,
    /// All CPUs: user, nice, system, idle, waiting, interrupts, soft interrupts, stolen …
    ticks: Option<Vec<u64>>,
}

impl CpuTimes {
    fn read(root: &Sysroot) -> Self {
        let text = root.text("proc/stat").unwrap_or_default();
        let is_one =
            |line: &&str| line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        let count = |line: &str| line.split_ascii_whitespace().map_while(|count| count.parse().ok()).collect();
        Self {
            cpus: u32::try_from(text.lines().filter(is_one).count()).unwrap_or(u32::MAX),
            ticks: text.lines().find_map(|line| line.strip_prefix("cpu ")).map(count),
        }
    }

    fn sum(&self, fields: &[usize]) -> Option<f64> {
        let ticks = self.ticks.as_ref()?;
        let sum = fields.iter().map(|field| ticks.get(*field).copied()).sum::<Option<u64>>()?;
        Some(sum as f64 / TICKS_PER_SECOND)
    }
}

/// The kernel's base page; that of x86-64 where it is not known.
fn page_bytes(root: &Sysroot) -> u64 {
    hwcap::page_bytes(root).map_or(4096, |(bytes, _)| bytes)
}

fn swapped_bytes(vmstat: &str, page_bytes: u64) -> Option<u64> {
    let count = |name: &str| -> Option<u64> {
        vmstat.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).and_then(|text| text.parse().ok())
    };
    count("pswpin")?.checked_add(count("pswpout")?)?.checked_mul(page_bytes)
}

/// From `some avg10=0.00 avg60=0.00 avg300=0.00 total=12345` (`accounting/psi.rst`: microseconds).
fn some_seconds(pressure: &str) -> Option<f64> {
    let line = pressure.lines().find_map(|line| line.strip_prefix("some "))?;
    let total: u64 = line.split_ascii_whitespace().find_map(|field| field.strip_prefix("total="))?.parse().ok()?;
    Some(total as f64 * 1e-6)
}

/// Thermal and power throttling events (`therm_throt.c`); unknown under most hypervisors.
fn throttling_events(root: &Sysroot) -> (Option<u64>, Option<u64>) {
    let online = online_cpus(root);
    let count = |cpu: u32, name: &str| root.number::<u64>(&format!("{CPUS}/cpu{cpu}/thermal_throttle/{name}"));
    let mut packages: Vec<u32> = Vec::new();
    let mut seen: Vec<u32> = Vec::new();
    let kinds = ["core_throttle_count", "package_throttle_count"];
    if !online.first().is_some_and(|first| kinds.iter().any(|kind| count(*first, kind).is_some())) {
        return (None, None);
    }
    for cpu in &online {
        if !seen.contains(cpu) {
            packages.push(*cpu);
            let file = |name: &str| format!("{CPUS}/cpu{cpu}/topology/{name}");
            // The second names are those of Linux before 5.3.
            let lists = [("package_cpus_list", "package_cpus"), ("core_siblings_list", "core_siblings")];
            let of_package = lists.iter().find_map(|(list, mask)| root.cpus_with(*cpu, &file(list), &file(mask)));
            seen.extend(of_package.unwrap_or_else(|| online.clone()));
        }
    }
    let sum = |of_core: &str, of_package: &str| {
        let cores = online.iter().map_while(|cpu| count(*cpu, of_core));
        cores.chain(packages.iter().filter_map(|cpu| count(*cpu, of_package))).reduce(u64::saturating_add)
    };
    (sum("core_throttle_count", "package_throttle_count"), sum("core_power_limit_count", "package_power_limit_count"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn times_are_of_all_cpus_online() {
        let stat = "cpu  100 20 30 4 5 6 7 8 50 0\ncpu0 1 1 1 1\ncpu3 1 1 1 1\nintr 5\ncpufreq 1\n";
        let fixture = Fixture::new("times").file("proc/stat", stat);
        let now = surroundings(&fixture.root(), &Watched::default());
        assert_eq!(now.cpus, 2);
        assert_eq!((now.user_seconds, now.system_seconds, now.steal_seconds), (Some(1.2), Some(0.43), Some(0.08)));
        let short = Fixture::new("old-times").file("proc/stat", "cpu  1 2 3 4\ncpu0 1 2 3 4\n");
        let now = surroundings(&short.root(), &Watched::default());
        assert_eq!((now.user_seconds, now.system_seconds, now.steal_seconds), (Some(0.03), None, None));
    }

    #[test]
    fn swap_and_pressure_are_counted() {
        let fixture = Fixture::new("pressure")
            .file("proc/vmstat", "nr_free_pages 5\npswpin 3\npswpout 4\npswpinx 9\n")
            .file(
                "proc/pressure/cpu",
                "some avg10=0.04 avg60=0.37 avg300=0.51 total=5128124\nfull avg10=0.00 total=0\n",
            )
            .file("proc/pressure/memory", "full total=3\n");
        let now = surroundings(&fixture.root(), &Watched::default());
        assert_eq!(now.swapped_bytes, Some(7 * 4096));
        assert!((now.cpu_pressure_seconds.unwrap() - 5.128_124).abs() < 1e-9);
        assert_eq!((now.memory_pressure_seconds, now.io_pressure_seconds), (None, None));
    }

    #[test]
    fn a_package_counts_its_heat_once() {
        for name in ["package_cpus_list", "core_siblings_list"] {
            let mut fixture = Fixture::new(&format!("heat-{name}")).file("sys/devices/system/cpu/online", "0-3\n");
            for cpu in 0..4 {
                let list = if cpu < 2 { "0-1\n" } else { "2-3\n" };
                let folder = format!("sys/devices/system/cpu/cpu{cpu}");
                fixture = fixture
                    .file(&format!("{folder}/topology/{name}"), list)
                    .file(&format!("{folder}/thermal_throttle/core_throttle_count"), "1\n")
                    .file(&format!("{folder}/thermal_throttle/package_throttle_count"), "10\n")
                    .file(&format!("{folder}/thermal_throttle/package_power_limit_count"), "3\n");
            }
            let now = surroundings(&fixture.root(), &Watched::default());
            assert_eq!((now.thermal_events, now.power_events), (Some(4 + 20), Some(6)), "{name}");
        }
    }

    #[test]
    fn loopback_counts_what_it_received() {
        let counts = "head\nhead\n    lo: 500 1 0 0 0 0 0 0 500 1\n  eth0: 500 1 0 0 0 0 0 0 70 1\n";
        let fixture = Fixture::new("interface").file("proc/self/net/dev", counts);
        let bytes = |name: &str| {
            let watched = Watched { disks: Vec::new(), interface: Some(name.to_owned()) };
            surroundings(&fixture.root(), &watched).net_bytes
        };
        assert_eq!((bytes("lo"), bytes("eth0"), bytes("eth9")), (Some(500), Some(570), None));
    }

    #[test]
    fn a_machine_that_shows_nothing_has_no_counts() {
        let watched = Watched { disks: vec!["sda".to_owned()], interface: None };
        let now = surroundings(&Fixture::new("nothing").root(), &watched);
        let expected = Surroundings {
            at_seconds: now.at_seconds,
            own_user_seconds: now.own_user_seconds,
            own_system_seconds: now.own_system_seconds,
            own_disk_bytes: now.own_disk_bytes,
            own_disk_written_bytes: now.own_disk_written_bytes,
            ..Surroundings::default()
        };
        assert_eq!(now, expected);
    }
}
