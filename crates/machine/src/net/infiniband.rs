//! InfiniBand ports: the data rate by generation and width, and the adapters' latency.

use model::machine::InfinibandPort;

use crate::sysroot::Sysroot;

pub(crate) struct Generation {
    pub(crate) name: &'static str,
    /// Of one lane, 10^6 per second.
    megabaud: f64,
    /// Data share after the line code.
    coding: f64,
    /// One way between two adapters, s; `None` if unpublished.
    pub(crate) latency_seconds: Option<f64>,
}

/// Lanes by `ib_port_attr_to_speed_info` and the trade association, HDR on net of coding; latencies by Wikipedia.
const GENERATIONS: &[Generation] = &[
    Generation { name: "SDR", megabaud: 2500.0, coding: 8.0 / 10.0, latency_seconds: Some(5e-6) },
    Generation { name: "DDR", megabaud: 5000.0, coding: 8.0 / 10.0, latency_seconds: Some(2.5e-6) },
    Generation { name: "QDR", megabaud: 10_000.0, coding: 8.0 / 10.0, latency_seconds: Some(1.3e-6) },
    Generation { name: "FDR10", megabaud: 10_312.5, coding: 64.0 / 66.0, latency_seconds: Some(0.7e-6) },
    Generation { name: "FDR", megabaud: 14_062.5, coding: 64.0 / 66.0, latency_seconds: Some(0.7e-6) },
    Generation { name: "EDR", megabaud: 25_781.25, coding: 64.0 / 66.0, latency_seconds: Some(0.5e-6) },
    Generation { name: "HDR", megabaud: 50_000.0, coding: 1.0, latency_seconds: Some(0.6e-6) },
    Generation { name: "NDR", megabaud: 100_000.0, coding: 1.0, latency_seconds: None },
    Generation { name: "XDR", megabaud: 200_000.0, coding: 1.0, latency_seconds: None },
];

pub(crate) fn generation(name: &str) -> Option<&'static Generation> {
    GENERATIONS.iter().find(|generation| generation.name == name)
}

/// The InfiniBand port behind a network interface; `None` for Ethernet ports.
pub(crate) fn port(root: &Sysroot, interface: &str) -> Option<InfinibandPort> {
    let of_interface = |file: &str| format!("sys/class/net/{interface}/{file}");
    let device = root.names(&of_interface("device/infiniband")).into_iter().next()?;
    // The interface counts from 0, the adapter from 1.
    let number = root.number::<u32>(&of_interface("dev_port")).unwrap_or(0).checked_add(1)?;
    let folder = format!("sys/class/infiniband/{device}/ports/{number}");
    if root.text(&format!("{folder}/link_layer")).as_deref() != Some("InfiniBand") {
        return None;
    }
    let rate = root.text(&format!("{folder}/rate"))?;
    let (lanes, generation) = parts(&rate).unzip();
    let data_bps = lanes.zip(generation).map(|(lanes, of)| f64::from(lanes) * of.megabaud * 1e6 * of.coding);
    Some(InfinibandPort {
        device,
        port: number,
        rate,
        generation: generation.map(|generation| generation.name.to_owned()),
        lanes,
        data_bps,
        connected: root.text(&of_interface("mode")).map(|mode| mode == "connected"),
    })
}

/// Lanes and generation of `56 Gb/sec (4X FDR)`; older kernels omit SDR's name.
fn parts(rate: &str) -> Option<(u32, &'static Generation)> {
    let (lanes, name) = rate.split_once('(')?.1.strip_suffix(')')?.split_once('X')?;
    let name = if name.trim().is_empty() { "SDR" } else { name.trim() };
    // The widest port has twelve lanes.
    Some((lanes.parse().ok().filter(|lanes| (1..=12).contains(lanes))?, generation(name)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    fn port_with(name: &str, rate: &str, layer: &str) -> Option<InfinibandPort> {
        let fixture = Fixture::new(name)
            .file("sys/class/net/ib0/mtu", "2044\n")
            .file("sys/class/net/ib0/dev_port", "1\n")
            .file("sys/class/net/ib0/mode", "datagram\n")
            .file("sys/class/net/ib0/device/infiniband/mlx5_0/node_type", "1: CA\n")
            .file("sys/class/infiniband/mlx5_0/ports/2/link_layer", layer)
            .file("sys/class/infiniband/mlx5_0/ports/2/rate", rate);
        port(&fixture.root(), "ib0")
    }

    #[test]
    fn a_rate_of_signals_becomes_one_of_data() {
        let gigabits = |rate: &str| {
            let data = port_with("ib-rate", rate, "InfiniBand\n")?.data_bps?;
            Some((data / 1e7).round() / 100.0)
        };
        for (rate, data) in [
            ("10 Gb/sec (4X)", 8.0),
            ("10 Gb/sec (4X SDR)", 8.0),
            ("20 Gb/sec (4X DDR)", 16.0),
            ("40 Gb/sec (4X QDR)", 32.0),
            ("40 Gb/sec (4X FDR10)", 40.0),
            ("56 Gb/sec (4X FDR)", 54.55),
            ("14 Gb/sec (1X FDR)", 13.64),
            ("100 Gb/sec (4X EDR)", 100.0),
            ("200 Gb/sec (4X HDR)", 200.0),
            ("100 Gb/sec (2X HDR)", 100.0),
            ("400 Gb/sec (4X NDR)", 400.0),
            ("800 Gb/sec (4X XDR)", 800.0),
        ] {
            assert_eq!(gigabits(rate), Some(data), "{rate}");
        }
        for rate in ["", "56 Gb/sec", "56 Gb/sec (4X GDR)", "56 Gb/sec (0X FDR)", "(99X FDR)", "(X)", "(4X FDR"] {
            assert_eq!(gigabits(rate), None, "{rate}");
        }
    }

    #[test]
    fn a_port_of_ethernet_is_none_of_infiniband() {
        assert!(port_with("ib-roce", "100 Gb/sec (4X EDR)", "Ethernet\n").is_none());
        let port = port_with("ib-port", "100 Gb/sec (4X EDR)", "InfiniBand\n").unwrap();
        assert_eq!((port.device.as_str(), port.port, port.connected), ("mlx5_0", 2, Some(false)));
    }
}
