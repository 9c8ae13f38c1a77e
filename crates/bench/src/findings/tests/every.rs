//! Checks of the rules of every area.

use std::collections::BTreeSet;

use model::document::Row;
use model::experiment::{Area, Params, id_without_threads};
use model::io::{DiskCache, NetMode};
use model::isa::MemoryPattern;
use model::unit::Better;
use model::warning::{Grade, WARNINGS};

use super::check::{Case, ratio};
use super::facts::{Outcome, beside, ensure, is_quiet, maybe, median, metric, size, span};
use super::read::says;

pub(super) fn check(case: &Case<'_>) -> Option<Outcome> {
    Some(match case.code {
        "disturbed" => disturbed(case),
        "what_to_try" => what_to_try(case),
        "table_best" => table_best(case),
        "table_efficiency" => table_efficiency(case),
        "limit_binds" => limit_binds(case),
        "reference_differs" => reference_differs(case),
        "reference_agrees" => reference_agrees(case),
        "scaling_many" => scaling_many(case),
        code if code.starts_with("scaling_") => scaling(case),
        _ => return None,
    })
}

fn measured<'a>(case: &Case<'a>) -> Vec<&'a Row> {
    let measured = |row: &&Row| row.area == case.area && row.grade.is_some() && row.status.name() == "ok";
    case.all.iter().filter(measured).collect()
}

fn counts(case: &Case<'_>, all: usize) -> Outcome {
    let told = case.text("rows");
    let numbers: Vec<usize> = told.split(' ').filter_map(|word| word.parse().ok()).collect();
    let count = case.rows.len();
    let holds = match (count, all) {
        (1, 1) => told == "the row",
        (2, 2) => told == "both rows" || told == "either row",
        _ if count == all => numbers == [all] && (told.starts_with("all ") || told.starts_with("any of ")),
        _ => numbers == [count, all],
    };
    ensure(holds, &format!("'{told}' is not {count} of {all} rows"))
}

fn names_the_area(case: &Case<'_>) -> Outcome {
    let named = |row: &&Row| case.text("area").to_lowercase().starts_with(row.area.name());
    ensure(case.rows.iter().all(named), "rows of another area")
}

fn disturbed(case: &Case<'_>) -> Outcome {
    let measured = measured(case);
    names_the_area(case)?;
    counts(case, measured.len())?;
    let bad = measured.iter().filter(|row| row.grade == Some(Grade::C)).count();
    ensure(bad == case.rows.len(), "other rows are of grade C as well")?;
    ensure(case.rows.iter().all(|row| row.grade == Some(Grade::C)), "a row that is not disturbed")?;
    let mut sum = 0;
    for cause in case.text("causes").split(", ") {
        let (words, count) = cause.trim_end_matches(')').split_once(" (").ok_or("a cause without a count")?;
        let count: usize = count.parse().map_err(|_| "no count")?;
        sum += count;
        let code = words.replace(' ', "_").replace("CPU", "cpu");
        let with = |row: &&&Row| row.warnings.iter().any(|one| one.code == code && one.grade == Grade::C);
        let known = WARNINGS.iter().any(|rule| rule.code.name() == code);
        ensure(known || words == "grade C" || words == "other causes", "no such cause")?;
        ensure(!known || case.rows.iter().filter(with).count() >= count, "fewer rows have this cause")?;
    }
    ensure(sum == case.rows.len(), "the causes do not add up")
}

