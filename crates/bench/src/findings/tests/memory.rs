//! Checks of the rules of memory and of LINPACK.

use model::document::Row;
use model::experiment::{MemoryParams, Params};
use model::isa::{Isa, MemoryPattern};
use model::linpack::{LinpackOp, LinpackParams};

use super::check::{Case, Way, goes, ratio};
use super::facts::{Outcome, alike_but, ensure, maybe, median, size};
use super::read::says;

pub(super) fn check(case: &Case<'_>) -> Option<Outcome> {
    Some(match case.code {
        "linpack_ladder" => ladder(case),
        "linpack_share" => case.only().and_then(|row| solution(case, row)),
        "linpack_half" => half(case),
        "linpack_core_type" => core_type(case),
        "memory_levels" => levels(case),
        "cache_sizes_agree" | "cache_size_differs" | "cache_not_seen" => caches(case),
        "load_bends" | "loaded_latency" => loaded(case),
        "parallel_misses" => misses(case),
        "write_allocate" | "wider_vectors" => gains(case),
        "uneven_threads" => uneven(case),
        "remote_memory" => remote(case),
        _ => return None,
    })
}

fn linpack(row: &Row) -> Result<&LinpackParams, String> {
    if let Params::Linpack(own) = &row.params { Ok(own) } else { Err("no LINPACK".to_owned()) }
}

fn memory(row: &Row) -> Result<&MemoryParams, String> {
    if let Params::Memory(own) = &row.params { Ok(own) } else { Err("no memory".to_owned()) }
}

fn multiply_adds(row: &Row) -> Result<f64, String> {
    row.conditions.linpack.as_ref().and_then(|seen| seen.fma_flop_per_second).ok_or("no multiply-adds".to_owned())
}

/// The fastest row of ours with these threads.
fn is_fastest(case: &Case<'_>, row: &Row) -> Outcome {
    let own = linpack(row)?;
    let same = |other: &&Row| {
        linpack(other).is_ok_and(|other| {
            (other.op, other.engine, other.element, other.threads) == (own.op, own.engine, own.element, own.threads)
        })
    };
    let rate = median(row, "throughput")?;
    ensure(!case.quiet().filter(same).any(|other| maybe(other, "throughput") > Some(rate)), "not the fastest")
}

fn solution(case: &Case<'_>, row: &Row) -> Outcome {
    ensure(linpack(row)?.op == LinpackOp::Lu && linpack(row)?.engine.name() == "own", "no solution of ours")?;
    case.is("threads", f64::from(row.params.threads()))?;
    case.is("n", linpack(row)?.n as f64)?;
    case.is("share", median(row, "throughput")? / multiply_adds(row)?)?;
    if case.fields.contains_key("rate") {
        case.is("rate", median(row, "throughput")?)?;
    }
    is_fastest(case, row)
}

fn ladder(case: &Case<'_>) -> Outcome {
    let (solved, product) = case.pair(|row| linpack(row).is_ok_and(|own| own.op == LinpackOp::Gemm))?;
    solution(case, solved)?;
    is_fastest(case, product)?;
    ensure(product.params.threads() == solved.params.threads(), "other threads")?;
    case.is("product", median(product, "throughput")? / multiply_adds(product)?)?;
    case.is("fma", multiply_adds(product)?)?;
    case.is("of_product", ratio(product, solved, "throughput")?)
}

fn half(case: &Case<'_>) -> Outcome {
    let mut points: Vec<(f64, f64)> = Vec::new();
    for row in &case.rows {
        let own = linpack(row)?;
        ensure(own.op == LinpackOp::Lu, "no solution")?;
        case.is("threads", f64::from(own.threads))?;
        points.push((own.n as f64, median(row, "throughput")?));
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let best = points.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1)).ok_or("no rows")?;
    case.is("best", best.1)?;
    case.is("n", best.0)?;
    is_fastest(case, case.rows.iter().copied().find(|row| maybe(row, "throughput") == Some(best.1)).ok_or("no best")?)?;
    ensure(points[0].1 < best.1 / 2.0, "it begins above half")?;
    let above = points.iter().position(|point| point.1 >= best.1 / 2.0).ok_or("never half")?;
    let ((n, low), (next, high)) = (points[above - 1], points[above]);
    // The two orders around it have none between them.
    let between = |row: &Row| {
        linpack(row).is_ok_and(|own| {
            own.op == LinpackOp::Lu
                && own.engine.name() == "own"
                && own.threads == case.rows[0].params.threads()
                && own.n as f64 > n
                && (own.n as f64) < next
        }) && maybe(row, "throughput").is_some()
    };
    ensure(!case.quiet().any(between), "other orders between")?;
    case.is("half", n + (best.1 / 2.0 - low) / (high - low) * (next - n))
}

