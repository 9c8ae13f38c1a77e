//! Block devices, and the chain of them behind a directory.

use std::path::Path;

use model::machine::{Disk, Storage, StorageDevice};

use crate::mounts::{self, Mount};
use crate::sysroot::{Sysroot, label};

const BLOCK: &str = "sys/block";
const BY_NAME: &str = "sys/class/block";
const BY_NUMBER: &str = "sys/dev/block";
/// The kernel counts sectors of this size whatever the device's own (kernel documentation, `block/stat.rst`).
const SECTOR_BYTES: u64 = 512;

/// Every whole disk that has a size.
pub(crate) fn disks(root: &Sysroot) -> Vec<Disk> {
    root.names(BLOCK).iter().filter_map(|name| disk(root, name)).collect()
}

fn disk(root: &Sysroot, name: &str) -> Option<Disk> {
    let file = |file: &str| format!("{BLOCK}/{name}/{file}");
    let sectors: u64 = root.number(&file("size")).filter(|sectors| *sectors > 0)?;
    Some(Disk {
        name: name.to_owned(),
        device: root.text(&file("dev")),
        model: root.text(&file("device/model")).map(|model| model.trim().to_owned()),
        driver: root.link(&file("device/driver")).as_deref().and_then(last_name),
        bytes: sectors.checked_mul(SECTOR_BYTES),
        rotational: root.number::<u32>(&file("queue/rotational")).map(|spins| spins != 0),
        logical_block_bytes: root.number(&file("queue/logical_block_size")),
        physical_block_bytes: root.number(&file("queue/physical_block_size")),
        scheduler: root.text(&file("queue/scheduler")).map(|text| scheduler(&text)),
        queue_requests: root.number(&file("queue/nr_requests")),
        write_cache: root.text(&file("queue/write_cache")),
        slaves: root.names(&file("slaves")),
    })
}

/// The one in brackets, or the only one there is.
fn scheduler(text: &str) -> String {
    let bracketed = text.split_once('[').and_then(|(_, after)| after.split_once(']'));
    bracketed.map_or(text.trim(), |(word, _)| word).to_owned()
}

fn last_name(path: &Path) -> Option<String> {
    path.file_name()?.to_str().map(str::to_owned)
}

/// What is behind a directory, given by its absolute path with all links resolved.
///
/// The chain is empty where the file system lies on no block device that the kernel shows: tmpfs, overlay, network.
pub fn storage(root: &Sysroot, directory: &Path) -> Storage {
    let found = mounts::read(root);
    let mut storage = Storage { directory: directory.display().to_string(), ..Storage::default() };
    let Some(mount) = mounts::containing(&found, directory) else { return storage };
    storage.mount_point = Some(mount.point.display().to_string());
    storage.filesystem = Some(mount.filesystem.clone());
    storage.source = Some(mount.source.clone());
    storage.options.clone_from(&mount.options);
    if let Some(name) = device_name(root, mount) {
        descend(root, &name, 0, &mut storage.chain);
    }
    storage
}

/// Reads what is behind every mount, so that a capture can answer for any directory.
pub(crate) fn read_all(root: &Sysroot) {
    for mount in mounts::read(root) {
        storage(root, &mount.point);
    }
}

/// Where a directory's storage comes from, as a source.
pub fn storage_source() -> String {
    format!("{}, {}", label(mounts::FILE), label(BY_NAME))
}

/// The kernel's name of the device mounted: by its number, else (btrfs numbers its own) by the name it was mounted
/// under.
fn device_name(root: &Sysroot, mount: &Mount) -> Option<String> {
    if let Some((name, _)) = by_number(root, &mount.device) {
        return Some(name);
    }
    let name = mount.source.strip_prefix("/dev/")?;
    if let Some(mapped) = name.strip_prefix("mapper/") {
        let is_it = |device: &String| root.text(&format!("{BY_NAME}/{device}/dm/name")).as_deref() == Some(mapped);
        return root.names(BY_NAME).into_iter().find(is_it);
    }
    root.text(&format!("{BY_NAME}/{name}/dev")).map(|_| name.to_owned())
}

/// A device's name and, for a partition, its disk's, from the link `…/block/sda/sda1`.
fn by_number(root: &Sysroot, number: &str) -> Option<(String, Option<String>)> {
    let target = root.link(&format!("{BY_NUMBER}/{number}"))?;
    let parent = target.parent().and_then(last_name).filter(|parent| parent != "block");
    Some((last_name(&target)?, parent))
}

/// Adds a device and all that it is built on.
fn descend(root: &Sysroot, name: &str, depth: u32, chain: &mut Vec<StorageDevice>) {
    /// More layers than anyone stacks; a recorded folder may loop.
    const DEEPEST: u32 = 16;
    if depth > DEEPEST || chain.iter().any(|device| device.name == name) {
        return;
    }
    let file = |file: &str| root.text(&format!("{BY_NAME}/{name}/{file}"));
    let whole = file("dev").and_then(|number| by_number(root, &number)).and_then(|(_, parent)| parent);
    let partition = file("partition").is_some();
    let kind = match () {
        () if partition => "partition",
        () if file("dm/name").is_some() => "mapper",
        () if file("md/level").is_some() => "raid",
        () if file("loop/backing_file").is_some() => "loop",
        () => "disk",
    };
    let disk = if partition { whole.clone() } else { Some(name.to_owned()) };
    chain.push(StorageDevice { name: name.to_owned(), depth, kind: kind.to_owned(), disk });
    if let (true, Some(whole)) = (partition, whole) {
        descend(root, &whole, depth + 1, chain);
    }
    for slave in root.names(&format!("{BY_NAME}/{name}/slaves")) {
        descend(root, &slave, depth + 1, chain);
    }
}

#[cfg(test)]
mod tests {
    use super::scheduler;

    #[test]
    fn the_scheduler_in_use_is_the_one_in_brackets() {
        assert_eq!(scheduler("[mq-deadline] kyber none"), "mq-deadline");
        assert_eq!(scheduler("none"), "none");
    }
}
