//! At most one line per address and minute about rejected connections, with the number of those left out since the last one.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Mutex;

use crate::locks::lock;
use crate::net::strangers::origin;

const SECONDS_BETWEEN: f64 = 60.0;
/// Further addresses share one line.
const MOST_ADDRESSES: usize = 1024;

#[derive(Debug, Default)]
pub(super) struct RejectionLog(Mutex<BTreeMap<IpAddr, Line>>);

#[derive(Debug)]
struct Line {
    written: f64,
    left_out: u32,
}

impl RejectionLog {
    /// The number of lines left out about this address, if its next line is due `now`.
    pub(super) fn due(&self, from: IpAddr, now: f64) -> Option<u32> {
        let mut lines = lock(&self.0);
        let mut address = origin(from);
        if lines.len() >= MOST_ADDRESSES && !lines.contains_key(&address) {
            lines.retain(|_, line| now - line.written < SECONDS_BETWEEN);
            if lines.len() >= MOST_ADDRESSES {
                address = Ipv6Addr::UNSPECIFIED.into();
            }
        }
        let Some(line) = lines.get_mut(&address) else {
            lines.insert(address, Line { written: now, left_out: 0 });
            return Some(0);
        };
        if now - line.written < SECONDS_BETWEEN {
            line.left_out = line.left_out.saturating_add(1);
            return None;
        }
        line.written = now;
        Some(std::mem::take(&mut line.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_one_line_a_minute_with_the_number_left_out() {
        let (log, first, second) = (RejectionLog::default(), [192, 0, 2, 1].into(), [192, 0, 2, 2].into());
        assert_eq!(log.due(first, 5.0), Some(0));
        assert_eq!([log.due(first, 6.0), log.due(first, 64.9)], [None; 2]);
        assert_eq!(log.due(second, 7.0), Some(0), "another address has its own line");
        assert_eq!([log.due(first, 65.0), log.due(first, 66.0), log.due(first, 125.0)], [Some(2), None, Some(1)]);
    }

    #[test]
    fn many_addresses_take_bounded_memory_and_share_a_line() {
        let log = RejectionLog::default();
        let address = |number: u32| IpAddr::from(number.to_be_bytes());
        let written = (0..5000).filter(|number| log.due(address(*number), 1.0).is_some()).count();
        assert_eq!(written, MOST_ADDRESSES + 1);
        assert_eq!(lock(&log.0).len(), MOST_ADDRESSES + 1);
        assert_eq!(log.due(address(9999), 100.0), Some(0), "expired lines make room");
    }
}
