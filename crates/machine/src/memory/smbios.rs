//! Memory modules in firmware's table, readable by root: type 17 (SMBIOS specification, DSP0134, section 7.18), and the
//! processor's name, type 4.

use model::machine::Dimm;

pub(crate) const FILE: &str = "sys/firmware/dmi/tables/DMI";

const PROCESSOR: u8 = 4;
const MEMORY_DEVICE: u8 = 17;
const END_OF_TABLE: u8 = 127;
/// A word that is unknown or in an extended field.
const UNKNOWN: u16 = 0xffff;

struct Structure<'t> {
    kind: u8,
    fields: &'t [u8],
    strings: &'t [u8],
}

/// The slots of a table; empty ones have no size.
pub(crate) fn slots(table: &[u8]) -> Vec<Dimm> {
    structures(table).filter(|structure| structure.kind == MEMORY_DEVICE).filter_map(|device| device.slot()).collect()
}

/// The name of the first processor, its version (section 7.5).
pub(crate) fn processor(table: &[u8]) -> Option<String> {
    let name = structures(table).find(|structure| structure.kind == PROCESSOR)?.string(0x10)?;
    let is_filled_in = !["Not Specified", "Unknown", "CPU Version", "None"].contains(&name.as_str());
    is_filled_in.then_some(name)
}

/// Only modules and processors, with all strings but places and names overwritten: the rest identifies the machine.
pub(crate) fn without_serials(table: &[u8]) -> Vec<u8> {
    let mut kept = Vec::new();
    for device in structures(table).filter(|structure| [PROCESSOR, MEMORY_DEVICE].contains(&structure.kind)) {
        let offsets: &[usize] = if device.kind == PROCESSOR { &[0x10] } else { &[0x10, 0x11] };
        let places: Vec<_> = offsets.iter().map(|offset| device.fields.get(*offset).copied()).collect();
        kept.extend(device.fields);
        for (number, string) in (1_u8..).zip(device.strings.split(|byte| *byte == 0)) {
            let is_place = places.contains(&Some(number));
            kept.extend(string.iter().map(|byte| if is_place { *byte } else { b'-' }));
            kept.push(0);
        }
        kept.push(0);
    }
    kept
}

fn structures(table: &[u8]) -> impl Iterator<Item = Structure<'_>> {
    let mut rest = table;
    std::iter::from_fn(move || {
        let (structure, after) = Structure::split(rest)?;
        rest = after;
        (structure.kind != END_OF_TABLE).then_some(structure)
    })
}

impl<'t> Structure<'t> {
    /// The first structure and the rest: a length in the second byte, then strings up to two NULs.
    fn split(table: &'t [u8]) -> Option<(Self, &'t [u8])> {
        const HEADER: usize = 4;
        let length = usize::from(*table.get(1)?);
        let fields = table.get(..length).filter(|fields| fields.len() >= HEADER)?;
        let strings = &table[length..];
        let end = strings.windows(2).position(|pair| pair == [0, 0])?;
        Some((Self { kind: fields[0], fields, strings: &strings[..end] }, &strings[end + 2..]))
    }

    fn word(&self, offset: usize) -> Option<u16> {
        Some(u16::from_le_bytes(self.fields.get(offset..offset + 2)?.try_into().ok()?))
    }

    fn double(&self, offset: usize) -> Option<u32> {
        Some(u32::from_le_bytes(self.fields.get(offset..offset + 4)?.try_into().ok()?))
    }

    /// Strings are numbered from 1.
    fn string(&self, offset: usize) -> Option<String> {
        let number = usize::from(*self.fields.get(offset)?).checked_sub(1)?;
        let bytes = self.strings.split(|byte| *byte == 0).nth(number)?;
        let text = String::from_utf8_lossy(bytes).trim().to_owned();
        (!text.is_empty()).then_some(text)
    }

