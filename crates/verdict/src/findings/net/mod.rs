//! What the rows of networks say together: how rates grow with their connections, what held streams back, datagrams
//! against streams and where loss sets in, what a load adds to a round trip, and that loopback is no network.
//!
//! Each rule names its rows by their parameters: they differ in what the rule is about and in nothing else. Disturbed
//! rows (grade C) take no part.

mod datagrams;
mod limits;
mod select;

use model::document::{Finding, Row};
use model::experiment::Area;
use model::io::NetMode;
use model::machine::Machine;

use super::figure::sane;
use super::names::named;
use super::rules::Code;
use super::scaling;
use super::words::{bits, percent};
use select::{conditions, fastest, is_inside, net, of_mode};

/// All findings of the network, of its quiet rows and their series.
pub fn findings(quiet: &[&Row], series: &[Vec<&Row>], machine: &Machine) -> Vec<Finding> {
    // What a blast sends is no result, and of round trips each connection waits for itself.
    let grows = |rows: &&Vec<&Row>| {
        let mode = rows.first().and_then(|row| net(row)).map(|params| params.mode);
        matches!(mode, Some(NetMode::Stream | NetMode::NoDrop | NetMode::Connect))
    };
    let series: Vec<Vec<&Row>> = series.iter().filter(grows).cloned().collect();
    let mut findings = scaling::findings(Area::Net, &series, machine);
    findings.extend(no_network(quiet));
    findings.extend(limits::limits(quiet));
    findings.extend(datagrams::onsets(quiet));
    findings.extend(datagrams::protocols(quiet));
    findings.extend(limits::under_load(quiet));
    findings
}

/// Loopback moves no byte over any wire, and says so where it was measured.
fn no_network(rows: &[&Row]) -> Option<Finding> {
    let (rate, row) = fastest(of_mode(rows, NetMode::Stream).filter(|row| is_inside(row)))?;
    let ceiling = conditions(row)?.two_copy_bytes_per_second.and_then(sane);
    let copies = ceiling.map_or_else(String::new, |ceiling| {
        format!(", {} of two copies' {}", percent(rate.median / ceiling), bits(ceiling))
    });
    let fields = [("what", named(row)), ("rate", bits(rate.median)), ("copies", copies)];
    Some(Code::Loopback.tell(Area::Net, &fields, &[row]))
}

#[cfg(test)]
mod tests;
