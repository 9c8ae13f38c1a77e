//! The network benchmarks of a request on a machine.

use std::collections::BTreeSet;

use model::experiment::{Area, Experiment, LOOPBACK, NetParams, net_id};
use model::io::{Direction, NetMode, Protocol, Segmentation, Wait};
use model::machine::Machine;
use model::plan::{PlanError, Planned, Sampling};
use model::unit::format_size;
use model::warning::Warning;

use super::choice::NetChoice;
use super::modes::{LOSS_GOAL_PER_MILLION, Traits, block_range, known_modes, traits};
use crate::fields::MOST_THREADS;
use crate::request::{Request, exact, in_table, is_asked};
use crate::threads::{place, thread_counts};

/// Seconds of round trips on an idle network before it is loaded.
pub const IDLE_SECONDS: f64 = 0.25;
// Expected seconds per process run in addition to samples and warm-up: client and server on one machine; on two hosts; for
// the limit of a stream; for the search of the no-drop rate.
const SETUP_SECONDS: f64 = 0.05;
const PEER_SETUP_SECONDS: f64 = 0.3;
const CEILING_SECONDS: f64 = 0.06;
const SEARCH_SECONDS: f64 = 1.0;
// Default bytes of a transfer: 100 MB each way over TCP, 1 GB each way over UDP, as in the classic programs.
const TCP_TRANSFER_BYTES: f64 = 200e6;
const UDP_TRANSFER_BYTES: f64 = 2e9;
// For the expected length of a total, on the slow side: a worker that is ten times slower counts as hanging.
const LOOPBACK_BYTES_PER_SECOND: f64 = 500e6;
const NETWORK_BYTES_PER_SECOND: f64 = 50e6;
const ROUND_TRIP_SECONDS: f64 = 50e-6;
const MILLION: u32 = 1_000_000;

/// The benchmarks of a request; an error if the user chose something impossible.
pub(super) fn expand(request: &Request, machine: &Machine) -> Result<Vec<Planned>, PlanError> {
    let mut rows = Vec::new();
    for stanza in &request.suite.net {
        for kind in kinds(stanza, request.peer.as_deref().unwrap_or(LOOPBACK)) {
            for threads in thread_counts(request, &stanza.threads, machine) {
                let params = NetParams { threads, ..kind.clone() };
                match check(&params) {
                    Ok(()) => rows.push(row(request, machine, stanza, &params)),
                    Err(sentence) if is_asked(request, &net_id(&params)) => return Err(PlanError(sentence)),
                    Err(_) => {}
                }
            }
        }
    }
    Ok(rows)
}

/// Every combination of a block's lists except threads; a list that the mode does not have is ignored.
fn kinds(stanza: &NetChoice, path: &str) -> Vec<NetParams> {
    let mut kinds = Vec::new();
    for &protocol in &stanza.protocol {
        for (&mode, &block) in stanza.mode.iter().flat_map(|mode| stanza.block.iter().map(move |block| (mode, block))) {
            let base = NetParams { path: path.to_owned(), ..params(protocol, mode, block, Direction::Up, 1) };
            let has_segmentation = traits(protocol, mode).is_some_and(|traits| traits.segmentation);
            let segmentation = if has_segmentation { base.segmentation } else { None };
            let mut these = vec![base.clone()];
            these = vary(these, base.direction, &stanza.direction, |params, way| params.direction = Some(way));
            these = vary(these, segmentation, &stanza.segmentation, |params, way| params.segmentation = Some(way));
            these = vary(these, base.zero_copy, &stanza.zero_copy, |params, on| params.zero_copy = Some(on));
            let goal = base.loss_goal_per_million;
            these = vary(these, goal, &stanza.loss_goal, |params, goal| params.loss_goal_per_million = Some(goal));
            kinds.extend(vary(these, base.wait, &stanza.wait, |params, wait| params.wait = Some(wait)));
        }
    }
    kinds
}

/// Each of these with each of the values, if they have such a parameter.
fn vary<T: Copy>(
    these: Vec<NetParams>,
    usual: Option<T>,
    values: &[T],
    put: impl Fn(&mut NetParams, T) + Copy,
) -> Vec<NetParams> {
    if usual.is_none() || values.is_empty() {
        return these;
    }
    let with = |mut params: NetParams, value: T| {
        put(&mut params, value);
        params
    };
    these.iter().flat_map(|params| values.iter().map(move |value| with(params.clone(), *value))).collect()
}

