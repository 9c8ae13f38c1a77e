use model::machine::Provider;

use super::agreement::{Disagreement, Seen, disagreements};
use super::instances::{self, InstanceType, instance_type, nearest_names};
use super::processors;
use super::results::{self, published_results};
use super::table::{FORMAT, Published, Table, TableError, check};

/// Each file with its least number of rows, and the lowest and highest value of its columns.
const FILES: &[(&str, Table, usize, &[(&str, f64, f64)])] = &[
    (
        "ec2.tsv",
        instances::EC2,
        1000,
        &[
            ("vcpus", 1.0, 2048.0),
            ("cores", 1.0, 1024.0),
            ("memory_MiB", 512.0, 50_331_648.0),
            ("sustained_MHz", 1500.0, 5500.0),
            ("network_Mbps", 30.0, 6_400_000.0),
            ("network_burst_Mbps", 100.0, 400_000.0),
            ("ebs_Mbps", 40.0, 200_000.0),
            ("ebs_burst_Mbps", 400.0, 400_000.0),
            ("ebs_iops", 200.0, 500_000.0),
            ("ebs_burst_iops", 2000.0, 500_000.0),
        ],
    ),
    (
        "azure.tsv",
        instances::AZURE,
        400,
        &[
            ("vcpus", 1.0, 2000.0),
            ("memory_MiB", 4096.0, 34_000_000.0),
            ("disk_iops", 500.0, 1e6),
            ("disk_MBps", 10.0, 20_000.0),
            ("disk_burst_iops", 1000.0, 1e6),
            ("disk_burst_MBps", 100.0, 20_000.0),
            ("network_Mbps", 100.0, 400_000.0),
        ],
    ),
    (
        "gce.tsv",
        instances::GCE,
        200,
        &[("vcpus", 1.0, 512.0), ("network_Gbps", 1.0, 3200.0), ("network_tier1_Gbps", 50.0, 200.0)],
    ),
    (
        "processors.tsv",
        processors::TABLE,
        150,
        &[
            ("cores", 1.0, 288.0),
            ("base_MHz", 500.0, 6000.0),
            ("all_core_MHz", 1000.0, 6000.0),
            ("boost_MHz", 1000.0, 6300.0),
        ],
    ),
    (
        "vector_clocks.tsv",
        processors::VECTORS,
        30,
        &[
            ("avx2_base_MHz", 1000.0, 4000.0),
            ("avx2_all_core_MHz", 1500.0, 4500.0),
            ("avx512_base_MHz", 800.0, 4000.0),
            ("avx512_all_core_MHz", 1000.0, 4500.0),
        ],
    ),
    ("results.tsv", results::TABLE, 30, &[("low", 1e8, 1e14), ("high", 1e8, 1e14)]),
];

#[test]
fn every_table_is_sorted_and_every_value_has_a_source_a_date_and_a_plausible_size() {
    let mut bytes = 0;
    for (file, table, least, columns) in FILES {
        assert_eq!(check(table.text()), Ok(()), "{file}");
        bytes += table.text().len();
        let rows: Vec<_> = table.rows().collect();
        assert!(rows.len() >= *least, "{file}: {} rows", rows.len());
        for row in &rows {
            for (column, low, high) in *columns {
                assert_eq!(
                    row.cell(column).is_some(),
                    row.number(column, 1.0).is_some(),
                    "{file} {} {column}",
                    row.name()
                );
                let Some(published) = row.number(column, 1.0) else { continue };
                assert!(
                    (*low..=*high).contains(&published.value),
                    "{file} {} {column} {}",
                    row.name(),
                    published.value
                );
                assert!(is_date(&published.date) && published.origin.contains('/'), "{file} {published:?}");
            }
            assert!(columns.iter().any(|(column, ..)| row.cell(column).is_some()), "{file} {}", row.name());
        }
    }
    assert!(bytes <= 600_000, "{bytes} B");
}

fn is_date(date: &str) -> bool {
    let parts: Vec<&str> = date.split('-').collect();
    parts.len() == 3 && parts.iter().all(|part| part.parse::<u32>().is_ok()) && ("2020".."2030").contains(&parts[0])
}

