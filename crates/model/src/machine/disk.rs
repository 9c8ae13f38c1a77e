//! Block devices, their links, and what is behind a directory.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One block device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct Disk {
    /// The kernel's name (`nvme0n1`).
    pub name: String,
    /// Device number, `major:minor`.
    pub device: Option<String>,
    /// What it calls itself.
    pub model: Option<String>,
    /// Kernel driver behind it.
    pub driver: Option<String>,
    /// Size, B.
    pub bytes: Option<u64>,
    /// Whether it spins (virtual disks often say so falsely).
    pub rotational: Option<bool>,
    /// Rotations per minute as the drive reports them; `None` where it does not turn or does not report them.
    pub rotations_per_minute: Option<u32>,
    /// Logical block, B.
    pub logical_block_bytes: Option<u32>,
    /// Physical block, B.
    pub physical_block_bytes: Option<u32>,
    /// I/O scheduler in use.
    pub scheduler: Option<String>,
    /// Requests the kernel queues for it.
    pub queue_requests: Option<u32>,
    /// `write back` or `write through`.
    pub write_cache: Option<String>,
    /// Version of its firmware.
    pub firmware: Option<String>,
    /// How the kernel handles its requests.
    pub queue: DiskQueue,
    /// The devices it is built on (RAID, LVM, encryption).
    pub slaves: Vec<String>,
    /// How it is attached: `pcie`, `sata`, `sas`, `usb`, `virtio`, … as far as the kernel shows it.
    pub transport: Option<String>,
    /// The narrowest link on the way to it; `None` where no link is known, or where a hypervisor makes the link up.
    pub link: Option<DiskLink>,
    /// Whether a hypervisor or the kernel invents it; `None` where unknown.
    pub is_virtual: Option<bool>,
    /// Level of a software RAID (`raid0`, `raid5`, …).
    pub raid_level: Option<String>,
    /// Members that a software RAID is laid out over, without spares.
    pub raid_members: Option<u32>,
    /// Bytes in a row that a software RAID writes to one member before the next; `None` without a stripe.
    pub raid_chunk_bytes: Option<u64>,
    /// What the table of drives says of it; `None` for one that is not in it, or that a hypervisor makes up.
    pub data_sheet: Option<DriveSheet>,
}

/// A drive's data sheet, from the table of drives.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct DriveSheet {
    /// Large reads in order, B/s.
    pub read_bytes_per_second: Option<f64>,
    /// Large writes in order, B/s.
    pub write_bytes_per_second: Option<f64>,
    /// Reads of 4 KiB at random with as many in flight as the drive likes best, 1/s; `None` for one that turns.
    pub reads_per_second: Option<f64>,
    /// The same for writes; `None` also where the sheet's value does not limit a fresh file.
    pub writes_per_second: Option<f64>,
    /// Rotations per minute of one that turns.
    pub rotations_per_minute: Option<u32>,
    /// Whether these values were compared with a document: no peak rests on the others.
    pub checked: bool,
    /// Where they come from.
    pub source: String,
}

/// How the kernel handles a disk's requests (`queue/`, kernel documentation `ABI/stable/sysfs-block`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct DiskQueue {
    /// Queues of the device itself.
    pub hardware_queues: Option<u32>,
    /// Requests that the device takes at once, over all queues: `device/queue_depth`, or the `sqsize` of NVM Express.
    pub device_requests: Option<u32>,
    /// Whether a write can wait for the medium (FUA) without a flush of the whole cache.
    pub force_unit_access: Option<bool>,
    /// Whether completions can be polled for.
    pub polled: Option<bool>,
    /// Which neighbouring requests are made one: `all`, `simple` (the last one alone is looked at) or `none`.
    pub merges: Option<String>,
    /// Where a request is completed: on `any` CPU, in the `group` of the one that made it, or on that `same` one.
    pub completes_on: Option<String>,
    /// The latency of reads above which writes are held back, in seconds; 0 where they never are.
    pub write_back_throttle_seconds: Option<f64>,
    /// Whether requests are counted; without that nothing can be held against what the device says that it did.
    pub counted: Option<bool>,
}

/// The narrowest link between a disk or network adapter and the processor: what can pass at most.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct DiskLink {
    /// `pcie`, `sata`, `sas`, `usb`, `mmc`, or `network` for a disk of another machine.
    pub kind: String,
    /// Bytes that pass in one direction, B/s, less the line code; packet headers are not taken off.
    pub bytes_per_second: u64,
    /// For a reader: `PCIe 4.0 x4, 16 GT/s`.
    pub detail: String,
    /// Whether the disk's own link could carry more: trained down, or a small slot. `None` where unknown.
    pub below_maximum: Option<bool>,
    /// The source of the values.
    pub source: String,
}