/// Checks that a benchmark exists, for the plan and for the server; the error says what exists instead.
pub fn check(params: &NetParams) -> Result<(), String> {
    let NetParams { protocol, mode, block, threads, .. } = params;
    let Some(traits) = traits(*protocol, *mode) else {
        return Err(format!("there is no network benchmark {mode} over {protocol}; there are {}", known_modes()));
    };
    let range = block_range(*protocol, *mode);
    if !range.contains(block) {
        let (block, least, most) = (format_size(*block), range.start(), range.end());
        let to = if least == most { String::new() } else { format!(" to {most}B") };
        return Err(format!("a block of {block} is not possible over {protocol} with {mode}; write {least}B{to}"));
    }
    if !(1..=MOST_THREADS).contains(threads) {
        return Err(format!("{threads} threads are not possible; write 1 to {MOST_THREADS}"));
    }
    let needs = [
        ("a direction", traits.direction, params.direction.is_some()),
        ("a choice of zero copy", traits.zero_copy, params.zero_copy.is_some()),
        ("a goal of loss", traits.loss_goal, params.loss_goal_per_million.is_some()),
        ("a way of waiting", traits.wait, params.wait.is_some()),
        ("a segmentation", *protocol == Protocol::Udp, params.segmentation.is_some()),
    ];
    for (what, has, is_there) in needs {
        if has != is_there {
            let verb = if has { "needs" } else { "does not have" };
            return Err(format!("{mode} over {protocol} {verb} {what}"));
        }
    }
    if params.segmentation == Some(Segmentation::Gso) && !traits.segmentation {
        let why = "sends one datagram at a time, which segmentation does nothing for";
        return Err(format!("{mode} over {protocol} {why}"));
    }
    match params.loss_goal_per_million {
        Some(goal @ MILLION..) => {
            Err(format!("a loss goal of {goal} datagrams per million is not possible; write 0 to {}", MILLION - 1))
        }
        _ => Ok(()),
    }
}

/// The parameters of a benchmark over loopback, with defaults.
pub fn params(protocol: Protocol, mode: NetMode, block: u64, direction: Direction, threads: u32) -> NetParams {
    let has = |has: fn(&Traits) -> bool| traits(protocol, mode).is_some_and(|traits| has(&traits));
    NetParams {
        protocol,
        mode,
        block,
        direction: has(|traits| traits.direction).then_some(direction),
        threads,
        path: LOOPBACK.to_owned(),
        zero_copy: has(|traits| traits.zero_copy).then_some(false),
        segmentation: (protocol == Protocol::Udp).then_some(Segmentation::Off),
        loss_goal_per_million: has(|traits| traits.loss_goal).then_some(LOSS_GOAL_PER_MILLION),
        wait: has(|traits| traits.wait).then_some(Wait::Blocking),
    }
}

fn row(request: &Request, machine: &Machine, stanza: &NetChoice, params: &NetParams) -> Planned {
    let (cpus, oversubscribed) = near_cpus(params, machine);
    let (sampling, exact_work) = sampling(request, stanza, params);
    let total = stanza.total.or_else(|| transfer_bytes(params));
    let classic = stanza.classic.as_ref().map(|workload| in_table(Area::Net, workload, total));
    let experiment = Experiment { classic, ..Experiment::new(net_id(params), params.clone(), &method(params)) };
    Planned {
        // Another host chooses its CPUs itself.
        other_cpus: if params.path == LOOPBACK { far_cpus(params, &cpus, machine) } else { Vec::new() },
        obstacle: request.no_loopback.clone().filter(|_| params.path == LOOPBACK),
        exact_work,
        setup_seconds: setup_seconds(params),
        warnings: oversubscribed.into_iter().collect(),
        ..Planned::new(experiment, cpus, sampling)
    }
}

fn near_cpus(params: &NetParams, machine: &Machine) -> (Vec<u32>, Option<Warning>) {
    let probes = u32::from(params.mode == NetMode::Load);
    let (mut cpus, oversubscribed) = place(params.threads + probes, machine);
    // Both directions have threads of their own on the same CPUs.
    if params.direction == Some(Direction::Both) {
        cpus.extend_from_within(probes as usize..);
    }
    (cpus, oversubscribed)
}

