//! Latency under load: one thread chases, the others keep the memory busy as hard as they are told.
//!
//! Half of the working set is the chase's and the other half is shared by the loads: the plan makes it large enough for
//! either half to be beyond the caches. A load goes through its part piece by piece with a pause after each, so that
//! from one row to the next only the pauses differ; between none and long ones lies the whole way from the most that
//! the memory gives to an idle one. The pauses are spun off on the time-stamp counter: no system call.

use std::ops::Range;
use std::time::Duration;

use kernels::features::Features;
use kernels::lines::{Block, CacheLine};
use kernels::memory::{self, BoundMemory};
use kernels::pattern::Pattern;
use model::experiment::{Background, MemoryParams};
use model::unit::{Unit, format_size};
use stats::random::Random;
use sys::clock::{Calibration, Timer};

use super::super::{Means, Measure, Opened, Profile, Trial, Trouble};
use super::buffers::{Array, obtained};
use super::chase::ChaseTrial;
use areas::memory::blocks::parts;
use areas::memory::sets::usual;

/// What a load does between two pauses, in bytes of each array: a base page, so that even the shortest pause is of the
/// order of the work before it.
const PIECE_BYTES: usize = 4 << 10;
const PIECE_BLOCKS: usize = PIECE_BYTES / size_of::<Block>();
const PIECE_LINES: usize = PIECE_BYTES / CacheLine::BYTES;

/// Pieces compared word by word at each check.
const CHECKED_PIECES: u64 = 512;

/// How far the second array is shifted against the first, so that loads do not wait for unrelated stores (4 KiB
/// aliasing): half a page and a line.
const STAGGER_LINES: usize = 33;

/// Calibration of a load's timer: brackets of 30 ns over this give the rate to 1 in 10^5, and a pause needs less.
const CALIBRATION: Duration = Duration::from_millis(5);

/// The chase, for thread 0; a load for the others.
pub(super) fn open(params: &MemoryParams, seed: u64, thread: usize) -> Result<Opened, Trouble> {
    let Some(background) = params.background else {
        return Err(Trouble::Failed("a chase under load has no load".to_owned()));
    };
    if params.threads < 2 {
        return Err(Trouble::Unavailable("latency under load needs a second thread that makes the load".to_owned()));
    }
    if thread == 0 {
        return Ok(Opened::Paced(Box::new(ChaseTrial::open(params, chased_bytes(params), Measure::Loaded, seed)?)));
    }
    Ok(Opened::Paced(Box::new(Load::open(params, background, seed)?)))
}

/// Bytes that the chase goes through.
fn chased_bytes(params: &MemoryParams) -> usize {
    usize::try_from(params.working_set / 2).unwrap_or(usize::MAX / 4)
}

/// Pieces of each array of one load.
fn pieces(params: &MemoryParams, background: Background) -> usize {
    let loads = u64::from(params.threads.saturating_sub(1).max(1));
    let bytes = params.working_set / 2 / loads / parts(background.op);
    usize::try_from(bytes).unwrap_or(usize::MAX / 4) / PIECE_BYTES
}

/// One thread's load.
struct Load {
    kernel: BoundMemory,
    timer: Timer,
    pause_ticks: u64,
    source: Option<Array>,
    target: Option<Array>,
    pattern: Pattern,
    pieces: usize,
    position: usize,
    /// Pieces covered since the last check, of which the first was `checked_until`; blocks that the kernel says it went
    /// through, and the sum of the words that it read.
    covered: u64,
    checked_until: usize,
    blocks: u64,
    sum: u64,
    random: Random,
    pages_obtained: Option<f64>,
}

