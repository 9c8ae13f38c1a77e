//! Streams: one pass after the other over a thread's part of the working set, in ascending order. A pass that was not made is
//! found in three ways: loops report how far their pointers went; reads are summed up over all passes; writes differ from pass
//! to pass (write, update) or are wiped out in places between two checks.

mod content;
mod granules;

use std::time::Duration;

use kernels::features::Features;
use kernels::lines::{Block, CacheLine};
use kernels::memory::{self, BoundMemory, MOST_SOURCES};
use kernels::pattern::Pattern;
use model::experiment::{Background, MemoryParams};
use model::isa::{MemoryOp, Pages};
use model::unit::{Unit, format_size};
use stats::random::Random;
use sys::clock::{Calibration, Timer};

use self::content::{Content, made_of};
use self::granules::{Granules, Span};
use super::super::{Means, Measure, Profile, Trial, Trouble};
use super::buffers::{Array, obtained};
use areas::memory::blocks::{parts, share_bytes};
use areas::memory::sets::usual;

/// Bytes of each array per iteration at most: some microseconds, so that a chunk has dozens of iterations.
const GRANULE_BYTES: usize = 64 << 10;
/// What a load does between two pauses: a page, so that even the shortest pause is of the order of the work before it.
pub(super) const PIECE_BYTES: usize = 4 << 10;
/// 30 ns of uncertainty at either end of this give the timer's rate to 1 in 10^5, and a pause needs less.
const CALIBRATION: Duration = Duration::from_millis(5);
/// Bytes of a copy whose loop is chosen by length: beyond the thresholds of glibc (2 to 16 KiB, `dl-cacheinfo.h`).
const COPY_BYTES: usize = 1 << 20;
/// Bytes of the target, or of the first source, compared word by word at each check.
const CHECKED_BYTES: usize = 512 << 10;

/// Lines by which arrays and threads are shifted against each other: three pages of 4 KiB and five lines. A load then has
/// the page offset of a store that came at least 3 KiB before it (4 KiB aliasing delays it for a near one), and
/// streams in step do not use the same channel or bank, which the bits above 4 KiB choose.
const STAGGER_LINES: usize = 3 * 64 + 5;
/// Shifts from one thread to the next: odd, and more than a thread has arrays.
const STAGGERS_PER_THREAD: usize = 5;
/// Threads after which the shifts begin again, so that all are below a huge page.
const STAGGERED_THREADS: usize = 32;

/// The first line of an array in its region; the target is array 0.
const fn first_line(thread: usize, array: usize) -> usize {
    (thread % STAGGERED_THREADS * STAGGERS_PER_THREAD + array) * STAGGER_LINES
}

enum Worker {
    Loop(BoundMemory),
    Library,
}

struct Source {
    array: Array,
    content: Content,
}

pub(super) struct StreamTrial {
    op: MemoryOp,
    worker: Worker,
    granules: Granules,
    sources: Vec<Source>,
    target: Option<Array>,
    /// What is written, from the first line of the first pass on; what an update begins with.
    pattern: Pattern,
    /// What the target holds where it was not written since the last check.
    poison: Pattern,
    /// Granules since the beginning, and up to the last check.
    done: u64,
    checked: u64,
    blocks: u64,
    sum: u64,
    random: Random,
    pages: Pages,
    pause: Option<(Timer, u64)>,
}

impl StreamTrial {
    pub(super) fn open(params: &MemoryParams, seed: u64, thread: usize) -> Result<Self, Trouble> {
        let op = params.op;
        let worker = if op == MemoryOp::Memcpy {
            Worker::Library
        } else {
            let bound = memory::find(op, params.isa, &Features::detect());
            let lacks = || Trouble::Unavailable(format!("this CPU lacks {} for {op}", params.isa));
            Worker::Loop(bound.ok_or_else(lacks)?)
        };
        let by_length = matches!(op, MemoryOp::Memcpy | MemoryOp::RepMovsb | MemoryOp::DcZva);
        let most_bytes = if by_length { COPY_BYTES } else { GRANULE_BYTES };
        let granules = Granules::divide(share_bytes(params), most_bytes, by_length).ok_or_else(|| {
            let least = format_size(size_of::<Block>() as u64 * parts(op) * u64::from(params.threads));
            Trouble::Unavailable(format!("the working set is below {least}, one block per thread and array"))
        })?;
        Self::new((op, worker), granules, params.pages, seed, thread)
    }

