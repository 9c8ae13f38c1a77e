//! Lays the test file out, untimed: every byte is written once before anything is measured, because the device is not asked for
//! what was only reserved. Where the time is limited the file is what was written by then.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use areas::disk::footprint::{
    FILES_AT_ONCE, LAYOUT_CHUNK_BYTES as CHUNK_BYTES, LAYOUT_DEPTH as DEPTH, layout_pool_bytes,
};
use model::wire::HeldFile;
use sys::clock::monotonic_raw_seconds;
use sys::queue::{Engine, Options, Queue, Request};

use super::contents::{Contents, Origin, PAGE_BYTES, SECTOR_BYTES, SectorKind};
use super::{traffic, trouble};
use crate::engines::{Preparing, Trouble};
use crate::target::no_direct;

/// Pages, spread over the file, that are checked to see whether it is laid out.
const LOOKED_AT: u64 = 16;
/// Bytes written through the page cache before they are flushed and dropped from it.
const FLUSHED_AT_ONCE: u64 = 64 << 20;
/// Least size of a layout, however long it takes: a drive that takes seconds for it has no cache that would hold it.
pub(super) const LEAST_BYTES: u64 = 1 << 20;
/// The first write of a layout, in bytes: a second's work of a device of 64 kB/s.
const FIRST_BYTES: u64 = 64 << 10;
/// Most bytes of the layout in flight.
const IN_FLIGHT_BYTES: u64 = DEPTH as u64 * CHUNK_BYTES;

/// File systems that write zeros through the page cache where a file is reserved or extended, so that a layout would write to
/// the device twice (Linux: `fat_cont_expand` in fs/fat/file.c, which is vfat's and msdos's; `exfat_cont_expand` before 6.8;
/// `generic_cont_expand_simple`, used by HFS+, AFFS, ADFS and HPFS; `ntfs_extend`; and what drivers in user space make of
/// block devices, exfat-fuse among them). There a file grows as it is written.
const ZEROING: &[&str] =
    &["vfat", "msdos", "exfat", "hfs", "hfsplus", "ntfs", "ntfs3", "affs", "adfs", "hpfs", "fuseblk"];

const REPORT_INTERVAL: Duration = Duration::from_millis(250);

pub(super) fn open(held: &HeldFile, write: bool, direct: bool) -> io::Result<File> {
    sys::file::open(Path::new(&held.path), write, direct, false)
}

pub(super) fn open_to_look(held: &HeldFile) -> Result<File, Trouble> {
    open(held, false, false)
        .map_err(|error| Trouble::Failed(format!("opening {}: {}", trouble::test_file(held), trouble::words(&error))))
}

pub(super) fn carry_out(queue: &mut Queue, request: Request) -> io::Result<u32> {
    let mut done = Vec::with_capacity(1);
    queue.push(request)?;
    queue.wait(1, &mut done)?;
    done.pop().map_or_else(|| Err(io::Error::other("nothing came back")), |completion| completion.result)
}

/// Lays the files of all threads out unless they are: unavailable where there is too little room.
pub(super) fn ensure(held: &HeldFile, preparing: &mut dyn Preparing) -> Result<(), Trouble> {
    at_the_files(held, preparing, &lay_out)
}

/// Does something to each file, some of them at the same time, and reports progress to the runner.
pub(super) fn at_the_files(
    held: &HeldFile,
    preparing: &mut dyn Preparing,
    work: &(dyn Fn(&HeldFile, &AtomicU64) -> Result<(), Trouble> + Sync),
) -> Result<(), Trouble> {
    let files: Vec<&HeldFile> = held.all().collect();
    let bytes: u64 = files.iter().map(|file| file.bytes).sum();
    let moved = AtomicU64::new(0);
    files.chunks(FILES_AT_ONCE as usize).try_for_each(|some| {
        let (sender, over) = mpsc::channel::<()>();
        std::thread::scope(|scope| {
            // On threads of their own, so that progress is reported while a device is silent for seconds.
            let mut working = Vec::with_capacity(some.len());
            for &file in some {
                let (sender, moved) = (sender.clone(), &moved);
                working.push(scope.spawn(move || {
                    let _until_the_end = sender;
                    work(file, moved)
                }));
            }
            drop(sender);
            // Nothing is ever sent: the channel ends when all threads have dropped their ends.
            while over.recv_timeout(REPORT_INTERVAL) == Err(mpsc::RecvTimeoutError::Timeout) {
                preparing.progress((moved.load(Ordering::Relaxed) as f64 / bytes.max(1) as f64).min(1.0));
            }
            let panicked = |_| Err(Trouble::Failed("the preparation of the test file panicked".to_owned()));
            working.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(panicked))
        })
    })
}

