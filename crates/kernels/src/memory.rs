//! The one table of memory streams: read, write and copy over blocks, with and without non-temporal stores.
//!
//! A row is static data beside a body of machine code, as in [`crate::table`]. Byte counts are the program's own: what
//! a store through the cache also moves on the bus (write-allocate) is known by the operation, not counted here.
//! Non-temporal bodies end in a store fence, so when a call returns its bytes have left the core.
//!
//! The widest is not always the fastest: cores that lower their clock for 512-bit units store more by narrower ones.
//! Which row to measure is the caller's to say.

use model::isa::{Isa, MemoryOp};

use crate::features::{Feature, Features};
use crate::lines::{Block, Line};
use crate::native;
use crate::pattern::{Pattern, fold};

/// Every memory stream of this architecture; for one operation the widest comes first.
pub static MEMORY_KERNELS: &[MemoryKernel] = native::MEMORY_KERNELS;

/// Reads `blocks` blocks from `src` and stores the exclusive or of their lines, in any arrangement of words, in `sum`.
pub(crate) type ReadBody = unsafe extern "C" fn(src: *const Block, blocks: usize, sum: &mut Line);
/// Writes `blocks` blocks of the pattern at `dst`.
pub(crate) type WriteBody = unsafe extern "C" fn(dst: *mut Block, blocks: usize, pattern: &Pattern);
/// Copies `blocks` blocks from `src` to `dst`.
pub(crate) type CopyBody = unsafe extern "C" fn(dst: *mut Block, blocks: usize, src: *const Block);

/// A body by what it is given.
///
/// # Safety
/// To call one, the CPU must support the features that its kernel requires, and the pointers must be valid for `blocks`
/// blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Body {
    Read(ReadBody),
    Write(WriteBody),
    Copy(CopyBody),
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
    /// The instruction that loads (none: the loop only stores).
    pub load: Option<&'static str>,
    /// The instruction that stores (none: the loop only loads).
    pub store: Option<&'static str>,
    pub(crate) body: Body,
}

impl MemoryKernel {
    /// Bytes loaded per block.
    pub const fn bytes_read(&self) -> usize {
        if self.load.is_some() { size_of::<Block>() } else { 0 }
    }

    /// Bytes stored per block.
    pub const fn bytes_written(&self) -> usize {
        if self.store.is_some() { size_of::<Block>() } else { 0 }
    }

    /// The loop ready to run, where `features` and this CPU have all that it requires.
    pub fn bind(&'static self, features: &Features) -> Option<BoundMemory> {
        features.usable(self.requires).then_some(match self.body {
            Body::Read(body) => BoundMemory::Read(ReadLoop(body)),
            Body::Write(body) => BoundMemory::Write(WriteLoop(body)),
            Body::Copy(body) => BoundMemory::Copy(CopyLoop(body)),
        })
    }

    /// Where the machine code begins, for disassembly.
    pub fn code(&self) -> *const u8 {
        match self.body {
            Body::Read(body) => body as *const u8,
            Body::Write(body) => body as *const u8,
            Body::Copy(body) => body as *const u8,
        }
    }
}

/// A [`MemoryKernel`] on a machine that can run it, by what it is given.
#[derive(Clone, Copy, Debug)]
pub enum BoundMemory {
    /// Loads only.
    Read(ReadLoop),
    /// Stores only.
    Write(WriteLoop),
    /// Loads and stores.
    Copy(CopyLoop),
}

/// A loop that reads.
#[derive(Clone, Copy, Debug)]
pub struct ReadLoop(ReadBody);

impl ReadLoop {
    /// Reads every line once, in ascending order, and returns the exclusive or of all words: the
    /// [`checksum`](crate::pattern::checksum).
    #[inline]
    pub fn run(&self, src: &[Block]) -> u64 {
        let mut sum = Line::default();
        // SAFETY: a `ReadLoop` exists only where its features do; the pointer and length are those of a slice.
        unsafe { (self.0)(src.as_ptr(), src.len(), &mut sum) };
        fold(&sum.0)
    }
}

/// A loop that writes.
#[derive(Clone, Copy, Debug)]
pub struct WriteLoop(WriteBody);

impl WriteLoop {
    /// Writes `pattern` over every line once, in ascending order.
    #[inline]
    pub fn run(&self, dst: &mut [Block], pattern: &Pattern) {
        // SAFETY: a `WriteLoop` exists only where its features do; the pointer and length are those of a slice.
        unsafe { (self.0)(dst.as_mut_ptr(), dst.len(), pattern) }
    }
}

/// A loop that copies.
#[derive(Clone, Copy, Debug)]
pub struct CopyLoop(CopyBody);

impl CopyLoop {
    /// Copies every line of `src` once, in ascending order.
    ///
    /// # Panics
    /// If the lengths differ.
    #[inline]
    pub fn run(&self, dst: &mut [Block], src: &[Block]) {
        assert_eq!(dst.len(), src.len(), "a copy needs as many blocks on either side");
        // SAFETY: a `CopyLoop` exists only where its features do; both slices have `dst.len()` blocks and cannot
        // overlap.
        unsafe { (self.0)(dst.as_mut_ptr(), dst.len(), src.as_ptr()) }
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
