//! The summary for a terminal: the answer, slow nodes with their causes, each group's results, problems, nodes to drain.

use std::collections::BTreeMap;

use model::cluster::{
    ClusterDocument, ClusterHpl, Deviation, Difference, Distribution, PairMatrix, SlowNode, Standing,
};

use super::labels::{
    UNKNOWN, ends, has_peaks, measured_from, metric_name, notation, of_median, passes, share, some_of, standing, title,
    with_nodes,
};
use super::verdict::{Outlook, Verdict};
use crate::formats::escape::one_line;
use crate::html::text::capital;
use crate::layout::{Align, Block, Cell, Column, cut, separated, table, wrap};
use crate::reason::NO_REASON;
use crate::style::{Style, Tone};
use model::number::{counted, percent, quantity};
use model::unit::Unit;

pub(super) const WIDEST: usize = 100;
/// The most slow nodes; the HTML report has all.
const MOST_SLOW: usize = 20;
const MOST_METRICS: usize = 60;
const MOST_NAMES: usize = 6;
const MOST_LINES: usize = 12;

/// The whole summary, ending in a newline.
#[must_use]
pub fn render(document: &ClusterDocument, style: &Style) -> String {
    let style = &Style { width: style.width.min(WIDEST), ..*style };
    let verdict = Verdict::of(document);
    let tone = match verdict.outlook {
        Outlook::Equal => Tone::Good,
        Outlook::Slower | Outlook::Inconclusive => Tone::Fair,
        Outlook::Slow => Tone::Bad,
    };
    let paint = |line: String| style.paint(&line, tone);
    let answer = verdict.sentences.iter().enumerate().flat_map(|(place, sentence)| {
        let lines = wrap(&style.clean(sentence), "", style.width);
        lines.into_iter().map(move |line| (place, line))
    });
    let answer = answer.map(|(place, line)| if place == 1 { paint(line) } else { line });
    let next = verdict.next.iter().map(|command| format!("  {}", style.clean(command)));
    let answer = answer.chain(next).collect();
    separated(&[
        head(document, style),
        answer,
        slow(document, style),
        metrics(document, style),
        pairs(document, style),
        hpl(document, style),
        differences(document, style),
        problems(document, style),
        failed_attempts(document, style),
        drain(document, style),
    ])
}

fn head(document: &ClusterDocument, style: &Style) -> Vec<String> {
    let plan = &document.plan;
    let suite = plan.suite.lines().next().unwrap_or_default();
    let parts = [
        format!("Assay {}", document.assay.version),
        format!("cluster plan {}", plan.name),
        if suite.is_empty() || suite.len() > 40 { String::new() } else { format!("{suite} suite") },
        counted(document.nodes.len() as u64, "node"),
    ];
    let parts: Vec<String> =
        parts.iter().map(|part| style.clean(&one_line(part))).filter(|part| !part.is_empty()).collect();
    let line = cut(&parts.join(style.separator()), style.width, style);
    let when = wrap(&style.clean(&capital(&one_line(&measured_from(document)))), "", style.width);
    std::iter::once(style.paint(&line, Tone::Strong)).chain(when).collect()
}

/// A block of one column.
pub(super) fn block(heading: &str, align: Align, cells: Vec<Cell>) -> Block {
    let of_heading = if align == Align::Left { Align::Left } else { Align::Right };
    Block::new(heading, of_heading, vec![Column::new(align, cells)])
}

/// A column of texts, each cut to `to` characters.
pub(super) fn cells<'a, T: 'a>(
    items: impl IntoIterator<Item = &'a T>,
    style: &Style,
    text: &dyn Fn(&T) -> String,
    to: usize,
) -> Vec<Cell> {
    items.into_iter().map(|item| Cell::plain(cut(&style.clean(&text(item)), to, style))).collect()
}

