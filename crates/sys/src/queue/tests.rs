use std::io::Write;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::thread::JoinHandleExt;

use super::*;
use crate::clock::monotonic_raw_seconds;
use crate::file::tests::{direct_if_possible, on_a_thread, reopened, skip, written_file};

mod others;
mod refused;

const BLOCK: usize = 4096;

fn open_queue(file: File, engine: Engine, depth: u32, arena_bytes: usize) -> Queue {
    Queue::open(file, &Options { engine, depth, arena_bytes }).unwrap()
}

#[test]
fn small_arenas_of_blocking_calls_are_in_base_pages() {
    let takes = |engine, arena_bytes| {
        let options = Options { engine, depth: 1, arena_bytes };
        let (file, _writer) = pipe();
        let mut queue = Queue::open(file, &options).unwrap();
        assert_eq!(queue.arena().len(), options.arena_takes());
        assert_eq!(queue.arena().as_ptr() as usize % BLOCK, 0);
        options.arena_takes()
    };
    assert_eq!(
        [1, BLOCK, BLOCK + 1, 256 << 10].map(|bytes| takes(Engine::Sync, bytes)),
        [BLOCK, BLOCK, 2 * BLOCK, 256 << 10]
    );
    assert_eq!(takes(Engine::Sync, (256 << 10) + 1), 2 << 20, "large blocks are in huge pages");
    assert_eq!(takes(Engine::Null, BLOCK), 2 << 20);
    if has_ring() {
        assert_eq!([BLOCK, 3 << 20].map(|bytes| takes(Engine::IoUring, bytes)), [2 << 20, 4 << 20]);
    }
}

/// Whether the request that was pushed last has not been submitted.
fn is_gathering(queue: &Queue) -> bool {
    match &queue.backend {
        Backend::Ring(ring) => ring.unsubmitted() > 0,
        Backend::Aio(aio) => aio.unsubmitted() > 0,
        Backend::Blocking(pushed) => pushed.is_some(),
        Backend::Loop(pushed, _) => !pushed.is_empty(),
    }
}

/// Whether this machine has an `io_uring`; if not, the test is skipped.
fn has_ring() -> bool {
    Queue::io_uring_available().map_err(skip).is_ok()
}

/// The engines that can have this many requests in flight here.
fn engines(depth: u32) -> Vec<Engine> {
    let ring = has_ring().then_some(Engine::IoUring);
    ring.into_iter().chain((depth == 1).then_some(Engine::Sync)).collect()
}

/// A ring on this file; if this machine has none, the test is skipped.
fn ring(file: File, depth: u32) -> Option<Queue> {
    has_ring().then(|| open_queue(file, Engine::IoUring, depth, depth as usize * BLOCK))
}

/// The engines that keep requests in flight here: a ring, and native asynchronous I/O on files past the page cache.
fn asynchronous() -> impl Iterator<Item = Engine> {
    let libaio = has_aio(&direct_if_possible(&written_file(BLOCK)));
    has_ring().then_some(Engine::IoUring).into_iter().chain(libaio.then_some(Engine::Libaio))
}

/// Whether native asynchronous I/O is available on this file; if not, the test is skipped.
fn has_aio(direct: &File) -> bool {
    match (crate::file::is_direct(direct), Queue::libaio_available()) {
        (Ok(true), Ok(())) => true,
        (Ok(true), Err(why)) => {
            skip(why);
            false
        }
        (not_direct, _) => {
            skip(format_args!("there is no direct I/O here: {not_direct:?}"));
            false
        }
    }
}

fn request(token: u32, write: bool, block: u64) -> Request {
    let bytes = u32::try_from(BLOCK).unwrap();
    Request { token, write, offset: block * BLOCK as u64, buffer: token as usize * BLOCK, bytes }
}

/// A pipe: a read of it is in flight until its other side is written, so that a test controls what is in flight.
fn pipe() -> (File, File) {
    let mut ends = [0; 2];
    // SAFETY: the answer is two descriptors, live and writable.
    assert_eq!(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) }, 0);
    // SAFETY: both are open and nobody else's.
    let [read, write] = ends.map(|end| File::from(unsafe { OwnedFd::from_raw_fd(end) }));
    (read, write)
}

