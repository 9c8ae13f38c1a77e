//! The network of the cluster: each node's `slurmd` has a network namespace, joined to a bridge by a pair of veth interfaces.

use super::config::{HOST_ADDRESS, node_addresses};
use crate::held::shell;

const BRIDGE: &str = "assay-bridge";

/// The node's namespace, and its end of the pair on the host.
fn outside(node: &str) -> String {
    format!("assay-{node}")
}

pub(super) fn up() -> Result<(), String> {
    down();
    shell(&format!(
        "set -e; ip link add {BRIDGE} type bridge; ip addr add {HOST_ADDRESS}/24 dev {BRIDGE}; ip link set {BRIDGE} up"
    ))?;
    node_addresses().try_for_each(|(node, address)| {
        let name = outside(node);
        shell(&format!(
            "set -e; ip netns add {name}; ip -n {name} link set lo up; \
             ip link add {name} type veth peer name node0 netns {name}; ip link set {name} master {BRIDGE} up; \
             ip -n {name} addr add {address}/24 dev node0; ip -n {name} link set node0 up"
        ))
    })
}

/// Removes all of it, whatever is there. A veth ends with its peer.
pub(super) fn down() {
    for (node, _) in node_addresses() {
        let _ = shell(&format!("ip netns del {}", outside(node)));
    }
    let _ = shell(&format!("ip link del {BRIDGE}"));
}

/// The words that start a program in the node's network. `ip netns exec` would also hide control groups.
pub(super) fn inside(node: &str) -> [String; 2] {
    ["nsenter".to_owned(), format!("--net=/run/netns/{}", outside(node))]
}

/// Limits what the node sends and what it receives to `rate`, in the words of tc; `None` lifts the limit.
pub(super) fn limit(node: &str, rate: Option<&str>) -> Result<(), String> {
    let name = outside(node);
    ["tc", &format!("tc -n {name}")].into_iter().zip([name.as_str(), "node0"]).try_for_each(|(tc, interface)| {
        shell(&match rate {
            // The burst holds a few of the largest packets that veth passes on whole.
            Some(rate) => format!("{tc} qdisc replace dev {interface} root tbf rate {rate} burst 256kb latency 20ms"),
            None => format!("{tc} qdisc del dev {interface} root"),
        })
    })
}
