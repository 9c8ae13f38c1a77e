//! `assay net` and `assay net serve`: their options.

use std::net::SocketAddr;
use std::path::PathBuf;

use areas::net::NetChoice;
use bench::net::{Target, listen_address};
use clap::{Args, Subcommand};
use model::unit::{parse_seconds, parse_size};

use super::measure::{Measure, WORKLOAD};

pub(super) const NET_EXAMPLES: &str = "\
Examples:
  assay net                                 TCP and UDP over loopback
  assay net --to node7 --key-file KEY       to a server: assay net serve
  assay net --references iperf3,sockperf    alternating with these tools
";

pub(super) const SERVE_EXAMPLES: &str = "\
Examples:
  assay net serve                           for this machine only
  assay net serve --listen 0.0.0.0 --key-file KEY
  assay net serve --once --listen [::1]:5300
";

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Net {
    #[command(subcommand)]
    pub(crate) command: Option<NetCommand>,
    /// Server that runs 'assay net serve' [default: loopback; port 5211].
    #[arg(long, value_name = "HOST[:PORT]", value_parser = Target::parse, group = "server", help_heading = WORKLOAD)]
    pub(crate) to: Option<Target>,
    /// File with the server's key; - is standard input.
    #[arg(long, value_name = "FILE", requires = "server", help_heading = WORKLOAD)]
    pub(crate) key_file: Option<PathBuf>,
    #[command(flatten, next_help_heading = WORKLOAD)]
    pub(crate) choice: NetChoice,

    #[command(flatten)]
    pub(crate) measure: Measure,
}

#[derive(Debug, Subcommand)]
pub(crate) enum NetCommand {
    /// Run the server for 'assay net --to'; one client at a time.
    #[command(before_help = SERVE_EXAMPLES)]
    Serve(Serve),
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Address for TCP and UDP [default: 127.0.0.1:5211; without IPv4 that of IPv6].
    ///
    /// Any address but loopback needs --key-file.
    #[arg(long, value_name = "ADDR[:PORT]", value_parser = |text: &str| listen_address(Some(text)))]
    pub(crate) listen: Option<SocketAddr>,
    /// File with the key that clients must have, at least 16 bytes, mode 600; - is standard input.
    #[arg(long, value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
    /// Serve one client and exit.
    #[arg(long)]
    pub(crate) once: bool,
    /// Maximum concurrent clients; they disturb each other.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) concurrent: u32,
    /// Longest session of a client.
    #[arg(long, alias = "most-seconds", value_name = "TIME", default_value = "1h", value_parser = parse_seconds)]
    pub(crate) max_time: f64,
    /// Highest rate of UDP payload, such as 100MB/s or 800Mbit/s.
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    pub(crate) udp_rate: Option<f64>,
}

/// Bytes per second from a rate: `100MB/s`, `800Mbit/s`, or a plain size, which is per second.
fn parse_rate(text: &str) -> Result<f64, String> {
    let wrong = || format!("'{text}' is not a rate; write bytes or bits per second, such as 100MB/s or 800Mbit/s");
    let per_second = text.strip_suffix("/s").unwrap_or(text);
    let (size, bits) = match per_second.strip_suffix("bit") {
        Some(number) => (format!("{number}B"), 8.0),
        None => (per_second.to_owned(), 1.0),
    };
    #[expect(clippy::cast_precision_loss, reason = "a rate below 2^53 bytes per second")]
    parse_size(&size).map(|bytes| bytes as f64 / bits).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_bytes_or_bits_per_second() {
        assert_eq!(parse_rate("100MB/s"), Ok(1e8));
        assert_eq!(parse_rate("100MB"), Ok(1e8));
        assert_eq!(parse_rate("800Mbit/s"), Ok(1e8));
        assert!(parse_rate("fast").unwrap_err().contains("800Mbit/s"));
    }
}
