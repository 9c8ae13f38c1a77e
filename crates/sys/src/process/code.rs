//! This program's own code, read into memory before it is needed: a page that is first needed while a benchmark keeps a
//! slow disk busy waits for seconds behind its requests. Mapped pages stay in the page cache, shared by all workers.

use std::io;

use crate::calls::outcome;

/// Reads all mapped files of this program that are only read or run (its own and its libraries') and maps their pages;
/// returns their bytes. Fails with `EINVAL` before Linux 5.14 (the pages are then read ahead, and not mapped).
pub fn read_in() -> io::Result<u64> {
    let maps = std::fs::read_to_string("/proc/self/maps")?;
    let ranges: Vec<(usize, usize)> = maps.lines().filter_map(range_of_file).collect();
    // Reading ahead makes large requests; mapping alone would read a few pages at a time.
    let _ = advise_all(&ranges, libc::MADV_WILLNEED);
    advise_all(&ranges, libc::MADV_POPULATE_READ)?;
    Ok(ranges.iter().map(|(start, end)| (end - start) as u64).sum())
}

fn advise_all(ranges: &[(usize, usize)], advice: libc::c_int) -> io::Result<()> {
    ranges.iter().try_for_each(|(start, end)| {
        // SAFETY: neither advice changes memory or mappings; the kernel checks the range (`ENOMEM` if no longer mapped).
        outcome(unsafe { libc::madvise(*start as *mut libc::c_void, end - start, advice) }).map(drop)
    })
}

/// The range of a line of /proc/self/maps if it maps a file that is only read or run (kernel, `filesystems/proc.rst`:
/// range, permissions, offset, device, inode, path).
fn range_of_file(line: &str) -> Option<(usize, usize)> {
    let mut words = line.split_ascii_whitespace();
    let (range, permissions) = (words.next()?, words.next()?);
    let inode: u64 = words.nth(2)?.parse().ok()?;
    let (start, end) = range.split_once('-')?;
    let hexadecimal = |text| usize::from_str_radix(text, 16).ok();
    (inode != 0 && permissions.starts_with("r-")).then_some((hexadecimal(start)?, hexadecimal(end)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_that_are_read_or_run_count() {
        let file = "55d0-55f0 r-xp 00002000 fe:00 1234   /usr/bin/assay";
        assert_eq!(range_of_file(file), Some((0x55d0, 0x55f0)));
        assert_eq!(range_of_file("7f10-7f20 r--p 00000000 fe:00 99 /lib/x (deleted)"), Some((0x7f10, 0x7f20)));
        for other in [
            "55f0-5600 rw-p 00002000 fe:00 1234   /usr/bin/assay",
            "55f0-5600 ---p 00002000 fe:00 1234   /usr/bin/assay",
            "7ff0-7ff8 r-xp 00000000 00:00 0      [vdso]",
            "7ff0-7ff8 r--p 00000000 00:00 0",
            "",
            "nonsense r-xp 0 0 1 /x",
        ] {
            assert_eq!(range_of_file(other), None, "{other}");
        }
    }

    #[test]
    fn all_of_the_program_is_in_memory_afterwards() {
        let bytes = match read_in() {
            Ok(bytes) => bytes,
            Err(error) => return crate::file::tests::skip(format_args!("no pages can be mapped beforehand: {error}")),
        };
        let ours = std::env::current_exe().unwrap();
        let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let (mut checked, mut in_question) = (0, None);
        for line in smaps.lines() {
            if let Some((start, end)) = range_of_file(line).filter(|_| line.ends_with(&*ours.to_string_lossy())) {
                in_question = Some((end - start) as u64);
            } else if let Some(rest) = line.strip_prefix("Rss:") {
                let resident: u64 = rest.trim().trim_end_matches(" kB").parse().unwrap();
                if let Some(size) = in_question.take() {
                    assert_eq!(resident * 1024, size);
                    checked += size;
                }
            }
        }
        assert!(checked > 100_000 && checked <= bytes, "{checked} of {bytes}");
    }
}
