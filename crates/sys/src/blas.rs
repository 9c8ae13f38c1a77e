//! The linear algebra of the system: `OpenBLAS`, MKL or BLIS, loaded when it is asked for and never linked.
//!
//! Known here are names, signatures and how each library is told and asked things; which of them is wanted, on how many
//! threads and what becomes of the results is the caller's. All are called through the Fortran interface of BLAS and
//! LAPACK with integers of 32 bits, which they have in common. A library once loaded stays: its threads do not survive
//! being unloaded.

use std::ffi::{CStr, CString, c_char, c_int, c_long, c_void};
use std::fmt;

/// A library that is known.
#[derive(Debug, PartialEq, Eq)]
pub struct Library {
    /// What people call it.
    pub name: &'static str,
    /// The name that the loader knows it by.
    pub soname: &'static str,
    family: Family,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    OpenBlas,
    Mkl,
    Blis,
}

/// Every library that is known. The names are those of the interfaces described here: `OpenBLAS` (`cblas.h`), oneMKL
/// `mkl_service.h`, BLIS `docs/BLISObjectAPI.md` and `docs/Multithreading.md`.
pub static LIBRARIES: &[Library] = &[
    Library { name: "OpenBLAS", soname: "libopenblas.so.0", family: Family::OpenBlas },
    Library { name: "oneMKL", soname: "libmkl_rt.so.2", family: Family::Mkl },
    Library { name: "BLIS", soname: "libblis.so.4", family: Family::Blis },
];

/// Why a library cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// The loader does not find or does not take it, and says this.
    NotLoaded(String),
    /// It lacks this function.
    Lacks(&'static str),
    /// Its integers have 64 bits: it would read past ours.
    WideIntegers,
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotLoaded(said) => write!(f, "it cannot be loaded ({said})"),
            Self::Lacks(function) => write!(f, "it has no {function}"),
            Self::WideIntegers => f.write_str("it was built for integers of 64 bits, and is called with 32"),
        }
    }
}

/// Why a system of equations was not solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsolved {
    /// The pivot of this column, counted from 0, is exactly zero.
    Singular(usize),
    /// It refuses its argument of this number, counted from 1.
    Argument(i32),
}

/// `DGESV` of LAPACK: N, NRHS, A, LDA, IPIV, B, LDB, INFO.
type Solve = unsafe extern "C" fn(
    *const c_int,
    *const c_int,
    *mut f64,
    *const c_int,
    *mut c_int,
    *mut f64,
    *const c_int,
    *mut c_int,
);

/// `DGEMM` of BLAS, or `SGEMM`: TRANSA, TRANSB, M, N, K, ALPHA, A, LDA, B, LDB, BETA, C, LDC; then the lengths of the two
/// strings, which Fortran compilers append and C implementations leave alone.
type Multiply<T> = unsafe extern "C" fn(
    *const c_char,
    *const c_char,
    *const c_int,
    *const c_int,
    *const c_int,
    *const T,
    *const T,
    *const c_int,
    *const T,
    *const c_int,
    *const T,
    *mut T,
    *const c_int,
    usize,
    usize,
);

/// The elements that can be multiplied.
pub trait Element: Copy + sealed::Sealed {
    /// The factor that leaves a product as it is.
    const ONE: Self;
    /// The factor that forgets what was there before.
    const ZERO: Self;
}

impl Element for f64 {
    const ONE: Self = 1.0;
    const ZERO: Self = 0.0;
}

impl Element for f32 {
    const ONE: Self = 1.0;
    const ZERO: Self = 0.0;
}

mod sealed {
    use super::{Blas, Multiply};

    pub trait Sealed: Sized {
        fn multiply_of(blas: &Blas) -> Multiply<Self>;
    }

    impl Sealed for f64 {
        fn multiply_of(blas: &Blas) -> Multiply<Self> {
            blas.dgemm
        }
    }

    impl Sealed for f32 {
        fn multiply_of(blas: &Blas) -> Multiply<Self> {
            blas.sgemm
        }
    }
}