fn what_to_try(case: &Case<'_>) -> Outcome {
    let told = case.text("area").replace(" and ", ", ").to_lowercase();
    let named = |area: &&Area| told.split(", ").any(|word| word.starts_with(area.name()));
    let areas: Vec<Area> = Area::ALL.iter().filter(named).copied().collect();
    ensure(told.split(", ").count() == areas.len(), "an area twice, or none")?;
    ensure(areas.first() == Some(&case.area), "it stands with another area")?;
    let is_measured = |row: &&Row| areas.contains(&row.area) && row.grade.is_some() && row.status.name() == "ok";
    counts(case, case.all.iter().filter(is_measured).count())?;
    for area in areas.iter().copied() {
        let with = |code: &str| -> BTreeSet<&str> {
            let costs = |row: &&Row| row.warnings.iter().any(|one| one.code == code && one.grade != Grade::A);
            let measured = case.all.iter().filter(is_measured).filter(|row| row.area == area);
            measured.filter(costs).map(|row| row.id.as_str()).collect()
        };
        let own: BTreeSet<&str> = case.rows.iter().filter(|row| row.area == area).map(|row| row.id.as_str()).collect();
        ensure(!own.is_empty(), "an area that needs no advice")?;
        let advised = WARNINGS
            .iter()
            .any(|rule| rule.advice.trim_end_matches('.') == case.text("advice") && with(rule.code.name()) == own);
        ensure(advised, "this is not the advice of these rows")?;
        ensure(
            WARNINGS.iter().all(|rule| with(rule.code.name()).len() <= own.len()),
            "another advice helps more rows",
        )?;
    }
    Ok(())
}

/// Whether a row stands in a table.
fn is_in(table: &str, row: &Row) -> bool {
    let Some(classic) = &row.classic else { return false };
    match (table, &row.params) {
        ("CPU, vector", Params::Cpu(_)) => classic.class.as_deref() != Some("plain"),
        ("CPU, plain", Params::Cpu(_)) => classic.class.as_deref() == Some("plain"),
        ("LINPACK", Params::Linpack(_)) => true,
        ("Memory latency", Params::Memory(own)) => own.pattern == MemoryPattern::Chase,
        ("Memory throughput", Params::Memory(own)) => own.pattern != MemoryPattern::Chase && own.block.is_some(),
        ("STREAM", Params::Memory(own)) => own.pattern == MemoryPattern::Sequential && own.block.is_none(),
        ("Memory random access", Params::Memory(own)) => {
            !matches!(own.pattern, MemoryPattern::Chase | MemoryPattern::Sequential) && own.block.is_none()
        }
        ("Disk IOPS", Params::Disk(own)) => own.cache == DiskCache::Bypassed && own.block <= 1024,
        ("Disk throughput", Params::Disk(own)) => own.cache == DiskCache::Bypassed && own.block > 1024,
        ("Network rate", Params::Net(own)) => matches!(own.mode, NetMode::Stream | NetMode::NoDrop),
        ("Network latency", Params::Net(own)) => !matches!(own.mode, NetMode::Stream | NetMode::NoDrop),
        _ => false,
    }
}

fn label(row: &Row) -> String {
    let workload = row.classic.as_ref().map_or_else(String::new, |classic| classic.workload.clone());
    match &row.params {
        Params::Cpu(own) => format!("{workload} {}", own.element),
        Params::Memory(own) if own.block.is_none() && own.pattern == MemoryPattern::Sequential => own.op.to_string(),
        _ => workload,
    }
}

fn block(row: &Row) -> u64 {
    match &row.params {
        Params::Memory(own) => own.block.unwrap_or(0),
        Params::Disk(own) => own.block,
        Params::Net(own) => own.block,
        Params::Linpack(own) => own.n,
        _ => 0,
    }
}

