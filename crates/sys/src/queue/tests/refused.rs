//! Threads on which the kernel refuses system calls.

use super::*;

/// Checks that opening a ring fails with this reason, and that blocking calls still work.
fn no_ring_because(why: &str, kind: io::ErrorKind) {
    let options = Options { engine: Engine::IoUring, depth: 4, arena_bytes: BLOCK };
    for error in [Queue::io_uring_available().unwrap_err(), Queue::open(written_file(BLOCK), &options).unwrap_err()] {
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(why), "{error}");
    }
    move_both_ways(Engine::Sync, 1, 4);
}

#[test]
fn without_a_usable_ring_opening_fails_and_blocking_calls_remain() {
    on_a_thread(&[(libc::SYS_io_uring_setup, None, libc::ENOSYS)], || {
        no_ring_because("the kernel has none", io::ErrorKind::Unsupported);
    });
    on_a_thread(&[(libc::SYS_io_uring_setup, None, libc::EPERM)], || {
        no_ring_because("seccomp", io::ErrorKind::PermissionDenied);
    });
    // A kernel that accepts neither flags nor a ring without them.
    on_a_thread(&[(libc::SYS_io_uring_setup, None, libc::EINVAL)], || {
        no_ring_because("Invalid argument", io::ErrorKind::InvalidInput);
    });
}

/// Starts a ring that was set up disabled, by its number in `linux/io_uring.h`.
const ENABLE_RINGS: u32 = 12;

#[test]
fn a_ring_that_may_be_set_up_and_not_entered_or_not_started_is_not_available() {
    if !has_ring() {
        return;
    }
    on_a_thread(&[(libc::SYS_io_uring_enter, None, libc::EPERM)], || {
        let error = Queue::io_uring_available().unwrap_err();
        assert!(error.to_string().contains("seccomp"), "{error}");
        move_both_ways(Engine::Sync, 1, 4);
        let queue = open_queue(written_file(BLOCK), Engine::Null, 2, 2 * BLOCK);
        assert!(queue.stepped_down().join("; ").contains("seccomp"), "{:?}", queue.stepped_down());
    });
    on_a_thread(&[(libc::SYS_io_uring_register, Some(ENABLE_RINGS), libc::EPERM)], || {
        let error = Queue::io_uring_available().unwrap_err();
        assert!(error.to_string().contains("seccomp"), "{error}");
    });
}

#[test]
fn libaio_that_may_be_set_up_and_not_used_is_not_available() {
    if Queue::libaio_available().is_err() {
        return skip(format_args!("libaio is not available"));
    }
    on_a_thread(&[(libc::SYS_io_submit, None, libc::EPERM)], || {
        let error = Queue::libaio_available().unwrap_err();
        assert!(error.to_string().contains("seccomp"), "{error}");
    });
    on_a_thread(&[(libc::SYS_io_getevents, None, libc::ENOSYS)], || {
        let error = Queue::libaio_available().unwrap_err();
        assert!(error.to_string().contains("sandbox"), "{error}");
    });
}

#[test]
fn without_a_ring_no_op_requests_end_in_the_loop() {
    on_a_thread(&[(libc::SYS_io_uring_setup, None, libc::ENOSYS)], || {
        let mut queue = open_queue(written_file(BLOCK), Engine::Null, 2, 2 * BLOCK);
        assert_eq!((queue.engine(), queue.features()), (Engine::Null, Vec::new()));
        let notes = queue.stepped_down().join("; ");
        assert!(notes.starts_with("no_op_requests: io_uring is not available"), "{notes}");
        queue.push(request(0, false, 0)).unwrap();
        queue.push(request(1, true, 9)).unwrap();
        let mut done = Vec::with_capacity(2);
        queue.wait(1, &mut done).unwrap();
        let results: Vec<_> = done.iter().map(|one| (one.token, *one.result.as_ref().unwrap())).collect();
        assert_eq!(results, [(0, 4096), (1, 4096)]);
    });
}

