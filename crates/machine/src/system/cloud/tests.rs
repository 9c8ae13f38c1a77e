use Provider::{Azure, Ec2, Gce};

use super::*;
use crate::fixture::Fixture;

/// A tree: vendor, product, board vendor, asset tag, firmware's version, cloud-init's data. Empty is an absent file.
type Tree = [&'static str; 6];
type Expected = Option<(Provider, Option<&'static str>)>;

const NITRO: &str = "Amazon EC2";
const HYPER_V: &str = "Microsoft Corporation";
const EC2_DATA: &str = r#"{"v1":{"cloud_name":"aws"},"ds":{"meta_data":{"instance_type":"t2.micro"}}}"#;
const EC2_DOCUMENT: &str = r#"{"ds":{"dynamic":{"instance_identity":{"document":{"instanceType":"c4.8xlarge"}}}}}"#;
const AZURE_DATA: &str = r#"{"ds":{"meta_data":{"imds":{"compute":{"vmSize":"Standard_HB176rs_v4","vmId":"x"}}}}}"#;
const GCE_DATA: &str = r#"{"v1":{"cloud_name":"gce"},"ds":{"meta_data":{"availability_zone":"us-central1-a"}}}"#;

const TREES: &[(&str, Tree, Expected)] = &[
    ("Nitro", [NITRO, "m7i.2xlarge", NITRO, "", "1.0", ""], Some((Ec2, Some("m7i.2xlarge")))),
    ("Nitro, Arm", [NITRO, "c7g.16xlarge", NITRO, "", "1.0", ""], Some((Ec2, Some("c7g.16xlarge")))),
    ("Nitro, tags of instances", [NITRO, "m5.large", NITRO, "i-0123", "1.0", ""], Some((Ec2, Some("m5.large")))),
    ("bare metal", [NITRO, "m5.metal", NITRO, "", "1.0", ""], Some((Ec2, Some("m5.metal")))),
    ("bare metal of a size", [NITRO, "c7g.metal", NITRO, "", "", ""], Some((Ec2, Some("c7g.metal")))),
    ("metal-24xl", [NITRO, "m7i.metal-24xl", NITRO, "", "", ""], Some((Ec2, Some("m7i.metal-24xl")))),
    ("high memory", [NITRO, "u-6tb1.56xlarge", NITRO, "", "", ""], Some((Ec2, Some("u-6tb1.56xlarge")))),
    ("flex", [NITRO, "m7i-flex.large", NITRO, "", "", ""], Some((Ec2, Some("m7i-flex.large")))),
    ("board vendor alone", ["", "r5.large", NITRO, "", "", ""], Some((Ec2, Some("r5.large")))),
    ("system vendor alone", [NITRO, "r5.large", "", "", "", ""], Some((Ec2, Some("r5.large")))),
    ("trailing spaces", ["Amazon EC2  ", "r5.large ", "", "", "", ""], Some((Ec2, Some("r5.large")))),
    ("a type that no table has", [NITRO, "z99.large", NITRO, "", "", ""], Some((Ec2, Some("z99.large")))),
    ("firmware wins over cloud-init", [NITRO, "m5.large", NITRO, "", "", EC2_DATA], Some((Ec2, Some("m5.large")))),
    ("no product", [NITRO, "", NITRO, "", "", ""], Some((Ec2, None))),
    ("no product, cloud-init", [NITRO, "", NITRO, "", "", EC2_DATA], Some((Ec2, Some("t2.micro")))),
    ("a product that is no type", [NITRO, "HVM domU", NITRO, "", "", ""], Some((Ec2, None))),
    ("a product in capitals", [NITRO, "M5.LARGE", NITRO, "", "", ""], Some((Ec2, None))),
    ("a product of two dots", [NITRO, "m5.large.x", NITRO, "", "", ""], Some((Ec2, None))),
    ("Xen", ["Xen", "HVM domU", "", "", "4.11.amazon", ""], Some((Ec2, None))),
    ("Xen, cloud-init", ["Xen", "HVM domU", "", "", "4.2.amazon", EC2_DATA], Some((Ec2, Some("t2.micro")))),
    ("Xen, document", ["Xen", "HVM domU", "", "", "4.2.amazon", EC2_DOCUMENT], Some((Ec2, Some("c4.8xlarge")))),
    ("Xen elsewhere", ["Xen", "HVM domU", "", "", "4.17", ""], None),
    ("Xen elsewhere, stale data", ["Xen", "HVM domU", "", "", "4.17", EC2_DATA], None),
    ("QEMU", ["QEMU", "Standard PC (Q35 + ICH9, 2009)", "", "", "1.16", ""], None),
    ("QEMU inside EC2, moved image", ["QEMU", "Standard PC", "", "", "", EC2_DATA], None),
    ("OpenStack with EC2's metadata", ["OpenStack Foundation", "OpenStack Nova", "", "", "", EC2_DATA], None),
    ("Outscale", ["3DS Outscale", "3DS Outscale VM", "", "", "", EC2_DATA], None),
    ("Alibaba", ["Alibaba Cloud", "Alibaba Cloud ECS", "", "", "", ""], None),
    ("Oracle", ["QEMU", "Standard PC", "", "OracleCloud.com", "", ""], None),
    ("a vendor that begins alike", ["Amazon EC2 clone", "m5.large", "", "", "", ""], None),
    ("Azure", [HYPER_V, "Virtual Machine", HYPER_V, AZURE_TAG, "", ""], Some((Azure, None))),
    (
        "Azure, cloud-init",
        [HYPER_V, "Virtual Machine", HYPER_V, AZURE_TAG, "", AZURE_DATA],
        Some((Azure, Some("Standard_HB176rs_v4"))),
    ),
    ("Azure, data of EC2", [HYPER_V, "Virtual Machine", HYPER_V, AZURE_TAG, "", EC2_DATA], Some((Azure, None))),
    ("Azure, broken data", [HYPER_V, "Virtual Machine", HYPER_V, AZURE_TAG, "", "{\"ds\":"], Some((Azure, None))),
    ("Hyper-V", [HYPER_V, "Virtual Machine", HYPER_V, "0000-0014-9876-5432-1098-7654-32", "", ""], None),
    ("Hyper-V inside Azure", [HYPER_V, "Virtual Machine", HYPER_V, "None", "", AZURE_DATA], None),
    ("Surface", [HYPER_V, "Surface Laptop 5", HYPER_V, "", "", ""], None),
    ("GCE", ["Google", "Google Compute Engine", "Google", "", "Google", ""], Some((Gce, None))),
    ("GCE, cloud-init", ["Google", "Google Compute Engine", "Google", "", "", GCE_DATA], Some((Gce, None))),
    ("Chromebook", ["Google", "Eve", "Google", "", "", ""], None),
    ("bare server", ["Supermicro", "SYS-120U-TNR", "Supermicro", "Chassis Asset Tag", "", ""], None),
    ("server with cloud-init", ["Dell Inc.", "PowerEdge R750", "Dell Inc.", "", "", EC2_DATA], None),
    ("container without /sys", ["", "", "", "", "", ""], None),
    ("container without /sys, cloud-init", ["", "", "", "", "", AZURE_DATA], None),
    ("a type with a line break", [NITRO, "m5.la\nrge", NITRO, "", "", ""], Some((Ec2, None))),
    (
        "data with a path as type",
        [NITRO, "", "", "", "", r#"{"ds":{"meta_data":{"instance_type":"../x"}}}"#],
        Some((Ec2, None)),
    ),
];

fn tree(name: &str, tree: &Tree) -> Fixture {
    const FILES: [&str; 5] = ["sys_vendor", "product_name", "board_vendor", "chassis_asset_tag", "bios_version"];
    let paths = FILES.iter().map(|file| format!("{DMI}/{file}")).chain([INSTANCE_DATA.to_owned()]);
    let empty = Fixture::new(&format!("cloud-{}", name.replace(|c: char| !c.is_ascii_alphanumeric(), "-")));
    let present = paths.zip(tree).filter(|(_, text)| !text.is_empty());
    present.fold(empty, |fixture, (path, text)| fixture.file(&path, &format!("{text}\n")))
}

#[test]
fn a_type_is_that_of_the_provider_that_firmware_states() {
    assert!(TREES.len() >= 40);
    for (name, files, expected) in TREES {
        let fixture = tree(name, files);
        let mut ledger = Ledger::default();
        let found = discover(&fixture.root(), &mut ledger);
        let found = found.as_ref().map(|cloud| (cloud.provider, cloud.machine_type.as_deref()));
        assert_eq!(found, *expected, "{name}");
        let listed = ledger.unknown.iter().any(|unknown| unknown.fact == "cloud.machine_type");
        assert_eq!(listed, matches!(expected, Some((_, None))), "{name}");
        let source = ledger.sources.get("cloud.machine_type");
        assert_eq!(source.is_some(), matches!(expected, Some((_, Some(_)))), "{name}");
    }
}

#[test]
fn a_declared_type_replaces_what_was_found() {
    let fixture = tree("declared", &["Xen", "HVM domU", "", "", "4.2.amazon", ""]);
    let mut machine = crate::discovery::discover(&fixture.root());
    assert!(machine.unknown.iter().any(|unknown| unknown.fact == "cloud.machine_type"));
    declare_type(&mut machine, &Declared::parse(&["machine.type=c4.8xlarge"]).unwrap());
    let cloud = machine.cloud.clone().unwrap();
    assert_eq!((cloud.provider, cloud.machine_type.as_deref()), (Ec2, Some("c4.8xlarge")));
    assert_eq!(machine.sources["cloud.machine_type"], "declared");
    assert!(!machine.unknown.iter().any(|unknown| unknown.fact == "cloud.machine_type"));
    let before = machine.clone();
    declare_type(&mut machine, &Declared::default());
    assert_eq!(machine, before);
}

#[test]
fn a_recording_keeps_the_type_and_no_identity() {
    let data = r#"{"v1":{"public_ssh_keys":["k"]},"ds":{"meta_data":{"instance_type":"t2.micro","hostname":"h"}}}"#;
    let kept = without_identity(INSTANCE_DATA, data.as_bytes()).unwrap();
    assert_eq!(String::from_utf8(kept).unwrap(), r#"{"ds":{"meta_data":{"instance_type":"t2.micro"}}}"#);
    assert_eq!(without_identity(ASSET_TAG, b"R-4711\n"), Some(Vec::new()));
    assert_eq!(without_identity(ASSET_TAG, AZURE_TAG.as_bytes()), Some(AZURE_TAG.as_bytes().to_vec()));
    assert_eq!(without_identity("sys/class/dmi/id/sys_vendor", b"x"), None);
}
