//! Block devices, and the chain of them behind a directory.

use std::path::Path;

use model::machine::{Disk, DiskQueue, Storage, StorageDevice};

use crate::disk::drives::Drive;
use crate::disk::filesystems::{self, FilesystemClass};
use crate::disk::identity::identity;
use crate::disk::links;
use crate::list::{bracketed, number_after};
use crate::sysroot::{Sysroot, label};
use crate::system::mounts::{self, Mount};

const BLOCK: &str = "sys/block";
const BY_NAME: &str = "sys/class/block";
const BY_NUMBER: &str = "sys/dev/block";
/// The kernel counts sectors of this size whatever the device's own (kernel documentation, `block/stat.rst`).
pub(crate) const SECTOR_BYTES: u64 = 512;

pub(crate) fn disks(root: &Sysroot, under_hypervisor: bool) -> Vec<Disk> {
    root.names(BLOCK).iter().filter_map(|name| disk(root, name, under_hypervisor)).collect()
}

fn disk(root: &Sysroot, name: &str, under_hypervisor: bool) -> Option<Disk> {
    let file = |file: &str| format!("{BLOCK}/{name}/{file}");
    let sectors: u64 = root.number(&file("size")).filter(|sectors| *sectors > 0)?;
    if is_no_disk(root, name) {
        return None;
    }
    let device = root.text(&file("dev"));
    let trimmed = |name: &str| root.text(&file(name)).map(|text| text.trim().to_owned());
    let (vendor, model) = (trimmed("device/vendor"), trimmed("device/model"));
    let attachment = device.as_deref().map(|number| links::attachment(root, number)).unwrap_or_default();
    let own = identity(root, name, attachment.path.as_deref());
    let model = own.model.or(model);
    let says = [vendor, model.clone()].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let is_virtual = attachment.is_virtual(&says, under_hypervisor);
    let found = Disk {
        name: name.to_owned(),
        device,
        model,
        driver: root.link_name(&file("device/driver")),
        bytes: sectors.checked_mul(SECTOR_BYTES),
        rotational: root.number::<u32>(&file("queue/rotational")).map(|spins| spins != 0),
        rotations_per_minute: own.rotations_per_minute,
        logical_block_bytes: root.number(&file("queue/logical_block_size")),
        physical_block_bytes: root.number(&file("queue/physical_block_size")),
        scheduler: root.text(&file("queue/scheduler")).map(|text| bracketed(&text).unwrap_or(text.trim()).to_owned()),
        queue_requests: root.number(&file("queue/nr_requests")),
        write_cache: root.text(&file("queue/write_cache")),
        firmware: trimmed("device/firmware_rev").or_else(|| trimmed("device/rev")).filter(|text| !text.is_empty()),
        queue: queue(root, name, attachment.path.as_deref()),
        slaves: root.names(&file("slaves")),
        link: attachment.link.filter(|_| is_virtual == Some(false)),
        transport: attachment.transport,
        is_virtual,
        raid_level: root.text(&file("md/level")),
        raid_members: root.number(&file("md/raid_disks")),
        raid_chunk_bytes: root.number(&file("md/chunk_size")).filter(|bytes| *bytes > 0),
        data_sheet: None,
    };
    Some(Disk { data_sheet: Drive::sheet(&found), ..found })
}

/// Whether a block device is no disk: a path to an `NVMe` disk, an optical drive, memory, an `eMMC`'s boot partition.
fn is_no_disk(root: &Sysroot, name: &str) -> bool {
    /// `TYPE_ROM` and `TYPE_WORM` (`include/scsi/scsi_proto.h`).
    const OPTICAL: [u32; 2] = [5, 4];
    let number = |file: &str| root.number::<u32>(&format!("{BLOCK}/{name}/{file}"));
    let is_memory = ["zram", "ram"].iter().any(|word| number_after(name, word).is_some());
    let is_firmware = name.starts_with("mmcblk") && (name.contains("boot") || name.ends_with("rpmb"));
    is_memory
        || is_firmware
        || number("hidden") == Some(1)
        || number("device/type").is_some_and(|kind| OPTICAL.contains(&kind))
}

