//! Messages of a process run on its control connection: the client asks, the server answers.
//! Fields may be added, unknown ones are ignored; an unknown message is an error.

use model::document::TcpConditions;
use model::experiment::NetParams;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum RunRequest {
    Open(Box<Opening>),
    /// Announces a window. Data outside it does not count.
    Window(Announced),
    /// Asks for the counts of a window that has ended at the client.
    Count(Asked),
    /// Heartbeat. A sender of datagrams stops without it.
    Alive,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Opening {
    pub(crate) params: NetParams,
    pub(crate) most_seconds: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Announced {
    /// Counted from 1, warm-up included.
    pub(crate) number: u32,
    /// Start in seconds after this is read.
    pub(crate) begins_in_seconds: f64,
    /// Length; `null`: until [`RunRequest::Count`].
    pub(crate) seconds: Option<f64>,
    /// Bytes that the server sends over all threads, per second if the window has a length, else in all; `null`: unlimited.
    pub(crate) bytes: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Asked {
    pub(crate) number: u32,
    /// Bytes sent so far on each data connection: the server waits briefly for them. Empty: no wait.
    #[serde(default)]
    pub(crate) sent_bytes: Vec<u64>,
}

model::from_tagged_json!(RunRequest {
    "open" => Open(value),
    "window" => Window(value),
    "count" => Count(value),
    "alive" => Alive,
});

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum RunReply {
    Opened(Box<Opened>),
    /// All data connections have arrived.
    Complete,
    Counted(Counts),
    /// Bytes are still arriving; the answer takes longer.
    Arriving,
    /// The last announced window without a length has begun.
    Begun {
        number: u32,
    },
    /// The process run has ended.
    Refused {
        reason: String,
    },
}

model::from_tagged_json!(RunReply {
    "opened" => Opened(value),
    "complete" => Complete,
    "counted" => Counted(value),
    "arriving" => Arriving,
    "begun" => Begun { number: u32 },
    "refused" => Refused { reason: String },
});

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Opened {
    /// Token of data connections.
    pub(crate) token: String,
    /// CPU of each thread, in the order of the data connections.
    pub(crate) cpus: Vec<u32>,
    pub(crate) congestion_control: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Counts {
    pub(crate) number: u32,
    pub(crate) threads: Vec<Counted>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Counted {
    /// Window length by its clock; without an end, until the last byte.
    pub(crate) seconds: f64,
    /// Bytes received, or sent by a sender.
    pub(crate) bytes: u64,
    /// Receives or datagrams; a sender's sends.
    pub(crate) messages: u64,
    /// CPU seconds of the thread, if known.
    pub(crate) cpu_seconds: Option<f64>,
    /// `null` for a byte stream.
    pub(crate) datagrams: Option<Datagrams>,
    /// `null` for a receiver and for UDP.
    pub(crate) tcp: Option<TcpSent>,
}

/// A sender's TCP statistics in a window; `null` if unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct TcpSent {
    #[serde(flatten)]
    pub(crate) tcp: TcpConditions,
    /// Completed zero-copy sends; `null` if none were requested.
    pub(crate) zero_copy_sends: Option<u64>,
    /// Zero-copy sends that the kernel copied.
    pub(crate) copied_sends: Option<u64>,
}

/// Datagrams of a flow in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Datagrams {
    /// Sent in the window; 0 for a receiver.
    pub(crate) sent: u64,
    /// Of these, arrived, each counted once; 0 for a sender.
    pub(crate) came: u64,
    pub(crate) duplicates: u64,
    pub(crate) reordered: u64,
    /// Interarrival jitter by RFC 3550, in seconds; `null` for batches or without arrivals.
    pub(crate) jitter_seconds: Option<f64>,
    #[serde(default)]
    pub(crate) offloaded: bool,
    #[serde(default)]
    pub(crate) batched: bool,
}