/// A library that is loaded.
#[derive(Clone, Debug)]
pub struct Blas {
    /// Which one it is.
    pub library: &'static Library,
    /// Its version, as it says; `None` where it says none.
    pub version: Option<String>,
    /// What it says of itself, its build options included; `None` where it says nothing.
    pub config: Option<String>,
    /// The core type whose kernels it has chosen, in its own word: `SkylakeX`, `skx`, `AVX-512`; `None` where it does not
    /// say.
    pub core: Option<String>,
    /// Whether it has threads of its own; `None` where it does not say.
    pub threaded: Option<bool>,
    handle: Handle,
    dgesv: Option<Solve>,
    dgemm: Multiply<f64>,
    sgemm: Multiply<f32>,
}

/// What the loader gave. It is never closed.
#[derive(Clone, Copy)]
struct Handle(*mut c_void);

// SAFETY: the loader's handle belongs to the process; every function that takes it may be called on any thread.
unsafe impl Send for Handle {}
// SAFETY: as above; nothing is changed through it.
unsafe impl Sync for Handle {}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Handle")
    }
}

impl Handle {
    /// Loads a library for good.
    fn open(soname: &str) -> Result<Self, Unusable> {
        let name = CString::new(soname).map_err(|error| Unusable::NotLoaded(error.to_string()))?;
        // SAFETY: the name is a string that lives through the call. The initialisers that run are those of a library
        // which exists to be loaded by any program.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if !handle.is_null() {
            return Ok(Self(handle));
        }
        // SAFETY: it takes nothing; its string belongs to this thread until its next call, and is copied at once.
        let said = unsafe { string_at(libc::dlerror()) };
        Err(Unusable::NotLoaded(said.unwrap_or_else(|| "the loader does not say why".to_owned())))
    }

    /// The address of a function; `None` where there is none of this name.
    fn address(self, function: &CStr) -> Option<*mut c_void> {
        // SAFETY: the handle is of a library that stays loaded, the name a string that lives through the call.
        let address = unsafe { libc::dlsym(self.0, function.as_ptr()) };
        (!address.is_null()).then_some(address)
    }

    /// Calls a function without arguments that returns an integer; of a wider one, its low half.
    fn ask(self, function: &CStr) -> Option<c_int> {
        let address = self.address(function)?;
        // SAFETY: callers name functions that take nothing and return an integer, by the headers named at `LIBRARIES`.
        let ask = unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> c_int>(address) };
        // SAFETY: see above; they read what the library has found out about itself.
        Some(unsafe { ask() })
    }

    /// Calls a function without arguments that returns a string of the library's.
    fn say(self, function: &CStr) -> Option<String> {
        let address = self.address(function)?;
        // SAFETY: callers name functions that take nothing and return a string, by the headers named at `LIBRARIES`.
        let say = unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> *const c_char>(address) };
        // SAFETY: see above; the string is the library's own, which stays, and is copied at once.
        unsafe { string_at(say()) }
    }

    /// Hands a number to a function that returns nothing.
    fn tell(self, function: &CStr, number: c_int) {
        if let Some(address) = self.address(function) {
            // SAFETY: callers name functions that take one `int`, by the headers named at `LIBRARIES`; a value that they
            // return is in a register and left there.
            let tell = unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn(c_int)>(address) };
            // SAFETY: see above; what they change is how the library goes on.
            unsafe { tell(number) };
        }
    }
}

/// A copy of a C string; `None` at the null pointer or where it is empty.
///
/// # Safety
/// The pointer is null or to a string that lives through the call.
unsafe fn string_at(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: it is not null, so it is a string by this function's contract.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy().trim().to_owned();
    (!text.is_empty()).then_some(text)
}

