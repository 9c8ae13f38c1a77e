//! Machine types of cloud providers: what is sold under a name.

use model::machine::Provider;

use crate::published::table::{Published, Row, Table};

pub(super) const EC2: Table = Table::new(include_str!("../../data/ec2.tsv"));
pub(super) const AZURE: Table = Table::new(include_str!("../../data/azure.tsv"));
pub(super) const GCE: Table = Table::new(include_str!("../../data/gce.tsv"));
const MEBIBYTE: f64 = 1_048_576.0;
const MEGABIT: f64 = 1e6;

/// A machine type with its published values, in base units.
#[derive(Clone, Debug, PartialEq)]
pub struct InstanceType {
    /// The provider.
    pub provider: Provider,
    /// The provider's name.
    pub name: String,
    /// Logical CPUs.
    pub vcpus: Option<Published>,
    /// Physical cores.
    pub cores: Option<Published>,
    /// Memory before what firmware and the kernel reserve, B.
    pub memory_bytes: Option<Published>,
    /// Models seen in machines of its family, as `processor_model` names them; empty where unknown.
    pub processors: Vec<String>,
    /// Processor platforms that it may run on.
    pub platforms: Vec<Platform>,
    /// Clock that the provider states for all cores, Hz.
    pub sustained_hz: Option<Published>,
    /// Network, bit/s.
    pub network_bits_per_second: Rates,
    /// Network with the provider's paid option, bit/s.
    pub network_tier1_bits_per_second: Option<Published>,
    /// All network volumes together, B/s.
    pub disk_bytes_per_second: Rates,
    /// All network volumes together, requests/s: 16 KiB on EC2, not stated on Azure.
    pub disk_requests_per_second: Rates,
}

/// A rate that lasts, and one that is possible for a while or not guaranteed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rates {
    /// What lasts.
    pub sustained: Option<Published>,
    /// The highest.
    pub most: Option<Published>,
}

/// A processor platform with its clocks.
#[derive(Clone, Debug, PartialEq)]
pub struct Platform {
    /// Such as `Ice Lake`, `Milan`.
    pub name: String,
    /// Guaranteed clock, clock of all cores, clock of one core, Hz.
    pub clocks_hz: Option<[f64; 3]>,
}

/// The machine type of this name, of any provider.
pub fn instance_type(name: &str) -> Option<InstanceType> {
    let find = |provider, table: Table, key: &str| Some(typed(provider, &table.find(key).pop()?));
    find(Provider::Ec2, EC2, name)
        .or_else(|| find(Provider::Azure, AZURE, name))
        .or_else(|| find(Provider::Gce, GCE, name))
        .or_else(|| Some(InstanceType { name: name.to_owned(), ..find(Provider::Gce, GCE, &any_class(name)?)? }))
}

/// The lowest guaranteed clock among the server platforms of a microarchitecture, Hz.
pub(crate) fn platform_base(microarchitecture: &str) -> Option<Published> {
    let rows = GCE.rows().map(|row| typed(Provider::Gce, &row));
    let all = rows
        .flat_map(|row| row.platforms)
        .filter(|platform| !microarchitecture.is_empty() && core(&platform.name) == microarchitecture);
    let value = all.filter_map(|platform| Some(platform.clocks_hz?[0])).reduce(f64::min)?;
    let (origin, date) = GCE.first_source()?;
    Some(Published { value, origin, date })
}

/// The microarchitecture of a platform, as discovery names it; empty where that is unknown.
pub(super) fn core(platform: &str) -> &str {
    match platform {
        "Skylake" => "Skylake-SP",
        "Ice Lake" => "Ice Lake-SP",
        "Rome" => "Zen 2",
        "Milan" => "Zen 3",
        "Genoa" => "Zen 4",
        "Turin" => "Zen 5",
        "Ampere Altra" | "Google Axion" => "",
        intel => intel,
    }
}

/// The microarchitectures of a processor of Arm; empty for others, which [`core()`] names.
pub(super) fn arm_cores(platform: &str) -> &'static [&'static str] {
    match platform {
        "AWS Graviton" => &["Cortex-A72"],
        "AWS Graviton2" | "Ampere Altra" => &["Neoverse N1"],
        "AWS Graviton3" => &["Neoverse V1"],
        "AWS Graviton4" => &["Neoverse V2"],
        "AWS Graviton5" => &["Neoverse V3"],
        "Azure Cobalt 100" => &["Neoverse N2"],
        "Google Axion" => &["Neoverse V2", "Neoverse N3"],
        _ => &[],
    }
}

