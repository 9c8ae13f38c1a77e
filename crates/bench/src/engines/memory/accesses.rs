//! Accesses to the blocks of a working set, in order or at random, and increments of single words at random. Below
//! [`LEAST_LISTED_BYTES`] the loop generates the random order itself, at a cost that is measured; the order of longer blocks is
//! drawn beforehand. Reads are checked by a sum that the order predicts; writes by some blocks that were spoilt beforehand, near
//! ones more densely, which must hold the right data if they were accessed and not otherwise.

use std::ops::Range;

use areas::memory::blocks::{LEAST_LISTED_BYTES, block_bytes, obstacle, power_of_two_within, share_bytes};
use kernels::blocks::{self, BoundBlocks, Content, Permuted, Sequence, WORD_BYTES, words, words_mut};
use kernels::features::Features;
use model::experiment::MemoryParams;
use model::isa::{MemoryOp, MemoryPattern, Pages};
use model::unit::Unit;
use stats::random::Random;
use sys::clock::Timer;
use sys::memory::Region;

use super::super::{Means, Measure, Profile, Trial, Trouble};
use super::buffers::{map, obtained, want_huge_pages};

/// Blocks up to this length are spoilt and compared as a whole, longer ones in four pieces of a quarter of it.
const WHOLE_BYTES: usize = 16 << 10;
const PIECES: usize = 4;
const PIECE_WORDS: usize = WHOLE_BYTES / PIECES / WORD_BYTES;
/// The blocks of this many next accesses are all spoilt, then one in each stretch of double the length.
const DENSE: u64 = 4;
/// Words compared at each check of increments, in addition to the last ones and the next ones.
const CHECKED_WORDS: usize = 32;
/// The generation of the order is timed over this many accesses, this many times: some hundred microseconds in all.
const TIMED_ACCESSES: u64 = 1 << 14;
const TIMINGS: usize = 5;

fn sequence(params: &MemoryParams) -> Sequence {
    if params.pattern == MemoryPattern::Random { Sequence::Random } else { Sequence::Ascending }
}

enum Order {
    Ascending,
    Generated,
    /// Of the source, and of the target.
    Listed([Vec<u32>; 2]),
}

pub(super) struct AccessTrial {
    op: MemoryOp,
    cursor: BoundBlocks,
    order: Order,
    blocks: usize,
    block_words: usize,
    source: Option<Region>,
    target: Option<Region>,
    content: Content,
    /// Accesses since the buffers were filled, and how many of them have been checked.
    accesses: u64,
    checked: u64,
    sum: u64,
    /// Accesses, by their number, whose blocks have been spoilt.
    spoilt: Vec<u64>,
    seed: u64,
    random: Random,
    pages: Pages,
    order_seconds: Option<f64>,
}

impl AccessTrial {
    pub(super) fn open(params: &MemoryParams, seed: u64) -> Result<Self, Trouble> {
        if let Some(obstacle) = obstacle(params) {
            return Err(Trouble::Unavailable(obstacle));
        }
        let (block_bytes, features) = (block_bytes(params), Features::detect());
        let is_random = sequence(params) == Sequence::Random;
        let is_generated = is_random && block_bytes < LEAST_LISTED_BYTES;
        // A listed order consists of accesses to one block each.
        let in_the_loop = if is_generated { Sequence::Random } else { Sequence::Ascending };
        let whole = share_bytes(params) / block_bytes;
        let blocks = if is_generated { to_index(power_of_two_within(whole as u64)) } else { whole };
        let content = Content::seeded(seed);
        let kernel = blocks::find(params.op, in_the_loop, params.isa, block_bytes, &features);
        let cursor = kernel.and_then(|kernel| match in_the_loop {
            Sequence::Ascending => kernel.ascending(&features, block_bytes, content),
            Sequence::Random => {
                kernel.random(&features, block_bytes, content, Permuted { blocks: blocks as u64, seed })
            }
        });
        let cursor = cursor.ok_or_else(|| {
            Trouble::Unavailable(format!("this machine has no loop for {} with {}", params.op, params.isa))
        })?;
        let mut random = Random::new(seed);
        let order = match in_the_loop {
            Sequence::Random => Order::Generated,
            Sequence::Ascending if is_random => listed(blocks, &mut random)?,
            Sequence::Ascending => Order::Ascending,
        };
        let region = |content: Content| filled(blocks * block_bytes, params.pages, content);
        let is_copied = params.op == MemoryOp::Copy;
        let before = if params.op == MemoryOp::Increment { content } else { content.other() };
        let source = (is_copied || params.op == MemoryOp::Read).then(|| region(content)).transpose()?;
        let target = (params.op != MemoryOp::Read).then(|| region(before)).transpose()?;
        let order_seconds = matches!(order, Order::Generated).then(|| seconds_of_order(&cursor));
        let mut trial = Self {
            op: params.op,
            cursor,
            order,
            blocks,
            block_words: block_bytes / WORD_BYTES,
            source,
            target,
            content,
            accesses: 0,
            checked: 0,
            sum: 0,
            spoilt: Vec::new(),
            seed,
            random,
            pages: params.pages,
            order_seconds,
        };
        trial.spoil();
        Ok(trial)
    }

