//! Checks of the rules about two rows that differ in one thing, and of the others of arithmetic, disks and networks.

use model::document::Row;
use model::experiment::{CpuParams, DiskParams, LOOPBACK, MemoryParams, NetParams, Params};
use model::io::{Direction, DiskCache, DiskOp, DiskPattern, DiskSync, NetMode, Segmentation, Wait};
use model::isa::{Element, Pages};

use super::check::{Case, Way, goes, ratio};
use super::facts::{Outcome, alike_but, ensure, maybe, median, metric, names, size, span};
use super::read::says;

fn cpu(row: &Row) -> Option<&CpuParams> {
    if let Params::Cpu(own) = &row.params { Some(own) } else { None }
}

fn memory(row: &Row) -> Option<&MemoryParams> {
    if let Params::Memory(own) = &row.params { Some(own) } else { None }
}

fn disk(row: &Row) -> Option<&DiskParams> {
    if let Params::Disk(own) = &row.params { Some(own) } else { None }
}

fn net(row: &Row) -> Option<&NetParams> {
    if let Params::Net(own) = &row.params { Some(own) } else { None }
}

/// What a field of such a sentence has to be: of the other row, of the row it is set against, or of both.
#[derive(Clone, Copy)]
enum Of {
    Other(&'static str),
    Base(&'static str),
    Ratio(&'static str),
    Less(&'static str),
}

use Of::{Base, Less, Other, Ratio};

/// A rule about two rows: which of them is the other, in what they may differ, which way the figure goes, whose name it
/// begins with, and its fields.
struct Two {
    code: &'static str,
    is_other: fn(&Row) -> bool,
    may_differ: &'static [&'static str],
    goes: (Way, &'static str),
    named: Named,
    fields: &'static [(&'static str, Of)],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    Base,
    Other,
    Neither,
}

const RATE: &str = "throughput";
const TIME: &str = "latency";

#[rustfmt::skip]
const TWO: &[Two] = &[
    Two { code: "page_cache_gain", is_other: |row| disk(row).is_some_and(|own| own.cache != DiskCache::Bypassed),
        may_differ: &["cache", "direct"], goes: (Way::Differs, RATE), named: Named::Base,
        fields: &[("through", Other(RATE)), ("factor", Ratio(RATE)), ("past", Base(RATE))] },
    Two { code: "durability_costs", is_other: |row| disk(row).is_some_and(|own| own.sync != DiskSync::None),
        may_differ: &["sync"], goes: (Way::More, TIME), named: Named::Other,
        fields: &[("durable", Other(TIME)), ("factor", Ratio(TIME)), ("plain", Base(TIME))] },
    Two { code: "durability_is_free", is_other: |row| disk(row).is_some_and(|own| own.sync != DiskSync::None),
        may_differ: &["sync"], goes: (Way::NotMore, TIME), named: Named::Other,
        fields: &[("durable", Other(TIME)), ("plain", Base(TIME))] },
    Two { code: "depth_gain", is_other: |row| disk(row).is_some_and(|own| own.depth > 1),
        may_differ: &["depth"], goes: (Way::More, RATE), named: Named::Base,
        fields: &[("factor", Ratio(RATE)), ("waits", Ratio(TIME))] },
    Two { code: "depth_no_gain", is_other: |row| disk(row).is_some_and(|own| own.depth > 1),
        may_differ: &["depth"], goes: (Way::NotMore, RATE), named: Named::Base,
        fields: &[("factor", Ratio(RATE)), ("waits", Ratio(TIME))] },
    Two { code: "order_matters", is_other: |row| disk(row).is_some_and(|own| own.pattern == DiskPattern::Random),
        may_differ: &["pattern"], goes: (Way::Differs, RATE), named: Named::Other,
        fields: &[("factor", Ratio(RATE)), ("random", Other(RATE)), ("ordered", Base(RATE))] },
    Two { code: "order_does_not_matter", is_other: |row| disk(row).is_some_and(|own| own.pattern == DiskPattern::Random),
        may_differ: &["pattern"], goes: (Way::Alike, RATE), named: Named::Other,
        fields: &[("random", Other(RATE)), ("ordered", Base(RATE))] },
    Two { code: "touched_before_is_faster", is_other: |row| disk(row).is_some_and(|own| matches!(own.op, DiskOp::Reread | DiskOp::Rewrite)),
        may_differ: &["op"], goes: (Way::More, RATE), named: Named::Other,
        fields: &[("again", Other(RATE)), ("factor", Ratio(RATE)), ("fresh", Base(RATE))] },
    Two { code: "directions_differ", is_other: |row| net(row).is_some_and(|own| own.direction == Some(Direction::Down)),
        may_differ: &["direction"], goes: (Way::Differs, RATE), named: Named::Base,
        fields: &[("down", Other(RATE)), ("factor", Ratio(RATE)), ("up", Base(RATE))] },
    Two { code: "both_directions", is_other: |row| net(row).is_some_and(|own| own.direction == Some(Direction::Both)),
        may_differ: &["direction"], goes: (Way::Any, RATE), named: Named::Base,
        fields: &[("both", Other(RATE)), ("factor", Ratio(RATE))] },
    Two { code: "segmentation_gain", is_other: |row| net(row).is_some_and(|own| own.segmentation == Some(Segmentation::Gso)),
        may_differ: &["segmentation"], goes: (Way::More, RATE), named: Named::Other,
        fields: &[("rate", Other(RATE)), ("factor", Ratio(RATE)), ("off", Base(RATE))] },
    Two { code: "zero_copy", is_other: |row| net(row).is_some_and(|own| own.zero_copy == Some(true)),
        may_differ: &["zero_copy"], goes: (Way::Differs, RATE), named: Named::Other,
        fields: &[("rate", Other(RATE)), ("factor", Ratio(RATE)), ("copied", Base(RATE))] },
    Two { code: "udp_against_tcp", is_other: |row| net(row).is_some_and(|own| own.mode == NetMode::NoDrop),
        may_differ: &["protocol", "mode", "block", "zero_copy", "segmentation", "loss_goal_per_million", "path"],
        goes: (Way::Differs, RATE), named: Named::Other,
        fields: &[("rate", Other(RATE)), ("factor", Ratio(RATE)), ("stream_rate", Base(RATE))] },
    Two { code: "sleeping_costs", is_other: |row| net(row).is_some_and(|own| own.wait == Some(Wait::Spinning)),
        may_differ: &["wait"], goes: (Way::Less, TIME), named: Named::Other,
        fields: &[("spinning", Other(TIME)), ("asleep", Base(TIME)), ("cost", Less(TIME))] },
    Two { code: "connection_costs", is_other: |row| net(row).is_some_and(|own| own.mode == NetMode::Connect),
        may_differ: &["mode", "wait"], goes: (Way::More, TIME), named: Named::Neither,
        fields: &[("connect", Other(TIME)), ("factor", Ratio(TIME)), ("trip", Base(TIME))] },
    Two { code: "translation_cost", is_other: |row| memory(row).is_some_and(|own| own.pages == Pages::Huge2M),
        may_differ: &["pages"], goes: (Way::Less, TIME), named: Named::Neither,
        fields: &[("small", Base(TIME)), ("large", Other(TIME)), ("cost", Less(TIME))] },
    Two { code: "narrow_type_slower", is_other: |row| cpu(row).is_some_and(|own| own.element != Element::Fp32),
        may_differ: &["type", "op", "isa"], goes: (Way::Less, RATE), named: Named::Other,
        fields: &[("share", Ratio(RATE))] },
    Two { code: "linpack_padding", is_other: |row| matches!(&row.params, Params::Linpack(own) if own.lda > own.n),
        may_differ: &["lda", "nb"], goes: (Way::Differs, RATE), named: Named::Neither,
        fields: &[("factor", Ratio(RATE))] },
];

pub(super) fn two_rows(case: &Case<'_>) -> Option<Outcome> {
    let rule = TWO.iter().find(|rule| rule.code == case.code)?;
    let check = || -> Outcome {
        let (base, other) = case.pair(rule.is_other)?;
        alike_but(base, other, rule.may_differ)?;
        goes(rule.goes.0, base, other, rule.goes.1)?;
        for (field, of) in rule.fields {
            let value = match of {
                Other(name) => median(other, name)?,
                Base(name) => median(base, name)?,
                Ratio(name) => ratio(base, other, name)?,
                Less(name) => median(base, name)? - median(other, name)?,
            };
            case.is(field, value)?;
        }
        match rule.named {
            Named::Base => case.names(base, true)?,
            Named::Other => case.names(other, true)?,
            Named::Neither => {}
        }
        besides(case, base, other)
    };
    Some(check())
}

/// What else sentences about two rows say.
fn besides(case: &Case<'_>, base: &Row, other: &Row) -> Outcome {
    match (case.code, &base.params, &other.params) {
        ("page_cache_gain", _, Params::Disk(own)) => ensure(own.cache.name() == case.text("state"), "another state"),
        ("depth_gain" | "depth_no_gain", _, Params::Disk(own)) => case.is("depth", f64::from(own.depth)),
        ("connection_costs", _, Params::Net(own)) => ensure(case.text("block") == size(own.block), "another block"),
        ("translation_cost", ..) => ensure(ratio(other, base, TIME)? >= 1.05, "it hardly matters"),
        ("zero_copy", ..) => {
            let spared = other.conditions.net.as_ref().and_then(|seen| seen.zero_copied_share).ok_or("no share")?;
            case.is("share", spared)
        }
        ("udp_against_tcp", ..) => {
            names(case.text("stream"), base, true)?;
            let faster = |row: &Row, mode: NetMode, than: f64| {
                let is = |own: &NetParams| (own.mode, own.threads, own.direction) == (mode, 1, Some(Direction::Up));
                net(row).is_some_and(is) && maybe(row, RATE) > Some(than)
            };
            let (tcp, udp) = (median(base, RATE)?, median(other, RATE)?);
            let beaten = |row: &Row| faster(row, NetMode::Stream, tcp) || faster(row, NetMode::NoDrop, udp);
            ensure(!case.quiet().any(beaten), "not the fastest")
        }
        ("linpack_padding", Params::Linpack(plain), Params::Linpack(padded)) => {
            case.is("n", plain.n as f64)?;
            case.is("from", plain.lda as f64)?;
            case.is("to", padded.lda as f64)
        }
        _ => Ok(()),
    }
}

/// The other rules.
pub(super) fn check(case: &Case<'_>) -> Option<Outcome> {
    Some(match case.code {
        "plain_behind_vector" => plain(case),
        "second_threads" => second_threads(case),
        "block_flat" => block_flat(case),
        "mixed_hinders" | "mixed_overlaps" => mixed(case),
        "load_knee" | "load_flat" => load(case),
        "small_blocks_cost_calls" => small_blocks(case),
        "loop_limits" | "flush_costs" | "disk_steady" => case.only().and_then(|row| one_disk(case, row)),
        _ => return case.area.name().eq("net").then(|| case.only().and_then(|row| one_net(case, row))),
    })
}

fn plain(case: &Case<'_>) -> Outcome {
    let told = case.text("gains").replace(" and ", ", ");
    let told: Vec<&str> = told.split(", ").collect();
    ensure(2 * told.len() == case.rows.len(), "other rows than gains")?;
    for gain in told {
        let (element, factor) = gain.split_once(' ').ok_or("no gain")?;
        let of = |class: &str| {
            let is = |row: &&&Row| {
                row.classic.as_ref().is_some_and(|classic| classic.class.as_deref() == Some(class))
                    && row.params.threads() == 1
                    && cpu(row).is_some_and(|own| own.element.name().to_uppercase() == element)
            };
            case.rows.iter().find(is).copied().ok_or(format!("no {class} row of {element}"))
        };
        let (plain, vector) = (of("plain")?, of("vector")?);
        goes(Way::Differs, plain, vector, RATE)?;
        says(factor, ratio(plain, vector, RATE)?)?;
    }
    Ok(())
}

fn second_threads(case: &Case<'_>) -> Outcome {
    let cores = case.machine.cpu.one_per_core(&case.machine.cpu.available_cpus).len();
    case.is("cores", cores as f64)?;
    let mut gains: Vec<f64> = Vec::new();
    for pair in case.rows.chunks(2) {
        let [one, two] = pair else { return Err("no pairs".to_owned()) };
        alike_but(one, two, &["threads"])?;
        ensure(one.params.threads() as usize == cores && two.params.threads() as usize > cores, "other threads")?;
        gains.push(ratio(one, two, RATE)? - 1.0);
    }
    case.is("least", gains.iter().copied().fold(f64::MAX, f64::min))?;
    case.is("most", gains.iter().copied().fold(f64::MIN, f64::max))
}

fn block_flat(case: &Case<'_>) -> Outcome {
    let of = |row: &Row| disk(row).map_or(0, |own| own.block);
    let blocks = || case.rows.iter().map(|row| of(row));
    ensure(case.text("from") == size(blocks().min().unwrap_or(0)), "another first block")?;
    ensure(case.text("to") == size(blocks().max().unwrap_or(0)), "another last block")?;
    for row in &case.rows {
        alike_but(case.rows[0], row, &["block"])?;
    }
    let told = case.rows.iter().copied().find(|row| size(of(row)) == case.text("block")).ok_or("no such block")?;
    names(case.text("what"), told, true)?;
    case.is("rate", median(told, RATE)?)?;
    let on_device = |row: &Row| {
        let steady = row.conditions.disk.as_ref().is_some_and(|seen| seen.steady_range.is_some());
        disk(row).is_some_and(|own| own.engine.name() != "null") && !steady
    };
    let same = |row: &&Row| {
        on_device(row)
            && alike_but(told, row, &["block"]).is_ok()
            && maybe(row, RATE).is_some()
            && row.classic.is_none()
    };
    let all: Vec<&Row> = case.quiet().filter(same).collect();
    let top = all.iter().copied().max_by(|a, b| maybe(a, RATE).partial_cmp(&maybe(b, RATE)).unwrap()).ok_or("none")?;
    ensure(maybe(top, RATE) == Some(case.highest(RATE)), "not the fastest")?;
    let less = |row: &Row| goes(Way::Less, top, row, RATE).is_ok();
    ensure(!less(told), "it is slower than the fastest")?;
    let known = |row: &Row| metric(row, RATE).is_ok_and(|metric| span(metric).is_ok());
    ensure(!all.iter().any(|row| of(row) < of(told) && known(row) && !less(row)), "a smaller block is as fast")
}

fn mixed(case: &Case<'_>) -> Outcome {
    let of = |op: DiskOp| {
        let is = |row: &&&Row| disk(row).is_some_and(|own| own.op == op);
        case.rows.iter().find(is).copied().ok_or(format!("no {op} row"))
    };
    let (both, read, write) = (of(DiskOp::Mixed)?, of(DiskOp::Read)?, of(DiskOp::Write)?);
    alike_but(both, read, &["op", "sync"])?;
    alike_but(both, write, &["op"])?;
    case.names(both, true)?;
    let harmonic = |read: f64, write: f64| 2.0 * read * write / (read + write);
    let expected = harmonic(median(read, "iops")?, median(write, "iops")?);
    let share = median(both, "iops")? / expected;
    case.is("mixed", median(both, "iops")?)?;
    case.is("expected", expected)?;
    case.is("factor", share)?;
    let [(low, high, _), (a, b, _), (c, d, _)] =
        [span(metric(both, "iops")?)?, span(metric(read, "iops")?)?, span(metric(write, "iops")?)?];
    let holds = if case.code == "mixed_hinders" {
        share < 0.9 && high < harmonic(a, c)
    } else {
        share > 1.0 / 0.9 && low > harmonic(b, d)
    };
    ensure(holds, "no such difference")
}

fn load(case: &Case<'_>) -> Outcome {
    let mut points: Vec<(u32, f64, &Row)> = Vec::new();
    for row in &case.rows {
        alike_but(case.rows[0], row, &["load_percent"])?;
        let p99 = metric(row, TIME)?.summary.percentiles.ok_or("no percentiles")?.p99;
        points.push((disk(row).and_then(|own| own.load_percent).ok_or("no load")?, p99, row));
    }
    points.sort_by_key(|point| point.0);
    let (first, last) = (points[0], points[points.len() - 1]);
    case.names(first.2, true)?;
    case.is("least", first.1)?;
    ensure(case.text("load") == format!("{} %", last.0), "another load")?;
    let on_device = |row: &&Row| {
        let steady = row.conditions.disk.as_ref().is_some_and(|seen| seen.steady_range.is_some());
        disk(row).is_some_and(|own| own.engine.name() != "null") && !steady
    };
    let others = case.quiet().filter(on_device).filter(|row| alike_but(first.2, row, &["load_percent"]).is_ok());
    let others: Vec<(u32, f64)> = others
        .filter_map(|row| Some((disk(row)?.load_percent?, metric(row, TIME).ok()?.summary.percentiles?.p99)))
        .filter(|(_, p99)| p99.is_normal() && *p99 > 0.0)
        .collect();
    ensure(others.iter().all(|(load, _)| *load >= first.0), "not the least load")?;
    if case.code == "load_knee" {
        case.is("knee", last.1)?;
        ensure(case.text("from") == format!("{} %", first.0), "another least load")?;
        ensure(last.1 >= 2.0 * first.1, "it has not doubled")?;
        return ensure(others.iter().all(|(load, p99)| *load >= last.0 || *p99 < 2.0 * first.1), "it doubles before");
    }
    ensure(others.iter().all(|(load, p99)| *load <= last.0 && *p99 < 2.0 * first.1), "it doubles")
}

fn small_blocks(case: &Case<'_>) -> Outcome {
    let block = |row: &Row| net(row).map_or(0, |own| own.block);
    let most = case.rows.iter().map(|row| block(row)).max().unwrap_or(0);
    let (small, large) = case.pair(|row| block(row) == most)?;
    alike_but(small, large, &["block"])?;
    goes(Way::Less, small, large, "cpu_cost")?;
    case.names(small, true)?;
    ensure(case.text("block") == size(most), "another block")?;
    let (dear, cheap) = (median(small, "cpu_cost")?, median(large, "cpu_cost")?);
    case.is("dear", 1e9 * dear)?;
    case.is("cheap", 1e9 * cheap)?;
    // Two blocks of seconds a + b x bytes each: a, by elimination.
    let (few, many) = (block(small) as f64, most as f64);
    case.is("calls", (dear * few * many - cheap * many * few) / (many - few))
}

fn one_disk(case: &Case<'_>, row: &Row) -> Outcome {
    let seen = row.conditions.disk.as_ref().ok_or("no conditions")?;
    case.names(row, true)?;
    match case.code {
        "loop_limits" => {
            let own = seen.loop_iops.ok_or("no loop")? * f64::from(row.params.threads());
            case.is("own", own / f64::from(row.params.threads()))?;
            ensure(span(metric(row, "iops")?)?.0 > 0.8 * own, "the loop is not the limit")?;
            case.is("share", median(row, "iops")? / own)
        }
        "flush_costs" => {
            let flushed = seen.flushed_bytes_per_second.ok_or("no flush")?;
            case.is("flushed", flushed)?;
            case.is("rate", median(row, RATE)?)?;
            ensure(flushed < span(metric(row, RATE)?)?.0 && flushed < 0.95 * median(row, RATE)?, "it costs nothing")?;
            case.is("share", flushed / median(row, RATE)?)
        }
        _ => {
            case.is("rounds", f64::from(seen.steady_rounds.ok_or("never steady")?))?;
            let steady = seen.steady_iops.ok_or("never steady")?;
            case.is("rate", steady)?;
            case.is("share", steady / metric(row, "iops")?.samples.first().ok_or("no rounds")?.value)
        }
    }
}

/// The share of a core, or of the time, that held a stream back.
fn held_back(case: &Case<'_>, row: &Row) -> Result<f64, String> {
    let seen = row.conditions.net.as_ref().ok_or("no conditions")?;
    let seconds: f64 = metric(row, RATE)?.samples.iter().map(|sample| sample.seconds).sum();
    let of_time = |waited: fn(&model::document::TcpConditions) -> Option<f64>| {
        let tcp = seen.tcp.as_ref()?;
        Some(waited(tcp)? / tcp.busy_seconds?)
    };
    let threads = f64::from(row.params.threads());
    let (share, least) = match case.code {
        "limited_by_link" => (row.metrics[0].efficiency.map(|known| known.value), 0.9),
        "limited_by_receiver_cpu" => (seen.receiving_cpu_seconds.map(|used| used / seconds / threads), 0.9),
        "limited_by_sender_cpu" => (seen.sending_cpu_seconds.map(|used| used / seconds / threads), 0.9),
        "limited_by_receiver_window" => (of_time(|tcp| tcp.receiver_limited_seconds), 0.5),
        _ => (of_time(|tcp| tcp.buffer_limited_seconds), 0.5),
    };
    share.filter(|share| *share >= least * (1.0 - 1e-9)).ok_or("it holds nothing back".to_owned())
}

fn one_net(case: &Case<'_>, row: &Row) -> Outcome {
    let (seen, own) = (row.conditions.net.as_ref().ok_or("no conditions")?, net(row).ok_or("no network")?);
    case.names(row, true)?;
    match case.code {
        "loopback_is_no_network" => {
            ensure(own.path == LOOPBACK && own.mode == NetMode::Stream, "a network")?;
            let rate = median(row, RATE)?;
            case.is("rate", rate)?;
            let alike = |other: &NetParams| other.path == LOOPBACK && other.mode == NetMode::Stream;
            ensure(
                !case.quiet().any(|row| net(row).is_some_and(alike) && maybe(row, RATE) > Some(rate)),
                "not the fastest",
            )?;
            let Some((share, ceiling)) = case.text("copies").split_once(" of two copies' ") else {
                return ensure(case.text("copies").is_empty(), "no copies");
            };
            let copies = seen.two_copy_bytes_per_second.ok_or("no copies")?;
            says(ceiling, copies)?;
            says(share.trim_start_matches(", "), rate / copies)
        }
        "loss_onset" => {
            let goal = match own.loss_goal_per_million.ok_or("no goal")? {
                0 => "no loss".to_owned(),
                few if few < 1000 => format!("a loss of {few} of a million"),
                many => format!("a loss of {:.1} %", f64::from(many) / 1e4),
            };
            ensure(case.text("goal") == goal && own.mode == NetMode::NoDrop, "another goal")?;
            case.is("rate", median(row, RATE)?)
        }
        "blast_loses" => {
            ensure(own.mode == NetMode::Blast && span(metric(row, "loss")?)?.0 > 0.0, "it loses nothing")?;
            case.is("share", median(row, "loss")?)
        }
        "segments_resent" => {
            ensure(own.path != LOOPBACK && span(metric(row, "retransmits")?)?.0 > 0.0, "nothing is sent again")?;
            let seconds = metric(row, RATE)?.samples.first().ok_or("no samples")?.seconds;
            case.is("count", median(row, "retransmits")? * 1e9 / (median(row, RATE)? * seconds))
        }
        code if code.starts_with("load_delays_") => {
            let idle = seen.idle_latency_seconds.ok_or("no idle latency")?;
            let added = median(row, TIME)? - idle;
            ensure(span(metric(row, TIME)?)?.0 > idle, "no delay")?;
            case.is("latency", median(row, TIME)?)?;
            case.is("added", added)?;
            let holds = match code {
                "load_delays_scheduling" => own.path == LOOPBACK,
                "load_delays_long_queues" => own.path != LOOPBACK && added >= 30e-3,
                "load_delays_queues" => own.path != LOOPBACK && (5e-3..30e-3).contains(&added),
                _ => own.path != LOOPBACK && added < 5e-3,
            };
            ensure(holds, "another delay")
        }
        code if code.starts_with("limited_by_") => {
            ensure(own.threads == 1, "several connections")?;
            case.is("rate", median(row, RATE)?)?;
            case.is("share", held_back(case, row)?)
        }
        _ => Err("nothing checks this rule".to_owned()),
    }
}
