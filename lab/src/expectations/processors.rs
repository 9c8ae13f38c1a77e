//! Processors: cores, base, all-core and highest clock. Two collections that disagree on a model cancel each other.

use std::collections::BTreeMap;

use serde_json::Value;

use super::table::Table;
use crate::source::{AZURE_PAGES, CC_BY, Sources, header};

const COLUMNS: &[&str] = &["model", "cores", "base_MHz", "all_core_MHz", "boost_MHz", "source", "page", "date"];

const ALL: &str = "cores,base_MHz,all_core_MHz,boost_MHz";

#[derive(Clone, Debug, PartialEq)]
struct Clocks {
    cores: u64,
    base: u64,
    boost: Option<u64>,
}

/// `None` where entries of one model disagree.
type Models = BTreeMap<String, Option<Clocks>>;

pub(crate) fn table(sources: &Sources) -> Result<Table, String> {
    let open = sources.open("buildcores/buildcores-open-db", "ODC-By-1.0", "HEAD")?;
    let quattor = sources.open("quattor/template-library-standard", "Apache-2.0", "HEAD")?;
    let (mut with_boost, mut base_only) = (Models::new(), Models::new());
    for path in open.files("open-db/CPU")? {
        let value: Value = serde_json::from_str(&open.read(&path)?).map_err(|error| format!("{path}: {error}"))?;
        if let Some((model, clocks)) = of_open_db(&value) {
            add(&mut with_boost, model, clocks);
        }
    }
    for (model, clocks) in of_quattor(&quattor.lines("^\"(model|speed|cores)\" *=", "hardware/cpu")?) {
        add(&mut base_only, model, clocks);
    }
    let mut rows = BTreeMap::new();
    let cells = |clocks: &Clocks, source: &str| {
        let boost = clocks.boost.map(|hertz| hertz.to_string()).unwrap_or_default();
        let (cores, base) = (clocks.cores.to_string(), clocks.base.to_string());
        vec![cores, base, String::new(), boost, source.to_owned(), String::new(), String::new()]
    };
    for (model, clocks) in &base_only {
        if let Some(clocks) = clocks {
            rows.insert(model.clone(), cells(clocks, "3"));
        }
    }
    let mut refused = 0;
    for (model, clocks) in &with_boost {
        match (clocks, base_only.get(model)) {
            (Some(clocks), other)
                if other.is_none_or(|other| other.as_ref().is_some_and(|other| is_same(clocks, other))) =>
            {
                rows.insert(model.clone(), cells(clocks, "2"));
            }
            _ => {
                rows.remove(model);
                refused += 1;
            }
        }
    }
    println!("processors: {refused} models left out because entries disagree");
    for mut row in sources.transcribed("processors.tsv")? {
        let model = row.remove(0);
        row.insert(4, "1".to_owned());
        row[5] = format!("high-performance-compute/{}", row[5]);
        rows.insert(model, row);
    }
    let pages = header(AZURE_PAGES, "-", "-", CC_BY, ALL);
    let sources = vec![pages, open.header(ALL), quattor.header(ALL)];
    Ok(Table { file: "processors.tsv", columns: COLUMNS, rows, sources })
}

fn add(models: &mut Models, model: String, clocks: Clocks) {
    let same = models.get(&model).is_none_or(|known| known.as_ref() == Some(&clocks));
    models.insert(model, same.then_some(clocks));
}

/// Within 1 %: brand strings round to two digits.
fn is_same(one: &Clocks, other: &Clocks) -> bool {
    one.cores == other.cores && one.base.abs_diff(other.base) * 100 <= one.base
}

fn of_open_db(value: &Value) -> Option<(String, Clocks)> {
    let model = machine::processor_model(value["metadata"]["name"].as_str()?)?;
    let clock = |name: &str| {
        let gigahertz = value["clocks"]["performance"][name].as_f64().filter(|value| (0.5..7.0).contains(value))?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 500 and 7000")]
        Some((gigahertz * 1e3).round() as u64)
    };
    let (cores, base) = (value["cores"]["total"].as_u64().filter(|cores| *cores > 0)?, clock("base")?);
    // Without turbo both are the same, or the second is 0.
    Some((model, Clocks { cores, base, boost: Some(clock("boost").filter(|boost| *boost >= base)?) }))
}

fn of_quattor(lines: &[String]) -> Vec<(String, Clocks)> {
    let mut files: BTreeMap<&str, BTreeMap<&str, &str>> = BTreeMap::new();
    for (path, line) in lines.iter().filter_map(|line| line.split_once(':')) {
        if let Some((key, value)) = line.split_once('=') {
            let value = value.split(';').next().unwrap_or(value).trim().trim_matches('"');
            files.entry(path).or_default().insert(key.trim().trim_matches('"'), value);
        }
    }
    let of = |fields: BTreeMap<&str, &str>| {
        let brand = fields.get("model")?;
        let (base, cores) = (fields.get("speed")?.parse().ok()?, fields.get("cores")?.parse().ok()?);
        // The brand string states the base clock too.
        let stated =
            brand.split_once('@').and_then(|(_, rest)| rest.trim().trim_end_matches("GHz").trim().parse::<f64>().ok());
        let agrees =
            stated.is_none_or(|stated| (stated * 1e3 - f64::from(u32::try_from(base).unwrap_or(0))).abs() <= 10.0);
        let clocks = Clocks { cores, base, boost: None };
        agrees
            .then_some((machine::processor_model(brand)?, clocks))
            .filter(|_| (500..7000).contains(&base) && cores > 0)
    };
    files.into_values().filter_map(of).collect()
}