#[test]
fn what_lasts_is_no_more_than_what_is_possible_for_a_while() {
    for (table, pairs) in [
        (
            instances::EC2,
            &[("network_Mbps", "network_burst_Mbps"), ("ebs_Mbps", "ebs_burst_Mbps"), ("ebs_iops", "ebs_burst_iops")][..],
        ),
        (instances::AZURE, &[("disk_iops", "disk_burst_iops"), ("disk_MBps", "disk_burst_MBps")]),
        (instances::GCE, &[("network_Gbps", "network_tier1_Gbps")]),
        (processors::TABLE, &[("base_MHz", "boost_MHz"), ("base_MHz", "all_core_MHz"), ("all_core_MHz", "boost_MHz")]),
        (
            processors::VECTORS,
            &[
                ("avx2_base_MHz", "avx2_all_core_MHz"),
                ("avx512_base_MHz", "avx512_all_core_MHz"),
                ("avx512_base_MHz", "avx2_base_MHz"),
                ("avx512_all_core_MHz", "avx2_all_core_MHz"),
            ],
        ),
        (results::TABLE, &[("low", "high")]),
    ] {
        for row in table.rows() {
            for (low, high) in pairs {
                let both = row.number(low, 1.0).zip(row.number(high, 1.0));
                assert!(both.is_none_or(|(low, high)| low.value <= 1.001 * high.value), "{} {low}", row.name());
            }
        }
    }
}

/// No vector clock is above the clock of scalar code, which another source states.
#[test]
fn vectors_lower_the_base_clock_of_every_model() {
    for row in processors::VECTORS.rows() {
        let scalar = processors::processor_clocks(&format!("Intel {}", row.name())).and_then(|clocks| clocks.base_hz);
        let vectors = row.number("avx2_base_MHz", 1e6).unwrap();
        assert!(scalar.unwrap().value > vectors.value, "{}", row.name());
        let page = format!("en.wikichip.org/wiki: {}", row.cell("page").unwrap());
        assert_eq!((vectors.origin, vectors.date.as_str()), (page, "2026-11-28"));
    }
}

#[test]
fn every_name_is_found_and_cores_are_no_more_than_cpus() {
    let names = FILES[..3].iter().flat_map(|(_, table, ..)| table.rows()).map(|row| row.name());
    for name in names {
        let known = instance_type(name).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(known.name, name);
        let value = |published: &Option<Published>| published.as_ref().map(|published| published.value);
        assert!(value(&known.cores).zip(value(&known.vcpus)).is_none_or(|(cores, vcpus)| cores <= vcpus), "{name}");
    }
}

/// Series of GCE, and platforms that have clocks.
#[test]
fn gce_has_its_series_and_their_clocks() {
    let rows: Vec<_> = instances::GCE.rows().map(|row| row.name()).collect();
    let series: std::collections::BTreeSet<_> = rows.iter().filter_map(|name| name.split('-').next()).collect();
    assert!(series.len() >= 25, "{series:?}");
    let known = instance_type("n2-standard-32").unwrap();
    let [cascade, ice] = &known.platforms[..] else { panic!("{known:?}") };
    assert_eq!((cascade.name.as_str(), cascade.clocks_hz), ("Cascade Lake", Some([2.8e9, 3.4e9, 3.9e9])));
    assert_eq!((ice.name.as_str(), ice.clocks_hz), ("Ice Lake", Some([2.6e9, 3.4e9, 3.5e9])));
    let most = |name: &str| instance_type(name).and_then(|known| Some(known.network_bits_per_second.most?.value));
    assert_eq!(
        (most("n2-standard-32"), most("c4d-standard-8"), most("c4d-highmem-384")),
        (Some(32e9), Some(20e9), Some(100e9))
    );
    let tier1 =
        instance_type("c4d-highmem-384-metal").and_then(|known| Some(known.network_tier1_bits_per_second?.value));
    assert_eq!((tier1, most("c4d-standard-7"), most("c4d")), (Some(200e9), None, None));
}