/// A file with the size that a layout of limited time has left it with.
pub(super) fn as_laid_out(held: &HeldFile) -> HeldFile {
    let length = held.layout_seconds.and_then(|_| std::fs::metadata(&held.path).ok()).map(|metadata| metadata.len());
    let bytes = length.filter(|length| (LEAST_BYTES..held.bytes).contains(length)).unwrap_or(held.bytes);
    HeldFile { bytes, ..held.clone() }
}

/// Overwrites the files of all threads once more, in order, as preconditioning of a drive.
pub(super) fn write_over(held: &HeldFile, preparing: &mut dyn Preparing) -> Result<(), Trouble> {
    at_the_files(held, preparing, &|held, written| {
        let whole = HeldFile { layout_seconds: None, ..as_laid_out(held) };
        let done = open(held, true, false).and_then(|file| {
            write_all(&whole, true, written)?;
            file.sync_data()
        });
        done.map_err(|error| {
            let file = trouble::test_file(held);
            Trouble::Failed(format!("writing over {file} once more: {}", trouble::words(&error)))
        })
    })
}

fn lay_out(held: &HeldFile, written: &AtomicU64) -> Result<(), Trouble> {
    let trouble = |doing: &str, error: &io::Error| {
        let reason = format!("{doing} {}: {}", trouble::test_file(held), trouble::words(error));
        let unavailable = trouble::is_for_want_of_room(error) || trouble::is_not_supported(error);
        if unavailable { Trouble::Unavailable(reason) } else { Trouble::Failed(reason) }
    };
    let file = open(held, true, false).map_err(|error| trouble("opening", &error))?;
    if is_laid_out(&file, held).map_err(|error| trouble("looking at", &error))? {
        return Ok(());
    }
    make_room(&file, held).map_err(|error| trouble("reserving room for", &error))?;
    let bytes = match write_all(held, takes_direct(held), written) {
        // Some file systems in user space open a file for direct I/O, and then refuse every request.
        Err(error) if trouble::is_not_supported(&error) => write_all(held, false, written),
        bytes => bytes,
    };
    let bytes = bytes.map_err(|error| {
        let _ = if trouble::is_for_want_of_room(&error) { file.set_len(0) } else { Ok(()) };
        trouble("laying out", &error)
    })?;
    let held = &HeldFile { bytes, ..held.clone() };
    file.set_len(bytes).and_then(|()| flush_and_drop(&file)).map_err(|error| trouble("flushing", &error))?;
    match find_wrong(held).map_err(|error| trouble("reading back", &error))? {
        None => Ok(()),
        Some(wrong) => Err(Trouble::Failed(format!("laying out {}: {wrong}", trouble::test_file(held)))),
    }
}

/// Whether an existing file takes direct requests; otherwise it is laid out through the page cache.
pub(super) fn takes_direct(held: &HeldFile) -> bool {
    if open(held, true, false).is_ok_and(|file| no_direct(&file).is_some()) {
        return false;
    }
    // An empty file reads nothing in any case.
    let is_refusal = |error: &io::Error| trouble::is_not_supported(error) && error.raw_os_error().is_some();
    !open_reader(held, true).and_then(|mut reader| read_page(&mut reader, 0)).is_err_and(|error| is_refusal(&error))
}

fn flush_and_drop(file: &File) -> io::Result<()> {
    file.sync_data()?;
    sys::file::drop_cached(file)
}

fn grows(held: &HeldFile) -> bool {
    ZEROING.contains(&held.filesystem.as_str())
}

/// Reserves blocks for the whole file where the file system can, and sets its length; of a file that grows neither.
pub(super) fn make_room(file: &File, held: &HeldFile) -> io::Result<()> {
    if grows(held) {
        return file.set_len(0);
    }
    match sys::file::reserve(file, held.bytes) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => file.set_len(held.bytes),
        // It may have been longer, and `reserve` shortens nothing.
        other => other.and_then(|()| file.set_len(held.bytes)),
    }
}

/// Whether the file has its length, no holes, nothing that was only reserved, and our pages wherever it is checked.
fn is_laid_out(file: &File, held: &HeldFile) -> io::Result<bool> {
    if file.metadata()?.len() != held.bytes {
        return Ok(false);
    }
    if let Some(extents) = sys::file::extents(file)? {
        let there = extents.written_bytes.saturating_add(extents.other_bytes);
        if extents.unwritten_bytes > 0 || there < held.bytes {
            return Ok(false);
        }
    }
    Ok(find_wrong(held)?.is_none())
}