fn slow(document: &ClusterDocument, style: &Style) -> Vec<String> {
    let shown = &document.slow[..document.slow.len().min(MOST_SLOW)];
    if shown.is_empty() {
        return Vec::new();
    }
    let cells = |of: &dyn Fn(&SlowNode) -> String, to: usize| cells(shown, style, of, to);
    let standing_cells = shown.iter().map(|slow| {
        let tone = if slow.standing == Standing::Slow { Tone::Bad } else { Tone::Fair };
        Cell::new(standing(slow.standing), tone)
    });
    let of_worst = |text: &dyn Fn(&Deviation) -> String, to: usize| {
        cells(&|slow| slow.deviations.first().map_or_else(String::new, text), to)
    };
    let unknown = if has_peaks(document) { UNKNOWN } else { "" };
    let peak = |worst: &Deviation| worst.efficiency.map_or_else(|| unknown.to_owned(), percent);
    let heading = if document.drain.is_empty() { "Suspects" } else { "Slow nodes" };
    let blocks = [
        block(heading, Align::Left, cells(&|slow| one_line(&slow.node), 20)),
        block("speed", Align::Left, standing_cells.collect()),
        block("slowest result", Align::Left, of_worst(&|worst| metric_name(&worst.experiment, &worst.metric), 46)),
        block("of the median", Align::Decimal, of_worst(&|worst| passes(&worst.of_median), 20)),
        block("of peak", Align::Decimal, of_worst(&peak, 10)),
    ];
    let mut lines = table(&blocks, 2, style).into_iter();
    let mut shown_lines: Vec<String> = lines.next().into_iter().collect();
    for (slow, line) in shown.iter().zip(lines) {
        shown_lines.push(line);
        for cause in &slow.causes {
            let text = format!("cause: {}", style.clean(&one_line(&cause.text)));
            shown_lines.extend(wrap(&text, "    ", style.width).into_iter().map(|line| style.paint(&line, Tone::Dim)));
        }
    }
    let more = document.slow.len() - shown.len();
    shown_lines.extend((more > 0).then(|| format!("and {more} more, in the HTML report")));
    shown_lines
}

fn metrics(document: &ClusterDocument, style: &Style) -> Vec<String> {
    let mut lines = Vec::new();
    let mut left = MOST_METRICS;
    for part in document.distributions.chunk_by(|one, next| (one.group, &one.area) == (next.group, &next.area)) {
        let shown = &part[..part.len().min(left)];
        left -= shown.len();
        if shown.is_empty() {
            break;
        }
        lines.extend((!lines.is_empty()).then(String::new));
        lines.extend(of_group(document, shown, style));
    }
    let more = document.distributions.len().saturating_sub(MOST_METRICS);
    lines.extend((more > 0).then(|| format!("and {}, in the HTML report", counted(more as u64, "more metric"))));
    lines
}

/// The metrics of an area in a group.
fn of_group(document: &ClusterDocument, shown: &[Distribution], style: &Style) -> Vec<String> {
    let first = &shown[0];
    let area = title(&first.area);
    let heading = if document.groups.len() > 1 { format!("{area}, hardware type {}", first.group) } else { area };
    let cells = |of: &dyn Fn(&Distribution) -> String, to: usize| cells(shown, style, of, to);
    let median = |of: &Distribution| quantity(of.median, notation(&of.area, of.unit));
    let slowest_share = |of: &Distribution| of.values.first().and_then(|value| share(value, of)).map(percent);
    let slowest = |of: &Distribution| of.values.first().map_or_else(String::new, |value| one_line(&value.node));
    let blocks = [
        block(&style.clean(&heading), Align::Left, cells(&|of| metric_name(&of.experiment, &of.metric), 46)),
        block("median", Align::Decimal, cells(&median, 18)),
        block("spread", Align::Decimal, cells(&|of| format!("{}{}", style.plus_minus(), percent(of.spread)), 10)),
        block("nodes", Align::Right, cells(&|of| of.n.to_string(), 8)),
        block("of median", Align::Decimal, cells(&|of| slowest_share(of).unwrap_or_default(), 10)),
        block("slowest node", Align::Left, cells(&slowest, 16)),
    ];
    table(&blocks, 2, style)
}

fn pairs(document: &ClusterDocument, style: &Style) -> Vec<String> {
    let line = |of: &PairMatrix| {
        let values: Vec<f64> = of.pairs.iter().filter_map(|pair| pair.value).collect();
        let notation = notation("net", of.unit);
        let how = if of.together { "all pairs at the same time" } else { "one pair at a time" };
        let slowest = of.pairs.iter().filter_map(|pair| Some((of_median(pair.value?, of.median?, of.better)?, pair)));
        let slowest = slowest.min_by(|one, other| one.0.total_cmp(&other.0));
        let slowest = slowest.map_or_else(String::new, |(share, pair)| {
            format!("; the slowest is {} at {} of the median", ends(pair), percent(share))
        });
        let holes = of.pairs.len() - values.len();
        let holes = if holes > 0 { format!("; {} not measured", counted(holes as u64, "pair")) } else { String::new() };
        let median = of.median.map_or_else(|| "no median".to_owned(), |median| quantity(median, notation));
        let what = metric_name(&of.experiment, &of.metric);
        format!("{what}, {how}: median {median} over {}{slowest}{holes}.", counted(values.len() as u64, "pair"))
    };
    listed("Between nodes", &document.pairs.iter().map(line).collect::<Vec<_>>(), style)
}

