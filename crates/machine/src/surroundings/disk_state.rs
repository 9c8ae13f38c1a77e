//! Traffic, temperature and link rates of the disks under a directory. Read around every process run: few files.

use model::surroundings::DiskHeat;

use crate::disk::links;
use crate::list::number_after;
use crate::surroundings::counters::{DeviceIo, device_io};
use crate::sysroot::Sysroot;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct DiskState {
    pub(crate) io: Option<DeviceIo>,
    pub(crate) heat: Option<DiskHeat>,
    /// The sum of their narrowest links, B/s.
    pub(crate) link_bytes_per_second: Option<u64>,
}

impl DiskState {
    /// `chain` are devices from the top, by their names under /sys/block; others (partitions) are ignored.
    pub(crate) fn read(root: &Sysroot, chain: &[String]) -> Self {
        // Below a loop device the page cache delays traffic.
        let is_loop = |disk: &String| root.text(&format!("sys/block/{disk}/loop/backing_file")).is_some();
        let end = chain.iter().position(is_loop).map_or(chain.len(), |index| index + 1);
        let disks: Vec<Disk> = chain[..end].iter().filter_map(|name| Disk::read(root, name)).collect();
        let hottest = disks.iter().filter_map(|disk| heat(root, disk.name));
        let links: Vec<u64> = disks.iter().filter_map(|disk| link(root, disk.name)).collect();
        Self {
            io: io(root, &disks),
            heat: hottest.min_by(|one, other| one.headroom().total_cmp(&other.headroom())),
            link_bytes_per_second: links.into_iter().reduce(u64::saturating_add),
        }
    }
}

struct Disk<'c> {
    name: &'c String,
    slaves: Vec<String>,
}

impl<'c> Disk<'c> {
    fn read(root: &Sysroot, name: &'c String) -> Option<Self> {
        root.text(&format!("sys/block/{name}/stat"))?;
        Some(Self { name, slaves: root.names(&format!("sys/block/{name}/slaves")) })
    }
}

/// Traffic of the disks, each byte once: of the only lowest disk, with several (mirrors, stripes) of the top devices.
/// `None` if one of them does not count.
fn io(root: &Sysroot, disks: &[Disk]) -> Option<DeviceIo> {
    let lowest: Vec<&Disk> = disks.iter().filter(|disk| disk.slaves.is_empty()).collect();
    let counted: Vec<&Disk> = if lowest.len() > 1 {
        let below: Vec<&String> = disks.iter().flat_map(|disk| &disk.slaves).collect();
        // A slave may be a partition of a disk.
        let is_below = |disk: &&Disk| {
            below.iter().any(|slave| {
                *slave == disk.name || root.text(&format!("sys/block/{}/{slave}/partition", disk.name)).is_some()
            })
        };
        disks.iter().filter(|disk| !is_below(disk)).collect()
    } else {
        lowest
    };
    let all: Option<Vec<DeviceIo>> = counted.iter().map(|disk| device_io(root, disk.name)).collect();
    all?.into_iter().reduce(|sum, one| DeviceIo {
        reads: sum.reads.saturating_add(one.reads),
        read_bytes: sum.read_bytes.saturating_add(one.read_bytes),
        writes: sum.writes.saturating_add(one.writes),
        write_bytes: sum.write_bytes.saturating_add(one.write_bytes),
    })
}

/// A disk's temperature and limit, by its first sensor (`hwmon/nvme`, `hwmon/drivetemp`).
fn heat(root: &Sysroot, disk: &str) -> Option<DiskHeat> {
    let device = format!("sys/block/{disk}/device");
    let places =
        [format!("{device}/hwmon"), device.clone(), format!("{device}/device/hwmon"), format!("{device}/device")];
    let sensor = places.iter().find_map(|place| {
        let name = root.names(place).into_iter().find(|name| number_after(name, "hwmon").is_some())?;
        Some(format!("{place}/{name}"))
    })?;
    // Thousandths of a degree. A missing limit is 0 or less.
    let degrees = |file: &str| root.number::<i32>(&format!("{sensor}/{file}")).map(|value| f64::from(value) / 1000.0);
    let limit = degrees("temp1_max").filter(|limit| *limit > 0.0)?;
    Some(DiskHeat { celsius: degrees("temp1_input")?, limit_celsius: limit })
}

