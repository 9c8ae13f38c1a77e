//! A seeded random generator: the same seed gives the same order on every machine and in every version.
//!
//! xoshiro256** (Blackman & Vigna, ACM TOMS 47, 2021), its state filled by `SplitMix64` (Steele, Lea & Flood, OOPSLA
//! 2014).

/// A generator of reproducible random numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// The generator of this seed; 0 is a seed like any other.
    pub fn new(seed: u64) -> Self {
        let mut filler = SplitMix64(seed);
        Self { state: [filler.next(), filler.next(), filler.next(), filler.next()] }
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        let result = self.state[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = self.state[1] << 17;
        self.state[2] ^= self.state[0];
        self.state[3] ^= self.state[1];
        self.state[1] ^= self.state[2];
        self.state[0] ^= self.state[3];
        self.state[2] ^= shifted;
        self.state[3] = self.state[3].rotate_left(45);
        result
    }

    /// A number below `bound`, each equally likely; 0 for a bound of 0.
    ///
    /// The upper half of a 128-bit product, drawn again while the lower half falls into the uneven remainder (Lemire,
    /// "Fast random integer generation in an interval", ACM TOMACS 29, 2019).
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 {
            return 0;
        }
        loop {
            let product = u128::from(self.next_u64()) * u128::from(bound);
            #[expect(clippy::cast_possible_truncation, reason = "the two halves of 64 bits")]
            let (whole, fraction) = ((product >> 64) as u64, product as u64);
            // The uneven remainder is smaller than the bound: the division is seldom needed.
            if fraction >= bound || fraction >= bound.wrapping_neg() % bound {
                return whole;
            }
        }
    }

    /// A number in [0, 1) with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A standard normal number (Box & Muller, Annals of Mathematical Statistics 29, 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Shuffles the items, every order equally likely (Fisher & Yates; Durstenfeld, CACM 7, 1964).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let bound = u64::try_from(last + 1).unwrap_or(u64::MAX);
            let chosen = usize::try_from(self.below(bound)).unwrap_or(last);
            items.swap(last, chosen);
        }
    }
}

/// Fills the state of [`Random`], so that similar seeds give unrelated streams.
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix_meets_its_reference_vector() {
        let mut filler = SplitMix64(1_234_567);
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!([filler.next(), filler.next(), filler.next()], expected);
    }

    #[test]
    fn xoshiro_meets_its_reference_vector() {
        // The authors' C code from the state 1, 2, 3, 4.
        let mut random = Random { state: [1, 2, 3, 4] };
        let expected =
            [11_520, 0, 1_509_978_240, 1_215_971_899_390_074_240, 1_216_172_134_540_287_360, 607_988_272_756_665_600];
        assert_eq!(std::array::from_fn::<u64, 6, _>(|_| random.next_u64()), expected);
    }

    #[test]
    fn the_same_seed_gives_the_same_order_and_another_seed_another() {
        let order = |seed| {
            let mut items: Vec<u32> = (0..50).collect();
            Random::new(seed).shuffle(&mut items);
            items
        };
        assert_eq!(order(7), order(7));
        assert_ne!(order(7), order(8));
        let mut sorted = order(7);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..50).collect::<Vec<u32>>());
    }

    #[test]
    fn every_order_of_three_is_equally_likely() {
        let mut random = Random::new(2);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..60_000 {
            let mut items = [0, 1, 2];
            random.shuffle(&mut items);
            *counts.entry(items).or_insert(0_u32) += 1;
        }
        assert_eq!(counts.len(), 6);
        let chi_squared: f64 = counts.values().map(|&count| (f64::from(count) - 10_000.0).powi(2) / 10_000.0).sum();
        assert!(chi_squared < 20.5, "{counts:?}");
    }

    #[test]
    fn edges() {
        let mut random = Random::new(0);
        assert_eq!((random.below(0), random.below(1)), (0, 0));
        assert!((0..1000).all(|_| (0.0..1.0).contains(&random.unit())));
        random.shuffle::<u8>(&mut []);
    }
}
