//! What firmware and kernels say of memory, in every form that there is a machine of, and what peak follows.
#![allow(clippy::unwrap_used, reason = "a test whose set-up fails has failed")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use machine::{Declared, Sysroot, discover, info_peaks};
use model::machine::Machine;
use model::peak::PeakKind;

/// What a machine is to be found to have.
struct Expected {
    folder: &'static str,
    /// Populated channels of each package.
    channels: &'static [u32],
    mts: Option<f64>,
    bus_bits: Option<u32>,
    /// Slots, and those with a module.
    slots: Option<(u32, usize)>,
    /// Kind and formula of the peaks of reads on all cores.
    peaks: &'static [(PeakKind, &'static str)],
    /// Facts that are not known, with a part of the reason.
    unknown: &'static [(&'static str, &'static str)],
    /// Values that the user declares, and the resulting formula.
    declared: Option<(&'static [&'static str], &'static str)>,
}

const GENOA: Expected = Expected {
    folder: "made-amd-epyc-9654-2-sockets-20-of-24-modules",
    channels: &[10, 10],
    mts: Some(4800.0),
    bus_bits: Some(1280),
    slots: Some((24, 20)),
    peaks: &[(PeakKind::Datasheet, "20 channels x 4800 MT/s x 8 B")],
    unknown: &[],
    declared: Some((&["memory.fclk_hz=2e9"], "4 die links x 2.00 GHz x 64 B/cycle")),
};

const NOTHING: Expected = Expected {
    folder: "",
    channels: &[],
    mts: None,
    bus_bits: None,
    slots: None,
    peaks: &[],
    unknown: &[],
    declared: None,
};

const MACHINES: &[Expected] = &[
    GENOA,
    Expected {
        folder: "made-intel-ice-lake-xeon-7-of-8-channels",
        channels: &[7],
        mts: Some(2933.0),
        bus_bits: Some(448),
        slots: Some((16, 7)),
        peaks: &[(PeakKind::Datasheet, "7 channels x 2933 MT/s x 8 B")],
        declared: Some((&["memory.channels=8"], "8 channels x 2933 MT/s x 8 B")),
        ..NOTHING
    },
    Expected {
        folder: "made-intel-sapphire-rapids-2-modules-a-channel",
        channels: &[8],
        mts: Some(4400.0),
        bus_bits: Some(512),
        slots: Some((16, 16)),
        peaks: &[(PeakKind::Datasheet, "8 channels x 4400 MT/s x 8 B")],
        ..NOTHING
    },
    Expected {
        folder: "made-intel-meteor-lake-laptop-lpddr5",
        channels: &[8],
        mts: Some(6400.0),
        bus_bits: Some(128),
        slots: Some((8, 8)),
        peaks: &[(PeakKind::Datasheet, "8 channels x 6400 MT/s x 2 B")],
        ..NOTHING
    },
    Expected {
        folder: "made-qemu-guest",
        peaks: &[(PeakKind::PlatformMaximum, "8 channels x 4800 MT/s x 8 B")],
        unknown: &[("memory.channels", "a hypervisor hides"), ("memory.mts", "a hypervisor hides")],
        declared: Some((&["memory.channels=4", "memory.mts=4400"], "4 channels x 4400 MT/s x 8 B")),
        ..NOTHING
    },
    Expected {
        folder: "made-desktop-without-configured-speed",
        channels: &[2],
        bus_bits: Some(128),
        slots: Some((2, 2)),
        unknown: &[("memory.mts", "their rated speed (5600 MT/s)")],
        declared: Some((&["memory.mts=5200"], "2 channels x 5200 MT/s x 8 B")),
        ..NOTHING
    },
    Expected {
        folder: "made-intel-cascade-lake-edac-only",
        channels: &[5],
        bus_bits: Some(320),
        peaks: &[(PeakKind::PlatformMaximum, "5 channels x 2933 MT/s x 8 B")],
        unknown: &[("memory.mts", "neither udev nor the firmware table")],
        declared: Some((&["memory.mts=2933"], "5 channels x 2933 MT/s x 8 B")),
        ..NOTHING
    },
    Expected {
        folder: "made-intel-ratings-of-firmware",
        peaks: &[(PeakKind::Datasheet, "768.0 GB/s of node 0 + 768.0 GB/s of node 1, as firmware rates its reads")],
        unknown: &[("memory.channels", "EDAC"), ("memory.mts", "shows a module")],
        declared: Some((&["memory.channels=24", "memory.mts=8800"], "24 channels x 8800 MT/s x 8 B")),
        ..NOTHING
    },
];

