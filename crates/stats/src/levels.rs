//! The levels of a curve of access time against working-set size. Each level is one cache, or the memory behind them: it
//! rises by less than a quarter with each doubling of the size, spans at least one doubling, and is a quarter away from the
//! next ones. Steeper parts belong to no level: behind a cache that is just too small, some accesses still hit.

use crate::observations::median;

/// A curve is steep from this rise per doubling of the size on (natural logarithm of a quarter). Random replacement
/// behind a cache of size `C` still rises by 14 % from `4C` to `8C` where the next level is many times as slow.
const STEEP_PER_DOUBLING: f64 = 0.223;

/// Two adjacent stretches closer than this (natural logarithm of a quarter) are one level.
const DISTINCT: f64 = 0.223;

/// Points of a level, at least: two agree by chance.
const LEAST_POINTS: usize = 3;

/// The least factor that counts as a doubling, since 1.5 x 1.333 is rounded.
const DOUBLING: f64 = 1.99;

/// One level of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Index of its first point.
    pub first: usize,
    /// Index of its last point (inclusive).
    pub last: usize,
    /// The median of its points' values.
    pub value: f64,
}

/// The levels of a curve of (size, time per access), the lowest first. For rates pass their reciprocals.
///
/// `None` for fewer than three points, sizes that do not ascend, or a number that is not positive and finite.
///
/// ```
/// let times = [1.0, 1.0, 1.0, 4.0, 4.1, 4.0, 4.1];
/// let curve: Vec<(f64, f64)> = (0..7).map(|power| f64::from(1 << power)).zip(times).collect();
/// let levels = stats::levels(&curve).unwrap();
/// assert_eq!(levels.iter().map(|level| (level.first, level.last)).collect::<Vec<_>>(), [(0, 2), (3, 6)]);
/// ```
pub fn levels(curve: &[(f64, f64)]) -> Option<Vec<Level>> {
    let usable = |number: f64| number.is_finite() && number > 0.0;
    if curve.len() < LEAST_POINTS
        || !curve.iter().all(|(size, value)| usable(*size) && usable(*value))
        || !curve.is_sorted_by(|before, after| before.0 < after.0)
    {
        return None;
    }
    let doublings: Vec<f64> = curve.iter().map(|(size, _)| size.log2()).collect();
    let fitted = rising(&without_lone_points(&curve.iter().map(|(_, value)| value.ln()).collect::<Vec<_>>()));
    let flat = flat_steps(&doublings, &fitted);
    let mut found: Vec<(usize, usize)> = Vec::new();
    for stretch in stretches(&flat) {
        let Some(stretch) = trimmed(stretch, &fitted) else { continue };
        match found.last_mut() {
            Some(before) if middle(&fitted, stretch) - middle(&fitted, *before) < DISTINCT => before.1 = stretch.1,
            _ => found.push(stretch),
        }
    }
    let long = found.into_iter().filter(|(first, last)| {
        last - first + 1 >= LEAST_POINTS && doublings[*last] - doublings[*first] >= DOUBLING.log2()
    });
    let value =
        |first: usize, last: usize| median(&curve[first..=last].iter().map(|(_, value)| *value).collect::<Vec<_>>());
    Some(long.map(|(first, last)| Level { first, last, value: value(first, last) }).collect())
}

/// Each value as the median of itself and the two next to it, since a lone point is noise; the ends stay as they are.
fn without_lone_points(values: &[f64]) -> Vec<f64> {
    let mut smooth = values.to_vec();
    for (index, three) in values.windows(3).enumerate() {
        smooth[index + 1] = median(three);
    }
    smooth
}