impl Blas {
    /// Loads a library. Threads that it starts on being loaded may run where the calling thread may, and as many as that
    /// are all that some libraries ever start: choose the calling thread's CPUs beforehand.
    ///
    /// # Errors
    /// It is not there, or not one that can be called.
    pub fn load(library: &'static Library) -> Result<Self, Unusable> {
        let handle = Handle::open(library.soname)?;
        let dgemm = handle.address(c"dgemm_").ok_or(Unusable::Lacks("dgemm_"))?;
        let sgemm = handle.address(c"sgemm_").ok_or(Unusable::Lacks("sgemm_"))?;
        let dgesv = handle.address(c"dgesv_").map(|address| {
            // SAFETY: a function of this name has LAPACK's signature, with integers of the size that is asked below.
            unsafe { std::mem::transmute::<*mut c_void, Solve>(address) }
        });
        if library.family == Family::Mkl {
            let has = |soname: &str| Handle::open(soname).is_ok();
            // Set before the first call, or the library looks for Intel's and ends the process where there is none.
            handle.tell(c"MKL_Set_Threading_Layer", mkl_layer(has("libiomp5.so"), has("libgomp.so.1")));
        }
        let told = Told::by(library.family, handle);
        if told.wide_integers {
            return Err(Unusable::WideIntegers);
        }
        Ok(Self {
            library,
            version: told.version,
            config: told.config,
            core: told.core,
            threaded: told.threaded,
            handle,
            dgesv,
            // SAFETY: a function of this name has BLAS's signature, with integers of 32 bits as was asked above.
            dgemm: unsafe { std::mem::transmute::<*mut c_void, Multiply<f64>>(dgemm) },
            // SAFETY: as above.
            sgemm: unsafe { std::mem::transmute::<*mut c_void, Multiply<f32>>(sgemm) },
        })
    }

    /// Whether it solves systems of equations: BLIS has products alone.
    pub fn solves(&self) -> bool {
        self.dgesv.is_some()
    }

    /// Makes it work with so many threads from now on, the calling one included.
    pub fn set_threads(&self, threads: u32) {
        let count = c_int::try_from(threads).unwrap_or(c_int::MAX);
        match self.library.family {
            Family::OpenBlas => self.handle.tell(c"openblas_set_num_threads", count),
            Family::Mkl => self.handle.tell(c"MKL_Set_Num_Threads", count),
            Family::Blis => self.set_threads_of_blis(threads),
        }
    }

    /// BLIS takes an integer as wide as a pointer.
    fn set_threads_of_blis(&self, threads: u32) {
        if let Some(address) = self.handle.address(c"bli_thread_set_num_threads") {
            // SAFETY: it takes a `dim_t`, which is 64 bits wide on x86-64 unless it was built otherwise, and then reads
            // the low half of the same register.
            let tell = unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn(c_long)>(address) };
            // SAFETY: see above; it changes how many threads its next products use.
            unsafe { tell(c_long::from(threads)) };
        }
    }

    /// How many threads it says that it works with; `None` where it does not say.
    pub fn threads(&self) -> Option<u32> {
        let asked = match self.library.family {
            Family::OpenBlas => self.handle.ask(c"openblas_get_num_threads"),
            Family::Mkl => self.handle.ask(c"MKL_Get_Max_Threads"),
            Family::Blis => self.handle.ask(c"bli_thread_get_num_threads"),
        };
        asked.and_then(|count| u32::try_from(count).ok())
    }

    /// Solves A x = b with partial pivoting: A, column by column `lda` apart, becomes its factors, b becomes x.
    ///
    /// # Errors
    /// The matrix is singular, or the library refuses an argument.
    ///
    /// # Panics
    /// If the library does not solve, or a slice is too short for an order that it must hold.
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
        // SAFETY: all pointers are to values and slices that live through the call; the slices hold what a matrix and
        // vectors of this order take, which was asked above, and are exclusive where they are written.
        unsafe {
            solve(
                &raw const n,
                &raw const one,
                matrix.as_mut_ptr(),
                &raw const lda,
                pivots.as_mut_ptr(),
                right.as_mut_ptr(),
                &raw const ldb,
                &raw mut info,
            );
        }
        match info {
            0 => Ok(()),
            column @ 1.. => Err(Unsolved::Singular(usize::try_from(column - 1).unwrap_or(usize::MAX))),
            argument => Err(Unsolved::Argument(-argument)),
        }
    }

    /// C = A B, all of the same order and `lda` apart from column to column.
    ///
    /// # Panics
    /// If a slice is too short for a matrix of this order.
    pub fn multiply<T: Element>(&self, order: usize, a: &[T], b: &[T], c: &mut [T], lda: usize) {
        for length in [a.len(), b.len(), c.len()] {
            assert!(holds(length, order, order, lda), "a matrix of order {order} needs more room");
        }
        let (plain, n, lda, one, zero) = (b'N'.cast_signed(), integer(order), integer(lda), T::ONE, T::ZERO);
        let multiply = T::multiply_of(self);
        // SAFETY: all pointers are to values and slices that live through the call; each slice holds a matrix of this
        // order, which was asked above, and the one that is written is exclusive.
        unsafe {
            multiply(
                &raw const plain,
                &raw const plain,
                &raw const n,
                &raw const n,
                &raw const n,
                &raw const one,
                a.as_ptr(),
                &raw const lda,
                b.as_ptr(),
                &raw const lda,
                &raw const zero,
                c.as_mut_ptr(),
                &raw const lda,
                1,
                1,
            );
        }
    }
}

