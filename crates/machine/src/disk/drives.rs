//! Drives and their data sheets: a static table by name and capacity. Rows without a document make no peak.
//! Left out, because drives exceed them: random writes stated for a drive that was filled repeatedly; writes at
//! depth 1 (970 EVO Plus: 60,000, kitguru.net measured 163,140); typical latencies (P4800X: 10 us, measured 8.9 us).

use model::machine::{Disk, DriveSheet};

#[derive(Debug)]
pub(crate) struct Drive {
    /// Names without the maker. The name of a disk may add a suffix after a hyphen, and the capacity.
    models: &'static [&'static str],
    gigabytes: &'static [u32],
    pub(crate) bytes_per_second: Option<Ways>,
    pub(crate) requests_per_second: Option<Requests>,
    pub(crate) spindle: Option<Spindle>,
    source: Source,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ways {
    pub(crate) read: f64,
    pub(crate) write: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Requests {
    pub(crate) read: f64,
    /// `None` if the sheet's value does not limit a fresh file.
    pub(crate) write: Option<f64>,
    /// Reads at queue depth 1, if the sheet gives a maximum.
    pub(crate) single_read: Option<f64>,
    pub(crate) stated_for: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spindle {
    pub(crate) rotations_per_minute: u32,
    pub(crate) seek_seconds: Option<Ways>,
}

/// The document that the values were compared with, and its year; `None` if they are from memory.
type Source = Option<&'static str>;

/// The block size of data sheets' random requests, B.
pub(crate) const RANDOM_BLOCK: u64 = 4096;

const UNCHECKED: Source = None;

const fn solid(
    models: &'static [&'static str],
    gigabytes: &'static [u32],
    (read, write): (f64, f64),
    requests: Requests,
    source: Source,
) -> Drive {
    let bytes_per_second = Some(Ways { read: read * 1e6, write: write * 1e6 });
    Drive { models, gigabytes, bytes_per_second, requests_per_second: Some(requests), spindle: None, source }
}

/// `single_read` is 0 if the sheet does not give it.
const fn requests(read: f64, write: f64, single_read: f64, stated_for: &'static str) -> Requests {
    let single_read = if single_read > 0.0 { Some(single_read) } else { None };
    Requests { read, write: Some(write), single_read, stated_for }
}

/// For a drive whose writes are stated for one that was filled repeatedly.
const fn reads(read: f64, stated_for: &'static str) -> Requests {
    Requests { read, write: None, single_read: None, stated_for }
}

const fn turning(
    models: &'static [&'static str],
    gigabytes: &'static [u32],
    rotations_per_minute: u32,
    outermost: f64,
    source: Source,
) -> Drive {
    let rate = outermost * 1e6;
    let spindle = Some(Spindle { rotations_per_minute, seek_seconds: None });
    let bytes_per_second = Some(Ways { read: rate, write: rate });
    Drive { models, gigabytes, bytes_per_second, requests_per_second: None, spindle, source }
}

const Q32T1: &str = "depth 32";
const Q32T4: &str = "depth 32, 4 threads";
const Q32T16: &str = "depth 32, 16 threads";
const Q16: &str = "depth 16";
const UNSTATED: &str = "a depth that is not stated";

const EVO_PLUS: Source = Some("digit.in, review of the 970 EVO Plus, 2019");
const EVO_PLUS_2TB: Source = Some("cdrinfo.com, Samsung's announcement of the 970 EVO Plus, 2019");
const EVO_970: Source = Some("https://techgage.com/news/samsung-reveals-the-970-pro-970-evo-generation-m-2-ssds/");
const PRO_980: Source = Some("legitreviews.com and reviewcentralme.com, Samsung's values for the 980 PRO, 2020");
const PRO_980_2TB: Source =
    Some("https://www.pugetsystems.com/parts/Hard-Drive/Samsung-980-Pro-2TB-Gen4-M-2-SSD-13831/");
const PRO_990_1TB: Source =
    Some("https://www.syspartsdirect.com/en/product-detail/Samsung-MZ-V9P1T0BW-990-PRO-1TB-NVMe-SSD-1655.html");
const PRO_990: Source = Some("digitec.ch, Samsung's values for the 990 PRO 2TB (MZ-V9P2T0BW)");
const SN850X: Source = Some("https://pcspecchart.com/pc_parts/ssdnvme/107");
const SN850X_2TB: Source = Some(
    "https://www.newsdirectory3.com/nvme1-4-pcie4-0x4-wd-black-sn850x-2tb-with-the-fastest-sequential-read-and-write-speed-reviews-8/",
);
const EVO_870: Source = Some("cdrlabs.com, review of the 870 EVO 1TB, 2021");
const T700: Source =
    Some("https://www.tomshardware.com/features/crucial-t700-ssd-preview-fastest-consumer-ssd-hits-124-gbs");