    /// A load for the memory: a stream over this many pieces of each array that pauses after each; `None` without a piece.
    pub(super) fn load(
        Background { op, pause_ns }: Background,
        pages: Pages,
        pieces: usize,
        seed: u64,
        thread: usize,
    ) -> Result<Option<Self>, Trouble> {
        let calibration = Calibration::begin();
        let kernel = usual(op, Features::detect()).and_then(|kernel| memory::find(op, kernel.isa, &Features::detect()));
        let kernel = kernel.filter(|kernel| match kernel {
            BoundMemory::Read(_) | BoundMemory::Write(_) => true,
            BoundMemory::Combine(kernel) => kernel.sources() == 1,
            BoundMemory::Update(_) | BoundMemory::Zero(_) => false,
        });
        let kernel = kernel.ok_or_else(|| Trouble::Unavailable(format!("{op} cannot be the load of a chase")))?;
        let Some(granules) = Granules::divide(pieces * PIECE_BYTES, PIECE_BYTES, true) else { return Ok(None) };
        let mut load = Self::new((op, Worker::Loop(kernel)), granules, pages, seed, thread)?;
        let timer = calibration.finish(CALIBRATION);
        load.pause = (pause_ns > 0).then(|| (timer, timer.ticks(f64::from(pause_ns) * 1e-9)));
        Ok(Some(load))
    }

    fn new(
        (op, worker): (MemoryOp, Worker),
        granules: Granules,
        pages: Pages,
        seed: u64,
        thread: usize,
    ) -> Result<Self, Trouble> {
        let writes = op != MemoryOp::Read;
        let source_count = parts(op) - u64::from(writes);
        let (pattern, poison) = (Pattern::seeded(seed), Pattern::seeded(!seed));
        let array = |index: u64, fill: &dyn Fn(&mut [CacheLine])| {
            let first_line = first_line(thread, usize::try_from(index).unwrap_or(0));
            Array::filled(granules.all_bytes(), pages, first_line, fill)
        };
        let source = |index: u64| {
            let content = Content::of_array(op, seed, index);
            Ok(Source { array: array(index, &|lines| content.fill(lines))?, content })
        };
        let before = if op == MemoryOp::Update { pattern } else { poison };
        Ok(Self {
            op,
            worker,
            granules,
            sources: (1..=source_count).map(source).collect::<Result<_, _>>()?,
            target: writes.then(|| array(0, &|lines| before.fill(lines))).transpose()?,
            pattern,
            poison,
            done: 0,
            checked: 0,
            blocks: 0,
            sum: 0,
            random: Random::new(seed),
            pages,
            pause: None,
        })
    }

    fn span(&mut self, span: Span) {
        let blocks = self.granules.blocks_of(span);
        let count = blocks.len();
        let mut from: [&[Block]; MOST_SOURCES] = [&[]; MOST_SOURCES];
        for (slot, source) in from.iter_mut().zip(&self.sources) {
            *slot = &CacheLine::blocks(source.array.lines())[blocks.clone()];
        }
        let from = &from[..self.sources.len()];
        match (&self.worker, &mut self.target) {
            (Worker::Loop(BoundMemory::Read(read)), _) => {
                let reading = read.run(from[0], span.passes);
                self.sum = self.sum.wrapping_add(reading.sum);
                self.blocks += reading.blocks;
            }
            (Worker::Loop(BoundMemory::Write(write)), Some(target)) => {
                let lines_before = self.done.wrapping_mul(self.granules.lines() as u64);
                let pattern = self.pattern.after(usize::try_from(lines_before).unwrap_or(usize::MAX));
                self.blocks += write.run(&mut CacheLine::blocks_mut(target.lines_mut())[blocks], span.passes, &pattern);
            }
            (Worker::Loop(BoundMemory::Update(update)), Some(target)) => {
                self.blocks += update.run(&mut CacheLine::blocks_mut(target.lines_mut())[blocks], span.passes);
            }
            (Worker::Loop(BoundMemory::Zero(zero)), Some(target)) => {
                self.blocks += zero.run(&mut CacheLine::blocks_mut(target.lines_mut())[blocks], span.passes);
            }
            (Worker::Loop(BoundMemory::Combine(combine)), Some(target)) => {
                self.blocks += combine.run(&mut CacheLine::blocks_mut(target.lines_mut())[blocks], from, span.passes);
            }
            (Worker::Library, Some(target)) => {
                let lines = blocks.start * 8..blocks.end * 8;
                for _ in 0..span.passes {
                    sys::copy::copy(target.bytes_mut(lines.clone()), self.sources[0].array.bytes(lines.clone()));
                    self.blocks += count as u64;
                }
            }
            (Worker::Loop(_) | Worker::Library, None) => {}
        }
        self.done += (span.count * span.passes) as u64;
    }

    fn check_blocks(&self) -> Result<(), String> {
        let expected = (self.done - self.checked).wrapping_mul(self.granules.blocks as u64);
        if self.blocks == expected {
            return Ok(());
        }
        Err(format!("the loop went through {} blocks instead of {expected}", self.blocks))
    }

