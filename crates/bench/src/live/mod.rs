//! Two things measured alternately (`assay compare --live`): each half of a pair is a whole run of a program, and which side
//! begins is drawn in ABBA order.
//!
//! Runs taken hours apart differ by the state of the host, halves of a pair hardly. The ratio over pairs is [`stats::ratio`].

mod half;
mod switch;

use std::collections::BTreeMap;
use std::path::PathBuf;

use model::comparison::{Change, Comparison};
use model::document::Document;
use stats::random::Random;
use sys::clock::monotonic_raw_seconds;
use sys::process::stop_signal;
use verdict::live::{LOOKS, SideName};

pub use half::LiveSide;
use half::{Half, Workplace};
pub use switch::SWITCH_SECONDS;
use switch::Switches;

#[derive(Clone, Debug)]
pub struct Live {
    pub sides: [LiveSide; 2],
    /// Exact number of pairs; `None`: until every verdict is reached, at one of [`verdict::live::LOOKS`].
    pub pairs: Option<u32>,
    /// Seconds for the whole comparison; `None`: no limit.
    pub time_budget: Option<f64>,
    pub seed: u64,
    /// Folder for temporary folders.
    pub root: PathBuf,
    /// The environment of both programs.
    pub environment: BTreeMap<String, String>,
    /// `CLOCK_MONOTONIC_RAW` at program start, in seconds.
    pub began: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LiveProgress {
    pub pairs: u32,
    /// Maximum pairs.
    pub of: u32,
    /// Benchmarks without a verdict; `None` before the first look.
    pub open: Option<usize>,
    pub rows: usize,
    pub seconds_left: f64,
}

#[derive(Debug)]
pub struct LiveEnd {
    /// The comparison over all complete pairs.
    pub comparison: Comparison,
    /// What ended it early, or could not be switched back.
    pub trouble: Option<String>,
    pub signal: Option<i32>,
}

/// Measures both sides alternately and compares them. The machine is switched back to side A in any case.
pub fn live(live: &Live, watcher: &mut dyn FnMut(LiveProgress)) -> Result<LiveEnd, String> {
    let mut switches = Switches::new([0, 1].map(|side: usize| live.sides[side].switch.clone()));
    let workplace = Workplace::make(&live.root)?;
    let mut pairs: Vec<[Document; 2]> = Vec::new();
    let measured = measure(live, &mut switches, &workplace, &mut pairs, watcher);
    let restored = switches.restore();
    let signal = stop_signal();
    // Both sides are restored first; every problem is reported.
    let troubles: Vec<String> = measured.err().filter(|_| signal.is_none()).into_iter().chain(restored.err()).collect();
    let trouble = (!troubles.is_empty()).then(|| troubles.join("; "));
    if pairs.is_empty() {
        return Err(trouble.unwrap_or_else(|| "it was stopped before the first pair was complete".to_owned()));
    }
    Ok(LiveEnd { comparison: compare(live, &pairs)?, trouble, signal })
}

fn measure(
    live: &Live,
    switches: &mut Switches,
    workplace: &Workplace,
    pairs: &mut Vec<[Document; 2]>,
    watcher: &mut dyn FnMut(LiveProgress),
) -> Result<(), String> {
    let mut random = Random::new(live.seed);
    let most = live.pairs.unwrap_or(LOOKS[LOOKS.len() - 1]);
    let mut b_first = random.below(2) == 1;
    let began = monotonic_raw_seconds();
    loop {
        let longest = pairs.iter().flatten().map(|document| document.run.seconds).reduce(f64::max);
        let mut half = |side: usize| {
            switches.to(side)?;
            let half = Half { side: &live.sides[side], seed: random.next_u64() >> 12, longest };
            half.measure(workplace, &live.environment)
        };
        let first = half(usize::from(b_first))?;
        let second = half(usize::from(!b_first))?;
        pairs.push(if b_first { [second, first] } else { [first, second] });
        // ABBA: the side that ended a pair begins the next; after two pairs the order is drawn again.
        let done = u32::try_from(pairs.len()).unwrap_or(u32::MAX);
        b_first = if done % 2 == 1 { !b_first } else { random.below(2) == 1 };
        let seconds_a_pair = (monotonic_raw_seconds() - began) / f64::from(done.max(1));
        let open = open_at(live, pairs, done)?;
        let seconds_left = f64::from(most.saturating_sub(done)) * seconds_a_pair;
        let so_far = monotonic_raw_seconds() - live.began;
        let seconds_left = live.time_budget.map_or(seconds_left, |budget| seconds_left.min((budget - so_far).max(0.0)));
        let rows = pairs.first().map_or(0, |pair| pair[0].experiments.len());
        watcher(LiveProgress { pairs: done, of: most, open, rows, seconds_left });
        let out_of_time = live.time_budget.is_some_and(|budget| so_far + seconds_a_pair > budget);
        if done >= most || open == Some(0) || out_of_time || stop_signal().is_some() {
            return Ok(());
        }
    }
}

fn compare(live: &Live, pairs: &[[Document; 2]]) -> Result<Comparison, String> {
    let names = [0, 1].map(|side: usize| {
        let LiveSide { name, switch, .. } = &live.sides[side];
        SideName { name: name.clone(), switch: switch.clone() }
    });
    verdict::live::compare(&names, live.pairs.is_some(), pairs)
}

/// Benchmarks without a verdict at a look. The first pair is looked at, too, so that incomparable sides fail at once.
fn open_at(live: &Live, pairs: &[[Document; 2]], done: u32) -> Result<Option<usize>, String> {
    let looks = live.pairs.is_none() && LOOKS.contains(&done);
    if !looks && done != 1 {
        return Ok(None);
    }
    let comparison = compare(live, pairs)?;
    let open = comparison.experiments.iter().filter(|row| row.verdict == Change::Inconclusive).count();
    Ok(Some(open).filter(|_| looks))
}