fn core_type(case: &Case<'_>) -> Outcome {
    ensure(case.machine.cpu.isa.iter().any(|isa| isa.title() == case.text("isa")), "the machine has no such set")?;
    let kernel = |row: &Row| row.conditions.linpack.as_ref().and_then(|seen| seen.kernel.clone());
    ensure(case.rows.iter().all(|row| kernel(row).as_deref() == Some(case.text("kernel"))), "another library")?;
    ensure(case.rows.iter().all(|row| maybe(row, "throughput").is_some()), "a row without a rate")?;
    let all = case
        .quiet()
        .filter(|row| kernel(row).as_deref() == Some(case.text("kernel")) && maybe(row, "throughput").is_some());
    ensure(all.count() == case.rows.len(), "other rows of that library")?;
    ensure(["Prescott", "Haswell"].iter().any(|core| case.text("kernel").ends_with(core)), "not narrower")
}

/// The curve's points by working set: size and figure.
fn curve(case: &Case<'_>) -> Result<Vec<(u64, f64)>, String> {
    let mut points = Vec::new();
    for row in &case.rows {
        let value = row.metrics.first().map(|metric| metric.summary.median).ok_or("no figure")?;
        points.push((memory(row)?.working_set, value));
        alike_but(case.rows[0], row, &["working_set"])?;
    }
    ensure(points.is_sorted_by_key(|point| point.0), "not by size")?;
    Ok(points)
}

fn middle(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    if values.len() % 2 == 1 { values[half] } else { f64::midpoint(values[half - 1], values[half]) }
}

/// The level stretches of a curve, by their first and last points.
fn stretches(case: &Case<'_>, points: &[(u64, f64)]) -> Result<Vec<(usize, usize)>, String> {
    let chase = memory(case.rows[0])?.pattern == MemoryPattern::Chase;
    let time = |value: f64| if chase { value } else { 1.0 / value };
    let times: Vec<(f64, f64)> = points.iter().map(|(size, value)| (*size as f64, time(*value))).collect();
    let levels = stats::levels(&times).map_err(|_| "no levels".to_owned())?;
    Ok(levels.iter().map(|level| (level.first, level.last)).collect())
}

/// Each level is the median of a stretch that ends, or begins, where it says; and no two levels are the same.
fn levels(case: &Case<'_>) -> Outcome {
    let points = curve(case)?;
    let told: Vec<&str> = case.text("levels").split(", ").collect();
    case.is("count", told.len() as f64)?;
    let chase = memory(case.rows[0])?.pattern == MemoryPattern::Chase;
    let what = if chase { "Latency".to_owned() } else { format!("The {} rate", memory(case.rows[0])?.op) };
    ensure(case.text("what") == what, "another curve")?;
    let stretches = stretches(case, &points)?;
    ensure(stretches.len() == told.len(), "another number of levels")?;
    let mut caches = Caches::of(case);
    for (level, (start, last)) in told.into_iter().zip(stretches) {
        let (level, name) =
            level.split_once(" (").map_or((level, None), |(level, name)| (level, name.strip_suffix(')')));
        let value = match (level.split_once(" up to "), level.split_once(" from ")) {
            (Some((value, end)), _) => (end == size(points[last].0)).then_some(value),
            (_, Some((value, begin))) => (begin == format!("{} on", size(points[start].0))).then_some(value),
            _ => None,
        };
        let value = value.ok_or("no such level")?;
        says(value, middle(&mut points[start..=last].iter().map(|point| point.1).collect::<Vec<_>>()))?;
        let about = (points[start].0 as f64 * points[last].0 as f64).sqrt();
        ensure(caches.serves(name, about, points[last].0), &format!("{name:?} does not serve '{level}'"))?;
        caches.take(name);
    }
    Ok(())
}

/// The caches of the curve's processor that no level has taken yet, the smallest first.
struct Caches {
    left: Vec<(String, u64)>,
    /// The last-level caches together.
    last: u64,
}

