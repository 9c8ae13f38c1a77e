//! EC2: the provider's values for each type, the processor seen inside, and the limits of EBS and the network.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::table::Table;
use crate::source::{Source, Sources};

const COLUMNS: &[&str] = &[
    "name",
    "architecture",
    "vcpus",
    "cores",
    "memory_MiB",
    "processors",
    "sustained_MHz",
    "network_Mbps",
    "network_burst_Mbps",
    "ebs_Mbps",
    "ebs_burst_Mbps",
    "ebs_iops",
    "ebs_burst_iops",
];

type Cells = BTreeMap<String, Vec<String>>;

pub(crate) fn table(sources: &Sources) -> Result<Table, String> {
    let karpenter = sources.open("aws/karpenter-provider-aws", "Apache-2.0", "HEAD")?;
    let vantage = sources.open("vantage-sh/ec2instances.info", "MIT", "HEAD")?;
    // The last commit with contents.
    let guide = sources.open("awsdocs/amazon-ec2-user-guide", "CC-BY-SA-4.0", "e3707c4")?;
    let labels = labels(&karpenter)?;
    let seen: Value = read_json(&vantage, "scraper/aws/ec2/extras/manually_fetched_data.json")?;
    let (volumes, bursts) = (volumes(&guide)?, bursts(&guide)?);
    let families = processors_of_families(&seen);
    let rows = labels.iter().map(|(name, of)| {
        let label = |key: &str| of.get(key).filter(|value| *value != "0").cloned().unwrap_or_default();
        let (network, most) = (label("instance-network-bandwidth"), label("instance-ebs-bandwidth"));
        let inside = seen.get(name);
        let volume = volumes.get(name).filter(|cells| cells[1] == most);
        let volume = |index: usize| volume.map(|cells| cells[index].clone()).unwrap_or_default();
        let cells = vec![
            if label("arch") == "arm64" { "aarch64" } else { "x86_64" }.to_owned(),
            label("instance-cpu"),
            inside.and_then(|inside| cores(inside, &label("instance-cpu"))).unwrap_or_default(),
            label("instance-memory"),
            families.get(family(name)).map(|all| all.iter().cloned().collect::<Vec<_>>().join("|")).unwrap_or_default(),
            label("instance-cpu-sustained-clock-speed-mhz"),
            network.clone(),
            bursts
                .get(name)
                .filter(|(baseline, _)| is_same(*baseline, &network))
                .map(|(_, burst)| burst.clone())
                .unwrap_or_default(),
            volume(0),
            most,
            volume(2),
            volume(3),
        ];
        (name.clone(), cells)
    });
    Ok(Table {
        file: "ec2.tsv",
        columns: COLUMNS,
        rows: rows.collect(),
        sources: vec![
            karpenter.header("architecture,vcpus,memory_MiB,sustained_MHz,network_Mbps,ebs_burst_Mbps"),
            vantage.header("cores,processors"),
            guide.header("network_burst_Mbps,ebs_Mbps,ebs_iops,ebs_burst_iops"),
        ],
    })
}

fn read_json(source: &Source, path: &str) -> Result<Value, String> {
    serde_json::from_str(&source.read(path)?).map_err(|error| format!("{path}: {error}"))
}

fn family(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// The labels of every type, without their domain.
fn labels(source: &Source) -> Result<BTreeMap<String, BTreeMap<String, String>>, String> {
    let text = source.read("website/content/en/docs/reference/instance-types.md")?;
    let mut types: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    let mut name = String::new();
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("### ") {
            heading.trim_matches('`').clone_into(&mut name);
        }
        let cells: Vec<&str> = line.trim().trim_matches('|').split('|').collect();
        if let [label, value] = cells[..]
            && let Some((_, label)) = label.split_once(".io/").or_else(|| label.split_once(".k8s.aws/"))
        {
            types.entry(name.clone()).or_default().insert(label.to_owned(), value.to_owned());
        }
    }
    types.retain(|_, labels| labels.contains_key("instance-cpu"));
    Ok(types)
}

/// Physical cores, where as many threads were seen as the provider states.
fn cores(inside: &Value, vcpus: &str) -> Option<String> {
    let cpu = &inside["cpu"];
    if cpu["threads"].as_u64()?.to_string() != vcpus {
        return None;
    }
    let of_nodes =
        inside["numa"]["numa_node_core_counts"].as_array().map(|all| all.iter().filter_map(Value::as_u64).sum());
    let cores = cpu["cores"].as_u64().or(of_nodes)?;
    // A core has at most two threads.
    (cores > 0 && 2 * cores >= cpu["threads"].as_u64()?).then(|| cores.to_string())
}

/// The models seen in each family: one type runs on several.
fn processors_of_families(seen: &Value) -> BTreeMap<&str, BTreeSet<String>> {
    let mut families: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (name, inside) in seen.as_object().into_iter().flatten() {
        if let Some(model) = inside["cpu"]["model"].as_str().and_then(machine::processor_model) {
            families.entry(family(name)).or_default().insert(model);
        }
    }
    families
}

/// Rows of the guide's tables in Markdown: `| m6i\.large \* | 650 | … |`.
fn guide_rows(text: &str) -> impl Iterator<Item = Vec<String>> {
    let cells = |line: &str| -> Vec<String> {
        let plain = line.replace(['\\', '*', '†', '‡', ','], "");
        plain.trim().trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    text.lines().filter(|line| line.starts_with("| ")).map(cells).collect::<Vec<_>>().into_iter()
}

fn is_number(cell: &str) -> bool {
    cell.parse::<f64>().is_ok()
}

/// Baseline and maximum Mbit/s, baseline and maximum requests of 16 KiB/s. Without a burst both are the same.
fn volumes(guide: &Source) -> Result<Cells, String> {
    let text = guide.read("doc_source/ebs-optimized.md")?;
    let rows = guide_rows(&text).filter_map(|cells| match &cells[..] {
        [name, low, high, _, _, few, many] if is_number(low) => {
            Some((name.clone(), vec![low.clone(), high.clone(), few.clone(), many.clone()]))
        }
        [name, rate, _, requests] if is_number(rate) && is_number(requests) => {
            Some((name.clone(), vec![rate.clone(), rate.clone(), requests.clone(), requests.clone()]))
        }
        _ => None,
    });
    Ok(rows.collect())
}

fn bursts(guide: &Source) -> Result<BTreeMap<String, (f64, String)>, String> {
    let mut found = BTreeMap::new();
    for group in
        ["accelerated-computing", "compute-optimized", "general-purpose", "memory-optimized", "storage-optimized"]
    {
        let text = guide.read(&format!("doc_source/{group}-instances.md"))?;
        let tables = text.split("| Instance type | Baseline bandwidth").skip(1);
        // The table ends at the first empty line.
        let tables = tables.map(|table| table.split("\n\n").next().unwrap_or(table));
        for cells in tables.flat_map(guide_rows) {
            if let [name, baseline, burst] = &cells[..]
                && let (Ok(baseline), Ok(burst)) = (baseline.parse::<f64>(), burst.parse::<f64>())
            {
                found.insert(name.clone(), (baseline * 1e3, format!("{:.0}", burst * 1e3)));
            }
        }
    }
    Ok(found)
}

/// Within 2 %: the guide rounds.
fn is_same(megabits: f64, cell: &str) -> bool {
    cell.parse::<f64>().is_ok_and(|other| (megabits - other).abs() <= 0.02 * other)
}
