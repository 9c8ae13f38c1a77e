//! Published STREAM, HPL and drive values of whole machines, each with its conditions.

use super::table::Table;
use crate::source::{AZURE_PAGES, CC_BY, Sources, header};

const COLUMNS: &[&str] = &["subject", "what", "low", "high", "unit", "conditions", "source", "page", "date"];

pub(crate) fn table(sources: &Sources) -> Result<Table, String> {
    let checks = sources.open("Azure/azurehpc-health-checks", "MIT", "HEAD")?;
    let mut rows = std::collections::BTreeMap::new();
    for cells in sources.transcribed("results.tsv")? {
        let mut row = cells[2..].to_vec();
        row[4] = format!("high-performance-compute/{}", row[4]);
        row.insert(4, "1".to_owned());
        rows.insert(cells[..2].join("\t"), row);
    }
    for line in checks.lines("^[^#]*check_cpu_stream +[0-9]+", "conf")? {
        let (path, line) = line.split_once(':').ok_or("a line without a path")?;
        let megabytes = line.rsplit("check_cpu_stream").next().unwrap_or_default().trim();
        let name = path.trim_start_matches("conf/").trim_end_matches(".conf");
        let subject = size_name(name);
        let cells = ["", "B/s", "STREAM; the health check of the provider fails below", "2", path, checks.date()];
        let low = format!("{megabytes}e6");
        let cells = std::iter::once(low).chain(cells.map(str::to_owned)).collect();
        rows.insert(format!("{subject}\tstream_triad_minimum"), cells);
    }
    Ok(Table {
        file: "results.tsv",
        columns: COLUMNS,
        rows,
        sources: vec![
            header(AZURE_PAGES, "-", "-", CC_BY, "low,high,unit,conditions"),
            checks.header("low,high,unit,conditions"),
        ],
    })
}

/// `hb176-144rs_v4` is `Standard_HB176-144rs_v4`.
fn size_name(name: &str) -> String {
    let letters = name.find(|c: char| c.is_ascii_digit()).unwrap_or(0);
    format!("Standard_{}{}", name[..letters].to_ascii_uppercase(), &name[letters..])
}
