//! How rates scale with threads, and what limits them: one sentence for each of a few series, else one for all.

use model::document::{Finding, Row};
use model::machine::Machine;
use model::number::brief::{hertz, percent, times};
use model::number::counted;
use model::warning::WarningCode;

use super::estimate::{Against, Estimate, rate};
use super::rules::{SCALING_LIMITED, SCALING_MANY, SCALING_NONE};
use crate::rules::AreaRules;

const SCALES: f64 = 0.95;
/// Below this share of the ideal, something other than the cores is the limit.
const LIMITED: f64 = 0.8;
const FEW: usize = 3;
const CLOCK_FALLS: f64 = 0.97;

struct Step<'a> {
    first: &'a Row,
    last: &'a Row,
    growth: Estimate,
    ideal: f64,
    verdict: Verdict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Linear,
    Sublinear,
    Limited,
    None,
}

impl Step<'_> {
    fn share(&self) -> f64 {
        self.growth.median / self.ideal
    }

    fn is_limited(&self) -> bool {
        matches!(self.verdict, Verdict::Limited | Verdict::None)
    }
}

/// Findings about series of undisturbed results, each ascending in threads.
pub(super) fn findings(series: &[Vec<&Row>], machine: &Machine, area: &AreaRules) -> Vec<Finding> {
    let steps: Vec<Step<'_>> = series.iter().filter_map(|rows| step(rows)).collect();
    if steps.len() > FEW {
        return together(&steps, machine, area).into_iter().collect();
    }
    let finding = |step: &Step<'_>| {
        let rule = if step.verdict == Verdict::None { SCALING_NONE } else { SCALING_LIMITED };
        rule.finding(&fields(step, machine, area), &[step.first, step.last])
    };
    steps.iter().filter(|step| step.is_limited()).filter_map(finding).collect()
}

fn step<'a>(rows: &[&'a Row]) -> Option<Step<'a>> {
    let (first, last) = (*rows.first()?, *rows.last()?);
    let (few, many) = (first.params.threads(), last.params.threads());
    (few > 0 && few < many).then_some(())?;
    let ideal = f64::from(many) / f64::from(few);
    let growth = rate(last)?.over(rate(first)?)?;
    let verdict = verdict(growth, ideal, rate(last)?.against(rate(first)?))?;
    Some(Step { first, last, growth, ideal, verdict })
}

/// The verdict on a growth; `None` if its span leaves several open.
fn verdict(growth: Estimate, ideal: f64, against: Option<Against>) -> Option<Verdict> {
    let [low, high] = growth.span?.map(|end| end / ideal);
    let share = growth.median / ideal;
    match against {
        Some(Against::Less | Against::Alike) => Some(Verdict::None),
        _ if share >= SCALES => (low >= LIMITED).then_some(Verdict::Linear),
        Some(Against::More) if high < LIMITED => Some(Verdict::Limited),
        Some(Against::More) if high < SCALES && share >= LIMITED => Some(Verdict::Sublinear),
        _ => None,
    }
}

fn fields(step: &Step<'_>, machine: &Machine, area: &AreaRules) -> Vec<(&'static str, String)> {
    let threads = |row: &Row| row.params.threads();
    vec![
        ("what", (area.findings.describe)(step.first)),
        ("factor", times(step.growth.median)),
        ("few", threads(step.first).to_string()),
        ("many", counted(threads(step.last).into(), area.findings.parallel)),
        ("share", percent(step.share())),
        ("why", if step.verdict == Verdict::Linear { String::new() } else { why(step, machine, area) }),
    ]
}

/// One sentence for all: how many scale, how many do not, and the one that scales least.
fn together(steps: &[Step<'_>], machine: &Machine, area: &AreaRules) -> Option<Finding> {
    let least = steps.iter().min_by(|a, b| a.share().total_cmp(&b.share()))?;
    let linear = steps.iter().filter(|step| step.verdict == Verdict::Linear).count();
    let limited = steps.iter().filter(|step| step.is_limited()).count();
    let mut fields = fields(least, machine, area);
    fields.extend([
        ("count", steps.len().to_string()),
        ("linear", linear.to_string()),
        ("limited", limited.to_string()),
        ("bound", percent(LIMITED)),
    ]);
    let evidence: Vec<&Row> = steps.iter().flat_map(|step| [step.first, step.last]).collect();
    SCALING_MANY.finding(&fields, &evidence)
}

/// What limits a rate: a quota, other VMs, the number of cores, the clock; else what the area's threads share.
fn why(step: &Step<'_>, machine: &Machine, area: &AreaRules) -> String {
    let has = |code: WarningCode| step.last.warnings.iter().any(|warning| warning.code == code);
    let cores = machine.cpu.one_per_core(&machine.cpu.available_cpus).len();
    let clocks = step.first.conditions.clock_hz.zip(step.last.conditions.clock_hz);
    let falls = clocks.filter(|(first, last)| *first > 0.0 && *last > 0.0 && last / first < CLOCK_FALLS);
    if has(WarningCode::CpuQuota) {
        ": a CPU quota is the limit".to_owned()
    } else if has(WarningCode::VcpuShared) || has(WarningCode::Steal) {
        ": other VMs use the same cores".to_owned()
    } else if area.computes() && cores > 0 && step.last.params.threads() as usize > cores {
        format!(": the machine has {}", counted(cores as u64, "core"))
    } else if let Some((first, last)) = falls.filter(|_| area.computes()) {
        format!(": the clock falls from {} to {}", hertz(first), hertz(last))
    } else {
        (area.findings.scaling_limit)(step.first, step.last, step.is_limited()).unwrap_or_default()
    }
}
