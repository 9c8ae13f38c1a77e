//! The portable tiles of dense linear algebra, and the loop over columns that every instruction set shares.

use model::isa::Isa;

use crate::dense::number::Number;
use crate::dense::tile::{ColumnsBody, Elimination, Tile, TileBody};

/// Rows and columns of the tile: sixteen 128-bit registers hold two of its columns and the sums.
const ROWS: usize = 4;
const COLUMNS: usize = 4;

/// Elements of a column per iteration, a multiple of every vector's lanes.
const CHUNK: usize = 16;

pub(crate) const FP64_SCALAR: Tile<f64> = scalar(tile::<f64>, eliminate::<f64>);

pub(crate) const FP32_SCALAR: Tile<f32> = scalar(tile::<f32>, eliminate::<f32>);

const fn scalar<T: 'static>(body: TileBody<T>, eliminate: ColumnsBody<T>) -> Tile<T> {
    Tile::row("scalar/4x4", (Isa::Scalar, &[]), [ROWS, COLUMNS], body, eliminate)
}

/// The tiles of fp64 that need no instruction set.
pub static FP64: &[Tile<f64>] = &[FP64_SCALAR];

/// The tiles of fp32 that need no instruction set.
pub static FP32: &[Tile<f32>] = &[FP32_SCALAR];

/// Products in bf16 need an instruction set.
pub static FP32_BY_BF16: &[Tile<f32>] = &[];

/// Does nothing: Rust has no prefetch.
#[inline]
#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
pub(crate) const fn fetch<T>(_place: *const T) {}

/// Copies elements; Rust has no stores past the caches. Safety: as for [`core::ptr::copy_nonoverlapping`].
#[inline]
#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
pub(crate) const unsafe fn copy_past_caches<T>(from: *const T, to: *mut T, count: usize) {
    // SAFETY: the caller's promise.
    unsafe { core::ptr::copy_nonoverlapping(from, to, count) };
}

/// Does nothing: nothing was copied past the caches.
#[inline]
#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
pub(crate) const fn settle() {}

/// Rounds to pairs of bf16, see [`RoundBody`](crate::dense::tile::RoundBody). Inlined into the function of each
/// instruction set, whose vectors the compiler then uses.
#[expect(clippy::inline_always, reason = "it takes the instruction set of the function that it is inlined into")]
#[inline(always)]
#[cfg_attr(not(all(target_arch = "x86_64", target_os = "linux")), expect(dead_code, reason = "no tile here has pairs"))]
pub(crate) fn round_pairs(first: &[f32], second: Option<&[f32]>, pairs: &mut [f32]) {
    match second {
        Some(second) => {
            for ((pair, first), second) in pairs.iter_mut().zip(first).zip(second) {
                *pair = f32::from_bits(bfloat(*first) | bfloat(*second) << 16);
            }
        }
        None => {
            for (pair, first) in pairs.iter_mut().zip(first) {
                *pair = f32::from_bits(bfloat(*first));
            }
        }
    }
}

/// The bits of the nearest bf16, ties to even, as VCVTNE2PS2BF16 has it: subnormal numbers become zero, NaN stays NaN.
#[expect(clippy::inline_always, reason = "as above")]
#[inline(always)]
pub(crate) fn bfloat(value: f32) -> u32 {
    let bits = value.to_bits();
    let rounded = (bits.wrapping_add(0x7fff + (bits >> 16 & 1))) >> 16;
    if value.is_nan() {
        bits >> 16 | 0x40
    } else if value.abs() < f32::MIN_POSITIVE {
        bits >> 16 & 0x8000
    } else {
        rounded
    }
}