/// Waits for one completion; its result.
fn next(queue: &mut Queue) -> io::Result<u32> {
    let mut done = Vec::with_capacity(1);
    queue.wait(1, &mut done).unwrap();
    assert_eq!(done.len(), 1);
    done.remove(0).result
}

/// The contents of a block in this round.
fn content(block: u64, round: u8) -> Vec<u8> {
    (0..BLOCK).map(|at| u8::try_from((at as u64 * 7 + block * 13) % 256).unwrap() ^ round).collect()
}

/// Moves every block of the file by the queue, `depth` at a time, and checks each.
fn move_all(queue: &mut Queue, depth: u32, write: bool, blocks: u64, round: u8) {
    let mut next = 0;
    let mut free: Vec<u32> = (0..depth).collect();
    let mut of_token = vec![0; depth as usize];
    let mut done = Vec::with_capacity(depth as usize);
    let mut over = 0;
    while over < blocks {
        while let Some(token) = (next < blocks).then(|| free.pop()).flatten() {
            let part = token as usize * BLOCK..(token as usize + 1) * BLOCK;
            let filling = if write { content(next, round) } else { vec![0xEE; BLOCK] };
            queue.arena_part(part).unwrap().copy_from_slice(&filling);
            of_token[token as usize] = next;
            queue.push(request(token, write, next)).unwrap();
            next += 1;
        }
        done.clear();
        queue.wait(1, &mut done).unwrap();
        assert!(!done.is_empty());
        for completion in done.drain(..) {
            assert_eq!(completion.result.unwrap(), u32::try_from(BLOCK).unwrap());
            let start = completion.token as usize * BLOCK;
            let block = of_token[completion.token as usize];
            let bytes = queue.arena_part(start..start + BLOCK).unwrap();
            assert!(bytes == content(block, round), "block {block} of round {round}");
            free.push(completion.token);
            over += 1;
        }
    }
    assert_eq!(queue.in_flight(), 0);
}

/// Writes and reads a file through the queue and checks the result through the page cache.
fn move_both_ways(engine: Engine, depth: u32, blocks: u64) -> Queue {
    let file = written_file(usize::try_from(blocks).unwrap() * BLOCK);
    let plain = reopened(&file, true, false).unwrap();
    let mut queue = open_queue(direct_if_possible(&file), engine, depth, depth as usize * BLOCK);
    move_all(&mut queue, depth, true, blocks, 0x55);
    let mut seen = vec![0; BLOCK];
    for block in 0..blocks {
        plain.read_exact_at(&mut seen, block * BLOCK as u64).unwrap();
        assert!(seen == content(block, 0x55), "{engine:?} at depth {depth}: block {block}");
        plain.write_all_at(&content(block, 0xAA), block * BLOCK as u64).unwrap();
    }
    plain.sync_all().unwrap();
    move_all(&mut queue, depth, false, blocks, 0xAA);
    queue
}

#[test]
fn requests_gather_until_there_are_enough_to_submit() {
    if !has_ring() {
        return;
    }
    for engine in [Engine::IoUring, Engine::Null] {
        let mut queue = open_queue(written_file(24 * BLOCK), engine, 24, 24 * BLOCK);
        let handed_over: Vec<u32> = (0..24_u32)
            .filter(|token| {
                queue.push(request(*token, false, u64::from(*token))).unwrap();
                !is_gathering(&queue)
            })
            .collect();
        // Two, and then as many as the device has; without a device the wait submits all.
        let with_device = [1, 3, 7, 15];
        assert_eq!(handed_over, if engine == Engine::Null { &[][..] } else { &with_device }, "{engine:?}");
        let mut done = Vec::new();
        while queue.in_flight() > 0 {
            queue.wait(1, &mut done).unwrap();
        }
        assert!(!is_gathering(&queue) && done.len() == 24, "{engine:?}");
    }
}

