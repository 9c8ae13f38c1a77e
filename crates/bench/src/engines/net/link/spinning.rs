//! Waiting without sleep: a socket is asked again and again. No wake-up costs time, but a CPU is busy at each end.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::thread;

use model::io::Wait;

/// Empty answers in a row, about a tenth of a millisecond, before the CPU is yielded to a peer that may need it.
const SPINS: u32 = 256;
/// For how long a receive polls the device's queue (`Documentation/admin-guide/sysctl/net.rst`, `busy_read`).
const POLL_MICROSECONDS: u32 = 50;

pub(crate) fn poll_device(socket: &impl AsFd, wait: Wait) -> Option<u32> {
    (wait == Wait::Spinning).then(|| sys::net::wait::busy_poll(socket, POLL_MICROSECONDS)).flatten()
}

/// Asks until the answer is not `WouldBlock`; `TimedOut` once it is hopeless, which is checked now and then.
#[inline]
pub(crate) fn again<T>(mut ask: impl FnMut() -> io::Result<T>, mut is_hopeless: impl FnMut() -> bool) -> io::Result<T> {
    let mut empty = 0_u32;
    loop {
        match ask() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                empty = empty.wrapping_add(1);
                if empty.is_multiple_of(SPINS) {
                    if is_hopeless() {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                    thread::yield_now();
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            answer => return answer,
        }
    }
}

pub(crate) struct Spinning<'a, F> {
    pub(crate) stream: &'a TcpStream,
    pub(crate) hopeless: F,
}

impl<F: FnMut() -> bool> Read for Spinning<'_, F> {
    #[inline]
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let mut stream = self.stream;
        again(|| stream.read(bytes), &mut self.hopeless)
    }
}

impl<F: FnMut() -> bool> Write for Spinning<'_, F> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut stream = self.stream;
        again(|| stream.write(bytes), &mut self.hopeless)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_empty_is_asked_again_until_it_is_hopeless() {
        let nothing = || io::Error::from(io::ErrorKind::WouldBlock);
        let mut asked = 0;
        let answer = again(
            || {
                asked += 1;
                if asked < 1000 { Err(nothing()) } else { Ok(asked) }
            },
            || false,
        );
        assert_eq!(answer.unwrap(), 1000);
        let mut looks = 0;
        let given_up = again(
            || Err::<(), _>(nothing()),
            || {
                looks += 1;
                looks == 3
            },
        );
        assert_eq!(given_up.unwrap_err().kind(), io::ErrorKind::TimedOut);
        let failed = again(|| Err::<(), _>(io::ErrorKind::BrokenPipe.into()), || unreachable!("it is an answer"));
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
