//! Native asynchronous I/O, polling, and no-op requests.

use super::*;

/// A file and itself opened past the page cache, if native asynchronous I/O is available on it.
fn direct_file(bytes: usize) -> Option<(File, File)> {
    let file = written_file(bytes);
    let direct = direct_if_possible(&file);
    has_aio(&direct).then_some((file, direct))
}

#[test]
fn native_asynchronous_io_is_refused_in_the_page_cache() {
    let options = Options { engine: Engine::Libaio, depth: 4, arena_bytes: BLOCK };
    let error = Queue::open(reopened(&written_file(BLOCK), true, false).unwrap(), &options).unwrap_err();
    assert_eq!((error.kind(), error.raw_os_error()), (io::ErrorKind::Unsupported, None));
    assert!(error.to_string().contains("direct I/O"), "{error}");
    let none = Options { depth: 0, ..options };
    assert!(Queue::open(written_file(BLOCK), &none).unwrap_err().to_string().contains("1 to 4096"));
}

#[test]
fn native_reads_at_the_end_are_short_and_beyond_it_empty() {
    let Some((_file, direct)) = direct_file(BLOCK + 512) else { return };
    let mut queue = open_queue(direct, Engine::Libaio, 1, BLOCK);
    for (block, bytes) in [(0, 4096), (1, 512), (2, 0)] {
        queue.push(request(0, false, block)).unwrap();
        assert_eq!(next(&mut queue).unwrap(), bytes, "block {block}");
    }
}

#[test]
fn a_refused_request_ends_alone_with_its_own_error() {
    let Some((file, _)) = direct_file(64 * BLOCK) else { return };
    // Opened for reading: the kernel refuses to submit a write.
    for depth in [8, 3] {
        let queue = open_queue(reopened(&file, false, true).unwrap(), Engine::Libaio, 8, 8 * BLOCK);
        check_refused_writes(queue, depth);
    }
}

#[test]
fn no_op_requests_end_in_full_and_touch_neither_file_nor_memory() {
    for (depth, rounds) in [(1, 3), (6, 2), (128, 2)] {
        let file = written_file(4 * BLOCK);
        let mut queue = open_queue(reopened(&file, false, false).unwrap(), Engine::Null, depth, depth as usize * BLOCK);
        assert_eq!(queue.engine(), Engine::Null);
        queue.arena().fill(0x77);
        let mut done = Vec::with_capacity(depth as usize);
        for round in 0..rounds {
            for token in 0..depth {
                // Far beyond the end, and for writing to a file that is open for reading.
                queue.push(request(token, token % 2 == 0, 1 << 20)).unwrap();
            }
            assert_eq!(queue.in_flight(), depth);
            queue.wait(u32::MAX, &mut done).unwrap();
            let mut tokens: Vec<u32> = done.iter().map(|completion| completion.token).collect();
            tokens.sort_unstable();
            assert_eq!(tokens, (0..depth).collect::<Vec<_>>(), "round {round}");
            assert!(done.drain(..).all(|completion| matches!(completion.result, Ok(4096))));
        }
        assert!(queue.arena().iter().all(|byte| *byte == 0x77));
        let has = |word: &str| queue.features().iter().any(|feature| feature == word);
        assert_eq!(has("no_op_requests"), Queue::io_uring_available().is_ok());
        assert!(!has("registered_buffers"));
        assert_eq!(file.metadata().unwrap().len(), 4 * BLOCK as u64);
    }
}

#[test]
fn polling_moves_data_or_is_refused_by_the_first_request() {
    if !has_ring() {
        return;
    }
    let file = written_file(8 * BLOCK);
    let direct = direct_if_possible(&file);
    let polled = crate::file::has_polled_queues(&direct, "/sys".as_ref());
    let mut queue = open_queue(direct, Engine::IoUringPolled, 4, 4 * BLOCK);
    assert!(queue.features().contains(&"polled".to_owned()), "{:?}", queue.features());
    queue.push(request(0, false, 0)).unwrap();
    match next(&mut queue) {
        Ok(bytes) => assert_eq!(bytes, 4096),
        Err(error) if !polled => assert_eq!(error.raw_os_error(), Some(libc::EOPNOTSUPP), "{error}"),
        Err(error) => panic!("the device says that it can be polled: {error}"),
    }
}
