//! Streams: one pass after the other over a thread's part of the working set, in ascending order.

use kernels::features::Features;
use kernels::lines::{Block, Line};
use kernels::memory::{self, BoundMemory};
use kernels::pattern::Pattern;
use model::experiment::MemoryParams;
use model::isa::Pages;
use model::unit::{Unit, format_size};
use stats::random::Random;

use super::super::{Measure, Opened, Profile, Trial, Trouble};
use super::buffers::{Array, obtained, parts, share_bytes};

/// One thread's part of a stream.
pub(super) fn open(params: &MemoryParams, seed: u64) -> Result<Opened, Trouble> {
    Ok(Opened::Paced(Box::new(StreamTrial::open(params, seed)?)))
}

/// What one iteration covers, in bytes of each array: some microseconds of work, so that a chunk is a few dozen.
const GRANULE_BYTES: usize = 64 << 10;
const GRANULE_BLOCKS: usize = GRANULE_BYTES / size_of::<Block>();
const GRANULE_LINES: usize = GRANULE_BYTES / Line::BYTES;

/// Granules compared word by word at each check.
const CHECKED_GRANULES: u64 = 32;

/// How far the second array is shifted against the first: equal offsets in a page would make loads wait for unrelated
/// stores (4 KiB aliasing), so by half a page and a line.
const STAGGER_LINES: usize = 33;

/// One thread's part of a stream.
struct StreamTrial {
    kernel: BoundMemory,
    work_per_granule: f64,
    source: Option<Array>,
    target: Option<Array>,
    pattern: Pattern,
    /// Of each granule of the source.
    checksums: Vec<u64>,
    granules: usize,
    position: usize,
    /// Granules covered since the last check, of which the first began at `checked_until`.
    covered: u64,
    checked_until: usize,
    sum: u64,
    random: Random,
    pages: Pages,
}

impl StreamTrial {
    fn open(params: &MemoryParams, seed: u64) -> Result<Self, Trouble> {
        let kernel = memory::find(params.op, params.isa, &Features::detect())
            .ok_or_else(|| Trouble::Unavailable(format!("this CPU lacks {} for {}", params.isa, params.op)))?;
        let granules = share_bytes(params) / GRANULE_BYTES;
        let bytes = granules * GRANULE_BYTES;
        if granules == 0 {
            let least = format_size(GRANULE_BYTES as u64 * parts(params.op) * u64::from(params.threads));
            return Err(Trouble::Unavailable(format!(
                "the working set is below {least}, one granule per thread and array"
            )));
        }
        let pattern = Pattern::seeded(seed);
        let reads = !matches!(kernel, BoundMemory::Write(_));
        let writes = !matches!(kernel, BoundMemory::Read(_));
        let source = reads.then(|| Array::filled(bytes, params.pages, 0, &pattern)).transpose()?;
        let target =
            writes.then(|| Array::filled(bytes, params.pages, STAGGER_LINES, &poison(&pattern))).transpose()?;
        let checksum = |granule| pattern.after(granule * GRANULE_LINES).checksum(GRANULE_LINES);
        let checksums = if writes { Vec::new() } else { (0..granules).map(checksum).collect() };
        Ok(Self {
            kernel,
            work_per_granule: (GRANULE_BYTES * (usize::from(reads) + usize::from(writes))) as f64,
            source,
            target,
            pattern,
            checksums,
            granules,
            position: 0,
            covered: 0,
            checked_until: 0,
            sum: 0,
            random: Random::new(seed),
            pages: params.pages,
        })
    }

    /// One call of the kernel over granules that lie together.
    fn span(&mut self, first: usize, count: usize) {
        let blocks = first * GRANULE_BLOCKS..(first + count) * GRANULE_BLOCKS;
        match (&self.kernel, &self.source, &mut self.target) {
            (BoundMemory::Read(kernel), Some(source), _) => {
                self.sum ^= kernel.run(&Line::blocks(source.lines())[blocks]);
            }
            (BoundMemory::Write(kernel), _, Some(target)) => {
                let pattern = self.pattern.after(first * GRANULE_LINES);
                kernel.run(&mut Line::blocks_mut(target.lines_mut())[blocks], &pattern);
            }
            (BoundMemory::Copy(kernel), Some(source), Some(target)) => {
                let from = &Line::blocks(source.lines())[blocks.clone()];
                kernel.run(&mut Line::blocks_mut(target.lines_mut())[blocks], from);
            }
            _ => {}
        }
    }

