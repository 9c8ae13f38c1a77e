//! GCE: processor platforms with their clocks and the network of each machine type, from statements of SQL.

use std::collections::{BTreeMap, BTreeSet};

use super::table::Table;
use crate::source::Sources;

const COLUMNS: &[&str] = &["name", "vcpus", "platforms_base/all_core/boost_MHz", "network_Gbps", "network_tier1_Gbps"];

/// `UPDATE instances SET set WHERE conditions`: a row that fits gets the values.
struct Statement {
    set: BTreeMap<String, String>,
    conditions: Vec<(String, String)>,
    /// Else all conditions must hold.
    any: bool,
}

pub(crate) fn table(sources: &Sources) -> Result<Table, String> {
    let source = sources.open("Cyclenerd/google-cloud-compute-machine-types", "Apache-2.0", "HEAD")?;
    let mut statements = Vec::new();
    for path in source
        .files("instances/series")?
        .iter()
        .filter(|path| path.strip_suffix(".sql").is_some() && path.split('/').count() == 3)
    {
        statements.extend(parse(&source.read(path)?));
    }
    let clocks = parse(&source.read("instances/series/cpu/frequency.sql")?);
    let mut names: BTreeSet<String> = source.read("instances/series/cpu/coremark.csv")?.lines().map(first).collect();
    for path in ["instances/series/sap/sap.sql", "instances/series/sap/hana.sql"] {
        names.extend(named(&parse(&source.read(path)?)));
    }
    names.extend(named(&statements));
    // No list has every type: one row for each number of CPUs of a series.
    let patterns = statements.iter().flat_map(|one| &one.conditions).map(|(_, pattern)| pattern);
    names.extend(patterns.filter_map(|pattern| any_class(pattern)));
    let rows = names.iter().filter_map(|name| Some((name.clone(), row(name, &statements, &clocks)?)));
    Ok(Table {
        file: "gce.tsv",
        columns: COLUMNS,
        rows: rows.collect(),
        sources: vec![source.header("vcpus,platforms_base/all_core/boost_MHz,network_Gbps,network_tier1_Gbps")],
    })
}

fn row(name: &str, statements: &[Statement], clocks: &[Statement]) -> Option<Vec<String>> {
    let mut values = BTreeMap::from([("name".to_owned(), name.replace("-*-", "-standard-"))]);
    statements.iter().for_each(|statement| statement.apply(&mut values));
    let value = |key: &str| values.get(key).cloned().unwrap_or_default();
    let platforms: Vec<String> =
        value("cpuPlatform").split(", ").map(|platform| with_clocks(platform, &value("series"), clocks)).collect();
    // The number after the class; accelerator types count accelerators, and shared types have no number.
    let vcpus = name.split('-').nth(2).filter(|number| number.parse::<u32>().is_ok()).unwrap_or_default();
    (!value("series").is_empty())
        .then(|| vec![vcpus.to_owned(), platforms.join("|"), value("bandwidth"), value("tier1")])
}

fn with_clocks(platform: &str, series: &str, clocks: &[Statement]) -> String {
    let platform_of_row = ("availableCpuPlatform".to_owned(), platform.to_owned());
    let mut values = BTreeMap::from([platform_of_row, ("series".to_owned(), series.to_owned())]);
    clocks.iter().for_each(|statement| statement.apply(&mut values));
    let megahertz = |key: &str| Some(format!("{:.0}", values.get(key)?.parse::<f64>().ok()? * 1e3));
    let known = (megahertz("cpuBaseClock"), megahertz("cpuTurboClock"), megahertz("cpuSingleMaxTurboClock"));
    let (Some(base), Some(all), Some(one)) = known else { return platform.to_owned() };
    format!("{platform} {base}/{all}/{one}")
}

