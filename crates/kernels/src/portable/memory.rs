//! The memory streams in plain Rust, through the cache only.

use model::isa::{Isa, MemoryOp};

use crate::lines::{Block, Line};
use crate::memory::{Body, MemoryKernel};
use crate::pattern::Pattern;

/// # Safety
/// `src` must be valid for reads of `blocks` blocks.
unsafe extern "C" fn read(src: *const Block, blocks: usize, sum: &mut Line) {
    // SAFETY: the caller's promise.
    let src = unsafe { core::slice::from_raw_parts(src, blocks) };
    *sum = Line::default();
    for line in src.as_flattened() {
        for (total, word) in sum.0.iter_mut().zip(line.0) {
            *total ^= word;
        }
    }
}

/// # Safety
/// `dst` must be valid for writes of `blocks` blocks.
unsafe extern "C" fn write(dst: *mut Block, blocks: usize, pattern: &Pattern) {
    // SAFETY: the caller's promise; blocks are plain integers.
    let dst = unsafe { core::slice::from_raw_parts_mut(dst, blocks) };
    pattern.fill(dst.as_flattened_mut());
}

/// # Safety
/// Both pointers must be valid for `blocks` blocks that do not overlap.
unsafe extern "C" fn copy(dst: *mut Block, blocks: usize, src: *const Block) {
    // SAFETY: the caller's promise.
    unsafe { core::ptr::copy_nonoverlapping(src, dst, blocks) }
}

/// Loads as the compiler chooses them.
pub(super) const READ_SCALAR: MemoryKernel = MemoryKernel {
    name: "read/scalar/portable",
    op: MemoryOp::Read,
    isa: Isa::Scalar,
    requires: &[],
    vector_bytes: 8,
    load: Some("portable"),
    store: None,
    body: Body::Read(read),
};
/// Stores as the compiler chooses them.
pub(super) const WRITE_SCALAR: MemoryKernel = MemoryKernel {
    name: "write/scalar/portable",
    op: MemoryOp::Write,
    load: None,
    store: Some("portable"),
    body: Body::Write(write),
    ..READ_SCALAR
};
/// The C library's or compiler's own copy.
pub(super) const COPY_SCALAR: MemoryKernel = MemoryKernel {
    name: "copy/scalar/portable",
    op: MemoryOp::Copy,
    store: Some("portable"),
    body: Body::Copy(copy),
    ..READ_SCALAR
};