impl Caches {
    fn of(case: &Case<'_>) -> Self {
        let cpus = &case.rows[0].conditions.cpus;
        let cpu = cpus.first().copied().unwrap_or(0);
        let own = case.machine.caches.iter().filter(|cache| cache.cpus.contains(&cpu));
        let mut left: Vec<(String, u64)> =
            own.filter_map(|cache| Some((format!("L{}", cache.level), cache.bytes?))).collect();
        left.sort();
        let last = left.last().map_or(0, |cache| cache.1);
        Self { left, last }
    }

    /// Whether a level about this size, up to that, is rightly called so.
    fn serves(&self, name: Option<&str>, about: f64, end: u64) -> bool {
        let smallest = self.left.iter().find(|cache| cache.1 as f64 >= about).map(|cache| cache.0.as_str());
        match name {
            Some("DRAM") => end >= 4 * self.last,
            name => name == smallest,
        }
    }

    fn take(&mut self, name: Option<&str>) {
        if let Some(at) = self.left.iter().position(|cache| Some(cache.0.as_str()) == name) {
            self.left.drain(..=at);
        }
    }
}

fn caches(case: &Case<'_>) -> Outcome {
    let points = curve(case)?;
    let cpu = case.rows[0].conditions.cpus.first().copied().unwrap_or(0);
    let known = |name: &str, bytes: &str| {
        let has = |cache: &&model::machine::Cache| {
            format!("L{}", cache.level) == name && cache.cpus.contains(&cpu) && cache.kind != "instruction"
        };
        let sizes = case.machine.caches.iter().filter(has).filter_map(|cache| cache.bytes);
        let found = sizes.map(|own| says(bytes, own as f64).map(|()| own)).find_map(Result::ok);
        found.ok_or(format!("the machine has no {name} of {bytes}"))
    };
    let guest = case.machine.virtualization.is_some();
    ensure(case.code == "cache_sizes_agree" || case.text("guest").is_empty() != guest, "a guest, or none")?;
    if case.code == "cache_sizes_agree" {
        for cache in case.text("caches").replace(" and ", ", ").split(", ") {
            let (name, bytes) = cache.split_once(" of ").ok_or("no cache")?;
            let bytes = known(name, bytes)? as f64;
            // The curve changes between half of it and four times as much.
            let of = |low: f64, high: f64, most: usize| {
                let within = points.iter().rev().filter(|point| point.0 as f64 > low && point.0 as f64 <= high);
                let mut values: Vec<f64> = within.take(most).map(|point| point.1).collect();
                if values.is_empty() { Err("no points".to_owned()) } else { Ok(middle(&mut values)) }
            };
            let ratio = of(1.5 * bytes, 4.0 * bytes, usize::MAX)? / of(0.0, bytes / 2.0, 3)?;
            ensure(!(0.95..=1.05).contains(&ratio), &format!("nothing changes at the {name}: {ratio}"))?;
        }
        return Ok(());
    }
    let bytes = known(case.text("cache"), case.text("size"))?;
    ensure(points.last().is_some_and(|last| last.0 > bytes), "the curve does not reach it")?;
    if case.code == "cache_size_differs" {
        let ends = stretches(case, &points)?.into_iter().map(|(_, last)| points[last].0);
        let end = ends.into_iter().find(|end| size(*end) == case.text("end")).ok_or("no level ends there")?;
        let share = end as f64 / bytes as f64;
        return ensure(!(0.5..=1.5).contains(&share), "it does not differ");
    }
    Ok(())
}