fn setup_seconds(params: &NetParams) -> f64 {
    let (setup, ceiling) =
        if params.path == LOOPBACK { (SETUP_SECONDS, CEILING_SECONDS) } else { (PEER_SETUP_SECONDS, 0.0) };
    setup
        + match params.mode {
            NetMode::Stream | NetMode::Blast => ceiling,
            NetMode::NoDrop => ceiling + SEARCH_SECONDS,
            NetMode::Load => IDLE_SECONDS,
            _ => 0.0,
        }
}

fn transfer_bytes(params: &NetParams) -> Option<f64> {
    (params.mode == NetMode::Transfer).then_some(match params.protocol {
        Protocol::Tcp => TCP_TRANSFER_BYTES,
        Protocol::Udp => UDP_TRANSFER_BYTES,
    })
}

/// The sampling, and the bytes or round trips of each sample if the total is done in full, as a transfer always does.
fn sampling(request: &Request, stanza: &NetChoice, params: &NetParams) -> (Sampling, Option<f64>) {
    let sampling = request.sampling(Area::Net, stanza.sampling.as_ref());
    let speed = if params.path == LOOPBACK { LOOPBACK_BYTES_PER_SECOND } else { NETWORK_BYTES_PER_SECOND };
    if let Some(bytes) = transfer_bytes(params) {
        let bytes = stanza.total.unwrap_or(bytes);
        return (Sampling { sample_seconds: bytes / speed, ..sampling }, Some(bytes));
    }
    let Some(total) = stanza.total.filter(|_| request.exact_workload) else { return (sampling, None) };
    let sample_seconds = match params.mode {
        NetMode::Pingpong | NetMode::Connect => total * ROUND_TRIP_SECONDS,
        _ => total / speed,
    };
    (exact(&sampling, sample_seconds), Some(total))
}

/// The counting rule. Revision 1 of streams went from server to client and was called `up`; its jitter was by the receiver's
/// clock.
pub(super) fn method(params: &NetParams) -> String {
    let revision = if matches!(params.mode, NetMode::Stream | NetMode::Blast | NetMode::NoDrop) { 2 } else { 1 };
    format!("net-{}-{}/{revision}", params.protocol, params.mode)
}

/// The CPUs of a server on this machine: its own, except that both ends of a TCP stream share one if there are too few. A CPU
/// has two threads either way, and what one sends is then in its cache.
fn far_cpus(params: &NetParams, cpus: &[u32], machine: &Machine) -> Vec<u32> {
    let taken = cpus.iter().collect::<BTreeSet<_>>().len();
    let are_streams = params.protocol == Protocol::Tcp && matches!(params.mode, NetMode::Stream | NetMode::Transfer);
    let suffice = 2 * taken <= machine.cpu.placement_order().len();
    if are_streams && !suffice && taken > 1 { cpus.to_vec() } else { opposite(cpus, machine) }
}