    /// The blocks of the source and of the target.
    fn access(&self, access: u64) -> [usize; 2] {
        let (place, cursor) = (self.place(access), &self.cursor);
        match &self.order {
            Order::Ascending => [place; 2],
            Order::Generated => [cursor.source_block(access), cursor.target_block(access)].map(to_index),
            Order::Listed(lists) => [0, 1].map(|side| lists[side][place] as usize),
        }
    }

    fn place(&self, access: u64) -> usize {
        to_index(access % self.blocks as u64)
    }

    fn expected_sum(&self) -> u64 {
        let covered = self.accesses - self.checked;
        let passes = covered / self.blocks as u64;
        let whole = self.content.sum(0, self.blocks * self.block_words).wrapping_mul(passes);
        let rest = self.checked + passes * self.blocks as u64..self.accesses;
        if !matches!(self.order, Order::Ascending) {
            let of_block = |access| self.content.sum(self.access(access)[0] * self.block_words, self.block_words);
            return rest.map(of_block).fold(whole, u64::wrapping_add);
        }
        let (first, count) = (self.place(rest.start), to_index(rest.end - rest.start));
        let until_the_end = count.min(self.blocks - first);
        let of_blocks =
            |first: usize, count: usize| self.content.sum(first * self.block_words, count * self.block_words);
        whole.wrapping_add(of_blocks(first, until_the_end)).wrapping_add(of_blocks(0, count - until_the_end))
    }

    fn spoil(&mut self) {
        if !matches!(self.op, MemoryOp::Write | MemoryOp::Copy) {
            return;
        }
        let blocks = self.blocks as u64;
        let stretches = (0..u64::BITS).map(|bits| DENSE << bits).take_while(|begin| *begin < blocks);
        let far: Vec<u64> = stretches.map(|begin| begin + self.random.below(begin.min(blocks - begin))).collect();
        self.spoilt = (0..DENSE.min(blocks)).chain(far).map(|ahead| self.accesses + ahead).collect();
        let content = self.content.other();
        for &access in &self.spoilt {
            let first = self.access(access)[1] * self.block_words;
            for piece in self.pieces(access) {
                let target = self.target.as_mut().map_or(&mut [][..], |region| words_mut(region.as_mut_slice()));
                content.fill(&mut target[first + piece.start..first + piece.end], first + piece.start);
            }
        }
    }

    /// The words of a block that are spoilt and compared: all of a short one, both ends and some between of a long one.
    fn pieces(&self, access: u64) -> Vec<Range<usize>> {
        let words = self.block_words;
        if words <= PIECES * PIECE_WORDS {
            return vec![0..words; 1];
        }
        let mut random = Random::new(self.seed ^ access);
        let last = words - PIECE_WORDS;
        let between = (2..PIECES).map(|_| to_index(random.below(last as u64)));
        [0, last].into_iter().chain(between.collect::<Vec<_>>()).map(|first| first..first + PIECE_WORDS).collect()
    }

    fn check_writes(&self) -> Result<(), String> {
        for &access in &self.spoilt {
            let [source, block] = self.access(access);
            let accessed = access < self.accesses;
            let (content, from) = match self.op {
                _ if !accessed => (self.content.other(), block),
                MemoryOp::Copy => (self.content, source),
                _ => (self.content, block),
            };
            let what = if accessed { "of what was written" } else { "was written before its turn" };
            for piece in self.pieces(access) {
                let first = block * self.block_words;
                let found = &self.target_words()[first + piece.start..first + piece.end];
                content
                    .verify(found, from * self.block_words + piece.start)
                    .map_err(|wrong| format!("block {block} {what}: {wrong}"))?;
            }
        }
        Ok(())
    }

    fn check_increments(&mut self) -> Result<(), String> {
        let blocks = self.blocks as u64;
        let near = self.accesses.saturating_sub(DENSE)..self.accesses + DENSE;
        let anywhere: Vec<u64> = (0..CHECKED_WORDS).map(|_| self.random.below(blocks)).collect();
        for access in near.chain(anywhere) {
            let (word, place) = (self.access(access)[1], access % blocks);
            let times = (self.accesses + blocks - 1 - place) / blocks;
            let (before, found) = (self.content.word(word), self.target_words()[word]);
            if found != before.wrapping_add(times) {
                let found = found.wrapping_sub(before).cast_signed();
                return Err(format!("word {word} was increased {found} times instead of {times} times"));
            }
        }
        Ok(())
    }