const EVO_870_ALL: Source = Some("https://www.tomshardware.com/uk/news/samsung-announces-870-evo");
const QVO_870: Source = Some("http://www.cdrlabs.com/reviews/samsung-870-qvo-1tb-solid-state-drive/print.html");
const EVO_860: Source = Some("https://techplayboy.com/48896/samsung-ssd-860-evo-solid-state-drive-review/");
const MX500: Source = Some("https://www.techpowerup.com/ssd-specs/crucial-mx500-1-tb.d941");
const P4500: Source = Some("Lenovo's product guide of the P4500, table 2");
const P4800X: Source = Some("AnandTech 11930, the P4800X 750GB, 2017");
const CONSTELLATION: Source = Some("Seagate's manual of Constellation ES.3 SAS, rev. B, sections 4.1 and 4.1.2");
const ULTRASTAR: Source = Some("HGST's specification of Ultrastar 7K4000 SAS, table 6");

const DRIVES: &[Drive] = &[
    solid(&["SSD 970 EVO PLUS"], &[250], (3500.0, 2300.0), requests(250e3, 550e3, 17e3, Q32T4), EVO_PLUS),
    solid(&["SSD 970 EVO PLUS"], &[500], (3500.0, 3200.0), requests(480e3, 550e3, 19e3, Q32T4), EVO_PLUS),
    solid(&["SSD 970 EVO PLUS"], &[1000], (3500.0, 3300.0), requests(600e3, 550e3, 19e3, Q32T4), EVO_PLUS),
    solid(&["SSD 970 EVO PLUS"], &[2000], (3500.0, 3300.0), requests(620e3, 560e3, 0.0, Q32T4), EVO_PLUS_2TB),
    solid(&["SSD 970 EVO"], &[2000], (3500.0, 2500.0), requests(500e3, 480e3, 0.0, Q32T4), EVO_PLUS_2TB),
    solid(&["SSD 970 EVO"], &[1000], (3400.0, 2500.0), requests(500e3, 450e3, 15e3, Q32T4), EVO_970),
    solid(&["SSD 970 EVO"], &[500], (3400.0, 2300.0), requests(370e3, 450e3, 15e3, Q32T4), EVO_970),
    solid(&["SSD 980 PRO"], &[1000], (7000.0, 5000.0), requests(1000e3, 1000e3, 0.0, Q32T16), PRO_980),
    solid(&["SSD 980 PRO"], &[500], (6900.0, 5000.0), requests(800e3, 1000e3, 22e3, Q32T16), UNCHECKED),
    solid(&["SSD 980 PRO"], &[2000], (7000.0, 5100.0), requests(1000e3, 1000e3, 0.0, UNSTATED), PRO_980_2TB),
    solid(&["SSD 990 PRO"], &[1000], (7450.0, 6900.0), requests(1200e3, 1550e3, 0.0, UNSTATED), PRO_990_1TB),
    solid(&["SSD 990 PRO"], &[2000], (7450.0, 6900.0), requests(1400e3, 1550e3, 0.0, UNSTATED), PRO_990),
    solid(&["MZVL21T0HCLR"], &[1000, 1024], (7000.0, 5100.0), requests(1000e3, 850e3, 0.0, UNSTATED), UNCHECKED),
    solid(&["WD BLACK SN850X"], &[1000], (7300.0, 6300.0), requests(800e3, 1100e3, 0.0, UNSTATED), SN850X),
    solid(&["WD BLACK SN850X"], &[2000], (7300.0, 6600.0), requests(1200e3, 1100e3, 0.0, UNSTATED), SN850X_2TB),
    solid(&["SHPP41"], &[1000, 2000], (7000.0, 6500.0), requests(1400e3, 1300e3, 0.0, UNSTATED), UNCHECKED),
    solid(&["CT1000T700SSD3"], &[1000], (11_700.0, 9500.0), requests(1350e3, 1400e3, 0.0, UNSTATED), T700),
    solid(&["CT2000T700SSD3"], &[2000], (12_400.0, 11_800.0), requests(1500e3, 1500e3, 0.0, UNSTATED), T700),
    solid(&["MZQL21T9HCJR"], &[1920], (6800.0, 2700.0), reads(850e3, UNSTATED), UNCHECKED),
    solid(&["MZQL23T8HCLS"], &[3840], (6800.0, 4000.0), reads(1000e3, UNSTATED), UNCHECKED),
    solid(&["SSDPE2KX010T7"], &[1000], (3200.0, 600.0), reads(279.5e3, UNSTATED), P4500),
    solid(&["SSDPE2KX020T7"], &[2000], (3200.0, 1050.0), reads(490e3, UNSTATED), P4500),
    solid(&["SSDPE2KX040T7"], &[4000], (3200.0, 1800.0), reads(645e3, UNSTATED), P4500),
    solid(
        &["SSDPE21K375GA", "SSDPED1K375GA", "SSDPE21K750GA", "SSDPED1K750GA"],
        &[375, 750],
        (2400.0, 2000.0),
        requests(550e3, 500e3, 0.0, Q16),
        P4800X,
    ),
    solid(&["SSD 870 EVO"], &[1000], (560.0, 530.0), requests(98e3, 88e3, 0.0, Q32T1), EVO_870),
    solid(&["SSD 870 EVO"], &[250, 500, 2000, 4000], (560.0, 530.0), requests(98e3, 88e3, 0.0, UNSTATED), EVO_870_ALL),
    solid(&["SSD 870 QVO"], &[1000], (560.0, 530.0), requests(98e3, 88e3, 0.0, UNSTATED), QVO_870),
    solid(&["SSD 870 QVO"], &[2000, 4000, 8000], (560.0, 530.0), requests(98e3, 88e3, 11e3, Q32T1), UNCHECKED),
    solid(&["SSD 860 EVO"], &[500], (550.0, 520.0), requests(98e3, 90e3, 0.0, UNSTATED), EVO_860),
    solid(&["SSD 860 EVO"], &[250, 1000, 2000], (550.0, 520.0), requests(98e3, 90e3, 10e3, Q32T1), UNCHECKED),
    solid(&["CT1000MX500SSD1"], &[1000], (560.0, 510.0), requests(95e3, 90e3, 0.0, UNSTATED), MX500),
    solid(
        &["CT250MX500SSD1", "CT500MX500SSD1", "CT2000MX500SSD1"],
        &[250, 500, 2000],
        (560.0, 510.0),
        requests(95e3, 90e3, 0.0, UNSTATED),
        UNCHECKED,
    ),
    turning(&["ST4000NM0023", "ST4000NM0043"], &[4000], 7200, 175.0, CONSTELLATION),
    turning(&["ST3000NM0023", "ST3000NM0043"], &[3000], 7200, 175.0, CONSTELLATION),
    turning(&["ST2000NM0023", "ST2000NM0043"], &[2000], 7200, 175.0, CONSTELLATION),
    Drive {
        models: &["HUS724040ALS640"],
        gigabytes: &[4000],
        bytes_per_second: None,
        requests_per_second: None,
        spindle: Some(Spindle { rotations_per_minute: 7200, seek_seconds: Some(Ways { read: 8.2e-3, write: 8.2e-3 }) }),
        source: ULTRASTAR,
    },
    turning(&["WD40EFRX"], &[4000], 5400, 150.0, UNCHECKED),
    turning(&["ST4000VN008"], &[4000], 5980, 180.0, UNCHECKED),
    turning(&["ST2000DM008"], &[2000], 7200, 220.0, UNCHECKED),
    turning(&["ST8000NM0055"], &[8000], 7200, 249.0, UNCHECKED),
    turning(&["ST16000NM001G"], &[16_000], 7200, 261.0, UNCHECKED),
    turning(&["ST18000NM000J"], &[18_000], 7200, 270.0, UNCHECKED),
    turning(&["WUH721818ALE6L4"], &[18_000], 7200, 269.0, UNCHECKED),
];

