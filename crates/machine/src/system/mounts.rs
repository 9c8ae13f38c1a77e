//! The kernel's table of mounts, `/proc/self/mountinfo` (proc(5)).

use std::path::{Path, PathBuf};

use crate::sysroot::Sysroot;

pub(crate) const FILE: &str = "proc/self/mountinfo";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    /// `major:minor`.
    pub(crate) device: String,
    pub(crate) root: PathBuf,
    pub(crate) point: PathBuf,
    pub(crate) options: Vec<String>,
    pub(crate) filesystem: String,
    pub(crate) source: String,
    /// Options of the file system; for control groups the controllers.
    pub(crate) super_options: Vec<String>,
}

pub(crate) fn read(root: &Sysroot) -> Vec<Mount> {
    root.text(FILE).map(|text| text.lines().filter_map(parse).collect()).unwrap_or_default()
}

/// The deepest mount above a path; of several on one point the last.
pub(crate) fn containing<'m>(mounts: &'m [Mount], path: &Path) -> Option<&'m Mount> {
    mounts.iter().filter(|mount| path.starts_with(&mount.point)).max_by_key(|mount| mount.point.components().count())
}

/// `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`
fn parse(line: &str) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let mut left = left.split(' ').skip(2);
    let (device, root, point, options) = (left.next()?, left.next()?, left.next()?, left.next()?);
    let mut right = right.split(' ');
    let (filesystem, source) = (right.next()?, right.next()?);
    let commas = |list: &str| list.split(',').map(str::to_owned).collect();
    Some(Mount {
        device: device.to_owned(),
        root: unescape(root).into(),
        point: unescape(point).into(),
        options: commas(options),
        filesystem: filesystem.to_owned(),
        source: unescape(source),
        super_options: commas(right.next().unwrap_or_default()),
    })
}

/// Undoes the kernel's escapes (`show_mountinfo`, `fs/proc_namespace.c`).
pub(crate) fn unescape(text: &str) -> String {
    const ESCAPES: [(&str, &str); 5] =
        [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\043", "#"), ("\\134", "\\")];
    ESCAPES.iter().fold(text.to_owned(), |text, (escape, plain)| text.replace(escape, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_optional_fields_and_escapes() {
        let mount = parse(r"36 35 98:0 /a /mnt\040two rw,noatime shared:1 master:2 - ext3 /dev/root rw,quota").unwrap();
        assert_eq!(mount.point, Path::new("/mnt two"));
        assert_eq!((mount.filesystem.as_str(), mount.source.as_str()), ("ext3", "/dev/root"));
        assert_eq!(mount.super_options, ["rw", "quota"]);
    }

    #[test]
    fn the_deepest_and_latest_mount_counts() {
        let text =
            "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:5 / /home rw - tmpfs one rw\n3 1 0:6 / /home rw - tmpfs two rw";
        let mounts: Vec<Mount> = text.lines().filter_map(parse).collect();
        assert_eq!(containing(&mounts, Path::new("/home/me")).unwrap().source, "two");
        assert_eq!(containing(&mounts, Path::new("/homes")).unwrap().source, "/dev/sda1");
    }
}
