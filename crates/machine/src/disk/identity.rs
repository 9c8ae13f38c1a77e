//! A drive's own full name and rotation speed: IDENTIFY DEVICE (ATA8-ACS 7.12) of the kernel's ports or page 89h
//! (SAT-3), for SCSI page B1h (SBC-3).

use crate::sysroot::Sysroot;

const WORDS: usize = 256;
const SERIAL_WORDS: std::ops::Range<usize> = 10..20;
/// Its name, two characters per word, the first in the upper byte.
const MODEL_WORDS: std::ops::Range<usize> = 27..47;
/// Its worldwide name, as identifying as a serial number.
const WORLDWIDE_NAME_WORDS: std::ops::Range<usize> = 108..112;
const ROTATION_WORD: usize = 217;
/// Where IDENTIFY DEVICE begins in page 89h, B.
const PAGE_89_IDENTIFY: usize = 60;
const PAGE_B1_ROTATION: std::ops::Range<usize> = 4..6;
const PORTS: &str = "sys/class/ata_device/";

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Identity {
    pub(crate) model: Option<String>,
    /// `None` if nothing rotates.
    pub(crate) rotations_per_minute: Option<u32>,
}

pub(crate) fn identity(root: &Sysroot, name: &str, path: Option<&str>) -> Identity {
    let page = |page: &str| root.bytes(&format!("sys/block/{name}/device/vpd_pg{page}"));
    let words = path.and_then(|path| of_port(root, path)).or_else(|| page("89").and_then(|page| of_page_89(&page)));
    let Some(words) = words else {
        let word = page("b1").and_then(|page| Some(u16::from_be_bytes(page.get(PAGE_B1_ROTATION)?.try_into().ok()?)));
        return Identity { model: None, rotations_per_minute: word.and_then(rotations) };
    };
    Identity { model: model(&words), rotations_per_minute: words.get(ROTATION_WORD).copied().and_then(rotations) }
}

/// The same encoding in all three sources: 1 is a drive without rotation, 0 is unknown.
fn rotations(word: u16) -> Option<u32> {
    (0x0401..=0xfffe).contains(&word).then_some(u32::from(word))
}

/// The kernel shows hexadecimal words, eight per line.
fn of_port(root: &Sysroot, path: &str) -> Option<Vec<u16>> {
    // `ata3` is a port, `ata_port` is not.
    let is_number = |rest: &&str| rest.starts_with(|first: char| first.is_ascii_digit());
    let numbers = |prefix: &str| path.split('/').find_map(|step| step.strip_prefix(prefix).filter(is_number));
    let port = numbers("ata")?;
    // Host, channel, number: behind a port multiplier the channel is the multiplier's port.
    let mut place = numbers("target")?.split(':').skip(1);
    let (channel, number) = (place.next()?, place.next()?);
    let behind = if channel == "0" { format!("{port}.{number}") } else { format!("{port}.{channel}.0") };
    let text = root.text(&format!("{PORTS}dev{behind}/id"))?;
    let words: Option<Vec<u16>> =
        text.split_ascii_whitespace().map(|word| u16::from_str_radix(word, 16).ok()).collect();
    words.filter(|words| words.len() == WORDS)
}

fn of_page_89(page: &[u8]) -> Option<Vec<u16>> {
    let identify = page.get(PAGE_89_IDENTIFY..PAGE_89_IDENTIFY + 2 * WORDS)?;
    Some(identify.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect())
}

