//! What the two ends of a launch say to each other on their control connection, one frame a message.
//!
//! The near end asks, the far one answers: it opens, says when each window of time is, and asks what was counted in it.
//! Fields may be added, unknown ones are ignored; a message that is not known is an error.

use model::experiment::NetParams;
use serde::{Deserialize, Serialize};

/// From the near end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum RunRequest {
    /// First of all: what is going to be measured.
    Open(Box<Opening>),
    /// A window is coming. Data may flow before it and after it, and does not count.
    Window(Announced),
    /// What did you count in this window? Asked once it is over at the near end.
    Count(Asked),
    /// I am still here. Who sends datagrams, which nobody acknowledges, stops where nothing is heard.
    Alive,
}

/// What is going to be measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Opening {
    /// The experiment.
    pub(crate) params: NetParams,
    /// The longest that the launch can take, in seconds: by then it is over, whatever happened.
    pub(crate) most_seconds: f64,
}

/// A window of time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Announced {
    /// Its number, counted from 1 over the launch, those of the warm-up included.
    pub(crate) number: u32,
    /// When it begins, in seconds from the moment that this is read.
    pub(crate) begins_in_seconds: f64,
    /// How long it is; `null`: until [`RunRequest::Count`] comes.
    pub(crate) seconds: Option<f64>,
    /// Bytes of data that the far end sends in it, over all threads: as many a second where the window has an end, else
    /// as many in all; `null`: as many as go.
    #[serde(default)]
    pub(crate) bytes: Option<f64>,
}

/// Which window's figures are wanted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Asked {
    /// The window.
    pub(crate) number: u32,
    /// Bytes that the near end has sent on each data connection since the launch began, in their order: the far end
    /// waits until they have come, for a moment, before it answers. Empty where nothing is to be waited for.
    #[serde(default)]
    pub(crate) sent_bytes: Vec<u64>,
}

/// From the far end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum RunReply {
    /// Data connections are welcome.
    Opened(Box<Opened>),
    /// All data connections are there, and threads wait at them.
    Complete,
    /// What was counted.
    Counted(Counts),
    /// Asked what was counted, and bytes that were sent are still coming: the answer takes longer.
    Arriving,
    /// The window without an end that was announced last has begun: what comes from now on counts.
    PartialPreface {
        /// The window.
        number: u32,
    },
    /// Cannot be done, or went wrong: the launch is over.
    Refused {
        /// Why, in a sentence.
        reason: String,
    },
}

/// What the far end has made ready.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Opened {
    /// What each data connection begins with.
    pub(crate) token: String,
    /// The CPU of each of its threads, in the order of the data connections.
    pub(crate) cpus: Vec<u32>,
    /// Congestion control of its TCP sockets.
    #[serde(default)]
    pub(crate) congestion_control: Option<String>,
}

/// What was counted in one window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Counts {
    /// The window.
    pub(crate) number: u32,
    /// For each data connection.
    pub(crate) threads: Vec<Counted>,
}

/// What one thread of the far end counted in a window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Counted {
    /// Length of the window by its clock, in seconds; for one without an end, until the last byte.
    pub(crate) seconds: f64,
    /// Bytes of data that came; of a sender, that left.
    pub(crate) bytes: u64,
    /// Receives, or datagrams; of a sender, sends.
    pub(crate) messages: u64,
    /// CPU seconds of the thread in the window; `null` where the kernel does not say.
    #[serde(default)]
    pub(crate) cpu_seconds: Option<f64>,
    /// What became of datagrams; `null` of a byte stream.
    #[serde(default)]
    pub(crate) datagrams: Option<Datagrams>,
    /// What TCP did for a sender; `null` of a receiver, and of UDP.
    #[serde(default)]
    pub(crate) tcp: Option<TcpSent>,
}

/// What TCP did for one sender in a window; `null` each where the kernel does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct TcpSent {
    /// Segments that were sent again.
    pub(crate) retransmits: Option<u64>,
    /// Smoothed round trip at its end, in seconds.
    pub(crate) round_trip_seconds: Option<f64>,
    /// The least round trip lately, in seconds.
    pub(crate) least_round_trip_seconds: Option<f64>,
    /// Bytes in flight that the congestion control allowed at its end.
    pub(crate) congestion_window_bytes: Option<u64>,
    /// Seconds with data in flight.
    pub(crate) busy_seconds: Option<f64>,
    /// Of these, seconds in which the receiver's window was full.
    pub(crate) receiver_limited_seconds: Option<f64>,
    /// Of these, seconds in which the send buffer was full.
    pub(crate) buffer_limited_seconds: Option<f64>,
    /// Sends whose copy was asked to be spared and of which the kernel has told what became; `null` where none was.
    pub(crate) zero_copy_sends: Option<u64>,
    /// Of these, those that were copied all the same.
    pub(crate) copied_sends: Option<u64>,
}

/// What became of the datagrams of one flow in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Datagrams {
    /// Those that were sent in the window; of a receiver, 0.
    pub(crate) sent: u64,
    /// Those of them that came, each counted once; of a sender, 0.
    pub(crate) came: u64,
    /// Those that came once more.
    pub(crate) duplicates: u64,
    /// Those that came after one that had been sent later.
    pub(crate) reordered: u64,
    /// Interarrival jitter by RFC 3550, in seconds; `null` where datagrams come in batches or nothing came.
    pub(crate) jitter_seconds: Option<f64>,
    /// Whether they are sent, or received, with segmentation offload.
    #[serde(default)]
    pub(crate) offloaded: bool,
    /// Whether they are sent, or received, several a system call.
    #[serde(default)]
    pub(crate) batched: bool,
}