#[test]
fn what_is_written_is_read_back_both_ways() {
    for engine in asynchronous() {
        for (depth, blocks) in [(1, 10), (32, 100), (5, 20)] {
            assert_eq!(move_both_ways(engine, depth, blocks).engine(), engine);
        }
    }
    assert_eq!(move_both_ways(Engine::Sync, 1, 10).engine(), Engine::Sync);
}

#[test]
fn invalid_requests_are_refused_and_change_nothing() {
    for engine in engines(1) {
        let depth = if engine == Engine::Sync { 1 } else { 4 };
        let mut queue = open_queue(written_file(64 * BLOCK), engine, depth, 8 * BLOCK);
        let arena = queue.arena().len();
        queue.push(request(0, false, 0)).unwrap();
        let good = request(depth - 1, false, 1);
        let bad = [
            (Request { token: depth, ..good }, "token is not below"),
            (Request { token: u32::MAX, ..good }, "token is not below"),
            (Request { buffer: 4 * BLOCK, token: 0, ..good }, "token is in flight"),
        ];
        let with_free_token = [
            (Request { bytes: 0, ..good }, "no bytes"),
            (Request { buffer: arena - 1, ..good }, "beyond the arena"),
            (Request { buffer: usize::MAX, ..good }, "beyond the arena"),
            (Request { bytes: u32::MAX, ..good }, "beyond the arena"),
            (Request { offset: u64::MAX, ..good }, "beyond the largest file"),
            (Request { offset: i64::MAX as u64, ..good }, "beyond the largest file"),
            (Request { buffer: BLOCK - 512, ..good }, "part of its buffer"),
            (Request { buffer: 0, ..good }, "part of its buffer"),
        ];
        for (request, why) in bad.iter().chain(with_free_token.iter().filter(|_| depth > 1)) {
            let error = queue.push(*request).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
            assert!(error.to_string().contains(why), "{request:?}: {error}");
            assert_eq!(queue.in_flight(), 1);
        }
        assert_eq!(next(&mut queue).unwrap(), 4096);
        queue.push(good).unwrap();
        assert_eq!(next(&mut queue).unwrap(), 4096);
    }
}

#[test]
fn the_arena_is_unavailable_where_requests_have_it() {
    for engine in engines(1) {
        let mut queue = open_queue(written_file(BLOCK), engine, 1, 2 * BLOCK);
        let arena = queue.arena().len();
        queue.push(Request { buffer: BLOCK, ..request(0, false, 0) }).unwrap();
        assert!(queue.arena().is_empty());
        assert!(queue.arena_part(0..BLOCK + 1).is_none());
        assert!(queue.arena_part(2 * BLOCK - 1..arena).is_none());
        assert_eq!(queue.arena_part(0..BLOCK).unwrap().len(), BLOCK);
        assert!(queue.arena_part(arena - 1..arena + 1).is_none());
        let (start, end) = (2, 1);
        assert!(queue.arena_part(start..end).is_none(), "backwards");
        assert_eq!(next(&mut queue).unwrap(), 4096);
        assert_eq!(queue.arena().len(), arena);
        assert_eq!(queue.arena_part(BLOCK..BLOCK + 3).unwrap(), [0, 1, 2]);
    }
}

#[test]
fn options_out_of_range_are_refused() {
    for (engine, depth) in [(Engine::Sync, 0), (Engine::Sync, 2), (Engine::IoUring, 0), (Engine::IoUring, 4097)] {
        let options = Options { engine, depth, arena_bytes: BLOCK };
        let error = Queue::open(written_file(BLOCK), &options).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{engine:?} {depth}");
    }
    let options = Options { engine: Engine::Sync, depth: 1, arena_bytes: usize::MAX };
    assert!(Queue::open(written_file(BLOCK), &options).is_err());
    if has_ring() {
        assert_eq!(open_queue(written_file(BLOCK), Engine::IoUring, MAX_DEPTH, BLOCK).in_flight(), 0);
    }
}

