//! The buffers of a thread: mapped, filled by their owner, and honest about the pages that were obtained.

use kernels::lines::Line;
use kernels::pattern::Pattern;
use model::experiment::MemoryParams;
use model::isa::{MemoryOp, Pages};
use model::unit::format_size;
use sys::memory::{PageSize, Region};

use super::super::Trouble;

/// Parts of equal length that the working set of an operation consists of.
pub(super) const fn parts(op: MemoryOp) -> u64 {
    match op {
        MemoryOp::Read
        | MemoryOp::Write
        | MemoryOp::WriteNt
        | MemoryOp::Update
        | MemoryOp::Increment
        | MemoryOp::Load
        | MemoryOp::Handoff => 1,
        MemoryOp::Copy
        | MemoryOp::CopyNt
        | MemoryOp::Scale
        | MemoryOp::ScaleNt
        | MemoryOp::Mix11
        | MemoryOp::RepMovsb
        | MemoryOp::Memcpy
        | MemoryOp::ByteLoop => 2,
        MemoryOp::Add | MemoryOp::AddNt | MemoryOp::Triad | MemoryOp::TriadNt | MemoryOp::Mix21 => 3,
        MemoryOp::Mix31 => 4,
    }
}

fn page_size(pages: Pages) -> PageSize {
    match pages {
        Pages::Base4K => PageSize::Base,
        Pages::Huge2M => PageSize::Huge,
    }
}

/// Share of a region in pages of the size asked for.
pub(super) fn obtained(region: &Region, pages: Pages) -> Option<f64> {
    let huge = region.huge_share()?;
    Some(if pages == Pages::Huge2M { huge } else { 1.0 - huge })
}

pub(super) fn map(bytes: usize, pages: Pages) -> Result<Region, Trouble> {
    Region::map(bytes, page_size(pages)).map_err(|error| {
        Trouble::Unavailable(format!("no memory for a buffer of {}: {error}", format_size(bytes as u64)))
    })
}

/// One thread's bytes of each part of the working set.
pub(super) fn share_bytes(params: &MemoryParams) -> usize {
    let share = params.working_set / u64::from(params.threads.max(1)) / parts(params.op);
    usize::try_from(share).unwrap_or(usize::MAX / 4)
}

/// A region, and where in it the array begins.
pub(super) struct Array {
    pub(super) region: Region,
    first_line: usize,
    lines: usize,
}

impl Array {
    pub(super) fn filled(bytes: usize, pages: Pages, first_line: usize, pattern: &Pattern) -> Result<Self, Trouble> {
        let region = map(bytes + first_line * Line::BYTES, pages)?;
        let mut array = Self { region, first_line, lines: bytes / Line::BYTES };
        pattern.fill(array.lines_mut());
        Ok(array)
    }

    pub(super) fn lines(&self) -> &[Line] {
        &Line::of(self.region.as_slice())[self.first_line..self.first_line + self.lines]
    }

    pub(super) fn lines_mut(&mut self) -> &mut [Line] {
        &mut Line::of_mut(self.region.as_mut_slice())[self.first_line..self.first_line + self.lines]
    }
}