fn model(words: &[u16]) -> Option<String> {
    let bytes: Vec<u8> = words.get(MODEL_WORDS)?.iter().flat_map(|word| word.to_be_bytes()).collect();
    let printable = bytes.iter().all(|byte| (b' '..=b'~').contains(byte));
    let text = String::from_utf8(bytes).ok().filter(|_| printable)?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// The file with its serial numbers blanked; `None` if it is not a file of this module.
pub(crate) fn without_serials(relative: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    let hidden = |index: &usize| SERIAL_WORDS.contains(index) || WORLDWIDE_NAME_WORDS.contains(index);
    if relative.starts_with(PORTS) {
        let text = String::from_utf8_lossy(bytes);
        let words = text.split_ascii_whitespace().enumerate();
        let words: Vec<&str> = words.map(|(index, word)| if hidden(&index) { "0000" } else { word }).collect();
        let lines: Vec<String> = words.chunks(8).map(|line| format!("{}\n", line.join(" "))).collect();
        return Some(lines.concat().into_bytes());
    }
    if !relative.ends_with("/vpd_pg89") {
        return None;
    }
    let blank = |(position, byte): (usize, &u8)| {
        let word = position.checked_sub(PAGE_89_IDENTIFY).map(|position| position / 2);
        if word.as_ref().is_some_and(hidden) { 0 } else { *byte }
    };
    Some(bytes.iter().enumerate().map(blank).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    fn identify(model: &str, rotation: u16) -> Vec<u16> {
        let mut words = vec![0; WORDS];
        let name = format!("{model:<40}").into_bytes();
        for (word, pair) in words[MODEL_WORDS].iter_mut().zip(name.chunks_exact(2)) {
            *word = u16::from_be_bytes([pair[0], pair[1]]);
        }
        words[SERIAL_WORDS].fill(0x5353);
        words[WORLDWIDE_NAME_WORDS].fill(0x5757);
        words[ROTATION_WORD] = rotation;
        words
    }

    fn shown(words: &[u16]) -> String {
        let word = |word: &u16| format!("{word:04x}");
        let lines: Vec<String> =
            words.chunks(8).map(|line| line.iter().map(word).collect::<Vec<_>>().join(" ")).collect();
        lines.join("\n")
    }

    fn page_89(words: &[u16]) -> Vec<u8> {
        let mut page = vec![0; PAGE_89_IDENTIFY];
        page.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        page
    }

    const PATH: &str = "sys/devices/pci0000:00/0000:00:17.0/ata3/host2/target2:0:1/2:0:1:0/block/sda";

    fn read(fixture: &Fixture) -> Identity {
        identity(&fixture.root(), "sda", Some(PATH))
    }

    #[test]
    fn a_drive_on_a_port_of_the_kernel_has_its_whole_name() {
        let words = identify("Samsung SSD 870 EVO 1TB", 1);
        let fixture = Fixture::new("identify").file("sys/class/ata_device/dev3.1/id", &shown(&words));
        let found = Identity { model: Some("Samsung SSD 870 EVO 1TB".into()), rotations_per_minute: None };
        assert_eq!(read(&fixture), found);
        let multiplied = Fixture::new("multiplied")
            .file("sys/class/ata_device/dev3.2.0/id", &shown(&identify("ST4000VN008-2DR166", 5980)));
        let path = PATH.replace("2:0:1", "2:2:0");
        let found = identity(&multiplied.root(), "sda", Some(&path));
        assert_eq!((found.model.as_deref(), found.rotations_per_minute), (Some("ST4000VN008-2DR166"), Some(5980)));
    }

    #[test]
    fn behind_a_controller_the_pages_are_read() {
        let page = page_89(&identify("WDC WD40EFRX-68N32N0", 5400));
        let fixture = Fixture::new("page-89").bytes("sys/block/sda/device/vpd_pg89", &page);
        let found = identity(&fixture.root(), "sda", Some("sys/devices/pci0000:00/host0/end_device-0:0"));
        assert_eq!((found.model.as_deref(), found.rotations_per_minute), (Some("WDC WD40EFRX-68N32N0"), Some(5400)));
        let scsi = Fixture::new("page-b1").bytes("sys/block/sda/device/vpd_pgb1", &[0, 0xb1, 0, 0x3c, 0x27, 0x10, 0]);
        assert_eq!(read(&scsi), Identity { model: None, rotations_per_minute: Some(10_000) });
    }

    #[test]
    fn a_silent_drive_is_unknown() {
        assert_eq!(read(&Fixture::new("silent")), Identity::default());
        let short = Fixture::new("short").file("sys/class/ata_device/dev3.1/id", "045a 3fff\n");
        assert_eq!(read(&short), Identity::default());
        assert_eq!([0, 1, 0x400, 0xffff].map(rotations), [None; 4]);
        let mut words = identify("", 7200);
        assert_eq!(model(&words), None);
        words[MODEL_WORDS].fill(0x0a0a);
        assert_eq!(model(&words), None, "no characters");
    }

    #[test]
    fn serial_numbers_are_not_passed_on() {
        let words = identify("A drive", 7200);
        let clean = without_serials("sys/class/ata_device/dev3.0/id", shown(&words).as_bytes()).unwrap();
        let clean = String::from_utf8(clean).unwrap();
        assert!(!clean.contains("5353") && !clean.contains("5757"), "{clean}");
        assert!(clean.contains("1c20"), "the rotations stay: {clean}");
        let page = without_serials("sys/block/sda/device/vpd_pg89", &page_89(&words)).unwrap();
        assert!(!page.contains(&0x53) && !page.contains(&0x57));
        assert_eq!(of_page_89(&page).and_then(|words| model(&words)).as_deref(), Some("A drive"));
        assert_eq!(without_serials("sys/block/sda/size", b"8"), None);
    }
}
