//! What rows say, read without any help of the rules: medians, spans, names, and in what two rows differ.

use std::collections::BTreeSet;

use model::document::{Row, Status};
use model::experiment::Params;
use model::io::{DiskCache, DiskOp, DiskPattern, Protocol};
use model::isa::MemoryPattern;
use model::sample::Metric;
use model::unit::format_size;
use model::warning::Grade;

pub(super) type Outcome = Result<(), String>;

pub(super) fn ensure(holds: bool, what: &str) -> Outcome {
    if holds { Ok(()) } else { Err(what.to_owned()) }
}

pub(super) fn is_quiet(row: &Row) -> bool {
    row.status == Status::Ok && matches!(row.grade, Some(Grade::A | Grade::B))
}

pub(super) fn metric<'a>(row: &'a Row, name: &str) -> Result<&'a Metric, String> {
    row.metrics.iter().find(|metric| metric.name == name).ok_or_else(|| format!("{} has no {name}", row.id))
}

pub(super) fn median(row: &Row, name: &str) -> Result<f64, String> {
    let median = metric(row, name)?.summary.median;
    if median.is_finite() && median > 0.0 { Ok(median) } else { Err(format!("{} has no usable {name}", row.id)) }
}

/// What a row is sorted into tables by: its median where it has one.
pub(super) fn maybe(row: &Row, name: &str) -> Option<f64> {
    median(row, name).ok().filter(|value| (1e-11..=1e18).contains(value))
}

/// Low and high end, and whether it is an interval of six samples or more.
pub(super) fn span(metric: &Metric) -> Result<(f64, f64, bool), String> {
    let summary = &metric.summary;
    let (low, high, counted) = match summary.ci95 {
        Some([low, high]) => (low, high, true),
        None if summary.n >= 3 => (summary.min, summary.max, false),
        None => return Err(format!("{} samples of {} prove nothing", summary.n, metric.name)),
    };
    ensure(low > 0.0 && low <= summary.median && summary.median <= high, "a span that does not hold its median")?;
    Ok((low, high, counted))
}

/// How the second figure is beside the first: -1 less, 1 more, 0 alike, 2 not known.
pub(super) fn beside(first: &Metric, second: &Metric) -> Result<i32, String> {
    let ((a, b, counted_a), (c, d, counted_b)) = (span(first)?, span(second)?);
    let ratio = second.summary.median / first.summary.median;
    let far = if counted_a && counted_b { 1.02 } else { 1.1 };
    Ok(if c > b && ratio >= far {
        1
    } else if d < a && ratio <= 1.0 / far {
        -1
    } else if b.max(d) <= 1.1 * a.min(c) {
        0
    } else {
        2
    })
}

/// The parameters in which two rows differ.
pub(super) fn differences(a: &Row, b: &Row) -> BTreeSet<String> {
    let [a, b] = [a, b].map(|row| match serde_json::to_value(&row.params) {
        Ok(serde_json::Value::Object(map)) => map,
        _ => serde_json::Map::new(),
    });
    a.keys().chain(b.keys()).filter(|key| a.get(*key) != b.get(*key)).cloned().collect()
}

pub(super) fn alike_but(a: &Row, b: &Row, allowed: &[&str]) -> Outcome {
    let found = differences(a, b);
    let others: Vec<&String> =
        found.iter().filter(|key| !allowed.contains(&key.as_str()) && *key != "level" && *key != "engine").collect();
    ensure(others.is_empty(), &format!("{} and {} differ in {others:?} besides", a.id, b.id))
}

pub(super) fn size(bytes: u64) -> String {
    let text = format_size(bytes);
    let digits = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    format!("{} {}", &text[..digits], &text[digits..])
}

/// Whether a name tells what this row does: no figure in it that is not the row's, and the words that set rows apart.
pub(super) fn names(name: &str, row: &Row, with_threads: bool) -> Outcome {
    let threads = row.params.threads();
    let mut own: Vec<String> = Vec::new();
    if with_threads && threads > 1 {
        own.extend(["threads", "connections"].map(|word| format!("{threads} {word}")));
    }
    let mut words: Vec<(&str, bool)> = Vec::new();
    match &row.params {
        Params::Cpu(params) => {
            ensure(name.contains(&params.element.name().to_uppercase()), "another type")?;
            own.extend([params.element.name().to_uppercase(), params.isa.title().to_owned()]);
        }
        Params::Linpack(params) => {
            ensure(name.contains(&format!("(N = {})", params.n)), "another order")?;
            own.extend([format!("(N = {})", params.n), params.element.name().to_owned()]);
        }
        Params::Memory(params) => {
            own.extend(params.block.map(size));
            own.push(size(params.working_set));
            own.push(params.isa.title().to_owned());
            let chase = params.pattern == MemoryPattern::Chase;
            let op = params.op.name().split('_').next().unwrap_or_default();
            words.extend([
                ("past the cache", params.op.name().ends_with("_nt")),
                ("andom", params.pattern == MemoryPattern::Random),
                (if chase { "loads" } else { op }, true),
                (params.isa.title(), row.id.contains(&format!("/{}/", params.isa))),
            ]);
        }
        Params::Disk(params) => {
            own.extend([size(params.block), format!("depth {}", params.depth)]);
            words.extend([
                ("andom", params.pattern == DiskPattern::Random),
                ("write", matches!(params.op, DiskOp::Write | DiskOp::Rewrite | DiskOp::Mixed)),
                ("reads", !matches!(params.op, DiskOp::Write | DiskOp::Rewrite)),
                ("warm page", params.cache == DiskCache::Warm),
                ("cold page", params.cache == DiskCache::Cold),
                ("depth", params.depth > 1),
            ]);
        }
        Params::Net(params) => {
            own.push(size(params.block));
            words.extend([
                ("TCP", params.protocol == Protocol::Tcp),
                ("UDP", params.protocol == Protocol::Udp),
                (" down", params.direction == Some(model::io::Direction::Down)),
                (" both ways", params.direction == Some(model::io::Direction::Both)),
                ("spinning", params.wait == Some(model::io::Wait::Spinning)),
                ("offload", params.segmentation == Some(model::io::Segmentation::Gso)),
            ]);
        }
        Params::Other(_) => {}
    }
    for (word, belongs) in words {
        let there = name.replace("threads", "").contains(word);
        ensure(there == belongs, &format!("'{name}' and '{word}' for {}", row.id))?;
    }
    own.sort_by_key(|part| std::cmp::Reverse(part.len()));
    let rest = own.iter().fold(name.to_owned(), |rest, part| rest.replacen(part.as_str(), "", 1));
    ensure(!rest.chars().any(|c| c.is_ascii_digit()), &format!("'{name}' is not {}", row.id))
}
