//! What a client and a server say to each other on the connection of a session, one frame a message: who they are, whether
//! they know the same key, how long the queue is, and that both are still there.
//!
//! Fields may be added, unknown ones are ignored. `Refused` is read by every version, as it says why there is no talk.

use model::machine::Machine;
use serde::{Deserialize, Serialize};

/// The versions of these words, and of those of launches ([`super::messages`]), that this program speaks: from the oldest
/// to the newest.
pub(crate) const VERSIONS: [u32; 2] = [1, 1];

/// The longest message of somebody who has not proven anything yet, in bytes.
pub(crate) const MOST_BYTES_BEFORE: usize = 4096;

/// From the client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum ClientMessage {
    /// First of all.
    Hello(Hello),
    /// That it knows the key.
    Proof {
        /// The proof; `null` where no key is needed.
        proof: Option<String>,
    },
    /// Still there.
    Alive,
}

/// Who asks to be let in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Hello {
    /// The oldest and the newest version that it speaks.
    pub(crate) versions: [u32; 2],
    /// Version of its program.
    pub(crate) program: String,
    /// What it can do beside what its version says.
    #[serde(default)]
    pub(crate) capabilities: Vec<String>,
    /// A number that it uses once: 32 hexadecimal digits.
    pub(crate) nonce: String,
}

/// From the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum ServerMessage {
    /// The answer to the first word.
    Welcome(Welcome),
    /// The client is known; the server's proof that it is the one.
    Known {
        /// The proof; `null` where no key is needed.
        proof: Option<String>,
    },
    /// Others measure.
    Queued {
        /// How many clients come before this one, those who measure among them.
        ahead: u32,
    },
    /// It is this client's turn.
    Admitted(Box<Admitted>),
    /// Still there.
    Alive,
    /// The session does not come about.
    Refused {
        /// Of which kind the reason is.
        cause: Cause,
        /// The reason, in a sentence.
        reason: String,
    },
    /// The session is over before the client ended it.
    Over {
        /// Why, in a sentence.
        reason: String,
    },
}

/// Why a session does not come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Cause {
    /// The two do not speak a common version.
    Version,
    /// The key is missing, or is not the server's.
    Key,
    /// Too many wait already.
    Full,
    /// Another one, or one of a later version.
    #[serde(other)]
    Other,
}

/// Who answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Welcome {
    /// The version that both will speak.
    pub(crate) version: u32,
    /// Version of its program.
    pub(crate) program: String,
    /// The ways of measuring that it serves (`NetMode`).
    #[serde(default)]
    pub(crate) capabilities: Vec<String>,
    /// A number that it uses once: 32 hexadecimal digits.
    pub(crate) nonce: String,
    /// Whether it lets in only who knows its key.
    pub(crate) key_needed: bool,
}

/// A client whose turn it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Admitted {
    /// What lets its launches in.
    pub(crate) token: String,
    /// How far it may go.
    pub(crate) limits: Limits,
    /// The server's end of the path.
    pub(crate) path: PathEnd,
    /// The server's machine.
    pub(crate) machine: Machine,
}

/// How far a client may go.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Limits {
    /// The longest session, in seconds.
    pub most_seconds: f64,
    /// The most data connections of a launch.
    pub most_flows: u32,
    /// The largest block, in bytes.
    pub most_block_bytes: u64,
    /// The most that the server sends by UDP, in bytes of data per second; `null`: as much as goes.
    pub udp_bytes_per_second: Option<f64>,
}

impl Limits {
    /// Those of an end that serves its own run only.
    pub(crate) const fn none() -> Self {
        /// A day: what a window of time may take at most.
        const MOST_SECONDS: f64 = 86_400.0;
        Self {
            most_seconds: MOST_SECONDS,
            most_flows: u32::MAX,
            most_block_bytes: u64::MAX,
            udp_bytes_per_second: None,
        }
    }
}

/// One end of a path. Absent facts are `null`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct PathEnd {
    /// The interface that leads to the other end.
    pub(crate) interface: Option<String>,
    /// Its largest packet, in bytes.
    pub(crate) mtu: Option<u32>,
    /// Its offloads that are on.
    pub(crate) offloads: Vec<String>,
    /// Congestion control of TCP sockets.
    pub(crate) congestion_control: Option<String>,
}

/// The newest version that both speak; `None` if there is none.
pub(crate) fn common(ours: [u32; 2], theirs: [u32; 2]) -> Option<u32> {
    let newest = ours[1].min(theirs[1]);
    (newest >= ours[0].max(theirs[0])).then_some(newest)
}

/// What somebody else has written, fit for a line of ours: no control characters, and not long.
pub(crate) fn tame(text: &str) -> String {
    const MOST: usize = 400;
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MOST).collect()
}

#[cfg(test)]
mod tests {
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
        assert_eq!(serde_json::from_str::<ServerMessage>(text).unwrap(), refused);
        assert!(serde_json::from_str::<ClientMessage>(r#"{"kind":"sing"}"#).is_err());
    }

    #[test]
    fn what_others_say_does_not_reach_the_terminal_as_it_is() {
        assert_eq!(tame("a\x1b[2Jb\nc"), "a [2Jb c");
        assert_eq!(tame(&"x".repeat(1000)).len(), 400);
    }
}
