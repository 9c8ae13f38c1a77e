//! The copy function of the C library that this process is linked with, called by its name.

/// Copies `source` over `target` by `memcpy`. Which loop that is, the library chooses by the length and the CPU.
///
/// # Panics
/// If the lengths differ.
#[inline(never)]
pub fn copy(target: &mut [u8], source: &[u8]) {
    assert_eq!(target.len(), source.len(), "a copy needs as many bytes on either side");
    // SAFETY: both slices are valid for so many bytes, and do not overlap, as one of them is exclusive.
    unsafe { libc::memcpy(target.as_mut_ptr().cast(), source.as_ptr().cast(), target.len()) };
}

/// Which library that is, as far as it says: `glibc 2.36`, `musl`.
pub fn library() -> String {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: it takes nothing and returns a string that lives as long as the library: that of the library that is
        // loaded, not of the one that was there when this was built.
        let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
        format!("glibc {}", version.to_string_lossy())
    }
    #[cfg(all(target_os = "linux", target_env = "musl"))]
    {
        // It says no version at run time.
        "musl".to_owned()
    }
    #[cfg(not(all(target_os = "linux", any(target_env = "gnu", target_env = "musl"))))]
    {
        "unknown C library".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_says_which_it_is() {
        let library = library();
        if cfg!(target_env = "gnu") {
            let version = library.strip_prefix("glibc ").unwrap();
            assert!(version.split('.').all(|part| part.parse::<u32>().is_ok()), "{library}");
        } else {
            assert!(!library.is_empty());
        }
    }

    #[test]
    fn what_is_copied_is_the_same_at_every_length() {
        for length in [0, 1, 7, 64, 4096, 1 << 20] {
            let source: Vec<u8> = (1..=251).cycle().take(length).collect();
            let mut target = vec![0; length];
            copy(&mut target, &source);
            assert!(target == source, "{length} bytes");
        }
    }

    #[test]
    #[should_panic(expected = "as many bytes")]
    fn a_source_of_another_length_is_refused() {
        copy(&mut [0; 2], &[1]);
    }

    /// The file that the function at this address comes from.
    #[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
    fn origin(address: usize) -> String {
        // SAFETY: all of it may be zero: pointers.
        let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
        // SAFETY: the address is only looked up, and the structure is ours to be filled in.
        assert_ne!(unsafe { libc::dladdr(address as *const libc::c_void, &raw mut found) }, 0);
        // SAFETY: a string of the loader's, as the address was found, that lives as long as the library is loaded.
        unsafe { std::ffi::CStr::from_ptr(found.dli_fname) }.to_str().unwrap().to_owned()
    }

    /// Where the calls through a table of addresses in the first bytes of a function lead.
    #[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
    fn calls(function: usize) -> Vec<usize> {
        const LOOKED_AT: usize = 256;
        // SAFETY: code of this program, which has more than so many bytes behind any function of ours.
        let code = unsafe { std::slice::from_raw_parts(function as *const u8, LOOKED_AT) };
        let calls =
            code.windows(6).enumerate().filter(|(_, bytes)| bytes[0] == 0xff && [0x15, 0x25].contains(&bytes[1]));
        let slots = calls.map(|(at, bytes)| {
            let distance = i32::from_le_bytes([bytes[2], bytes[3], bytes[4], bytes[5]]);
            (function + at + 6).wrapping_add_signed(distance as isize)
        });
        // What is no call but looks like one may lead anywhere: only slots beside the code are read.
        let near = slots.filter(|slot| slot.is_multiple_of(8) && origin_is_ours(*slot));
        // SAFETY: inside this program's file as it is mapped.
        near.map(|slot| unsafe { *(slot as *const usize) }).collect()
    }

    #[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
    fn origin_is_ours(address: usize) -> bool {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let program = std::fs::read_link("/proc/self/exe").unwrap();
        maps.lines().filter(|line| line.ends_with(program.to_str().unwrap())).any(|line| {
            let (low, high) = line.split_once(' ').unwrap().0.split_once('-').unwrap();
            let bound = |text| usize::from_str_radix(text, 16).unwrap();
            (bound(low)..bound(high)).contains(&address)
        })
    }

    #[test]
    #[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
    fn it_calls_the_function_of_the_c_library() {
        let memcpy = libc::memcpy as *const () as usize;
        assert!(origin(memcpy).contains("libc.so"), "memcpy comes from {}", origin(memcpy));
        let calls = calls(copy as *const () as usize);
        assert!(calls.contains(&memcpy), "{memcpy:#x} is not among {calls:#x?}");
    }
}