#[test]
fn a_type_has_its_values_each_with_its_own_source() {
    let known = instance_type("m5.large").unwrap();
    let value = |published: Option<Published>| published.map(|published| published.value);
    assert_eq!((known.provider, known.vcpus.clone().unwrap().date.as_str()), (Provider::Ec2, "2026-08-21"));
    assert_eq!(known.memory_bytes.map(|memory| memory.value), Some(8192.0 * 1_048_576.0));
    let disk = known.disk_bytes_per_second;
    assert_eq!(disk.sustained.as_ref().map(|rate| rate.date.as_str()), Some("2023-06-15"));
    assert_eq!((value(disk.sustained), value(disk.most)), (Some(81.25e6), Some(593.75e6)));
    let requests = known.disk_requests_per_second;
    assert_eq!((value(requests.sustained), value(requests.most)), (Some(3600.0), Some(18750.0)));
    assert!(known.processors.contains(&"XEON PLATINUM 8259CL".to_owned()), "{:?}", known.processors);
    let known = instance_type("Standard_D4s_v5").unwrap();
    let requests = known.disk_requests_per_second.most.unwrap();
    assert_eq!((requests.value, requests.date.as_str()), (20_000.0, "2026-02-27"));
    assert!(requests.origin.ends_with("azure-compute-docs: general-purpose/dsv5-series.md"), "{}", requests.origin);
    assert_eq!(known.vcpus.unwrap().origin, "kubernetes/autoscaler");
    let constrained = instance_type("Standard_HB120-16rs_v3").unwrap();
    assert_eq!(value(constrained.vcpus), Some(16.0));
    assert_eq!(instance_type("m5.larg"), None);
    assert_eq!(instance_type(""), None);
}

#[test]
fn unknown_names_have_near_ones() {
    assert_eq!(nearest_names("m7i.2xlage").first(), Some(&"m7i.2xlarge"));
    assert_eq!(nearest_names("D4s_v5").len(), 3);
    assert_eq!(nearest_names("standard_hb176rs_v5").first(), Some(&"Standard_HB176rs_v4"));
    assert_eq!(nearest_names("n2-standard-33").first().map(|name| &name[..13]), Some("n2-standard-3"));
    assert!(nearest_names("").is_empty() && nearest_names("ü").is_empty());
}

#[test]
fn results_have_conditions() {
    let known = published_results("Standard_HB176rs_v4");
    let triad = known.iter().find(|result| result.what == "stream_triad").unwrap();
    let (low, high) = (triad.low.clone().unwrap(), triad.high.clone().unwrap());
    assert_eq!((low.value, high.value, triad.unit.as_str(), low.date.as_str()), (750e9, 780e9, "B/s", "2026-09-25"));
    let least = known.iter().find(|result| result.what == "stream_triad_minimum").unwrap();
    let low = least.low.clone().unwrap();
    assert_eq!((low.value, low.origin.as_str()), (665.5e9, "Azure/azurehpc-health-checks: conf/hb176rs_v4.conf"));
    assert!(results::TABLE.rows().all(|row| row.cell("conditions").is_some() && row.cell("unit").is_some()));
    assert!(results::TABLE.rows().all(|row| instance_type(row.name()).is_some()));
    assert!(published_results("m5.large").is_empty());
}

fn of(name: &str) -> InstanceType {
    instance_type(name).unwrap()
}

