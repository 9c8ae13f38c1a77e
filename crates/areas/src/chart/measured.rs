//! From results to points and marks: what a mark shows, and which results form a curve.

use model::document::{Document, Row, Status};
use model::experiment::{Area, Params};
use model::io::{DiskOp, Protocol};
use model::isa::MemoryOp;
use model::number::brief::times;
use model::number::{Notation, percent, quantity, spread};
use model::reference::Reference;
use model::sample::{Metric, MetricName};
use model::unit::Better;
use model::warning::{Confidence, WarningCode};

pub use verdict::grouping::by_key;

use super::classic::Estimate;
use super::data::{DotMark, Hue, Look, Mark, Point, Series, is_drawable};
use crate::disk::label as disk;
use crate::label::{Axis, Common, Label, stem_of};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured<'a> {
    pub(crate) row: &'a Row,
    pub(crate) metric: &'a Metric,
}

impl<'a> Measured<'a> {
    /// The metric of this name; `None` where the result has none that can be drawn.
    pub(crate) fn find(row: &'a Row, name: MetricName) -> Option<Self> {
        let metric = row.metric(name)?;
        let drawable = row.status == Status::Ok && is_drawable(metric.summary.median);
        drawable.then_some(Self { row, metric })
    }

    pub(crate) fn all(document: &'a Document, area: Area, name: MetricName) -> Vec<Self> {
        let rows = document.experiments.iter().filter(|row| row.area == area);
        rows.filter_map(|row| Self::find(row, name)).collect()
    }

    pub(crate) const fn value(&self) -> f64 {
        self.metric.summary.median
    }

    pub(crate) fn threads(&self) -> u32 {
        self.row.params.threads()
    }

    pub(crate) const fn notation(&self) -> Notation {
        Notation::of(self.row.area, self.metric.unit)
    }

    pub(crate) fn interval(&self) -> Option<[f64; 2]> {
        self.metric.summary.ci95.filter(|ends| ends.iter().all(|end| is_drawable(*end)) && ends[0] <= ends[1])
    }

    pub(crate) fn limit(&self) -> Option<f64> {
        let kind = self.metric.efficiency?.of;
        let peak = self.metric.peaks.iter().find(|peak| peak.kind == kind)?;
        Some(peak.value).filter(|value| is_drawable(*value))
    }

    pub(crate) fn efficiency(&self) -> Option<f64> {
        self.metric.efficiency.map(|efficiency| efficiency.value).filter(|value| is_drawable(*value))
    }

    /// Whether its threads shared CPUs.
    pub(crate) fn is_crowded(&self) -> bool {
        self.row.warnings.iter().any(|warning| warning.code == WarningCode::Oversubscribed)
    }

    pub(crate) fn is_doubtful(&self) -> bool {
        self.row.confidence == Some(Confidence::Low)
    }

    /// Whether it is better than another by the rule of the classic tables: their intervals do not meet.
    fn beats(&self, other: &Self) -> bool {
        let (own, other) = (Estimate::of(self.metric), Estimate::of(other.metric));
        if self.metric.better == Better::Lower { own.undercuts(other) } else { own.exceeds(other) }
    }

    /// The colour of what it does, where that has one in every chart.
    pub(crate) fn hue(&self) -> Option<Hue> {
        match &self.row.params {
            Params::Memory(params) => match params.op {
                MemoryOp::Read => Some(Hue::Read),
                MemoryOp::Write | MemoryOp::WriteNt => Some(Hue::Write),
                _ => None,
            },
            Params::Disk(params) => match params.op {
                DiskOp::Read | DiskOp::Reread => Some(Hue::Read),
                DiskOp::Write | DiskOp::Rewrite => Some(Hue::Write),
                DiskOp::Mixed => None,
            },
            Params::Net(params) => Some(if params.protocol == Protocol::Udp { Hue::Udp } else { Hue::Tcp }),
            _ => None,
        }
    }