fn link(root: &Sysroot, disk: &str) -> Option<u64> {
    let number = root.text(&format!("sys/block/{disk}/dev"))?;
    links::attachment(root, &number).link.map(|link| link.bytes_per_second)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    /// 8 sectors read, 2 written, times `factor`.
    fn stat(factor: u64) -> String {
        format!("1 0 {} 0 1 0 {} 0 0 0 0\n", 8 * factor, 2 * factor)
    }

    fn state(fixture: &Fixture, disks: &[&str]) -> DiskState {
        DiskState::read(&fixture.root(), &disks.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    fn bytes(fixture: &Fixture, disks: &[&str]) -> Option<(u64, u64)> {
        state(fixture, disks).io.map(|io| (io.read_bytes, io.write_bytes))
    }

    #[test]
    fn of_a_chain_the_lowest_disk_counts() {
        let fixture = Fixture::new("chain")
            .file("sys/block/dm-0/stat", &stat(1))
            .file("sys/block/dm-0/slaves/sda2", "")
            .file("sys/block/sda/stat", &stat(3))
            .file("sys/block/sda/sda2/partition", "2\n");
        assert_eq!(bytes(&fixture, &["dm-0", "sda2", "sda"]), Some((24 * 512, 6 * 512)));
        assert_eq!(bytes(&fixture, &["sda"]), Some((24 * 512, 6 * 512)));
        assert_eq!((bytes(&fixture, &[]), bytes(&fixture, &["sdz", "sda2"])), (None, None));
    }

    #[test]
    fn a_mirror_counts_what_goes_in_and_not_its_copies() {
        let fixture = Fixture::new("mirror")
            .file("sys/block/md0/stat", &stat(1))
            .file("sys/block/md0/slaves/sda1", "")
            .file("sys/block/md0/slaves/sdb", "")
            .file("sys/block/sda/stat", &stat(1))
            .file("sys/block/sda/sda1/partition", "1\n")
            .file("sys/block/sdb/stat", &stat(1));
        assert_eq!(bytes(&fixture, &["md0", "sda1", "sdb", "sda"]), Some((8 * 512, 2 * 512)));
        assert_eq!(bytes(&fixture, &["sda", "sdb"]), Some((16 * 512, 4 * 512)), "a file system over two disks");
    }

    #[test]
    fn what_lies_below_a_loop_device_and_what_does_not_count_is_left_out() {
        let fixture = Fixture::new("loop-state")
            .file("sys/block/loop0/stat", &stat(1))
            .file("sys/block/loop0/loop/backing_file", "/images/one\n")
            .file("sys/block/sda/stat", &stat(5))
            .file("sys/block/sdb/stat", &stat(5))
            .file("sys/block/sdb/queue/iostats", "0\n");
        assert_eq!(bytes(&fixture, &["loop0", "sda"]), Some((8 * 512, 2 * 512)));
        assert_eq!((bytes(&fixture, &["sdb"]), bytes(&fixture, &["sda", "sdb"])), (None, None));
    }

    #[test]
    fn the_disk_nearest_to_its_limit_gives_the_temperature() {
        let warm = |name: &str, input: &str, limit: &str| {
            Fixture::new(name)
                .file("sys/block/nvme0n1/stat", &stat(1))
                .file("sys/block/nvme0n1/device/hwmon3/temp1_input", input)
                .file("sys/block/nvme0n1/device/hwmon3/temp1_max", limit)
        };
        let both = warm("heat-two", "60850\n", "81850\n")
            .file("sys/block/sda/stat", &stat(1))
            .file("sys/block/sda/device/hwmon/hwmon1/temp1_input", "55000\n")
            .file("sys/block/sda/device/hwmon/hwmon1/temp1_max", "60000\n");
        let heat = |fixture: &Fixture| state(fixture, &["nvme0n1", "sda"]).heat;
        assert_eq!(heat(&both), Some(DiskHeat { celsius: 55.0, limit_celsius: 60.0 }));
        assert_eq!(heat(&warm("heat-one", "60850\n", "81850\n")).map(|heat| heat.celsius), Some(60.85));
        assert_eq!(heat(&warm("heat-none", "60850\n", "-273150\n")), None, "a limit that is none");
        assert_eq!(heat(&warm("heat-words", "hot\n", "81850\n")), None);
    }

    #[test]
    fn links_of_all_disks_are_added_up() {
        let port = "devices/pci0000:00/0000:00:1d.0";
        let fixture = Fixture::new("links-state")
            .file("sys/block/nvme0n1/stat", &stat(1))
            .file("sys/block/nvme0n1/dev", "259:0\n")
            .link("sys/dev/block/259:0", &format!("../../{port}/nvme/nvme0/nvme0n1"))
            .file(&format!("sys/{port}/nvme/nvme0/nvme0n1/dev"), "259:0\n")
            .file(&format!("sys/{port}/current_link_speed"), "8.0 GT/s PCIe\n")
            .file(&format!("sys/{port}/current_link_width"), "4\n");
        assert_eq!(state(&fixture, &["nvme0n1"]).link_bytes_per_second, Some(3_938_000_000));
        assert_eq!(state(&fixture, &["nvme1n1"]).link_bytes_per_second, None);
    }
}
