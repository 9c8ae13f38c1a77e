//! The memory streams in plain Rust, through the cache only; non-temporal stores and the string instruction have no
//! row.

use core::hint::black_box;
use core::ptr;
use core::slice;

use model::isa::{Isa, MemoryOp};

use crate::memory::kernel::{Body, Job, MemoryKernel, Stride, UPDATE_STEP, combined};
use crate::memory::lines::{Block, CacheLine};

/// The lines of a source of the job. Safety: source `index` of the job must be valid for reads of its blocks.
unsafe fn source(job: &Job, index: usize) -> &[CacheLine] {
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts(job.sources[index], job.blocks) }.as_flattened()
}

/// The lines of the target of the job. Safety: the target must be valid for writes of the job's blocks, and nothing
/// else may refer to them.
unsafe fn target<'a>(job: &Job) -> &'a mut [CacheLine] {
    // SAFETY: the caller's promise; blocks are plain integers.
    unsafe { slice::from_raw_parts_mut(job.target, job.blocks) }.as_flattened_mut()
}

/// Bytes of one array over all passes.
const fn moved(job: &Job) -> u64 {
    (job.blocks * job.passes * size_of::<Block>()) as u64
}

/// # Safety
/// As for [`Body`].
unsafe extern "C" fn read(job: &mut Job) -> u64 {
    let mut sum = 0_u64;
    for _ in 0..job.passes {
        // SAFETY: the caller's promise.
        for line in unsafe { source(job, 0) } {
            // `black_box` makes the compiler load the other words too.
            sum = sum.wrapping_add(black_box(*line).0[0]);
        }
    }
    job.vectors[0].0[0] = sum;
    moved(job)
}

/// # Safety
/// As for [`Body`].
unsafe extern "C" fn write(job: &mut Job) -> u64 {
    // As many lines as eight vectors of this row have, by which the operand advances.
    let mut line = job.vectors[0];
    for _ in 0..job.passes {
        // SAFETY: the caller's promise.
        for slot in unsafe { target(job) } {
            *slot = line;
            for (word, step) in line.0.iter_mut().zip(job.operand.0) {
                *word = word.wrapping_add(step);
            }
        }
    }
    moved(job)
}

/// # Safety
/// As for [`Body`].
unsafe extern "C" fn update(job: &mut Job) -> u64 {
    for _ in 0..job.passes {
        // SAFETY: the caller's promise.
        for line in unsafe { target(job) } {
            line.0 = line.0.map(|word| word.wrapping_add(UPDATE_STEP));
        }
    }
    moved(job)
}

/// # Safety
/// As for [`Body`], of a job with one source.
unsafe fn from_one(job: &Job, op: MemoryOp) -> u64 {
    for _ in 0..job.passes {
        // SAFETY: the caller's promise.
        let (target, source) = unsafe { (target(job), source(job, 0)) };
        for (line, a) in target.iter_mut().zip(source) {
            line.0 = a.0.map(|word| combined(op, &[word]));
        }
    }
    moved(job)
}

/// # Safety
/// As for [`Body`], of a job with two sources.
unsafe fn from_two(job: &Job, op: MemoryOp) -> u64 {
    for _ in 0..job.passes {
        // SAFETY: the caller's promise.
        let (target, a, b) = unsafe { (target(job), source(job, 0), source(job, 1)) };
        for (line, (a, b)) in target.iter_mut().zip(a.iter().zip(b)) {
            line.0 = core::array::from_fn(|word| combined(op, &[a.0[word], b.0[word]]));
        }
    }
    moved(job)
}

/// Defines the body of each operation that combines arrays.
macro_rules! combining {
    ($($name:ident: $from:ident $op:ident;)+) => {$(
        /// # Safety
        /// As for [`Body`].
        unsafe extern "C" fn $name(job: &mut Job) -> u64 {
            // SAFETY: the caller's promise.
            unsafe { $from(job, MemoryOp::$op) }
        }
    )+};
}

combining! {
    copy: from_one Copy;
    scale: from_one Scale;
    add: from_two Add;
    triad: from_two Triad;
}

/// # Safety
/// As for [`Body`].
unsafe extern "C" fn byte_loop(job: &mut Job) -> u64 {
    let (target, source) = (job.target.cast::<u8>(), job.sources[0].cast::<u8>());
    for _ in 0..job.passes {
        for byte in 0..job.blocks * size_of::<Block>() {
            // Volatile, so that the compiler does not copy whole lines.
            // SAFETY: inside both arrays, by the caller's promise.
            unsafe { ptr::write_volatile(target.add(byte), ptr::read_volatile(source.add(byte))) };
        }
    }
    moved(job)
}

/// The rows; the compiler chooses the instructions.
pub(super) static KERNELS: &[MemoryKernel] = &[
    row("read/scalar/portable", MemoryOp::Read, read).summing(&[PORTABLE], PORTABLE),
    row("write/scalar/portable", MemoryOp::Write, write).by(&[], &[], PORTABLE),
    row("copy/scalar/portable", MemoryOp::Copy, copy).by(&[PORTABLE], &[], PORTABLE),
    row("update/scalar/portable", MemoryOp::Update, update).by(&[PORTABLE], &[], PORTABLE),
    row("scale/scalar/portable", MemoryOp::Scale, scale).by(&[PORTABLE], &[], PORTABLE),
    row("add/scalar/portable", MemoryOp::Add, add).by(&[PORTABLE, PORTABLE], &[], PORTABLE),
    row("triad/scalar/portable", MemoryOp::Triad, triad).by(&[PORTABLE, PORTABLE], &[], PORTABLE),
    row("byte_loop/scalar/portable", MemoryOp::ByteLoop, byte_loop)
        .by(&[PORTABLE], &[], PORTABLE)
        .of_bytes(Stride::Byte),
];

const PORTABLE: &str = "portable";

const fn row(name: &'static str, op: MemoryOp, body: Body) -> MemoryKernel {
    MemoryKernel::row(name, op, (Isa::Scalar, &[]), 8, body)
}