    fn target_words(&self) -> &[u64] {
        self.target.as_ref().map_or(&[], |region| words(region.as_slice()))
    }
}

fn to_index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn filled(bytes: usize, pages: Pages, content: Content) -> Result<Region, Trouble> {
    let mut region = map(bytes, pages)?;
    content.fill(words_mut(region.as_mut_slice()), 0);
    want_huge_pages(&region, pages);
    Ok(region)
}

fn listed(blocks: usize, random: &mut Random) -> Result<Order, Trouble> {
    let count = u32::try_from(blocks)
        .map_err(|_| Trouble::Unavailable(format!("{blocks} blocks are too many for a listed order")))?;
    let mut drawn = || {
        let mut order: Vec<u32> = (0..count).collect();
        random.shuffle(&mut order);
        order
    };
    Ok(Order::Listed([drawn(), drawn()]))
}

/// Seconds to generate the order of one access, without the access: the quickest of some tries.
fn seconds_of_order(cursor: &BoundBlocks) -> f64 {
    let timer = Timer::system();
    let once = || {
        let begin = timer.now();
        std::hint::black_box(cursor.generate(TIMED_ACCESSES));
        timer.seconds(begin, timer.now())
    };
    (0..TIMINGS).map(|_| once()).fold(f64::INFINITY, f64::min) / TIMED_ACCESSES as f64
}

impl Trial for AccessTrial {
    fn profile(&self) -> Profile {
        let block = (self.block_words * WORD_BYTES) as u64;
        let (measure, work) = match self.op {
            MemoryOp::Increment => (Measure::Rate(Unit::OpPerSecond), 1),
            MemoryOp::Copy => (Measure::Accesses(2 * block), 2 * block),
            _ => (Measure::Accesses(block), block),
        };
        Profile::unpaced(measure, work as f64)
    }

    fn run(&mut self, iterations: u64) {
        let source = self.source.as_ref().map_or(&[][..], |region| words(region.as_slice()));
        let target = self.target.as_mut().map_or(&mut [][..], |region| words_mut(region.as_mut_slice()));
        let cursor = &mut self.cursor;
        let blocks = self.blocks as u64;
        let mut left = iterations;
        while left > 0 {
            let place = to_index(self.accesses % blocks);
            let count = if matches!(self.order, Order::Generated) { left } else { left.min(blocks - place as u64) };
            match &self.order {
                Order::Ascending | Order::Generated => {
                    cursor.go_to(place, place);
                    cursor.run(count, source, target);
                    self.sum = self.sum.wrapping_add(cursor.sum());
                }
                Order::Listed([from, to]) => {
                    let accesses = place..place + to_index(count);
                    for (from, to) in from[accesses.clone()].iter().zip(&to[accesses]) {
                        cursor.go_to(*from as usize, *to as usize);
                        cursor.run(1, source, target);
                        self.sum = self.sum.wrapping_add(cursor.sum());
                    }
                }
            }
            self.accesses += count;
            left -= count;
        }
    }

    fn verify(&mut self) -> Result<(), String> {
        self.cursor.verify_place(self.accesses).map_err(|wrong| wrong.to_string())?;
        match self.op {
            MemoryOp::Read => {
                let (expected, found) = (self.expected_sum(), std::mem::take(&mut self.sum));
                if found != expected {
                    return Err(format!(
                        "the data read differ from the data in memory: sum {found:#x} instead of {expected:#x}"
                    ));
                }
            }
            MemoryOp::Increment => self.check_increments()?,
            _ => self.check_writes()?,
        }
        self.checked = self.accesses;
        self.spoil();
        Ok(())
    }