/// For each workload: the row told is as good as the fastest, and none with fewer threads or a smaller block is.
fn table_best(case: &Case<'_>) -> Outcome {
    let table = case.text("table");
    let name = if table == "Disk IOPS" { "iops" } else { "throughput" };
    for part in case.text("best").split("; ") {
        let (answer, labels) = part.trim_end_matches(')').split_once(" (").ok_or("an answer without workloads")?;
        for wanted in labels.split(", ") {
            let known = |row: &&Row| {
                is_in(table, row)
                    && label(row) == wanted
                    && maybe(row, name).is_some()
                    && metric(row, name).is_ok_and(|metric| span(metric).is_ok())
            };
            let rows: Vec<&Row> = case.quiet().filter(known).collect();
            let top = rows.iter().copied().max_by(|a, b| maybe(a, name).partial_cmp(&maybe(b, name)).unwrap());
            let top = top.ok_or(format!("no rows of {wanted} in {table}"))?;
            let good = |row: &&&Row| beside(metric(top, name).unwrap(), metric(row, name).unwrap()) != Ok(-1);
            let place = |row: &&&Row| (row.params.threads(), if table == "Disk IOPS" { 0 } else { block(row) });
            let least = rows.iter().filter(good).min_by_key(place).ok_or("none is as good")?;
            ensure(
                case.rows.iter().any(|row| place(&row) == place(&least) && label(row) == wanted),
                "not its evidence",
            )?;
            let words: Vec<String> = match &least.params {
                Params::Linpack(own) => vec![format!("N = {}", own.n)],
                _ => vec![size(block(least))],
            };
            let threads = least.params.threads();
            let own = [format!("{threads} thread{}", if threads == 1 { "" } else { "s" })];
            let fits =
                answer.split(" and ").all(|part| own.contains(&part.to_owned()) || words.contains(&part.to_owned()));
            ensure(fits, &format!("{wanted}: '{answer}' is not {own:?} and {words:?}"))?;
        }
    }
    Ok(())
}

/// The efficiency of the headline, where it can be.
fn share(row: &Row) -> Option<(f64, &'static str)> {
    let first = row.metrics.first()?;
    let value = first.summary.median;
    let known = first.efficiency.filter(|known| known.value > 0.0 && known.value.is_finite())?;
    (is_quiet(row) && (1e-11..=1e18).contains(&value)).then_some((known.value, known.of.name()))
}

fn kind_is(case: &Case<'_>, kind: &str) -> Outcome {
    let words = case.text("kind");
    let holds = match kind {
        "limit" => words == "configured limit",
        "datasheet" => words == "data-sheet peak",
        "measured_ceiling" => words == "measured ceiling",
        "platform_maximum" => words == "platform maximum",
        kind => words == format!("{kind} peak"),
    };
    ensure(holds, &format!("'{words}' for {kind}"))
}

fn table_efficiency(case: &Case<'_>) -> Outcome {
    let row = case.only()?;
    let (value, kind) = share(row).ok_or("no efficiency")?;
    case.is("share", value)?;
    kind_is(case, kind)?;
    case.names(row, true)?;
    ensure(is_in(case.text("table"), row), "not of this table")?;
    let higher =
        case.quiet().filter(|row| is_in(case.text("table"), row)).filter_map(share).any(|(other, _)| other > value);
    ensure(!higher, "another row is more efficient")
}

fn limit_binds(case: &Case<'_>) -> Outcome {
    let (_, kind) = share(case.rows[0]).ok_or("no efficiency")?;
    kind_is(case, kind)?;
    let of_kind = |row: &Row| share(row).filter(|(_, other)| *other == kind);
    counts(case, case.quiet().filter(|row| of_kind(row).is_some()).count())?;
    let mut values: Vec<f64> = Vec::new();
    for row in &case.rows {
        let (value, _) = of_kind(row).ok_or("a row of another kind")?;
        let first = &row.metrics[0];
        let (low, high, _) = span(first)?;
        let worst =
            if first.better == Better::Higher { low / first.summary.median } else { first.summary.median / high };
        ensure(value >= 0.9 && value * worst >= 0.85 * (1.0 - 1e-9), "a row that is not near")?;
        values.push(value);
    }
    names_the_area(case)?;
    let told = case.text("share");
    let (least, most) = told.split_once(" to ").unwrap_or((told, told));
    says(least, values.iter().copied().fold(f64::MAX, f64::min))?;
    says(most, values.iter().copied().fold(0.0, f64::max))
}

/// Ours over a tool's: the ratio and its span.
fn of_tool(row: &Row, tool: &str) -> Option<(f64, f64, f64)> {
    let reference = row.metrics.first()?.references.iter().find(|one| one.tool == tool)?;
    let pairs = || reference.samples.iter().map(|pair| pair.ours / pair.value);
    let (low, high) = match reference.ratio_ci95 {
        Some([low, high]) => (low, high),
        None if reference.samples.len() >= 3 => (pairs().fold(f64::MAX, f64::min), pairs().fold(0.0, f64::max)),
        None => return None,
    };
    let ratio = reference.ratio?;
    (reference.status.name() == "ok" && low > 0.0 && low <= ratio && ratio <= high).then_some((ratio, low, high))
}

