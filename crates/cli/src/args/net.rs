//! `assay net` and `assay net serve`: their options.

use std::net::SocketAddr;
use std::path::PathBuf;

use bench::net::{Target, listen_address};
use clap::{Args, Subcommand};
use model::io::{Direction, NetMode, Protocol, Segmentation, Wait};
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
    /// Transports: tcp, udp.
    #[arg(long, value_delimiter = ',')]
    pub(crate) protocol: Vec<Protocol>,
    /// What is done: stream (tcp), `no_drop` (udp, the highest rate within a loss goal), blast (udp, as much as goes),
    /// pingpong, connect (tcp), load (round trips while streams run), transfer (a fixed amount there and back).
    #[arg(long, value_delimiter = ',')]
    pub(crate) mode: Vec<NetMode>,
    /// Bytes per send, or per message; by default 128KiB in a stream, 1472B in a datagram and 1 byte there and back.
    #[arg(long, value_name = "SIZE,…", value_delimiter = ',', value_parser = parse_size)]
    pub(crate) block: Vec<u64>,
    /// Which way the bytes of a stream go: up (to the server), down, both at once.
    #[arg(long, value_delimiter = ',')]
    pub(crate) direction: Vec<Direction>,
    /// Whether the sends of a TCP stream are asked to spare their copy: true, false.
    #[arg(long, value_name = "BOOL,…", value_delimiter = ',', action = clap::ArgAction::Append)]
    pub(crate) zero_copy: Vec<bool>,
    /// Who cuts datagrams from large sends: off (one system call a batch of them), gso (the kernel or the device).
    #[arg(long, value_delimiter = ',')]
    pub(crate) segmentation: Vec<Segmentation>,
    /// How a round trip is waited for: blocking (asleep), spinning (asking again and again).
    #[arg(long, value_delimiter = ',')]
    pub(crate) wait: Vec<Wait>,
    /// Datagrams of a million that the highest rate may lose: 0, 1, 1000 or any other number below a million.
    #[arg(long, value_name = "PPM,…", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(0..1_000_000))]
    pub(crate) loss_goal: Vec<u32>,

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
