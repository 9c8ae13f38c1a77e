//! A row of the table of memory streams: a loop and its declaration.

use model::isa::{Isa, MemoryOp};

use crate::features::{Feature, Needs};
use crate::memory::lines::{Block, CacheLine};

/// The factor of scale and triad: that of STREAM 5.10 (`stream.c`).
pub const SCALAR: f64 = 3.0;

/// The increment of an update.
pub const UPDATE_STEP: u64 = 1;

/// The most sources of a stream.
pub const MOST_SOURCES: usize = 3;

/// The input of a body, and its results.
#[repr(C, align(64))]
pub(crate) struct Job {
    pub(crate) target: *mut Block,
    /// The arrays that are read, as many as the operation has.
    pub(crate) sources: [*const Block; MOST_SOURCES],
    pub(crate) blocks: usize,
    pub(crate) passes: usize,
    /// Eight equal words: the summand or factor.
    pub(crate) operand: CacheLine,
    /// The first vectors of a writing loop; the sums of a reading one, in any arrangement of words in the first line.
    pub(crate) vectors: Block,
}

impl Job {
    pub(crate) const fn over(blocks: usize, passes: usize) -> Self {
        let (target, sources) = (core::ptr::null_mut(), [core::ptr::null(); MOST_SOURCES]);
        Self {
            target,
            sources,
            blocks,
            passes,
            operand: CacheLine([0; CacheLine::WORDS]),
            vectors: [CacheLine([0; CacheLine::WORDS]); 8],
        }
    }
}

/// Does a job, and returns how many bytes of one array its pointers have passed. Safety: the CPU must support the
/// features that the kernel requires; the target and the sources of its operation must be valid for the blocks of the
/// job and not overlap.
pub(crate) type Body = unsafe extern "C" fn(job: &mut Job) -> u64;

/// What one iteration of the innermost loop covers of each array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stride {
    /// One block, by vectors.
    Block,
    /// One byte.
    Byte,
    /// A whole pass, by one instruction.
    Pass,
    /// What one instruction zeroes, which only the CPU knows.
    Zeroed,
}

/// One row: a memory loop and its declaration.
#[derive(Debug)]
#[expect(missing_docs, reason = "the other fields are what their names say")]
pub struct MemoryKernel {
    /// Unique, as in ids of benchmarks: `read/avx512`.
    pub name: &'static str,
    pub op: MemoryOp,
    pub isa: Isa,
    pub requires: &'static [Feature],
    /// Bytes of one load or store.
    pub vector_bytes: usize,
    /// The instructions that load a vector, one for each array that is read, in order of execution.
    pub loads: &'static [&'static str],
    /// The instruction that, instead of a load, adds the first of each eight vectors to a sum.
    pub sum: Option<&'static str>,
    /// The instructions on registers alone, once for each vector.
    pub computes: &'static [&'static str],
    /// The instruction that stores (`None`: the loop only loads).
    pub store: Option<&'static str>,
    pub stride: Stride,
    pub(crate) body: Body,
}

/// The value of a target word for those of the sources, in order; for scale, add and triad they are fp64, with the
/// sources of triad in the order `b`, `c` of `a = b + s * c`.
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

impl MemoryKernel {
    /// A row that loads and stores nothing yet.
    pub(crate) const fn row(
        name: &'static str,
        op: MemoryOp,
        (isa, requires): Needs,
        vector_bytes: usize,
        body: Body,
    ) -> Self {
        let (loads, computes): (&[&str], &[&str]) = (&[], &[]);
        let stride = Stride::Block;
        Self { name, op, isa, requires, vector_bytes, loads, sum: None, computes, store: None, stride, body }
    }

    /// The same row with these instructions.
    pub(crate) const fn by(
        self,
        loads: &'static [&'static str],
        computes: &'static [&'static str],
        store: &'static str,
    ) -> Self {
        Self { loads, computes, store: Some(store), ..self }
    }

    /// The same row of a loop that only loads and adds up.
    pub(crate) const fn summing(self, loads: &'static [&'static str], sum: &'static str) -> Self {
        Self { loads, sum: Some(sum), ..self }
    }

    /// The same row of a loop without vectors.
    pub(crate) const fn of_bytes(self, stride: Stride) -> Self {
        Self { vector_bytes: 1, stride, ..self }
    }

    /// Bytes of eight vectors, the unit of the loops.
    pub const fn group_bytes(&self) -> usize {
        8 * self.vector_bytes
    }

    /// Arrays that are only read.
    pub const fn sources(&self) -> usize {
        if matches!(self.op, MemoryOp::Update) { 0 } else { self.loads.len() }
    }

    /// The address of the machine code, for disassembly.
    pub fn code(&self) -> *const u8 {
        self.body as *const u8
    }

    /// Does a job and returns its blocks. Safety: as for [`Body`].
    #[inline]
    pub(crate) unsafe fn run(&self, job: &mut Job) -> u64 {
        // SAFETY: the caller's promise.
        let bytes = unsafe { (self.body)(job) };
        bytes / size_of::<Block>() as u64
    }
}