/// The processor of a machine type on Arm, by its family (`aws-graviton-getting-started`, README; Microsoft Learn, sizes
/// Dpsv5, Dpsv6 and Bpsv2).
fn arm_processor(provider: Provider, name: &str) -> Option<&'static str> {
    let family = name.split('.').next().unwrap_or(name);
    match provider {
        Provider::Ec2 => match family {
            "a1" => Some("AWS Graviton"),
            "t4g" | "x2gd" | "g5g" | "i4g" | "im4gn" | "is4gen" => Some("AWS Graviton2"),
            _ => match family.split_once('g')?.0.chars().last()? {
                '6' => Some("AWS Graviton2"),
                '7' => Some("AWS Graviton3"),
                '8' => Some("AWS Graviton4"),
                '9' => Some("AWS Graviton5"),
                _ => None,
            },
        },
        Provider::Azure if name.ends_with("_v6") => Some("Azure Cobalt 100"),
        Provider::Azure if name.ends_with("_v5") || name.ends_with("_v2") => Some("Ampere Altra"),
        _ => None,
    }
}

/// `c4d-standard-8-lssd` is in the row `c4d-*-8`.
fn any_class(name: &str) -> Option<String> {
    let mut parts = name.split('-');
    let (series, class, vcpus) = (parts.next()?, parts.next()?, parts.next()?);
    ["standard", "highmem", "highcpu"].contains(&class).then(|| format!("{series}-*-{vcpus}"))
}

fn typed(provider: Provider, row: &Row) -> InstanceType {
    let list = |column: &str| row.cell(column).into_iter().flat_map(|cell| cell.split('|')).map(str::to_owned);
    let rates = |sustained: &str, most: &str, unit: f64| Rates {
        sustained: row.number(sustained, unit),
        most: row.number(most, unit),
    };
    let of_arm = row.cell("architecture").filter(|name| *name == "aarch64");
    let of_arm = of_arm.and_then(|_| arm_processor(provider, row.name()));
    let of_arm = of_arm.map(|name| Platform { name: name.to_owned(), clocks_hz: None });
    let none = "";
    let (network, bytes, requests) = match provider {
        Provider::Ec2 => (
            rates("network_Mbps", "network_burst_Mbps", MEGABIT),
            rates("ebs_Mbps", "ebs_burst_Mbps", MEGABIT / 8.0),
            rates("ebs_iops", "ebs_burst_iops", 1.0),
        ),
        // A limit that is not guaranteed.
        Provider::Azure => (
            rates(none, "network_Mbps", MEGABIT),
            rates("disk_MBps", "disk_burst_MBps", 1e6),
            rates("disk_iops", "disk_burst_iops", 1.0),
        ),
        Provider::Gce => (rates(none, "network_Gbps", 1e9), Rates::default(), Rates::default()),
    };
    InstanceType {
        provider,
        name: row.name().to_owned(),
        vcpus: row.number("vcpus", 1.0),
        cores: row.number("cores", 1.0),
        memory_bytes: row.number("memory_MiB", MEBIBYTE),
        processors: list("processors").collect(),
        platforms: list("platforms_base/all_core/boost_MHz").map(|cell| platform(&cell)).chain(of_arm).collect(),
        sustained_hz: row.number("sustained_MHz", 1e6),
        network_bits_per_second: network,
        network_tier1_bits_per_second: row.number("network_tier1_Gbps", 1e9),
        disk_bytes_per_second: bytes,
        disk_requests_per_second: requests,
    }
}

/// `Ice Lake 2600/3400/3500`
fn platform(cell: &str) -> Platform {
    let clocks = cell.rsplit_once(' ').and_then(|(name, clocks)| {
        let megahertz: Vec<f64> = clocks.split('/').filter_map(|clock| clock.parse().ok()).collect();
        Some((name, <[f64; 3]>::try_from(megahertz).ok()?.map(|clock| clock * 1e6)))
    });
    match clocks {
        Some((name, clocks)) => Platform { name: name.to_owned(), clocks_hz: Some(clocks) },
        None => Platform { name: cell.to_owned(), clocks_hz: None },
    }
}

/// The known names that are most like an unknown one, the nearest first, at most three.
pub fn nearest_names(name: &str) -> Vec<&'static str> {
    let plain = |name: &str| name.to_ascii_lowercase().trim_start_matches("standard_").to_owned();
    let wanted = plain(name);
    let names = [EC2, AZURE, GCE].into_iter().flat_map(Table::names).filter(|name| !name.contains('*'));
    let mut near: Vec<(usize, &str)> = names.map(|name| (distance(&wanted, &plain(name)), name)).collect();
    near.sort_unstable();
    near.truncate(3);
    near.retain(|(distance, _)| *distance <= wanted.len() / 2);
    near.into_iter().map(|(_, name)| name).collect()
}

/// Letters to insert, delete or replace (Levenshtein).
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (above, a) in one.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = above + 1;
        for (index, b) in other.bytes().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[index + 1];
            row[index + 1] = replaced.min(diagonal + 1).min(row[index] + 1);
        }
    }
    row[other.len()]
}
