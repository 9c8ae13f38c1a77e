//! The buffers of a thread: mapped, filled by their owner, with a report of the pages that were obtained.

use std::ops::Range;

use kernels::lines::CacheLine;
use model::isa::Pages;
use model::unit::format_size;
use sys::memory::{PageSize, Region};

use super::super::Trouble;

pub(super) fn obtained(region: &Region, pages: Pages) -> Option<f64> {
    let huge = region.huge_share()?;
    Some(if pages == Pages::Huge2M { huge } else { 1.0 - huge })
}

const ENOUGH_HUGE: f64 = 0.9;

/// Asks once more for huge pages where a filled region lacks the requested ones; [`obtained`] reports the outcome.
pub(super) fn want_huge_pages(region: &Region, pages: Pages) {
    if pages == Pages::Huge2M && region.huge_share().is_some_and(|share| share < ENOUGH_HUGE) {
        let _ = region.collapse();
    }
}

pub(super) fn map(bytes: usize, pages: Pages) -> Result<Region, Trouble> {
    let size = if pages == Pages::Huge2M { PageSize::Huge } else { PageSize::Base };
    Region::map(bytes, size).map_err(|error| {
        Trouble::Unavailable(format!("no memory for a buffer of {}: {error}", format_size(bytes as u64)))
    })
}

pub(super) struct Array {
    pub(super) region: Region,
    first_line: usize,
    lines: usize,
}

impl Array {
    /// An array of this many bytes, filled by a function that is the first to touch its pages.
    pub(super) fn filled(
        bytes: usize,
        pages: Pages,
        first_line: usize,
        fill: impl FnOnce(&mut [CacheLine]),
    ) -> Result<Self, Trouble> {
        let region = map(bytes + first_line * CacheLine::BYTES, pages)?;
        let mut array = Self { region, first_line, lines: bytes / CacheLine::BYTES };
        fill(array.lines_mut());
        want_huge_pages(&array.region, pages);
        Ok(array)
    }

    pub(super) fn lines(&self) -> &[CacheLine] {
        &CacheLine::slice(self.region.as_slice())[self.first_line..self.first_line + self.lines]
    }

    pub(super) fn lines_mut(&mut self) -> &mut [CacheLine] {
        &mut CacheLine::slice_mut(self.region.as_mut_slice())[self.first_line..self.first_line + self.lines]
    }

    pub(super) fn bytes(&self, lines: Range<usize>) -> &[u8] {
        &self.region.as_slice()[self.place(&lines)]
    }

    pub(super) fn bytes_mut(&mut self, lines: Range<usize>) -> &mut [u8] {
        let place = self.place(&lines);
        &mut self.region.as_mut_slice()[place]
    }

    fn place(&self, lines: &Range<usize>) -> Range<usize> {
        (self.first_line + lines.start) * CacheLine::BYTES..(self.first_line + lines.end) * CacheLine::BYTES
    }
}
