//! The linear algebra of the system: `OpenBLAS`, MKL or BLIS, loaded on demand and never linked. All are called through
//! the Fortran interface of BLAS and LAPACK with 32-bit integers. A library stays loaded: its threads could not survive.

mod library;

use std::ffi::{c_char, c_int, c_long};

use library::{Description, Family, Handle, mkl_layer};
pub use library::{LIBRARIES, Library};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsolved {
    /// The pivot of this column, counted from 0, is exactly zero.
    Singular(usize),
    /// The library refuses its argument of this number, counted from 1.
    Argument(i32),
}

/// `DGESV` of LAPACK: N, NRHS, A, LDA, IPIV, B, LDB, INFO.
type Solve = unsafe extern "C" fn(&c_int, &c_int, *mut f64, &c_int, *mut c_int, *mut f64, &c_int, &mut c_int);

/// `DGEMM` of BLAS, or `SGEMM`: TRANSA, TRANSB, M, N, K, ALPHA, A, LDA, B, LDB, BETA, C, LDC; then the lengths of the
/// two strings, which Fortran compilers append and C implementations ignore.
type Multiply<T> = unsafe extern "C" fn(
    &c_char,
    &c_char,
    &c_int,
    &c_int,
    &c_int,
    &T,
    *const T,
    &c_int,
    *const T,
    &c_int,
    &T,
    *mut T,
    &c_int,
    usize,
    usize,
);

/// The elements that can be multiplied.
pub trait Element: Copy + sealed::Sealed {}

impl Element for f64 {}
impl Element for f32 {}

mod sealed {
    use super::{Blas, Multiply};

    pub trait Sealed: Sized {
        /// The function, and the factors one and zero.
        fn multiply_of(blas: &Blas) -> (Multiply<Self>, Self, Self);
    }

    impl Sealed for f64 {
        fn multiply_of(blas: &Blas) -> (Multiply<Self>, Self, Self) {
            (blas.dgemm, 1.0, 0.0)
        }
    }

    impl Sealed for f32 {
        fn multiply_of(blas: &Blas) -> (Multiply<Self>, Self, Self) {
            (blas.sgemm, 1.0, 0.0)
        }
    }
}

#[derive(Clone, Debug)]
pub struct Blas {
    pub library: &'static Library,
    /// Its version; `None` if it does not report one.
    pub version: Option<String>,
    /// Its description of itself, build options included, if it reports one.
    pub config: Option<String>,
    /// The core type whose kernels it has selected, in its own words: `SkylakeX`, `skx`, `AVX-512`.
    pub core: Option<String>,
    /// Whether it has threads of its own; `None` if it does not report it.
    pub threaded: Option<bool>,
    handle: Handle,
    dgesv: Option<Solve>,
    dgemm: Multiply<f64>,
    sgemm: Multiply<f32>,
}

impl Blas {
    /// Loads a library; an error says why it cannot be used. Threads that it starts while being loaded inherit the calling thread's CPUs, and some libraries
    /// never start more: choose the CPUs beforehand.
    pub fn load(library: &'static Library) -> Result<Self, String> {
        let handle = Handle::open(library.soname)?;
        // SAFETY: functions of these names are those of BLAS and LAPACK; the size of integers is checked before the first call.
        let (dgemm, sgemm, dgesv) = unsafe {
            (
                handle.function(c"dgemm_").ok_or("it has no dgemm_")?,
                handle.function(c"sgemm_").ok_or("it has no sgemm_")?,
                handle.function(c"dgesv_"),
            )
        };
        if library.family == Family::Mkl {
            let has = |soname: &str| Handle::open(soname).is_ok();
            // Set before the first call, or the library looks for Intel's and ends the process without it.
            handle.set(c"MKL_Set_Threading_Layer", mkl_layer(has("libiomp5.so"), has("libgomp.so.1")));
        }
        let Description { version, config, core, threaded, wide_integers } = Description::of(library.family, handle);
        if wide_integers {
            return Err("it was built for integers of 64 bits, and is called with 32".to_owned());
        }
        Ok(Self { library, version, config, core, threaded, handle, dgesv, dgemm, sgemm })
    }

    /// Whether it solves systems of equations; BLIS does not.
    pub fn solves(&self) -> bool {
        self.dgesv.is_some()
    }