/// Whether so many elements hold a matrix whose columns are `lda` apart.
fn holds(elements: usize, rows: usize, columns: usize, lda: usize) -> bool {
    let needed = columns.checked_sub(1).map_or(Some(0), |last| last.checked_mul(lda)?.checked_add(rows));
    lda >= rows.max(1) && needed.is_some_and(|needed| elements >= needed)
}

/// A size as the libraries take it.
///
/// # Panics
/// Beyond 32 bits: such a matrix has 2^62 elements, and no slice holds it.
fn integer(size: usize) -> c_int {
    c_int::try_from(size).unwrap_or_else(|_| panic!("{size} is beyond integers of 32 bits"))
}

/// What a library says of itself.
struct Told {
    version: Option<String>,
    config: Option<String>,
    core: Option<String>,
    threaded: Option<bool>,
    wide_integers: bool,
}

impl Told {
    fn by(family: Family, handle: Handle) -> Self {
        match family {
            Family::OpenBlas => {
                let config = handle.say(c"openblas_get_config");
                Self {
                    version: config.as_deref().and_then(version_in),
                    core: handle.say(c"openblas_get_corename"),
                    threaded: handle.ask(c"openblas_get_parallel").map(|kind| kind != 0),
                    wide_integers: config.as_deref().is_some_and(|config| config.contains("USE64BITINT")),
                    config,
                }
            }
            Family::Mkl => {
                let config = mkl_version(handle);
                Self {
                    version: config.as_deref().and_then(version_in),
                    core: handle.ask(c"MKL_CBWR_Get_Auto_Branch").and_then(mkl_branch).map(str::to_owned),
                    threaded: None,
                    wide_integers: false,
                    config,
                }
            }
            Family::Blis => {
                let version = handle.say(c"bli_info_get_version_str");
                let threads = [c"bli_info_get_enable_pthreads", c"bli_info_get_enable_openmp"];
                let enabled: Option<Vec<c_int>> = threads.map(|function| handle.ask(function)).into_iter().collect();
                Self {
                    config: version.as_ref().map(|version| format!("BLIS {version}")),
                    version,
                    core: blis_core(handle),
                    threaded: enabled.map(|enabled| enabled.iter().any(|enabled| *enabled != 0)),
                    wide_integers: handle.ask(c"bli_info_get_blas_int_type_size") == Some(64),
                }
            }
        }
    }
}

/// The first word of a text that begins with a digit: `OpenBLAS 0.3.21 DYNAMIC_ARCH …`.
fn version_in(text: &str) -> Option<String> {
    text.split_whitespace().find(|word| word.starts_with(|first: char| first.is_ascii_digit())).map(str::to_owned)
}

/// The words of MKL's sentence about itself. It fills a field of the length given and pads it with blanks.
fn mkl_version(handle: Handle) -> Option<String> {
    let address = handle.address(c"MKL_Get_Version_String")?;
    // SAFETY: by `mkl_service.h` it takes a buffer and its length, and returns nothing.
    let say = unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_char, c_int)>(address) };
    let mut text = [0_u8; 200];
    // SAFETY: the buffer is live and writable, and one longer than the length that is handed over, so that what is read
    // from it ends in a zero.
    unsafe { say(text.as_mut_ptr().cast(), 199) };
    let text = CStr::from_bytes_until_nul(&text).ok()?.to_string_lossy().trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// The instruction set of a code branch of MKL, by its number in `mkl_service.h` (`MKL_CBWR_…`).