impl Statement {
    fn apply(&self, values: &mut BTreeMap<String, String>) {
        let holds =
            |(field, pattern): &(String, String)| values.get(field).is_some_and(|value| is_like(value, pattern));
        let fits = if self.any { self.conditions.iter().any(holds) } else { self.conditions.iter().all(holds) };
        if fits {
            values.extend(self.set.clone());
        }
    }
}

fn named(statements: &[Statement]) -> Vec<String> {
    let conditions = statements.iter().flat_map(|one| &one.conditions).filter(|(field, _)| field == "name");
    conditions.map(|(_, name)| name.clone()).filter(|name| !name.contains('%')).collect()
}

fn first(line: &str) -> String {
    line.split(';').next().unwrap_or_default().trim().to_owned()
}

/// `c4d-%-8%` is the row `c4d-*-8`.
fn any_class(pattern: &str) -> Option<String> {
    let (series, vcpus) = pattern.split_once("-%-")?;
    let vcpus = vcpus.trim_end_matches('%');
    vcpus.parse::<u32>().ok().map(|vcpus| format!("{series}-*-{vcpus}"))
}

/// SQL's LIKE with `%` alone.
fn is_like(value: &str, pattern: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('%') else { return value == pattern };
    let Some(mut value) = value.strip_prefix(start) else { return false };
    let parts: Vec<&str> = rest.split('%').collect();
    let (last, middle) = parts.split_last().map_or(("", &[][..]), |(last, middle)| (*last, middle));
    for part in middle {
        let Some(at) = value.find(part) else { return false };
        value = &value[at + part.len()..];
    }
    value.ends_with(last)
}

fn parse(text: &str) -> Vec<Statement> {
    let code: String = text.split("/*").map(|part| part.split_once("*/").map_or(part, |(_, code)| code)).collect();
    let of = |statement: &str| {
        let (set, conditions) = statement
            .trim()
            .strip_prefix("UPDATE instances SET")?
            .split_once(" WHERE ")
            .or_else(|| statement.trim().strip_prefix("UPDATE instances SET")?.split_once("\nWHERE "))?;
        // `series = 'c4'`, `name LIKE 'c4-%'`
        let pair = |text: &str, between: &str| {
            let (key, value) = text.split_once(between)?;
            Some((key.trim().to_owned(), value.split('\'').nth(1)?.to_owned()))
        };
        // Values such as `Cascade Lake, Ice Lake` contain commas, so assignments end at `',`.
        let set = set.split("',").filter_map(|one| pair(&format!("{one}'"), "=")).collect();
        let any = conditions.contains(" OR ");
        let conditions = conditions.split(if any { " OR " } else { " AND " });
        let conditions = conditions.filter_map(|one| pair(one, " LIKE ")).collect();
        Some(Statement { set, conditions, any })
    };
    code.split(';').filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_those_of_sql() {
        for (value, pattern) in [("n2-standard-2", "n2-%-2"), ("c4-standard-288", "c4-%-2%"), ("e2-micro", "e2-micro")]
        {
            assert!(is_like(value, pattern), "{value} {pattern}");
        }
        assert!(!is_like("n2-standard-32", "n2-%-2") && !is_like("n2d-standard-2", "n2-%-2"));
        assert!(is_like("Intel Ice Lake", "%Ice Lake%"));
        assert_eq!(any_class("c4d-%-8%").as_deref(), Some("c4d-*-8"));
    }

    #[test]
    fn a_later_statement_wins_and_values_keep_their_commas() {
        let text = "/* a */ UPDATE instances SET\nseries = 'c4',\ncpuPlatform = 'A, B'\nWHERE name LIKE 'c4-%';
            UPDATE instances SET bandwidth = '10' WHERE name LIKE 'c4-%-2%';
            UPDATE instances SET bandwidth = '32', tier1 = '50' WHERE name LIKE 'c4-%-24';";
        let row = row("c4-standard-24", &parse(text), &[]).unwrap();
        assert_eq!(row, ["24", "A|B", "32", "50"]);
    }
}