fn reference_differs(case: &Case<'_>) -> Outcome {
    let row = case.only()?;
    let tool = case.text("tool");
    case.names(row, true)?;
    let (ratio, low, high) = of_tool(row, tool).ok_or("no such reference")?;
    ensure(low > 1.05 || high < 1.0 / 1.05, "no such difference")?;
    case.is("ratio", ratio)?;
    let reference = row.metrics[0].references.iter().find(|one| one.tool == tool).ok_or("no tool")?;
    let theirs = reference.median.ok_or("no figure")?;
    case.is("theirs", theirs)?;
    case.is("ours", theirs * ratio)?;
    let told = case.text("explanation");
    let known = reference.explanation.as_deref().unwrap_or_default().trim_end_matches('.');
    let rest = told.strip_prefix(": ").and_then(|told| known.strip_prefix(told));
    let whole_clauses = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("; "));
    ensure(told.is_empty() || whole_clauses, "another explanation")
}

fn reference_agrees(case: &Case<'_>) -> Outcome {
    let tool = case.text("tool");
    let known = |row: &&Row| {
        row.metrics.first().is_some_and(|metric| {
            metric.references.iter().any(|one| {
                one.tool == tool
                    && one.status.name() == "ok"
                    && one.ratio.is_some_and(|ratio| (1e-11..=1e18).contains(&ratio))
            })
        })
    };
    counts(case, case.quiet().filter(known).count())?;
    let mut within: f64 = 0.0;
    for row in &case.rows {
        let (ratio, low, high) = of_tool(row, tool).ok_or("no such reference")?;
        ensure(low >= 1.0 / 1.1 && high <= 1.1, "a row that does not agree")?;
        within = within.max((ratio - 1.0).abs());
    }
    case.is("within", within)
}

/// The growth of a pair, its share of the ideal, and the span of that share.
fn growth(first: &Row, last: &Row) -> Result<(f64, f64, [f64; 2]), String> {
    ensure(id_without_threads(&first.id) == id_without_threads(&last.id), "rows of different experiments")?;
    let (few, many) = (first.params.threads(), last.params.threads());
    ensure(few < many, "not from few to many")?;
    let ideal = f64::from(many) / f64::from(few);
    let ((a, b, _), (c, d, _)) = (span(metric(first, "throughput")?)?, span(metric(last, "throughput")?)?);
    let factor = ratio(first, last, "throughput")?;
    Ok((factor, factor / ideal, [c / b / ideal, d / a / ideal]))
}

/// That a growth may be called so.
fn verdict(code: &str, first: &Row, last: &Row) -> Outcome {
    let (_, share, [low, high]) = growth(first, last)?;
    let against = beside(metric(first, "throughput")?, metric(last, "throughput")?)?;
    let holds = match code {
        "scaling_linear" => share >= 0.95 && low >= 0.8,
        "scaling_sublinear" => (0.8..0.95).contains(&share) && high < 0.95 && against == 1,
        "scaling_limited" => share < 0.8 && high < 0.8 && against == 1,
        "scaling_none" => against == 0 || against == -1,
        _ => false,
    };
    ensure(holds, &format!("{code}, but {share} of the ideal, from {low} to {high}"))
}

fn ends(case: &Case<'_>, first: &Row, last: &Row) -> Outcome {
    let (factor, share, _) = growth(first, last)?;
    case.is("factor", factor)?;
    case.is("few", f64::from(first.params.threads()))?;
    case.is("many", f64::from(last.params.threads()))?;
    let unit = if case.area == Area::Net { "connections" } else { "threads" };
    ensure(case.text("many").ends_with(unit), "another unit")?;
    if case.fields.contains_key("share") {
        case.is("share", share)?;
    }
    case.names(first, false)?;
    why(case, first, last)?;
    // None of the series was left out that would change the ends.
    let cores = case.machine.cpu.one_per_core(&case.machine.cpu.available_cpus).len();
    let counts = |row: &&Row| {
        let turns = row.warnings.iter().any(|warning| warning.code == "oversubscribed");
        let beyond = cores > 0 && row.params.threads() as usize > cores && case.area == Area::Cpu;
        id_without_threads(&row.id) == id_without_threads(&first.id)
            && (matches!(case.area, Area::Disk | Area::Net) || !turns)
            && !beyond
    };
    let outside =
        |row: &Row| row.params.threads() < first.params.threads() || row.params.threads() > last.params.threads();
    ensure(!case.quiet().filter(counts).any(outside), "not the fewest and the most")
}

