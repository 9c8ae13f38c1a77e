//! Kinds of file system by the number that `statfs(2)` gives, and what each means for a measurement.

/// Where a file system keeps its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilesystemClass {
    /// On block devices of this machine.
    Disk,
    /// In memory: no device is used.
    Memory,
    /// Elsewhere: on a server, on the hypervisor's host, or in another process (FUSE).
    Remote,
    /// In another file system, which gets its requests.
    Overlay,
}

/// One kind of file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilesystemKind {
    /// Its usual name, as in the table of mounts if that is one name.
    pub name: &'static str,
    /// Where the data is.
    pub class: FilesystemClass,
    /// Whether changed blocks go to new places: direct I/O may be buffered, and a rewrite is not in place.
    pub copy_on_write: bool,
    /// The number in `statfs.f_type`.
    pub magic: u32,
}

const fn kind(name: &'static str, class: FilesystemClass, magic: u32) -> FilesystemKind {
    FilesystemKind { name, class, copy_on_write: false, magic }
}

const fn copying(name: &'static str, magic: u32) -> FilesystemKind {
    FilesystemKind { name, class: Disk, copy_on_write: true, magic }
}

use FilesystemClass::{Disk, Memory, Overlay, Remote};

/// Numbers from the kernel's `include/uapi/linux/magic.h` and `statfs(2)`; for other file systems the source is named.
const KINDS: &[FilesystemKind] = &[
    kind("ext4", Disk, 0xef53),
    kind("xfs", Disk, 0x5846_5342),
    kind("f2fs", Disk, 0xf2f5_2010),
    kind("jfs", Disk, 0x3153_464a),
    kind("reiserfs", Disk, 0x5265_4973),
    kind("nilfs2", Disk, 0x3434),
    kind("vfat", Disk, 0x4d44),
    kind("exfat", Disk, 0x2011_bab0),
    // The kernel's fs/ntfs3/super.c.
    kind("ntfs3", Disk, 0x7366_746e),
    kind("hfsplus", Disk, 0x482b),
    kind("udf", Disk, 0x1501_3346),
    kind("iso9660", Disk, 0x9660),
    kind("squashfs", Disk, 0x7371_7368),
    kind("erofs", Disk, 0xe0f5_e1e2),
    kind("zonefs", Disk, 0x5a4f_4653),
    // Shared between machines; each works on the block device itself.
    kind("gfs2", Disk, 0x0116_1970),
    kind("ocfs2", Disk, 0x7461_636f),
    copying("btrfs", 0x9123_683e),
    // OpenZFS, include/sys/zfs_vfsops_os.h: ZFS_SUPER_MAGIC.
    copying("zfs", 0x2fc1_2fc1),
    // bcachefs, fs/bcachefs_format.h: BCACHEFS_STATFS_MAGIC.
    copying("bcachefs", 0xca45_1a4e),
    kind("tmpfs", Memory, 0x0102_1994),
    kind("ramfs", Memory, 0x8584_58f6),
    kind("hugetlbfs", Memory, 0x9584_58f6),
    kind("nfs", Remote, 0x6969),
    kind("smb", Remote, 0x517b),
    kind("cifs", Remote, 0xff53_4d42),
    kind("smb3", Remote, 0xfe53_4d42),
    kind("ceph", Remote, 0x00c3_6400),
    kind("9p", Remote, 0x0102_1997),
    kind("afs", Remote, 0x5346_414f),
    kind("afs", Remote, 0x6b41_4653),
    kind("coda", Remote, 0x7375_7245),
    kind("ncpfs", Remote, 0x564c),
    // One number for every file system in user space, and for virtiofs, which speaks the same protocol to the host.
    kind("fuse", Remote, 0x6573_5546),
    // Lustre, lustre_user.h: LL_SUPER_MAGIC.
    kind("lustre", Remote, 0x0bd0_0bd0),
    // GNU coreutils, src/stat.c.
    kind("gpfs", Remote, 0x4750_4653),
    kind("beegfs", Remote, 0x1983_0326),
    kind("panfs", Remote, 0xaad7_aaea),
    kind("vboxsf", Remote, 0x786f_4256),
    kind("vmhgfs", Remote, 0xbacb_acbc),
    kind("prl_fs", Remote, 0x7c7c_6673),
    kind("hostfs", Remote, 0x00c0_ffee),
    kind("overlay", Overlay, 0x794c_7630),
    kind("aufs", Overlay, 0x6175_6673),
    kind("ecryptfs", Overlay, 0xf15f),
];

/// The kind with this `statfs.f_type`, if listed; only 32 bits count, as narrow fields are sign-extended.
pub fn filesystem_kind(magic: u64) -> Option<FilesystemKind> {
    KINDS.iter().find(|kind| u64::from(kind.magic) == magic & u64::from(u32::MAX)).copied()
}

/// The kind of file system with this name, if the table has it.
pub fn filesystem_named(name: &str) -> Option<FilesystemKind> {
    KINDS.iter().find(|kind| kind.name == name).copied()
}

pub(crate) fn class_of(name: &str) -> Option<FilesystemClass> {
    // `fuse.sshfs`, but not `fuseblk`, which lies on a block device.
    let family = name.split_once('.').map_or(name, |(family, _)| family);
    let listed = KINDS.iter().find(|kind| kind.name == family).map(|kind| kind.class);
    listed.or(match family {
        "nfs4" | "virtiofs" | "smbfs" => Some(Remote),
        "devtmpfs" => Some(Memory),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_known_by_number_and_by_name() {
        let class = |magic| filesystem_kind(magic).map(|kind| (kind.name, kind.class, kind.copy_on_write));
        assert_eq!(class(0xef53), Some(("ext4", Disk, false)));
        assert_eq!(class(0x0102_1994), Some(("tmpfs", Memory, false)));
        assert_eq!(class(0x9123_683e), Some(("btrfs", Disk, true)));
        assert_eq!(class(0x6969), Some(("nfs", Remote, false)));
        assert_eq!(class(0x794c_7630), Some(("overlay", Overlay, false)));
        assert_eq!(class(0xffff_ffff_ff53_4d42), Some(("cifs", Remote, false)), "sign-extended");
        assert_eq!(class(0x9fa0), None, "procfs holds no files of ours");
        assert_eq!(class(0), None);
        assert_eq!(class_of("fuse.sshfs"), Some(Remote));
        assert_eq!(class_of("virtiofs"), Some(Remote));
        assert_eq!(class_of("fuseblk"), None);
        assert_eq!(class_of("xfs"), Some(Disk));
    }

    #[test]
    fn no_number_stands_for_two_kinds() {
        let mut magics: Vec<u32> = KINDS.iter().map(|kind| kind.magic).collect();
        magics.sort_unstable();
        assert!(magics.windows(2).all(|pair| pair[0] < pair[1]), "{magics:x?}");
    }
}
