//! `assay net` and `assay net serve`: their options.

use std::net::SocketAddr;
use std::path::PathBuf;

use areas::net::NetChoice;
use bench::net::{Target, listen_address};
use clap::{Args, Subcommand};
use model::unit::{parse_seconds, parse_size};

use super::measure::Measure;

pub(super) const NET_EXAMPLES: &str = "\
Examples:
  assay net                                 TCP and UDP over loopback
  assay net --to node7 --key-file KEY       to 'assay net serve' on another host
  assay net --references iperf3,sockperf    with the trusted tools beside it
";

pub(super) const SERVE_EXAMPLES: &str = "\
Examples:
  assay net serve                           for this machine alone
  assay net serve --listen 0.0.0.0 --key-file KEY
  assay net serve --once --listen [::1]:5300
";

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Net {
    #[command(subcommand)]
    pub(crate) command: Option<NetCommand>,
    /// The server at the other end; without it both ends are on this machine. The port is 5211 unless named.
    #[arg(long, value_name = "HOST[:PORT]", value_parser = Target::parse, group = "other_end")]
    pub(crate) to: Option<Target>,
    /// The file with the key that the server asks for; - is standard input.
    #[arg(long, value_name = "FILE", requires = "other_end")]
    pub(crate) key_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) choice: NetChoice,

    #[command(flatten)]
    pub(crate) measure: Measure,
}

#[derive(Debug, Subcommand)]
pub(crate) enum NetCommand {
    /// Be the other end for 'assay net --to' on other hosts, one visitor at a time, until a signal ends it.
    #[command(before_help = SERVE_EXAMPLES)]
    Serve(Serve),
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// The address to listen on, for TCP and UDP; by default 127.0.0.1:5211. Any but a loopback address needs a key.
    #[arg(long, value_name = "ADDR[:PORT]", value_parser = |text: &str| listen_address(Some(text)))]
    pub(crate) listen: Option<SocketAddr>,
    /// The file with the key that visitors must know, at least 16 bytes; - is standard input.
    #[arg(long, value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
    /// End after the first visitor.
    #[arg(long)]
    pub(crate) once: bool,
    /// So many visitors measure at the same time, and disturb each other.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) concurrent: u32,
    /// The longest visit.
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = parse_seconds)]
    pub(crate) most_seconds: f64,
    /// The most that is sent by UDP, in bytes of data per second, such as 100MB.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) udp_rate: Option<u64>,
}
