//! A server's address as users write it: `HOST`, `HOST:PORT`, `[IPv6]:PORT`.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};

use model::experiment::LOOPBACK;

pub const PORT: u16 = 5211;
const LOOPBACK_INTERFACE: &str = "lo";
const LOOPBACK_ADDRESSES: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
/// Maximum length of a host name (RFC 1035, 2.3.4).
const MOST_NAME_BYTES: usize = 255;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The host as written.
    pub host: String,
    port: u16,
}

impl Target {
    pub fn parse(text: &str) -> Result<Self, String> {
        let (host, port) = split(text)?;
        let port = port.unwrap_or(PORT);
        if port == 0 {
            return Err(format!("'{text}' has port 0; use 1 to 65535"));
        }
        if host == LOOPBACK {
            return Err(format!("'{LOOPBACK}' measures within this machine; omit --to, or give an address"));
        }
        Ok(Self { host, port })
    }

    pub(super) fn addresses(&self) -> Result<Vec<SocketAddr>, String> {
        let cannot = |why: &dyn std::fmt::Display| {
            format!("'{}' cannot be resolved: {why}; check the spelling, or give an address", self.host)
        };
        let found: io::Result<Vec<SocketAddr>> =
            (self.host.as_str(), self.port).to_socket_addrs().map(Iterator::collect);
        match found {
            Ok(addresses) if addresses.is_empty() => Err(cannot(&"the name has no address record")),
            Ok(addresses) => Ok(addresses),
            Err(error) => Err(cannot(&error)),
        }
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// The address of the loopback interface: 127.0.0.1, or `::1` on a host without IPv4.
pub(crate) fn loopback() -> IpAddr {
    LOOPBACK_ADDRESSES.into_iter().find(is_reachable).unwrap_or(LOOPBACK_ADDRESSES[0])
}

/// Why nothing can be measured over loopback, with the command that mends it; `None` if it can.
pub(crate) fn no_loopback() -> Option<String> {
    if LOOPBACK_ADDRESSES.iter().any(is_reachable) {
        return None;
    }
    Some(match sys::net::is_up(LOOPBACK_INTERFACE) {
        Ok(false) => "lo is down: ip link set lo up".to_owned(),
        Ok(true) => "lo has no address: ip addr add 127.0.0.1/8 dev lo".to_owned(),
        Err(error) => format!("the loopback interface lo is not available: {error}"),
    })
}

/// Whether this address exists and has a route. An error of a firewall, which may forbid UDP alone, is no reason.
fn is_reachable(address: &IpAddr) -> bool {
    let connected = UdpSocket::bind((*address, 0)).and_then(|socket| socket.connect((*address, PORT)));
    connected.err().is_none_or(|error| error.kind() == io::ErrorKind::PermissionDenied)
}

/// The address to listen on: `ADDR` or `ADDR:PORT`; loopback by default.
pub fn listen_address(text: Option<&str>) -> Result<SocketAddr, String> {
    let Some(text) = text else { return Ok((loopback(), PORT).into()) };
    let (host, port) = split(text)?;
    let address: IpAddr = host.parse().map_err(|_| {
        format!("'{host}' is not an address to listen on; use an address of this machine, 0.0.0.0 or ::")
    })?;
    Ok((address, port.unwrap_or(PORT)).into())
}

fn split(text: &str) -> Result<(String, Option<u16>), String> {
    let wrong = || format!("'{text}' is not HOST or HOST:PORT; write an IPv6 address with a port as [ADDRESS]:PORT");
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']').ok_or_else(wrong)?;
            match rest {
                "" => (host, None),
                rest => (host, Some(rest.strip_prefix(':').ok_or_else(wrong)?)),
            }
        }
        // Several colons: an IPv6 address without a port.
        None if text.matches(':').count() > 1 => (text, None),
        None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
    };
    let odd = |c: char| c.is_whitespace() || c.is_control() || "/[]".contains(c);
    if host.is_empty() || host.len() > MOST_NAME_BYTES || host.contains(odd) {
        return Err(wrong());
    }
    let digits = |port: &&str| port.bytes().all(|byte| byte.is_ascii_digit());
    let port = match port {
        Some(port) => Some(Some(port).filter(digits).and_then(|port| port.parse().ok()).ok_or_else(wrong)?),
        None => None,
    };
    Ok((host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_a_port_or_the_usual_one() {
        for (text, host, port, shown) in [
            ("node7", "node7", 5211, "node7:5211"),
            ("node7:80", "node7", 80, "node7:80"),
            ("192.0.2.1:65535", "192.0.2.1", 65535, "192.0.2.1:65535"),
            ("::1", "::1", 5211, "[::1]:5211"),
            ("[::1]", "::1", 5211, "[::1]:5211"),
            ("[fe80::1%eth0]:5300", "fe80::1%eth0", 5300, "[fe80::1%eth0]:5300"),
        ] {
            let target = Target::parse(text).unwrap();
            assert_eq!((target.host.as_str(), target.port), (host, port), "{text}");
            assert_eq!(target.to_string(), shown);
        }
    }

    #[test]
    fn what_is_no_host_and_port_has_its_sentence() {
        let long = "x".repeat(256);
        for text in
            ["", ":5211", "a:", "a:b", "a:+5", "a:70000", "a:0", "[::1", "[::1]5", "[]:5", "a b", "http://a", &long]
        {
            let error = Target::parse(text).unwrap_err();
            assert!(error.contains(text), "{text}: {error}");
        }
        assert!(Target::parse("loopback").unwrap_err().contains("omit --to"));
    }

    #[test]
    fn a_server_listens_on_addresses() {
        let listen = |text| listen_address(text).map(|address| address.to_string());
        assert_eq!(listen(None).unwrap(), "127.0.0.1:5211");
        assert_eq!(listen(Some("0.0.0.0")).unwrap(), "0.0.0.0:5211");
        assert_eq!(listen(Some("[::]:80")).unwrap(), "[::]:80");
        assert_eq!(listen(Some("127.0.0.1:0")).unwrap(), "127.0.0.1:0");
        assert!(listen(Some("node7")).unwrap_err().contains("'node7'"));
    }

    #[test]
    fn a_name_without_an_address_has_its_sentence() {
        // Names under .invalid never resolve (RFC 2606).
        let error = Target::parse("no-such-host.invalid").unwrap().addresses().unwrap_err();
        assert!(error.contains("'no-such-host.invalid'"), "{error}");
        assert_eq!(Target::parse("127.0.0.1:7").unwrap().addresses().unwrap(), ["127.0.0.1:7".parse().unwrap()]);
    }
}
