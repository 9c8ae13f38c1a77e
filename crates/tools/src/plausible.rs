//! Rejects a tool's reading that cannot be, before anything believes it: values out of range, and values that contradict
//! each other. Every adapter's reading passes here.

use model::experiment::{DiskParams, Experiment, NetParams};
use model::io::Protocol;
use model::sample::MetricName;
use serde_json::{Map, Value};

use crate::output::Reading;

/// More than any core loads or stores per second: three 64-byte accesses per cycle at 10 GHz.
const BYTES_PER_SECOND_OF_A_THREAD: f64 = 2e12;
/// More than any core calculates per second: 1024 operations per cycle at 10 GHz.
const OPERATIONS_PER_SECOND_OF_A_THREAD: f64 = 1e13;
/// More than any disk or network interface transfers per second.
const BYTES_PER_SECOND_OF_A_DEVICE: f64 = 1e13;
const REQUESTS_PER_SECOND: f64 = 1e9;
/// Shorter than a cycle, and longer than any run.
const LATENCY_SECONDS: std::ops::Range<f64> = 1e-10..1e5;
/// Tolerated contradiction of values that a tool has rounded, or takes at slightly different times.
const ROUNDING: f64 = 0.05;
/// Repeated datagrams that are counted as arrived, per thread.
const REPEATED_DATAGRAMS: f64 = 16.0;
/// Ascending values of a distribution.
const ASCENDING: &[&str] = &["min", "p50", "p90", "p99", "p99.9", "p99.99", "max"];

/// The reading, if all its values are possible.
pub(crate) fn check(tool: &str, experiment: &Experiment, reading: Reading) -> Result<Reading, String> {
    let impossible = |what: String| format!("{tool} reports an impossible value: {what}");
    value_is_possible(experiment, &reading).map_err(impossible)?;
    numbers_are_positive(&reading.details).map_err(impossible)?;
    latencies_are_in_order(&reading).map_err(impossible)?;
    counts_are_in_range(&reading).map_err(impossible)?;
    let of_disk = experiment.disk().map_or(Ok(()), |params| requests_match(params, &reading));
    let of_net = experiment.net().map_or(Ok(()), |params| bytes_match(params, &reading));
    of_disk.and(of_net).map_err(impossible)?;
    Ok(reading)
}

/// Operations per second of this many threads, or processes with a core each, if they are possible.
pub(crate) fn check_operations(tool: &str, threads: u32, reading: Reading) -> Result<Reading, String> {
    let most = OPERATIONS_PER_SECOND_OF_A_THREAD * f64::from(threads.max(1));
    let value = reading.value;
    if value > 0.0 && value < most {
        return Ok(reading);
    }
    Err(format!("{tool} reports an impossible value: {value} operations per second of {threads} processes"))
}

fn value_is_possible(experiment: &Experiment, reading: &Reading) -> Result<(), String> {
    let (value, threads) = (reading.value, f64::from(experiment.params.threads().max(1)));
    let of_threads = |each: f64| 0.0..each * threads;
    let of_device = experiment.disk().is_some() || experiment.net().is_some();
    let (range, unit) = match reading.metric {
        MetricName::Latency => (LATENCY_SECONDS, "s of latency"),
        MetricName::Iops => (0.0..REQUESTS_PER_SECOND, "requests per second"),
        _ if of_device => (0.0..BYTES_PER_SECOND_OF_A_DEVICE, "B/s"),
        _ if experiment.memory().is_some() => (of_threads(BYTES_PER_SECOND_OF_A_THREAD), "B/s"),
        _ => (of_threads(OPERATIONS_PER_SECOND_OF_A_THREAD), "operations per second"),
    };
    // A NaN is in no range.
    let possible = range.contains(&value) && value > 0.0;
    possible.then_some(()).ok_or_else(|| format!("{value} {unit}"))
}

