//! What the rows of networks say together: how rates grow with their connections, up against down and both at once, what
//! held streams back, what small blocks and segmentation cost, datagrams against streams and what of them is lost, what
//! waiting asleep, setting up a connection and a load add to a round trip, and that loopback is no network.
//!
//! Each rule names its rows by their parameters: they differ in what the rule is about and in nothing else. Disturbed
//! rows (grade C) take no part. Two figures differ only where their intervals do not meet; where one has none, where they
//! are a tenth apart.

mod limits;
mod pairs;
mod words;

use model::document::{Finding, NetConditions, Row};
use model::experiment::{Area, LOOPBACK, NetParams, Params};
use model::io::NetMode;
use model::sample::MetricName;
use model::warning::Grade;

use super::words::percent;
use super::{FEW, LIMITED, SCALES};
use crate::scaling::rate;
use words::{name, rate_words, throughput};

/// All findings of the network.
pub(super) fn findings(rows: &[Row], series: &[Vec<&Row>]) -> Vec<Finding> {
    let quiet: Vec<&Row> = rows.iter().filter(|row| is_quiet(row)).collect();
    let mut findings = Vec::new();
    findings.extend(no_network(&quiet));
    findings.extend(growth(series));
    findings.extend(pairs::directions(&quiet));
    findings.extend(limits::limits(&quiet));
    findings.extend(limits::small_blocks(&quiet));
    findings.extend(pairs::zero_copies(&quiet));
    findings.extend(pairs::segmentation(&quiet));
    findings.extend(pairs::protocols(&quiet));
    findings.extend(pairs::losses(rows));
    findings.extend(pairs::waiting(&quiet));
    findings.extend(pairs::connections(&quiet));
    findings.extend(limits::under_load(&quiet));
    findings.extend(limits::resent(&quiet));
    findings
}

fn net(row: &Row) -> Option<&NetParams> {
    if let Params::Net(params) = &row.params { Some(params) } else { None }
}

fn conditions(row: &Row) -> Option<&NetConditions> {
    row.conditions.net.as_ref()
}

/// Whether a row of the network was measured, and not disturbed.
fn is_quiet(row: &Row) -> bool {
    net(row).is_some() && row.grade.is_some_and(|grade| grade < Grade::C)
}

fn is_inside(row: &Row) -> bool {
    net(row).is_some_and(|params| params.path == LOOPBACK)
}

fn finding(code: &str, text: String, evidence: &[&Row]) -> Finding {
    let mut ids: Vec<String> = Vec::new();
    for row in evidence {
        if !ids.contains(&row.id) {
            ids.push(row.id.clone());
        }
    }
    Finding { code: code.to_owned(), area: Area::Net, text, evidence: ids }
}

/// The row that has exactly these parameters.
fn with<'a>(rows: &[&'a Row], wanted: &NetParams) -> Option<&'a Row> {
    rows.iter().copied().find(|row| net(row) == Some(wanted))
}

fn median(row: &Row, name: MetricName) -> Option<f64> {
    row.metric(name).map(|metric| metric.summary.median)
}

fn of_mode<'a>(rows: &'a [&'a Row], mode: NetMode) -> impl Iterator<Item = &'a Row> {
    rows.iter().copied().filter(move |row| net(row).is_some_and(|params| params.mode == mode))
}

/// The fastest of these rows.
fn fastest<'a>(rows: impl Iterator<Item = &'a Row>) -> Option<&'a Row> {
    let known = rows.filter_map(|row| Some((rate(row)?, row)));
    known.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, row)| row)
}

/// Loopback moves no byte over any wire, and says so where it was measured.
fn no_network(rows: &[&Row]) -> Option<Finding> {
    let row = fastest(of_mode(rows, NetMode::Stream).filter(|row| is_inside(row)))?;
    let ceiling = conditions(row)?.two_copy_bytes_per_second;
    let beside = ceiling.map_or_else(String::new, |ceiling| {
        format!(
            ", {} of the {} that two copies of each byte between the same CPUs come to",
            percent(rate(row).unwrap_or(0.0) / ceiling),
            rate_words(ceiling)
        )
    });
    let text = format!(
        "Loopback is no network: its bytes are copied twice in memory and its round trips are two wake-ups by the \
         scheduler. The fastest here, {}, is {}{beside}.",
        name(net(row)?),
        throughput(row)?
    );
    Some(finding("loopback_is_no_network", text, &[row]))
}

/// How rates grow with their connections: a sentence each where they are few, else one for all.
fn growth(series: &[Vec<&Row>]) -> Vec<Finding> {
    let steps: Vec<(f64, &Row, &Row)> = series.iter().filter_map(|rows| step(rows)).collect();
    if steps.len() <= FEW {
        return steps.iter().filter_map(|(factor, first, last)| growth_finding(*factor, first, last)).collect();
    }
    let least = steps.iter().min_by(|a, b| a.0.total_cmp(&b.0));
    let most = steps.iter().max_by(|a, b| a.0.total_cmp(&b.0));
    let (Some(least), Some(most)) = (least, most) else { return Vec::new() };
    let end = |step: &(f64, &Row, &Row)| {
        let (few, many) = (step.1.params.threads(), step.2.params.threads());
        Some(format!("{:.2}x from {few} to {many} connections ({})", step.0, name(&one_connection(step.1)?)))
    };
    let (Some(low), Some(high)) = (end(least), end(most)) else { return Vec::new() };
    let text = format!("Of {} kinds of streams the rate grows {low} to {high}.", steps.len());
    vec![finding("net_scaling", text, &[least.1, least.2, most.1, most.2])]
}

/// The rate with the most connections over that with the fewest, of rows that may be compared: what a blast sends is no
/// result, and of round trips each connection waits for itself.
fn step<'a>(rows: &[&'a Row]) -> Option<(f64, &'a Row, &'a Row)> {
    let (first, last) = (*rows.first()?, *rows.last()?);
    let grows = matches!(net(first)?.mode, NetMode::Stream | NetMode::NoDrop | NetMode::Connect);
    let several = first.params.threads() < last.params.threads();
    (grows && several && rows.iter().all(|row| is_quiet(row))).then_some(())?;
    Some((rate(last)? / rate(first)?, first, last))
}

/// What a row does, its connections left out.
fn one_connection(row: &Row) -> Option<NetParams> {
    net(row).map(|params| NetParams { threads: 1, ..params.clone() })
}

fn growth_finding(factor: f64, first: &Row, last: &Row) -> Option<Finding> {
    let (few, many) = (first.params.threads(), last.params.threads());
    let share = factor * f64::from(few) / f64::from(many);
    let code = match share {
        share if share >= SCALES => "scaling_linear",
        share if share >= LIMITED => "scaling_sublinear",
        _ => "scaling_limited",
    };
    let ceiling = |row: &Row| conditions(row)?.two_copy_bytes_per_second.filter(|ceiling| *ceiling > 0.0);
    let copies = ceiling(first).zip(ceiling(last)).map_or_else(String::new, |(one, more)| {
        format!("; two copies in memory between the same CPUs grow {:.2}x", more / one)
    });
    let text = format!(
        "{} scale {factor:.2}x from {few} to {many} connections, {:.0} % of the ideal{copies}.",
        name(&one_connection(first)?),
        100.0 * share
    );
    Some(finding(code, text, &[first, last]))
}

#[cfg(test)]
mod tests;
