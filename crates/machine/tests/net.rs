//! Networks of machines put together by hand: what discovery finds, and every peak with its arithmetic.
#![allow(clippy::unwrap_used, reason = "a test whose set-up fails has failed")]

use std::fmt::Write;
use std::path::Path;

use machine::{Declared, NetEnd, NetPath, Sysroot, discover, net_peaks};
use model::experiment::NetParams;
use model::io::{Direction, NetMode};
use model::machine::{Machine, Nic};

const NAME: &str = "made-cluster-node-bond-vlan-infiniband";

fn node() -> Machine {
    discover(&Sysroot::folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/machines").join(NAME)).unwrap())
}

fn nic<'a>(machine: &'a Machine, name: &str) -> &'a Nic {
    machine.nics.iter().find(|nic| nic.name == name).unwrap()
}

fn params(mode: NetMode, threads: u32) -> NetParams {
    let text = r#"{"protocol": "tcp", "mode": "stream", "block": 131072, "threads": 1, "path": "peer"}"#;
    let params: NetParams = serde_json::from_str(text).unwrap();
    let (block, direction) = if mode == NetMode::Stream { (params.block, Some(Direction::Up)) } else { (1, None) };
    NetParams { mode, block, direction, threads, ..params }
}

#[test]
fn every_peak_with_its_arithmetic_and_its_sources() {
    let machine = node();
    let mut listed = String::new();
    for interface in ["ens1f0", "bond0", "bond0.7", "bond1", "ib0", "veth0", "lo"] {
        for (mode, threads) in [(NetMode::Stream, 1), (NetMode::Stream, 2), (NetMode::Pingpong, 1)] {
            let near = NetEnd { machine: &machine, interface: Some(interface) };
            let path = NetPath { near, far: None, is_version_6: Some(false), two_copy_bytes_per_second: None };
            for peak in net_peaks(&path, &Declared::default(), &params(mode, threads)) {
                writeln!(listed, "{interface}, {mode} x {threads}, {}: {:.4e}", peak.kind, peak.value).unwrap();
                writeln!(listed, "  = {}", peak.formula).unwrap();
                for input in peak.inputs {
                    writeln!(listed, "  {} {:.4e}: {}", input.name, input.value, input.source).unwrap();
                }
            }
        }
    }
    insta::assert_snapshot!(NAME, listed);
}

#[test]
fn layers_ports_and_slots_are_found() {
    let machine = node();
    let bond = nic(&machine, "bond0");
    assert_eq!((bond.layer.as_deref(), bond.bond_mode.as_deref()), (Some("bond"), Some("802.3ad")));
    assert_eq!(bond.lower, ["ens1f0", "ens1f1"]);
    assert_eq!(nic(&machine, "bond1").lower, ["eno0"], "the other one waits");
    let tagged = nic(&machine, "bond0.7");
    assert_eq!((tagged.layer.as_deref(), &tagged.lower[..]), (Some("vlan"), &["bond0".to_owned()][..]));
    let bus = nic(&machine, "ens1f0").bus.as_ref().unwrap();
    assert_eq!(bus.detail, "PCIe 3.0 x4, 8 GT/s (the device could do PCIe 4.0 x8)");
    assert_eq!(bus.below_maximum, Some(true));
    let port = nic(&machine, "ib0").infiniband.as_ref().unwrap();
    assert_eq!((port.generation.as_deref(), port.connected), (Some("FDR"), Some(false)));
    assert_eq!(nic(&machine, "veth0").speed_trusted, Some(false));
}
