//! Limits of control groups on a disk. Version 2 (`io.max`) applies through every group up to the root, version 1
//! (`blkio.throttle.*`) only in the process's own group (`admin-guide/cgroup-v1/blkio-controller.rst`; Linux 6.18).

use model::disk_target::{IoLimit, IoLimits};
use model::machine::Storage;

use crate::disk::storage::common_way;
use crate::sysroot::{Sysroot, label};
use crate::system::cgroup;

/// The limits on the devices behind a directory.
pub fn io_limits(root: &Sysroot, storage: &Storage) -> IoLimits {
    let mut limits = IoLimits::default();
    // Limits are set on whole devices.
    let devices = common_way(&storage.chain).filter(|device| device.kind != "partition");
    for device in devices {
        if let Some(number) = root.text(&format!("sys/class/block/{}/dev", device.name)) {
            add(&mut limits, root, &device.name, &number);
        }
    }
    limits
}

fn add(limits: &mut IoLimits, root: &Sysroot, name: &str, number: &str) {
    let folders = cgroup::folders(root, "io");
    for (folder, _) in folders.iter().filter(|(_, version)| *version == 2) {
        add_version_2(limits, root, folder, name, number);
    }
    if let Some((folder, _)) = cgroup::folders(root, "blkio").iter().find(|(_, version)| *version == 1) {
        add_version_1(limits, root, folder, name, number);
    }
}

/// `8:16 rbps=2097152 wbps=max riops=max wiops=120`
fn add_version_2(limits: &mut IoLimits, root: &Sysroot, folder: &str, name: &str, number: &str) {
    let file = format!("{folder}/io.max");
    let text = root.text(&file).unwrap_or_default();
    for field in of_device(&text, number).flat_map(str::split_ascii_whitespace) {
        if let Some((key, value)) = field.split_once('=')
            && let Some(kept) = limit_named(limits, key)
        {
            tighten(kept, value, || format!("{} ({key} of {name})", label(&file)));
        }
    }
}

/// `8:16 2097152`, one file per limit.
fn add_version_1(limits: &mut IoLimits, root: &Sysroot, folder: &str, name: &str, number: &str) {
    let files = [("rbps", "read_bps"), ("wbps", "write_bps"), ("riops", "read_iops"), ("wiops", "write_iops")];
    for (key, file) in files {
        let file = format!("{folder}/blkio.throttle.{file}_device");
        let text = root.text(&file).unwrap_or_default();
        if let (Some(value), Some(kept)) = (of_device(&text, number).next(), limit_named(limits, key)) {
            tighten(kept, value.trim(), || format!("{} (of {name})", label(&file)));
        }
    }
}

fn limit_named<'l>(limits: &'l mut IoLimits, key: &str) -> Option<&'l mut Option<IoLimit>> {
    Some(match key {
        "rbps" => &mut limits.read_bytes_per_second,
        "wbps" => &mut limits.write_bytes_per_second,
        "riops" => &mut limits.reads_per_second,
        "wiops" => &mut limits.writes_per_second,
        _ => return None,
    })
}

fn of_device<'t>(text: &'t str, number: &'t str) -> impl Iterator<Item = &'t str> {
    text.lines().filter_map(move |line| line.strip_prefix(number)?.strip_prefix(' '))
}

fn tighten(kept: &mut Option<IoLimit>, value: &str, source: impl Fn() -> String) {
    let value = value.parse::<f64>().ok().filter(|value| value.is_finite() && *value > 0.0);
    if let Some(value) = value
        && kept.as_ref().is_none_or(|kept| value < kept.value)
    {
        *kept = Some(IoLimit { value, source: source() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::storage::storage;
    use crate::fixture::Fixture;
    use std::path::Path;

    fn grouped(name: &str, mount: &str, membership: &str) -> Fixture {
        Fixture::new(name)
            .file("proc/self/mountinfo", &format!("1 0 8:1 / /data rw - ext4 /dev/sda1 rw\n{mount}\n"))
            .file("proc/self/cgroup", membership)
            .file("sys/class/block/sda1/dev", "8:1\n")
            .file("sys/class/block/sda1/partition", "1\n")
            .file("sys/class/block/sda/dev", "8:0\n")
            .link("sys/dev/block/8:1", "../../devices/pci0/block/sda/sda1")
            .link("sys/dev/block/8:0", "../../devices/pci0/block/sda")
    }

    fn limits(fixture: &Fixture) -> IoLimits {
        let root = fixture.root();
        io_limits(&root, &storage(&root, Path::new("/data/x")))
    }

    fn value(limit: Option<&IoLimit>) -> Option<f64> {
        limit.map(|limit| limit.value)
    }

    #[test]
    fn in_version_2_every_group_binds() {
        let fixture = grouped("io-max", "2 1 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw", "0::/a/b\n")
            .file("sys/fs/cgroup/a/io.max", "8:0 rbps=1000000 wbps=max riops=50 wiops=max\n8:00 rbps=1\n")
            .file("sys/fs/cgroup/a/b/io.max", "8:16 rbps=5 wbps=5 riops=5 wiops=5\n8:0 rbps=2000000 wbps=7 riops=40\n");
        let found = limits(&fixture);
        assert_eq!(value(found.read_bytes_per_second.as_ref()), Some(1e6));
        assert_eq!(value(found.write_bytes_per_second.as_ref()), Some(7.0));
        assert_eq!(value(found.reads_per_second.as_ref()), Some(40.0));
        assert_eq!(found.writes_per_second, None);
        let source = found.read_bytes_per_second.map(|limit| limit.source);
        assert_eq!(source.as_deref(), Some("/sys/fs/cgroup/a/io.max (rbps of sda)"));
    }

    #[test]
    fn in_version_1_only_the_own_group_binds() {
        let mount = "2 1 0:35 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio";
        let folder = "sys/fs/cgroup/blkio/a";
        let fixture = grouped("blkio", mount, "7:blkio:/a/b\n0::/\n")
            .file(&format!("{folder}/blkio.throttle.read_bps_device"), "8:0 100\n")
            .file(&format!("{folder}/b/blkio.throttle.read_bps_device"), "8:0 1048576\n")
            .file(&format!("{folder}/b/blkio.throttle.write_iops_device"), "8:0 120\n");
        let found = limits(&fixture);
        assert_eq!(value(found.read_bytes_per_second.as_ref()), Some(1_048_576.0));
        assert_eq!(value(found.writes_per_second.as_ref()), Some(120.0));
        assert_eq!((found.write_bytes_per_second, found.reads_per_second), (None, None));
    }
}