impl Load {
    fn open(params: &MemoryParams, background: Background, seed: u64) -> Result<Self, Trouble> {
        let calibration = Calibration::begin();
        let op = background.op;
        let kernel = usual(op, Features::detect()).and_then(|kernel| memory::find(op, kernel.isa, &Features::detect()));
        let kernel = kernel.filter(|kernel| match kernel {
            BoundMemory::Read(_) | BoundMemory::Write(_) => true,
            BoundMemory::Combine(kernel) => kernel.sources() == 1,
            BoundMemory::Update(_) => false,
        });
        let kernel = kernel.ok_or_else(|| Trouble::Unavailable(format!("{op} cannot be the load beside a chase")))?;
        let pieces = pieces(params, background);
        if pieces == 0 {
            let least = format_size(2 * PIECE_BYTES as u64 * parts(op) * u64::from(params.threads));
            return Err(Trouble::Unavailable(format!("the working set is below {least}, one page per load and array")));
        }
        let pattern = Pattern::seeded(seed);
        let array =
            |first_line, pattern: &Pattern| Array::filled(pieces * PIECE_BYTES, params.pages, first_line, pattern);
        let source = (!matches!(kernel, BoundMemory::Write(_))).then(|| array(0, &pattern)).transpose()?;
        let target = (!matches!(kernel, BoundMemory::Read(_))).then(|| array(STAGGER_LINES, &poison(&pattern)));
        let target = target.transpose()?;
        let arrays = source.iter().chain(&target);
        let pages_obtained = arrays.filter_map(|array| obtained(&array.region, params.pages)).reduce(f64::min);
        let timer = calibration.finish(CALIBRATION);
        Ok(Self {
            kernel,
            timer,
            pause_ticks: timer.ticks(f64::from(background.pause_ns) * 1e-9),
            source,
            target,
            pattern,
            pieces,
            position: 0,
            covered: 0,
            checked_until: 0,
            blocks: 0,
            sum: 0,
            random: Random::new(seed),
            pages_obtained,
        })
    }

    /// One piece.
    #[inline]
    fn piece(&mut self, piece: usize) {
        let blocks = piece * PIECE_BLOCKS..(piece + 1) * PIECE_BLOCKS;
        self.blocks += match (&self.kernel, &self.source, &mut self.target) {
            (BoundMemory::Read(kernel), Some(source), _) => {
                let reading = kernel.run(&CacheLine::blocks(source.lines())[blocks], 1);
                self.sum = self.sum.wrapping_add(reading.sum);
                reading.blocks
            }
            (BoundMemory::Write(kernel), _, Some(target)) => {
                let pattern = self.pattern.after(piece * PIECE_LINES);
                kernel.run(&mut CacheLine::blocks_mut(target.lines_mut())[blocks], 1, &pattern)
            }
            (BoundMemory::Combine(kernel), Some(source), Some(target)) => {
                let from = &CacheLine::blocks(source.lines())[blocks.clone()];
                kernel.run(&mut CacheLine::blocks_mut(target.lines_mut())[blocks], &[from], 1)
            }
            _ => 0,
        };
    }

    /// What reading these pieces adds to the sum; nothing for a load that does not only read.
    fn sum_of(&self, pieces: Range<usize>) -> u64 {
        match &self.kernel {
            BoundMemory::Read(kernel) => {
                kernel.sum_of(&self.pattern.after(pieces.start * PIECE_LINES), pieces.len() * PIECE_BLOCKS)
            }
            _ => 0,
        }
    }

    fn check_sum(&self) -> Result<(), String> {
        let passes = (self.covered / self.pieces as u64).wrapping_mul(self.sum_of(0..self.pieces));
        let (first, last) = (self.checked_until, self.position);
        let partial = if first <= last {
            self.sum_of(first..last)
        } else {
            self.sum_of(first..self.pieces).wrapping_add(self.sum_of(0..last))
        };
        let expected = passes.wrapping_add(partial);
        if self.sum == expected {
            return Ok(());
        }
        Err(format!("what the load read is not what is there: its sum is {:#x} instead of {expected:#x}", self.sum))
    }

    fn check_writes(&mut self) -> Result<(), String> {
        let covered = self.covered.min(self.pieces as u64);
        // All of few, and of many as many at random.
        let mut back = |draw: u64| if covered <= CHECKED_PIECES { draw } else { self.random.below(covered) };
        let back: Vec<u64> = (0..CHECKED_PIECES.min(covered)).map(&mut back).collect();
        let place = |back: u64| (self.position + self.pieces - 1 - small(back)) % self.pieces;
        let mut chosen: Vec<usize> = back.into_iter().map(place).collect();
        chosen.sort_unstable();
        chosen.dedup();
        let Some(target) = &mut self.target else { return Ok(()) };
        for piece in chosen {
            let expected = self.pattern.after(piece * PIECE_LINES);
            let lines = &mut target.lines_mut()[piece * PIECE_LINES..(piece + 1) * PIECE_LINES];
            expected.verify(lines).map_err(|wrong| format!("piece {piece} of what the load wrote: {wrong}"))?;
            // So that the next check finds out whether it was written again.
            poison(&expected).fill(lines);
        }
        Ok(())
    }
}

/// A number below the pieces of an array.
fn small(number: u64) -> usize {
    usize::try_from(number).unwrap_or(0)
}

/// A pattern that differs from this one in every word.
fn poison(pattern: &Pattern) -> Pattern {
    pattern.after(1)
}

