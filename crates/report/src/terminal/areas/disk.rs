//! The small tables of disks: what the page cache adds, latency at a load, writes with the flush, halves of mixed rows.

use model::document::{DiskConditions, Row, Status};
use model::experiment::DiskParams;
use model::io::{DiskCache, DiskEngine, DiskLayout, DiskSync};
use model::sample::{MetricName, Percentiles};
use model::unit::Unit;

use super::drawing::{CommonUnit, Drawing, Named, measured_metric, percentiles, values};
use crate::grid::groups::grouped;
use crate::style::Style;
use crate::terminal::notes::Notes;
use crate::terminal::sections::Section;
use areas::disk::label::{cache_column, engine_words, load_words, other_words, params};
use areas::label::{block_words, threads};
use model::number::{percent, quantity, size};

/// Whether a row belongs to a table of its own: an offered load, or a page cache where the same exists without it.
pub(crate) fn is_apart(row: &Row, rows: &[&Row]) -> bool {
    let Some(own) = params(row) else { return false };
    let is_cached = || {
        let common = apart_from_cache(own);
        let is_past_cache = |own: &DiskParams| own.cache == DiskCache::Bypassed && own.engine != DiskEngine::Null;
        let alike =
            |other: &&Row| params(other).is_some_and(|other| is_past_cache(other) && apart_from_cache(other) == common);
        own.cache != DiskCache::Bypassed && rows.iter().any(alike)
    };
    own.load_percent.is_some() || is_cached()
}

/// What two rows have in common that differ in the page cache alone, and in what follows from it.
fn apart_from_cache(params: &DiskParams) -> DiskParams {
    DiskParams { cache: DiskCache::Bypassed, direct: true, engine: DiskEngine::IoUring, ..params.clone() }
}

pub(crate) fn paragraphs(section: &Section<'_>, notes: &Notes<'_>, style: &Style) -> Vec<Vec<String>> {
    let mut rows: Vec<&Row> = section.rows().chain(section.apart.iter().copied()).collect();
    rows.retain(|row| params(row).is_some());
    let draw = Drawing { notes, style };
    [vec![draw.caches(&rows)], draw.loads(&rows), vec![draw.flushes(&rows), draw.halves(&rows)]].concat()
}

/// What a row does, and what is unusual about how, in few words: the table of all rows has the others.
fn words(own: &DiskParams) -> String {
    let mut words = vec![format!("{} {} {}", own.op, own.pattern, block_words(own.block))];
    words.extend(own.load_percent.map(|percent| format!("{percent} % load")));
    words.extend((own.sync != DiskSync::None).then(|| own.sync.to_string()));
    words.join(", ")
}

/// How a row goes past the page cache or through it.
fn cache_words(own: &DiskParams) -> Option<String> {
    (!own.direct).then(|| match own.cache {
        DiskCache::Bypassed => "buffered".to_owned(),
        cache => cache_column(cache).to_owned(),
    })
}

/// How a row reaches its files, in few words too: its engine and the size of its files where another row differs in these
/// alone.
fn ways(own: &DiskParams, others: &[&DiskParams]) -> impl Iterator<Item = String> {
    let files = (own.layout == DiskLayout::PerThread).then(|| "own files".to_owned());
    let alike = |other: &&&DiskParams| {
        **other != own && DiskParams { engine: own.engine, size: own.size, ..(**other).clone() } == *own
    };
    let differs = |of: fn(&DiskParams, &DiskParams) -> bool| others.iter().filter(alike).any(|other| of(other, own));
    let engine = differs(|one, other| one.engine != other.engine).then(|| engine_words(own.engine).to_owned());
    let file = differs(|one, other| one.size != other.size).then(|| format!("{} file", size(own.size)));
    files.into_iter().chain(engine).chain(file)
}

fn named(rows: &[&Row], title: &str, with_cache: bool) -> Named {
    let of: Vec<&DiskParams> = rows.iter().filter_map(|row| params(row)).collect();
    let label = |own: &DiskParams| {
        let cache = cache_words(own).filter(|_| with_cache);
        std::iter::once(words(own)).chain(cache).chain(ways(own, &of)).collect::<Vec<String>>().join(", ")
    };
    let labels = of.iter().map(|own| label(own)).collect();
    let mut named = Named::new(title, labels);
    named.place(of.iter().map(|own| own.depth).collect(), "depth", |depth| format!("depth {depth}"));
    named.place(of.iter().map(|own| own.threads).collect(), "threads", threads);
    named
}

fn conditions(row: &Row) -> Option<&DiskConditions> {
    row.conditions.disk.as_ref().filter(|_| row.status == Status::Ok)
}

