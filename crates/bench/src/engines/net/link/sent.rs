//! What TCP did for the senders of a process run: between two looks at a connection, over windows, and over threads.

use std::net::TcpStream;

use areas::net::tcp_together;
use model::document::TcpConditions;
use sys::net::tcp::{TcpState, tcp_state};
use sys::net::zero_copy::Reported;

use crate::net::messages::TcpSent;

pub(crate) fn between(before: &TcpState, after: &TcpState) -> TcpSent {
    let more = |of: fn(&TcpState) -> Option<f64>| of(before).zip(of(after)).map(|(from, to)| (to - from).max(0.0));
    let retransmits = before.retransmits.zip(after.retransmits).map(|(from, to)| to.saturating_sub(from));
    let tcp = TcpConditions {
        retransmits,
        round_trip_seconds: after.round_trip_seconds,
        least_round_trip_seconds: after.least_round_trip_seconds,
        congestion_window_bytes: after.congestion_window_bytes,
        busy_seconds: more(|state| state.busy_seconds),
        receiver_limited_seconds: more(|state| state.receiver_limited_seconds),
        buffer_limited_seconds: more(|state| state.buffer_limited_seconds),
    };
    TcpSent { tcp, ..TcpSent::default() }
}

/// The same with the kernel's reports of spared copies at either look.
pub(crate) fn with_zero_copies(sent: TcpSent, before: Option<Reported>, after: Option<Reported>) -> TcpSent {
    let Some(after) = after else { return sent };
    let before = before.unwrap_or_default();
    TcpSent {
        zero_copy_sends: Some(after.done.saturating_sub(before.done)),
        copied_sends: Some(after.copied.saturating_sub(before.copied)),
        ..sent
    }
}

/// What a connection did since a look at it, where the kernel reports it.
pub(crate) fn since(before: Option<&TcpState>, connection: &TcpStream) -> Option<TcpSent> {
    Some(between(before?, &tcp_state(connection)?))
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InSamples(Option<TcpSent>);

impl InSamples {
    /// Adds a window, if it is known. The round trip and the congestion window are those at its end.
    pub(crate) fn add(&mut self, window: Option<TcpSent>) -> Option<TcpSent> {
        if let Some(window) = window {
            self.0 = of_all(&[self.0, Some(window)]);
            if let Some(TcpSent { tcp, .. }) = &mut self.0 {
                tcp.round_trip_seconds = window.tcp.round_trip_seconds;
                tcp.congestion_window_bytes = window.tcp.congestion_window_bytes;
            }
        }
        self.0
    }
}

/// Of all windows or senders that are known.
pub(crate) fn of_all(all: &[Option<TcpSent>]) -> Option<TcpSent> {
    let all = || all.iter().flatten();
    Some(TcpSent {
        tcp: tcp_together(all().map(|one| &one.tcp))?,
        zero_copy_sends: all().map(|one| one.zero_copy_sends).sum(),
        copied_sends: all().map(|one| one.copied_sends).sum(),
    })
}

/// Share of the sends with `MSG_ZEROCOPY` whose copy was spared, if there were any.
pub(crate) fn zero_copied_share(all: &TcpSent) -> Option<f64> {
    let (sends, copied) = all.zero_copy_sends.zip(all.copied_sends)?;
    (sends > 0).then(|| sends.saturating_sub(copied) as f64 / sends as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(retransmits: u64, busy: f64, round_trip: f64) -> TcpState {
        TcpState {
            retransmits: Some(retransmits),
            round_trip_seconds: Some(round_trip),
            least_round_trip_seconds: Some(round_trip / 2.0),
            congestion_window_bytes: Some(14_480),
            busy_seconds: Some(busy),
            receiver_limited_seconds: Some(busy / 2.0),
            ..TcpState::default()
        }
    }

    #[test]
    fn a_windows_counts_are_the_difference_and_its_round_trip_the_last() {
        let sent = between(&state(5, 1.0, 0.1), &state(12, 3.0, 0.4)).tcp;
        assert_eq!((sent.retransmits, sent.busy_seconds, sent.round_trip_seconds), (Some(7), Some(2.0), Some(0.4)));
        assert_eq!((sent.receiver_limited_seconds, sent.buffer_limited_seconds), (Some(1.0), None));
        assert_eq!(between(&state(5, 3.0, 0.1), &state(4, 2.0, 0.1)).tcp.retransmits, Some(0), "never less than none");
        let unknown = between(&TcpState::default(), &state(12, 3.0, 0.4)).tcp;
        assert_eq!((unknown.retransmits, unknown.busy_seconds), (None, None));
    }

    #[test]
    fn windows_and_threads_add_up() {
        let mut samples = InSamples::default();
        assert_eq!(samples.add(None), None);
        let first = between(&state(0, 0.0, 0.9), &state(3, 1.0, 0.9));
        let second = between(&state(3, 1.0, 0.9), &state(4, 2.0, 0.2));
        assert_eq!(samples.add(Some(first)), Some(first));
        let sum = samples.add(Some(second)).unwrap();
        let tcp = sum.tcp;
        assert_eq!((tcp.retransmits, tcp.busy_seconds, tcp.round_trip_seconds), (Some(4), Some(2.0), Some(0.2)));
        assert_eq!(tcp.least_round_trip_seconds, Some(0.1), "of both windows");
        let all = of_all(&[None, Some(sum), Some(first)]).unwrap().tcp;
        assert_eq!((all.retransmits, all.round_trip_seconds, all.busy_seconds), (Some(7), Some(0.9), Some(3.0)));
        assert_eq!(all.congestion_window_bytes, Some(14_480));
        assert_eq!(of_all(&[None, None]), None);
        let unknown = TcpSent { tcp: TcpConditions { retransmits: None, ..tcp }, ..sum };
        assert_eq!(of_all(&[Some(unknown), Some(sum)]).unwrap().tcp.retransmits, None, "one that is not known is no 0");
    }

    #[test]
    fn spared_copies_are_a_share_of_those_asked_for() {
        let sent = between(&state(0, 0.0, 1.0), &state(0, 1.0, 1.0));
        assert_eq!(zero_copied_share(&sent), None, "nobody asked");
        let completions = |(done, copied)| Reported { done, copied };
        let share = |before: Option<(u64, u64)>, after: Option<(u64, u64)>| {
            zero_copied_share(&with_zero_copies(sent, before.map(completions), after.map(completions)))
        };
        assert_eq!(share(None, Some((8, 2))), Some(0.75));
        assert_eq!(share(Some((8, 2)), Some((12, 6))), Some(0.0));
        assert_eq!(share(Some((8, 2)), Some((8, 2))), None, "none was reported");
        assert_eq!(share(Some((8, 2)), None), None);
    }
}