fn numbers_are_positive(details: &Map<String, Value>) -> Result<(), String> {
    for (key, value) in details {
        match value {
            Value::Object(inner) => numbers_are_positive(inner)?,
            Value::Number(number) if number.as_f64().is_none_or(|number| number < 0.0) => {
                return Err(format!("{number} as {}", key.replace('_', " ")));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Requests take time, and no mean or percentile exceeds the maximum.
fn latencies_are_in_order(reading: &Reading) -> Result<(), String> {
    let of_latency = reading.metric == MetricName::Latency;
    let latencies = reading.details.get("latency").and_then(Value::as_object);
    let Some(latencies) = latencies.or_else(|| of_latency.then_some(&reading.details)) else { return Ok(()) };
    let get = |key: &str| latencies.get(key).and_then(Value::as_f64);
    if let Some(longest) = get("max") {
        if longest <= 0.0 || get("mean").is_some_and(|mean| mean <= 0.0) {
            return Err("requests that took 0 s".to_owned());
        }
        if let Some(mean) = get("mean").filter(|mean| *mean > longest * (1.0 + ROUNDING)) {
            return Err(format!("a mean latency of {mean} s with a maximum of {longest} s"));
        }
    }
    let known: Vec<(&str, f64)> = ASCENDING.iter().filter_map(|key| Some((*key, get(key)?))).collect();
    let descends = known.windows(2).find(|pair| pair[0].1 > pair[1].1 * (1.0 + ROUNDING));
    descends.map_or(Ok(()), |pair| {
        let [(lower, longer), (upper, shorter)] = [pair[0], pair[1]];
        Err(format!("a latency of {longer} s as {lower} and of {shorter} s as {upper}"))
    })
}

fn counts_are_in_range(reading: &Reading) -> Result<(), String> {
    for (part, whole) in [("lost", "datagrams"), ("answers", "requests"), ("dropped", "messages")] {
        let counts = reading.detail(part).zip(reading.detail(whole));
        // Those that were dropped are not among the messages received.
        if let Some((some, all)) = counts.filter(|(some, all)| part != "dropped" && some > all) {
            return Err(format!("{some} {part} of {all} {whole}"));
        }
    }
    let loss = reading.detail("loss").filter(|loss| *loss > 1.0);
    loss.map_or(Ok(()), |loss| Err(format!("a loss of {:.0} %", 100.0 * loss)))
}

/// Requests per second times the block is the throughput, and no more requests are in flight than were asked for.
fn requests_match(params: &DiskParams, reading: &Reading) -> Result<(), String> {
    let Some(rate) = reading.detail("iops") else { return Ok(()) };
    let (most, block) = (f64::from(params.threads) * f64::from(params.depth.max(1)), params.block as f64);
    let seconds = reading.detail("seconds").filter(|seconds| *seconds > 0.0);
    if let Some(throughput) = reading.detail("throughput") {
        // Requests in flight at the start or the end may count in one of the two alone.
        let at_the_ends = seconds.map_or(0.0, |seconds| most * block / seconds);
        if !are_equal(rate * block, throughput) && (rate * block - throughput).abs() > at_the_ends {
            return Err(format!("{rate} requests of {block} B per second with {throughput} B/s"));
        }
    }
    let latency = |key: &str| reading.details.get("latency").and_then(|latency| latency[key].as_f64());
    let Some(mean) = latency("mean") else { return Ok(()) };
    // A request that began before the measured time counts with all of its latency.
    let beyond = seconds.map_or(0.0, |seconds| latency("max").unwrap_or(mean) / seconds);
    if rate * mean > most * (1.0 + beyond) * (1.0 + ROUNDING) {
        return Err(format!("{rate} requests per second of {mean} s each, although at most {most} are in flight"));
    }
    Ok(())
}

/// Bytes are the rate times the time, and over UDP the datagrams that arrived times their size.
fn bytes_match(params: &NetParams, reading: &Reading) -> Result<(), String> {
    let Some(bytes) = reading.detail("bytes") else { return Ok(()) };
    if let Some(seconds) = reading.detail("seconds").filter(|seconds| !are_equal(bytes, reading.value * seconds)) {
        return Err(format!("{bytes} B in {seconds} s with {} B/s", reading.value));
    }
    let (Some(datagrams), Some(lost)) = (reading.detail("datagrams"), reading.detail("lost")) else { return Ok(()) };
    let (arrived, block) = (datagrams - lost, params.block as f64);
    let uncounted = reading.detail("reordered").unwrap_or_default() + REPEATED_DATAGRAMS * f64::from(params.threads);
    let matches = are_equal(arrived * block, bytes) || (arrived - bytes / block).abs() <= uncounted;
    if params.protocol == Protocol::Udp && !matches {
        return Err(format!("{bytes} B in {arrived} datagrams of {block} B"));
    }
    Ok(())
}

fn are_equal(one: f64, other: f64) -> bool {
    (one - other).abs() <= ROUNDING * one.abs().max(other.abs())
}
