//! How much a client may ask of a server: a request is compared with the server's limits before anything is prepared.

use model::experiment::NetParams;
use model::io::{NetMode, Protocol};

use super::sizes::block_bytes;
use crate::net::handshake::Limits;
use crate::net::messages::Announced;

/// A window begins at most this long after it was announced.
const MOST_AHEAD_SECONDS: f64 = 60.0;

/// Whether a benchmark with this many data connections is within the limits.
pub(crate) fn check(params: &NetParams, flows: usize, limits: &Limits) -> Result<(), String> {
    if flows > limits.most_flows as usize {
        let most = limits.most_flows;
        return Err(format!("{flows} data connections are too many; this server allows {most} in a process run"));
    }
    if block_bytes(params) as u64 > limits.most_block_bytes {
        let (block, most) = (params.block, limits.most_block_bytes);
        return Err(format!("blocks of {block} bytes are too large; this server allows {most} bytes"));
    }
    // Such a transfer goes as fast as possible, in both directions.
    if limits.udp_bytes_per_second.is_some() && (params.protocol, params.mode) == (Protocol::Udp, NetMode::Transfer) {
        return Err("a transfer over UDP cannot keep to the rate limit of this server (--udp-rate)".to_owned());
    }
    Ok(())
}

pub(crate) fn window(mut announced: Announced, params: &NetParams, limits: &Limits) -> Result<Announced, String> {
    let seconds = announced.seconds.unwrap_or(0.0);
    let bytes = announced.bytes.unwrap_or(0.0);
    let sane = (0.0..=MOST_AHEAD_SECONDS).contains(&announced.begins_in_seconds)
        && (0.0..=limits.most_seconds).contains(&seconds)
        && (0.0..f64::INFINITY).contains(&bytes);
    if !sane {
        let begins = announced.begins_in_seconds;
        return Err(format!(
            "a window of {seconds} s that begins in {begins} s is invalid. Check that both hosts run the same version"
        ));
    }
    if let (Some(most), NetMode::Blast | NetMode::NoDrop) = (limits.udp_bytes_per_second, params.mode) {
        announced.bytes = Some(announced.bytes.map_or(most, |bytes| bytes.min(most)));
    }
    Ok(announced)
}

#[cfg(test)]
mod tests {
    use model::io::Direction;

    use super::*;

    fn params(protocol: Protocol, mode: NetMode, block: u64) -> NetParams {
        areas::net::expand::params(protocol, mode, block, Direction::Down, 2)
    }

    #[test]
    fn what_is_beyond_a_limit_is_refused_with_it() {
        let limits = Limits { most_flows: 2, most_block_bytes: 1024, most_seconds: 10.0, udp_bytes_per_second: None };
        let stream = params(Protocol::Tcp, NetMode::Stream, 1024);
        assert_eq!(check(&stream, 2, &limits), Ok(()));
        assert!(check(&stream, 3, &limits).unwrap_err().contains("allows 2 in a process run"));
        let large = params(Protocol::Tcp, NetMode::Stream, 1025);
        assert!(check(&large, 2, &limits).unwrap_err().contains("1024 bytes"));
        let transfer = params(Protocol::Udp, NetMode::Transfer, 1024);
        assert_eq!(check(&transfer, 2, &limits), Ok(()));
        let capped = Limits { udp_bytes_per_second: Some(1e6), ..limits };
        assert!(check(&transfer, 2, &capped).unwrap_err().contains("--udp-rate"));
        assert_eq!(check(&stream, 2, &capped), Ok(()));
        assert_eq!(check(&large, 1000, &Limits::none()), Ok(()));
    }

    fn announced(begins_in_seconds: f64, seconds: Option<f64>, bytes: Option<f64>) -> Announced {
        Announced { number: 1, begins_in_seconds, seconds, bytes }
    }

    #[test]
    fn windows_whose_times_are_not_sane_are_refused() {
        let stream = params(Protocol::Tcp, NetMode::Stream, 1024);
        let limits = Limits { most_seconds: 10.0, ..Limits::none() };
        let check = |begins, seconds, bytes| window(announced(begins, seconds, bytes), &stream, &limits).is_ok();
        assert!(check(0.0, Some(10.0), None) && check(1.0, None, Some(1e12)) && check(0.0, Some(0.0), Some(0.0)));
        for wrong in [-1.0, 61.0, 1e300, f64::NAN, f64::INFINITY] {
            assert!(!check(wrong, Some(1.0), None), "begins in {wrong}");
            assert!(!check(0.0, Some(wrong), None), "{wrong} long");
        }
        assert!(!check(0.0, None, Some(-1.0)));
    }

    #[test]
    fn senders_of_datagrams_keep_to_the_servers_rate() {
        let limits = Limits { udp_bytes_per_second: Some(1e6), ..Limits::none() };
        let bytes = |mode, wanted| {
            window(announced(0.0, Some(1.0), wanted), &params(Protocol::Udp, mode, 1024), &limits).unwrap().bytes
        };
        assert_eq!(bytes(NetMode::Blast, None), Some(1e6));
        assert_eq!(bytes(NetMode::NoDrop, Some(2e6)), Some(1e6));
        assert_eq!(bytes(NetMode::NoDrop, Some(5e5)), Some(5e5));
        assert_eq!(bytes(NetMode::Pingpong, None), None, "an answer is no longer than its question");
    }
}
