//! Pairs of our values and a tool's: ratio, verdict, other common values, and whether chance explains a difference.

use model::document::Status;
use model::reference::{self as word, ReferenceSample, Verdict};
use model::sample::Metric;
use model::unit::{Better, Unit};
use stats::{RatioVerdict, ratio};

/// A value that both a tool and our result report, except the headline; lower is better.
pub(super) struct Common {
    pub(super) name: &'static str,
    unit: Unit,
    /// Its JSON pointer in the tool's details.
    pub(super) path: &'static str,
}

pub(super) const COMMON: &[Common] = &[
    Common { name: "latency", unit: Unit::Second, path: "/latency/p50" },
    Common { name: "cpu_seconds_per_request", unit: Unit::Second, path: "/cpu_seconds_per_request" },
    Common { name: LATENCY_P99, unit: Unit::Second, path: "/p99" },
    Common { name: "loss", unit: Unit::One, path: "/loss" },
];

pub(super) const LATENCY_P99: &str = "latency_p99";

/// Enters the comparison of a metric; returns the tool's median, and why chance may explain a difference.
pub(super) fn enter(
    reference: &mut word::Reference,
    metric: &Metric,
    samples: &[ReferenceSample],
    common: &[Vec<(f64, f64)>],
) -> Option<(f64, Option<String>)> {
    let pairs: Vec<(f64, f64)> = samples.iter().map(|sample| (sample.ours, sample.value)).collect();
    let (ours, theirs): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let (ratio, summary) = (ratio(&pairs)?, stats::summarise(&theirs)?);
    let better = if metric.better == Better::Higher { stats::Better::Higher } else { stats::Better::Lower };
    reference.samples = samples.to_vec();
    (reference.median, reference.ratio) = (Some(summary.median), Some(ratio.ratio));
    (reference.ratio_ci95, reference.half_width) = (ratio.interval, ratio.half_width);
    let ours = stats::summarise(&ours);
    reference.spread = ours.and_then(|ours| Some(word::Spread { theirs: summary.cv_robust?, ours: ours.cv_robust? }));
    reference.verdict = Some(match ratio.verdict(better) {
        RatioVerdict::AtLeast => Verdict::AtLeast,
        RatioVerdict::Below => Verdict::Below,
        RatioVerdict::Inconclusive => Verdict::Inconclusive,
    });
    // Other values that exist for every pair, except the metric itself.
    let others = COMMON.iter().zip(common).filter(|(common, _)| metric.name.as_str() != common.name);
    let whole = others.filter(|(_, pairs)| pairs.len() == samples.len());
    reference.also = whole.filter_map(|(common, pairs)| compared(common, pairs)).collect();
    Some((summary.median, chance(&pairs, ratio.interval)))
}

fn compared(common: &Common, pairs: &[(f64, f64)]) -> Option<word::Also> {
    let ratio = ratio(pairs)?;
    let (ours, theirs): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    Some(word::Also {
        name: common.name.to_owned(),
        unit: common.unit,
        better: Better::Lower,
        ours: stats::summarise(&ours)?.median,
        theirs: stats::summarise(&theirs)?.median,
        ratio: ratio.ratio,
        ratio_ci95: ratio.interval,
    })
}

/// Why chance may explain the difference; `None` if the pairs show one. Five pairs are too few: they agree once in 16.
fn chance(pairs: &[(f64, f64)], interval: Option<[f64; 2]>) -> Option<String> {
    if let Some([low, high]) = interval {
        return (low <= 1.0 && high >= 1.0).then(|| format!("the ratio's interval, {low:.2} to {high:.2}, includes 1"));
    }
    let ratios = || pairs.iter().map(|(ours, theirs)| ours / theirs);
    let (least, most) = (ratios().fold(f64::INFINITY, f64::min), ratios().fold(f64::NEG_INFINITY, f64::max));
    let lie = format!("are too few for an interval, and their ratios lie between {least:.2} and {most:.2}");
    Some(if pairs.len() == 1 { "one pair is too few".to_owned() } else { format!("{} pairs {lie}", pairs.len()) })
}

/// Withdraws a comparison whose result has samples without a partner.
pub(super) fn withdraw(reference: &mut word::Reference, samples_of_ours: usize) {
    if reference.status == Status::Ok && reference.samples.len() != samples_of_ours {
        let unpaired = samples_of_ours - reference.samples.len();
        let reason = format!("the run was interrupted: {unpaired} of its samples have no pair");
        (reference.status, reference.reason) = (Status::Skipped, Some(reason));
        (reference.median, reference.ratio, reference.ratio_ci95) = (None, None, None);
        (reference.half_width, reference.verdict, reference.explanation) = (None, None, None);
        reference.spread = None;
        reference.also.clear();
    }
}