fn made(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/machines").join(folder)
}

fn found(folder: &str) -> Machine {
    discover(&Sysroot::folder(&made(folder)).unwrap_or_else(|error| panic!("{folder}: {error}")))
}

/// Threads, kind and formula of the peaks of reads from memory.
fn peaks(machine: &Machine, items: &[&str]) -> Vec<(u32, PeakKind, String)> {
    let peaks = info_peaks(machine, &Declared::parse(items).unwrap(), &BTreeMap::new(), None);
    let memory = peaks.into_iter().filter(|peak| peak.area == "memory");
    memory.map(|peak| (peak.threads, peak.kind, peak.formula)).collect()
}

#[test]
fn every_form_is_read_as_it_is_meant() {
    for expected in MACHINES {
        let machine = found(expected.folder);
        let memory = &machine.memory;
        let name = expected.folder;
        assert_eq!(memory.channels_by_package, expected.channels, "{name}");
        assert_eq!(memory.channels.unwrap_or(0), expected.channels.iter().sum::<u32>(), "{name}");
        assert_eq!((memory.mts, memory.bus_bits), (expected.mts, expected.bus_bits), "{name}");
        assert_eq!(memory.slots.map(|slots| (slots, memory.dimms.len())), expected.slots, "{name}");
        let all = machine.cpu.cores.unwrap();
        let of_all = |items: &[&str]| -> Vec<(PeakKind, String)> {
            let peaks = peaks(&machine, items).into_iter().filter(|(threads, ..)| *threads == all);
            peaks.map(|(_, kind, formula)| (kind, formula)).collect()
        };
        let known: Vec<(PeakKind, String)> =
            expected.peaks.iter().map(|(kind, formula)| (*kind, (*formula).to_owned())).collect();
        assert_eq!(of_all(&[]), known, "{name}");
        let every = info_peaks(&machine, &Declared::parse(&["memory.fclk_hz=2e9"]).unwrap(), &BTreeMap::new(), None);
        for peak in every.iter().filter(|peak| peak.area == "memory") {
            assert!(!peak.inputs.is_empty() && peak.inputs.iter().all(|input| !input.source.is_empty()), "{peak:?}");
        }
        if let Some((items, formula)) = expected.declared {
            assert!(of_all(items).iter().any(|(_, found)| found == formula), "{name}: {:?}", of_all(items));
        }
    }
}

#[test]
fn what_is_not_known_has_its_reason_and_nothing_else_of_memory_is_missing() {
    /// Files that the made machines do not have, and of which nothing follows here.
    const ABSENT: [&str; 3] = ["memory.total_bytes", "memory.available_bytes", "memory.huge_pages.transparent"];
    for expected in MACHINES {
        let machine = found(expected.folder);
        let of_memory = machine.unknown.iter().filter(|unknown| unknown.fact.starts_with("memory."));
        let unknown: Vec<_> = of_memory.filter(|unknown| !ABSENT.contains(&unknown.fact.as_str())).collect();
        let facts: Vec<&str> = unknown.iter().map(|unknown| unknown.fact.as_str()).collect();
        let known: Vec<&str> = expected.unknown.iter().map(|(fact, _)| *fact).collect();
        assert_eq!(facts, known, "{}", expected.folder);
        for (unknown, (_, why)) in unknown.iter().zip(expected.unknown) {
            assert!(unknown.why.contains(why), "{}: {}", expected.folder, unknown.why);
            assert!(unknown.consequence.contains("--declare memory."), "{}", unknown.consequence);
        }
    }
}