    fn means(&self) -> Means {
        let regions = self.source.iter().chain(&self.target);
        Means {
            pages_obtained: regions.filter_map(|region| obtained(region, self.pages)).reduce(f64::min),
            order_seconds: self.order_seconds,
            ..Means::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use model::isa::Isa;

    use super::*;
    use crate::engines::memory::tests::params as plain;

    fn isa() -> Isa {
        let features = Features::detect();
        let known = [Isa::Avx512, Isa::Avx2, Isa::Sse2, Isa::Sve, Isa::Neon].into_iter();
        let has = |isa: &Isa| blocks::find(MemoryOp::Read, Sequence::Random, *isa, 64, &features).is_some();
        known.into_iter().find(has).unwrap_or(Isa::Scalar)
    }

    fn params(pattern: MemoryPattern, op: MemoryOp, block: Option<u64>) -> MemoryParams {
        let isa = if block.is_none() { Isa::Scalar } else { isa() };
        MemoryParams { block, isa, ..plain(pattern, op, 512 << 10) }
    }

    /// Every operation in both orders, with blocks on both sides of a word, a line, a page and what is compared as a whole.
    fn all() -> Vec<MemoryParams> {
        let mut all = vec![params(MemoryPattern::Random, MemoryOp::Increment, None)];
        for pattern in [MemoryPattern::Sequential, MemoryPattern::Random] {
            for &op in MemoryOp::OF_BLOCKS {
                let blocks = [8, 24, 64, 1000, 1024, 4096, 64_000, 100_000, 200_000];
                all.extend(blocks.map(|block| params(pattern, op, Some(block))));
            }
        }
        all
    }

    fn name(params: &MemoryParams) -> String {
        format!("{} {} in blocks of {:?} B", params.pattern, params.op, params.block)
    }

    #[test]
    fn every_access_verifies_over_part_of_a_pass_and_several() {
        for params in all() {
            let mut trial = AccessTrial::open(&params, 3).unwrap();
            let pass = trial.blocks as u64;
            for accesses in [0, 1, 2, pass / 3 + 1, 1, pass, 2 * pass + 1] {
                trial.run(accesses);
                trial.verify().unwrap_or_else(|wrong| panic!("{}, {accesses}: {wrong}", name(&params)));
            }
        }
    }

    #[test]
    fn an_access_that_was_claimed_but_not_made_or_made_but_not_claimed_is_found() {
        for params in all() {
            for (made, claimed) in [(1, 2), (2, 1)] {
                let mut trial = AccessTrial::open(&params, 3).unwrap();
                trial.run(made);
                trial.accesses = claimed;
                let is_found = trial.verify().is_err();
                // Where a thread has a single block, writing it again would leave no trace.
                assert!(is_found || trial.blocks == 1 && params.op != MemoryOp::Read, "{}", name(&params));
            }
        }
    }

    #[test]
    fn a_block_that_is_accessed_twice_and_another_not_at_all_is_found() {
        for params in all() {
            let mut trial = AccessTrial::open(&params, 3).unwrap();
            let Order::Listed([source, target]) = &mut trial.order else { continue };
            if source.len() < 2 {
                continue;
            }
            let (right_source, right_target) = (source.clone(), target.clone());
            (source[1], target[1]) = (source[0], target[0]);
            trial.run(2);
            trial.order = Order::Listed([right_source, right_target]);
            assert!(trial.verify().is_err(), "{}", name(&params));
        }
    }

    #[test]
    fn another_scramble_is_found() {
        for params in all() {
            let mut trial = AccessTrial::open(&params, 3).unwrap();
            let Order::Generated = trial.order else { continue };
            let permuted = Permuted { blocks: trial.blocks as u64, seed: 4 };
            let right = trial.cursor.clone();
            trial.cursor = right
                .kernel()
                .random(&Features::detect(), trial.block_words * WORD_BYTES, trial.content, permuted)
                .unwrap();
            trial.run(3);
            // As if its counters were where they belong.
            let mut counted = right;
            let (source, mut target) =
                (vec![0; trial.blocks * trial.block_words], vec![0; trial.blocks * trial.block_words]);
            counted.run(3, &source, &mut target);
            trial.cursor = counted;
            assert!(trial.verify().is_err(), "{}", name(&params));
        }
    }

    #[test]
    fn a_wrong_word_is_found_in_what_was_written() {
        for params in all().into_iter().filter(|params| params.op != MemoryOp::Read) {
            let mut trial = AccessTrial::open(&params, 3).unwrap();
            trial.run(1);
            let word = trial.access(0)[1] * trial.block_words + trial.block_words - 1;
            words_mut(trial.target.as_mut().unwrap().as_mut_slice())[word] ^= 1 << 40;
            assert!(trial.verify().is_err(), "{}", name(&params));
        }
    }

    #[test]
    fn blocks_that_do_not_fit_are_refused() {
        let too_large = MemoryParams { threads: 3, ..params(MemoryPattern::Random, MemoryOp::Copy, Some(128 << 10)) };
        assert_eq!(AccessTrial::open(&too_large, 1).err(), obstacle(&too_large).map(Trouble::Unavailable));
    }

    #[test]
    fn a_copy_counts_both_sides_an_increment_is_an_operation_and_a_generated_order_has_its_cost() {
        for params in all() {
            let trial = AccessTrial::open(&params, 3).unwrap();
            let (measure, work) = match (params.op, params.block) {
                (MemoryOp::Copy, Some(block)) => (Measure::Accesses(2 * block), 2 * block),
                (_, Some(block)) => (Measure::Accesses(block), block),
                (_, None) => (Measure::Rate(Unit::OpPerSecond), 1),
            };
            let (profile, generated) = (trial.profile(), matches!(trial.order, Order::Generated));
            assert_eq!((profile.measure, profile.work_per_iteration), (measure, work as f64), "{}", name(&params));
            let costs = trial.means().order_seconds.is_some_and(|seconds| seconds > 0.0);
            assert_eq!(costs, generated, "{}", name(&params));
        }
    }
}