/// A link that several disks share; of several in a row with the same disks the narrowest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct SharedLink {
    /// `pcie`, `sata`, `sas`, `usb`, or `network` for disks of another machine.
    pub kind: String,
    /// Which one: a PCI function, SATA port (`ata3`), SAS port (`port-0:0`), USB device or network interface.
    pub place: String,
    /// Bytes that pass in one direction, B/s, less the line code; packet headers are not taken off.
    pub bytes_per_second: u64,
    /// For a reader: `PCIe 3.0 x4, 8 GT/s`.
    pub detail: String,
    /// The disks behind it: names in `machine.disks`.
    pub disks: Vec<String>,
    /// The source of the values.
    pub source: String,
}

/// What is behind a directory: its mount and the block devices under it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct Storage {
    /// The directory asked about.
    pub directory: String,
    /// Where its file system is mounted.
    pub mount_point: Option<String>,
    /// Type of file system.
    pub filesystem: Option<String>,
    /// What is mounted (`/dev/nvme0n1p2`, `tmpfs`, `host:/export`).
    pub source: Option<String>,
    /// Mount options.
    pub options: Vec<String>,
    /// Block devices from the mounted one down to the physical ones; can be empty.
    pub chain: Vec<StorageDevice>,
    /// Where one of the ways down ends in memory, that way in words: `tmpfs`, `ext4 on zram1`, `xfs on loop0 on tmpfs`.
    pub memory: Option<String>,
}

impl Storage {
    /// The disks that are built on no other, each once, in the order of the chain: names in `machine.disks`.
    pub fn disks(&self) -> Vec<String> {
        let depth_after = |index: usize| self.chain.get(index + 1).map(|device| device.depth);
        let mut disks: Vec<String> = Vec::new();
        for (index, device) in self.chain.iter().enumerate() {
            let is_leaf = depth_after(index) <= Some(device.depth);
            disks.extend(device.disk.clone().filter(|disk| is_leaf && !disks.contains(disk)));
        }
        disks
    }

    /// The devices above those disks that all data passes through, from the top, without partitions.
    pub fn layers(&self) -> Vec<String> {
        let alone =
            |device: &&StorageDevice| self.chain.iter().filter(|other| other.depth == device.depth).count() == 1;
        let disks = self.disks();
        let common = self.chain.iter().take_while(alone).filter(|device| device.kind != "partition");
        common.map(|device| device.name.clone()).filter(|name| !disks.contains(name)).collect()
    }
}

/// One step of the way from a file system down to hardware.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(default)]
pub struct StorageDevice {
    /// The kernel's name.
    pub name: String,
    /// 0 for the device mounted, one more for each layer below.
    pub depth: u32,
    /// `partition`, `mapper`, `multipath`, `raid`, `loop`, `memory` or `disk`.
    pub kind: String,
    /// Name of the whole disk in `machine.disks`.
    pub disk: Option<String>,
    /// The file that a loop device shows as a disk.
    pub backing_file: Option<String>,
    /// Whether a loop device reads and writes that file past the page cache.
    pub direct: Option<bool>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_ends_in_the_disks_that_are_built_on_no_other() {
        let device = |name: &str, depth, disk: &str| StorageDevice {
            name: name.into(),
            depth,
            disk: (!disk.is_empty()).then(|| disk.into()),
            ..StorageDevice::default()
        };
        let partitions = [device("md0", 0, "md0"), device("sda1", 1, "sda"), device("sdb1", 1, "sdb")];
        let storage = |chain: &[StorageDevice]| Storage { chain: chain.to_vec(), ..Storage::default() };
        assert_eq!(storage(&partitions).disks(), ["sda", "sdb"]);
        let mapped = [device("dm-0", 0, ""), device("sda2", 1, "sda"), device("sda3", 1, "sda")];
        assert_eq!(storage(&mapped).disks(), ["sda"]);
        assert!(storage(&[]).disks().is_empty());
        assert_eq!(storage(&partitions).layers(), ["md0"], "partitions side by side are no layer");
        let image = [device("dm-0", 0, "dm-0"), device("loop0", 1, "loop0"), device("vda", 2, "vda")];
        assert_eq!(storage(&image).layers(), ["dm-0", "loop0"]);
        assert_eq!(storage(&image).disks(), ["vda"]);
        let whole = StorageDevice { kind: "partition".into(), ..device("sda1", 0, "sda") };
        assert_eq!(storage(&[whole, device("sda", 1, "sda")]).layers(), [""; 0]);
    }
}
