//! Settings of the connections that carry messages.

use std::io;
use std::net::TcpStream;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};

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