    /// The mark of the median.
    pub(crate) fn mark(&self) -> Mark {
        let (summary, interval) = (&self.metric.summary, self.interval());
        let mut text = format!("{}: {}", Label::sentence(self.row), quantity(summary.median, self.notation()));
        if interval.is_some() {
            text = format!("{text} {}", spread(summary, "\u{b1}"));
        }
        text = format!("{text}, n={}", summary.n);
        if let (Some(share), Some(limit)) = (self.efficiency(), self.limit()) {
            text = format!("{text}, {} of {}", percent(share), quantity(limit, self.notation()));
        }
        if let Some(confidence) = self.row.confidence {
            text = format!("{text}, {} confidence", confidence.name());
        }
        let (id, confidence) = (self.row.id.clone(), self.row.confidence);
        Mark { id, confidence, value: summary.median, n: summary.n, interval, text }
    }

    /// The mark of another value of the result.
    pub(crate) fn other_mark(&self, value: f64, n: u32, text: &str) -> Mark {
        let text = format!("{}{text}", Label::sentence(self.row));
        Mark { id: self.row.id.clone(), value, n, text, ..Mark::default() }
    }

    /// The mark of its ratio to a reference tool.
    pub(crate) fn ratio_mark(&self, reference: &Reference) -> Option<Mark> {
        let ratio = reference.ratio.filter(|ratio| reference.status == Status::Ok && is_drawable(*ratio))?;
        let interval = reference.ratio_ci95.filter(|ends| ends.iter().all(|end| is_drawable(*end)));
        let n = u32::try_from(reference.samples.len()).unwrap_or(u32::MAX);
        let version = reference.version.as_ref().map_or_else(String::new, |version| format!(" {version}"));
        let ends = interval.map_or_else(String::new, |[low, high]| format!(" ({} to {})", times(low), times(high)));
        let what = Label::sentence(self.row);
        let text = format!("{what}: {}{ends} the result of {}{version}, n={n}", times(ratio), reference.tool);
        let (id, confidence) = (self.row.id.clone(), self.row.confidence);
        Some(Mark { id, confidence, value: ratio, n, interval, text })
    }

    pub(crate) fn point(&self, x: f64) -> Point {
        Point { x, y: self.value(), limit: self.limit(), mark: self.mark() }
    }

    pub(crate) fn dot(&self, kind: usize) -> DotMark {
        let mark = self.mark();
        DotMark { kind, at: mark.value, interval: mark.interval, mark }
    }

    pub(crate) fn limit_dot(&self, kind: usize) -> Option<DotMark> {
        let limit = self.limit()?;
        let text = format!(": at most {}", quantity(limit, self.notation()));
        Some(dot(kind, self.other_mark(limit, 0, &text)))
    }
}

pub(crate) fn dot(kind: usize, mark: Mark) -> DotMark {
    DotMark { kind, at: mark.value, interval: None, mark }
}

/// Results that differ in one thing only, ascending by it.
#[derive(Clone, Debug)]
pub(crate) struct Curve<'a> {
    pub(crate) points: Vec<(f64, Measured<'a>)>,
}

impl<'a> Curve<'a> {
    pub(crate) fn first(&self) -> &'a Row {
        self.points[0].1.row
    }

    pub(crate) fn series(&self, name: String, look: Look) -> Series {
        let points = self.points.iter().map(|(x, measured)| measured.point(*x));
        Series::line(name, look, points.collect())
    }
}

/// Curves of at least `least` points; `place` gives the key of a curve and the position of a point. The first counts.
pub(crate) fn curves<'a>(
    all: &[Measured<'a>],
    least: usize,
    place: impl Fn(&Row) -> Option<(String, f64)>,
) -> Vec<Curve<'a>> {
    let placed = all.iter().filter_map(|measured| {
        let (key, x) = place(measured.row).filter(|(_, x)| is_drawable(*x))?;
        Some((key, x, *measured))
    });
    let groups = by_key(placed, |(key, ..)| Some(key.clone())).into_iter().map(|(_, group)| {
        let mut points: Vec<_> = group.into_iter().map(|(_, x, measured)| (x, measured)).collect();
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        points.dedup_by(|one, other| one.0.total_cmp(&other.0).is_eq());
        Curve { points }
    });
    groups.filter(|curve| curve.points.len() >= least).collect()
}

/// The number of threads of a result, and its id without it.
#[expect(clippy::unnecessary_wraps, reason = "a place as `curves` takes it, and not every result has every place")]
pub(crate) fn by_threads(row: &Row) -> Option<(String, f64)> {
    Some((stem_of(row), f64::from(row.params.threads())))
}

