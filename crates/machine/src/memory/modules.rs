//! The memory modules of a bare machine, from udev's copy of firmware's table or, for root, SMBIOS. The configured
//! speed counts, and the width without ECC: 64 bit per DDR channel, for LPDDR and HBM the sum of the chips.

use std::collections::{BTreeMap, BTreeSet};

use model::machine::{Cpu, Dimm, Memory};

use crate::ledger::Ledger;
use crate::memory::channels;
use crate::memory::platforms::{self, Limits};
use crate::memory::smbios;
use crate::sysroot::{Sysroot, label};

/// udev's copy of firmware's memory table, readable without privileges (systemd 248 and later).
pub(crate) const UDEV_DMI: &str = "run/udev/data/+dmi:id";

/// Data width of a DDR3, DDR4 or DDR5 channel, bit (JEDEC): one 64-bit bus, or DDR5's two of 32.
pub(crate) const CHANNEL_BITS: u32 = 64;

pub(crate) fn discover(root: &Sysroot, cpu: &Cpu, limits: Option<Limits>, memory: &mut Memory, ledger: &mut Ledger) {
    let (slots, file) = slots(root);
    if let Some(fixed) = platforms::soldered(cpu).filter(|_| slots.is_empty()) {
        let source = format!("table: soldered ({})", fixed.source);
        memory.channels = ledger.take("memory.channels", Some((fixed.channels, source)));
        (memory.mts, memory.bus_bits) = (Some(fixed.mts), Some(fixed.channels * fixed.channel_bits));
        ledger.same("memory.channels", &["memory.mts", "memory.bus_bits"]);
        return;
    }
    memory.dimms = slots.iter().filter(|slot| slot.is_fitted()).cloned().collect();
    if !slots.is_empty() {
        memory.slots = u32::try_from(slots.len()).ok();
        ledger.source("memory.slots", label(file));
    }
    let found = channels::count(root, cpu, limits, &slots, file);
    for (dimm, channel) in memory.dimms.iter_mut().zip(found.of_modules) {
        dimm.channel = Some(channel);
    }
    if !memory.dimms.is_empty() {
        ledger.source("memory.dimms", label(file));
    }
    let (speed, no_speed) = either(agreed(&memory.dimms));
    memory.mts = ledger.take("memory.mts", speed.map(|mts| (mts, label(file))));
    memory.channels = ledger.take("memory.channels", found.count);
    if memory.channels.is_some() && !found.by_package.is_empty() {
        memory.channels_by_package = found.by_package;
        ledger.same("memory.channels", &["memory.channels_by_package"]);
    }
    if let Some(differ) = found.doubt {
        let why = format!("the sources disagree ({differ})");
        let consequence = "the smallest count is used; `--declare memory.channels=…` settles it";
        ledger.missing("memory.channels.agreement", why, consequence);
    }
    let (bits, no_width) = either(width(&memory.dimms, memory.channels));
    memory.bus_bits = ledger.take("memory.bus_bits", bits);
    // Channels are not needed if the width is known.
    let no_channels = found.unknown.filter(|_| memory.bus_bits.is_none());
    for (fact, why, declare) in [
        ("memory.channels", no_channels, "memory.channels=… memory.mts=…"),
        ("memory.mts", no_speed, "memory.channels=… memory.mts=…"),
        ("memory.bus_bits", no_width.flatten(), "memory.channels=… memory.width=…"),
    ] {
        if let Some(why) = why {
            ledger.missing(fact, why, format!("no memory peak; `--declare {declare}` gives one"));
        }
    }
}

fn either<T, E>(result: Result<T, E>) -> (Option<T>, Option<E>) {
    match result {
        Ok(value) => (Some(value), None),
        Err(error) => (None, Some(error)),
    }
}