    /// `None` for persistent memory and firmware ROMs.
    fn slot(&self) -> Option<Dimm> {
        /// Section 7.18.6: `NVDIMM-F`, `NVDIMM-P` and Optane.
        const PERSISTENT: [u8; 3] = [0x05, 0x06, 0x07];
        let kind = self.fields.get(0x12).copied().unwrap_or(0);
        // ROM, flash, and persistent memory as storage.
        let is_no_memory = matches!(kind, 0x08..=0x0c | 0x1f);
        if is_no_memory || self.fields.get(0x28).is_some_and(|technology| PERSISTENT.contains(technology)) {
            return None;
        }
        Some(Dimm {
            locator: self.string(0x10),
            bank: self.string(0x11),
            bytes: self.bytes(),
            size_unknown: self.word(0x0c) == Some(UNKNOWN),
            kind: technology(kind).map(str::to_owned),
            mts: self.speed(0x20, 0x58),
            rated_mts: self.speed(0x15, 0x54),
            data_bits: self.word(0x0a).filter(|width| *width != 0 && *width != UNKNOWN).map(u32::from),
            channel: None,
        })
    }

    /// A speed, MT/s: 0 is unknown, 0xFFFF means the extended field (SMBIOS 3.3).
    fn speed(&self, word: usize, double: usize) -> Option<f64> {
        let speed = match self.word(word)? {
            UNKNOWN => self.double(double)?,
            speed => u32::from(speed),
        };
        // The top bit of the double word is reserved.
        (speed != 0 && speed >> 31 == 0).then(|| f64::from(speed))
    }

    /// Size, B: MiB, or KiB with the top bit set; 0x7FFF means the extended field in MiB.
    fn bytes(&self) -> Option<u64> {
        const IN_KIB: u16 = 0x8000;
        const SEE_LATER: u16 = 0x7fff;
        match self.word(0x0c)? {
            0 | UNKNOWN => None,
            SEE_LATER => Some(u64::from(self.double(0x1c)? & 0x7fff_ffff) << 20).filter(|bytes| *bytes > 0),
            size if size & IN_KIB != 0 => Some(u64::from(size & !IN_KIB) << 10).filter(|bytes| *bytes > 0),
            size => Some(u64::from(size) << 20),
        }
    }
}

