//! Azure: CPUs and memory of every size, and the disk and network limits of the sizes whose pages were transcribed.

use std::collections::BTreeMap;

use super::table::Table;
use crate::source::{AZURE_PAGES, CC_BY, Sources, header};

const COLUMNS: &[&str] = &[
    "name",
    "architecture",
    "vcpus",
    "memory_MiB",
    "disk_iops",
    "disk_MBps",
    "disk_burst_iops",
    "disk_burst_MBps",
    "network_Mbps",
    "processors",
    "page",
    "date",
];

pub(crate) fn table(sources: &Sources) -> Result<Table, String> {
    let autoscaler = sources.open("kubernetes/autoscaler", "Apache-2.0", "HEAD")?;
    let text = autoscaler.read("cluster-autoscaler/cloudprovider/azure/azure_instance_types.go")?;
    let mut rows: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for entry in text.split("InstanceType: \"").skip(1) {
        let name = entry.split('"').next().unwrap_or_default();
        let field = |key: &str| -> Option<String> {
            let value = entry.split_once(key)?.1.split(',').next()?;
            Some(value.trim().trim_matches('"').to_owned())
        };
        let architecture = if field("Architecture:").as_deref() == Some("arm64") { "aarch64" } else { "x86_64" };
        let vcpus = constrained(name).map(str::to_owned).or_else(|| field("VCPU:")).unwrap_or_default();
        // The source cuts fractions of 1 GiB off, which matters for small sizes: 3.5 GiB is stated as 3.
        let memory = field("MemoryMb:").filter(|memory| memory.parse::<u64>().is_ok_and(|memory| memory >= 4096));
        let mut cells = vec![architecture.to_owned(), vcpus, memory.unwrap_or_default()];
        cells.resize(COLUMNS.len() - 1, String::new());
        rows.insert(name.to_owned(), cells);
    }
    let mut page = (String::new(), String::new());
    for cells in sources.transcribed("azure-sizes.tsv")? {
        if cells[0] == "page" {
            page = (cells[1].clone(), cells[3].clone());
            continue;
        }
        let cell = |index: usize| cells.get(index).cloned().unwrap_or_default();
        let row = rows.entry(cells[0].clone()).or_insert_with(|| {
            let memory = cell(8).parse::<u64>().map(|gibibytes| (gibibytes * 1024).to_string()).unwrap_or_default();
            let mut row = vec!["x86_64".to_owned(), cell(7), memory];
            row.resize(COLUMNS.len() - 1, String::new());
            row
        });
        row[3..9].clone_from_slice(&(1..7).map(cell).collect::<Vec<_>>());
        row[9..].clone_from_slice(&[page.0.clone(), page.1.clone()]);
    }
    Ok(Table {
        file: "azure.tsv",
        columns: COLUMNS,
        rows,
        sources: vec![
            header(
                AZURE_PAGES,
                "-",
                "-",
                CC_BY,
                "disk_iops,disk_MBps,disk_burst_iops,disk_burst_MBps,network_Mbps,processors",
            ),
            autoscaler.header("architecture,vcpus,memory_MiB"),
        ],
    })
}

/// The CPUs of a size such as `Standard_E8-4s_v5`, which has 4 of the 8 that the source states.
fn constrained(name: &str) -> Option<&str> {
    let (_, rest) = name.split_once('-')?;
    Some(&rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())]).filter(|digits| !digits.is_empty())
}

#[cfg(test)]
mod tests {
    use super::constrained;

    #[test]
    fn a_size_with_fewer_cpus_states_them_in_its_name() {
        assert_eq!(constrained("Standard_E8-4s_v5"), Some("4"));
        assert_eq!(constrained("Standard_HX176-24rs"), Some("24"));
        assert_eq!(constrained("Standard_E8s_v5"), None);
    }
}