/// The slots from udev, else from firmware's table, with the file; that table first if only it has a speed.
fn slots(root: &Sysroot) -> (Vec<Dimm>, &'static str) {
    let fitted = |slots: &Vec<Dimm>| slots.iter().any(Dimm::is_fitted);
    let udev = root.text(UDEV_DMI).map(|text| udev_slots(&text)).filter(fitted);
    let table = root.bytes(smbios::FILE).map(|table| smbios::slots(&table)).filter(fitted);
    match (udev, table) {
        (Some(udev), Some(table)) if agreed(&udev).is_err() && agreed(&table).is_ok() => (table, smbios::FILE),
        (Some(udev), _) => (udev, UDEV_DMI),
        (None, Some(table)) => (table, smbios::FILE),
        (None, None) => (Vec::new(), UDEV_DMI),
    }
}

/// The common speed of all modules; an error if they differ, because the controller's choice is unknown.
fn agreed(slots: &[Dimm]) -> Result<f64, String> {
    let dimms: Vec<&Dimm> = slots.iter().filter(|slot| slot.is_fitted()).collect();
    let Some(first) = dimms.first() else {
        return Err("neither udev nor the firmware table shows a module to this user".to_owned());
    };
    let speeds: BTreeSet<String> = dimms.iter().map(|dimm| shown(dimm.mts)).collect();
    match first.mts {
        Some(mts) if speeds.len() == 1 => Ok(mts),
        None if speeds.len() == 1 => Err(match first.rated_mts {
            Some(rated) => format!("modules report their rated speed ({rated} MT/s) but not the configured speed"),
            None => "modules do not report their speed".to_owned(),
        }),
        _ => Err(format!("modules run at different speeds: {} MT/s", Vec::from_iter(speeds).join(", "))),
    }
}

fn shown(mts: Option<f64>) -> String {
    mts.map_or_else(|| "unknown".to_owned(), |mts| mts.to_string())
}

/// Whether a module is a chip with its own bus, whose width adds to the others'; `None` for unknown technologies.
fn is_piece(dimm: &Dimm) -> Option<bool> {
    match dimm.kind.as_deref()? {
        kind if kind.starts_with("LPDDR") || kind.starts_with("HBM") => Some(true),
        "DDR3" | "DDR4" | "DDR5" => Some(false),
        _ => None,
    }
}

/// Data width of all channels, bit, with its source. An error of `None`: only the channels are unknown.
fn width(dimms: &[Dimm], channels: Option<u32>) -> Result<(u32, String), Option<String>> {
    let pieces: BTreeSet<Option<bool>> = dimms.iter().map(is_piece).collect();
    if pieces.len() > 1 {
        let kinds: BTreeSet<&str> = dimms.iter().map(|dimm| dimm.kind.as_deref().unwrap_or("unknown")).collect();
        return Err(Some(format!("memory of different kinds is fitted: {}", Vec::from_iter(kinds).join(", "))));
    }
    let widths: BTreeSet<Option<u32>> = dimms.iter().map(|dimm| dimm.data_bits).collect();
    if pieces.contains(&Some(true)) {
        let sum = dimms.iter().map(|dimm| dimm.data_bits).try_fold(0_u32, |sum, bits| sum.checked_add(bits?));
        let why = || Some("not every chip of the soldered memory reports its width".to_owned());
        return sum.map(|sum| (sum, "sum of the data widths of all chips".to_owned())).ok_or_else(why);
    }
    let is_module = pieces.contains(&Some(false));
    match widths.first() {
        None => {}
        Some(None) if widths.len() == 1 && is_module => {}
        Some(Some(CHANNEL_BITS)) if widths.len() == 1 => {}
        _ => {
            let widths: Vec<String> =
                widths.iter().map(|bits| bits.map_or_else(|| "unknown".to_owned(), |bits| bits.to_string())).collect();
            return Err(Some(format!("modules have a data width of {} bit, not {CHANNEL_BITS}", widths.join(", "))));
        }
    }
    let bits = channels.and_then(|channels| channels.checked_mul(CHANNEL_BITS)).ok_or(None)?;
    Ok((bits, format!("channels x {CHANNEL_BITS} data bits, without ECC")))
}