/// What is wrong with some pages all over the file, and with the last ones, which an interrupted layout would lack.
fn find_wrong(held: &HeldFile) -> io::Result<Option<String>> {
    let contents = Contents::of_file(held);
    let page = PAGE_BYTES as u64;
    let pages = held.bytes / page;
    let spread = (0..LOOKED_AT.min(pages)).map(|index| pages * index / LOOKED_AT.min(pages));
    let chunk_pages = CHUNK_BYTES / page;
    let last = (0..2 * u64::from(DEPTH)).filter_map(|chunk| pages.checked_sub(1 + chunk * chunk_pages));
    let mut reader = open_reader(held, takes_direct(held))?;
    for offset in spread.chain(last).map(|index| index * page) {
        read_page(&mut reader, offset)?;
        let Some(read) = reader.arena_part(0..PAGE_BYTES) else { continue };
        if let Err(wrong) = contents.check(read, offset, |_| true) {
            return Ok(Some(wrong.to_string()));
        }
    }
    Ok(None)
}

fn open_reader(held: &HeldFile, direct: bool) -> io::Result<Queue> {
    let file = open(held, false, direct)?;
    Queue::open(file, &Options { engine: Engine::Sync, depth: 1, arena_bytes: PAGE_BYTES })
}

fn read_page(reader: &mut Queue, offset: u64) -> io::Result<()> {
    let length = u32::try_from(PAGE_BYTES).unwrap_or(u32::MAX);
    let request = Request { token: 0, write: false, offset, buffer: 0, bytes: length };
    check_moved(carry_out(reader, request)?, length)
}

fn check_moved(bytes: u32, expected: u32) -> io::Result<()> {
    let short = || io::Error::other(format!("only {bytes} of {expected} bytes were moved"));
    if bytes == expected { Ok(()) } else { Err(short()) }
}

fn open_queue(held: &HeldFile, direct: bool, arena_bytes: usize) -> io::Result<Queue> {
    let open = || open(held, true, direct);
    if let Ok(queue) = Queue::open(open()?, &Options { engine: Engine::IoUring, depth: DEPTH, arena_bytes }) {
        return Ok(queue);
    }
    Queue::open(open()?, &Options { engine: Engine::Sync, depth: 1, arena_bytes })
}

/// Writes the whole file in order, or as much of it as there is time for; how many bytes.
pub(super) fn write_all(held: &HeldFile, direct: bool, written: &AtomicU64) -> io::Result<u64> {
    let mut hurry = Hurry::begin(held.layout_seconds, if direct { IN_FLIGHT_BYTES } else { FLUSHED_AT_ONCE });
    let mut end = held.bytes;
    let chunk = usize::try_from(CHUNK_BYTES).unwrap_or(usize::MAX);
    let arena_bytes = layout_pool_bytes(held.bytes);
    let mut queue = open_queue(held, direct, arena_bytes)?;
    let cached = (!direct).then(|| open(held, true, false)).transpose()?;
    // A write beyond the end of a growing file would fill the gap with zeros first.
    let depth = if queue.engine() == Engine::IoUring && !grows(held) { DEPTH } else { 1 };
    let contents = Contents::of_file(held);
    contents.fill(queue.arena(), 0);
    let mut free: Vec<u32> = (0..depth).collect();
    let mut lengths = vec![0_u32; depth as usize];
    let mut done = Vec::with_capacity(depth as usize);
    let (mut offset, mut slot) = (0_u64, 0_usize);
    while offset < end || queue.in_flight() > 0 {
        while let Some(token) = free.pop_if(|_| offset < end && hurry.has_room(offset)) {
            let Some(length) = hurry.next_piece(offset, end) else {
                free.push(token);
                end = offset;
                break;
            };
            let bytes = usize::try_from(length).unwrap_or(chunk);
            let buffer = slot * chunk;
            // More slots than requests in flight, in the same order: free unless one request is very late.
            let Some(part) = queue.arena_part(buffer..buffer + bytes) else {
                free.push(token);
                break;
            };
            let first = u32::try_from(buffer / SECTOR_BYTES).unwrap_or(0);
            let origin = Origin { count: offset / CHUNK_BYTES, ..Origin::default() };
            contents.stamp(part, first, offset, SectorKind::Page, origin);
            let bytes = u32::try_from(length).unwrap_or(u32::MAX);
            queue.push(Request { token, write: true, offset, buffer, bytes })?;
            lengths[token as usize] = bytes;
            (offset, slot) = (offset + length, (slot + 1) % (arena_bytes / chunk));
        }
        queue.wait(1, &mut done)?;
        for completion in done.drain(..) {
            let (token, length) = (completion.token, lengths[completion.token as usize]);
            check_moved(completion.result?, length)?;
            written.fetch_add(length.into(), Ordering::Relaxed);
            traffic::laid_out(length.into());
            free.push(token);
            hurry.arrived(if direct { length.into() } else { 0 });
        }
        if let Some(file) = cached.as_ref().filter(|_| queue.in_flight() == 0 && !hurry.has_room(offset)) {
            flush_and_drop(file)?;
            hurry.arrived(offset - hurry.arrived);
        }
    }
    Ok(end)
}

