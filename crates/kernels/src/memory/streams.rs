//! The table of memory streams. Byte counts are the program's own, without write-allocate traffic. Non-temporal bodies
//! end in a store fence, so that their bytes have left the core when a call returns.
//!
//! A call makes many passes, since one over a first-level cache takes tens of cycles. It returns how many blocks its pointers
//! have passed; sums grow, and values written differ, with every pass.

use model::isa::{Isa, MemoryOp};

use crate::features::Features;
use crate::memory::kernel::{Job, MemoryKernel, SCALAR, UPDATE_STEP};
use crate::memory::lines::{Block, CacheLine};
use crate::memory::pattern::Pattern;
use crate::native;

/// Every memory stream of this architecture; for one operation the widest comes first.
pub static MEMORY_KERNELS: &[MemoryKernel] = native::MEMORY_KERNELS;

impl MemoryKernel {
    /// The loop ready to run, if `features` and this CPU have all that it requires.
    pub fn bind(&'static self, features: &Features) -> Option<BoundMemory> {
        features.usable(self.requires).then_some(match self.op {
            MemoryOp::Read => BoundMemory::Read(ReadLoop(self)),
            MemoryOp::Write | MemoryOp::WriteNt => BoundMemory::Write(WriteLoop(self)),
            MemoryOp::Update => BoundMemory::Update(UpdateLoop(self)),
            MemoryOp::DcZva => BoundMemory::Zero(ZeroLoop(self)),
            _ => BoundMemory::Combine(CombineLoop(self)),
        })
    }
}

/// A [`MemoryKernel`] on a machine that can run it, by the arrays that it takes.
#[derive(Clone, Copy, Debug)]
pub enum BoundMemory {
    /// Loads only.
    Read(ReadLoop),
    /// Stores only.
    Write(WriteLoop),
    /// Loads and stores in the same place.
    Update(UpdateLoop),
    /// Stores zeros only.
    Zero(ZeroLoop),
    /// Loads from one array or more, and stores to another.
    Combine(CombineLoop),
}

/// The results of a reading loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Blocks read, over all passes.
    pub blocks: u64,
    /// The sum of the words of the first of each eight vectors, modulo 2^64, over all passes.
    pub sum: u64,
}

/// A loop that reads.
#[derive(Clone, Copy, Debug)]
pub struct ReadLoop(&'static MemoryKernel);

impl ReadLoop {
    /// Reads every line once a pass, in ascending order.
    #[inline]
    pub fn run(&self, src: &[Block], passes: usize) -> Reading {
        let mut job = Job::over(src.len(), passes);
        job.sources[0] = src.as_ptr();
        // SAFETY: a `ReadLoop` exists only where its features do; the pointer and length are those of a slice.
        let blocks = unsafe { self.0.run(&mut job) };
        Reading { blocks, sum: job.vectors[0].0.iter().fold(0, |sum, word| sum.wrapping_add(*word)) }
    }

    /// The sum that one pass over this number of blocks of a pattern adds.
    pub fn sum_of(&self, pattern: &Pattern, blocks: usize) -> u64 {
        let lines_apart = self.0.group_bytes() / CacheLine::BYTES;
        let (groups, words) =
            (blocks * size_of::<Block>() / self.0.group_bytes(), self.0.vector_bytes / size_of::<u64>());
        pattern.sum(groups, lines_apart, words)
    }
}

/// A loop that writes.
#[derive(Clone, Copy, Debug)]
pub struct WriteLoop(&'static MemoryKernel);

impl WriteLoop {
    /// Writes every line once a pass, in ascending order: the pattern, continued from one pass to the next, so that
    /// line `n` of pass `p` of `lines` is its line `p * lines + n`. Returns the blocks written.
    #[inline]
    pub fn run(&self, dst: &mut [Block], passes: usize, pattern: &Pattern) -> u64 {
        let mut job = Job::over(dst.len(), passes);
        job.target = dst.as_mut_ptr();
        pattern.fill(&mut job.vectors);
        // Eight vectors hold this number of lines of the pattern, and all advance by as many.
        let lines_ahead = (self.0.group_bytes() / CacheLine::BYTES) as u64;
        job.operand = CacheLine(pattern.step.map(|step| step.wrapping_mul(lines_ahead)));
        // SAFETY: a `WriteLoop` exists only where its features do; the pointer and length are those of a slice.
        unsafe { self.0.run(&mut job) }
    }
}

/// A loop that updates in place.
#[derive(Clone, Copy, Debug)]
pub struct UpdateLoop(&'static MemoryKernel);

impl UpdateLoop {
    /// Adds [`UPDATE_STEP`] to every word once a pass, in ascending order, and returns the blocks changed.
    #[inline]
    pub fn run(&self, dst: &mut [Block], passes: usize) -> u64 {
        let mut job = Job::over(dst.len(), passes);
        job.target = dst.as_mut_ptr();
        job.operand = CacheLine([UPDATE_STEP; CacheLine::WORDS]);
        // SAFETY: an `UpdateLoop` exists only where its features do; the pointer and length are those of a slice.
        unsafe { self.0.run(&mut job) }
    }
}

/// A loop that zeroes.
#[derive(Clone, Copy, Debug)]
pub struct ZeroLoop(&'static MemoryKernel);

impl ZeroLoop {
    /// Zeroes every line once a pass, in ascending order, and returns the blocks zeroed.
    #[inline]
    pub fn run(&self, dst: &mut [Block], passes: usize) -> u64 {
        let mut job = Job::over(dst.len(), passes);
        job.target = dst.as_mut_ptr();
        // SAFETY: a `ZeroLoop` exists only where its features do; the pointer and length are those of a slice.
        unsafe { self.0.run(&mut job) }
    }
}

/// A loop that combines arrays into another.
#[derive(Clone, Copy, Debug)]
pub struct CombineLoop(&'static MemoryKernel);

impl CombineLoop {
    /// The number of source arrays.
    pub const fn sources(&self) -> usize {
        self.0.sources()
    }

    /// Stores `combined` of the sources in the target, word by word, once a pass and in ascending order. Returns the
    /// blocks stored. Panics if the operation has another number of sources, or the lengths differ.
    #[inline]
    pub fn run(&self, dst: &mut [Block], sources: &[&[Block]], passes: usize) -> u64 {
        assert_eq!(sources.len(), self.sources(), "{} has another number of sources", self.0.name);
        let mut job = Job::over(dst.len(), passes);
        job.target = dst.as_mut_ptr();
        job.operand = CacheLine([SCALAR.to_bits(); CacheLine::WORDS]);
        for (pointer, source) in job.sources.iter_mut().zip(sources) {
            assert_eq!(source.len(), dst.len(), "{} needs as many blocks on either side", self.0.name);
            *pointer = source.as_ptr();
        }
        // SAFETY: a `CombineLoop` exists only where its features do; all slices have `dst.len()` blocks, there are as
        // many as the operation has, and none can overlap the target.
        unsafe { self.0.run(&mut job) }
    }
}

/// The stream for this operation and instruction set.
pub fn find(op: MemoryOp, isa: Isa, features: &Features) -> Option<BoundMemory> {
    MEMORY_KERNELS.iter().filter(|kernel| kernel.op == op && kernel.isa == isa).find_map(|kernel| kernel.bind(features))
}

/// The streams that bind for this operation, widest first.
pub fn usable(op: MemoryOp, features: &Features) -> impl Iterator<Item = &'static MemoryKernel> {
    let features = *features;
    MEMORY_KERNELS.iter().filter(move |kernel| kernel.op == op && features.has_all(kernel.requires))
}
