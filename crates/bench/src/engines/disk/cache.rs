//! What the page cache holds of the test files before a window, and how much of it a thread may visit.
//!
//! Cold: before each window the files are flushed and dropped from the cache, what the kernel kept all the same is
//! looked at, and no block is visited twice in a window. Our own files are dropped, and what others have in the cache
//! stays there; only if ours do not go, all that is clean is dropped, which root alone may. Readahead is the kernel's and part of a cold figure: it reads more
//! than was asked for, and earlier. Warm: the files are read once before the first window. Bypassed: nothing is left in
//! the cache that requests past it would have to be kept consistent with.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use model::experiment::DiskParams;
use model::io::{DiskCache, DiskEngine};
use model::number::percent_whole;
use model::wire::HeldFile;
use sys::clock::monotonic_raw_seconds;

use super::{layout, trouble};
use crate::engines::{Preparing, Trouble};

/// A larger part of a file than this that stays in the cache is dropped once more: a page that was in use while the
/// kernel dropped the others stays.
const LEFT_OVER: f64 = 0.05;

/// Bytes of one read while a cache is warmed.
const FILLED_AT_ONCE: usize = 1 << 20;

/// How many requests the lanes of a thread may still begin in a window.
#[derive(Debug)]
pub(super) struct Allowance(AtomicU64);

/// No limit.
const UNLIMITED: u64 = u64::MAX;

impl Default for Allowance {
    fn default() -> Self {
        Self(AtomicU64::new(UNLIMITED))
    }
}

impl Clone for Allowance {
    /// As much as is left, on an account of its own.
    fn clone(&self) -> Self {
        Self(AtomicU64::new(self.0.load(Ordering::Relaxed)))
    }
}

impl Allowance {
    /// So many from now on; `None`: as many as they like.
    pub(super) fn set(&self, requests: Option<u64>) {
        self.0.store(requests.map_or(UNLIMITED, |requests| requests.min(UNLIMITED - 1)), Ordering::Relaxed);
    }

    /// Takes one, if there is one left.
    #[inline]
    pub(super) fn take(&self) -> bool {
        let left = self.0.load(Ordering::Relaxed);
        left == UNLIMITED
            || self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }

    /// Whether there is a limit.
    pub(super) fn is_limited(&self) -> bool {
        self.0.load(Ordering::Relaxed) != UNLIMITED
    }

