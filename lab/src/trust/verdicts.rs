//! Counts of `assay compare` verdicts.

use serde_json::{Value, json};

use crate::record::Keeper;
use crate::record::{Record, distinct};

/// How many verdicts are collected for a share of them.
const WANTED: u64 = 200;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Verdicts {
    pub(super) changed: u64,
    pub(super) same: u64,
    pub(super) inconclusive: u64,
}

impl Verdicts {
    /// Of the rows of a comparison (`assay.compare/1`).
    pub(super) fn of_rows(rows: &[Value]) -> Self {
        let count = |verdict: &str| rows.iter().filter(|row| row["verdict"] == verdict).count() as u64;
        Self { changed: count("changed"), same: count("same"), inconclusive: count("inconclusive") }
    }

    /// Of a line of `lab/data/trust.jsonl`.
    pub(super) fn of_line(line: &Record) -> Self {
        let [changed, same, inconclusive] = ["changed", "same", "inconclusive"].map(|key| line.count(key));
        Self { changed, same, inconclusive }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.changed += other.changed;
        self.same += other.same;
        self.inconclusive += other.inconclusive;
    }

    pub(super) const fn all(self) -> u64 {
        self.changed + self.same + self.inconclusive
    }
}

/// A result for each area of a comparison, and the sum of its verdicts.
fn by_area(part: &str, what: &str, command: &str, comparison: &Value) -> (Vec<Value>, Verdicts) {
    let rows = comparison["experiments"].as_array().map_or(&[][..], Vec::as_slice);
    let area = |row: &Value| row["id"].as_str().and_then(|id| id.split('/').next()).unwrap_or_default().to_owned();
    let results = distinct(rows.iter().map(area)).into_iter().map(|of| {
        let here: Vec<Value> = rows.iter().filter(|row| area(row) == of).cloned().collect();
        let verdicts = Verdicts::of_rows(&here);
        let cycles: Vec<Value> = here.iter().map(|row| row["per_cycle"].clone()).collect();
        let per_cycle = Verdicts::of_rows(&cycles);
        let changed = here
            .iter()
            .filter(|row| row["verdict"] == "changed")
            .map(|row| json!([row["id"], row["ratio"], row["ratio_ci95"], row["threshold"], row["noise_source"]]));
        json!({
            "part": part, "what": what, "area": of, "command": command,
            "changed": verdicts.changed, "same": verdicts.same, "inconclusive": verdicts.inconclusive,
            "per_cycle_changed": per_cycle.changed, "per_cycle_all": per_cycle.all(),
            "changed_rows": changed.collect::<Vec<_>>(),
        })
    });
    (results.collect(), Verdicts::of_rows(rows))
}

/// Keeps the results of comparisons until there are enough verdicts, or after this number of rounds, in case comparisons fail.
/// `compare` gets the number of the round; it returns a comparison and its command.
pub(super) fn collect<'a>(
    keeper: &mut Keeper,
    (part, what): (&str, &str),
    most_rounds: u32,
    mut compare: impl FnMut(u32) -> Option<(Value, &'a str)>,
) -> Result<(), String> {
    let mut total = Verdicts::default();
    for round in 1..=most_rounds {
        let Some((comparison, command)) = compare(round) else { continue };
        let (results, verdicts) = by_area(part, what, command, &comparison);
        results.iter().try_for_each(|result| keeper.keep(result))?;
        total.add(verdicts);
        println!("round {round}: {verdicts:?}; {} verdicts", total.all());
        if total.all() >= WANTED {
            return Ok(());
        }
    }
    Err(format!("{most_rounds} rounds gave {} verdicts instead of {WANTED}", total.all()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_counted_by_area_for_rate_and_operations_per_cycle() {
        let comparison = json!({"experiments": [
            {"id": "cpu/a", "verdict": "changed", "ratio": 1.1, "ratio_ci95": [1.05, 1.2], "per_cycle": {"verdict": "same"}},
            {"id": "cpu/b", "verdict": "same", "per_cycle": null},
            {"id": "net/x", "verdict": "inconclusive"}, {"id": "net/y", "verdict": "same"}]});
        let (results, sum) = by_area("live", "x", "c", &comparison);
        assert_eq!(sum, Verdicts { changed: 1, same: 2, inconclusive: 1 });
        let [cpu, net] = &results[..] else { panic!("two areas: {results:?}") };
        assert_eq!(
            (&cpu["area"], &cpu["per_cycle_changed"], &cpu["per_cycle_all"]),
            (&json!("cpu"), &json!(0), &json!(1))
        );
        assert_eq!(cpu["changed_rows"], json!([["cpu/a", 1.1, [1.05, 1.2], null, null]]));
        let mut twice = Verdicts::of_line(&Record::new(net));
        twice.add(sum);
        assert_eq!((twice.same, twice.all()), (3, 6));
        assert_eq!(by_area("live", "x", "c", &json!({})), (vec![], Verdicts::default()));
    }
}