#[test]
fn a_machine_that_is_not_its_type_is_found_out() {
    let gibibytes = |count: f64| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a size of memory")]
        Some((count * 1_073_741_824.0) as u64)
    };
    let seen = |vcpus, memory: f64, brand: &str| Seen {
        vcpus: Some(vcpus),
        memory_bytes: gibibytes(memory),
        brand: Some(brand.to_owned()),
        microarchitecture: None,
    };
    let brand = "Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz";
    let kinds = |of: &InstanceType, seen: &Seen| -> Vec<&str> {
        let kind = |one: Disagreement| match one {
            Disagreement::Vcpus { .. } => "vcpus",
            Disagreement::Memory { .. } => "memory",
            Disagreement::Processor { .. } => "processor",
        };
        disagreements(of, seen).into_iter().map(kind).collect()
    };
    let large = of("m5.large");
    assert!(kinds(&large, &seen(2, 7.55, brand)).is_empty());
    assert!(kinds(&large, &seen(2, 7.55, "Intel(R) Xeon(R) Platinum 8175M CPU @ 2.50GHz")).is_empty());
    assert!(kinds(&large, &seen(2, 7.55, "Intel(R) Xeon(R) CPU @ 2.50GHz")).is_empty(), "a hidden model");
    assert!(kinds(&large, &Seen::default()).is_empty(), "nothing is known");
    assert_eq!(kinds(&large, &seen(4, 7.55, brand)), ["vcpus"]);
    assert_eq!(kinds(&large, &seen(2, 3.8, brand)), ["memory"]);
    assert_eq!(kinds(&large, &seen(2, 15.4, brand)), ["memory"]);
    assert_eq!(kinds(&large, &seen(2, 7.55, "AMD EPYC 7571")), ["processor"]);
    assert_eq!(kinds(&large, &seen(64, 512.0, "AMD EPYC 9654 96-Core Processor")).len(), 3);
    let on =
        |microarchitecture: &str| Seen { microarchitecture: Some(microarchitecture.into()), ..seen(32, 125.0, "") };
    assert!(kinds(&of("n2-standard-32"), &on("Ice Lake-SP")).is_empty());
    assert!(kinds(&of("n2d-standard-32"), &on("Zen 3")).is_empty());
    assert!(kinds(&of("t2a-standard-32"), &on("Neoverse N1")).is_empty());
    assert_eq!(kinds(&of("n2d-standard-32"), &on("Zen 4")), ["processor"]);
    let said =
        disagreements(&large, &seen(4, 3.8, "AMD EPYC 7571")).iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(said[0], "the type has 2 CPUs, this machine 4");
    assert_eq!(said[1], "the type has 8 GiB of memory, this machine 3.8 GiB");
}

#[test]
fn another_version_of_a_table_is_refused_and_has_no_rows() {
    const LATER: &str = "# assay published values, format 2\n# source\ta/b\tc\t2026-01-01\tMIT\tx\nname\tx\na\t1\n";
    let error = check(LATER).unwrap_err();
    assert_eq!(error, TableError::Format("# assay published values, format 2".into()));
    assert!(error.to_string().contains("format 2") && error.to_string().contains("format 1"), "{error}");
    assert!(Table::new(LATER).find("a").is_empty() && Table::new("").rows().next().is_none());
    let text = |rows: &str| format!("{FORMAT}\n# source\ta/b\tc\t2026-01-01\tMIT\tx\nname\tx\n{rows}");
    assert_eq!(check(&text("a\t1\nb\t2\n")), Ok(()));
    assert_eq!(check(&text("b\t1\na\t2\n")), Err(TableError::Order(5)));
    assert_eq!(check(&text("a\t1\na\t1\n")), Err(TableError::Order(5)));
    assert_eq!(check(&text("a\t1\t2\n")), Err(TableError::Cells(4)));
    assert_eq!(check(&format!("{FORMAT}\nname\n")), Err(TableError::NoSource));
    assert_eq!(check(""), Err(TableError::Format(String::new())));
}

#[test]
fn types_on_arm_have_their_processor() {
    let platform =
        |name: &str| instance_type(name).unwrap().platforms.into_iter().map(|one| one.name).collect::<Vec<_>>();
    for (name, processor) in [
        ("a1.large", "AWS Graviton"),
        ("t4g.micro", "AWS Graviton2"),
        ("im4gn.large", "AWS Graviton2"),
        ("c6gn.large", "AWS Graviton2"),
        ("hpc7g.16xlarge", "AWS Graviton3"),
        ("r8gd.large", "AWS Graviton4"),
        ("m9g.large", "AWS Graviton5"),
        ("Standard_D2ps_v5", "Ampere Altra"),
        ("Standard_D2ps_v6", "Azure Cobalt 100"),
        ("t2a-standard-4", "Ampere Altra"),
        ("c4a-standard-4", "Google Axion"),
    ] {
        assert_eq!(platform(name), [processor], "{name}");
    }
    assert!(platform("m7i.large").is_empty());
    let seen = |core: &str| Seen { microarchitecture: Some(core.to_owned()), ..Seen::default() };
    let differs = |core: &str| disagreements(&instance_type("c7g.large").unwrap(), &seen(core)).len();
    assert_eq!((differs("Neoverse V1"), differs("Neoverse N1")), (0, 1));
    let all =
        instances::EC2.rows().chain(instances::AZURE.rows()).filter(|row| row.cell("architecture") == Some("aarch64"));
    for name in all.map(|row| row.name()) {
        assert_eq!(platform(name).len(), 1, "{name}");
    }
}