impl Drawing<'_> {
    /// The same past the page cache, through a cold one and through a warm one.
    fn caches(&self, rows: &[&Row]) -> Vec<String> {
        let of = |cache: DiskCache, common: &DiskParams| {
            rows.iter().copied().find(|row| {
                params(row).is_some_and(|own| {
                    own.cache == cache && own.engine != DiskEngine::Null && apart_from_cache(own) == *common
                })
            })
        };
        let cached = |row: &&&Row| {
            params(row).is_some_and(|own| own.cache != DiskCache::Bypassed && own.load_percent.is_none())
                && is_apart(row, rows)
        };
        let commons = grouped(rows.iter().filter(cached), |row| params(row).map(apart_from_cache));
        let firsts: Vec<&Row> = commons.iter().filter_map(|(common, _)| of(DiskCache::Bypassed, common)).collect();
        self.titled(&named(&firsts, "Disk, what the page cache adds", false), |spread| {
            let column = |cache: DiskCache| {
                self.measured(cache_column(cache), commons.iter().map(|(common, _)| of(cache, common)), spread)
            };
            DiskCache::ALL.iter().copied().map(column).collect()
        })
    }

    fn loads(&self, rows: &[&Row]) -> Vec<Vec<String>> {
        let unloaded = |own: &DiskParams| DiskParams { load_percent: None, ..own.clone() };
        let loaded = rows.iter().filter_map(|row| params(row)).filter(|own| own.load_percent.is_some());
        let table = |(common, _): (DiskParams, Vec<&DiskParams>)| {
            let mut own: Vec<&Row> =
                rows.iter().copied().filter(|row| params(row).map(unloaded).as_ref() == Some(&common)).collect();
            own.sort_by_key(|row| params(row).map(|own| own.load_percent.unwrap_or(u32::MAX)));
            self.load(&common, &own)
        };
        grouped(loaded, |own| Some(unloaded(own))).into_iter().map(table).collect()
    }

    fn load(&self, common: &DiskParams, rows: &[&Row]) -> Vec<String> {
        let mut what = vec![words(common)];
        what.extend(other_words(common));
        what.extend((common.threads > 1).then(|| threads(common.threads)));
        let (what, each) = (what.join(", "), if common.threads > 1 { " per thread" } else { "" });
        let title = format!("Disk, latency by offered load: {what}, at most {} in flight{each}", common.depth);
        let load = |row: &&Row| {
            let percent = params(row).and_then(|own| own.load_percent);
            percent.map_or_else(|| "without pause".to_owned(), load_words)
        };
        let times = rows.iter().filter_map(|row| percentiles(row)).flat_map(|found| [found.p50, found.p99_9]);
        let times = CommonUnit::of(times, Unit::Second);
        let column = |heading: &str, of: fn(&Percentiles) -> f64| {
            values(heading, rows, |row| percentiles(row).map(|found| times.words(of(&found))))
        };
        self.titled(&Named::new(&title, rows.iter().map(load).collect()), |spread| {
            vec![
                self.measured("rate", rows.iter().copied().map(Some), spread),
                column("p50", |found| found.p50),
                column("p99", |found| found.p99),
                column("p99.9", |found| found.p99_9),
                values("began late", rows, |row| conditions(row)?.late_share.map(percent)),
            ]
        })
    }

    /// Writes as the device took them, and with the flush after each sample counted in.
    fn flushes(&self, rows: &[&Row]) -> Vec<String> {
        let flushed = |row: &Row| conditions(row)?.flushed_bytes_per_second;
        let rows: Vec<&Row> = rows.iter().copied().filter(|row| flushed(row).is_some()).collect();
        let named = named(&rows, "Disk, writes including the flush after each sample", true);
        let without = |row: &Row| measured_metric(row, MetricName::Throughput).map(|metric| metric.summary.median);
        let rate = |value: f64| quantity(value, Unit::BytePerSecond);
        let share = |row: &Row| Some(percent(flushed(row)? / without(row).filter(|rate| *rate > 0.0)?));
        self.titled(&named, |_| {
            vec![
                values("unflushed", &rows, |row| without(row).map(rate)),
                values("flushed", &rows, |row| flushed(row).map(rate)),
                values("share", &rows, share),
            ]
        })
    }

    fn halves(&self, rows: &[&Row]) -> Vec<String> {
        let is_mixed = |row: &Row| conditions(row).is_some_and(|disk| disk.read_share.is_some());
        let rows: Vec<&Row> = rows.iter().copied().filter(|row| is_mixed(row)).collect();
        let named = named(&rows, "Disk, mixed reads and writes: median of each", true);
        let time = |seconds: f64| quantity(seconds, Unit::Second);
        self.titled(&named, |_| {
            vec![
                values("a read", &rows, |row| conditions(row)?.read_latency_seconds.map(time)),
                values("a write", &rows, |row| conditions(row)?.write_latency_seconds.map(time)),
                values("share of reads", &rows, |row| conditions(row)?.read_share.map(percent)),
            ]
        })
    }
}