    /// Whether none is left.
    pub(super) fn is_spent(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

/// Makes the cache what it is to be before the first window of a launch: warm, for which there are so many seconds, or
/// empty for requests past it.
///
/// # Errors
/// Failed where the files cannot be read or flushed, unavailable where that takes too long.
pub(super) fn before_a_launch(
    params: &DiskParams,
    (held, most_seconds): (&HeldFile, Option<f64>),
    launch: &mut dyn Preparing,
) -> Result<(), Trouble> {
    match params.cache {
        // Before each window.
        DiskCache::Cold => Ok(()),
        DiskCache::Bypassed => held.all().try_for_each(|held| open(held).and_then(|file| empty(held, &file))),
        DiskCache::Warm => layout::at_the_files(held, launch, &|held, filled| fill(held, most_seconds, filled)),
    }
}

/// Drops what the cache has of a file, if it has anything.
fn empty(held: &HeldFile, file: &File) -> Result<(), Trouble> {
    if sys::file::cached_bytes(file).is_ok_and(|bytes| bytes == 0) {
        return Ok(());
    }
    drop_from_cache(held, file).map_err(Trouble::Failed)
}

/// Reads a file into the cache, unless all of it is there; for so many seconds at most.
fn fill(held: &HeldFile, most_seconds: Option<f64>, filled: &AtomicU64) -> Result<(), Trouble> {
    let began = monotonic_raw_seconds();
    let file = open(held)?;
    let bytes = file.metadata().map_or(held.bytes, |metadata| metadata.len());
    if sys::file::cached_bytes(&file).is_ok_and(|cached| cached >= bytes) {
        return Ok(());
    }
    let mut buffer = vec![0; FILLED_AT_ONCE];
    let mut at = 0;
    loop {
        if let Some(most) = most_seconds.filter(|most| monotonic_raw_seconds() - began > *most) {
            let (done, file) = (percent_whole(at as f64 / bytes.max(1) as f64), trouble::test_file(held));
            let reason = format!(
                "there was no time to read {file} into the page cache: {done} of it in {most:.0} s; give it more \
                 with --time-budget"
            );
            return Err(Trouble::Unavailable(reason));
        }
        match file.read_at(&mut buffer, at) {
            Ok(0) => return Ok(()),
            Ok(read) => {
                at += read as u64;
                filled.fetch_add(read as u64, Ordering::Relaxed);
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => {
                let why = trouble::words(&error);
                return Err(Trouble::Failed(trouble::failed(held, false, FILLED_AT_ONCE as u64, at, &why)));
            }
        }
    }
}

fn open(held: &HeldFile) -> Result<File, Trouble> {
    sys::file::open(Path::new(&held.path), false, false, false)
        .map_err(|error| Trouble::Failed(format!("opening {}: {}", trouble::test_file(held), trouble::words(&error))))
}

/// The kernel drops clean pages only, so they are made clean first.
fn drop_from_cache(held: &HeldFile, file: &File) -> Result<(), String> {
    file.sync_data().and_then(|()| sys::file::drop_cached(file)).map_err(|error| {
        format!("dropping {} from the page cache: {}", trouble::test_file(held), trouble::words(&error))
    })
}

/// What keeps the cache of some files as it is to be, from window to window.
#[derive(Debug)]
pub(super) struct Keeper {
    cache: DiskCache,
    files: Vec<(HeldFile, File)>,
    share_before: Option<f64>,
    /// Whether the cache of the whole system had to be dropped.
    dropped_all: bool,
}

impl Keeper {
    /// One for all files of a launch. A single thread has it; without a device, or past the cache, there is nothing to
    /// keep.
    ///
    /// # Errors
    /// A file cannot be opened.
    pub(super) fn new(params: &DiskParams, held: &HeldFile) -> Result<Self, Trouble> {
        let keeps = params.cache != DiskCache::Bypassed && params.engine != DiskEngine::Null;
        let files = held.all().filter(|_| keeps).map(|held| Ok((held.clone(), open(held)?)));
        Ok(Self {
            cache: params.cache,
            files: files.collect::<Result<_, Trouble>>()?,
            share_before: None,
            dropped_all: false,
        })
    }

    /// One that keeps nothing, for the other threads.
    pub(super) fn of_nothing(params: &DiskParams) -> Self {
        Self { cache: params.cache, files: Vec::new(), share_before: None, dropped_all: false }
    }

    /// Makes the cache cold, where it is to be, and looks at what it holds.
    ///
    /// # Errors
    /// Flushing or dropping failed.
    pub(super) fn before_a_window(&mut self) -> Result<(), String> {
        if self.cache == DiskCache::Cold {
            self.drop_all()?;
            if self.is_left_over() {
                self.drop_all()?;
            }
            if self.is_left_over() {
                // Without the privilege the share that is left says so.
                self.dropped_all |= sys::file::drop_all_cached().is_ok();
            }
        }
        let worse = if self.cache == DiskCache::Cold { f64::max } else { f64::min };
        self.share_before = self.share_before.into_iter().chain(self.cached_share()).reduce(worse);
        Ok(())
    }

    /// Share of the files that was in the cache before a window: the most, where it was to be cold, else the least.
    pub(super) fn share_before(&self) -> Option<f64> {
        self.share_before
    }

    /// Whether the cache of the whole system had to be dropped, since ours stayed; `None` where nothing was to be cold.
    pub(super) fn dropped_all(&self) -> Option<bool> {
        (self.cache == DiskCache::Cold && !self.files.is_empty()).then_some(self.dropped_all)
    }

    /// Whether more of the files is in the cache than pages that were in use while it was emptied.
    fn is_left_over(&self) -> bool {
        self.cached_share().is_some_and(|share| share > LEFT_OVER)
    }

    fn drop_all(&self) -> Result<(), String> {
        self.files.iter().try_for_each(|(held, file)| drop_from_cache(held, file))
    }

    /// Share of the files that is in the cache now; `None` where the kernel does not tell, and of no files.
    fn cached_share(&self) -> Option<f64> {
        let (mut cached, mut bytes) = (0, 0);
        for (_, file) in &self.files {
            cached += sys::file::cached_bytes(file).ok()?;
            bytes += file.metadata().ok()?.len();
        }
        (bytes > 0).then(|| cached as f64 / bytes as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allowance_is_spent_one_by_one_and_no_limit_never_is() {
        let allowance = Allowance::default();
        assert!((0..1000).all(|_| allowance.take()) && !allowance.is_limited() && !allowance.is_spent());
        allowance.set(Some(3));
        let copy = allowance.clone();
        assert_eq!([(); 5].map(|()| allowance.take()), [true, true, true, false, false]);
        assert!(allowance.is_limited() && allowance.is_spent());
        assert!(copy.take() && !copy.is_spent(), "a copy has an account of its own");
        allowance.set(None);
        assert!(allowance.take() && !allowance.is_limited());
    }

    #[test]
    fn lanes_together_take_no_more_than_there_is() {
        let allowance = Allowance::default();
        allowance.set(Some(10_000));
        let taken = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while allowance.take() {
                        taken.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(taken.into_inner(), 10_000);
    }
}