/// Technologies since DDR3 (table 77 of the specification).
fn technology(kind: u8) -> Option<&'static str> {
    Some(match kind {
        0x18 => "DDR3",
        0x1a => "DDR4",
        0x1b => "LPDDR",
        0x1d => "LPDDR3",
        0x1e => "LPDDR4",
        0x20 => "HBM",
        0x21 => "HBM2",
        0x22 => "DDR5",
        0x23 => "LPDDR5",
        0x24 => "HBM3",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 16 GiB DDR5 in `P0 CHANNEL A`, at 4400 of 4800 MT/s.
    fn device() -> Vec<u8> {
        let mut fields = vec![0; 0x22];
        fields[0] = MEMORY_DEVICE;
        fields[1] = 0x22;
        fields[0x08..0x0a].copy_from_slice(&80_u16.to_le_bytes());
        fields[0x0a..0x0c].copy_from_slice(&64_u16.to_le_bytes());
        fields[0x0c..0x0e].copy_from_slice(&16384_u16.to_le_bytes());
        (fields[0x10], fields[0x11], fields[0x12]) = (1, 2, 0x22);
        fields[0x15..0x17].copy_from_slice(&4800_u16.to_le_bytes());
        fields[0x20..0x22].copy_from_slice(&4400_u16.to_le_bytes());
        fields.extend(b"DIMM 0\0P0 CHANNEL A\0\0");
        fields
    }

    #[test]
    fn a_module_has_its_configured_speed_and_its_data_width() {
        let mut table = device();
        table.extend([END_OF_TABLE, 4, 0, 0, 0, 0]);
        table.extend(device());
        let expected = Dimm {
            size_unknown: false,
            locator: Some("DIMM 0".into()),
            bank: Some("P0 CHANNEL A".into()),
            bytes: Some(16 << 30),
            kind: Some("DDR5".into()),
            mts: Some(4400.0),
            rated_mts: Some(4800.0),
            data_bits: Some(64),
            channel: None,
        };
        assert_eq!(slots(&table), [expected], "what follows the end does not count");
    }

    #[test]
    fn a_recorded_table_keeps_the_modules_and_no_serials() {
        let mut table = vec![1, 4, 0, 0];
        table.extend(b"SERIAL\0\0");
        let mut device = device();
        device.truncate(device.len() - 1);
        device.extend(b"SERIAL\0\0");
        device[0x18] = 3;
        table.extend(&device);
        let kept = without_serials(&table);
        assert_eq!(slots(&kept), slots(&table));
        assert_eq!(slots(&kept).len(), 1);
        assert!(!String::from_utf8_lossy(&kept).contains("SERIAL"));
    }

    #[test]
    fn a_processor_has_its_name_also_in_a_recorded_table() {
        let named = |name: &str| {
            let mut table = vec![0; 0x1a];
            (table[0], table[1], table[0x07], table[0x10]) = (PROCESSOR, 0x1a, 2, 1);
            table.extend(format!("{name}\0Ampere\0\0").bytes());
            table
        };
        let name = "Ampere(R) Altra(R) Max Processor";
        let kept = without_serials(&named(name));
        assert_eq!([processor(&named(name)), processor(&kept)], [Some(name.to_owned()), Some(name.to_owned())]);
        assert!(!String::from_utf8_lossy(&kept).contains("Ampere\0"));
        assert_eq!((processor(&named("Not Specified")), processor(&device())), (None, None));
    }

    #[test]
    fn empty_slots_and_broken_tables_have_no_modules() {
        let mut empty = device();
        empty[0x0c..0x0e].copy_from_slice(&[0, 0]);
        assert_eq!(slots(&empty).iter().map(|slot| slot.bytes).collect::<Vec<_>>(), [None]);
        let whole = device();
        for length in 0..whole.len() {
            assert!(slots(&whole[..length]).is_empty(), "{length} bytes");
        }
        assert!(slots(&[0; 64]).is_empty());
        assert!(slots(&[17, 255, 0, 0]).is_empty());
    }
    fn changed(changes: &[(usize, &[u8])]) -> Vec<u8> {
        let short = device();
        let mut fields = short[..0x22].to_vec();
        fields.resize(0x5c, 0);
        fields[1] = 0x5c;
        for (offset, bytes) in changes {
            fields[*offset..offset + bytes.len()].copy_from_slice(bytes);
        }
        fields.extend(&short[0x22..]);
        fields
    }

    #[test]
    fn speeds_beyond_a_word_stand_in_the_extended_fields() {
        let speeds = |changes: &[(usize, &[u8])]| {
            let slot = slots(&changed(changes)).remove(0);
            (slot.rated_mts, slot.mts)
        };
        assert_eq!(speeds(&[]), (Some(4800.0), Some(4400.0)));
        let far = 70_400_u32.to_le_bytes();
        let beyond = [(0x15, &[0xff_u8, 0xff][..]), (0x20, &[0xff, 0xff]), (0x54, &far), (0x58, &far)];
        assert_eq!(speeds(&beyond), (Some(70_400.0), Some(70_400.0)));
        assert_eq!(speeds(&beyond[..2]), (None, None), "0 in the extended fields");
        assert_eq!(speeds(&[(0x20, &[0, 0])]), (Some(4800.0), None), "not known");
        let reserved = [(0x20, &[0xff_u8, 0xff][..]), (0x58, &[0xff; 4])];
        assert_eq!(speeds(&reserved), (Some(4800.0), None), "the top bit is reserved");
        let mut old = device();
        old[0x20..0x22].copy_from_slice(&[0xff, 0xff]);
        assert_eq!(slots(&old)[0].mts, None, "a structure too short for the extended field");
    }

    #[test]
    fn a_large_module_has_its_size_in_the_extended_field() {
        let large = [(0x0c, &[0xff_u8, 0x7f][..]), (0x1c, &(128_u32 << 10).to_le_bytes())];
        assert_eq!(slots(&changed(&large))[0].bytes, Some(128 << 30));
        assert_eq!(slots(&changed(&large[..1]))[0].bytes, None);
        assert_eq!(slots(&changed(&[(0x0c, &[0xff, 0xff])]))[0].bytes, None);
        assert_eq!(slots(&changed(&[(0x0c, &[0, 0x84])]))[0].bytes, Some(1 << 20), "in KiB");
    }

    #[test]
    fn persistent_memory_and_the_firmwares_rom_are_no_main_memory() {
        assert!(slots(&changed(&[(0x28, &[7])])).is_empty(), "Optane");
        assert!(slots(&changed(&[(0x12, &[0x1f])])).is_empty());
        assert!(slots(&changed(&[(0x12, &[0x09])])).is_empty(), "flash");
        assert_eq!(slots(&changed(&[(0x28, &[4])])).len(), 1, "NVDIMM-N is DRAM");
    }
}