#[test]
fn reads_at_the_end_are_short_and_beyond_it_empty() {
    for engine in engines(1) {
        let mut queue = open_queue(written_file(BLOCK + 100), engine, 1, BLOCK);
        for (block, bytes) in [(0, 4096), (1, 100), (2, 0), (1 << 30, 0)] {
            queue.push(request(0, false, block)).unwrap();
            assert_eq!(next(&mut queue).unwrap(), bytes, "{engine:?}: block {block}");
        }
    }
}

#[test]
fn errors_of_the_file_come_back_as_completions() {
    for engine in engines(1) {
        let file = written_file(4 * BLOCK);
        let mut queue = open_queue(reopened(&file, false, false).unwrap(), engine, 1, BLOCK);
        queue.push(request(0, true, 0)).unwrap();
        assert_eq!(next(&mut queue).unwrap_err().raw_os_error(), Some(libc::EBADF), "{engine:?}");
        queue.push(request(0, false, 0)).unwrap();
        assert_eq!(next(&mut queue).unwrap(), 4096, "the queue continues");

        let full = crate::file::open("/dev/full".as_ref(), true, false, false).unwrap();
        let mut queue = open_queue(full, engine, 1, BLOCK);
        queue.push(request(0, true, 0)).unwrap();
        assert_eq!(next(&mut queue).unwrap_err().raw_os_error(), Some(libc::ENOSPC), "{engine:?}");
    }
}

