//! The ceiling of a stream over loopback: two dependent copies of each byte, from one thread's memory into a ring and from
//! the ring into another thread's, on the CPUs of the stream. The kernel does at least these two copies. It is not the peak of
//! the memory: a ring of some blocks stays in the caches, as a socket's buffer does.

use std::hint::{black_box, spin_loop};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread;

use sys::affinity::pin_to;
use sys::clock::Timer;

use crate::engines::Window;

/// At about 10^10 B/s and 100 ns per hand-over, the hand-over is below 2 % from this block on.
const LEAST_BLOCK_BYTES: usize = 64 << 10;
/// Blocks of the rings that are tried; the better ring counts. Few blocks stay in the nearest cache, more of them reduce
/// waits. On Cascade Lake 2 to 16 blocks of 128 KiB are the same within 3 % for one pair of threads.
const RINGS: [usize; 2] = [4, 16];
/// Before the window of a ring: its pages are touched, and all threads run.
const LEAD_SECONDS: f64 = 0.01;
const WINDOW_SECONDS: f64 = 0.02;
/// Fewer blocks in a window show other processes on the CPUs, and a longer window is tried.
const LEAST_BLOCKS: u64 = 32;
/// The longest window is this many times as long, and counts whatever it holds.
const MOST_STRETCH: f64 = 32.0;
const MOST_RING_BYTES: usize = 512 << 20;
/// Polls without yielding the CPU, which the two threads may share where there are more threads than CPUs.
const LOOKS: u32 = 16;

/// Bytes per second through pairs of threads on their (producer's, consumer's) CPUs, all at once.
pub(crate) fn two_copies(pairs: &[(u32, u32)], block_bytes: usize, timer: &Timer) -> Option<f64> {
    let block_bytes = block_bytes.max(LEAST_BLOCK_BYTES);
    RINGS
        .iter()
        .filter(|blocks| *blocks * block_bytes * pairs.len() <= MOST_RING_BYTES)
        .filter_map(|&blocks| through_rings(pairs, block_bytes, blocks, timer))
        .reduce(f64::max)
}

fn through_rings(pairs: &[(u32, u32)], block_bytes: usize, blocks: usize, timer: &Timer) -> Option<f64> {
    let enough = LEAST_BLOCKS * pairs.len() as u64 * block_bytes as u64;
    let mut stretch = 1.0;
    loop {
        let seconds = stretch * WINDOW_SECONDS;
        let bytes = in_window(pairs, block_bytes, blocks, (timer, seconds))?;
        if bytes >= enough || stretch >= MOST_STRETCH {
            return (bytes > 0).then(|| bytes as f64 / seconds);
        }
        stretch *= 2.0;
    }
}

/// Bytes through the rings in a window; `None` where they cannot be made, or other bytes came out.
fn in_window(pairs: &[(u32, u32)], block_bytes: usize, blocks: usize, (timer, seconds): (&Timer, f64)) -> Option<u64> {
    let begin = timer.now() + timer.ticks(LEAD_SECONDS);
    let window = Window { begin, end: begin + timer.ticks(seconds) };
    thread::scope(|scope| {
        let mut consumers = Vec::new();
        for &(from, to) in pairs {
            let (full, filled) = sync_channel(blocks);
            let (empty, emptied) = sync_channel(blocks);
            for _ in 0..blocks {
                empty.send(vec![0; block_bytes].into_boxed_slice()).ok()?;
            }
            let produce = move || pin_to(from).map(|()| produce(block_bytes, &full, &emptied, window, timer));
            thread::Builder::new().spawn_scoped(scope, produce).ok()?;
            let consume = move || pin_to(to).ok().and_then(|()| consume(block_bytes, &filled, &empty, window, timer));
            consumers.push(thread::Builder::new().spawn_scoped(scope, consume).ok()?);
        }
        consumers.into_iter().map(|consumer| consumer.join().ok().flatten()).sum::<Option<u64>>()
    })
}

type Block = Box<[u8]>;

/// The value of all bytes: neither fresh memory's nor a common pattern.
const FILL: u8 = 0xa5;

fn produce(bytes: usize, full: &SyncSender<Block>, emptied: &Receiver<Block>, window: Window, timer: &Timer) {
    let source = vec![FILL; bytes];
    while timer.now() < window.end {
        let Some(mut block) = next(emptied) else { return };
        block.copy_from_slice(black_box(&source));
        if full.send(block).is_err() {
            return;
        }
    }
}

/// Copies full blocks into its own until there are no more; the bytes inside the window, or `None` if they are wrong.
fn consume(
    bytes: usize,
    filled: &Receiver<Block>,
    empty: &SyncSender<Block>,
    window: Window,
    timer: &Timer,
) -> Option<u64> {
    let mut sink = vec![0_u8; bytes];
    let (mut blocks, mut came) = (0_u64, 0);
    while let Some(block) = next(filled) {
        sink.copy_from_slice(&block);
        black_box(&mut sink);
        blocks += 1;
        if window.holds(timer.now()) {
            came += block.len() as u64;
        }
        // Fails at the end, when the producer is gone.
        let _ = empty.try_send(block);
    }
    (blocks == 0 || sink.iter().all(|byte| *byte == FILL)).then_some(came)
}

fn next(from: &Receiver<Block>) -> Option<Block> {
    let mut looks = 0;
    loop {
        match from.try_recv() {
            Ok(block) => return Some(block),
            Err(TryRecvError::Disconnected) => return None,
            Err(TryRecvError::Empty) => {}
        }
        looks += 1;
        if looks < LOOKS { spin_loop() } else { thread::yield_now() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_go_through_every_ring_and_none_is_made_up() {
        let timer = Timer::system();
        let cpus = sys::affinity::allowed_cpus().unwrap();
        let (first, last) = (cpus[0], cpus[cpus.len() - 1]);
        for blocks in RINGS {
            let rate = through_rings(&[(first, last)], LEAST_BLOCK_BYTES, blocks, &timer).unwrap();
            assert!(rate > 0.0 && rate < 1e13, "{rate} B/s through {blocks} blocks");
        }
        assert!(two_copies(&[(first, last), (last, first)], 1, &timer).is_some());
    }

    #[test]
    fn a_cpu_that_is_not_there_and_too_much_memory_have_no_ceiling() {
        let timer = Timer::system();
        assert!(two_copies(&[(8000, 8001)], 1 << 17, &timer).is_none());
        assert!(two_copies(&[(0, 0); 1024], 1 << 20, &timer).is_none());
    }
}