/// A layout with a time limit. The device cannot give requests back, so it gets no more than it has shown to take.
#[derive(Clone, Copy, Debug)]
struct Hurry {
    began: f64,
    limit: Option<f64>,
    most: u64,
    arrived: u64,
}

impl Hurry {
    fn begin(limit: Option<u32>, most: u64) -> Self {
        Self { began: monotonic_raw_seconds(), limit: limit.map(f64::from), most, arrived: 0 }
    }

    fn arrived(&mut self, bytes: u64) {
        self.arrived += bytes;
    }

    /// Bytes that may be added to those in flight after this many were begun: as many again as have arrived.
    fn room(&self, begun: u64) -> u64 {
        self.arrived.max(FIRST_BYTES).min(self.most).saturating_sub(begun - self.arrived)
    }

    fn has_room(&self, begun: u64) -> bool {
        self.room(begun) > 0
    }

    /// Bytes of the next write, of a file that ends at `end`; `None` where there is no time for another one.
    fn next_piece(&self, begun: u64, end: u64) -> Option<u64> {
        let length = self.room(begun).min(CHUNK_BYTES).min(end - begun);
        let passed = monotonic_raw_seconds() - self.began;
        let is_time =
            begun < LEAST_BYTES || self.limit.is_none_or(|limit| self.expected(passed, begun + length) < limit);
        is_time.then_some(length)
    }

    /// When this many bytes will have arrived, in seconds since the beginning, at the rate of those in `passed`.
    fn expected(&self, passed: f64, bytes: u64) -> f64 {
        passed * (bytes as f64 / self.arrived.max(1) as f64).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn a_device_gets_as_much_again_as_it_has_taken_until_that_is_enough() {
        let mut hurry = Hurry::begin(None, IN_FLIGHT_BYTES);
        let (mut begun, mut pieces) = (0, Vec::new());
        while begun < 25 * MIB {
            while begun < 25 * MIB && hurry.has_room(begun) {
                let length = hurry.next_piece(begun, 25 * MIB).unwrap();
                assert!(length.is_multiple_of(FIRST_BYTES));
                pieces.push(length >> 10);
                begun += length;
            }
            let all = begun - hurry.arrived;
            hurry.arrived(all);
        }
        assert_eq!(pieces[..8], [64, 64, 128, 256, 512, 1024, 1024, 1024]);
        assert_eq!((hurry.room(begun), hurry.room(begun + 3 * MIB)), (8 * MIB, 5 * MIB));
    }

    #[test]
    fn nothing_is_begun_that_will_not_arrive_in_time() {
        let hurry = |limit, passed, arrived| Hurry {
            began: monotonic_raw_seconds() - passed,
            limit,
            most: IN_FLIGHT_BYTES,
            arrived,
        };
        // A megabyte in ten seconds: another one will be there in time, and a third one will not.
        let slow = hurry(Some(25.0), 10.0, MIB);
        assert_eq!(
            (slow.next_piece(MIB, 64 * MIB), slow.next_piece(2 * MIB - FIRST_BYTES, 64 * MIB)),
            (Some(MIB), Some(FIRST_BYTES))
        );
        assert_eq!(hurry(Some(25.0), 20.0, 2 * MIB).next_piece(2 * MIB, 64 * MIB), None);
        assert_eq!(hurry(None, 20.0, 2 * MIB).next_piece(2 * MIB, 64 * MIB), Some(MIB), "nobody waits");
        let late = hurry(Some(1.0), 20.0, LEAST_BYTES / 2);
        assert_eq!(late.next_piece(LEAST_BYTES / 2, 64 * MIB), Some(LEAST_BYTES / 2), "that much in any case");
    }
}