/// Words before a drive's own name: its maker, or SCSI's name for every SATA drive.
const MAKERS: &[&str] = &["ATA", "SAMSUNG", "INTEL", "WDC", "SEAGATE", "HGST", "HITACHI"];

impl Drive {
    /// The row of a disk by name and capacity; `None` for a hypervisor's disk. A passed-through drive keeps its name.
    fn listed(disk: &Disk) -> Option<&'static Self> {
        let (model, bytes) = (words(disk.model.as_deref()?), disk.bytes?);
        DRIVES.iter().find(|drive| drive.fits(&model, bytes)).filter(|_| disk.is_virtual != Some(true))
    }

    /// The row and the name of a disk, if the row was compared with a document: only such rows make peaks.
    pub(crate) fn checked(disk: &Disk) -> Option<(&'static Self, &str)> {
        let drive = Self::listed(disk).filter(|drive| drive.source.is_some())?;
        Some((drive, disk.model.as_deref()?))
    }

    pub(crate) fn sheet(disk: &Disk) -> Option<DriveSheet> {
        let (drive, model) = (Self::listed(disk)?, disk.model.as_deref()?);
        let (bytes, requests) = (drive.bytes_per_second, drive.requests_per_second);
        Some(DriveSheet {
            read_bytes_per_second: bytes.map(|rates| rates.read),
            write_bytes_per_second: bytes.map(|rates| rates.write),
            reads_per_second: requests.map(|requests| requests.read),
            writes_per_second: requests.and_then(|requests| requests.write),
            rotations_per_minute: drive.spindle.map(|spindle| spindle.rotations_per_minute),
            checked: drive.source.is_some(),
            source: drive.source(model),
        })
    }

    pub(crate) fn source(&self, model: &str) -> String {
        match self.source {
            Some(document) => format!("data sheet of {model}, by {document}"),
            None => format!("data sheet of {model}, unchecked"),
        }
    }

    fn fits(&self, model: &[String], bytes: u64) -> bool {
        self.gigabytes.iter().any(|gigabytes| is_about(bytes, *gigabytes))
            && self.models.iter().any(|pattern| starts(model, &words(pattern), bytes))
    }
}