/// The next CPUs in the order of placement, never a thread's own if there are two.
fn opposite(cpus: &[u32], machine: &Machine) -> Vec<u32> {
    let mut order = machine.cpu.placement_order();
    if order.is_empty() {
        order.push(0);
    }
    let place = |cpu: &u32| order.iter().position(|other| other == cpu).unwrap_or(0);
    let taken = cpus.iter().collect::<BTreeSet<_>>().len();
    let further = taken + usize::from(taken.is_multiple_of(order.len()));
    cpus.iter().map(|cpu| order[(place(cpu) + further) % order.len()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::Threads;
    use crate::net::suite;
    use crate::plan::plan;
    use crate::suite::Suite;
    use crate::tests::{machine_with_cpus, request_of};

    fn planned(choice: &NetChoice, cpus: u32, threads: &[u32]) -> Result<Vec<Planned>, String> {
        let mut request = request_of(suite(choice).map_err(|error| error.0)?);
        request.threads = threads.iter().map(|count| Threads::Count(*count)).collect();
        plan(&request, &machine_with_cpus(cpus)).map(|plan| plan.rows).map_err(|error| error.0)
    }

    fn params_of(row: &Planned) -> &NetParams {
        row.experiment.net().unwrap_or_else(|| panic!("{row:?}"))
    }

    /// A choice of every protocol and mode, without a word of what else there is.
    fn of_mode(protocol: Protocol, mode: NetMode) -> NetChoice {
        NetChoice { protocol: vec![protocol], mode: vec![mode], ..NetChoice::default() }
    }

    #[test]
    fn the_suites_rows_follow_the_contract() {
        let rows = planned(&NetChoice::default(), 4, &[]).unwrap();
        let ids: Vec<_> = rows.iter().map(|row| row.experiment.id.as_str()).collect();
        assert_eq!(ids[..2], ["net/tcp-stream/128KiB/t1", "net/tcp-stream/128KiB/t4"]);
        for id in ["udp-no_drop/1472B/loss1000ppm/gso/t1", "udp-blast/1472B/t1", "tcp-load/64B/both/t1"] {
            assert!(ids.contains(&format!("net/{id}").as_str()), "{id} of {ids:?}");
        }
        for row in &rows {
            let params = params_of(row);
            let second = ["stream", "blast", "no_drop"].contains(&params.mode.name());
            let revision = if second { 2 } else { 1 };
            assert_eq!(row.experiment.method, format!("net-{}-{}/{revision}", params.protocol, params.mode));
            let each_way = if params.direction == Some(Direction::Both) { 2 } else { 1 };
            let flows = each_way * params.threads as usize + usize::from(params.mode == NetMode::Load);
            assert_eq!(row.cpus.len(), flows, "{params:?}: a CPU for each flow");
            assert_eq!(row.cpus.len(), row.other_cpus.len());
        }
    }

    #[test]
    fn a_mode_has_its_parameters_and_no_others() {
        for &mode in NetMode::ALL {
            for &protocol in Protocol::ALL {
                let params = params(protocol, mode, 64, Direction::Both, 2);
                let Some(traits) = traits(protocol, mode) else {
                    assert!(check(&params).unwrap_err().contains("stream over tcp, pingpong over tcp and udp"));
                    continue;
                };
                let block = *block_range(protocol, mode).start();
                let params = NetParams { block, ..params };
                check(&params).unwrap();
                let more: [(bool, NetParams); 4] = [
                    (traits.direction, NetParams { direction: None, ..params.clone() }),
                    (!traits.wait, NetParams { wait: Some(Wait::Spinning), ..params.clone() }),
                    (!traits.zero_copy, NetParams { zero_copy: Some(true), ..params.clone() }),
                    (!traits.segmentation, NetParams { segmentation: Some(Segmentation::Gso), ..params.clone() }),
                ];
                for (refused, other) in more {
                    assert_eq!(check(&other).is_err(), refused, "{other:?}");
                }
                let goal = NetParams { loss_goal_per_million: Some(1_000_000), ..params.clone() };
                assert!(check(&goal).is_err(), "no goal, or none of this mode");
            }
        }
    }

    #[test]
    fn the_two_ends_of_a_connection_have_cpus_of_their_own_as_long_as_there_are_enough() {
        for cpus in 1..=5 {
            for row in planned(&NetChoice::default(), cpus, &[1, 2, 3, 4, 5, 10]).unwrap() {
                let params = params_of(&row);
                let crowded = 2 * params.threads.min(cpus) > cpus && params.threads > 1;
                let shared = cpus == 1 || crowded && params.protocol == Protocol::Tcp && params.mode == NetMode::Stream;
                for (ours, theirs) in row.cpus.iter().zip(&row.other_cpus) {
                    assert!(*theirs < cpus && shared == (ours == theirs), "{cpus} CPUs: {row:?}");
                }
            }
        }
        let rows = planned(&NetChoice::default(), 4, &[2]).unwrap();
        assert_eq!((&rows[0].cpus[..], &rows[0].other_cpus[..]), (&[0, 1][..], &[2, 3][..]));
        let both = NetChoice { direction: vec![Direction::Both], ..of_mode(Protocol::Tcp, NetMode::Load) };
        assert_eq!(planned(&both, 8, &[2]).unwrap()[0].cpus, [0, 1, 2, 1, 2]);
        let both = NetChoice { direction: vec![Direction::Both], ..of_mode(Protocol::Tcp, NetMode::Stream) };
        assert_eq!(planned(&both, 8, &[2]).unwrap()[0].cpus, [0, 1, 0, 1]);
    }

    #[test]
    fn another_host_chooses_its_own_cpus_and_the_id_says_that_it_is_one() {
        let mut request = request_of(suite(&NetChoice::default()).unwrap());
        request.peer = Some("far".to_owned());
        for row in plan(&request, &machine_with_cpus(2)).unwrap().rows {
            assert!(row.other_cpus.is_empty() && params_of(&row).path == "far", "{row:?}");
            assert!(row.experiment.id.contains("/peer/") && !row.experiment.id.contains("far"), "{row:?}");
        }
    }

    #[test]
    fn a_loopback_interface_that_is_down_is_one_reason_for_all_and_none_on_the_way_to_a_peer() {
        let mut request = request_of(suite(&NetChoice::default()).unwrap());
        request.no_loopback = Some("lo is down: ip link set lo up".to_owned());
        let found = plan(&request, &machine_with_cpus(2)).unwrap();
        assert_eq!(found.obstacles().len(), 1);
        assert!(found.rows.len() > 1 && found.rows.iter().all(|row| row.obstacle == request.no_loopback));
        request.peer = Some("far".to_owned());
        assert!(plan(&request, &machine_with_cpus(2)).unwrap().rows.iter().all(|row| row.obstacle.is_none()));
    }

    #[test]
    fn what_cannot_be_measured_is_refused_with_what_can() {
        let choose = |protocol, mode, block| NetChoice { block: vec![block], ..of_mode(protocol, mode) };
        for (protocol, mode, block) in [
            (Protocol::Tcp, NetMode::Stream, 0),
            (Protocol::Tcp, NetMode::Stream, (1 << 20) + 1),
            (Protocol::Udp, NetMode::Pingpong, 65_508),
            (Protocol::Udp, NetMode::NoDrop, 63),
            (Protocol::Udp, NetMode::Blast, 65_508),
            (Protocol::Tcp, NetMode::Connect, 2),
            (Protocol::Tcp, NetMode::Pingpong, u64::MAX),
        ] {
            let error = planned(&choose(protocol, mode, block), 2, &[1]).unwrap_err();
            assert!(error.contains("is not possible over") && error.contains("; write "), "{error}");
        }
        for (protocol, mode) in [(Protocol::Udp, NetMode::Stream), (Protocol::Tcp, NetMode::Blast)] {
            let known = planned(&of_mode(protocol, mode), 2, &[1]).unwrap_err();
            assert!(known.contains("stream over tcp") && known.contains("blast over udp"), "{known}");
        }
        for (protocol, mode, block) in [
            (Protocol::Udp, NetMode::Pingpong, 65_507),
            (Protocol::Tcp, NetMode::Pingpong, 14),
            (Protocol::Udp, NetMode::NoDrop, 64),
            (Protocol::Tcp, NetMode::Connect, 1),
        ] {
            let rows = planned(&choose(protocol, mode, block), 2, &[1]).unwrap();
            assert!(!rows.is_empty() && rows.iter().all(|row| params_of(row).block == block), "{rows:?}");
        }
    }

    #[test]
    fn totals_are_done_in_full_only_where_that_is_asked_for_and_a_transfer_always_is() {
        let mut request = request_of(Suite::embedded("classic").unwrap());
        request.areas = vec![Area::Net];
        for exact_workload in [false, true] {
            request.exact_workload = exact_workload;
            let rows = plan(&request, &machine_with_cpus(8)).unwrap().rows;
            for row in &rows {
                let classic = row.experiment.classic.as_ref().expect("a row of the classic tables");
                let transfer = params_of(row).mode == NetMode::Transfer;
                assert_eq!(row.exact_work, classic.total.filter(|_| exact_workload || transfer), "{row:?}");
                assert!(classic.total.is_some_and(|total| total >= 1e6), "{row:?}");
                assert_eq!(classic.table, "net");
            }
            assert!(rows.iter().any(|row| params_of(row).mode == NetMode::Transfer));
            assert!(rows.iter().all(|row| row.obstacle.is_none()), "there is no row that cannot be done");
        }
    }
}