#[test]
fn without_native_asynchronous_io_the_error_has_the_reason() {
    on_a_thread(&[(libc::SYS_io_setup, None, libc::ENOSYS)], || {
        let error = Queue::libaio_available().unwrap_err();
        assert!(error.to_string().contains("libaio is not available") && error.to_string().contains("sandbox"));
    });
    on_a_thread(&[(libc::SYS_io_setup, None, libc::EAGAIN)], || {
        let direct = direct_if_possible(&written_file(BLOCK));
        let options = Options { engine: Engine::Libaio, depth: 4, arena_bytes: BLOCK };
        let error = if crate::file::is_direct(&direct).unwrap() {
            Queue::open(direct, &options).unwrap_err()
        } else {
            Queue::libaio_available().unwrap_err()
        };
        assert!(error.to_string().contains("fs.aio-max-nr"), "{error}");
    });
}

/// Registering buffers, files and the ring itself, by their numbers in `linux/io_uring.h`.
const ALL_REGISTRATIONS: &[(libc::c_long, Option<u32>, i32)] = &[
    (libc::SYS_io_uring_register, Some(0), libc::ENOMEM),
    (libc::SYS_io_uring_register, Some(2), libc::EPERM),
    (libc::SYS_io_uring_register, Some(20), libc::EINVAL),
];

#[test]
fn without_registrations_the_data_still_move() {
    if !has_ring() {
        return;
    }
    on_a_thread(ALL_REGISTRATIONS, || {
        let queue = move_both_ways(Engine::IoUring, 8, 32);
        assert!(!queue.features().iter().any(|word| word.starts_with("registered")), "{:?}", queue.features());
        let noted = |what: &str| queue.stepped_down().iter().any(|note| note.starts_with(what));
        assert!(noted("registered_buffers: Cannot allocate memory"), "{:?}", queue.stepped_down());
        assert!(noted("registered_files: Operation not permitted"), "{:?}", queue.stepped_down());
        assert!(noted("registered_ring: Invalid argument"), "{:?}", queue.stepped_down());
    });
}

#[test]
fn each_registration_may_be_missing_alone() {
    if !has_ring() {
        return;
    }
    for one in 0..ALL_REGISTRATIONS.len() {
        on_a_thread(&ALL_REGISTRATIONS[one..=one], || drop(move_both_ways(Engine::IoUring, 8, 32)));
    }
}

/// Drops the calling thread's right to exceed the limit of locked memory.
fn give_up_the_right_to_lock_memory() {
    const CAP_IPC_LOCK: u32 = 14;
    // `struct __user_cap_header_struct` of version 3 and its two `struct __user_cap_data_struct`.
    let header: [u32; 2] = [0x2008_0522, 0];
    let mut sets: [[u32; 3]; 2] = [[0; 3]; 2];
    // SAFETY: both calls get a header and two data structs as version 3 has them, live through the calls.
    unsafe {
        assert_eq!(libc::syscall(libc::SYS_capget, header.as_ptr(), sets.as_mut_ptr()), 0);
        sets[0][0] &= !(1 << CAP_IPC_LOCK);
        assert_eq!(libc::syscall(libc::SYS_capset, header.as_ptr(), sets.as_ptr()), 0);
    }
}

#[test]
fn an_arena_beyond_the_limit_of_locked_memory_is_not_registered_and_that_is_noted() {
    const TOO_MUCH: u64 = 64 << 20;
    if !has_ring() {
        return;
    }
    match setup::memory_lock_limit() {
        Some(bytes) if bytes < TOO_MUCH => {}
        limit => return skip(format_args!("locked memory is not limited enough: {limit:?}")),
    }
    let thread = std::thread::spawn(|| {
        give_up_the_right_to_lock_memory();
        let file = direct_if_possible(&written_file(8 * BLOCK));
        let mut queue = open_queue(file, Engine::IoUring, 8, usize::try_from(TOO_MUCH).unwrap());
        let notes = queue.stepped_down().join("; ");
        assert!(notes.contains("registered_buffers: ") && notes.contains("limit of locked memory"), "{notes}");
        assert!(!queue.features().contains(&"registered_buffers".to_owned()));
        move_all(&mut queue, 8, true, 8, 0x33);
        move_all(&mut queue, 8, false, 8, 0x33);
    });
    thread.join().unwrap();
}
