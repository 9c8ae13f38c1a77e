//! The portable tiles of dense linear algebra, and the loop over columns that every instruction set shares.

use model::isa::Isa;

use crate::dense::number::Number;
use crate::dense::tile::{ColumnsBody, Elimination, Tile, TileBody};

/// Rows and columns of the tile: sixteen 128-bit registers hold two of its columns and the sums.
const ROWS: usize = 4;
const COLUMNS: usize = 4;

/// Elements of a column per iteration, a multiple of every vector's lanes.
const CHUNK: usize = 16;

#[cfg(all(target_arch = "aarch64", target_os = "linux"))]
pub(crate) use core::arch::aarch64::{float32x4_t as Four, float64x2_t as Two};
/// Numbers that any processor of this architecture computes together.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub(crate) use core::arch::x86_64::{__m128 as Four, __m128d as Two};
#[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), target_os = "linux")))]
pub(crate) type Two = [f64; 2];
#[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), target_os = "linux")))]
pub(crate) type Four = [f32; 4];

pub(crate) const FP64_SCALAR: Tile<f64> = scalar(tile::<f64, Two, { ROWS / 2 }>, eliminate::<f64, Two, { CHUNK / 2 }>);

pub(crate) const FP32_SCALAR: Tile<f32> =
    scalar(tile::<f32, Four, { ROWS / 4 }>, eliminate::<f32, Four, { CHUNK / 4 }>);

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
#[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), target_os = "linux")))]
pub(crate) const fn fetch<T>(_place: *const T) {}

/// Copies elements; Rust has no stores past the caches. Safety: as for [`core::ptr::copy_nonoverlapping`].
#[inline]
#[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), target_os = "linux")))]
pub(crate) const unsafe fn copy_past_caches<T>(from: *const T, to: *mut T, count: usize) {
    // SAFETY: the caller's promise.
    unsafe { core::ptr::copy_nonoverlapping(from, to, count) };
}

/// Does nothing: nothing was copied past the caches.
#[inline]
#[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), target_os = "linux")))]
pub(crate) const fn settle() {}

/// See [`TileBody`]. A column is `VECTORS` of the vector type.
unsafe extern "C" fn tile<T: Number, V: Lanes<T>, const VECTORS: usize>(
    depth: usize,
    a: *const T,
    a_step: usize,
    b: *const T,
    c: *mut T,
    c_step: usize,
    _next: *const T,
) {
    const { assert!(size_of::<[V; VECTORS]>() == size_of::<[T; ROWS]>()) };
    let mut sums = [[V::all(T::ZERO); VECTORS]; COLUMNS];
    for level in 0..depth {
        // SAFETY: the caller vouches for `ROWS` elements of this column of `a` and `COLUMNS` of this row of `b`.
        let (left, right) = unsafe {
            let left = a.add(level * a_step).cast::<[V; VECTORS]>().read_unaligned();
            (left, b.add(level * COLUMNS).cast::<[T; COLUMNS]>().read())
        };
        for (sum, factor) in sums.iter_mut().zip(right) {
            for (sum, value) in sum.iter_mut().zip(left) {
                *sum = sum.plus(value.times(V::all(factor)));
            }
        }
    }
    for (column, sum) in sums.iter().enumerate() {
        // SAFETY: the caller vouches for `ROWS` elements of this column of `c`, which nothing else refers to.
        unsafe {
            let target = c.add(column * c_step).cast::<[V; VECTORS]>();
            let mut values = target.read_unaligned();
            for (value, sum) in values.iter_mut().zip(*sum) {
                *value = value.less(sum);
            }
            target.write_unaligned(values);
        }
    }
}

/// Numbers side by side: an array, or a vector register of an instruction set.
///
/// Vectors are written out because the link step of a small program vectorises no loop. Operations are inlined into the
/// function of the instruction set.
pub(crate) trait Lanes<T>: Copy {
    fn all(value: T) -> Self;

    fn plus(self, other: Self) -> Self;

    fn times(self, other: Self) -> Self;

    fn less(self, other: Self) -> Self;

    /// The larger of `most` and the magnitude, in each lane; `most` where the number is NaN.
    fn larger_magnitude(self, most: Self) -> Self;
}

#[expect(clippy::inline_always, reason = "they are inlined into loops that are inlined")]
impl<T: Number, const N: usize> Lanes<T> for [T; N] {
    #[inline(always)]
    fn all(value: T) -> Self {
        [value; N]
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        core::array::from_fn(|lane| self[lane] + other[lane])
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        core::array::from_fn(|lane| self[lane] * other[lane])
    }

    #[inline(always)]
    fn less(self, other: Self) -> Self {
        core::array::from_fn(|lane| self[lane] - other[lane])
    }

    #[inline(always)]
    fn larger_magnitude(self, most: Self) -> Self {
        core::array::from_fn(|lane| if self[lane].abs() > most[lane] { self[lane].abs() } else { most[lane] })
    }
}