/// All slots in udev's database, `E:MEMORY_DEVICE_0_SIZE=17179869184`, without persistent memory and ROMs.
fn udev_slots(text: &str) -> Vec<Dimm> {
    let mut slots: BTreeMap<u16, BTreeMap<&str, &str>> = BTreeMap::new();
    for line in text.lines() {
        let Some((key, value)) = line.strip_prefix("E:MEMORY_DEVICE_").and_then(|rest| rest.split_once('=')) else {
            continue;
        };
        if let Some((Ok(slot), field)) = key.split_once('_').map(|(slot, field)| (slot.parse(), field)) {
            slots.entry(slot).or_default().insert(field, value.trim());
        }
    }
    slots.values().filter_map(udev_slot).collect()
}

fn udev_slot(fields: &BTreeMap<&str, &str>) -> Option<Dimm> {
    /// Older versions of systemd print this for an extended field.
    const ELSEWHERE: f64 = 65535.0;
    let text = |key: &str| fields.get(key).copied();
    let is_rom =
        text("TYPE").is_some_and(|kind| kind.contains("ROM") || kind == "Flash" || kind.contains("non-volatile"));
    let persistent = ["NVDIMM-F", "NVDIMM-P", "persistent"];
    let is_persistent =
        text("MEMORY_TECHNOLOGY").is_some_and(|technology| persistent.iter().any(|one| technology.contains(one)));
    if is_rom || is_persistent {
        return None;
    }
    let place = |key: &str| text(key).filter(|place| *place != "Not Specified" && !place.is_empty()).map(str::to_owned);
    let speed = |key: &str| {
        let mts = text(key)?.parse::<f64>().ok()?;
        (mts.is_finite() && mts > 0.0 && (mts - ELSEWHERE).abs() > 0.5).then_some(mts)
    };
    Some(Dimm {
        locator: place("LOCATOR"),
        bank: place("BANK_LOCATOR"),
        bytes: text("SIZE").and_then(|bytes| bytes.parse().ok()).filter(|bytes| *bytes > 0),
        // An empty slot has `PRESENT=0` and no speed.
        size_unknown: text("SIZE").is_none()
            && text("PRESENT").is_none_or(|present| present != "0")
            && speed("CONFIGURED_SPEED_MTS").is_some(),
        // `<OUT OF SPEC>` before version 255, also for DDR5.
        kind: text("TYPE").filter(|kind| !kind.starts_with('<') && *kind != "Unknown").map(str::to_owned),
        mts: speed("CONFIGURED_SPEED_MTS"),
        rated_mts: speed("SPEED_MTS"),
        data_bits: text("DATA_WIDTH").and_then(|bits| bits.parse().ok()).filter(|bits| (1..0xffff).contains(bits)),
        channel: None,
    })
}

