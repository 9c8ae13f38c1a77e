//! Streams: one pass after the other over a thread's part of the working set, in ascending order.
//!
//! Where the part is small, an iteration is a pass over it and a call of the loop is many of them. That none is claimed
//! which was not made is seen in three ways: loops say how far their pointers went; what is read is summed up, so that
//! every pass adds to it; what is written differs from pass to pass (write, update), or is wiped out in places between
//! two checks.

mod content;
mod granules;

use kernels::features::Features;
use kernels::lines::{Block, CacheLine};
use kernels::memory::{self, BoundMemory, MOST_SOURCES};
use kernels::pattern::Pattern;
use model::experiment::MemoryParams;
use model::isa::{MemoryOp, Pages};
use model::unit::{Unit, format_size};
use stats::random::Random;

use self::content::{Content, made_of};
use self::granules::{Granules, Span};
use super::super::{Means, Measure, Opened, Profile, Trial, Trouble};
use super::buffers::{Array, obtained};
use areas::memory::blocks::{parts, share_bytes};

/// One thread's part of a stream.
pub(super) fn open(params: &MemoryParams, seed: u64, thread: usize) -> Result<Opened, Trouble> {
    Ok(Opened::Paced(Box::new(StreamTrial::open(params, seed, thread)?)))
}

/// What one iteration covers of each array at most: some microseconds of work, so that a chunk is a few dozen.
const GRANULE_BYTES: usize = 64 << 10;

/// The length of the copies whose loop is chosen by their length, by the C library or by microcode: a fixed one, beyond
/// every threshold of glibc for the string instruction (2 to 16 KiB, `dl-cacheinfo.h`).
const COPY_BYTES: usize = 1 << 20;

/// Bytes of the target, or of the first source, compared word by word at each check.
const CHECKED_BYTES: usize = 512 << 10;

/// How far the arrays of a thread, and those of one thread and the next, are shifted against each other, in lines: three
/// pages of 4 KiB and five lines. A load then meets the offset in a page of a store that came 3 KiB before it or more
/// (4 KiB aliasing makes it wait for a near one), and streams in step do not meet in the same channel or bank, which
/// the bits above 4 KiB choose.
const STAGGER_LINES: usize = 3 * 64 + 5;
/// Steps of that from one thread to the next: odd, and more than a thread has arrays.
const STAGGERS_PER_THREAD: usize = 5;
/// Threads after which the shifts begin anew, so that all of them are below a huge page.
const STAGGERED_THREADS: usize = 32;

/// Where an array of a thread begins in its region, in lines; the target is array 0.
const fn first_line(thread: usize, array: usize) -> usize {
    (thread % STAGGERED_THREADS * STAGGERS_PER_THREAD + array) * STAGGER_LINES
}

/// What does the work.
#[derive(Debug)]
enum Worker {
    /// A loop of the table.
    Loop(BoundMemory),
    /// The C library's copy.
    Library,
}

/// An array that is read, and what it holds.
struct Source {
    array: Array,
    content: Content,
}

/// One thread's part of a stream.
struct StreamTrial {
    op: MemoryOp,
    worker: Worker,
    granules: Granules,
    sources: Vec<Source>,
    target: Option<Array>,
    /// What is written, from the first line of the first pass on and without an end; what an update begins with.
    pattern: Pattern,
    /// What the target holds where nothing has been written since the last check.
    poison: Pattern,
    /// Granules gone through since the beginning, and up to the last check.
    done: u64,
    checked: u64,
    /// Blocks that the loops say they went through since the last check.
    blocks: u64,
    /// What they summed up since then.
    sum: u64,
    random: Random,
    pages: Pages,
}

impl StreamTrial {
    fn open(params: &MemoryParams, seed: u64, thread: usize) -> Result<Self, Trouble> {
        let op = params.op;
        let worker = if op == MemoryOp::Memcpy {
            Worker::Library
        } else {
            let bound = memory::find(op, params.isa, &Features::detect());
            let lacks = || Trouble::Unavailable(format!("this CPU lacks {} for {op}", params.isa));
            Worker::Loop(bound.ok_or_else(lacks)?)
        };
        let by_length = matches!(op, MemoryOp::Memcpy | MemoryOp::RepMovsb);
        let most_bytes = if by_length { COPY_BYTES } else { GRANULE_BYTES };
        let granules = Granules::of(share_bytes(params), most_bytes, by_length).ok_or_else(|| {
            let least = size_of::<Block>() as u64 * parts(op) * u64::from(params.threads);
            let least = format_size(least);
            Trouble::Unavailable(format!("the working set is below {least}, one block per thread and array"))
        })?;
        let writes = op != MemoryOp::Read;
        let source_count = parts(op) - u64::from(writes);
        let (pattern, poison) = (Pattern::seeded(seed), Pattern::seeded(!seed));
        let array = |index: u64, fill: &dyn Fn(&mut [CacheLine])| {
            let first_line = first_line(thread, usize::try_from(index).unwrap_or(0));
            Array::filled_by(granules.all_bytes(), params.pages, first_line, fill)
        };
        let source = |index: u64| {
            let content = Content::of(op, seed, index);
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
            pages: params.pages,
        })
    }

    /// One call of the loop, or as many of the library's copy as there are passes.
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

    /// The loops went as far as the iterations say.
    fn check_blocks(&self) -> Result<(), String> {
        let expected = (self.done - self.checked).wrapping_mul(self.granules.blocks as u64);
        if self.blocks == expected {
            return Ok(());
        }
        Err(format!("the loop went through {} blocks instead of {expected}", self.blocks))
    }

    /// What was read is what is there, as often as it was read.
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
        Err(format!("what was read is not what is there: the sum is {:#x} instead of {expected:#x}", self.sum))
    }

    /// Some of the granules that were gone through since the last check, each by its last visit: so many granules had
    /// been done before.
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

    /// What line `line` of a granule holds after the visit before which `before` granules had been done; of a read, all
    /// along.
    fn expected(&self, before: u64, line: usize) -> CacheLine {
        let here = self.granules.lines_of(self.granules.at(before)).start + line;
        match self.op {
            MemoryOp::Write | MemoryOp::WriteNt => {
                let lines_before = before.wrapping_mul(self.granules.lines() as u64);
                self.pattern.line(usize::try_from(lines_before).unwrap_or(usize::MAX) + line)
            }
            MemoryOp::Update => {
                let updates = before / self.granules.count as u64 + 1;
                let added = updates.wrapping_mul(memory::UPDATE_STEP);
                CacheLine(self.pattern.line(here).0.map(|word| word.wrapping_add(added)))
            }
            op => made_of(op, self.sources.iter().map(|source| &source.content), here),
        }
    }

    /// Some granules hold what they should, word by word; where that does not tell one visit from the next they are
    /// then overwritten, so that the next check finds out whether they were visited again.
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
        Profile {
            measure: Measure::Rate(Unit::BytePerSecond),
            work_per_iteration: self.granules.bytes() as f64 * arrays as f64,
            most_iterations: u64::MAX / 4,
            clock_between_bursts: false,
            paced_cycles: None,
        }
    }

    fn run(&mut self, iterations: u64) {
        for span in self.granules.spans(self.granules.at(self.done), iterations) {
            self.span(span);
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
        Means {
            pages_obtained: {
                let arrays = self.sources.iter().map(|source| &source.array).chain(&self.target);
                arrays.filter_map(|array| obtained(&array.region, self.pages)).reduce(f64::min)
            },
            c_library: matches!(self.worker, Worker::Library).then(sys::copy::library),
            ..Means::default()
        }
    }
}

#[cfg(test)]
mod tests;
