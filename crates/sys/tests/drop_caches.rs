//! Drops the whole page cache, in a process of its own, since other tests measure what they have in it.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

#[test]
fn root_drops_the_whole_cache_and_other_users_may_not() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("drop-{}", std::process::id()));
    let mut file = File::create(&path).unwrap();
    file.write_all(&vec![7; 1 << 20]).unwrap();
    file.sync_all().unwrap();
    let mut file = File::open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    file.read_to_end(&mut Vec::new()).unwrap();
    match sys::file::drop_all_cached() {
        Ok(()) => {
            let left = sys::file::cached_bytes(&file).unwrap();
            assert!(left < 1 << 20, "{left} bytes stayed");
        }
        Err(error) => {
            let refused = [std::io::ErrorKind::PermissionDenied, std::io::ErrorKind::ReadOnlyFilesystem];
            let missing = error.kind() == std::io::ErrorKind::NotFound;
            assert!(missing || refused.contains(&error.kind()), "{error}");
        }
    }
}
