//! The number of populated channels of a bare machine. Slot names ([`crate::memory::locators`]) and EDAC drivers count
//! them; controllers' counters, CPUID, modules and the table of platforms bound them. The smallest count is used.

use std::collections::{BTreeMap, BTreeSet};

use model::machine::{Cpu, Dimm};

use crate::list;
use crate::memory::locators::{self, Board};
use crate::memory::platforms::Limits;
use crate::sysroot::{Sysroot, label};

const EDAC: &str = "sys/devices/system/edac/mc";
const MAKER: &str = "sys/class/dmi/id/sys_vendor";
const COUNTERS: &str = "sys/bus/event_source/devices";

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Channels {
    /// All packages together, with the source.
    pub(crate) count: Option<(u32, String)>,
    pub(crate) by_package: Vec<u32>,
    /// The channel of each populated slot; empty if the names do not contain it.
    pub(crate) of_modules: Vec<String>,
    pub(crate) doubt: Option<String>,
    pub(crate) unknown: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Witness {
    channels: u32,
    says: String,
    by_package: Vec<u32>,
}

/// `slots` are all slots of firmware's table, read from `file`.
pub(crate) fn count(root: &Sysroot, cpu: &Cpu, limits: Option<Limits>, slots: &[Dimm], file: &str) -> Channels {
    let maker = root.text(MAKER);
    let most = limits.map(|limits| limits.channels);
    let read = locators::read(slots, Board { maker: maker.as_deref(), packages: cpu.packages, channels: most });
    let modules = slots.iter().filter(|slot| slot.is_fitted()).count();
    let modules = u32::try_from(modules).ok().filter(|modules| *modules > 0);
    let named = read.as_ref().ok().map(|reading| Witness {
        channels: reading.count(),
        says: format!("names of the slots, such as '{}', in {}", reading.example, label(file)),
        by_package: reading.by_package.clone(),
    });
    let errors = error_detection(root, cpu.packages);
    let bounds = bounds(root, cpu, limits, modules);
    // On clients the driver counts halves of channels as channels: there another source must agree.
    let driver_suffices = limits.is_some()
        || modules.is_some_and(|modules| errors.as_ref().is_some_and(|errors| errors.channels == modules));
    let counted = [named, errors.filter(|_| driver_suffices)].into_iter().flatten().collect::<Vec<_>>();
    let agreed = || one_each(modules?, &bounds, limits);
    let witnesses = if counted.is_empty() { agreed().into_iter().collect() } else { counted };
    let of_modules = read.as_ref().map(|reading| reading.channels.clone()).unwrap_or_default();
    if witnesses.is_empty() {
        let why = match (read, modules) {
            (Err(why), Some(_)) => why,
            _ => "neither udev, the firmware table nor an EDAC driver shows the modules to this user".to_owned(),
        };
        return Channels { unknown: Some(why), of_modules, ..Channels::default() };
    }
    Channels { of_modules, ..least(&witnesses, &bounds) }
}

/// One module per channel if the names do not decide: only if the number of channels in use equals that of the modules.
fn one_each(modules: u32, bounds: &[Witness], limits: Option<Limits>) -> Option<Witness> {
    limits?;
    let bound =
        bounds.iter().find(|bound| bound.channels == modules && bound.says != MODULES && bound.says != TABLE)?;
    let says = format!("as many modules as {}: one on each", bound.says);
    Some(Witness { channels: modules, says, by_package: Vec::new() })
}

/// The smallest count, the sources that agree, and those that do not.
fn least(witnesses: &[Witness], bounds: &[Witness]) -> Channels {
    let most = witnesses.iter().map(|witness| witness.channels).max().unwrap_or(0);
    let all = || witnesses.iter().chain(bounds.iter().filter(|bound| bound.channels < most));
    let Some(least) = all().min_by_key(|witness| witness.channels) else { return Channels::default() };
    let shown = |witness: &Witness| format!("{}: {}", witness.says, witness.channels);
    let differ = all().any(|witness| witness.channels != least.channels);
    let doubt = differ.then(|| all().map(shown).collect::<Vec<_>>().join("; "));
    let mut agreeing: Vec<&str> = all().filter(|one| one.channels == least.channels).map(|one| &*one.says).collect();
    agreeing.dedup();
    let sum = |by_package: &Vec<u32>| by_package.iter().sum::<u32>() == least.channels;
    let by_package = all().map(|witness| &witness.by_package).find(|one| !one.is_empty() && sum(one));
    Channels {
        count: Some((least.channels, agreeing.join("; also "))),
        by_package: by_package.cloned().unwrap_or_default(),
        doubt,
        ..Channels::default()
    }
}

/// By EDAC (`ABI/testing/sysfs-devices-edac`): `dimm*`, or AMD's `rank*` for chip selects.
fn error_detection(root: &Sysroot, packages: Option<u32>) -> Option<Witness> {
    let mut by_controller: BTreeMap<String, (Option<u32>, BTreeSet<String>)> = BTreeMap::new();
    for controller in root.names(EDAC).into_iter().filter(|name| name.starts_with("mc")) {
        let folder = format!("{EDAC}/{controller}");
        let mut socket = root.text(&format!("{folder}/mc_name")).and_then(|name| number_after(&name, "Socket#"));
        let mut channels = BTreeSet::new();
        let is_module = |name: &&String| name.starts_with("dimm") || name.starts_with("rank");
        for module in root.names(&folder).iter().filter(is_module) {
            let file = |name: &str| root.text(&format!("{folder}/{module}/{name}"));
            let filled = file("size").and_then(|size| size.parse::<u64>().ok()).is_some_and(|size| size > 0);
            let on_package = file("dimm_mem_type").is_some_and(|kind| kind.starts_with("High-bandwidth"));
            let channel = file("dimm_location").and_then(|place| channel_word(&place));
            if let (true, false, Some(channel)) = (filled, on_package, channel) {
                channels.insert(channel);
                let label = file("dimm_label");
                socket = socket.or_else(|| number_after(&label?, "SrcID#"));
            }
        }
        if !channels.is_empty() {
            by_controller.insert(controller, (socket, channels));
        }
    }
    let sum = |channels: &mut dyn Iterator<Item = &BTreeSet<String>>| {
        u32::try_from(channels.map(BTreeSet::len).sum::<usize>()).unwrap_or(u32::MAX)
    };
    let channels = sum(&mut by_controller.values().map(|(_, channels)| channels));
    if channels == 0 {
        return None;
    }
    let sockets: Option<BTreeSet<u32>> = by_controller.values().map(|(socket, _)| *socket).collect();
    let of_socket = |socket: &u32| {
        sum(&mut by_controller.values().filter(|(of, _)| *of == Some(*socket)).map(|(_, channels)| channels))
    };
    // AMD's driver has one unnamed controller per socket.
    let by_package = match sockets {
        Some(sockets) => sockets.iter().map(of_socket).collect(),
        None => by_controller.values().map(|(_, channels)| sum(&mut [channels].into_iter())).collect::<Vec<_>>(),
    };
    let by_package = match packages {
        Some(1) => vec![channels],
        _ if u32::try_from(by_package.len()).ok() == packages => by_package,
        _ => Vec::new(),
    };
    Some(Witness { channels, says: label(EDAC), by_package })
}

fn channel_word(place: &str) -> Option<String> {
    place.split_whitespace().skip_while(|word| *word != "channel").nth(1).map(str::to_owned)
}

fn number_after(text: &str, word: &str) -> Option<u32> {
    let (_, after) = text.split_once(word)?;
    let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    after[..digits].parse().ok()
}

const MODULES: &str = "modules";
const TABLE: &str = "the processor's maximum number of channels";

fn bounds(root: &Sysroot, cpu: &Cpu, limits: Option<Limits>, modules: Option<u32>) -> Vec<Witness> {
    let packages = cpu.packages.unwrap_or(1).max(1);
    let bound = |says: &str, channels: Option<u32>| {
        let channels = channels.filter(|channels| *channels > 0)?;
        Some(Witness { channels, says: says.to_owned(), by_package: Vec::new() })
    };
    let is_intel = cpu.vendor.as_deref() == Some("GenuineIntel");
    // Servers have one unit per channel, which counts the channels of that number on every package. Clients differ.
    let intel = || limits.and_then(|_| units(root, "uncore_imc_")?.checked_mul(packages)).filter(|_| is_intel);
    let all = [
        bound(MODULES, modules),
        bound(&format!("units {COUNTERS}/uncore_imc_*"), intel()),
        bound(&format!("units {COUNTERS}/amd_umc_*"), units(root, "amd_umc_")),
        bound("active controllers in leaf 0x80000022", active_controllers(root, cpu)),
        bound(TABLE, limits.and_then(|limits| limits.channels.checked_mul(packages))),
    ];
    all.into_iter().flatten().collect()
}

fn units(root: &Sysroot, prefix: &str) -> Option<u32> {
    let is_one = |name: &&String| list::number_after(name, prefix).is_some();
    u32::try_from(root.names(COUNTERS).iter().filter(is_one).count()).ok().filter(|count| *count > 0)
}

/// Active memory controllers, one channel each: ECX of leaf 0x80000022 (AMD APM volume 3), one CPU per package.
fn active_controllers(root: &Sysroot, cpu: &Cpu) -> Option<u32> {
    let dump = &root.cpuid().dump;
    let mut seen = BTreeSet::new();
    let first_of_package = cpu.topology.iter().filter(|place| seen.insert(place.package));
    let active = first_of_package.map(|place| Some(dump.cpu(place.cpu)?.get(0x8000_0022, 0)?.ecx.count_ones()));
    let active: Vec<u32> = active.collect::<Option<_>>()?;
    let is_amd = cpu.vendor.as_deref() == Some("AuthenticAMD");
    Some(active.iter().sum()).filter(|sum| *sum > 0 && is_amd)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    const LIMITS: Limits = Limits { channels: 12, mts: 4800.0, source: "a test" };

    fn cpu(packages: u32) -> Cpu {
        Cpu { packages: Some(packages), vendor: Some("GenuineIntel".to_owned()), ..Cpu::default() }
    }

    fn slots(names: &[&str]) -> Vec<Dimm> {
        let slot = |name: &&str| Dimm { locator: Some((*name).to_owned()), bytes: Some(1 << 34), ..Dimm::default() };
        names.iter().map(slot).collect()
    }

    fn units_of(fixture: Fixture, count: u32) -> Fixture {
        (0..count).fold(fixture, |fixture, n| fixture.file(&format!("{COUNTERS}/uncore_imc_{n}"), ""))
    }

    fn edac(fixture: Fixture, controller: u32, module: &str, place: &str, label: &str) -> Fixture {
        let folder = format!("{EDAC}/mc{controller}/{module}");
        fixture
            .file(&format!("{folder}/size"), "16384\n")
            .file(&format!("{folder}/dimm_location"), place)
            .file(&format!("{folder}/dimm_label"), label)
    }

    #[test]
    fn drivers_count_channels_of_slots_and_of_chip_selects() {
        let mut fixture = Fixture::new("edac-skx");
        for (controller, socket) in [(0, 0), (1, 0), (2, 1)] {
            let label = format!("CPU_SrcID#{socket}_MC#{controller}_Chan#0_DIMM#0");
            fixture = edac(fixture, controller, "dimm0", "channel 0 slot 0 ", &label);
            fixture = edac(fixture, controller, "dimm1", "channel 0 slot 1 ", &label);
        }
        fixture = fixture.file(&format!("{EDAC}/mc2/dimm2/size"), "0\n");
        let found = error_detection(&fixture.root(), Some(2)).unwrap();
        assert_eq!((found.channels, found.by_package), (3, vec![2, 1]));
        let mut fixture = Fixture::new("edac-amd");
        for (rank, place) in ["csrow 0 channel 0", "csrow 1 channel 0", "csrow 0 channel 5"].iter().enumerate() {
            fixture = edac(fixture, 0, &format!("rank{rank}"), place, "mc#0csrow#0channel#0");
        }
        fixture = edac(fixture, 1, "rank0", "csrow 0 channel 7", "mc#1csrow#0channel#7");
        let found = error_detection(&fixture.root(), Some(2)).unwrap();
        assert_eq!((found.channels, found.by_package), (3, vec![2, 1]));
        let stack = edac(Fixture::new("edac-hbm"), 0, "dimm0", "channel 0 slot 0", "");
        let stack = stack.file(&format!("{EDAC}/mc0/dimm0/dimm_mem_type"), "High-bandwidth-memory-Gen2\n");
        assert_eq!(error_detection(&stack.root(), Some(1)), None, "a stack next to the cores has no module channel");
        let nowhere = edac(Fixture::new("edac-ghes"), 0, "dimm0", "memory 0", "");
        assert_eq!(error_detection(&nowhere.root(), Some(1)), None, "firmware's own driver names no channel");
    }

    #[test]
    fn of_two_counts_the_smaller_is_used_and_the_difference_reported() {
        let fixture = edac(Fixture::new("differ"), 0, "dimm0", "channel 0 slot 0", "");
        let found = count(&fixture.root(), &cpu(1), Some(LIMITS), &slots(&["P1-DIMMA1", "P1-DIMMB1"]), "f");
        assert_eq!(found.count, Some((1, label(EDAC))));
        let doubt = "names of the slots, such as 'P1-DIMMA1', in /f: 2; /sys/devices/system/edac/mc: 1";
        assert_eq!(found.doubt.as_deref(), Some(doubt));
        assert_eq!(found.by_package, [1], "of the witness that was taken");
    }

    #[test]
    fn what_bounds_the_count_from_above_wins_over_names() {
        let named = slots(&["P1-DIMMA1", "P1-DIMMB1", "P1-DIMMC1"]);
        let at = |name: &str, units: u32| {
            let fixture = units_of(Fixture::new(name), units);
            count(&fixture.root(), &cpu(1), Some(LIMITS), &named, "f")
        };
        let found = at("bounded", 2);
        assert_eq!(found.count.map(|(count, _)| count), Some(2));
        assert!(found.doubt.unwrap().contains("uncore_imc_*: 2"));
        let found = at("unbounded", 8);
        assert_eq!((found.count.unwrap().0, found.doubt, found.by_package), (3, None, vec![3]));
    }

    #[test]
    fn unclear_names_need_a_count_that_agrees() {
        let unnamed = slots(&["DIMM 0", "DIMM 1"]);
        let at = |name: &str, units: u32, limits: Option<Limits>| {
            let fixture = units_of(Fixture::new(name), units);
            count(&fixture.root(), &cpu(1), limits, &unnamed, "f")
        };
        let found = at("agrees", 2, Some(LIMITS));
        assert_eq!(found.count.as_ref().map(|(count, _)| *count), Some(2));
        assert!(found.count.unwrap().1.contains("one on each"));
        for found in [at("more-units", 8, Some(LIMITS)), at("no-table", 2, None)] {
            assert_eq!(found.count, None);
            assert!(found.unknown.unwrap().starts_with("ambiguous locators"));
        }
    }

    #[test]
    fn a_driver_alone_is_believed_on_a_server_and_elsewhere_if_the_modules_agree() {
        let fixture = || edac(Fixture::new("alone"), 0, "dimm0", "channel 0 slot 0", "");
        let with = |limits, slots: &[Dimm]| count(&fixture().root(), &cpu(1), limits, slots, "f").count;
        assert_eq!(with(Some(LIMITS), &[]), Some((1, label(EDAC))));
        assert_eq!(with(None, &[]), None);
        assert_eq!(with(None, &slots(&["DIMM 0"])).map(|(count, _)| count), Some(1));
        assert_eq!(with(None, &slots(&["DIMM 0", "DIMM 1"])), None);
    }

    #[test]
    fn active_controllers_are_those_of_every_package() {
        let leaf = |mask: u32| format!("   0x80000022 0x00: eax=0x7 ebx=0x0 ecx={mask:#x} edx=0x0\n");
        let cpuid = format!("CPU 0:\n{}CPU 1:\n{}", leaf(0x3f), leaf(0xfff));
        let fixture = Fixture::new("active").file("cpuid.txt", &cpuid);
        let place = |cpu: u32| model::machine::LogicalCpu { cpu, package: cpu, ..Default::default() };
        let mut two = Cpu { vendor: Some("AuthenticAMD".to_owned()), ..cpu(2) };
        two.topology = vec![place(0), place(1)];
        assert_eq!(active_controllers(&fixture.root(), &two), Some(18));
        two.topology.push(place(2));
        assert_eq!(active_controllers(&fixture.root(), &two), None, "a package that was not asked");
    }
}