fn loaded(case: &Case<'_>) -> Outcome {
    let mut points: Vec<(f64, f64, &Row)> = Vec::new();
    for row in &case.rows {
        ensure(memory(row)?.background.is_some(), "nothing beside it")?;
        alike_but(case.rows[0], row, &["background"])?;
        points.push((median(row, "throughput")?, median(row, "latency")?, row));
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    ensure(points.len() > 2, "no curve")?;
    let (first, last) = (points[0], points[points.len() - 1]);
    goes(Way::More, first.2, last.2, "latency")?;
    case.is("most", last.1)?;
    if case.code == "loaded_latency" {
        case.is("least", first.1)?;
        case.is("little", first.0)?;
        return case.is("much", last.0);
    }
    let knee = points[1..points.len() - 1]
        .iter()
        .find(|point| case.is("latency", point.1).is_ok() && case.is("rate", point.0).is_ok());
    let knee = knee.ok_or("no such point")?;
    case.is("share", knee.0 / last.0)?;
    goes(Way::More, knee.2, last.2, "latency")?;
    let below =
        |point: &(f64, f64, &Row)| (point.0 - first.0) / (last.0 - first.0) - (point.1 - first.1) / (last.1 - first.1);
    ensure(below(knee) >= 0.1 && points.iter().all(|point| below(point) <= below(knee)), "it bends elsewhere")
}

fn misses(case: &Case<'_>) -> Outcome {
    let (one, many) = case.pair(|row| memory(row).is_ok_and(|own| own.chains.unwrap_or(1) > 1))?;
    alike_but(one, many, &["chains"])?;
    let (idle, loads) = (median(one, "latency")?, median(many, "throughput")?);
    case.is("latency", idle)?;
    case.is("rate", loads)?;
    case.is("lines", loads * idle)?;
    case.is("bytes", 64.0 * loads)
}

/// Gains by operation, such as `copy 1.80x`.
fn gains(case: &Case<'_>) -> Outcome {
    let past = case.code == "write_allocate";
    let told = case.text("gains").replace(" and ", ", ");
    let told: Vec<&str> = told.split(", ").collect();
    ensure(2 * told.len() == case.rows.len(), "other rows than gains")?;
    for gain in told {
        let (op, factor) = gain.rsplit_once(' ').ok_or("no gain")?;
        let pair = case.rows.chunks(2).map(|pair| (pair[0], pair[1])).find(|(base, _)| {
            memory(base).is_ok_and(|own| own.op.name() == op.replace(" past the cache", "_nt").replace(' ', "_"))
        });
        let (base, other) = pair.ok_or(format!("no rows of {op}"))?;
        case.is("threads", f64::from(base.params.threads()))?;
        ensure(base.params.threads() == other.params.threads(), "other threads")?;
        let (one, two) = (memory(base)?, memory(other)?);
        if past {
            alike_but(base, other, &["op"])?;
            ensure(two.op.name() == format!("{}_nt", one.op), "not past the cache")?;
            goes(Way::More, base, other, "throughput")?;
        } else {
            alike_but(base, other, &["isa"])?;
            ensure((one.isa, two.isa) == (Isa::Avx2, Isa::Avx512), "other vectors")?;
            goes(Way::Differs, base, other, "throughput")?;
        }
        says(factor, ratio(base, other, "throughput")?)?;
    }
    Ok(())
}

fn unevenness(row: &Row) -> Option<f64> {
    let metric = row.metrics.iter().find(|metric| metric.name == "throughput")?;
    let mut ratios: Vec<f64> = Vec::new();
    for sample in &metric.samples {
        let rates: Vec<f64> = sample.per_thread.iter().map(|share| share.work / share.seconds).collect();
        if rates.len() > 1 {
            ratios.push(rates.iter().copied().fold(0.0, f64::max) / rates.iter().copied().fold(f64::MAX, f64::min));
        }
    }
    (ratios.len() >= 3 && ratios.iter().all(|ratio| *ratio >= 1.05)).then(|| middle(&mut ratios))
}

fn uneven(case: &Case<'_>) -> Outcome {
    let row = case.only()?;
    case.names(row, true)?;
    let by = unevenness(row).ok_or("its threads went alike")?;
    ensure(by >= 1.1, "hardly uneven")?;
    case.is("factor", by)
}

fn remote(case: &Case<'_>) -> Outcome {
    let name = if case.text("figure") == "Latency" { "latency" } else { "throughput" };
    let (mut near, mut far) = (Vec::new(), Vec::new());
    for row in &case.rows {
        let nodes = memory(row)?.nodes.clone().ok_or("no nodes")?;
        let (threads, memory) = nodes.split_once('-').ok_or("no nodes")?;
        if threads == memory { &mut near } else { &mut far }.push(median(row, name)?);
    }
    ensure(!near.is_empty() && !far.is_empty(), "nothing to compare")?;
    let (own, other) = (middle(&mut near), middle(&mut far));
    ensure(far[0] > near[near.len() - 1] || near[0] > far[far.len() - 1], "the ranges meet")?;
    case.is("near", own)?;
    case.is("far", other)?;
    case.is("factor", other / own)
}