/// Of results that differ in their threads only, the one with the most that have a CPU each.
pub(crate) fn widest<'a>(all: &[Measured<'a>]) -> Vec<Measured<'a>> {
    let curves = curves(&uncrowded(all), 1, by_threads).into_iter();
    curves.filter_map(|curve| curve.points.last().map(|(_, last)| *last)).collect()
}

/// The results whose threads have a CPU each.
pub(crate) fn uncrowded<'a>(all: &[Measured<'a>]) -> Vec<Measured<'a>> {
    all.iter().filter(|own| !own.is_crowded()).copied().collect()
}

/// The best of results, the first of those that no other one beats.
pub(crate) fn best<'a>(all: impl IntoIterator<Item = Measured<'a>>) -> Option<Measured<'a>> {
    all.into_iter().reduce(|known, other| if other.beats(&known) { other } else { known })
}

/// The looks of results that are drawn together.
pub(crate) fn looks(all: &[Measured<'_>]) -> Vec<Look> {
    all.iter().enumerate().map(|(index, measured)| Look::nth(index, measured.hue())).collect()
}

/// The shortest distinct names of results that are drawn together.
pub(crate) fn names(rows: &[&Row], axis: Axis) -> Vec<String> {
    let common = Common::of(rows, axis);
    let labels: Vec<Label> = rows.iter().map(|row| Label::of(row, &common, axis)).collect();
    let whats: Vec<String> = labels.iter().map(|label| label.what.clone()).collect();
    if is_distinct(&whats) {
        return whats;
    }
    let all: Vec<Vec<&str>> = labels.iter().map(|label| label.how.split(", ").collect()).collect();
    let hows: Vec<String> = all.iter().map(|own| unshared(own, &all)).collect();
    if is_distinct(&hows) && whats.iter().all(|what| *what == whats[0]) && hows.iter().all(|how| !how.is_empty()) {
        return hows;
    }
    // The pattern and the block of a disk come first; without them the rest is not part of what is done.
    let apart = |own: &[&str]| {
        rows.iter().all(|row| disk::params(row).is_some()) && own.first().is_some_and(|first| is_shared(first, &all))
    };
    let named = whats.iter().zip(&hows).zip(&all).map(|((what, how), own)| match how.as_str() {
        "" => what.clone(),
        how if apart(own) => format!("{what}, {how}"),
        how => format!("{what} {how}"),
    });
    without_ends(named.map(|name| name.trim().to_owned()).collect())
}

/// The names without their last words, as long as they differ: `read 1 MiB` of `read 1 MiB, 10 GiB file`.
fn without_ends(mut names: Vec<String>) -> Vec<String> {
    loop {
        let shorter: Vec<String> = names
            .iter()
            .map(|name| name.rsplit_once(", ").map_or(name.as_str(), |(start, _)| start).to_owned())
            .collect();
        if shorter == names || !is_distinct(&shorter) {
            return names;
        }
        names = shorter;
    }
}

/// The tokens that not all have, joined.
pub(crate) fn unshared<T: AsRef<str> + PartialEq>(own: &[T], all: &[Vec<T>]) -> String {
    let kept = own.iter().filter(|token| !is_shared(*token, all));
    kept.map(AsRef::as_ref).collect::<Vec<&str>>().join(", ")
}

fn is_shared<T: PartialEq>(token: &T, all: &[Vec<T>]) -> bool {
    all.len() > 1 && all.iter().all(|other| other.contains(token))
}

fn is_distinct(names: &[String]) -> bool {
    names.iter().enumerate().all(|(index, name)| !names[..index].contains(name))
}

/// The shortest distinct names of results in a list; with their threads where these differ.
pub(crate) fn list_names(all: &[Measured<'_>]) -> Vec<String> {
    let rows: Vec<&Row> = all.iter().map(|measured| measured.row).collect();
    let Some(first) = rows.first() else { return Vec::new() };
    let axis = Axis::of(first.area, &rows);
    let differ = rows.iter().any(|row| axis.position(row) != axis.position(first));
    let named = rows
        .iter()
        .zip(names(&rows, axis))
        .map(|(row, name)| if differ { format!("{name}, {}", axis.words(axis.position(row))) } else { name });
    named.collect()
}