/// See [`TileBody`].
unsafe extern "C" fn tile<T: Number>(
    depth: usize,
    a: *const T,
    a_step: usize,
    b: *const T,
    c: *mut T,
    c_step: usize,
    _next: *const T,
) {
    let mut sums = [[T::ZERO; ROWS]; COLUMNS];
    for level in 0..depth {
        // SAFETY: the caller vouches for `ROWS` elements of this column of `a` and `COLUMNS` of this row of `b`.
        let (left, right) = unsafe {
            (a.add(level * a_step).cast::<[T; ROWS]>().read(), b.add(level * COLUMNS).cast::<[T; COLUMNS]>().read())
        };
        for (sum, factor) in sums.iter_mut().zip(right) {
            for (sum, value) in sum.iter_mut().zip(left) {
                *sum = *sum + value * factor;
            }
        }
    }
    for (column, sum) in sums.iter().enumerate() {
        // SAFETY: the caller vouches for `ROWS` elements of this column of `c`, which nothing else refers to.
        let target = unsafe { &mut *c.add(column * c_step).cast::<[T; ROWS]>() };
        for (entry, sum) in target.iter_mut().zip(sum) {
            *entry = *entry - *sum;
        }
    }
}

/// See [`ColumnsBody`]. Inlined into the function of each instruction set, whose vectors the compiler then uses.
#[expect(clippy::inline_always, reason = "it takes the instruction set of the function that it is inlined into")]
#[inline(always)]
pub(crate) unsafe fn eliminate<T: Number>(job: &Elimination<T>) -> T {
    // SAFETY: the caller's promise.
    unsafe {
        match job.count {
            0 => take::<T, 0>(job),
            1 => take::<T, 1>(job),
            2 => take::<T, 2>(job),
            3 => take::<T, 3>(job),
            4 => take::<T, 4>(job),
            5 => take::<T, 5>(job),
            6 => take::<T, 6>(job),
            7 => take::<T, 7>(job),
            _ => take::<T, 8>(job),
        }
    }
}

#[expect(clippy::inline_always, reason = "it takes the instruction set of the function that it is inlined into")]
#[inline(always)]
unsafe fn take<T: Number, const COUNT: usize>(job: &Elimination<T>) -> T {
    let whole = job.rows / CHUNK * CHUNK;
    let mut most = [T::ZERO; CHUNK];
    for first in (0..whole).step_by(CHUNK) {
        // SAFETY: this and all elements up to `CHUNK` on are among the job's rows.
        unsafe { part::<T, COUNT, CHUNK>(job, first, &mut most) };
    }
    for first in whole..job.rows {
        // SAFETY: this is one of the job's rows.
        unsafe { part::<T, COUNT, 1>(job, first, most.first_chunk_mut().unwrap_or(&mut [T::ZERO])) };
    }
    most.into_iter().fold(T::ZERO, |most, one| if one > most { one } else { most })
}

/// The elimination in `LENGTH` rows from `first` on.
#[expect(clippy::inline_always, reason = "it takes the instruction set of the function that it is inlined into")]
#[inline(always)]
unsafe fn part<T: Number, const COUNT: usize, const LENGTH: usize>(
    job: &Elimination<T>,
    first: usize,
    most: &mut [T; LENGTH],
) {
    // SAFETY: the caller vouches for these rows of the target, which overlaps no source.
    let target = unsafe { &mut *job.target.add(first).cast::<[T; LENGTH]>() };
    let mut values = *target;
    for index in 0..COUNT {
        // SAFETY: and of each source.
        let (source, mut factors) = unsafe {
            let source = job.sources.add(index * job.step + first).cast::<[T; LENGTH]>();
            (source, source.read())
        };
        if let (Some(scale), true) = (job.scale, index + 1 == COUNT) {
            factors = factors.map(|factor| factor * scale);
            // SAFETY: the last source may be written where it is scaled.
            unsafe { source.write(factors) };
        }
        for (value, factor) in values.iter_mut().zip(factors) {
            *value = *value - factor * job.factors[index];
        }
    }
    for (most, value) in most.iter_mut().zip(values) {
        let magnitude = value.abs();
        *most = if magnitude > *most { magnitude } else { *most };
    }
    *target = values;
}
