//! Drives and their data sheets: the rows of `data/drives.tsv` by name and capacity. Rows without a source make no peak.
//! Left out, because drives exceed them: random writes stated for a drive that was filled repeatedly; writes at
//! depth 1 (970 EVO Plus: 60,000, kitguru.net measured 163,140); typical latencies (P4800X: 10 us, measured 8.9 us);
//! reads at depth 1 of the 850 EVO (10,000, tomshw.it measured 11,000).

use std::sync::LazyLock;

use model::machine::{Disk, DriveSheet};

use crate::published::table::{Row, Table};

#[derive(Debug)]
pub(crate) struct Drive {
    /// The name without the maker. The name of a disk may add a suffix after a hyphen, and the capacity.
    model: &'static str,
    gigabytes: u32,
    pub(crate) bytes_per_second: Option<Ways>,
    pub(crate) requests_per_second: Option<Requests>,
    pub(crate) spindle: Option<Spindle>,
    /// The document or page that states the values; `None` if they are from memory.
    source: Option<&'static str>,
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

/// The block size of data sheets' random requests, B.
pub(crate) const RANDOM_BLOCK: u64 = 4096;

const TABLE: Table = Table::new(include_str!("../../data/drives.tsv"));

static DRIVES: LazyLock<Vec<Drive>> = LazyLock::new(|| TABLE.rows().filter_map(|row| Drive::parse(&row)).collect());

/// Words before a drive's own name: its maker, or SCSI's name for every SATA drive.
const MAKERS: &[&str] = &["ATA", "SAMSUNG", "INTEL", "WDC", "SEAGATE", "HGST", "HITACHI", "KINGSTON", "TOSHIBA"];

impl Drive {
    fn parse(row: &Row) -> Option<Self> {
        let number = |column| row.cell(column)?.parse::<f64>().ok();
        let ways = |read, write, unit: f64| Some(Ways { read: number(read)? * unit, write: number(write)? * unit });
        let requests = || {
            let (write, single_read) = (number("write_iops"), number("read_iops_qd1"));
            Some(Requests { read: number("read_iops")?, write, single_read, stated_for: row.cell("stated_for")? })
        };
        let spindle = || {
            let rotations_per_minute = row.cell("rotations_per_minute")?.parse().ok()?;
            Some(Spindle { rotations_per_minute, seek_seconds: ways("seek_read_ms", "seek_write_ms", 1e-3) })
        };
        Some(Self {
            model: row.name(),
            gigabytes: row.cell("gigabytes")?.parse().ok()?,
            bytes_per_second: ways("read_MBps", "write_MBps", 1e6),
            requests_per_second: requests(),
            spindle: spindle(),
            source: row.cell("source"),
        })
    }

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
        is_about(bytes, self.gigabytes) && starts(model, &words(self.model), bytes)
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
        matches!(word.as_str(), "WITH" | "HEATSINK" | "SSD") || capacity(word).is_some_and(|sold| is_about(bytes, sold))
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
            ("WDC WDS100T2B0C-00PXH0", terabyte),
            ("WDS500G1X0E-00AFY0", sold(500)),
            ("WD Blue SN570 2TB SSD", sold(2000)),
            ("WD_BLACK SN770 250GB", sold(250)),
            ("Micron_4600_MTFDLBA2T0THJ", 2_048_408_248_320),
            ("KINGSTON SEDC600M960G", sold(960)),
            ("TOSHIBA MG04ACA500E", sold(5000)),
            ("SAMSUNG MZQLB1T9HAJR-000AZ", sold(1920)),
        ] {
            assert!(found(model, bytes).is_some(), "{model}");
        }
    }

    #[test]
    fn no_drive_is_taken_for_its_cousin() {
        let terabyte = sold(1000);
        for (model, bytes, why) in [
            ("Samsung SSD 980 ", terabyte, "the PRO's name, cut off by SCSI"),
            ("Samsung SSD 980 500GB", terabyte, "another capacity"),
            ("Samsung SSD 870 ", terabyte, "cut off by SCSI after 16 characters"),
            ("Samsung SSD 970 PRO 1TB", terabyte, "not the EVO"),
            ("Samsung SSD 970 EVO Plus 1TB", sold(500), "another capacity"),
            ("Samsung SSD 990 PRO 1TB Clone", terabyte, "something else"),
            ("Samsung SSD 850 EVO M.2 250GB", sold(250), "another form"),
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
        let no_pro = found("Samsung SSD 980 1TB", terabyte).unwrap();
        assert_eq!(no_pro.bytes_per_second, Some(Ways { read: 3.5e9, write: 3e9 }));
        assert!(is_about(960_197_124_096, 960) && !is_about(960_197_124_096, 1000));
        assert!(
            Drive::listed(&Disk { model: Some("SHPP41-1000GM".into()), ..Disk::default() }).is_none(),
            "no capacity"
        );
    }

    #[test]
    fn every_row_is_read_and_is_the_only_one() {
        assert_eq!(crate::published::table::check(TABLE.text()), Ok(()));
        assert_eq!(DRIVES.len(), TABLE.rows().count());
        for (drive, row) in DRIVES.iter().zip(TABLE.rows()) {
            let fitting = DRIVES.iter().filter(|other| other.fits(&words(drive.model), sold(drive.gigabytes))).count();
            assert_eq!(fitting, 1, "{} {}", drive.model, drive.gigabytes);
            for column in TABLE.text().lines().nth(2).unwrap().split('\t').skip(1) {
                let is_text = matches!(column, "stated_for" | "source");
                let number = row.cell(column).filter(|_| !is_text).map(str::parse::<f64>);
                assert!(number.is_none_or(|number| number.is_ok()), "{}: {column}", drive.model);
            }
            for pair in [["read_MBps", "write_MBps"], ["read_iops", "stated_for"], ["seek_read_ms", "seek_write_ms"]] {
                let [first, second] = pair.map(|column| row.cell(column).is_some());
                assert_eq!(first, second, "{}: {pair:?}", drive.model);
            }
        }
    }

    #[test]
    fn at_least_a_hundred_drives_have_a_source() {
        let sourced = DRIVES.iter().filter(|drive| drive.source.is_some()).map(|drive| (drive.model, drive.gigabytes));
        assert!(sourced.collect::<std::collections::BTreeSet<_>>().len() >= 100);
    }

    #[test]
    fn every_value_is_possible_and_marked_if_unchecked() {
        for drive in DRIVES.iter() {
            let model = drive.model;
            let source = drive.source(model);
            assert!(source.contains(model) && drive.source.is_some() == source.contains(", by "), "{source}");
            assert_eq!(drive.source.is_some(), !source.contains("unchecked"), "{source}");
            let (rates, requests) = (drive.bytes_per_second, drive.requests_per_second);
            assert!(rates.is_some() || requests.is_some() || drive.spindle.is_some(), "{model} has no value");
            assert!(requests.is_none() || drive.spindle.is_none(), "{model} turns and does not");
            assert!((100..=40_000).contains(&drive.gigabytes), "{model}: {} GB", drive.gigabytes);
            let largest = if drive.spindle.is_some() { 6e8 } else { 1.6e10 };
            for rate in rates.iter().flat_map(|rates| [rates.read, rates.write]) {
                assert!((1e8..largest).contains(&rate), "{model}: {rate} B/s");
            }
            if let Some(requests) = requests {
                for rate in [Some(requests.read), requests.write].into_iter().flatten() {
                    assert!((1e4..4e6).contains(&rate), "{model}: {requests:?}");
                }
                assert!(requests.single_read.is_none_or(|single| single < requests.read), "{model}");
            }
            if let (Some(rates), Some(requests)) = (rates, requests) {
                // Small requests at random carry no more than large ones in order.
                let fits = |requests: f64, rate: f64| requests * 4096.0 <= rate * 1.03;
                assert!(fits(requests.read, rates.read), "{model}: {requests:?}");
                assert!(requests.write.is_none_or(|write| fits(write, rates.write)), "{model}: {requests:?}");
            }
            if let Some(spindle) = drive.spindle {
                assert!((4200..=15_000).contains(&spindle.rotations_per_minute), "{model}");
                assert!(spindle.seek_seconds.is_none_or(|seek| (1e-3..0.02).contains(&seek.read)), "{model}");
            }
        }
    }
}
