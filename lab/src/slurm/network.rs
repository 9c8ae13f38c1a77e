//! The network of the cluster: each node's `slurmd` has a network namespace, joined to a bridge by a pair of veth interfaces.

use std::process::Command;

use super::config::{HOST_ADDRESS, node_addresses};
use super::daemons::must;

const BRIDGE: &str = "assay-bridge";

/// The node's namespace, and its end of the pair on the host.
fn outside(node: &str) -> String {
    format!("assay-{node}")
}

fn shell(script: &str, arguments: &[&str]) -> Result<(), String> {
    must(Command::new("sh").args(["-ec", script, "sh"]).args(arguments)).map(drop)
}

pub(super) fn up() -> Result<(), String> {
    down();
    let host = format!("{HOST_ADDRESS}/24");
    shell("ip link add $1 type bridge; ip addr add $2 dev $1; ip link set $1 up", &[BRIDGE, &host])?;
    node_addresses().try_for_each(|(node, address)| {
        let script = "ip netns add $1; ip -n $1 link set lo up; ip link add $1 type veth peer name node0 netns $1; \
                      ip link set $1 master $2 up; ip -n $1 addr add $3/24 dev node0; ip -n $1 link set node0 up";
        shell(script, &[&outside(node), BRIDGE, &address.to_string()])
    })
}

/// Removes all of it, whatever is there. A veth ends with its peer.
pub(super) fn down() {
    for (node, _) in node_addresses() {
        let _ = shell("ip netns del $1", &[&outside(node)]);
    }
    let _ = shell("ip link del $1", &[BRIDGE]);
}

/// The words that start a program in the node's network. `ip netns exec` would also hide control groups.
pub(super) fn inside(node: &str) -> [String; 2] {
    ["nsenter".to_owned(), format!("--net=/run/netns/{}", outside(node))]
}

/// Limits what the node sends and what it receives to `rate`, in the words of tc; `None` lifts the limit.
pub(super) fn limit(node: &str, rate: Option<&str>) -> Result<(), String> {
    let script = match rate {
        // The burst holds a few of the largest packets that veth passes on whole.
        Some(_) => {
            "tc qdisc replace dev $1 root tbf rate $2 burst 256kb latency 20ms; \
                    tc -n $1 qdisc replace dev node0 root tbf rate $2 burst 256kb latency 20ms"
        }
        None => "tc qdisc del dev $1 root; tc -n $1 qdisc del dev node0 root",
    };
    shell(script, &[&outside(node), rate.unwrap_or_default()])
}
