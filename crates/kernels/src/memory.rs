//! The one table of memory streams: what is loaded, what is stored and by which instructions, over blocks and passes.
//!
//! A row is static data beside a body of machine code, as in [`crate::table`]. Byte counts are the program's own: what
//! a store through the cache also moves on the bus (write-allocate) is known by the operation, not counted here.
//! Non-temporal bodies end in a store fence, so when a call returns its bytes have left the core.
//!
//! A call goes over its blocks as often as it is told: a working set in the first-level cache is passed in some tens of
//! cycles, of which a call would be a good part. So that no pass can be claimed that was not made, every call says how
//! many blocks its pointers went through; sums grow with every pass, and what is written differs from pass to pass.
//!
//! The widest is not always the fastest: cores that lower their clock for 512-bit units store more by narrower ones.
//! Which row to measure is the caller's to say.

use model::isa::{Isa, MemoryOp};

use crate::features::{Feature, Features};
use crate::lines::{Block, Line};
use crate::native;
use crate::pattern::Pattern;

/// Every memory stream of this architecture; for one operation the widest comes first.
pub static MEMORY_KERNELS: &[MemoryKernel] = native::MEMORY_KERNELS;

/// The factor of scale and triad: that of STREAM 5.10 (`stream.c`).
pub const SCALAR: f64 = 3.0;

/// What an update adds to every word: a word counts how often it was updated.
pub const UPDATE_STEP: u64 = 1;

/// Sources of a stream at most.
pub const MOST_SOURCES: usize = 3;

/// What a body is given, and where it leaves what it found.
#[repr(C, align(64))]
pub(crate) struct Job {
    /// What is written.
    pub(crate) target: *mut Block,
    /// What is read, as many as the operation has.
    pub(crate) sources: [*const Block; MOST_SOURCES],
    /// Blocks of every array.
    pub(crate) blocks: usize,
    /// How often all of them are gone through.
    pub(crate) passes: usize,
    /// Eight equal words: what is added, or multiplied by.
    pub(crate) operand: Line,
    /// Of a writing loop the first vectors; of a reading one the sums, in any arrangement of words in the first line.
    pub(crate) vectors: Block,
}

impl Job {
    const fn over(blocks: usize, passes: usize) -> Self {
        let (target, sources) = (core::ptr::null_mut(), [core::ptr::null(); MOST_SOURCES]);
        Self { target, sources, blocks, passes, operand: Line([0; Line::WORDS]), vectors: [Line([0; Line::WORDS]); 8] }
    }
}

/// Does a job, and returns through how many bytes its pointers went, of one array.
///
/// # Safety
/// The CPU must support the features that the kernel requires; the target and the sources that its operation has must
/// be valid for the blocks of the job and not overlap.
pub(crate) type Body = unsafe extern "C" fn(job: &mut Job) -> u64;

/// What the innermost loop covers of each array in one iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stride {
    /// One block, by vectors.
    Block,
    /// One byte.
    Byte,
    /// A whole pass, by one instruction.
    Pass,
}

/// One row: a memory loop and what it declares.
#[derive(Debug)]
pub struct MemoryKernel {
    /// Unique, as in ids of experiments: `read/avx512`.
    pub name: &'static str,
    /// What is done to each block.
    pub op: MemoryOp,
    /// With which instruction set.
    pub isa: Isa,
    /// The features without which the body must not run.
    pub requires: &'static [Feature],
    /// Bytes of one load or store.
    pub vector_bytes: usize,
    /// The instructions that load a vector, one for each array that is read, in the order of execution.
    pub loads: &'static [&'static str],
    /// The instruction that, in the place of a load, adds the first of each eight vectors to a sum.
    pub sum: Option<&'static str>,
    /// The instructions on registers alone, once for each vector.
    pub computes: &'static [&'static str],
    /// The instruction that stores (none: the loop only loads).
    pub store: Option<&'static str>,
    /// What one iteration covers.
    pub stride: Stride,
    pub(crate) body: Body,
}

impl MemoryKernel {
    /// Bytes loaded per block.
    pub const fn bytes_read(&self) -> usize {
        self.loads.len() * size_of::<Block>()
    }

    /// Bytes stored per block.
    pub const fn bytes_written(&self) -> usize {
        if self.store.is_some() { size_of::<Block>() } else { 0 }
    }

    /// Bytes of eight vectors: the groups that loops work in.
    pub const fn group_bytes(&self) -> usize {
        8 * self.vector_bytes
    }

    /// Arrays that are only read.
    pub const fn sources(&self) -> usize {
        if matches!(self.op, MemoryOp::Update) { 0 } else { self.loads.len() }
    }

    /// The loop ready to run, where `features` and this CPU have all that it requires.
    pub fn bind(&'static self, features: &Features) -> Option<BoundMemory> {
        features.usable(self.requires).then_some(match self.op {
            MemoryOp::Read => BoundMemory::Read(ReadLoop(self)),
            MemoryOp::Write | MemoryOp::WriteNt => BoundMemory::Write(WriteLoop(self)),
            MemoryOp::Update => BoundMemory::Update(UpdateLoop(self)),
            _ => BoundMemory::Combine(CombineLoop(self)),
        })
    }

    /// Where the machine code begins, for disassembly.
    pub fn code(&self) -> *const u8 {
        self.body as *const u8
    }