/// The non-decreasing sequence that is closest to the values by least squares, since more data is never faster to reach
/// (pooling adjacent violators: Ayer et al., Ann. Math. Statist. 26, 1955).
fn rising(values: &[f64]) -> Vec<f64> {
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for &value in values {
        let mut pool = (value, 1);
        while let Some((mean, count)) = pools.last().copied().filter(|(mean, _)| *mean > pool.0) {
            pools.pop();
            let both = count + pool.1;
            pool = ((mean * count as f64 + pool.0 * pool.1 as f64) / both as f64, both);
        }
        pools.push(pool);
    }
    pools.into_iter().flat_map(|(mean, count)| std::iter::repeat_n(mean, count)).collect()
}

/// Whether the curve is level from each point to the next: over some doubling of the size around them.
fn flat_steps(doublings: &[f64], fitted: &[f64]) -> Vec<bool> {
    let mut flat = vec![false; fitted.len() - 1];
    for first in 0..flat.len() {
        let wide = |last: &usize| doublings[*last] - doublings[first] >= DOUBLING.log2();
        let Some(last) = (first + 1..fitted.len()).find(wide) else { break };
        let rise = (fitted[last] - fitted[first]) / (doublings[last] - doublings[first]);
        if rise < STEEP_PER_DOUBLING {
            flat[first..last].fill(true);
        }
    }
    flat
}

/// First and last point of each run of flat steps.
fn stretches(flat: &[bool]) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for (step, _) in flat.iter().enumerate().filter(|(_, flat)| **flat) {
        match found.last_mut() {
            Some((_, last)) if *last == step => *last = step + 1,
            _ => found.push((step, step + 1)),
        }
    }
    found
}

/// A stretch without the feet and shoulders of the knees at its ends.
fn trimmed((mut first, mut last): (usize, usize), fitted: &[f64]) -> Option<(usize, usize)> {
    let level = middle(fitted, (first, last));
    while first < last && level - fitted[first] > DISTINCT {
        first += 1;
    }
    while last > first && fitted[last] - level > DISTINCT {
        last -= 1;
    }
    (first < last).then_some((first, last))
}