/// Has eight requests carried out together, of which the writes fail alone with `EBADF`.
fn check_refused_writes(mut queue: Queue, depth: u32) {
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

#[test]
fn an_error_among_many_requests_is_of_its_own_request_alone() {
    let file = reopened(&written_file(64 * BLOCK), false, false).unwrap();
    if let Some(queue) = ring(file, 8) {
        check_refused_writes(queue, 8);
    }
}

#[test]
fn a_wait_is_for_as_many_requests_as_asked_for() {
    let (read, mut write) = pipe();
    let Some(mut queue) = ring(read, 4) else { return };
    let mut done = Vec::with_capacity(4);
    queue.wait(3, &mut done).unwrap();
    assert!(done.is_empty(), "nothing is in flight, so there is nothing to wait for");
    for token in 0..3 {
        queue.push(Request { offset: 0, ..request(token, false, 0) }).unwrap();
    }
    queue.wait(0, &mut done).unwrap();
    assert!(done.is_empty() && queue.in_flight() == 3);
    write.write_all(b"one").unwrap();
    queue.wait(1, &mut done).unwrap();
    assert_eq!((done.len(), queue.in_flight()), (1, 2));
    assert_eq!(done[0].result.as_ref().unwrap(), &3);
    let start = done[0].token as usize * BLOCK;
    assert_eq!(queue.arena_part(start..start + 3).unwrap(), b"one");
    drop(write);
    done.clear();
    queue.wait(2, &mut done).unwrap();
    assert!(done.len() == 2 && done.iter().all(|completion| matches!(completion.result, Ok(0))), "{done:?}");
}

#[test]
fn a_wait_ends_with_the_timeout_or_with_a_request() {
    let (read, mut write) = pipe();
    let Some(mut queue) = ring(read, 2) else { return };
    let mut done = Vec::with_capacity(2);
    let (short, long) = (Duration::from_millis(5), Duration::from_secs(600));
    for _ in 0..2 {
        let began = monotonic_raw_seconds();
        let passed = || Duration::from_secs_f64(monotonic_raw_seconds() - began);
        queue.wait_at_most(short, &mut done).unwrap();
        assert!(passed() >= short && done.is_empty(), "nothing is in flight, so the time passes");
        queue.push(Request { offset: 0, ..request(0, false, 0) }).unwrap();
        queue.wait_at_most(short, &mut done).unwrap();
        assert!(passed() >= 2 * short && done.is_empty() && queue.in_flight() == 1);
        write.write_all(b"one").unwrap();
        queue.wait_at_most(long, &mut done).unwrap();
        assert!(done.drain(..).all(|one| one.result.unwrap() == 3) && queue.in_flight() == 0);
    }
    for engine in engines(1) {
        let mut queue = open_queue(direct_if_possible(&written_file(BLOCK)), engine, 1, BLOCK);
        queue.push(request(0, false, 0)).unwrap();
        queue.wait_at_most(long, &mut done).unwrap();
        assert!(done.drain(..).all(|one| one.result.unwrap() == 4096) && queue.in_flight() == 0, "{engine:?}");
    }
}

#[test]
fn a_polled_ring_does_not_wait() {
    if !has_ring() {
        return;
    }
    let waits = |engine| {
        let queue = open_queue(direct_if_possible(&written_file(BLOCK)), engine, 1, BLOCK);
        matches!(&queue.backend, Backend::Ring(ring) if ring.waits_for_a_time())
    };
    assert!(!waits(Engine::IoUringPolled), "the kernel would poll the device until it is done");
    // From Linux 5.11 on, as on every machine that builds this.
    assert!(waits(Engine::IoUring));
    let mut queue = open_queue(direct_if_possible(&written_file(BLOCK)), Engine::IoUringPolled, 1, BLOCK);
    let mut done = Vec::new();
    queue.push(request(0, false, 0)).unwrap();
    while queue.in_flight() > 0 {
        queue.wait_at_most(Duration::from_secs(60), &mut done).unwrap();
    }
    // Most devices cannot be polled, and report that.
    let refused = |error: &io::Error| error.raw_os_error() == Some(libc::EOPNOTSUPP);
    let [one] = &done[..] else { panic!("{done:?}") };
    assert!(one.result.as_ref().map_or_else(refused, |bytes| *bytes == 4096), "{one:?}");
}

extern "C" fn ignore(_: libc::c_int) {}

#[test]
fn a_signal_does_not_end_the_wait() {
    if !has_ring() {
        return;
    }
    // SAFETY: the handler does nothing. Without SA_RESTART, as `sigaction` with no flags has it, calls are interrupted.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = ignore as *const () as libc::sighandler_t;
        libc::sigaction(libc::SIGUSR2, &raw const action, std::ptr::null_mut());
    }
    let (read, mut write) = pipe();
    let waiter = std::thread::spawn(move || {
        let mut queue = open_queue(read, Engine::IoUring, 1, BLOCK);
        queue.push(Request { offset: 0, ..request(0, false, 0) }).unwrap();
        next(&mut queue)
    });
    for _ in 0..20 {
        std::thread::sleep(std::time::Duration::from_millis(5));
        // SAFETY: the thread has not been joined, so its handle is good; the signal has a handler.
        unsafe { libc::pthread_kill(waiter.as_pthread_t(), libc::SIGUSR2) };
    }
    write.write_all(b"at last").unwrap();
    assert_eq!(waiter.join().unwrap().unwrap(), 7);
}

/// Fills a queue with 16 large requests, waits for none, some or three of them, and drops it.
fn drop_in_flight(mut queue: Queue, round: u64) {
    let mut done = Vec::with_capacity(16);
    for token in 0..16 {
        let bytes = 256 * 1024;
        let buffer = token as usize * bytes as usize;
        let offset = (round + u64::from(token)) % 32 * u64::from(bytes);
        queue.push(Request { token, write: token % 4 == 0, offset, buffer, bytes }).unwrap();
    }
    match round % 3 {
        0 => {}
        1 => queue.wait(0, &mut done).unwrap(),
        _ => queue.wait(3, &mut done).unwrap(),
    }
    assert!(round % 3 != 2 || done.len() >= 3);
    if let Backend::Aio(aio) = &mut queue.backend {
        assert!(aio.quiesce() && aio.unsubmitted() == 0);
    }
}

#[test]
fn dropping_a_queue_with_requests_in_flight_is_safe() {
    let file = written_file(8 << 20);
    for engine in asynchronous() {
        for round in 0..6_u64 {
            let cached = engine == Engine::IoUring && round % 2 == 1;
            let file = if cached { reopened(&file, true, false).unwrap() } else { direct_if_possible(&file) };
            drop_in_flight(open_queue(file, engine, 16, 4 << 20), round);
        }
    }
}