    /// Does a job and returns its blocks.
    ///
    /// # Safety
    /// As for [`Body`].
    #[inline]
    unsafe fn run(&self, job: &mut Job) -> u64 {
        // SAFETY: the caller's promise.
        let bytes = unsafe { (self.body)(job) };
        bytes / size_of::<Block>() as u64
    }
}

/// A [`MemoryKernel`] on a machine that can run it, by what it is given.
#[derive(Clone, Copy, Debug)]
pub enum BoundMemory {
    /// Loads only.
    Read(ReadLoop),
    /// Stores only.
    Write(WriteLoop),
    /// Loads and stores in the same place.
    Update(UpdateLoop),
    /// Loads from one array or several, and stores to another.
    Combine(CombineLoop),
}

/// What a reading loop found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Blocks that it went through, over all passes.
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

    /// The sum that one pass over so many blocks of a pattern adds.
    pub fn sum_of(&self, pattern: &Pattern, blocks: usize) -> u64 {
        let lines_apart = self.0.group_bytes() / Line::BYTES;
        let (groups, words) =
            (blocks * size_of::<Block>() / self.0.group_bytes(), self.0.vector_bytes / size_of::<u64>());
        pattern.sum(groups, lines_apart, words)
    }
}

/// A loop that writes.
#[derive(Clone, Copy, Debug)]
pub struct WriteLoop(&'static MemoryKernel);

impl WriteLoop {
    /// Writes every line once a pass, in ascending order: the pattern, which goes on from one pass to the next, so that
    /// line `n` of pass `p` of `lines` holds line `p * lines + n` of it. Returns the blocks written.
    #[inline]
    pub fn run(&self, dst: &mut [Block], passes: usize, pattern: &Pattern) -> u64 {
        let mut job = Job::over(dst.len(), passes);
        job.target = dst.as_mut_ptr();
        pattern.fill(&mut job.vectors);
        // Eight vectors hold so many lines of the pattern, and all advance by as many.
        let lines_ahead = (self.0.group_bytes() / Line::BYTES) as u64;
        job.operand = Line(pattern.step.map(|step| step.wrapping_mul(lines_ahead)));
        // SAFETY: a `WriteLoop` exists only where its features do; the pointer and length are those of a slice.
        unsafe { self.0.run(&mut job) }
    }
}

/// A loop that changes what it finds.
#[derive(Clone, Copy, Debug)]
pub struct UpdateLoop(&'static MemoryKernel);

impl UpdateLoop {
    /// Adds [`UPDATE_STEP`] to every word once a pass, in ascending order, and returns the blocks changed.
    #[inline]
    pub fn run(&self, dst: &mut [Block], passes: usize) -> u64 {
        let mut job = Job::over(dst.len(), passes);
        job.target = dst.as_mut_ptr();
        job.operand = Line([UPDATE_STEP; Line::WORDS]);
        // SAFETY: an `UpdateLoop` exists only where its features do; the pointer and length are those of a slice.
        unsafe { self.0.run(&mut job) }
    }
}

/// A loop that makes one array of others.
#[derive(Clone, Copy, Debug)]
pub struct CombineLoop(&'static MemoryKernel);

impl CombineLoop {
    /// Arrays that it reads.
    pub const fn sources(&self) -> usize {
        self.0.sources()
    }

    /// Stores [`combined`] of the sources in the target, word by word, once a pass and in ascending order. Returns the
    /// blocks stored.
    ///
    /// # Panics
    /// If the operation has another number of sources, or the lengths differ.
    #[inline]
    pub fn run(&self, dst: &mut [Block], sources: &[&[Block]], passes: usize) -> u64 {
        assert_eq!(sources.len(), self.sources(), "{} has another number of sources", self.0.name);
        let mut job = Job::over(dst.len(), passes);
        job.target = dst.as_mut_ptr();
        job.operand = Line([SCALAR.to_bits(); Line::WORDS]);
        for (pointer, source) in job.sources.iter_mut().zip(sources) {
            assert_eq!(source.len(), dst.len(), "{} needs as many blocks on either side", self.0.name);
            *pointer = source.as_ptr();
        }
        // SAFETY: a `CombineLoop` exists only where its features do; all slices have `dst.len()` blocks, there are as
        // many as the operation has, and none can overlap the target.
        unsafe { self.0.run(&mut job) }
    }
}

/// What a word of the target is by those of the sources, in their order; of scale, add and triad they are fp64, with
/// the sources of triad in the order `b`, `c` of `a = b + s * c`.
pub fn combined(op: MemoryOp, words: &[u64]) -> u64 {
    let mut numbers = words.iter().map(|word| f64::from_bits(*word));
    let mut next = || numbers.next().unwrap_or(0.0);
    match op {
        MemoryOp::Scale | MemoryOp::ScaleNt => (SCALAR * next()).to_bits(),
        MemoryOp::Add | MemoryOp::AddNt => (next() + next()).to_bits(),
        MemoryOp::Triad | MemoryOp::TriadNt => (next() + SCALAR * next()).to_bits(),
        _ => words.iter().fold(0, |all, word| all ^ word),
    }
}

/// Whether an operation computes with fp64 numbers.
pub const fn is_fp64(op: MemoryOp) -> bool {
    use MemoryOp::{Add, AddNt, Scale, ScaleNt, Triad, TriadNt};
    matches!(op, Scale | ScaleNt | Add | AddNt | Triad | TriadNt)
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