#[test]
fn one_socket_is_held_against_its_own_channels() {
    let first: Vec<String> =
        peaks(&found(GENOA.folder), &[]).into_iter().filter(|(threads, ..)| *threads == 2).map(|(_, _, f)| f).collect();
    assert_eq!(first, ["10 of 20 channels (node 0) x 4800 MT/s x 8 B"]);
}

/// A copy of a made machine that may be changed.
fn copy(from: &str, name: &str) -> PathBuf {
    let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&to);
    copy_folder(&made(from), &to);
    to
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

const UDEV: &str = "run/udev/data/+dmi:id";

fn change(folder: &Path, file: &str, from: &str, to: &str) -> Machine {
    let text = fs::read_to_string(folder.join(file)).unwrap();
    assert!(text.contains(from), "{file} has no {from}");
    fs::write(folder.join(file), text.replace(from, to)).unwrap();
    discover(&Sysroot::folder(folder).unwrap())
}

#[test]
fn fewer_active_units_than_named_channels_are_a_doubt_and_the_smaller_count() {
    let folder = copy("made-intel-sapphire-rapids-2-modules-a-channel", "fewer-units");
    fs::remove_file(folder.join("sys/bus/event_source/devices/uncore_imc_7")).unwrap();
    let machine = discover(&Sysroot::folder(&folder).unwrap());
    assert_eq!((machine.memory.channels, machine.memory.bus_bits), (Some(7), Some(448)));
    let doubt = machine.unknown.iter().find(|unknown| unknown.fact == "memory.channels.agreement").unwrap();
    assert!(doubt.why.contains("uncore_imc_*: 7") && doubt.why.contains(": 8"), "{}", doubt.why);
    assert!(machine.sources["memory.channels"].contains("uncore_imc"));
}

#[test]
fn one_module_at_another_speed_makes_the_speed_unknown() {
    let folder = copy("made-intel-ice-lake-xeon-7-of-8-channels", "two-speeds");
    let one = "E:MEMORY_DEVICE_3_CONFIGURED_SPEED_MTS=2933";
    let machine = change(&folder, UDEV, one, "E:MEMORY_DEVICE_3_CONFIGURED_SPEED_MTS=2666");
    assert_eq!(machine.memory.mts, None);
    let why = &machine.unknown.iter().find(|unknown| unknown.fact == "memory.mts").unwrap().why;
    assert!(why.contains("different speeds: 2666, 2933 MT/s"), "{why}");
    assert_eq!(peaks(&machine, &[])[0].1, PeakKind::PlatformMaximum);
}

#[test]
fn numbered_slots_of_another_maker_are_ambiguous() {
    let folder = copy("made-intel-ice-lake-xeon-7-of-8-channels", "another-maker");
    let machine = change(&folder, "sys/class/dmi/id/sys_vendor", "Dell Inc.", "Another");
    assert_eq!((machine.memory.channels, machine.memory.bus_bits), (None, None));
    let why = &machine.unknown.iter().find(|unknown| unknown.fact == "memory.channels").unwrap().why;
    assert!(why.contains("ambiguous locators: 'A1'"), "{why}");
}

#[test]
fn soldered_pieces_need_no_names_for_their_width() {
    let folder = copy("made-intel-meteor-lake-laptop-lpddr5", "no-names");
    let machine = change(&folder, UDEV, "LOCATOR=Controller", "LOCATOR=Motherboard ");
    assert_eq!((machine.memory.channels, machine.memory.bus_bits), (None, Some(128)));
    assert_eq!(peaks(&machine, &[])[0].2, "128 bit / 8 x 6400 MT/s");
    assert!(!machine.unknown.iter().any(|unknown| unknown.fact == "memory.channels"), "nothing follows from it");
}

