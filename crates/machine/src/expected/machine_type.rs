//! Published values of the machine type of a cloud, where the machine is what the type is sold as.

use model::machine::ExpectedQuantity::{Clock, Hpl, Network, OneCoreClock, Triad, VolumeBytes, VolumeRequests};
use model::machine::{Machine, MachineExpectation, Provider, Unknown};
use model::number::{Notation, clock, quantity};
use model::sample::HIGHEST_CLOCK_HZ;
use model::unit::Unit;

use super::clocks::ROUNDING;
use super::range::published;
use crate::published::agreement::{Seen, disagreements};
use crate::published::instances::{InstanceType, Rates, instance_type};
use crate::published::results::{PublishedResult, published_results};

/// How far below a published rate counts as reached: the threshold of Azure's pages ("more than 10 % below: check").
const TOLERANCE: f64 = 0.1;
/// One flow outside of a placement group, B/s [AWS, "Amazon EC2 instance network bandwidth": 5 Gbit/s].
const EC2_FLOW: f64 = 5e9 / 8.0;
/// What every gp3 volume reaches without being paid for [AWS, "General Purpose SSD volumes": 3,000 IOPS, 125 MiB/s].
const GP3_REQUESTS: f64 = 3000.0;
const GP3_BYTES: f64 = 125.0 * 1_048_576.0;

/// The unknown fact where the type contradicts the machine.
pub(super) const FACT: &str = "cloud.expected";

pub(super) fn of(machine: &mut Machine) -> Vec<MachineExpectation> {
    let Some(found) = machine.cloud.as_ref().and_then(|cloud| instance_type(cloud.machine_type.as_deref()?)) else {
        return Vec::new();
    };
    let differs: Vec<String> = disagreements(&found, &Seen::of(machine)).iter().map(ToString::to_string).collect();
    if !differs.is_empty() {
        machine.unknown.push(Unknown {
            fact: FACT.to_owned(),
            why: format!("{} does not agree with this machine: {}", found.name, differs.join("; ")),
            consequence: "published values of the type are not used; `--declare machine.type=NAME` states another"
                .into(),
        });
        return Vec::new();
    }
    [clocks(&found), network(&found), volumes(&found), results(&found)].concat()
}

/// Graviton has no boost clock: what is sustained is what one core has (`aws-graviton-getting-started`, README). On other
/// processors the provider's value is neither base nor boost clock.
fn clocks(of: &InstanceType) -> Vec<MachineExpectation> {
    let is_graviton = of.platforms.iter().any(|platform| platform.name.starts_with("AWS Graviton"));
    let Some(hz) = of.sustained_hz.as_ref().filter(|_| is_graviton) else { return Vec::new() };
    let text = format!("{}: {} (sustained) or more", of.name, clock(hz.value));
    let range = [hz.value * (1.0 - ROUNDING), HIGHEST_CLOCK_HZ];
    [Clock, OneCoreClock].map(|quantity| published(quantity, range, hz, text.clone())).into()
}

/// From what lasts, or one flow's rate if that is less, to the highest rate.
fn network(of: &InstanceType) -> Vec<MachineExpectation> {
    let Rates { sustained, most } = &of.network_bits_per_second;
    let Some(low) = sustained.as_ref().filter(|_| of.provider == Provider::Ec2) else { return Vec::new() };
    let lasts = low.value / 8.0;
    let high = most.as_ref().map_or(lasts, |most| lasts.max(most.value / 8.0));
    let [least, lasts_words, most] = [EC2_FLOW.min(lasts), lasts, high].map(|value| quantity(value, Notation::Bits));
    let flow = if EC2_FLOW < lasts {
        format!("{least} (one flow), {lasts_words} (baseline)")
    } else {
        format!("{least} (baseline)")
    };
    let text = format!("{flow} to {most} (burst), {}", of.name);
    vec![published(Network, within([EC2_FLOW.min(lasts), high]), low, text)]
}

/// A volume reaches at least what every gp3 volume has, and at most the burst of the machine type.
fn volumes(of: &InstanceType) -> Vec<MachineExpectation> {
    let kinds = [
        (VolumeRequests, &of.disk_requests_per_second, GP3_REQUESTS, Notation::Iops),
        (VolumeBytes, &of.disk_bytes_per_second, GP3_BYTES, Unit::BytePerSecond.into()),
    ];
    let of_kind = |(kind, rates, gp3, notation): (_, &Rates, f64, Notation)| {
        let lasts = rates.sustained.as_ref()?;
        let high = rates.most.as_ref().map_or(lasts.value, |most| most.value.max(lasts.value));
        let low = gp3.min(lasts.value);
        let [from, baseline, to] = [low, lasts.value, high].map(|value| quantity(value, notation));
        let text = format!("{from} (a gp3 volume) to {to} (burst; baseline {baseline}), {}", of.name);
        Some(published(kind, within([low, high]), lasts, text))
    };
    let known = of.provider == Provider::Ec2;
    kinds.into_iter().filter(|_| known).filter_map(of_kind).collect()
}

/// What the provider measured on the type.
fn results(of: &InstanceType) -> Vec<MachineExpectation> {
    let kind = |what: &str| match what {
        "stream_triad" => Some((Triad, Unit::BytePerSecond)),
        "hpl_rmax" => Some((Hpl, Unit::FlopPerSecond)),
        _ => None,
    };
    let of_result = |found: PublishedResult| {
        let (kind, unit) = kind(&found.what)?;
        let (low, high) = found.low.as_ref().zip(found.high.as_ref())?;
        let [from, to] = [low, high].map(|end| quantity(end.value, Notation::from(unit)));
        let text = format!("within 10 % of {from} to {to}, {} ({})", of.name, found.conditions);
        Some(published(kind, within([low.value, high.value]), low, text))
    };
    published_results(&of.name).into_iter().filter_map(of_result).collect()
}

fn within([low, high]: [f64; 2]) -> [f64; 2] {
    [low * (1.0 - TOLERANCE), high * (1.0 + TOLERANCE)]
}
