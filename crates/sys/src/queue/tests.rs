use super::*;
use crate::file::tests::{direct_if_possible, reopened, unnamed_file, written_file};

const BLOCK: usize = 4096;

fn open_queue(file: File, engine: Engine, depth: u32, arena_bytes: usize) -> Queue {
    Queue::open(file, &Options { engine, depth, arena_bytes }).unwrap()
}

/// Whether this machine has io_uring; if not, the test is skipped, and says so.
fn has_ring() -> bool {
    Queue::io_uring_available().map_err(|error| eprintln!("SKIPPED: {error}")).is_ok()
}

/// Every way to have this many requests in flight here.
fn engines(depth: u32) -> Vec<Engine> {
    let ring = has_ring().then_some(Engine::IoUring);
    ring.into_iter().chain((depth == 1).then_some(Engine::Sync)).collect()
}

fn request(token: u32, write: bool, block: u64) -> Request {
    let bytes = u32::try_from(BLOCK).unwrap();
    Request { token, write, offset: block * BLOCK as u64, buffer: token as usize * BLOCK, bytes }
}

/// What a block holds after the round of this number.
fn content(block: u64, round: u8) -> Vec<u8> {
    (0..BLOCK).map(|at| u8::try_from((at as u64 * 7 + block * 13) % 256).unwrap() ^ round).collect()
}

/// Moves every block of the file by the queue, `depth` at a time, and looks at each when it is over.
fn move_all(queue: &mut Queue, depth: u32, write: bool, blocks: u64, round: u8) {
    let mut next = 0;
    let mut free: Vec<u32> = (0..depth).collect();
    let mut of_token = vec![0; depth as usize];
    let mut done = Vec::with_capacity(depth as usize);
    let mut over = 0;
    while over < blocks {
        while let Some(token) = (next < blocks).then(|| free.pop()).flatten() {
            let part = token as usize * BLOCK..(token as usize + 1) * BLOCK;
            let bytes = queue.arena_part(part).unwrap();
            if write {
                bytes.copy_from_slice(&content(next, round))
            } else {
                bytes.fill(0xEE)
            }
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
            let bytes = queue.arena_part(start..start + BLOCK).unwrap();
            assert!(bytes == content(of_token[completion.token as usize], round), "block {next} of round {round}");
            free.push(completion.token);
            over += 1;
        }
    }
    assert_eq!(queue.in_flight(), 0);
}

#[test]
fn what_is_written_is_read_back_both_ways() {
    for (depth, blocks) in [(1, 40), (32, 200)] {
        for engine in engines(depth) {
            let file = written_file(blocks * BLOCK);
            let plain = reopened(&file, true, false).unwrap();
            let mut queue = open_queue(direct_if_possible(&file), engine, depth, depth as usize * BLOCK);
            assert_eq!(queue.engine(), engine);
            move_all(&mut queue, depth, true, blocks as u64, 0x55);
            let mut seen = vec![0; BLOCK];
            for block in 0..blocks as u64 {
                plain.read_exact_at(&mut seen, block * BLOCK as u64).unwrap();
                assert!(seen == content(block, 0x55), "{engine:?} at depth {depth}: block {block}");
                plain.write_all_at(&content(block, 0xAA), block * BLOCK as u64).unwrap();
            }
            plain.sync_all().unwrap();
            move_all(&mut queue, depth, false, blocks as u64, 0xAA);
        }
    }
}
