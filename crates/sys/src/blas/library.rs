//! The known libraries, how each is loaded, and what it reports about itself.

use std::error::Error as _;
use std::ffi::{CStr, c_char, c_int};

use libloading::os::unix;

#[derive(Debug, PartialEq, Eq)]
pub struct Library {
    pub name: &'static str,
    pub soname: &'static str,
    pub(super) family: Family,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    OpenBlas,
    Mkl,
    Blis,
}

/// Every known library. Functions are those of the interfaces described here: `OpenBLAS` (`cblas.h`), oneMKL
/// `mkl_service.h`, BLIS `docs/BLISObjectAPI.md` and `docs/Multithreading.md`.
pub static LIBRARIES: &[Library] = &[
    Library { name: "OpenBLAS", soname: "libopenblas.so.0", family: Family::OpenBlas },
    Library { name: "oneMKL", soname: "libmkl_rt.so.2", family: Family::Mkl },
    Library { name: "BLIS", soname: "libblis.so.4", family: Family::Blis },
];

/// A loaded library. It is never unloaded: its threads do not survive that.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handle(&'static unix::Library);

impl Handle {
    pub(super) fn open(soname: &str) -> Result<Self, String> {
        // SAFETY: its initialisers are those of a library that any program may load, and it is never unloaded.
        let library = unsafe { unix::Library::open(Some(soname), unix::RTLD_NOW | unix::RTLD_LOCAL) };
        let library = library.map_err(|error| {
            let why = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            format!("it cannot be loaded ({why})")
        })?;
        Ok(Self(Box::leak(Box::new(library))))
    }

    /// A function of the library, if it has one of this name. Safety: `F` has the function's signature.
    pub(super) unsafe fn function<F: Copy>(self, name: &CStr) -> Option<F> {
        // SAFETY: `F` is the function's type by the contract above; a null address is `None`.
        unsafe { self.0.get::<Option<F>>(name) }.ok().and_then(|symbol| *symbol)
    }

    /// Calls a function without arguments that returns an integer; of a wider one, the low half.
    pub(super) fn integer(self, name: &CStr) -> Option<c_int> {
        // SAFETY: callers name functions that take nothing and return an integer, by the headers named at `LIBRARIES`;
        // they read what the library knows about itself.
        unsafe { self.function::<unsafe extern "C" fn() -> c_int>(name).map(|call| call()) }
    }

    /// Calls a function without arguments that returns a string of the library.
    fn text(self, name: &CStr) -> Option<String> {
        // SAFETY: callers name functions that take nothing and return a string, by the headers named at `LIBRARIES`;
        // the string is the library's own, which stays, and is copied at once.
        unsafe { string_at(self.function::<unsafe extern "C" fn() -> *const c_char>(name)?()) }
    }

    /// Passes a number to a function that returns nothing.
    pub(super) fn set(self, name: &CStr, number: c_int) {
        // SAFETY: callers name functions that take one `int` (headers at `LIBRARIES`); a result is left in a register.
        if let Some(call) = unsafe { self.function::<unsafe extern "C" fn(c_int)>(name) } {
            // SAFETY: see above.
            unsafe { call(number) };
        }
    }
}

/// A copy of a C string; `None` if null or empty. Safety: the pointer is null or to a string that lives through the call.
unsafe fn string_at(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: it is not null, so it is a string by this function's contract.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy().trim().to_owned();
    (!text.is_empty()).then_some(text)
}

pub(super) struct Description {
    pub(super) version: Option<String>,
    pub(super) config: Option<String>,
    pub(super) core: Option<String>,
    pub(super) threaded: Option<bool>,
    pub(super) wide_integers: bool,
}

impl Description {
    pub(super) fn of(family: Family, handle: Handle) -> Self {
        match family {
            Family::OpenBlas => {
                let config = handle.text(c"openblas_get_config");
                Self {
                    version: config.as_deref().and_then(version_in),
                    core: handle.text(c"openblas_get_corename"),
                    threaded: handle.integer(c"openblas_get_parallel").map(|kind| kind != 0),
                    wide_integers: config.as_deref().is_some_and(|config| config.contains("USE64BITINT")),
                    config,
                }
            }
            Family::Mkl => {
                let config = mkl_version(handle);
                Self {
                    version: config.as_deref().and_then(version_in),
                    core: handle.integer(c"MKL_CBWR_Get_Auto_Branch").and_then(mkl_branch).map(str::to_owned),
                    threaded: None,
                    wide_integers: false,
                    config,
                }
            }
            Family::Blis => {
                let version = handle.text(c"bli_info_get_version_str");
                let threads = [c"bli_info_get_enable_pthreads", c"bli_info_get_enable_openmp"];
                let enabled: Option<Vec<c_int>> =
                    threads.map(|function| handle.integer(function)).into_iter().collect();
                Self {
                    config: version.as_ref().map(|version| format!("BLIS {version}")),
                    version,
                    core: blis_core(handle),
                    threaded: enabled.map(|enabled| enabled.iter().any(|enabled| *enabled != 0)),
                    wide_integers: handle.integer(c"bli_info_get_blas_int_type_size") == Some(64),
                }
            }
        }
    }
}

/// The first word of a text that begins with a digit, as in `OpenBLAS 0.3.21 DYNAMIC_ARCH …`.
pub(super) fn version_in(text: &str) -> Option<String> {
    text.split_whitespace().find(|word| word.starts_with(|first: char| first.is_ascii_digit())).map(str::to_owned)
}

/// MKL's description of itself. It fills a field of the length given and pads it with blanks.
fn mkl_version(handle: Handle) -> Option<String> {
    // SAFETY: by `mkl_service.h` it takes a buffer and its length, and returns nothing.
    let write = unsafe { handle.function::<unsafe extern "C" fn(*mut c_char, c_int)>(c"MKL_Get_Version_String") }?;
    let mut text = [0_u8; 200];
    // SAFETY: the buffer is live, writable, and one longer than the passed length, so that it ends in a zero.
    unsafe { write(text.as_mut_ptr().cast(), 199) };
    let text = CStr::from_bytes_until_nul(&text).ok()?.to_string_lossy().trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// The instruction set of a code branch of MKL, by its number in `mkl_service.h` (`MKL_CBWR_…`).
pub(super) const fn mkl_branch(number: c_int) -> Option<&'static str> {
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

/// MKL's threading layer for the libraries present: Intel's, GNU's, none (`MKL_THREADING_…` of `mkl_service.h`).
pub(super) const fn mkl_layer(intel: bool, gnu: bool) -> c_int {
    match (intel, gnu) {
        (true, _) => 0,
        (false, true) => 3,
        (false, false) => 1,
    }
}

/// The name of the kernels that BLIS has selected.
fn blis_core(handle: Handle) -> Option<String> {
    let id = handle.integer(c"bli_arch_query_id")?;
    // SAFETY: by `bli_arch.h` it takes an enumeration, an `int`, and returns a string of the library's.
    let name = unsafe { handle.function::<unsafe extern "C" fn(c_int) -> *const c_char>(c"bli_arch_string") }?;
    // SAFETY: the number is one that the library has just returned; the string is its own, and is copied at once.
    unsafe { string_at(name(id)) }
}