fn hpl(document: &ClusterDocument, style: &Style) -> Vec<String> {
    let line = |of: &ClusterHpl| {
        let nodes = counted(of.nodes.len() as u64, "node");
        let Some(rate) = of.rate else {
            let reason = one_line(of.reason.as_deref().unwrap_or(NO_REASON));
            return format!("{nodes}: no result: {reason}");
        };
        let flops = |value: f64| quantity(value, Unit::FlopPerSecond);
        let peak = of.peak.filter(|peak| *peak > 0.0).map_or_else(
            || "the FP64 peak of a node is unknown".to_owned(),
            |peak| format!("{} of the sum of the nodes' FP64 peaks ({})", percent(rate / peak), flops(peak)),
        );
        let own = of.linpack.filter(|sum| *sum > 0.0).map_or_else(String::new, |sum| {
            format!("; {} of the sum of the nodes' LINPACK results ({})", percent(rate / sum), flops(sum))
        });
        format!("{nodes}, N = {}, NB = {}, {} x {}: {}; {peak}{own}.", of.n, of.nb, of.p, of.q, flops(rate))
    };
    listed("HPL across nodes", &document.hpl.iter().map(line).collect::<Vec<_>>(), style)
}

fn differences(document: &ClusterDocument, style: &Style) -> Vec<String> {
    let line = |of: &Difference| {
        let nodes = some_of(&of.nodes, MOST_NAMES);
        let most =
            if of.majority.is_empty() { String::new() } else { format!(", most have {}", one_line(&of.majority)) };
        format!("{}: {} on {nodes}{most}", one_line(&of.fact), one_line(&of.value))
    };
    listed("Differences", &document.differences.iter().map(line).collect::<Vec<_>>(), style)
}

fn problems(document: &ClusterDocument, style: &Style) -> Vec<String> {
    let lines: Vec<String> = document.problems.iter().map(|of| with_nodes(of, MOST_NAMES)).collect();
    listed("Problems", &lines, style)
}

/// Failed attempts: each reason once, with the nodes and how many attempts.
fn failed_attempts(document: &ClusterDocument, style: &Style) -> Vec<String> {
    let mut reasons: BTreeMap<(&str, &str), (u64, Vec<String>)> = BTreeMap::new();
    for (node, of) in document.nodes.iter().flat_map(|node| node.failed_attempts.iter().map(move |of| (node, of))) {
        let (count, nodes) = reasons.entry((&of.task, &of.reason)).or_default();
        *count += of.count;
        nodes.push(node.name.clone());
    }
    let line = |((task, reason), (count, nodes)): (&(&str, &str), &(u64, Vec<String>))| {
        let attempts = counted(*count, "attempt");
        format!("{}: {attempts} on {}: {}", one_line(task), some_of(nodes, MOST_NAMES), one_line(reason))
    };
    listed("Failed attempts", &reasons.iter().map(line).collect::<Vec<_>>(), style)
}

fn drain(document: &ClusterDocument, style: &Style) -> Vec<String> {
    let names = (!document.drain.is_empty()).then(|| some_of(&document.drain, MOST_SLOW));
    listed("Candidates to drain", names.as_slice(), style)
}

/// A heading with one item a line.
fn listed(heading: &str, items: &[String], style: &Style) -> Vec<String> {
    if items.is_empty() {
        return Vec::new();
    }
    let more = items.len().saturating_sub(MOST_LINES);
    let mut lines = vec![style.paint(heading, Tone::Strong)];
    lines.extend(items.iter().take(MOST_LINES).flat_map(|item| wrap(&style.clean(item), "  ", style.width)));
    lines.extend((more > 0).then(|| format!("  and {more} more, in the HTML report")));
    lines
}
