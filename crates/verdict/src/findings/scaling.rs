//! How rates grow with their threads, and what stops them: one sentence a series where they are few, else one for all.

use model::document::{Finding, Row};
use model::experiment::{Area, Params};
use model::machine::Machine;
use model::warning::WarningCode;

use super::figure::{Against, Figure, rate, sane};
use super::names::kind;
use super::rules::Code;
use super::words::{hertz, percent, threads, times};

/// From this share of the ideal on, a rate scales with its threads.
pub(super) const SCALES: f64 = 0.95;

/// Below this share of the ideal, something other than the cores is the limit.
pub(super) const LIMITED: f64 = 0.8;

/// Up to so many series get a sentence each.
const FEW: usize = 3;

/// A clock that falls below this share is a reason.
const CLOCK_FALLS: f64 = 0.97;

/// A series from its fewest threads to its most.
struct Step<'a> {
    first: &'a Row,
    last: &'a Row,
    /// The last rate over the first, with its span.
    growth: Figure,
    /// How many times as many threads there are.
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
}

/// The sentences about these series of an area; each series ascends in threads and holds quiet rows alone.
pub(super) fn findings(area: Area, series: &[Vec<&Row>], machine: &Machine) -> Vec<Finding> {
    let steps: Vec<Step<'_>> = series.iter().filter_map(|rows| step(rows)).collect();
    if steps.len() > FEW { together(area, &steps, machine).into_iter().collect() } else { each(area, &steps, machine) }
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

/// What a growth says; `None` where its span leaves several answers.
fn verdict(growth: Figure, ideal: f64, against: Option<Against>) -> Option<Verdict> {
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

fn each(area: Area, steps: &[Step<'_>], machine: &Machine) -> Vec<Finding> {
    let sentence = |step: &Step<'_>| {
        let code = match step.verdict {
            Verdict::Linear => Code::ScalingLinear,
            Verdict::Sublinear => Code::ScalingSublinear,
            Verdict::Limited => Code::ScalingLimited,
            Verdict::None => Code::ScalingNone,
        };
        code.tell(area, &fields(step, machine), &[step.first, step.last])
    };
    steps.iter().map(sentence).collect()
}

fn fields(step: &Step<'_>, machine: &Machine) -> Vec<(&'static str, String)> {
    vec![
        ("what", kind(step.first)),
        ("factor", times(step.growth.median)),
        ("few", step.first.params.threads().to_string()),
        ("many", parallel(step.last)),
        ("share", percent(step.share())),
        ("why", if step.verdict == Verdict::Linear { String::new() } else { why(step, machine) }),
    ]
}

/// What work at the same time: `2 threads`, of networks `2 connections`.
fn parallel(row: &Row) -> String {
    let count = row.params.threads();
    if row.area == Area::Net { format!("{count} connections") } else { threads(count) }
}

/// `3 scale`, `1 scales`, `none scales`.
fn counted(count: usize, verb: &str) -> String {
    match count {
        0 => format!("none {verb}s"),
        1 => format!("1 {verb}s"),
        several => format!("{several} {verb}"),
    }
}

/// One sentence for all: how many scale, how many do not, and the one that does least.
fn together(area: Area, steps: &[Step<'_>], machine: &Machine) -> Option<Finding> {
    let least = steps.iter().min_by(|a, b| a.share().total_cmp(&b.share()))?;
    let linear = steps.iter().filter(|step| step.verdict == Verdict::Linear).count();
    let limited = steps.iter().filter(|step| matches!(step.verdict, Verdict::Limited | Verdict::None)).count();
    let mut fields = fields(least, machine);
    fields.extend([
        ("count", steps.len().to_string()),
        ("linear", counted(linear, "scale")),
        ("limited", format!("{} below {}", counted(limited, "stay"), percent(LIMITED))),
    ]);
    let evidence: Vec<&Row> = steps.iter().flat_map(|step| [step.first, step.last]).collect();
    Some(Code::ScalingMany.tell(area, &fields, &evidence))
}

/// What stops a rate, as far as it was seen: a quota, others on the same cores, the clock; else what the area's threads
/// share.
fn why(step: &Step<'_>, machine: &Machine) -> String {
    let has = |code: WarningCode| step.last.warnings.iter().any(|warning| warning.code == code);
    let cores = machine.cpu.one_per_core(&machine.cpu.available_cpus).len();
    let clocks = step.first.conditions.clock_hz.zip(step.last.conditions.clock_hz);
    let falls = clocks.filter(|(first, last)| *first > 0.0 && *last > 0.0 && last / first < CLOCK_FALLS);
    let computes = matches!(step.first.area, Area::Cpu | Area::Linpack | Area::Memory);
    if has(WarningCode::CpuQuota) {
        ": a CPU quota stops them".to_owned()
    } else if has(WarningCode::VcpuShared) || has(WarningCode::Steal) {
        ": others share the virtual CPUs".to_owned()
    } else if computes && cores > 0 && step.last.params.threads() as usize > cores {
        format!(": the machine has {}", if cores == 1 { "1 core".to_owned() } else { format!("{cores} cores") })
    } else if let Some((first, last)) = falls.filter(|_| computes) {
        format!(": the clock falls from {} to {}", hertz(first), hertz(last))
    } else {
        shared(step)
    }
}

/// What the threads of an area have in common; of `sublinear` it is not said, since it may be anything.
fn shared(step: &Step<'_>) -> String {
    let limited = matches!(step.verdict, Verdict::Limited | Verdict::None);
    match &step.first.params {
        Params::Memory(params) if limited && params.level.as_deref() == Some("dram") => {
            ": the memory that all share is the limit".to_owned()
        }
        Params::Disk(_) if limited => ": the path to the device is the limit".to_owned(),
        Params::Net(_) => copies(step).unwrap_or_default(),
        _ => String::new(),
    }
}

/// How two copies of each byte in memory grow between the same CPUs, where they stood beside the rows.
fn copies(step: &Step<'_>) -> Option<String> {
    let ceiling = |row: &Row| row.conditions.net.as_ref()?.two_copy_bytes_per_second.and_then(sane);
    let growth = ceiling(step.last)? / ceiling(step.first)?;
    growth.is_finite().then(|| format!("; copies in memory grow {}", times(growth)))
}