impl Trial for Load {
    fn profile(&self) -> Profile {
        let arrays = usize::from(self.source.is_some()) + usize::from(self.target.is_some());
        Profile {
            measure: Measure::Rate(Unit::BytePerSecond),
            work_per_iteration: (PIECE_BYTES * arrays) as f64,
            most_iterations: u64::MAX / 4,
            clock_between_bursts: false,
            paced_cycles: None,
        }
    }

    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            self.piece(self.position);
            self.position = (self.position + 1) % self.pieces;
            if self.pause_ticks > 0 {
                let until = self.timer.now() + self.pause_ticks;
                while self.timer.now() < until {}
            }
        }
        self.covered += iterations;
    }

    fn verify(&mut self) -> Result<(), String> {
        let expected = self.covered * PIECE_BLOCKS as u64;
        if self.blocks != expected {
            return Err(format!("the load went through {} blocks instead of {expected}", self.blocks));
        }
        if self.target.is_some() {
            self.check_writes()?;
        } else {
            self.check_sum()?;
        }
        (self.covered, self.blocks, self.sum) = (0, 0, 0);
        self.checked_until = self.position;
        Ok(())
    }

    fn means(&self) -> Means {
        Means { pages_obtained: self.pages_obtained, ..Means::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::memory::tests::params;
    use model::isa::{MemoryOp, MemoryPattern};

    const LOADS: [MemoryOp; 4] = [MemoryOp::Read, MemoryOp::Write, MemoryOp::WriteNt, MemoryOp::CopyNt];

    fn loaded(op: MemoryOp, pause_ns: u32, threads: u32) -> MemoryParams {
        let chase = params(MemoryPattern::Chase, MemoryOp::Load, 4 << 20);
        MemoryParams { background: Some(Background { op, pause_ns }), chains: Some(1), threads, ..chase }
    }

    fn load(op: MemoryOp) -> Load {
        let params = loaded(op, 0, 2);
        Load::open(&params, params.background.unwrap(), 3).unwrap()
    }

    #[test]
    fn every_load_verifies_over_part_of_a_pass_and_several() {
        for op in LOADS {
            let mut load = load(op);
            for pieces in [1, 5, 511, 512, 1300, 1] {
                load.run(pieces);
                load.verify().unwrap_or_else(|wrong| panic!("{op}, {pieces} pieces: {wrong}"));
            }
        }
    }

    #[test]
    fn a_piece_that_was_not_done_is_found() {
        for op in LOADS {
            // Counted by nobody but the trial; then also by the kernel, as if its pointers had been elsewhere.
            let mut one = load(op);
            one.run(8);
            one.covered += 1;
            assert!(one.verify().unwrap_err().contains("blocks"), "{op}");
            let mut other = load(op);
            other.run(8);
            (other.covered, other.blocks, other.position) = (9, 9 * PIECE_BLOCKS as u64, 9);
            assert!(other.verify().is_err(), "{op}: a piece too many was believed");
        }
    }

    #[test]
    fn half_of_the_working_set_is_the_chases() {
        let params = loaded(MemoryOp::CopyNt, 0, 5);
        assert_eq!(chased_bytes(&params), 2 << 20);
        assert_eq!(pieces(&params, params.background.unwrap()), (2 << 20) / 4 / 2 / PIECE_BYTES);
    }

    #[test]
    fn pauses_are_waited_for() {
        let params = loaded(MemoryOp::Read, 200_000, 2);
        let mut load = Load::open(&params, params.background.unwrap(), 3).unwrap();
        let start = load.timer.now();
        load.run(5);
        assert!(load.timer.seconds(start, load.timer.now()) >= 5.0 * 199e-6);
    }

    #[test]
    fn the_first_thread_chases_and_the_others_load() {
        let measure = |thread| match open(&loaded(MemoryOp::Read, 100, 2), 3, thread) {
            Ok(Opened::Paced(trial)) => trial.profile().measure,
            _ => panic!("thread {thread} has no trial"),
        };
        assert_eq!((measure(0), measure(1)), (Measure::Loaded, Measure::Rate(Unit::BytePerSecond)));
        let refused = |params: &MemoryParams| open(params, 3, 1).err().map(|trouble| trouble.reason().to_owned());
        assert!(refused(&loaded(MemoryOp::Read, 0, 1)).unwrap().contains("second thread"));
        assert!(refused(&loaded(MemoryOp::Update, 0, 2)).unwrap().contains("update cannot be the load"));
        let small = MemoryParams { working_set: 4096, ..loaded(MemoryOp::Read, 0, 2) };
        assert!(refused(&small).unwrap().contains("below 16KiB"));
    }
}
