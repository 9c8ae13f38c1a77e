//! Messages of a session between client and server: versions, authentication, queue, heartbeats.
//! Fields may be added; unknown ones are ignored. Every version reads `Refused`.

use std::net::{IpAddr, SocketAddr, TcpStream};

use machine::Sysroot;
use model::machine::Machine;
use serde::{Deserialize, Serialize};
use socket2::SockRef;

/// Oldest and newest protocol version of this program, also for process runs ([`super::messages`]). In version 1 the server
/// described itself before authentication.
pub(crate) const VERSIONS: [u32; 2] = [2, 2];
/// Maximum length of an unauthenticated client's message.
pub(crate) const MOST_BYTES_BEFORE: usize = 4096;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum ClientMessage {
    Hello(Hello),
    Proof { proof: Option<String> },
    Alive,
}

model::from_tagged_json!(ClientMessage {
    "hello" => Hello(value),
    "proof" => Proof { proof: Option<String> },
    "alive" => Alive,
});

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Hello {
    pub(crate) versions: [u32; 2],
    pub(crate) program: String,
    #[serde(default)]
    pub(crate) capabilities: Vec<String>,
    /// 32 hexadecimal digits, used once.
    pub(crate) nonce: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum ServerMessage {
    /// Answers a hello.
    Welcome(Welcome),
    /// Answers a client that is authenticated.
    Known(Known),
    /// The number of clients before this one, including those measuring.
    Queued {
        ahead: u32,
    },
    Admitted(Box<Admitted>),
    Alive,
    Refused {
        cause: Cause,
        reason: String,
    },
    /// The session ended before the client ended it.
    Over {
        reason: String,
    },
}

model::from_tagged_json!(ServerMessage {
    "welcome" => Welcome(value),
    "known" => Known(value),
    "queued" => Queued { ahead: u32 },
    "admitted" => Admitted(value),
    "alive" => Alive,
    "refused" => Refused { cause: Cause, reason: String },
    "over" => Over { reason: String },
});

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Cause {
    Version,
    Key,
    Full,
    /// Anything else, or a cause of a later version.
    #[serde(other)]
    Other,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Welcome {
    pub(crate) version: u32,
    /// 32 hexadecimal digits, used once.
    pub(crate) nonce: String,
    pub(crate) key_needed: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Known {
    /// The server's own proof; `null` where no key is needed.
    pub(crate) proof: Option<String>,
    pub(crate) program: String,
    /// Supported modes (`NetMode`).
    #[serde(default)]
    pub(crate) capabilities: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Admitted {
    /// Admits its process runs.
    pub(crate) token: String,
    pub(crate) limits: Limits,
    /// The server's end of the path.
    pub(crate) path: PathEnd,
    pub(crate) machine: Machine,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Limits {
    /// Maximum seconds of a session.
    pub most_seconds: f64,
    /// Maximum data connections of a process run.
    pub most_flows: u32,
    pub most_block_bytes: u64,
    /// Maximum UDP payload in bytes per second; `null`: unlimited.
    pub udp_bytes_per_second: Option<f64>,
}

impl Limits {
    /// Limits of an end that serves its own run.
    pub(crate) const fn none() -> Self {
        let most_seconds = 86_400.0;
        Self { most_seconds, most_flows: u32::MAX, most_block_bytes: u64::MAX, udp_bytes_per_second: None }
    }
}

/// One end of a path; unknown facts are `null`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct PathEnd {
    pub(crate) interface: Option<String>,
    pub(crate) mtu: Option<u32>,
    pub(crate) offloads: Vec<String>,
    pub(crate) congestion_control: Option<String>,
}

/// The newest common version.
pub(crate) fn common(ours: [u32; 2], theirs: [u32; 2]) -> Option<u32> {
    let newest = ours[1].min(theirs[1]);
    (newest >= ours[0].max(theirs[0])).then_some(newest)
}

/// Text of the peer without control characters, cut.
pub(crate) fn tame(text: &str) -> String {
    const MOST: usize = 400;
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MOST).collect()
}

pub(crate) fn end_towards(address: IpAddr) -> PathEnd {
    let host = Sysroot::host();
    let Some(interface) = machine::interface_to(&host, address.to_canonical()) else { return PathEnd::default() };
    let offloads = sys::net::offloads(&interface).unwrap_or_default();
    PathEnd {
        // Sysfs may show the interfaces of another network namespace.
        mtu: sys::net::mtu(&interface).ok(),
        offloads: offloads.into_iter().map(str::to_owned).collect(),
        interface: Some(interface),
        congestion_control: None,
    }
}

pub(crate) fn congestion_control(connection: &TcpStream) -> Option<String> {
    let name = SockRef::from(connection).tcp_congestion().ok()?;
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8(name.to_vec()).ok().filter(|name| !name.is_empty())
}

pub(crate) fn family(address: SocketAddr) -> &'static str {
    if address.ip().to_canonical().is_ipv4() { "IPv4" } else { "IPv6" }
}

#[cfg(test)]
mod tests {
    use model::json::FromJson;

    use super::*;

    #[test]
    fn the_newest_common_version_is_spoken() {
        for (ours, theirs, version) in [
            ([1, 1], [1, 1], Some(1)),
            ([1, 3], [2, 5], Some(3)),
            ([2, 5], [1, 3], Some(3)),
            ([1, 1], [2, 2], None),
            ([2, 2], [1, 1], None),
            ([1, 1], [1, 0], None),
            ([1, 1], [0, u32::MAX], Some(1)),
        ] {
            assert_eq!(common(ours, theirs), version, "{ours:?} {theirs:?}");
        }
    }

    #[test]
    fn a_refusal_of_a_later_version_is_read() {
        let text = r#"{"kind":"refused","cause":"weather","reason":"it rains","since":3}"#;
        let refused = ServerMessage::Refused { cause: Cause::Other, reason: "it rains".to_owned() };
        assert_eq!(ServerMessage::from_json(text.as_bytes()).unwrap(), refused);
        assert!(ClientMessage::from_json(br#"{"kind":"sing"}"#).is_err());
    }

    #[test]
    fn what_others_say_does_not_reach_the_terminal_as_it_is() {
        assert_eq!(tame("a\x1b[2Jb\nc"), "a [2Jb c");
        assert_eq!(tame(&"x".repeat(1000)).len(), 400);
    }

    #[test]
    fn the_way_to_ourselves_is_the_loopback_interface() {
        for address in ["127.0.0.1", "::1", "::ffff:127.0.0.1"] {
            let end = end_towards(address.parse().unwrap());
            assert_eq!(end.interface.as_deref(), Some("lo"), "{address}");
            assert!(end.mtu.is_some_and(|mtu| mtu >= 1280), "{end:?}");
        }
        assert_eq!(family("[::ffff:127.0.0.1]:1".parse().unwrap()), "IPv4");
        assert_eq!(family("[::1]:1".parse().unwrap()), "IPv6");
    }
}
