//! Two things measured in turn, now: `assay compare --live`. Each half of a pair is a whole run of a program with its
//! options, in processes of its own; which side begins is drawn, in the order ABBA, so that what the host does meanwhile
//! falls on both.
//!
//! This is where small effects can be found: two runs taken at different hours differ by whatever the host did in
//! between, two halves of a pair by a second's worth of it. The ratio comes from [`stats::ratio`] over the pairs, which
//! is the estimator of everything that is measured in turn. Nothing is printed here.

mod half;
mod side;
mod switch;

use std::collections::BTreeMap;
use std::path::PathBuf;

use model::comparison::{Change, Comparison};
use model::document::Document;
use stats::random::Random;
use sys::clock::monotonic_raw_seconds;
use sys::process::stop_signal;
use verdict::live::{LOOKS, SideName};

use half::{Half, Workplace};
pub use side::LiveSide;
pub use switch::SWITCH_SECONDS;
use switch::Switches;

/// What is to be compared, and how.
#[derive(Clone, Debug)]
pub struct Live {
    /// A and B.
    pub sides: [LiveSide; 2],
    /// Exactly so many pairs; `None` until every verdict is there, at one of [`verdict::live::LOOKS`].
    pub pairs: Option<u32>,
    /// Seconds for the whole comparison.
    pub time_budget: Option<f64>,
    /// Seed of the order.
    pub seed: u64,
    /// Where the halves are kept while they are needed: a folder of its own is made in it and taken away.
    pub root: PathBuf,
    /// The environment of both programs.
    pub environment: BTreeMap<String, String>,
    /// `CLOCK_MONOTONIC_RAW` when the program began, in seconds.
    pub began: f64,
}

/// How far a live comparison is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LiveProgress {
    /// Pairs that are complete.
    pub pairs: u32,
    /// The most pairs there will be.
    pub of: u32,
    /// Rows without a verdict; `None` before the first look.
    pub open: Option<usize>,
    /// Rows in all.
    pub rows: usize,
    /// Seconds that are left at most.
    pub seconds_left: f64,
}

/// What came of it.
#[derive(Debug)]
pub struct LiveEnd {
    /// The comparison over all complete pairs.
    pub comparison: Comparison,
    /// What ended it early, or could not be switched back, in a sentence.
    pub trouble: Option<String>,
    /// The signal that stopped it.
    pub signal: Option<i32>,
}

/// Measures both sides in turn and compares them.
///
/// # Errors
/// One sentence: a switch command or a side failed, nothing in common was measured, or it was stopped, before there was
/// one pair to compare. The machine is switched back to side A first.
pub fn live(live: &Live, watcher: &mut dyn FnMut(LiveProgress)) -> Result<LiveEnd, String> {
    let mut switches = Switches::new([0, 1].map(|side: usize| live.sides[side].switch.clone()));
    let workplace = Workplace::make(&live.root)?;
    let mut pairs: Vec<[Document; 2]> = Vec::new();
    let measured = measure(live, &mut switches, &workplace, &mut pairs, watcher);
    let restored = switches.restore();
    let signal = stop_signal();
    // Both sides are restored first, whatever went wrong; all of it is told.
    let troubles: Vec<String> = measured.err().filter(|_| signal.is_none()).into_iter().chain(restored.err()).collect();
    let trouble = (!troubles.is_empty()).then(|| troubles.join("; "));
    if pairs.is_empty() {
        return Err(trouble.unwrap_or_else(|| "it was stopped before the first pair was complete".to_owned()));
    }
    Ok(LiveEnd { comparison: compare(live, &pairs)?, trouble, signal })
}

/// Pairs until the rule, the time or a signal ends them.
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
        let mut halves: [Option<Document>; 2] = [None, None];
        for side in if b_first { [1, 0] } else { [0, 1] } {
            switches.to(side)?;
            let half = Half { side: &live.sides[side], seed: random.next_u64() >> 12, longest: longest(pairs) };
            halves[side] = Some(half.measure(workplace, &live.environment)?);
        }
        if let [Some(a), Some(b)] = halves {
            pairs.push([a, b]);
        }
        // ABBA: the side that ended a pair begins the next; after two pairs a new order is drawn.
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

/// The comparison of all pairs so far.
fn compare(live: &Live, pairs: &[[Document; 2]]) -> Result<Comparison, String> {
    let names = [0, 1].map(|side: usize| {
        let LiveSide { name, switch, .. } = &live.sides[side];
        SideName { name: name.clone(), switch: switch.clone() }
    });
    verdict::live::compare(&names, live.pairs.is_some(), pairs)
}

/// Rows without a verdict, where the rule looks at this number of pairs; the first pair is looked at as well, so that
/// what cannot be compared at all is told at once.
fn open_at(live: &Live, pairs: &[[Document; 2]], done: u32) -> Result<Option<usize>, String> {
    let looks = live.pairs.is_none() && LOOKS.contains(&done);
    if !looks && done != 1 {
        return Ok(None);
    }
    let comparison = compare(live, pairs)?;
    let open = comparison.experiments.iter().filter(|row| row.verdict == Change::Inconclusive).count();
    Ok(Some(open).filter(|_| looks))
}

/// The longest that a half took so far, in seconds.
fn longest(pairs: &[[Document; 2]]) -> Option<f64> {
    pairs.iter().flatten().map(|document| document.run.seconds).reduce(f64::max)
}