    /// Sets the number of threads, the calling one included.
    pub fn set_threads(&self, threads: u32) {
        let count = c_int::try_from(threads).unwrap_or(c_int::MAX);
        match self.library.family {
            Family::OpenBlas => self.handle.set(c"openblas_set_num_threads", count),
            Family::Mkl => self.handle.set(c"MKL_Set_Num_Threads", count),
            Family::Blis => self.set_threads_of_blis(threads),
        }
    }

    /// BLIS takes an integer as wide as a pointer.
    fn set_threads_of_blis(&self, threads: u32) {
        // SAFETY: it takes a `dim_t` of 64 bits on x86-64; built otherwise, it reads the low half of the same register.
        unsafe {
            if let Some(set) = self.handle.function::<unsafe extern "C" fn(c_long)>(c"bli_thread_set_num_threads") {
                set(c_long::from(threads));
            }
        }
    }

    /// The number of threads that it reports.
    pub fn threads(&self) -> Option<u32> {
        let asked = match self.library.family {
            Family::OpenBlas => self.handle.integer(c"openblas_get_num_threads"),
            Family::Mkl => self.handle.integer(c"MKL_Get_Max_Threads"),
            Family::Blis => self.handle.integer(c"bli_thread_get_num_threads"),
        };
        asked.and_then(|count| u32::try_from(count).ok())
    }

    /// Solves A x = b with partial pivoting: A, with columns `lda` apart, becomes its factors, b becomes x. Panics if
    /// the library does not solve, or a slice is too short.
    pub fn solve(
        &self,
        order: usize,
        matrix: &mut [f64],
        lda: usize,
        pivots: &mut [i32],
        right: &mut [f64],
    ) -> Result<(), Unsolved> {
        assert!(holds(matrix.len(), order, order, lda), "a matrix of order {order} needs more room");
        assert!(pivots.len() >= order && right.len() >= order, "vectors of order {order} need more room");
        let Some(solve) = self.dgesv else { panic!("{} does not solve: ask `solves` first", self.library.name) };
        let (one, n, lda, mut info) = (1, integer(order), integer(lda), 0);
        let ldb = n.max(1);
        // SAFETY: all pointers are to values and slices that live through the call; the slices hold a matrix and
        // vectors of this order, as checked above, and are exclusive where they are written.
        unsafe {
            solve(&n, &one, matrix.as_mut_ptr(), &lda, pivots.as_mut_ptr(), right.as_mut_ptr(), &ldb, &mut info);
        }
        match info {
            0 => Ok(()),
            column @ 1.. => Err(Unsolved::Singular(usize::try_from(column - 1).unwrap_or(usize::MAX))),
            argument => Err(Unsolved::Argument(-argument)),
        }
    }

    /// C = A B, all of the same order and with columns `lda` apart. Panics if a slice is too short.
    pub fn multiply<T: Element>(&self, order: usize, a: &[T], b: &[T], c: &mut [T], lda: usize) {
        for length in [a.len(), b.len(), c.len()] {
            assert!(holds(length, order, order, lda), "a matrix of order {order} needs more room");
        }
        let (plain, n, lda) = (c_char::from_ne_bytes([b'N']), integer(order), integer(lda));
        let (multiply, one, zero) = T::multiply_of(self);
        // SAFETY: all pointers are to values and slices that live through the call; each slice holds a matrix of this
        // order, as checked above, and the one that is written is exclusive.
        unsafe {
            let (a, b, c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
            multiply(&plain, &plain, &n, &n, &n, &one, a, &lda, b, &lda, &zero, c, &lda, 1, 1);
        }
    }
}

/// Whether this number of elements holds a matrix whose columns are `lda` apart.
fn holds(elements: usize, rows: usize, columns: usize, lda: usize) -> bool {
    let needed = columns.checked_sub(1).map_or(Some(0), |last| last.checked_mul(lda)?.checked_add(rows));
    lda >= rows.max(1) && needed.is_some_and(|needed| elements >= needed)
}

/// A size as the libraries take it. Panics beyond 32 bits: such a matrix has 2^62 elements, and no slice holds it.
fn integer(size: usize) -> c_int {
    c_int::try_from(size).unwrap_or_else(|_| panic!("{size} is beyond integers of 32 bits"))
}

#[cfg(test)]
mod tests;
