//! Engines beside the ring and blocking calls: native asynchronous I/O, polling, and requests for nothing.

use super::*;

/// A file to read and write past the page cache, if native asynchronous I/O can be had on it.
fn direct_file(bytes: usize) -> Option<(File, File)> {
    let file = written_file(bytes);
    let direct = direct_if_possible(&file);
    has_aio(&direct).then_some((file, direct))
}

#[test]
fn native_asynchronous_io_moves_data_both_ways() {
    if direct_file(BLOCK).is_none() {
        return;
    }
    for (depth, blocks) in [(1, 40), (32, 200), (5, 50)] {
        let queue = move_both_ways(Engine::Libaio, depth, blocks);
        assert_eq!((queue.engine(), queue.stepped_down()), (Engine::Libaio, &[][..]));
    }
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
fn a_request_that_is_refused_at_once_ends_alone_and_with_its_own_error() {
    let Some((file, _)) = direct_file(64 * BLOCK) else { return };
    // Opened for reading: the kernel refuses to submit a write.
    for depth in [8, 3] {
        let mut queue = open_queue(reopened(&file, false, true).unwrap(), Engine::Libaio, 8, 8 * BLOCK);
        for token in 0..depth {
            queue.push(request(token, token % 3 == 1, token.into())).unwrap();
        }
        let mut done = Vec::with_capacity(8);
        queue.wait(u32::MAX, &mut done).unwrap();
        assert_eq!((u32::try_from(done.len()).unwrap(), queue.in_flight()), (depth, 0));
        for Completion { token, result } in done {
            let expected = if token % 3 == 1 { Err(Some(libc::EBADF)) } else { Ok(4096) };
            assert_eq!(result.map_err(|error| error.raw_os_error()), expected, "{token}");
        }
    }
}

#[test]
fn native_requests_are_waited_for_when_the_queue_goes() {
    let Some((file, _)) = direct_file(8 << 20) else { return };
    let mut done = Vec::with_capacity(16);
    for round in 0..6_u64 {
        let mut queue = open_queue(direct_if_possible(&file), Engine::Libaio, 16, 4 << 20);
        for token in 0..16 {
            let bytes = 256 * 1024;
            let offset = (round + u64::from(token)) % 32 * u64::from(bytes);
            let buffer = token as usize * bytes as usize;
            queue.push(Request { token, write: token % 4 == 0, offset, buffer, bytes }).unwrap();
        }
        match round % 3 {
            0 => {}
            1 => queue.wait(0, &mut done).unwrap(),
            _ => queue.wait(3, &mut done).unwrap(),
        }
        assert!(round % 3 != 2 || done.len() >= 3);
        done.clear();
        let Backend::Aio(aio) = &mut queue.backend else { panic!("another engine") };
        assert!(aio.quiesce() && aio.unsubmitted() == 0);
    }
}

#[test]
fn requests_for_nothing_end_in_full_and_touch_neither_file_nor_memory() {
    for (depth, rounds) in [(1, 3), (6, 2), (128, 2)] {
        let file = written_file(4 * BLOCK);
        let mut queue = open_queue(reopened(&file, false, false).unwrap(), Engine::Null, depth, depth as usize * BLOCK);
        assert_eq!(queue.engine(), Engine::Null);
        queue.arena().fill(0x77);
        let mut done = Vec::with_capacity(depth as usize);
        for round in 0..rounds {
            for token in 0..depth {
                // Far beyond the end, and for writing on a file that is open for reading.
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
