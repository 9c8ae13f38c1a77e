//! Rules of the classic tables: the fewest threads and the smallest block that are as fast as any, and the highest efficiency.

use model::document::{Finding, Row};
use model::number::brief::percent;
use model::number::counted;

use super::estimate::{Estimate, highest};
use super::every::{efficiency, peak_words};
use super::rules::{TABLE_BEST, TABLE_EFFICIENCY, TableSlot};
use super::words::LONGEST;
use crate::grouping::by_key;
use crate::rules::AreaRules;

struct Entry<'a> {
    row: &'a Row,
    slot: TableSlot,
    rate: Option<Estimate>,
}

pub(super) fn findings(quiet: &[&Row], area: &AreaRules) -> Vec<Finding> {
    let entries = quiet.iter().copied().filter_map(|row| {
        let slot = (area.findings.table_slot)(row)?;
        let rate = slot.rate.and_then(|name| Estimate::of_result(row, name));
        Some(Entry { row, slot, rate })
    });
    let tables = by_key(entries, |entry| Some(entry.slot.table));
    let of_table = |(table, entries): &(&str, Vec<Entry<'_>>)| [best(table, entries), efficient(table, entries, area)];
    tables.iter().flat_map(of_table).flatten().collect()
}

/// The fewest threads and then the smallest block of each workload that are as fast as any.
fn best(table: &str, entries: &[Entry<'_>]) -> Option<Finding> {
    let workloads = by_key(entries, |entry| Some(entry.slot.workload.as_str())).into_iter();
    let known = workloads.filter_map(|(workload, own)| Some((workload, best_of(&own)?)));
    let mut answers = by_key(known, |(_, (answer, _))| Some(answer.clone()));
    // As many answers as fit, those of the most workloads first.
    answers.sort_by_key(|(_, workloads)| std::cmp::Reverse(workloads.len()));
    let with = |answers: &[(String, Vec<(&str, (String, [&Row; 2]))>)]| {
        let label = |(answer, workloads): &(String, Vec<(&str, _)>)| {
            let labels: Vec<&str> = workloads.iter().map(|(workload, _)| *workload).collect();
            format!("{answer} ({})", labels.join(", "))
        };
        let texts: Vec<String> = answers.iter().map(label).collect();
        let evidence: Vec<&Row> = answers.iter().flat_map(|(_, own)| own).flat_map(|(_, (_, rows))| *rows).collect();
        TABLE_BEST.finding(&[("table", table.to_owned()), ("best", texts.join("; "))], &evidence)
    };
    let shorter = (1..=answers.len()).rev().filter_map(|count| with(&answers[..count]));
    shorter.into_iter().find(|one| one.text.chars().count() <= LONGEST).or_else(|| with(answers.get(..1)?))
}

/// `2 threads and 8 MiB`, with that result and the fastest; `None` if there is no choice.
fn best_of<'a>(entries: &[&Entry<'a>]) -> Option<(String, [&'a Row; 2])> {
    let known = entries.iter().filter_map(|entry| Some((entry.rate.filter(|rate| rate.span.is_some())?, *entry)));
    let known: Vec<(Estimate, &Entry<'a>)> = known.collect();
    let (top, fastest) = highest(known.iter().copied())?;
    let threads = |entry: &Entry<'_>| entry.row.params.threads();
    let by_threads = known.iter().any(|(_, entry)| threads(entry) != threads(known[0].1));
    let by_block = known.iter().any(|(_, entry)| entry.slot.block != known[0].1.slot.block);
    (by_threads || by_block).then_some(())?;
    let enough = known.iter().filter(|(rate, _)| rate.is_as_good_as(top)).map(|(_, entry)| entry);
    let chosen = enough.min_by_key(|entry| (threads(entry), entry.slot.block.as_ref().map(|(size, _)| *size)))?;
    let block = chosen.slot.block.as_ref().filter(|_| by_block).map(|(_, text)| text.clone());
    let words: Vec<String> =
        by_threads.then(|| counted(threads(chosen).into(), "thread")).into_iter().chain(block).collect();
    Some((words.join(" and "), [chosen.row, fastest.row]))
}

fn efficient(table: &str, entries: &[Entry<'_>], area: &AreaRules) -> Option<Finding> {
    let known = entries.iter().filter_map(|entry| {
        let (share, kind) = efficiency(entry.row)?;
        Some((share, (kind, entry.row)))
    });
    let (share, (kind, row)) = highest(known)?;
    let fields = [
        ("table", table.to_owned()),
        ("share", percent(share.median)),
        ("kind", peak_words(kind).0.to_owned()),
        ("what", area.findings.describe_with_threads(row)),
    ];
    TABLE_EFFICIENCY.finding(&fields, &[row])
}
