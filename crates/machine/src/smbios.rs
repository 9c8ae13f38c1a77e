//! Memory modules in firmware's own table, `/sys/firmware/dmi/tables/DMI`, which only the superuser may read.
//!
//! Structures of type 17 (SMBIOS specification, DSP0134, section 7.18). A hypervisor's table is fiction: do not ask it.

use model::machine::Dimm;

/// The table's path below a root.
pub(crate) const FILE: &str = "sys/firmware/dmi/tables/DMI";

const MEMORY_DEVICE: u8 = 17;
const END_OF_TABLE: u8 = 127;

/// One structure: its formatted part and its strings.
struct Structure<'t> {
    kind: u8,
    fields: &'t [u8],
    strings: &'t [u8],
}

/// The populated modules of a table. What is no table has none.
pub(crate) fn modules(table: &[u8]) -> Vec<Dimm> {
    structures(table).filter(|structure| structure.kind == MEMORY_DEVICE).filter_map(|device| device.module()).collect()
}

/// The modules of a table and nothing else, every string but their places overwritten: fit to be recorded and passed
/// on, since the rest of a table names the machine.
pub(crate) fn without_serials(table: &[u8]) -> Vec<u8> {
    let mut kept = Vec::new();
    for device in structures(table).filter(|structure| structure.kind == MEMORY_DEVICE) {
        let places = [0x10, 0x11].map(|offset| device.fields.get(offset).copied());
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
    /// The first structure and what follows it: a length in the second byte, then strings up to two NULs.
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

    /// A string by the number in a field; strings are numbered from 1.
    fn string(&self, offset: usize) -> Option<String> {
        let number = usize::from(*self.fields.get(offset)?).checked_sub(1)?;
        let bytes = self.strings.split(|byte| *byte == 0).nth(number)?;
        let text = String::from_utf8_lossy(bytes).trim().to_owned();
        (!text.is_empty()).then_some(text)
    }

    /// The module in this slot; `None` for an empty slot or one of unknown size.
    fn module(&self) -> Option<Dimm> {
        const UNKNOWN: u16 = 0xffff;
        let known = |word: Option<u16>| word.filter(|word| *word != 0 && *word != UNKNOWN);
        // 0xFFFF in the word of the configured speed: see the double word that came later.
        let speed = match self.word(0x20) {
            Some(UNKNOWN) => self.double(0x58).filter(|mts| *mts != 0),
            word => known(word).map(u32::from),
        };
        Some(Dimm {
            locator: self.string(0x10),
            bank: self.string(0x11),
            bytes: Some(self.bytes()?),
            kind: self.fields.get(0x12).and_then(|kind| technology(*kind)).map(str::to_owned),
            mts: speed.map(f64::from),
            data_bits: known(self.word(0x0a)).map(u32::from),
        })
    }

    /// Size, B: MiB, or KiB with the top bit set; 0x7FFF refers to a later double word in MiB.
    fn bytes(&self) -> Option<u64> {
        const IN_KIB: u16 = 0x8000;
        const SEE_LATER: u16 = 0x7fff;
        match self.word(0x0c)? {
            0 | 0xffff => None,
            SEE_LATER => Some(u64::from(self.double(0x1c)? & 0x7fff_ffff) << 20),
            size if size & IN_KIB != 0 => Some(u64::from(size & !IN_KIB) << 10),
            size => Some(u64::from(size) << 20),
        }
    }
}

/// Technologies in use since DDR3 (table 77 of the specification).
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

    /// A module of 16 GiB DDR5 in `P0 CHANNEL A`, at 4400 of 4800 MT/s.
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
            locator: Some("DIMM 0".into()),
            bank: Some("P0 CHANNEL A".into()),
            bytes: Some(16 << 30),
            kind: Some("DDR5".into()),
            mts: Some(4400.0),
            data_bits: Some(64),
        };
        assert_eq!(modules(&table), [expected], "what follows the end does not count");
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
        assert_eq!(modules(&kept), modules(&table));
        assert_eq!(modules(&kept).len(), 1);
        assert!(!String::from_utf8_lossy(&kept).contains("SERIAL"));
    }

    #[test]
    fn empty_slots_and_broken_tables_have_no_modules() {
        let mut empty = device();
        empty[0x0c..0x0e].copy_from_slice(&[0, 0]);
        assert!(modules(&empty).is_empty());
        let whole = device();
        for length in 0..whole.len() {
            assert!(modules(&whole[..length]).is_empty(), "{length} bytes");
        }
        assert!(modules(&[0; 64]).is_empty());
        assert!(modules(&[17, 255, 0, 0]).is_empty());
    }
}