fn middle(fitted: &[f64], (first, last): (usize, usize)) -> f64 {
    median(&fitted[first..=last])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    const KIB: f64 = 1024.0;
    const MIB: f64 = KIB * KIB;

    /// Two sizes in each doubling, from 4 KiB on.
    fn sizes(last: f64) -> Vec<f64> {
        let powers = (0..40).flat_map(|power| [4.0 * KIB * 2_f64.powi(power), 6.0 * KIB * 2_f64.powi(power)]);
        powers.take_while(|size| *size <= last).collect()
    }

    /// Access times with caches of these (size, time) and memory of time `beyond`. The part that does not fit is served
    /// by the next level: all of it if `sharp` (least recently used on a cycle), else a share (random replacement).
    fn curve(caches: &[(f64, f64)], beyond: f64, last: f64, sharp: bool) -> Vec<(f64, f64)> {
        let time = |size: f64| {
            let mut missed = 1.0;
            let mut time = 0.0;
            for (bytes, seconds) in caches {
                let partial = if sharp { 0.0 } else { bytes / size };
                let hits = if size <= *bytes { 1.0 } else { partial };
                time += missed * hits * seconds;
                missed *= 1.0 - hits;
            }
            time + missed * beyond
        };
        sizes(last).into_iter().map(|size| (size, time(size))).collect()
    }

    fn noisy(curve: &[(f64, f64)], share: f64, seed: u64) -> Vec<(f64, f64)> {
        let mut random = Random::new(seed);
        curve.iter().map(|(size, value)| (*size, value * (1.0 + share * (2.0 * random.unit() - 1.0)))).collect()
    }

    /// The last size and the value of each level.
    fn ends(curve: &[(f64, f64)]) -> Vec<(f64, f64)> {
        levels(curve).unwrap().iter().map(|level| (curve[level.last].0, level.value)).collect()
    }

    const THREE: [(f64, f64); 3] = [(48.0 * KIB, 1.3), (2.0 * MIB, 4.2), (32.0 * MIB, 21.0)];

    #[test]
    fn sharp_steps_are_found_where_they_are() {
        for count in 1..=3 {
            let curve = curve(&THREE[..count], 105.0, 1024.0 * MIB, true);
            let mut expected = THREE[..count].to_vec();
            expected.push((1024.0 * MIB, 105.0));
            assert_eq!(ends(&curve), expected, "{count} caches");
        }
    }

    #[test]
    fn noise_moves_no_level_by_more_than_one_point() {
        for seed in 0..200 {
            let curve = noisy(&curve(&THREE, 105.0, 1024.0 * MIB, true), 0.08, seed);
            let found = ends(&curve);
            assert_eq!(found.len(), 4, "seed {seed}: {found:?}");
            for ((end, value), (bytes, seconds)) in found.iter().zip(THREE.iter().chain([&(1024.0 * MIB, 105.0)])) {
                assert!((0.6..=1.6).contains(&(end / bytes)), "seed {seed}: {found:?}");
                assert!((value / seconds - 1.0).abs() < 0.08, "seed {seed}: {found:?}");
            }
        }
    }

    #[test]
    fn slow_knees_belong_to_neither_side() {
        let curve = curve(&[(48.0 * KIB, 1.3), (2.0 * MIB, 4.2)], 105.0, 1024.0 * MIB, false);
        let found = levels(&curve).unwrap();
        assert_eq!(found.len(), 3, "{found:?}");
        let spans: Vec<(f64, f64)> = found.iter().map(|level| (curve[level.first].0, curve[level.last].0)).collect();
        assert_eq!((spans[0].1, spans[1].1), (48.0 * KIB, 2.0 * MIB), "{spans:?}");
        assert!(spans[1].0 > 64.0 * KIB && spans[2].0 > 4.0 * MIB, "{spans:?}");
    }

    #[test]
    fn a_lone_point_is_no_level() {
        let mut curve = curve(&THREE[..1], 9.0, 64.0 * MIB, true);
        let before = ends(&curve);
        for index in [3, 12, 20] {
            curve[index].1 *= 3.0;
        }
        assert_eq!(ends(&curve).iter().map(|(end, _)| *end).collect::<Vec<_>>(), [before[0].0, before[1].0]);
    }

    #[test]
    fn what_is_flat_or_drifts_is_one_level() {
        let flat: Vec<(f64, f64)> = sizes(64.0 * MIB).into_iter().map(|size| (size, 5.0)).collect();
        assert_eq!(levels(&flat), Some(vec![Level { first: 0, last: flat.len() - 1, value: 5.0 }]));
        // One percent with each point.
        let drifting: Vec<(f64, f64)> =
            flat.iter().enumerate().map(|(index, (size, _))| (*size, 5.0 * 1.01_f64.powf(index as f64))).collect();
        let found = levels(&drifting).unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
    }

    #[test]
    fn what_rises_all_the_way_has_no_level() {
        let steep: Vec<(f64, f64)> = sizes(64.0 * MIB).into_iter().map(|size| (size, size.sqrt())).collect();
        assert_eq!(levels(&steep), Some(vec![]));
    }

    #[test]
    fn what_falls_again_makes_no_level_of_its_own() {
        let mut curve = curve(&THREE[..2], 30.0, 64.0 * MIB, true);
        let (before, size) = (ends(&curve).len(), curve.len());
        for point in &mut curve[size - 3..] {
            point.1 = 3.0;
        }
        assert!(ends(&curve).len() <= before);
    }

    #[test]
    fn what_is_no_curve_is_refused() {
        assert_eq!(levels(&[(1.0, 1.0), (2.0, 4.0)]), None);
        for value in [f64::NAN, f64::INFINITY, 0.0, -1.0] {
            assert_eq!(levels(&[(1.0, 1.0), (2.0, value), (4.0, 1.0)]), None);
        }
        assert_eq!(levels(&[(1.0, 1.0), (4.0, 1.0), (4.0, 1.0)]), None);
    }
}
