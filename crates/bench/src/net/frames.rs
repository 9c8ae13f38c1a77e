//! Frames of a control connection: a length in four big-endian bytes, then JSON. Length and time are bounded.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use model::json::FromJson;
use serde::Serialize;
use serde_json::Value;
use socket2::{SockRef, TcpKeepalive};
use sys::clock::monotonic_raw_seconds;

/// Maximum length. The longest message, a machine's facts, takes about 20 kB.
pub(crate) const MOST_FRAME_BYTES: usize = 256 << 10;

#[derive(Debug, thiserror::Error)]
pub(crate) enum NoFrame {
    #[error("it closed the connection")]
    Ended,
    #[error("it closed the connection in the middle of a message")]
    Half,
    #[error("it did not answer in time")]
    Late,
    #[error("it announced a message of {0} bytes, which is too long")]
    TooLong(u32),
    #[error("it sent an invalid message: {0}")]
    Garbage(String),
    #[error(transparent)]
    Failed(io::Error),
}

/// Sends a message; the connection's write timeout applies.
pub(crate) fn write(mut stream: &TcpStream, message: &impl Serialize) -> io::Result<()> {
    let body = serde_json::to_vec(message)?;
    let length = u32::try_from(body.len()).ok().filter(|_| body.len() <= MOST_FRAME_BYTES);
    let length = length.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the message is too long"))?;
    // In one write: a second one would wait for the first's acknowledgement.
    stream.write_all(&[&length.to_be_bytes()[..], &body].concat())
}

pub(crate) fn read<T: FromJson>(stream: &TcpStream, within: Duration) -> Result<T, NoFrame> {
    read_at_most(stream, within, MOST_FRAME_BYTES)
}

pub(crate) fn read_at_most<T: FromJson>(stream: &TcpStream, within: Duration, most_bytes: usize) -> Result<T, NoFrame> {
    let deadline = monotonic_raw_seconds() + within.as_secs_f64();
    let mut length = [0; 4];
    fill(stream, &mut length, deadline, true)?;
    let length = u32::from_be_bytes(length);
    let bytes = usize::try_from(length).ok().filter(|bytes| *bytes <= most_bytes);
    let mut body = vec![0; bytes.ok_or(NoFrame::TooLong(length))?];
    fill(stream, &mut body, deadline, false)?;
    parse(&body)
}

/// Parses a message. Its text may be printed and stored, so control characters become spaces.
pub(crate) fn parse<T: FromJson>(body: &[u8]) -> Result<T, NoFrame> {
    let garbage = |error: serde_json::Error| NoFrame::Garbage(error.to_string());
    let mut message: Value = serde_json::from_slice(body).map_err(garbage)?;
    make_plain(&mut message);
    T::from_json(&serde_json::to_vec(&message).map_err(garbage)?).map_err(garbage)
}

fn make_plain(value: &mut Value) {
    match value {
        Value::String(text) if text.chars().any(char::is_control) => {
            *text = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        }
        Value::Array(values) => values.iter_mut().for_each(make_plain),
        Value::Object(fields) => fields.iter_mut().for_each(|(_, value)| make_plain(value)),
        _ => {}
    }
}

/// Reads until the deadline; `first`: nothing of the frame has arrived yet.
fn fill(mut stream: &TcpStream, mut bytes: &mut [u8], deadline: f64, first: bool) -> Result<(), NoFrame> {
    let whole = bytes.len();
    while !bytes.is_empty() {
        let left = deadline - monotonic_raw_seconds();
        if left <= 0.0 {
            return Err(NoFrame::Late);
        }
        // A timeout of zero would mean none.
        let left = Duration::from_secs_f64(left).max(Duration::from_millis(1));
        stream.set_read_timeout(Some(left)).map_err(NoFrame::Failed)?;
        match stream.read(bytes) {
            Ok(0) if first && bytes.len() == whole => return Err(NoFrame::Ended),
            Ok(0) => return Err(NoFrame::Half),
            Ok(count) => bytes = &mut std::mem::take(&mut bytes)[count..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Err(NoFrame::Ended),
            Err(error) => return Err(NoFrame::Failed(error)),
        }
    }
    Ok(())
}

/// Time without an answer after which the peer counts as lost.
pub(crate) const SILENCE: Duration = Duration::from_secs(5);

/// Makes the kernel detect a lost peer within seconds, even while idle.
pub(crate) fn watch_over(control: &TcpStream) -> io::Result<()> {
    let alive = TcpKeepalive::new().with_time(SILENCE).with_interval(Duration::from_secs(1)).with_retries(5);
    let socket = SockRef::from(control);
    socket.set_tcp_keepalive(&alive)?;
    socket.set_tcp_user_timeout(Some(2 * SILENCE))?;
    control.set_nodelay(true)?;
    control.set_write_timeout(Some(SILENCE))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (near, listener.accept().unwrap().0)
    }

    /// Any message.
    #[derive(Debug, PartialEq, serde::Serialize)]
    struct Anything(Value);

    impl FromJson for Anything {
        fn from_json(text: &[u8]) -> serde_json::Result<Self> {
            serde_json::from_slice(text).map(Self)
        }
    }

    /// Reads these bytes, followed by the end if `close`.
    fn read_of(bytes: &[u8], close: bool) -> Result<Anything, NoFrame> {
        let (mut near, far) = pair();
        near.write_all(bytes).unwrap();
        let _kept = (!close).then_some(near);
        read(&far, Duration::from_millis(50))
    }

    #[test]
    fn a_message_reads_back() {
        let (near, far) = pair();
        for message in [serde_json::json!([1, 2, 3]), serde_json::json!({})] {
            write(&near, &message).unwrap();
            assert_eq!(read::<Anything>(&far, Duration::from_secs(5)).unwrap(), Anything(message));
        }
    }

    #[test]
    fn everything_that_is_no_message_has_its_sentence() {
        assert!(matches!(read_of(&[], true), Err(NoFrame::Ended)));
        assert!(matches!(read_of(&[0, 0], true), Err(NoFrame::Half)));
        assert!(matches!(read_of(&[0, 0, 0, 9, b'['], true), Err(NoFrame::Half)));
        assert!(matches!(read_of(&[0, 0], false), Err(NoFrame::Late)));
        assert!(matches!(read_of(&[0, 0, 0, 9, b'['], false), Err(NoFrame::Late)));
        assert!(matches!(read_of(&[0xff; 9], false), Err(NoFrame::TooLong(u32::MAX))));
        assert!(matches!(read_of(&[0, 0, 0, 2, b'{', b'{'], false), Err(NoFrame::Garbage(_))));
        assert!(matches!(read_of(b"\0\0\0\x02\xff\xff", false), Err(NoFrame::Garbage(_))));
        assert!(NoFrame::TooLong(7).to_string().contains("7 bytes"));
    }

    #[test]
    fn what_the_other_end_writes_steers_no_terminal() {
        let written = serde_json::json!({"host": "a\u{1b}[2Jb", "caches": [{"name": "L1\r\n"}], "fine": "ä ∞"});
        let Anything(read) = parse(written.to_string().as_bytes()).unwrap();
        assert_eq!(read, serde_json::json!({"host": "a [2Jb", "caches": [{"name": "L1  "}], "fine": "ä ∞"}));
    }

    #[test]
    fn what_is_too_long_is_not_sent() {
        let (near, _far) = pair();
        let error = write(&near, &"x".repeat(MOST_FRAME_BYTES)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }
}