    fn check_sum(&self) -> Result<(), String> {
        let (Worker::Loop(BoundMemory::Read(read)), Some(source)) = (&self.worker, self.sources.first()) else {
            return Ok(());
        };
        let Content::Words(pattern) = &source.content else { return Ok(()) };
        let expected =
            self.granules.spans(self.granules.at(self.checked), self.done - self.checked).fold(0_u64, |sum, span| {
                let pattern = pattern.after(span.first * self.granules.lines());
                let of_pass = read.sum_of(&pattern, span.count * self.granules.blocks);
                sum.wrapping_add(of_pass.wrapping_mul(span.passes as u64))
            });
        if self.sum == expected {
            return Ok(());
        }
        Err(format!(
            "the data read differ from the data in memory: the sum is {:#x} instead of {expected:#x}",
            self.sum
        ))
    }

    /// Some of the granules accessed since the last check, each by the number of granules before its last access.
    fn chosen(&mut self) -> Vec<u64> {
        let covered = (self.done - self.checked).min(self.granules.count as u64);
        let most = (CHECKED_BYTES / self.granules.bytes()).max(1) as u64;
        let first = self.done - covered;
        if covered <= most {
            return (first..self.done).collect();
        }
        let mut chosen: Vec<u64> = (0..most).map(|_| first + self.random.below(covered)).collect();
        chosen.sort_unstable();
        chosen.dedup();
        chosen
    }

    /// Line `line` of a granule after the access that `before` granules precede; for a read, at any time.
    fn expected(&self, before: u64, line: usize) -> CacheLine {
        let here = self.granules.lines_of(self.granules.at(before)).start + line;
        match self.op {
            MemoryOp::Write | MemoryOp::WriteNt => {
                let lines_before = before.wrapping_mul(self.granules.lines() as u64);
                self.pattern.line(usize::try_from(lines_before).unwrap_or(usize::MAX) + line)
            }
            MemoryOp::DcZva => CacheLine::default(),
            MemoryOp::Update => {
                let updates = before / self.granules.count as u64 + 1;
                let added = updates.wrapping_mul(memory::UPDATE_STEP);
                CacheLine(self.pattern.line(here).0.map(|word| word.wrapping_add(added)))
            }
            op => made_of(op, self.sources.iter().map(|source| &source.content), here),
        }
    }

    /// Some granules hold the right data. They are then overwritten, so that the next check shows whether they were accessed.
    fn check_words(&mut self) -> Result<(), String> {
        for before in self.chosen() {
            let granule = self.granules.at(before);
            let lines = self.granules.lines_of(granule);
            let array = self.target.as_ref().or(self.sources.first().map(|source| &source.array));
            let Some(array) = array else { return Ok(()) };
            for (line, found) in array.lines()[lines.clone()].iter().enumerate() {
                let expected = self.expected(before, line);
                if let Some(word) = (0..CacheLine::WORDS).find(|&word| expected.0[word] != found.0[word]) {
                    let (expected, found) = (expected.0[word], found.0[word]);
                    return Err(format!(
                        "granule {granule} of {} after {}: line {line}, word {word} holds {found:#x} instead of \
                         {expected:#x}",
                        self.granules.count, self.op
                    ));
                }
            }
            if let Some(target) = self.target.as_mut().filter(|_| self.op != MemoryOp::Update) {
                self.poison.after(lines.start).fill(&mut target.lines_mut()[lines]);
            }
        }
        Ok(())
    }
}

impl Trial for StreamTrial {
    fn profile(&self) -> Profile {
        let arrays = if self.op == MemoryOp::Update { 2 } else { parts(self.op) };
        Profile::unpaced(Measure::Rate(Unit::BytePerSecond), self.granules.bytes() as f64 * arrays as f64)
    }

    fn run(&mut self, iterations: u64) {
        for span in self.granules.spans(self.granules.at(self.done), iterations) {
            self.span(span);
            if let Some((timer, ticks)) = self.pause {
                let until = timer.now() + ticks;
                while timer.now() < until {}
            }
        }
    }

    fn verify(&mut self) -> Result<(), String> {
        self.check_blocks()?;
        self.check_sum()?;
        self.check_words()?;
        (self.checked, self.blocks, self.sum) = (self.done, 0, 0);
        Ok(())
    }

    fn means(&self) -> Means {
        let arrays = self.sources.iter().map(|source| &source.array).chain(&self.target);
        Means {
            pages_obtained: arrays.filter_map(|array| obtained(&array.region, self.pages)).reduce(f64::min),
            c_library: matches!(self.worker, Worker::Library).then(sys::copy::library),
            ..Means::default()
        }
    }
}

#[cfg(test)]
mod tests;