fn queue(root: &Sysroot, name: &str, path: Option<&str>) -> DiskQueue {
    let number = |file: &str| root.number::<u64>(&format!("{BLOCK}/{name}/queue/{file}"));
    let is = |file: &str| number(file).map(|value| value != 0);
    // Encodings: kernel documentation, `ABI/stable/sysfs-block`.
    let word = |file: &str, words: [&str; 3]| {
        let value = usize::try_from(number(file)?).ok()?;
        words.get(value).map(|word| (*word).to_owned())
    };
    let queues = root.names(&format!("{BLOCK}/{name}/mq")).len();
    let hardware_queues = u32::try_from(queues).ok().filter(|queues| *queues > 0);
    DiskQueue {
        hardware_queues,
        // The queue depth of a SCSI or ATA disk; 32 with NCQ.
        device_requests: root
            .number(&format!("{BLOCK}/{name}/device/queue_depth"))
            .filter(|requests| *requests > 0)
            .or_else(|| nvme_requests(root, path?, hardware_queues?)),
        force_unit_access: is("fua"),
        polled: is("io_poll"),
        merges: word("nomerges", ["all", "simple", "none"]),
        completes_on: word("rq_affinity", ["any", "group", "same"]),
        write_back_throttle_seconds: number("wbt_lat_usec").map(|microseconds| microseconds as f64 * 1e-6),
        counted: is("iostats"),
    }
}

/// The sum of an `NVMe` controller's submission queues: `sqsize` counts from 0, and one entry stays empty.
fn nvme_requests(root: &Sysroot, path: &str, queues: u32) -> Option<u32> {
    let one: u32 = root.number(&format!("{}/sqsize", links::nvme_controller(path)?)).filter(|one| *one > 0)?;
    one.checked_mul(queues)
}

fn last_name(path: &Path) -> Option<String> {
    path.file_name()?.to_str().map(str::to_owned)
}

/// The devices behind a resolved absolute directory; empty for memory, network, ZFS and a container's root.
pub fn storage(root: &Sysroot, directory: &Path) -> Storage {
    let found = mounts::read(root);
    let mut storage = Storage { directory: directory.display().to_string(), ..Storage::default() };
    let Some(mount) = mounts::containing(&found, directory) else { return storage };
    storage.mount_point = Some(mount.point.display().to_string());
    storage.filesystem = Some(mount.filesystem.clone());
    storage.source = Some(mount.source.clone());
    storage.options.clone_from(&mount.options);
    let mut descent = Descent { root, mounts: &found, chain: Vec::new(), way: Vec::new(), memory: None };
    descent.mounted(mount, 0);
    (storage.chain, storage.memory) = (descent.chain, descent.memory);
    storage
}

/// The devices that every request passes, down to several alongside or to a loop device (page cache below).
pub(crate) fn common_way(chain: &[StorageDevice]) -> impl Iterator<Item = &StorageDevice> {
    let alone = |device: &&StorageDevice| chain.iter().filter(|other| other.depth == device.depth).count() == 1;
    let end = chain.iter().position(|device| device.kind == "loop").map_or(chain.len(), |index| index + 1);
    chain[..end].iter().take_while(alone)
}

/// The source of [`storage`].
pub fn storage_source() -> String {
    format!("{}, {}", label(mounts::FILE), label(BY_NAME))
}

/// A device's name, and for a partition its disk's, from the link `…/block/sda/sda1`.
fn by_number(root: &Sysroot, number: &str) -> Option<(String, Option<String>)> {
    let target = root.link(&format!("{BY_NUMBER}/{number}"))?;
    let parent = target.parent().and_then(last_name).filter(|parent| parent != "block");
    Some((last_name(&target)?, parent))
}

struct Descent<'d> {
    root: &'d Sysroot,
    mounts: &'d [Mount],
    chain: Vec<StorageDevice>,
    /// File systems and devices from the mount to the current position.
    way: Vec<String>,
    memory: Option<String>,
}

