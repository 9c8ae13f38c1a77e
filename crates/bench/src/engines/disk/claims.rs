//! Which blocks have a request in flight: a test that is almost always negative, in a time independent of the depth.

/// Counters for each request in flight: one free block in this number shares a counter, and is searched for among all requests.
const COUNTERS_PER_REQUEST: usize = 16;
/// 2^64 over the golden ratio: its multiples spread evenly in their upper bits (Knuth, "The Art of Computer Programming", 6.4).
const SPREADING: u64 = 0x9e37_79b9_7f4a_7c15;

pub(super) struct Claims {
    counters: Box<[u16]>,
    shift: u32,
}

impl Claims {
    /// For at most `depth` requests, fewer than 2^16.
    pub(super) fn new(depth: u32) -> Self {
        let counters = (depth as usize * COUNTERS_PER_REQUEST).next_power_of_two().max(2);
        Self { counters: vec![0; counters].into(), shift: u64::BITS - counters.trailing_zeros() }
    }

    #[inline]
    pub(super) fn begin(&mut self, block: u64) {
        let counter = self.counter(block);
        self.counters[counter] += 1;
    }

    #[inline]
    pub(super) fn end(&mut self, block: u64) {
        let counter = self.counter(block);
        self.counters[counter] -= 1;
    }

    /// Whether certainly no request on the block is in flight.
    #[inline]
    pub(super) fn none_on(&self, block: u64) -> bool {
        self.counters[self.counter(block)] == 0
    }

    fn counter(&self, block: u64) -> usize {
        usize::try_from(block.wrapping_mul(SPREADING) >> self.shift).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use stats::random::Random;

    use super::*;

    #[test]
    fn a_block_in_flight_is_never_taken_for_free_and_free_ones_seldom_for_taken() {
        for depth in [1_u32, 2, 32, 1024] {
            let mut random = Random::new(depth.into());
            let mut claims = Claims::new(depth);
            let mut in_flight: Vec<u64> = Vec::new();
            let (mut asked, mut doubtful) = (0, 0);
            for _ in 0..20_000 {
                if in_flight.len() == depth as usize {
                    let over = usize::try_from(random.below(depth.into())).unwrap();
                    claims.end(in_flight.swap_remove(over));
                }
                let block = random.below(1 << 20) * 17;
                (asked, doubtful) = (asked + 1, doubtful + u32::from(!claims.none_on(block)));
                claims.begin(block);
                in_flight.push(block);
                assert!(in_flight.iter().all(|block| !claims.none_on(*block)), "depth {depth}");
            }
            assert!(doubtful * 4 < asked, "depth {depth}: {doubtful} of {asked}");
            in_flight.drain(..).for_each(|block| claims.end(block));
            assert!((0..1 << 12).all(|block| claims.none_on(block)), "nothing is left");
        }
    }
}