fn words(name: &str) -> Vec<String> {
    let all = name.split(|c: char| c.is_ascii_whitespace() || c == '_').filter(|word| !word.is_empty());
    let own = all.map(str::to_ascii_uppercase).skip_while(|word| MAKERS.contains(&word.as_str()));
    own.collect()
}

/// Whether a name is the pattern plus at most its case and the disk's capacity.
fn starts(model: &[String], pattern: &[String], bytes: u64) -> bool {
    let same = |(word, wanted): (&String, &String)| {
        // `ST4000VN008-2DR166`
        word.strip_prefix(wanted.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    let extra = |word: &String| {
        matches!(word.as_str(), "WITH" | "HEATSINK") || capacity(word).is_some_and(|sold| is_about(bytes, sold))
    };
    model.len() >= pattern.len() && model.iter().zip(pattern).all(same) && model[pattern.len()..].iter().all(extra)
}

fn capacity(word: &str) -> Option<u32> {
    let terabytes = word.strip_suffix("TB").and_then(|number| number.parse::<u32>().ok()?.checked_mul(1000));
    terabytes.or_else(|| word.strip_suffix("GB")?.parse().ok())
}

/// Within 3 %, so that 960 and 1000 differ.
fn is_about(bytes: u64, gigabytes: u32) -> bool {
    let sold = u128::from(gigabytes) * 1_000_000_000;
    u128::from(bytes).abs_diff(sold) * 100 <= sold * 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unchecked_values_are_shown_and_make_no_peak() {
        let disk = |model: &str, gigabytes| Disk {
            model: Some(model.into()),
            bytes: Some(sold(gigabytes)),
            is_virtual: Some(false),
            ..Disk::default()
        };
        let listed = disk("WDC WD40EFRX-68N32N0", 4000);
        let sheet = Drive::sheet(&listed).unwrap();
        assert_eq!((sheet.read_bytes_per_second, sheet.rotations_per_minute), (Some(150e6), Some(5400)));
        assert_eq!((sheet.reads_per_second, sheet.checked), (None, false));
        assert!(sheet.source.ends_with("unchecked"), "{}", sheet.source);
        assert!(Drive::checked(&listed).is_none());
        let compared = disk("Samsung SSD 970 EVO 1TB", 1000);
        let sheet = Drive::sheet(&compared).unwrap();
        assert_eq!((sheet.reads_per_second, sheet.writes_per_second, sheet.checked), (Some(500e3), Some(450e3), true));
        assert!(sheet.source.contains("techgage.com") && Drive::checked(&compared).is_some(), "{}", sheet.source);
        let made_up = Disk { is_virtual: Some(true), ..compared };
        assert!(Drive::sheet(&made_up).is_none() && Drive::checked(&made_up).is_none());
    }

    fn found(model: &str, bytes: u64) -> Option<&'static Drive> {
        Drive::listed(&Disk { model: Some(model.into()), bytes: Some(bytes), ..Disk::default() })
    }

    /// IDEMA's number of bytes for a nominal capacity (LBA1-03).
    fn sold(gigabytes: u32) -> u64 {
        (97_696_368 + 1_953_504 * (u64::from(gigabytes) - 50)) * 512
    }

    #[test]
    fn names_are_found_as_the_kernel_gives_them() {
        let terabyte = sold(1000);
        for (model, bytes) in [
            ("Samsung SSD 970 EVO Plus 1TB            ", terabyte),
            ("ATA     Samsung SSD 870 EVO 1TB", terabyte),
            ("Samsung SSD 990 PRO with Heatsink 2TB", sold(2000)),
            ("WD_BLACK SN850X 1000GB", terabyte),
            ("SAMSUNG MZVL21T0HCLR-00B00", 1_024_209_543_168),
            ("SHPP41-2000GM", sold(2000)),
            ("INTEL SSDPE21K375GA", 375_083_606_016),
            ("WDC WD40EFRX-68N32N0", sold(4000)),
            ("ST4000VN008-2DR166", sold(4000)),
            ("CT1000MX500SSD1", terabyte),
        ] {
            assert!(found(model, bytes).is_some(), "{model}");
        }
    }

    #[test]
    fn no_drive_is_taken_for_its_cousin() {
        let terabyte = sold(1000);
        for (model, bytes, why) in [
            ("Samsung SSD 980 1TB", terabyte, "not the PRO"),
            ("Samsung SSD 870 ", terabyte, "cut off by SCSI after 16 characters"),
            ("Samsung SSD 970 PRO 1TB", terabyte, "not the EVO"),
            ("Samsung SSD 970 EVO Plus 1TB", sold(500), "another capacity"),
            ("Samsung SSD 990 PRO 1TB Clone", terabyte, "something else"),
            ("ST4000VN0081", sold(4000), "a longer number"),
            ("QEMU HARDDISK", terabyte, "virtual"),
            ("", terabyte, "no name"),
            ("Samsung", terabyte, "a maker alone"),
        ] {
            assert!(found(model, bytes).is_none(), "{model}: {why}");
        }
        let plus = found("Samsung SSD 970 EVO Plus 2TB", sold(2000)).unwrap();
        let plain = found("Samsung SSD 970 EVO 2TB", sold(2000)).unwrap();
        assert_eq!(plus.bytes_per_second.map(|rate| rate.write), Some(3.3e9));
        assert_eq!(plain.bytes_per_second.map(|rate| rate.write), Some(2.5e9));
        assert!(is_about(960_197_124_096, 960) && !is_about(960_197_124_096, 1000));
        assert!(
            Drive::listed(&Disk { model: Some("SHPP41-1000GM".into()), ..Disk::default() }).is_none(),
            "no capacity"
        );
    }

    #[test]
    fn every_row_is_found_and_is_the_only_one() {
        for drive in DRIVES {
            for model in drive.models {
                for gigabytes in drive.gigabytes {
                    let (words, bytes) = (words(model), sold(*gigabytes));
                    let fitting = DRIVES.iter().filter(|other| other.fits(&words, bytes)).count();
                    assert_eq!(fitting, 1, "{model} {gigabytes}");
                }
            }
            assert!(!drive.models.is_empty() && !drive.gigabytes.is_empty());
        }
    }

    #[test]
    fn every_value_is_possible_and_marked_if_unchecked() {
        for drive in DRIVES {
            let model = drive.models[0];
            let source = drive.source(model);
            assert!(source.contains(model) && drive.source.is_some() == source.contains(", by "), "{source}");
            assert_eq!(drive.source.is_some(), !source.contains("unchecked"), "{source}");
            assert!(drive.bytes_per_second.is_some() || drive.spindle.is_some(), "{model} has no value");
            assert!(drive.requests_per_second.is_none() || drive.spindle.is_none(), "{model} turns and does not");
            let rates = drive.bytes_per_second;
            for rate in rates.iter().flat_map(|rates| [rates.read, rates.write]) {
                assert!((1e8..2e10).contains(&rate), "{model}: {rate} B/s");
            }
            if let (Some(rates), Some(requests)) = (rates, drive.requests_per_second) {
                assert!((1e4..4e6).contains(&requests.read), "{model}: {}", requests.read);
                // Small requests at random carry no more than large ones in order.
                let fits = |requests: f64, rate: f64| requests * 4096.0 <= rate * 1.03;
                assert!(fits(requests.read, rates.read), "{model}: {requests:?}");
                assert!(requests.write.is_none_or(|write| fits(write, rates.write)), "{model}: {requests:?}");
                assert!(requests.single_read.is_none_or(|single| single < requests.read), "{model}");
            }
            if let Some(spindle) = drive.spindle {
                assert!((4200..=15_000).contains(&spindle.rotations_per_minute), "{model}");
                assert!(spindle.seek_seconds.is_none_or(|seek| (1e-3..0.02).contains(&seek.read)), "{model}");
            }
        }
    }
}
