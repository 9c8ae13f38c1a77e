//! Why a result changed or has no verdict: the first rule that holds, causes before what would lead to a verdict.

use std::cmp::Ordering;

use model::comparison::{Change, Compared};
use model::document::{Conditions, Row};
use model::number::percent_brief;
use model::unit::Better;
use model::warning::{Cause, Confidence, Warning, WarningCode};

use super::disturbance::{Seen, sides};
use super::matching::Pair;
use super::units::is_beyond;
use crate::judge::median;

#[derive(Clone, Copy, Debug)]
pub(super) struct Known<'a> {
    pub(super) seen: Option<Seen<'a>>,
    pub(super) hiding: Option<(&'static str, &'a Warning)>,
    pub(super) noise_is_own: bool,
}

/// The values of a setting differ by more than this part of the larger.
const DIFFERS: f64 = 0.2;
/// The clock explains a change of which it moved at least this part.
const PART_OF_CHANGE: f64 = 1.0 / 3.0;
const CLOCK_MOVES: f64 = 0.01;
const PAIRS: &str = "pairs";
/// The most units that advice asks for.
const MOST_NEEDED: u32 = 60;

/// Warnings that are no setting of the machine, but show that the two sides did not do the same.
const DONE_OTHERWISE: &[WarningCode] = &[
    WarningCode::PagesRefused,
    WarningCode::RemotePages,
    WarningCode::PossiblyCached,
    WarningCode::NotDirect,
    WarningCode::Cached,
    WarningCode::NotCold,
    WarningCode::NotWarm,
    WarningCode::Compressed,
    WarningCode::NotWritten,
    WarningCode::PartOfSector,
    WarningCode::EngineSteppedDown,
    WarningCode::HostCache,
];

const DISAGREEING: &[(WarningCode, &str)] = &[
    (WarningCode::Bimodal, "fall into two groups"),
    (WarningCode::Drifting, "rise or fall with time"),
    (WarningCode::LaunchesDiffer, "differ between process runs"),
    (WarningCode::NotSteady, "had not settled when timing began"),
    (WarningCode::Autocorrelated, "are autocorrelated, so the effective number is smaller"),
    (WarningCode::DisturbedBlocks, "had interference in part"),
];

/// The explanation of a verdict; `None` where there is nothing to explain, or no rule that does.
pub(super) fn explain(pair: &Pair<'_>, row: &Compared, known: &Known<'_>) -> Option<String> {
    if row.verdict == Change::Same {
        return None;
    }
    let parts: Vec<String> = if let Some(hidden) = hidden(known) {
        let again = || "Repeat it on an idle machine, or use --live.".to_owned();
        settings(pair).map_or_else(|| vec![hidden.clone(), again()], |setting| vec![setting, hidden.clone()])
    } else if row.verdict == Change::Changed {
        settings(pair).or_else(|| clock(pair, row)).into_iter().collect()
    } else {
        let cause = settings(pair).or_else(|| clock(pair, row)).or_else(|| allowed(row, known));
        cause.or_else(|| disagreeing(pair)).into_iter().chain([remedy(row, known)]).collect()
    };
    (!parts.is_empty()).then(|| parts.join(" "))
}

/// The explanation of a live comparison of two merged results: interference affects both alike.
pub(crate) fn explain_live(base: &Row, new: &Row, row: &Compared) -> Option<String> {
    let base_metric = base.metrics.iter().find(|metric| metric.name.as_str() == row.metric)?;
    let new_metric = new.metrics.iter().find(|metric| metric.name.as_str() == row.metric)?;
    let pair = Pair { base, new, base_metric, new_metric };
    explain(&pair, row, &Known { seen: None, hiding: None, noise_is_own: true })
}

fn percent(share: f64) -> String {
    percent_brief(share.abs())
}

fn settings(pair: &Pair<'_>) -> Option<String> {
    let [(base_name, base), (new_name, new)] = sides(pair);
    let of_new = only_here(new, base).map(|warning| setting(new_name, warning));
    let of_base = || only_here(base, new).map(|warning| setting(base_name, warning));
    of_new.or_else(of_base).or_else(|| facts(base, new))
}