impl Descent<'_> {
    fn mounted(&mut self, mount: &Mount, depth: u32) {
        self.way.push(mount.filesystem.clone());
        match filesystems::class_of(&mount.filesystem) {
            Some(FilesystemClass::Memory) => self.ends_in_memory(),
            Some(FilesystemClass::Remote) => {}
            Some(FilesystemClass::Overlay) => self.upper(mount, depth),
            Some(FilesystemClass::Disk) | None => {
                for name in self.devices(mount) {
                    self.device(&name, depth);
                }
            }
        }
        self.way.pop();
    }

    /// The current file system or device keeps its data in memory; the first such path is kept.
    fn ends_in_memory(&mut self) {
        self.memory.get_or_insert_with(|| self.way.join(" on "));
    }

    /// Continues in an overlay's upper folder, which receives its writes; a container's root has none that is visible.
    fn upper(&mut self, overlay: &Mount, depth: u32) {
        let upper = overlay.super_options.iter().find_map(|option| option.strip_prefix("upperdir="));
        let outside = overlay.point.parent().is_none();
        let Some(upper) = upper.map(mounts::unescape).filter(|_| !outside) else { return };
        let below = mounts::containing(self.mounts, Path::new(&upper));
        if let Some(below) =
            below.filter(|below| filesystems::class_of(&below.filesystem) != Some(FilesystemClass::Overlay))
        {
            self.mounted(below, depth);
        }
    }

    fn devices(&self, mount: &Mount) -> Vec<String> {
        // bcachefs lists its devices with colons, and may have the number of the first.
        let named: Vec<String> = mount.source.split(':').filter_map(|source| self.by_source(source)).collect();
        if let Some((name, _)) = by_number(self.root, &mount.device).filter(|_| named.len() < 2) {
            return vec![name];
        }
        match named.as_slice() {
            [one] if mount.filesystem == "btrfs" => self.btrfs_devices(one).unwrap_or(named),
            _ => named,
        }
    }

    fn by_source(&self, source: &str) -> Option<String> {
        let name = source.strip_prefix("/dev/")?;
        if let Some(mapped) = name.strip_prefix("mapper/") {
            let is_it = |device: &String| self.file(device, "dm/name").as_deref() == Some(mapped);
            return self.root.names(BY_NAME).into_iter().find(is_it);
        }
        self.file(name, "dev").map(|_| name.to_owned())
    }

    fn btrfs_devices(&self, one: &str) -> Option<Vec<String>> {
        const BTRFS: &str = "sys/fs/btrfs";
        let members = |id: String| self.root.names(&format!("{BTRFS}/{id}/devices"));
        self.root.names(BTRFS).into_iter().map(members).find(|members| members.iter().any(|name| name == one))
    }

    fn file(&self, device: &str, file: &str) -> Option<String> {
        self.root.text(&format!("{BY_NAME}/{device}/{file}"))
    }

    fn device(&mut self, name: &str, depth: u32) {
        /// A recorded folder may loop.
        const DEEPEST: u32 = 16;
        if depth > DEEPEST || self.chain.iter().any(|device| device.name == name) {
            return;
        }
        self.way.push(name.to_owned());
        let whole = self.file(name, "dev").and_then(|number| by_number(self.root, &number)).and_then(|(_, disk)| disk);
        let kind = self.kind(name);
        let backing_file = self.file(name, "loop/backing_file");
        self.chain.push(StorageDevice {
            name: name.to_owned(),
            depth,
            kind: kind.to_owned(),
            disk: if kind == "partition" { whole.clone() } else { Some(name.to_owned()) },
            backing_file: backing_file.clone(),
            direct: backing_file.as_ref().and_then(|_| self.file(name, "loop/dio")).map(|text| text == "1"),
        });
        if kind == "memory" {
            self.ends_in_memory();
        }
        if let Some(whole) = whole.filter(|_| kind == "partition") {
            self.device(&whole, depth + 1);
        }
        for slave in self.root.names(&format!("{BY_NAME}/{name}/slaves")) {
            self.device(&slave, depth + 1);
        }
        if let Some(file) = backing_file {
            self.backing(&file, depth + 1);
        }
        self.way.pop();
    }

    fn kind(&self, name: &str) -> &'static str {
        match () {
            () if self.file(name, "partition").is_some() => "partition",
            // The first word of `dm/uuid` is the kind of mapping (Linux, `drivers/md/dm.c`).
            () if self.file(name, "dm/uuid").is_some_and(|uuid| uuid.starts_with("mpath-")) => "multipath",
            () if self.file(name, "dm/name").is_some() => "mapper",
            () if self.file(name, "md/level").is_some() => "raid",
            () if self.file(name, "loop/backing_file").is_some() => "loop",
            () if ["zram", "ram"].iter().any(|word| number_after(name, word).is_some()) => "memory",
            () => "disk",
        }
    }

    /// Continues at the file behind a loop device. A file without a name is memory (`memfd_create(2)`).
    fn backing(&mut self, file: &str, depth: u32) {
        if file.starts_with("/memfd:") {
            self.way.push("a file in memory".to_owned());
            self.ends_in_memory();
            self.way.pop();
            return;
        }
        let mounts = self.mounts;
        if let Some(below) = mounts::containing(mounts, Path::new(file)) {
            self.mounted(below, depth);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    /// A machine with these mounts and whole disks `sda` (8:0), `sdb` (8:16) and `loop0` (7:0) on a file.
    fn mounted(name: &str, mounts: &str) -> Fixture {
        let mut fixture = Fixture::new(name).file("proc/self/mountinfo", mounts);
        for (disk, number) in [("sda", "8:0"), ("sdb", "8:16"), ("loop0", "7:0"), ("zram0", "253:0")] {
            fixture = fixture
                .file(&format!("sys/class/block/{disk}/dev"), &format!("{number}\n"))
                .link(&format!("sys/dev/block/{number}"), &format!("../../devices/pci0/block/{disk}"));
        }
        fixture.file("sys/class/block/loop0/loop/backing_file", "/images/one.img\n")
    }

    fn memory(fixture: &Fixture, directory: &str) -> Option<String> {
        storage(&fixture.root(), Path::new(directory)).memory
    }

    fn chain(fixture: &Fixture, directory: &str) -> Vec<(u32, String, String)> {
        let found = storage(&fixture.root(), Path::new(directory)).chain;
        found.into_iter().map(|device| (device.depth, device.name, device.kind)).collect()
    }

    fn step(depth: u32, name: &str, kind: &str) -> (u32, String, String) {
        (depth, name.to_owned(), kind.to_owned())
    }

    #[test]
    fn an_overlay_is_followed_to_what_it_writes_to() {
        let mounts = "1 0 8:0 / / rw - ext4 /dev/sda rw\n2 1 8:16 / /fast\\040disk rw - xfs /dev/sdb rw\n\
             3 1 0:50 / /merged rw - overlay overlay rw,lowerdir=/lower,upperdir=/fast\\040disk/up,workdir=/fast/work\n\
             4 1 0:51 / /merged/again rw - overlay overlay rw,lowerdir=/lower,upperdir=/merged/up\n";
        let fixture = mounted("overlay", mounts);
        assert_eq!(chain(&fixture, "/merged/x"), [step(0, "sdb", "disk")]);
        assert_eq!(chain(&fixture, "/merged/again"), []);
    }

    #[test]
    fn a_containers_root_names_a_folder_that_is_not_there() {
        let mounts = "1 0 0:50 / / rw - overlay overlay rw,lowerdir=/l,upperdir=/var/lib/docker/x/diff\n\
             2 1 8:0 / /var/lib rw - ext4 /dev/sda rw\n";
        assert_eq!(chain(&mounted("container", mounts), "/home"), []);
    }

    #[test]
    fn a_loop_device_is_followed_to_the_disk_under_its_file_and_has_its_own_settings() {
        let mounts = "1 0 8:0 / / rw - ext4 /dev/sda rw\n2 1 7:0 / /mnt rw - xfs /dev/loop0 rw\n";
        let fixture = mounted("loop", mounts);
        assert_eq!(chain(&fixture, "/mnt/x"), [step(0, "loop0", "loop"), step(1, "sda", "disk")]);
        let top = |fixture: &Fixture| {
            let found = storage(&fixture.root(), Path::new("/mnt")).chain;
            let common: Vec<&StorageDevice> = common_way(&found).collect();
            let [top] = common.as_slice() else { panic!("the page cache is below: {common:?}") };
            (top.backing_file.clone(), top.direct)
        };
        let file = || Some("/images/one.img".to_owned());
        assert_eq!(top(&fixture), (file(), None));
        for (text, direct) in [("0\n", false), ("1\n", true)] {
            let fixture = mounted("loop-dio", mounts).file("sys/class/block/loop0/loop/dio", text);
            assert_eq!(top(&fixture), (file(), Some(direct)));
        }
        let mounts = "1 0 7:0 / / rw - xfs /dev/loop0 rw\n";
        assert_eq!(chain(&mounted("snake", mounts), "/"), [step(0, "loop0", "loop")]);
    }

    #[test]
    fn a_chain_that_ends_in_memory_is_reported() {
        let mounts = "1 0 8:0 / / rw - ext4 /dev/sda rw\n2 1 0:50 / /images rw - tmpfs tmpfs rw\n\
             3 1 7:0 / /mnt rw - xfs /dev/loop0 rw\n4 1 253:0 / /z rw - ext4 /dev/zram0 rw\n\
             5 1 0:51 / /merged rw - overlay overlay rw,lowerdir=/lower,upperdir=/images/up,workdir=/images/work\n\
             6 1 0:52 / /over rw - overlay overlay rw,lowerdir=/lower,upperdir=/z/up,workdir=/z/work\n\
             7 1 9:0 / /array rw - btrfs /dev/md0 rw\n8 1 0:53 / /live rw - overlay overlay rw,upperdir=/gone/up\n";
        let fixture = mounted("memory", mounts)
            .file("sys/class/block/md0/dev", "9:0\n")
            .file("sys/class/block/md0/md/level", "raid1\n")
            .file("sys/class/block/md0/slaves/sda/dev", "8:0\n")
            .file("sys/class/block/md0/slaves/zram0/dev", "253:0\n")
            .link("sys/dev/block/9:0", "../../devices/virtual/block/md0");
        for (directory, way) in [
            ("/images/x", Some("tmpfs")),
            ("/mnt/x", Some("xfs on loop0 on tmpfs")),
            ("/z", Some("ext4 on zram0")),
            ("/merged", Some("overlay on tmpfs")),
            ("/over", Some("overlay on ext4 on zram0")),
            ("/array", Some("btrfs on md0 on zram0")),
            ("/live", None),
            ("/home", None),
        ] {
            assert_eq!(memory(&fixture, directory).as_deref(), way, "{directory}");
        }
        let root = "1 0 7:0 / / rw - ext4 /dev/loop0 rw\n";
        let nameless =
            mounted("memfd", root).file("sys/class/block/loop0/loop/backing_file", "/memfd:image (deleted)\n");
        assert_eq!(memory(&nameless, "/").as_deref(), Some("ext4 on loop0 on a file in memory"));
        assert_eq!(chain(&nameless, "/"), [step(0, "loop0", "loop")]);
    }

    #[test]
    fn a_btrfs_lies_on_all_its_devices() {
        let mounts =
            "1 0 0:40 /@ / rw - btrfs /dev/sda rw,subvol=/@\n2 1 0:41 / /b rw - bcachefs /dev/sda:/dev/sdb rw\n";
        let fixture = mounted("btrfs", mounts);
        assert_eq!(chain(&fixture, "/x"), [step(0, "sda", "disk")]);
        assert_eq!(chain(&fixture, "/b"), [step(0, "sda", "disk"), step(0, "sdb", "disk")]);
        let fixture = fixture
            .file("sys/fs/btrfs/features/raid56", "0\n")
            .file("sys/fs/btrfs/6a1c/devices/sda", "")
            .file("sys/fs/btrfs/6a1c/devices/sdb", "");
        assert_eq!(chain(&fixture, "/x"), [step(0, "sda", "disk"), step(0, "sdb", "disk")]);
    }

    #[test]
    fn a_bcachefs_with_the_number_of_its_first_device_lies_on_all() {
        let fixture = mounted("bcachefs", "2 1 8:0 / /b rw - bcachefs /dev/sda:/dev/sdb rw,noinodes_32bit\n");
        assert_eq!(chain(&fixture, "/b/x"), [step(0, "sda", "disk"), step(0, "sdb", "disk")]);
    }

    #[test]
    fn servers_and_memory_have_no_devices() {
        let mounts = "1 0 8:0 / / rw - ext4 /dev/sda rw\n2 1 0:60 / /nfs rw - nfs4 host:/export rw\n\
             3 1 0:61 / /host rw - virtiofs sda rw\n4 1 0:62 / /p9 rw - 9p /dev/sda rw\n5 1 0:63 / /tmp rw - tmpfs /dev/sdb rw\n\
             6 1 0:64 / /home/me/far rw - fuse.sshfs me@host:/ rw\n7 1 253:0 / /z rw - ext4 /dev/zram0 rw\n";
        let fixture = mounted("servers", mounts);
        for directory in ["/nfs", "/host", "/p9", "/tmp/x", "/home/me/far"] {
            assert_eq!(chain(&fixture, directory), [], "{directory}");
        }
        assert_eq!(chain(&fixture, "/z"), [step(0, "zram0", "memory")]);
    }

    #[test]
    fn queue_settings_are_read() {
        let fixture = Fixture::new("queue").file("sys/block/nvme0n1/size", "8\n").file("sys/block/sda/size", "8\n");
        let set = "fua 1,io_poll 0,nomerges 2,rq_affinity 1,wbt_lat_usec 75000,iostats 0";
        let set = set.split(',').filter_map(|setting| setting.split_once(' '));
        let of = |name: &str| format!("sys/block/nvme0n1/{name}");
        let fixture = set.fold(fixture, |fixture, (file, text)| fixture.file(&of(&format!("queue/{file}")), text));
        let fixture = fixture.file(&of("device/firmware_rev"), "4B2QJXD7  \n").file(&of("mq/0/cpu_list"), "0");
        let fixture = fixture.file(&of("mq/1/cpu_list"), "1").file("sys/block/sda/queue/nomerges", "7");
        let [nvme, plain] = &disks(&fixture.root(), false)[..] else { panic!("two disks") };
        assert_eq!(nvme.firmware.as_deref(), Some("4B2QJXD7"));
        let expected = DiskQueue {
            hardware_queues: Some(2),
            device_requests: None,
            force_unit_access: Some(true),
            polled: Some(false),
            merges: Some("none".into()),
            completes_on: Some("group".into()),
            write_back_throttle_seconds: Some(0.075),
            counted: Some(false),
        };
        assert_eq!(nvme.queue, expected);
        assert_eq!((&plain.queue, &plain.firmware), (&DiskQueue::default(), &None), "a value without a name");
    }

    #[test]
    fn the_queue_depth_of_a_disk_is_read() {
        let controller = "sys/devices/pci0000:00/0000:3d:00.0/nvme/nvme0";
        let fixture = Fixture::new("at-once")
            .file("sys/block/nvme0n1/size", "8\n")
            .file("sys/block/nvme0n1/dev", "259:0\n")
            .file("sys/block/nvme0n1/mq/0/cpu_list", "0")
            .file("sys/block/nvme0n1/mq/1/cpu_list", "1")
            .link("sys/dev/block/259:0", "../../devices/pci0000:00/0000:3d:00.0/nvme/nvme0/nvme0n1")
            .file(&format!("{controller}/nvme0n1/dev"), "259:0\n")
            .file("sys/block/sda/size", "8\n")
            .file("sys/block/sda/device/queue_depth", "32\n")
            .file("sys/block/sdb/size", "8\n")
            .file("sys/block/sdb/device/queue_depth", "0\n")
            .file("sys/block/vda/size", "8\n")
            .file("sys/block/vda/mq/0/cpu_list", "0");
        let depths = |fixture: &Fixture| {
            disks(&fixture.root(), false).iter().map(|disk| disk.queue.device_requests).collect::<Vec<_>>()
        };
        assert_eq!(depths(&fixture), [None, Some(32), None, None], "what the controller does not say");
        let fixture = fixture.file(&format!("{controller}/sqsize"), "1023\n");
        assert_eq!(depths(&fixture), [Some(2046), Some(32), None, None], "two queues");
    }

    #[test]
    fn link_raid_level_and_virtual_disks_are_recognized() {
        let folder = "sys/devices/pci0000:00/0000:3d:00.0";
        let fixture = Fixture::new("disk-facts")
            .file("sys/block/nvme0n1/size", "2048\n")
            .file("sys/block/nvme0n1/dev", "259:0\n")
            .file("sys/block/nvme0n1/device/model", "A drive   \n")
            .link("sys/dev/block/259:0", "../../devices/pci0000:00/0000:3d:00.0/nvme/nvme0/nvme0n1")
            .file(&format!("{folder}/current_link_speed"), "8.0 GT/s PCIe\n")
            .file(&format!("{folder}/current_link_width"), "4\n")
            .file("sys/block/md0/size", "2048\n")
            .file("sys/block/md0/dev", "9:0\n")
            .file("sys/block/md0/md/level", "raid1\n")
            .file("sys/block/md0/md/raid_disks", "2\n")
            .link("sys/dev/block/9:0", "../../devices/virtual/block/md0");
        let found = disks(&fixture.root(), false);
        let [array, drive] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((array.raid_level.as_deref(), array.raid_members), (Some("raid1"), Some(2)));
        assert_eq!((array.is_virtual, &array.link, &array.transport), (Some(true), &None, &None));
        assert_eq!((drive.is_virtual, drive.transport.as_deref()), (Some(false), Some("nvme")));
        let link = drive.link.as_ref().unwrap();
        assert_eq!((link.detail.as_str(), link.below_maximum), ("PCIe 3.0 x4, 8 GT/s", None));
        let guest = disks(&fixture.root(), true);
        assert_eq!((guest[1].is_virtual, &guest[1].link), (None, &None), "the link may be invented");
    }
}