#[test]
fn xen_shows_its_guests_no_hypervisor_bit_and_is_no_bare_metal() {
    let folder = copy(GENOA.folder, "xen");
    fs::create_dir_all(folder.join("sys/hypervisor")).unwrap();
    fs::write(folder.join("sys/hypervisor/type"), "xen\n").unwrap();
    let machine = discover(&Sysroot::folder(&folder).unwrap());
    assert_eq!((machine.memory.channels, machine.memory.mts, machine.memory.slots), (None, None, None));
}

/// A structure of type 17 as SMBIOS 3.3 has it: size in MiB, speeds in MT/s.
fn device(locator: &str, bank: &str, mebibytes: u32, kind: u8, rated: u32, configured: u32) -> Vec<u8> {
    const LENGTH: u8 = 0x5c;
    let mut fields = vec![0; usize::from(LENGTH)];
    let mut put = |offset: usize, bytes: &[u8]| fields[offset..offset + bytes.len()].copy_from_slice(bytes);
    put(0, &[17, LENGTH]);
    put(0x08, &[80, 0, 64, 0]);
    put(0x0c, &u16::try_from(mebibytes).unwrap_or(0x7fff).to_le_bytes());
    put(0x10, &[1, 2, kind]);
    put(0x1c, &mebibytes.to_le_bytes());
    for (word, double, speed) in [(0x15, 0x54, rated), (0x20, 0x58, configured)] {
        let short = u16::try_from(speed).ok().filter(|speed| *speed != 0xffff);
        put(word, &short.unwrap_or(0xffff).to_le_bytes());
        put(double, &if short.is_none() { speed } else { 0 }.to_le_bytes());
    }
    [fields.as_slice(), locator.as_bytes(), &[0], bank.as_bytes(), &[0, 0]].concat()
}

/// A bare machine with this table of firmware's, and with what udev has.
fn with_table(name: &str, table: &[Vec<u8>], udev: Option<&str>) -> Machine {
    let folder = copy("made-desktop-without-configured-speed", name);
    fs::remove_file(folder.join(UDEV)).unwrap();
    if let Some(udev) = udev {
        fs::write(folder.join(UDEV), udev).unwrap();
    }
    let end = [127, 4, 0, 0, 0, 0];
    fs::create_dir_all(folder.join("sys/firmware/dmi/tables")).unwrap();
    fs::write(folder.join("sys/firmware/dmi/tables/DMI"), [table.concat(), end.to_vec()].concat()).unwrap();
    discover(&Sysroot::folder(&folder).unwrap())
}

#[test]
fn firmwares_table_is_read_where_udev_has_nothing() {
    const DDR5: u8 = 0x22;
    let table = [
        device("ChannelA-DIMM0", "BANK 0", 65536, DDR5, 5600, 5200),
        device("ChannelA-DIMM1", "BANK 1", 0, DDR5, 0, 0),
        device("ChannelB-DIMM0", "BANK 2", 65536, DDR5, 5600, 5200),
    ];
    let memory = with_table("table", &table, None).memory;
    assert_eq!((memory.channels, memory.mts), (Some(2), Some(5200.0)));
    assert_eq!((memory.bus_bits, memory.slots), (Some(128), Some(3)));
    assert_eq!(memory.dimms[0].bytes, Some(64 << 30));
    assert_eq!(memory.dimms[1].channel.as_deref(), Some("channel b"));
}

#[test]
fn a_speed_beyond_a_word_is_in_the_table_and_not_in_udev() {
    let table = [device("ChannelA-DIMM0", "BANK 0", 16384, 0x22, 70_400, 70_400)];
    let udev = "E:MEMORY_DEVICE_0_SIZE=17179869184\nE:MEMORY_DEVICE_0_LOCATOR=ChannelA-DIMM0\n\
                E:MEMORY_DEVICE_0_CONFIGURED_SPEED_MTS=65535\n";
    let machine = with_table("extended", &table, Some(udev));
    assert_eq!(machine.memory.mts, Some(70_400.0));
    assert_eq!(machine.sources["memory.mts"], "/sys/firmware/dmi/tables/DMI");
}