fn why(case: &Case<'_>, first: &Row, last: &Row) -> Outcome {
    let why = case.text("why").trim_start_matches([':', ';', ' ']);
    let warned = |code: &str| last.warnings.iter().any(|warning| warning.code == code);
    if let Some(clocks) = why.strip_prefix("the clock falls from ") {
        let (before, after) = clocks.split_once(" to ").ok_or("no clocks")?;
        let seen = first.conditions.clock_hz.zip(last.conditions.clock_hz).ok_or("no clocks were seen")?;
        ensure(seen.1 < 0.97 * seen.0, "it does not fall")?;
        says(before, seen.0)?;
        return says(after, seen.1);
    }
    if let Some(cores) = why.strip_prefix("the machine has ") {
        let known = case.machine.cpu.one_per_core(&case.machine.cpu.available_cpus).len();
        says(cores.trim_end_matches(" cores").trim_end_matches(" core"), known as f64)?;
        return ensure(last.params.threads() as usize > known, "other cores");
    }
    if let Some(copies) = why.strip_prefix("copies in memory grow ") {
        let seen = |row: &Row| row.conditions.net.as_ref()?.two_copy_bytes_per_second;
        return says(copies, seen(last).zip(seen(first)).map(|(more, one)| more / one).ok_or("no copies")?);
    }
    match why {
        "" => Ok(()),
        "a CPU quota stops them" => ensure(warned("cpu_quota"), "no quota"),
        "others share the virtual CPUs" => ensure(warned("vcpu_shared") || warned("steal"), "no others"),
        "the path to the device is the limit" => ensure(case.area == Area::Disk, "no disk"),
        "the memory that all share is the limit" => {
            let level = |row: &Row| matches!(&row.params, Params::Memory(own) if own.level.as_deref() == Some("dram"));
            ensure(level(first), "a cache, not memory")
        }
        _ => Err(format!("no such reason: {why}")),
    }
}

fn scaling(case: &Case<'_>) -> Outcome {
    let [first, last] = case.rows[..] else { return Err("not two rows".to_owned()) };
    verdict(case.code, first, last)?;
    ends(case, first, last)
}

fn scaling_many(case: &Case<'_>) -> Outcome {
    ensure(case.rows.len().is_multiple_of(2), "no pairs")?;
    let pairs: Vec<(&Row, &Row)> = case.rows.chunks(2).map(|pair| (pair[0], pair[1])).collect();
    case.is("count", pairs.len() as f64)?;
    let (mut linear, mut limited, mut least) = (0, 0, (f64::MAX, pairs[0]));
    for (first, last) in pairs {
        let known = ["linear", "sublinear", "limited", "none"];
        let holds = known.iter().any(|name| verdict(&format!("scaling_{name}"), first, last).is_ok());
        ensure(holds, "a pair that says nothing")?;
        let (_, share, _) = growth(first, last)?;
        linear += i32::from(share >= 0.95);
        limited += i32::from(share < 0.8);
        if share < least.0 {
            least = (share, (first, last));
        }
    }
    let count = |field: &str| match case.text(field).split(' ').next() {
        Some("none") => Some(0),
        count => count.and_then(|count| count.parse::<i32>().ok()),
    };
    ensure(count("linear") == Some(linear) && count("limited") == Some(limited), "other counts")?;
    ensure(case.text("limited").ends_with("below 80 %"), "another bound")?;
    let (first, last) = least.1;
    ends(case, first, last)?;
    median(first, "throughput").map(|_| ())
}
