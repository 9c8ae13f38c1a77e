//! What the page cache holds of the test files before a window, and how many requests a window may begin. Cold: the files are
//! flushed and dropped before each window, and no block is read twice in it. Warm: the files are read once before the first
//! window. Bypassed: nothing is left in the cache that direct requests would have to be kept consistent with.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};

use model::experiment::DiskParams;
use model::io::{DiskCache, DiskEngine};
use model::number::percent_whole;
use model::wire::HeldFile;
use sys::clock::monotonic_raw_seconds;

use super::{layout, trouble};
use crate::engines::Trouble;

/// A larger share of a file in the cache is dropped once more: the kernel keeps pages that are in use.
const LEFT_OVER: f64 = 0.05;
const FILL_BYTES: usize = 1 << 20;

/// Requests that the lanes of a thread may still begin in a window.
pub(super) struct Allowance(AtomicU64);

const UNLIMITED: u64 = u64::MAX;

impl Default for Allowance {
    fn default() -> Self {
        Self(AtomicU64::new(UNLIMITED))
    }
}

impl Allowance {
    pub(super) fn set(&self, requests: Option<u64>) {
        self.0.store(requests.map_or(UNLIMITED, |requests| requests.min(UNLIMITED - 1)), Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn take(&self) -> bool {
        let left = self.0.load(Ordering::Relaxed);
        left == UNLIMITED
            || self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }

    pub(super) fn is_limited(&self) -> bool {
        self.0.load(Ordering::Relaxed) != UNLIMITED
    }

    pub(super) fn is_spent(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

/// Leaves nothing of a file in the cache.
pub(super) fn empty(held: &HeldFile) -> Result<(), Trouble> {
    let file = layout::open_to_look(held)?;
    let is_empty = sys::file::cached_bytes(&file).is_ok_and(|bytes| bytes == 0);
    if is_empty { Ok(()) } else { drop_from_cache(held, &file).map_err(Trouble::Failed) }
}

/// Reads a file into the cache, within this time.
pub(super) fn fill(held: &HeldFile, most_seconds: Option<f64>, filled: &AtomicU64) -> Result<(), Trouble> {
    let began = monotonic_raw_seconds();
    let file = layout::open_to_look(held)?;
    let bytes = file.metadata().map_or(held.bytes, |metadata| metadata.len());
    if sys::file::cached_bytes(&file).is_ok_and(|cached| cached >= bytes) {
        return Ok(());
    }
    let mut buffer = vec![0; FILL_BYTES];
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
                return Err(Trouble::Failed(trouble::failed(held, false, FILL_BYTES as u64, at, &why)));
            }
        }
    }
}

/// The kernel drops clean pages only, so the file is flushed first.
fn drop_from_cache(held: &HeldFile, file: &File) -> Result<(), String> {
    file.sync_data().and_then(|()| sys::file::drop_cached(file)).map_err(|error| {
        format!("dropping {} from the page cache: {}", trouble::test_file(held), trouble::words(&error))
    })
}

pub(super) struct Keeper {
    cache: DiskCache,
    files: Vec<(HeldFile, File)>,
    /// Share of the files in the cache before a window: the largest where it was to be cold, else the smallest.
    pub(super) share_before: Option<f64>,
    dropped_all: bool,
}

impl Keeper {
    /// For these files of a process run; keeps nothing without a device or past the cache.
    pub(super) fn new(params: &DiskParams, held: Option<&HeldFile>) -> Result<Self, Trouble> {
        let keeps = params.cache != DiskCache::Bypassed && params.engine != DiskEngine::Null;
        let files = held.filter(|_| keeps).into_iter().flat_map(HeldFile::all);
        let files =
            files.map(|held| Ok((held.clone(), layout::open_to_look(held)?))).collect::<Result<_, Trouble>>()?;
        Ok(Self { cache: params.cache, files, share_before: None, dropped_all: false })
    }

    pub(super) fn before_a_window(&mut self) -> Result<(), String> {
        if self.cache == DiskCache::Cold {
            self.drop_all()?;
            if self.is_left_over() {
                self.drop_all()?;
            }
            if self.is_left_over() {
                // Without the privilege the remaining share shows it.
                self.dropped_all |= sys::file::drop_all_cached().is_ok();
            }
        }
        let worse = if self.cache == DiskCache::Cold { f64::max } else { f64::min };
        self.share_before = self.share_before.into_iter().chain(self.cached_share()).reduce(worse);
        Ok(())
    }

    pub(super) fn dropped_all(&self) -> Option<bool> {
        (self.cache == DiskCache::Cold && !self.files.is_empty()).then_some(self.dropped_all)
    }

    fn is_left_over(&self) -> bool {
        self.cached_share().is_some_and(|share| share > LEFT_OVER)
    }

    fn drop_all(&self) -> Result<(), String> {
        self.files.iter().try_for_each(|(held, file)| drop_from_cache(held, file))
    }

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
        assert_eq!([(); 5].map(|()| allowance.take()), [true, true, true, false, false]);
        assert!(allowance.is_limited() && allowance.is_spent());
        allowance.set(None);
        assert!(allowance.take() && !allowance.is_limited());
        allowance.set(Some(10_000));
        let taken = AtomicU64::new(0);
        let take_all = || {
            while allowance.take() {
                taken.fetch_add(1, Ordering::Relaxed);
            }
        };
        std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(take_all))));
        assert_eq!(taken.into_inner(), 10_000);
    }
}