/// Whether the kernel can cancel requests from outside the ring and binds a ring to its thread, both since Linux 6.0;
/// if not, the test is skipped.
fn of_linux_6_0(queue: &Queue) -> bool {
    let young = queue.features().contains(&"single_issuer".to_owned());
    if !young {
        skip("the kernel is before Linux 6.0");
    }
    young
}

#[test]
fn dropping_a_queue_ends_an_endless_read() {
    let (read, _write) = pipe();
    let Some(mut queue) = ring(read, 2) else { return };
    if !of_linux_6_0(&queue) {
        return;
    }
    queue.push(Request { offset: 0, ..request(0, false, 0) }).unwrap();
    queue.wait(0, &mut Vec::new()).unwrap();
    queue.push(Request { offset: 0, ..request(1, false, 0) }).unwrap();
}

#[test]
fn a_queue_may_be_opened_on_one_thread_and_used_on_one_other() {
    let (read, mut write) = pipe();
    let Some(mut queue) = ring(read, 2) else { return };
    if !of_linux_6_0(&queue) {
        return;
    }
    queue.push(Request { offset: 0, ..request(0, false, 0) }).unwrap();
    let (to_user, from_us) = std::sync::mpsc::channel::<()>();
    let (to_us, from_user) = std::sync::mpsc::channel();
    let user = std::thread::spawn(move || {
        queue.wait(0, &mut Vec::new()).unwrap();
        to_us.send(queue).unwrap();
        // The thread stays, so that the kernel cannot cancel its requests.
        from_us.recv().unwrap();
    });
    let mut queue = from_user.recv().unwrap();
    let error = queue.wait(0, &mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("thread that used it first"), "{error}");
    // It cannot be waited for here, so its arena must stay: the request completes after the drop.
    let Backend::Ring(ring) = &mut queue.backend else { panic!("no ring") };
    assert!(!ring.quiesce());
    drop(queue);
    let mut others = crate::memory::Region::map(4 << 20, PageSize::Base).unwrap();
    others.as_mut_slice().fill(0);
    write.write_all(b"late").unwrap();
    to_user.send(()).unwrap();
    user.join().unwrap();
    assert!(others.as_slice().iter().all(|byte| *byte == 0));
}

#[test]
fn dropped_queues_release_their_registered_ring() {
    if !has_ring() {
        return;
    }
    let file = written_file(BLOCK);
    let has = |queue: &Queue| queue.features().contains(&"registered_ring".to_owned());
    let lacks = |queue: &Queue| queue.stepped_down().iter().any(|note| note.starts_with("registered_ring: "));
    let used = || {
        let mut queue = open_queue(reopened(&file, false, false).unwrap(), Engine::IoUring, 1, BLOCK);
        queue.push(request(0, false, 0)).unwrap();
        assert_eq!(next(&mut queue).unwrap(), 4096, "with a registered ring or without: {queue:?}");
        assert_ne!(has(&queue), lacks(&queue), "one or the other: {queue:?}");
        queue
    };
    if lacks(&used()) {
        skip("the kernel registers no rings");
        return;
    }
    // A thread may register sixteen rings at a time: dropped ones must not count.
    for _ in 0..40 {
        assert!(has(&used()));
    }
    let many: Vec<Queue> = (0..20).map(|_| used()).collect();
    assert_eq!(many.iter().filter(|queue| has(queue)).count(), 16);
}

#[test]
fn an_arena_too_large_to_register_is_used_unregistered() {
    if !has_ring() {
        return;
    }
    // Never written, so that it takes no memory.
    let arena = Region::map((1 << 30) + 1, PageSize::Base).unwrap();
    let ring = Ring::new(1, &written_file(BLOCK), &arena, Engine::IoUring).unwrap();
    assert!(!ring.features().contains(&"registered_buffers"));
    assert!(ring.notes.iter().any(|note| note.contains("1 GiB")), "{:?}", ring.notes);
}