/// Defines the arithmetic of a vector type by its instructions.
macro_rules! lanes {
    ($vector:ident of $element:ty:
        $all:ident, $plus:ident, $times:ident, $less:ident, $larger:expr, $magnitude:expr) => {
        impl $crate::portable::tiles::Lanes<$element> for $vector {
            #[inline(always)]
            fn all(value: $element) -> Self {
                // SAFETY: only functions of the instruction set use these, here and below.
                unsafe { $all(value) }
            }

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                // SAFETY: as above.
                unsafe { $plus(self, other) }
            }

            #[inline(always)]
            fn times(self, other: Self) -> Self {
                // SAFETY: as above.
                unsafe { $times(self, other) }
            }

            #[inline(always)]
            fn less(self, other: Self) -> Self {
                // SAFETY: as above.
                unsafe { $less(self, other) }
            }

            #[inline(always)]
            fn larger_magnitude(self, most: Self) -> Self {
                // SAFETY: as above. The larger is the second number if either is NaN.
                unsafe { ($larger)($magnitude(self), most) }
            }
        }
    };
}
pub(crate) use lanes;

/// See [`ColumnsBody`]. [`CHUNK`] rows are `VECTORS` of the vector type. Inlined into the function of each instruction set.
#[expect(clippy::inline_always, reason = "it takes the instruction set of the function that it is inlined into")]
#[inline(always)]
pub(crate) unsafe fn eliminate<T: Number, V: Lanes<T>, const VECTORS: usize>(job: &Elimination<T>) -> T {
    const { assert!(size_of::<[V; VECTORS]>() == size_of::<[T; CHUNK]>()) };
    // SAFETY: the caller's promise.
    unsafe {
        match job.count {
            0 => take::<T, V, VECTORS, 0>(job),
            1 => take::<T, V, VECTORS, 1>(job),
            2 => take::<T, V, VECTORS, 2>(job),
            3 => take::<T, V, VECTORS, 3>(job),
            4 => take::<T, V, VECTORS, 4>(job),
            5 => take::<T, V, VECTORS, 5>(job),
            6 => take::<T, V, VECTORS, 6>(job),
            7 => take::<T, V, VECTORS, 7>(job),
            _ => take::<T, V, VECTORS, 8>(job),
        }
    }
}

#[expect(clippy::inline_always, reason = "it takes the instruction set of the function that it is inlined into")]
#[inline(always)]
unsafe fn take<T: Number, V: Lanes<T>, const VECTORS: usize, const COUNT: usize>(job: &Elimination<T>) -> T {
    let whole = job.rows / CHUNK * CHUNK;
    let (mut most, mut rest) = ([V::all(T::ZERO); VECTORS], [[T::ZERO; 1]; 1]);
    for first in (0..whole).step_by(CHUNK) {
        // SAFETY: this and all elements up to `CHUNK` on are among the job's rows.
        unsafe { part::<T, V, VECTORS, COUNT>(job, first, &mut most) };
    }
    for first in whole..job.rows {
        // SAFETY: this is one of the job's rows.
        unsafe { part::<T, [T; 1], 1, COUNT>(job, first, &mut rest) };
    }
    // SAFETY: the vectors have as many lanes, all of them set.
    let most = unsafe { (&raw const most).cast::<[T; CHUNK]>().read() };
    most.into_iter().fold(rest[0][0], |most, one| if one > most { one } else { most })
}

/// The elimination in the rows of some vectors from `first` on.
#[expect(clippy::inline_always, reason = "it takes the instruction set of the function that it is inlined into")]
#[inline(always)]
unsafe fn part<T: Number, V: Lanes<T>, const VECTORS: usize, const COUNT: usize>(
    job: &Elimination<T>,
    first: usize,
    most: &mut [V; VECTORS],
) {
    let target = job.target.wrapping_add(first).cast::<[V; VECTORS]>();
    // SAFETY: the caller vouches for these rows of the target, which overlaps no source.
    let mut values = unsafe { target.read_unaligned() };
    for index in 0..COUNT {
        let source = job.sources.wrapping_add(index * job.step + first).cast::<[V; VECTORS]>();
        // SAFETY: and of each source.
        let mut factors = unsafe { source.read_unaligned() };
        if let (Some(scale), true) = (job.scale, index + 1 == COUNT) {
            for factor in &mut factors {
                *factor = factor.times(V::all(scale));
            }
            // SAFETY: the last source may be written where it is scaled.
            unsafe { source.write_unaligned(factors) };
        }
        for (value, factor) in values.iter_mut().zip(factors) {
            *value = value.less(factor.times(V::all(job.factors[index])));
        }
    }
    for (most, value) in most.iter_mut().zip(values) {
        *most = value.larger_magnitude(*most);
    }
    // SAFETY: as above.
    unsafe { target.write_unaligned(values) };
}
