//! Which network rows there are: what can be measured, on which CPUs, at what cost.

use model::experiment::{Area, Experiment, LOOPBACK, NetParams, Params, net_id};
use model::io::{Direction, NetMode, Protocol, Segmentation, Wait};
use model::machine::Machine;
use model::unit::format_size;

use crate::plan::{PlanError, Planned, Request, place, thread_counts};
use crate::suite::MOST_THREADS;

/// The largest block of a stream or TCP message.
pub(super) const MOST_BLOCK_BYTES: u64 = 1 << 20;

/// The largest UDP payload over IPv4: 65535 bytes less 20 of IP header and 8 of UDP header.
pub(super) const MOST_DATAGRAM_BYTES: u64 = 65_507;

/// Expected seconds per launch beside samples and warm-up: starting the second process, and finding each other.
const SETUP_SECONDS: f64 = 0.05;

/// The same for the ceiling of a stream.
const CEILING_SECONDS: f64 = 0.06;

/// The rows of a request on a machine.
///
/// # Errors
/// What the user named and cannot be done.
pub(super) fn expand(request: &Request, machine: &Machine) -> Result<Vec<Planned>, PlanError> {
    let mut rows = Vec::new();
    for stanza in &request.suite.net {
        for &protocol in &stanza.protocol {
            for &block in &stanza.block {
                let directions = if has_direction(stanza.mode) { &stanza.direction[..] } else { &[Direction::Up] };
                for &direction in directions {
                    for threads in thread_counts(request, &stanza.threads, machine) {
                        let params = params(protocol, stanza.mode, block, direction, threads);
                        check(&params).map_err(PlanError)?;
                        rows.push(row(request, machine, params));
                    }
                }
            }
        }
    }
    Ok(rows)
}

/// Whether the bytes of such a row go one way, the other, or both.
fn has_direction(mode: NetMode) -> bool {
    matches!(mode, NetMode::Stream | NetMode::NoDrop | NetMode::Blast | NetMode::Load)
}

/// Whether there is such an experiment: asked of the plan, and by the far end of what it is asked to do.
///
/// # Errors
/// A sentence with what there is.
pub(super) fn check(params: &NetParams) -> Result<(), String> {
    let NetParams { protocol, mode, block, threads, .. } = params;
    if !matches!((protocol, mode), (_, NetMode::Pingpong) | (Protocol::Tcp, NetMode::Stream)) {
        return Err(format!(
            "there is no network experiment {mode} over {protocol}; there are stream over tcp, pingpong over tcp and udp"
        ));
    }
    let most = if *protocol == Protocol::Udp { MOST_DATAGRAM_BYTES } else { MOST_BLOCK_BYTES };
    if !(1..=most).contains(block) {
        let block = format_size(*block);
        return Err(format!("a block of {block} is not possible over {protocol}; write 1B to {most}B"));
    }
    if !(1..=MOST_THREADS).contains(threads) {
        return Err(format!("{threads} threads are not possible; 1 to {MOST_THREADS} are"));
    }
    Ok(())
}

/// The parameters of a row over loopback.
pub(super) fn params(protocol: Protocol, mode: NetMode, block: u64, direction: Direction, threads: u32) -> NetParams {
    let stream = has_direction(mode);
    NetParams {
        protocol,
        mode,
        block,
        direction: stream.then_some(direction),
        threads,
        path: LOOPBACK.to_owned(),
        zero_copy: stream.then_some(false),
        segmentation: (protocol == Protocol::Udp).then_some(Segmentation::Off),
        loss_goal_per_million: None,
        wait: (mode == NetMode::Pingpong).then_some(Wait::Blocking),
    }
}

fn row(request: &Request, machine: &Machine, params: NetParams) -> Planned {
    let (mut cpus, oversubscribed) = place(params.threads, machine);
    // Where both directions are measured at once each has threads of its own, on the same CPUs.
    if params.direction == Some(Direction::Both) {
        cpus = [cpus.clone(), cpus].concat();
    }
    let ceiling_seconds = if params.mode == NetMode::Stream { CEILING_SECONDS } else { 0.0 };
    Planned {
        experiment: Experiment {
            id: net_id(&params),
            area: Area::Net,
            method: method(&params),
            classic: None,
            kernel: None,
            params: Params::Net(params),
        },
        other_cpus: opposite(&cpus, machine),
        cpus,
        beside: Vec::new(),
        sampling: request.suite.sampling(Area::Net),
        exact_work: None,
        setup_seconds: SETUP_SECONDS + ceiling_seconds,
        obstacle: None,
        warnings: oversubscribed.into_iter().collect(),
    }
}

/// The way of counting. Streams of the first revision went from the far end to the near one and were called `up`.
fn method(params: &NetParams) -> String {
    let revision = if params.mode == NetMode::Stream { 2 } else { 1 };
    format!("net-{}-{}/{revision}", params.protocol, params.mode)
}

/// The CPUs of the other end: the next ones in the order of placement, and never a thread's own where there are two.
pub(super) fn opposite(cpus: &[u32], machine: &Machine) -> Vec<u32> {
    let mut order = machine.cpu.placement_order();
    if order.is_empty() {
        order.push(0);
    }
    // As many CPUs further as there are threads; where that goes round to a thread's own, one more.
    let further = cpus.len() + usize::from(cpus.len().is_multiple_of(order.len()));
    (0..cpus.len()).map(|thread| order[(thread + further) % order.len()]).collect()
}