const fn mkl_branch(number: c_int) -> Option<&'static str> {
    match number {
        3 | 4 => Some("SSE2"),
        6 => Some("SSSE3"),
        7 => Some("SSE4.1"),
        8 => Some("SSE4.2"),
        9 => Some("AVX"),
        10 => Some("AVX2"),
        11 | 13 => Some("AVX-512 (MIC)"),
        12 | 14 | 15 => Some("AVX-512"),
        _ => None,
    }
}

/// The threads of MKL by what is there to make them: Intel's, GNU's, or none (`MKL_THREADING_…` of `mkl_service.h`).
const fn mkl_layer(intel: bool, gnu: bool) -> c_int {
    match (intel, gnu) {
        (true, _) => 0,
        (false, true) => 3,
        (false, false) => 1,
    }
}

/// The name of the kernels that BLIS has chosen.
fn blis_core(handle: Handle) -> Option<String> {
    let (id, address) = (handle.ask(c"bli_arch_query_id")?, handle.address(c"bli_arch_string")?);
    // SAFETY: by `bli_arch.h` it takes an enumeration, an `int`, and returns a string of the library's.
    let say = unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn(c_int) -> *const c_char>(address) };
    // SAFETY: the number is one that the library has just given; the string is its own, and is copied at once.
    unsafe { string_at(say(id)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The libraries that are here, or a word that there are none.
    fn here() -> Vec<Blas> {
        let found: Vec<Blas> = LIBRARIES.iter().filter_map(|library| Blas::load(library).ok()).collect();
        if found.is_empty() {
            skip("linear algebra of the system");
        }
        found
    }

    /// Says, loudly and in the file that the harness names, that a test could not run here.
    fn skip(test: &str) {
        use std::io::Write;
        let reason = "no libopenblas.so.0, libmkl_rt.so.2 or libblis.so.4 here (Debian: apt-get install libopenblas0)";
        eprintln!("SKIPPED: {test}: {reason}");
        #[expect(clippy::disallowed_methods, reason = "the harness says through the environment where skips are noted")]
        if let Some(path) = std::env::var_os("ASSAY_TEST_SKIPS") {
            let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
            writeln!(file, "{test}: {reason}").unwrap();
        }
    }

    /// Entries in [-0.5, 0.5) from a small generator (Knuth's MMIX multiplier).
    fn uniform(seed: u64, count: usize) -> Vec<f64> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn systems_are_solved_at_any_order_and_distance_of_columns() {
        for blas in here().iter().filter(|blas| blas.solves()) {
            for (order, lda) in [(1, 1), (2, 5), (7, 7), (64, 65), (150, 160)] {
                let matrix = uniform(7, lda * order);
                let right = uniform(8, order);
                let (mut factors, mut x, mut pivots) = (matrix.clone(), right.clone(), vec![0; order]);
                assert_eq!(blas.solve(order, &mut factors, lda, &mut pivots, &mut x), Ok(()));
                for (row, right) in right.iter().enumerate() {
                    let product: f64 = (0..order).map(|column| matrix[row + lda * column] * x[column]).sum();
                    assert!((product - right).abs() < 1e-9, "{}: row {row} of order {order}", blas.library.name);
                }
            }
        }
    }

    #[test]
    fn a_singular_matrix_is_told_with_its_column() {
        for blas in here().iter().filter(|blas| blas.solves()) {
            let mut matrix = vec![0.0; 9];
            (matrix[0], matrix[8]) = (1.0, 1.0);
            let found = blas.solve(3, &mut matrix, 3, &mut [0; 3], &mut [1.0; 3]);
            assert_eq!(found, Err(Unsolved::Singular(1)), "{}", blas.library.name);
        }
    }

    #[test]
    fn products_are_those_of_the_definition() {
        for blas in here() {
            let (order, lda) = (37, 41);
            let (a, b) = (uniform(1, lda * order), uniform(2, lda * order));
            let mut c = vec![f64::NAN; lda * order];
            blas.multiply(order, &a, &b, &mut c, lda);
            #[expect(clippy::cast_possible_truncation, reason = "the same operands in fewer digits")]
            let single = |of: &[f64]| -> Vec<f32> { of.iter().map(|value| *value as f32).collect() };
            let mut narrow = vec![f32::NAN; lda * order];
            blas.multiply(order, &single(&a), &single(&b), &mut narrow, lda);
            for (row, column) in (0..order).flat_map(|row| (0..order).map(move |column| (row, column))) {
                let exact: f64 = (0..order).map(|k| a[row + lda * k] * b[k + lda * column]).sum();
                let place = row + lda * column;
                assert!((c[place] - exact).abs() < 1e-12, "{}: {row}, {column}", blas.library.name);
                assert!((f64::from(narrow[place]) - exact).abs() < 1e-4, "{}: {row}, {column}", blas.library.name);
            }
            assert!(c[order].is_nan(), "what lies between the columns is left alone");
        }
    }

    #[test]
    fn a_library_says_what_it_is_and_works_with_as_many_threads_as_it_is_told() {
        for blas in here() {
            assert!(blas.version.is_some() && blas.config.is_some(), "{blas:?}");
            blas.set_threads(1);
            assert_eq!(blas.threads(), Some(1), "{blas:?}");
        }
    }

    #[test]
    fn a_slice_that_is_too_short_is_never_handed_over() {
        for blas in here() {
            let product = || blas.multiply(4, &[1.0; 15], &[1.0; 16], &mut [0.0; 16], 4);
            let solution = || blas.solve(4, &mut [1.0; 16], 4, &mut [0; 3], &mut [1.0; 4]);
            let refused = |attempt: std::thread::Result<()>| {
                let said = attempt.unwrap_err();
                said.downcast_ref::<String>()
                    .is_some_and(|said| said.contains("needs more room") || said.contains("need"))
            };
            assert!(refused(std::panic::catch_unwind(std::panic::AssertUnwindSafe(product))));
            let solved = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| solution().map_or((), |()| ())));
            assert!(!blas.solves() || refused(solved));
        }
    }

    #[test]
    fn what_is_no_such_library_is_a_reason() {
        let load = |soname: &'static str, family| {
            let library: &'static Library = Box::leak(Box::new(Library { name: "none", soname, family }));
            Blas::load(library).map(|_| ()).unwrap_err()
        };
        let missing = load("libno-such-library.so.9", Family::OpenBlas);
        assert!(matches!(&missing, Unusable::NotLoaded(said) if said.contains("libno-such-library")), "{missing}");
        assert!(matches!(load("a\0b", Family::Blis), Unusable::NotLoaded(_)));
        if cfg!(all(target_os = "linux", target_env = "gnu", not(target_feature = "crt-static"))) {
            assert_eq!(load("libc.so.6", Family::OpenBlas), Unusable::Lacks("dgemm_"));
        }
    }

    #[test]
    fn matrices_are_held_or_not() {
        assert!(holds(16, 4, 4, 4) && holds(19, 4, 4, 5) && holds(0, 0, 0, 1));
        assert!(!holds(15, 4, 4, 4) && !holds(18, 4, 4, 5) && !holds(16, 4, 4, 3) && !holds(9, 0, 0, 0));
        assert!(!holds(usize::MAX, 2, usize::MAX, usize::MAX), "a size beyond words is not held");
    }

    #[test]
    fn versions_branches_and_layers_are_read() {
        assert_eq!(version_in("OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH"), Some("0.3.21".into()));
        let sentence = "Intel(R) oneAPI Math Kernel Library Version 2023.1-Product Build 20230303";
        assert_eq!(version_in(sentence), Some("2023.1-Product".into()));
        assert_eq!(version_in("no digits"), None);
        assert_eq!((mkl_branch(10), mkl_branch(14), mkl_branch(2)), (Some("AVX2"), Some("AVX-512"), None));
        assert_eq!([(true, true), (false, true), (false, false)].map(|(a, b)| mkl_layer(a, b)), [0, 3, 1]);
    }
}