fn only_here<'a>(row: &'a Row, other: &Row) -> Option<&'a Warning> {
    let is_setting = |warning: &&Warning| {
        warning.code.known().is_some_and(|code| code.rule().cause == Cause::Setting || DONE_OTHERWISE.contains(&code))
    };
    let alike = |warning: &Warning| {
        let twin = other.warnings.iter().find(|twin| twin.code == warning.code);
        twin.is_some_and(|twin| match (twin.value, warning.value) {
            // It explains nothing on the side where it is less.
            (Some(theirs), Some(ours)) => theirs >= ours * (1.0 - DIFFERS),
            _ => true,
        })
    };
    // The first of the lowest confidence, in the order of the table.
    let own = row.warnings.iter().filter(is_setting).filter(|warning| !alike(warning));
    own.min_by_key(|warning| std::cmp::Reverse(warning.confidence))
}

fn setting(side: &str, warning: &Warning) -> String {
    use WarningCode as Code;
    let value = warning.value.unwrap_or(0.0);
    let share = percent(value);
    match warning.code.known() {
        Some(Code::CpuQuota) => format!("A CPU quota throttled the threads of {side} for {share} of the time."),
        Some(Code::LowPriority) => format!("{side} ran at a lower priority (nice {value:.0})."),
        Some(Code::Affinity) => format!("{side} could not use {share} of the CPUs."),
        Some(Code::CpusOffline) => format!("In {side} {share} of the CPUs were offline."),
        Some(Code::DebugBuild) => format!("{side} was measured by a debug build."),
        Some(Code::PagesRefused) => format!("{share} of the buffer of {side} was not in pages of the requested size."),
        Some(Code::NotDirect) => format!("{share} of the requests of {side} were served by the page cache."),
        _ => format!("Only {side} has this warning: {}", first_sentence(&warning.text)),
    }
}

/// The first sentence of a text. The full stop has a blank after it, unlike a decimal point.
fn first_sentence(text: &str) -> &str {
    text.find(". ").map_or(text, |end| &text[..=end])
}

fn facts(base: &Row, new: &Row) -> Option<String> {
    const FACTS: &[(&str, fn(&Conditions) -> Option<String>)] = &[
        ("quota of CPUs", |seen| seen.quota_cpus.map(|cpus| cpus.to_string())),
        ("file system", |seen| seen.disk.as_ref()?.filesystem.clone()),
        ("interface", |seen| seen.net.as_ref()?.interface.clone()),
        ("largest packet", |seen| seen.net.as_ref()?.mtu.map(|mtu| mtu.to_string())),
        ("congestion control", |seen| seen.net.as_ref()?.congestion_control.clone()),
        ("offloads", |seen| Some(seen.net.as_ref()?.offloads.join(" ")).filter(|names| !names.is_empty())),
    ];
    let difference = |(what, fact): &(&str, fn(&Conditions) -> Option<String>)| {
        let [base, new] = [base, new].map(|row| fact(&row.conditions).unwrap_or_else(|| "none".to_owned()));
        (base != new).then(|| format!("{what} {base} against {new}"))
    };
    let differing: Vec<String> = FACTS.iter().filter_map(difference).collect();
    (!differing.is_empty()).then(|| format!("The conditions differ: {}.", differing.join(", ")))
}