/// udev's lines about memory modules, without serial numbers.
pub(crate) fn without_serials(text: &str) -> String {
    let kept = |line: &&str| {
        line.starts_with("E:MEMORY_") && !["_SERIAL_NUMBER=", "_ASSET_TAG="].iter().any(|name| line.contains(name))
    };
    text.split_inclusive('\n').filter(kept).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dimm(kind: &str, mts: Option<f64>, data_bits: Option<u32>) -> Dimm {
        Dimm { kind: (!kind.is_empty()).then(|| kind.to_owned()), mts, data_bits, bytes: Some(1), ..Dimm::default() }
    }

    #[test]
    fn slots_have_a_size_if_filled_and_run_at_their_configured_speed() {
        let text = "E:MEMORY_DEVICE_0_SIZE=17179869184\nE:MEMORY_DEVICE_0_BANK_LOCATOR=P0_Node0_Channel0_Dimm0\n\
                    E:MEMORY_DEVICE_0_SPEED_MTS=2667\nE:MEMORY_DEVICE_0_CONFIGURED_SPEED_MTS=2400\n\
                    E:MEMORY_DEVICE_0_TYPE=<OUT OF SPEC>\nE:MEMORY_DEVICE_1_PRESENT=0\n\
                    E:MEMORY_DEVICE_2_SIZE=17179869184\nE:MEMORY_DEVICE_2_CONFIGURED_SPEED_MTS=65535\n\
                    E:MEMORY_DEVICE_2_LOCATOR=Not Specified\nE:MEMORY_DEVICE_99999999_SIZE=1\nE:MEMORY_DEVICE_x=1";
        let slots = udev_slots(text);
        let sizes: Vec<bool> = slots.iter().map(Dimm::is_fitted).collect();
        assert_eq!(sizes, [true, false, true]);
        assert_eq!((slots[0].mts, slots[0].rated_mts, slots[0].kind.as_deref()), (Some(2400.0), Some(2667.0), None));
        assert_eq!((slots[2].mts, slots[2].locator.as_deref()), (None, None));
    }

    #[test]
    fn persistent_memory_and_roms_are_no_main_memory() {
        for line in ["0_TYPE=Flash", "0_TYPE=EEPROM", "0_MEMORY_TECHNOLOGY=Intel Optane DC persistent memory"] {
            let text = format!("E:MEMORY_DEVICE_0_SIZE=1073741824\nE:MEMORY_DEVICE_{line}\n");
            assert!(udev_slots(&text).is_empty(), "{line}");
        }
        let text = "E:MEMORY_DEVICE_0_SIZE=1073741824\nE:MEMORY_DEVICE_0_MEMORY_TECHNOLOGY=DRAM\n";
        assert_eq!(udev_slots(text).len(), 1);
    }

    #[test]
    fn one_speed_or_none_and_why() {
        let at = |mts| dimm("DDR5", mts, Some(64));
        assert_eq!(agreed(&[at(Some(4800.0)), at(Some(4800.0))]), Ok(4800.0));
        let why = agreed(&[at(Some(4800.0)), at(Some(4400.0)), at(None)]).unwrap_err();
        assert_eq!(why, "modules run at different speeds: 4400, 4800, unknown MT/s");
        let rated = Dimm { rated_mts: Some(5600.0), ..at(None) };
        assert!(agreed(&[rated]).unwrap_err().contains("rated speed (5600 MT/s)"));
        assert!(agreed(&[]).is_err());
    }

    #[test]
    fn channels_are_64_bits_wide_and_pieces_as_wide_as_they_say() {
        let of = |dimms: &[Dimm], channels| width(dimms, channels).map(|(bits, _)| bits);
        assert_eq!(of(&vec![dimm("DDR5", None, Some(64)); 12], Some(10)), Ok(640), "a DDR5 module is not doubled");
        assert_eq!(of(&[dimm("DDR4", None, None)], Some(1)), Ok(64));
        assert_eq!(of(&[dimm("", None, Some(64))], Some(1)), Ok(64), "a kind that udev did not know");
        assert_eq!(of(&[], Some(8)), Ok(512), "a driver's count");
        assert_eq!(of(&vec![dimm("LPDDR5", None, Some(16)); 8], None), Ok(128));
        assert_eq!(of(&vec![dimm("HBM2", None, Some(1024)); 4], Some(1)), Ok(4096));
        assert_eq!(of(&[dimm("DDR4", None, Some(64))], None), Err(None), "channels are unknown");
        let why = |dimms: &[Dimm]| of(dimms, Some(1)).unwrap_err().unwrap();
        assert!(why(&[dimm("DDR5", None, Some(32))]).contains("32 bit"));
        assert!(why(&[dimm("", None, None)]).contains("unknown"));
        assert!(why(&[dimm("LPDDR5", None, None)]).contains("soldered"));
        assert!(why(&[dimm("DDR5", None, Some(64)), dimm("HBM2", None, Some(1024))]).contains("DDR5, HBM2"));
        let wide = vec![dimm("LPDDR5", None, Some(u32::MAX)); 2];
        assert!(of(&wide, None).is_err(), "no overflow");
    }
}
