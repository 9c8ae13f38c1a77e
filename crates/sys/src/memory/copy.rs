//! The copy function of the C library with which this process is linked.

/// Copies `source` over `target` by `memcpy`, whose loop depends on length and CPU. Panics if the lengths differ.
#[inline(never)]
pub fn copy(target: &mut [u8], source: &[u8]) {
    assert_eq!(target.len(), source.len(), "a copy needs as many bytes on either side");
    // SAFETY: both slices are valid for this number of bytes, and do not overlap, as one of them is exclusive.
    unsafe { libc::memcpy(target.as_mut_ptr().cast(), source.as_ptr().cast(), target.len()) };
}

/// The name and version of the library: `glibc 2.36`, `musl`.
pub fn library() -> String {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: it takes nothing and returns a string that lives as long as the loaded library.
        let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
        format!("glibc {}", version.to_string_lossy())
    }
    #[cfg(not(target_env = "gnu"))]
    {
        // musl has no version at run time.
        if cfg!(target_env = "musl") { "musl".to_owned() } else { "unknown C library".to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_has_a_name_and_a_version() {
        let library = library();
        if cfg!(target_env = "gnu") {
            let version = library.strip_prefix("glibc ").unwrap();
            assert!(version.split('.').all(|part| part.parse::<u32>().is_ok()), "{library}");
        } else {
            assert!(!library.is_empty());
        }
    }

    #[test]
    fn a_copy_is_the_same_at_every_length() {
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

    /// The file that contains the function at this address.
    #[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
    fn origin(address: usize) -> String {
        // SAFETY: all of it may be zero: pointers.
        let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
        // SAFETY: the address is only looked up, and the structure is ours to be filled in.
        assert_ne!(unsafe { libc::dladdr(address as *const libc::c_void, &raw mut found) }, 0);
        // SAFETY: a string of the loader, as the address was found, that lives as long as the library is loaded.
        unsafe { std::ffi::CStr::from_ptr(found.dli_fname) }.to_str().unwrap().to_owned()
    }

    /// The targets of calls through a table of addresses in the first bytes of a function.
    #[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
    fn calls(function: usize) -> Vec<usize> {
        use std::os::unix::fs::FileExt;
        let memory = std::fs::File::open("/proc/self/mem").unwrap();
        let mut code = [0; 256];
        memory.read_exact_at(&mut code, function as u64).unwrap();
        let calls =
            code.windows(6).enumerate().filter(|(_, bytes)| bytes[0] == 0xff && [0x15, 0x25].contains(&bytes[1]));
        let slots = calls.map(|(at, bytes)| {
            let distance = i32::from_le_bytes([bytes[2], bytes[3], bytes[4], bytes[5]]);
            (function + at + 6).wrapping_add_signed(distance as isize)
        });
        // Bytes that only look like a call may lead to unmapped memory.
        let target = |slot: usize| {
            let mut address = [0; 8];
            memory.read_exact_at(&mut address, slot as u64).ok().map(|()| usize::from_ne_bytes(address))
        };
        slots.filter_map(target).collect()
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