fn clock(pair: &Pair<'_>, row: &Compared) -> Option<String> {
    let per_cycle = row.per_cycle?;
    let of = |metric: &model::sample::Metric| {
        let clocks: Option<Vec<f64>> = metric.samples.iter().map(|sample| sample.clock_hz).collect();
        median(&clocks?).filter(|clock| *clock > 0.0)
    };
    let moved = of(pair.new_metric)? / of(pair.base_metric)? - 1.0;
    // The change of the work per second, whatever the metric counts.
    let work = (per_cycle.ratio * (1.0 + moved)).ln();
    let explains = moved.ln_1p() / work >= PART_OF_CHANGE;
    // A clock that moved less explains no uncertainty of this size.
    let least = if row.verdict == Change::Changed { CLOCK_MOVES } else { CLOCK_MOVES.max(row.threshold / 2.0) };
    if moved.abs() < least || !explains {
        return None;
    }
    let (verb, opposite) = if moved < 0.0 { ("fell", "rose") } else { ("rose", "fell") };
    let with_it = if pair.base_metric.better == Better::Higher {
        "and the rate with it".to_owned()
    } else {
        format!("so the {} {opposite}", row.metric)
    };
    let consequence = match per_cycle.verdict {
        Change::Same => format!("{with_it}; per cycle nothing changed"),
        Change::Inconclusive => format!("{with_it}; per cycle the result is inconclusive"),
        Change::Changed => {
            let less = if per_cycle.ratio < 1.0 { "less" } else { "more" };
            format!("which is part of it; per cycle {} {less} was done", percent(per_cycle.ratio - 1.0))
        }
    };
    Some(format!("The clock {verb} by {}, {consequence}.", percent(moved)))
}

fn hidden(known: &Known<'_>) -> Option<String> {
    let (side, warning) = known.hiding?;
    Some(format!("{side} had too much interference for a verdict: {}", first_sentence(&warning.text)))
}

fn allowed(row: &Compared, known: &Known<'_>) -> Option<String> {
    let seen = known.seen.filter(|seen| seen.warning.confidence > Confidence::High)?;
    let beyond = row.ratio_ci95.is_some_and(|interval| is_beyond(interval, row.threshold));
    let much = percent(seen.change);
    let sentence = first_sentence(&seen.warning.text);
    beyond.then(|| format!("Interference in {} may account for {much} of it: {sentence}", seen.side))
}

fn disagreeing(pair: &Pair<'_>) -> Option<String> {
    DISAGREEING.iter().find_map(|(kind, words)| {
        let has = |row: &Row| row.warnings.iter().any(|warning| warning.code.known() == Some(*kind));
        let of = match sides(pair).map(|(_, row)| has(row)) {
            [true, true] => "both sides",
            [true, false] => "BASE",
            [false, true] => "NEW",
            [false, false] => return None,
        };
        Some(format!("The samples of {of} {words}."))
    })
}

fn remedy(row: &Compared, known: &Known<'_>) -> String {
    let n = row.n_base.min(row.n_new);
    let pairs = row.units == PAIRS;
    match row.needed {
        Some(more) if pairs => format!("About {more} more {} than these {n} are needed (--pairs).", words(row, more)),
        Some(more) if row.ratio_ci95.is_none() => too_few(row, n, more),
        Some(more) if more > MOST_NEEDED => format!(
            "About {more} more {} of each side are needed, since the change is close to the threshold: use --live.",
            row.units
        ),
        Some(more) => {
            format!("About {more} more {} of each side than these {n} are needed{}.", words(row, more), how(row))
        }
        None if pairs => "The change is close to the threshold, so more pairs would hardly decide it.".to_owned(),
        None if !known.noise_is_own => {
            "The noise of this machine from run to run is unknown: repeat BASE and NEW, or use --live.".to_owned()
        }
        None => "The change is as large as the noise of this machine from run to run: use --live.".to_owned(),
    }
}

fn too_few(row: &Compared, n: u32, more: u32) -> String {
    let (of, each) = match row.n_base.cmp(&row.n_new) {
        Ordering::Equal => ("each side", " of each"),
        Ordering::Less => ("BASE", ""),
        Ordering::Greater => ("NEW", ""),
    };
    let (units, is) = (words(row, n), if n == 1 { "is" } else { "are" });
    format!("{n} {units} of {of} {is} too few: about {more} more{each} are needed{}.", how(row))
}

fn words(row: &Compared, count: u32) -> String {
    if count == 1 { row.units.strip_suffix('s').unwrap_or(&row.units).to_owned() } else { row.units.clone() }
}

fn how(row: &Compared) -> &'static str {
    match row.units.as_str() {
        "sessions" => " (assay run rigorous)",
        _ => " (--repeat)",
    }
}
