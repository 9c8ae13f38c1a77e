//! Records a machine in a folder, so that it can be discovered elsewhere.

use std::io;
use std::path::Path;

use model::machine::Machine;

use crate::discovery::discover;
use crate::disk::identity;
use crate::disk::storage::storage;
use crate::disk::throttle::io_limits;
use crate::memory::{modules, smbios};
use crate::sysroot::Sysroot;
use crate::system::{cloud, mounts};

/// Discovers this host and saves what it read under `folder`, absent or empty: stale files would count.
pub fn capture(folder: &Path) -> io::Result<Machine> {
    capture_from(Sysroot::host(), folder)
}

/// [`capture`] from any root.
pub fn capture_from(root: Sysroot, folder: &Path) -> io::Result<Machine> {
    std::fs::create_dir_all(folder)?;
    if std::fs::read_dir(folder)?.next().is_some() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("{} is not empty", folder.display())));
    }
    let root = root.recording();
    let machine = discover(&root);
    read_all(&root);
    root.write_record(folder, without_serials)?;
    Ok(machine)
}

/// Reads the devices behind every mount, so that the capture answers for any directory.
fn read_all(root: &Sysroot) {
    for mount in mounts::read(root) {
        let found = storage(root, &mount.point);
        io_limits(root, &found);
    }
}

/// Blanks serial numbers and identities, which discovery does not use.
fn without_serials(relative: &str, bytes: &[u8]) -> Vec<u8> {
    match relative {
        smbios::FILE => smbios::without_serials(bytes),
        modules::UDEV_DMI => modules::without_serials(&String::from_utf8_lossy(bytes)).into_bytes(),
        _ => {
            let known = identity::without_serials(relative, bytes).or_else(|| cloud::without_identity(relative, bytes));
            known.unwrap_or_else(|| bytes.to_vec())
        }
    }
}