    fn check_sum(&mut self) -> Result<(), String> {
        // Whole passes cancel in pairs; what is left is at most one pass and the granules at the end.
        let passes = self.covered / self.granules as u64;
        let rest = self.covered % self.granules as u64;
        let pass = if passes % 2 == 1 { self.checksums.iter().fold(0, |sum, granule| sum ^ granule) } else { 0 };
        let partial = (0..rest).fold(0, |sum, offset| sum ^ self.checksums[self.granule_at(offset)]);
        let found = std::mem::take(&mut self.sum);
        if found == pass ^ partial {
            return Ok(());
        }
        Err(format!("what was read is not what is there: checksum {found:#x} instead of {:#x}", pass ^ partial))
    }

    /// The granule that was covered so many after the last check.
    fn granule_at(&self, offset: u64) -> usize {
        usize::try_from((self.checked_until as u64 + offset) % self.granules as u64).unwrap_or(0)
    }

    fn check_writes(&mut self) -> Result<(), String> {
        let covered = self.covered.min(self.granules as u64);
        let mut chosen: Vec<usize> = (0..CHECKED_GRANULES.min(covered))
            .map(|_| {
                let offset = self.covered - covered + self.random.below(covered);
                self.granule_at(offset)
            })
            .collect();
        chosen.sort_unstable();
        chosen.dedup();
        let Some(target) = &mut self.target else { return Ok(()) };
        for granule in chosen {
            let expected = self.pattern.after(granule * GRANULE_LINES);
            let lines = &mut target.lines_mut()[granule * GRANULE_LINES..(granule + 1) * GRANULE_LINES];
            expected.verify(lines).map_err(|wrong| format!("granule {granule} of what was written: {wrong}"))?;
            // So that the next check finds out whether it was written again.
            poison(&expected).fill(lines);
        }
        Ok(())
    }
}

/// A pattern that differs from this one in every word.
fn poison(pattern: &Pattern) -> Pattern {
    pattern.after(1)
}

impl Trial for StreamTrial {
    fn profile(&self) -> Profile {
        Profile {
            measure: Measure::Rate(Unit::BytePerSecond),
            work_per_iteration: self.work_per_granule,
            most_iterations: u64::MAX / 4,
            clock_between_bursts: false,
        }
    }

    fn run(&mut self, iterations: u64) {
        let mut left = usize::try_from(iterations).unwrap_or(usize::MAX);
        while left > 0 {
            let count = left.min(self.granules - self.position);
            self.span(self.position, count);
            self.position = (self.position + count) % self.granules;
            left -= count;
        }
        self.covered += iterations;
    }

    fn verify(&mut self) -> Result<(), String> {
        if self.target.is_some() {
            self.check_writes()?;
        } else {
            self.check_sum()?;
        }
        self.covered = 0;
        self.checked_until = self.position;
        Ok(())
    }

    fn pages_obtained(&self) -> Option<f64> {
        let arrays = self.source.iter().chain(&self.target);
        arrays.filter_map(|array| obtained(&array.region, self.pages)).reduce(f64::min)
    }
}

#[cfg(test)]
mod tests {
    use model::isa::{Isa, MemoryOp, MemoryPattern};

    use super::*;

    fn params(op: MemoryOp, working_set: u64) -> MemoryParams {
        MemoryParams {
            pattern: MemoryPattern::Sequential,
            op,
            block: None,
            working_set,
            pages: Pages::Huge2M,
            isa: memory::usable(op, &Features::detect()).next().map_or(Isa::Scalar, |kernel| kernel.isa),
            chains: None,
            group: None,
            background: None,
            placement: None,
            threads: 1,
            level: None,
            nodes: None,
        }
    }

    #[test]
    fn every_stream_verifies_over_part_of_a_pass_and_several() {
        for op in [MemoryOp::Read, MemoryOp::Write, MemoryOp::WriteNt, MemoryOp::Copy, MemoryOp::CopyNt] {
            let mut trial = StreamTrial::open(&params(op, 4 << 20), 3).unwrap();
            for granules in [1, 5, 31, 64, 200, 1] {
                trial.run(granules);
                trial.verify().unwrap_or_else(|wrong| panic!("{op}, {granules} granules: {wrong}"));
            }
        }
    }

    #[test]
    fn work_that_was_claimed_but_not_done_is_found() {
        for op in [MemoryOp::Read, MemoryOp::WriteNt, MemoryOp::Copy] {
            let mut trial = StreamTrial::open(&params(op, 4 << 20), 3).unwrap();
            trial.run(8);
            trial.covered += 4;
            assert!(trial.verify().is_err(), "{op}: four granules too many were believed");
        }
    }
}
