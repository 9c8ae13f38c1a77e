//! A node's door: `assay net serve` as a child of the node's worker, the file that tells other nodes where it is, and the
//! key to it, which is drawn anew each time that a door is opened and taken away when it is closed.
//!
//! A door is open while its file is renewed. The server ends with its worker, however that ends.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, SystemTime};

use machine::{OwnAddress, Sysroot, own_addresses};
use model::cluster::{Claim, Door};
use rustix::process::{Pid, Signal, kill_process};
use rustix::rand::{GetRandomFlags, getrandom};
use sys::clock::monotonic_raw_seconds;

use super::folder::{self, Folder, cannot_write, read};

/// The file that tells where a door is.
const DOOR: &str = "door.json";
/// What the name of a key's file begins and ends with; between them is the claim's name.
const KEY: (&str, &str) = ("door-", ".key");
/// Bytes of a key: 256 bits.
const KEY_BYTES: usize = 32;
/// How long a server may take until it listens. It needs milliseconds on an idle machine.
const LISTEN_TIME: Duration = Duration::from_secs(30);
/// How long a server may take to end.
const END_SECONDS: f64 = 3.0;
/// How long we try to reach an address: between nodes of a cluster a connection takes milliseconds, and what a firewall
/// drops is never answered.
const REACH_TIME: Duration = Duration::from_secs(2);

/// Our own door, open until this is dropped.
#[derive(Debug)]
pub(super) struct OpenDoor {
    server: Child,
    /// Kept open, since a server that cannot say something any more would be ended by that.
    _said: Receiver<String>,
    file: PathBuf,
    key: PathBuf,
    /// What is written in the file.
    pub(super) door: Door,
}

impl OpenDoor {
    /// Starts the server and tells where it is.
    ///
    /// # Errors
    /// A sentence: the folder cannot be written, the node has no such address, the server does not listen.
    pub(super) fn open(
        folder: &Folder,
        node: &str,
        network: Option<&str>,
        program: &Path,
        us: &Claim,
    ) -> Result<Self, String> {
        let place = folder.node(node);
        let addresses = announced(&own_addresses(&Sysroot::host()), network, node)?;
        fs::create_dir_all(&place).map_err(|error| cannot_write(&place, &error))?;
        sweep(&place);
        let key_file = format!("{}{}{}", KEY.0, us.id, KEY.1);
        let key = place.join(&key_file);
        write_key(&key)?;
        // From here on the key goes again, whatever happens.
        let started = start(program, listen_at(&addresses), &key).inspect_err(|_| {
            let _ = fs::remove_file(&key);
        });
        let (server, said, port) = started?;
        let addresses = addresses.into_iter().map(|address| SocketAddr::new(address, port).to_string()).collect();
        let door = Door { addresses, key_file, claim: us.clone() };
        let open = Self { server, _said: said, file: place.join(DOOR), key, door };
        folder::write(&open.file, &open.door)?;
        Ok(open)
    }

    /// Says that the door is still open.
    ///
    /// # Errors
    /// A sentence: the server is gone, another worker has opened a door here, or the folder cannot be written.
    pub(super) fn renew(&mut self) -> Result<(), String> {
        match self.server.try_wait() {
            Ok(None) => {}
            Ok(Some(status)) => return Err(format!("the server of this node's door has ended ({status})")),
            Err(error) => return Err(format!("the server of this node's door is lost: {error}")),
        }
        if read::<Door>(&self.file).is_ok_and(|door| door.claim.id != self.door.claim.id) {
            return Err("another worker has opened this node's door meanwhile".to_owned());
        }
        // A new time and a new file are the same to who looks, and this also brings back one that somebody took away.
        folder::write(&self.file, &self.door)
    }
}

impl Drop for OpenDoor {
    fn drop(&mut self) {
        let ours = read::<Door>(&self.file).is_ok_and(|door| door.claim.id == self.door.claim.id);
        if ours {
            let _ = fs::remove_file(&self.file);
        }
        end(&mut self.server);
        let _ = fs::remove_file(&self.key);
    }
}

/// Asks a server to end, and ends it when it does not.
fn end(server: &mut Child) {
    // It has not been waited for, so its number is still its own.
    if let Some(pid) = i32::try_from(server.id()).ok().and_then(Pid::from_raw)
        && matches!(server.try_wait(), Ok(None))
    {
        let _ = kill_process(pid, Signal::TERM);
        let until = monotonic_raw_seconds() + END_SECONDS;
        while matches!(server.try_wait(), Ok(None)) && monotonic_raw_seconds() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    let _ = server.kill();
    let _ = server.wait();
}

/// Takes away the keys of doors that nobody closed. The node is ours: no other worker has a door here.
fn sweep(place: &Path) {
    let left = fs::read_dir(place).into_iter().flatten().flatten();
    let keys = left.filter(|entry| {
        let name = entry.file_name();
        name.to_str().is_some_and(|name| name.starts_with(KEY.0) && name.ends_with(KEY.1))
    });
    for key in keys {
        let _ = fs::remove_file(key.path());
    }
}

/// A key from the kernel's random numbers, in a file that only this user reads.
fn write_key(path: &Path) -> Result<(), String> {
    let mut bytes = [0_u8; KEY_BYTES];
    getrandom(&mut bytes, GetRandomFlags::empty())
        .map_err(|error| format!("cannot draw a key from the kernel's random numbers: {error}"))?;
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or('0');
    let text: String = bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect();
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    file.and_then(|mut file| writeln!(file, "{text}")).map_err(|error| cannot_write(path, &error))
}

/// Starts a server; it, what it says, and its port.
fn start(program: &Path, listen: IpAddr, key: &Path) -> Result<(Child, Receiver<String>, u16), String> {
    let mut command = Command::new(program);
    // As an attempt's child it ends with the worker.
    command.args(["attempt", &std::process::id().to_string(), "net", "serve", "--listen"]);
    command.arg(SocketAddr::new(listen, 0).to_string()).arg("--key-file").arg(key);
    command.env_clear().process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let cannot = |why: &str| format!("cannot open this node's door with '{}': {why}", program.display());
    let mut server = command.spawn().map_err(|error| cannot(&error.to_string()))?;
    let heard = server.stderr.take().map(hear).ok_or_else(|| cannot("it cannot be heard"));
    let listening = heard.and_then(|said| {
        let until = monotonic_raw_seconds() + LISTEN_TIME.as_secs_f64();
        let mut last = "it says nothing".to_owned();
        loop {
            let left = Duration::try_from_secs_f64(until - monotonic_raw_seconds()).unwrap_or_default();
            let Ok(line) = said.recv_timeout(left) else { return Err(cannot(&last)) };
            match port_in(&line) {
                Some(port) => return Ok((said, port)),
                None => last = line,
            }
        }
    });
    match listening {
        Ok((said, port)) => Ok((server, said, port)),
        Err(why) => {
            end(&mut server);
            Err(why)
        }
    }
}

/// The lines that a server says, on a thread that ends with it.
fn hear(stream: ChildStderr) -> Receiver<String> {
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            // Who does not listen any more does not want to hear it; the stream is read to its end all the same.
            let _ = sender.send(line);
        }
    });
    lines
}

/// The port in `assay: listening on 0.0.0.0:41234, TCP and UDP`.
fn port_in(line: &str) -> Option<u16> {
    let (_, address) = line.split_once("listening on ")?;
    let address: SocketAddr = address.split(',').next()?.trim().parse().ok()?;
    Some(address.port())
}

/// The addresses that a node tells others: those of the plan's network, an interface or a subnet; otherwise all but
/// loopback, and loopback where there is nothing else. Of one version of the protocol, 4 where there is one.
fn announced(own: &[OwnAddress], network: Option<&str>, node: &str) -> Result<Vec<IpAddr>, String> {
    let wanted = |own: &&OwnAddress| match network {
        Some(network) => own.interface.as_deref() == Some(network) || is_within(own.address, network),
        None => !own.address.is_loopback(),
    };
    let mut found: Vec<IpAddr> = own.iter().filter(wanted).map(|own| own.address).collect();
    if found.is_empty() && network.is_none() {
        found = own.iter().map(|own| own.address).collect();
    }
    let has = || own.iter().map(|own| own.address.to_string()).collect::<Vec<_>>().join(", ");
    let family = match (found.first(), network) {
        (Some(_), _) => found.iter().any(IpAddr::is_ipv4),
        (None, Some(network)) => {
            return Err(format!(
                "node {node} has no address on '{network}', which the plan names for the network between nodes; it has {}; \
                 name an interface or a subnet that every node has",
                has()
            ));
        }
        (None, None) => return Err(format!("node {node} has no address under which others could reach it")),
    };
    found.retain(|address| address.is_ipv4() == family);
    Ok(found)
}

/// Whether an address lies in a subnet such as `10.1.0.0/16`, or is the address that is written there.
fn is_within(address: IpAddr, network: &str) -> bool {
    let (base, length) = network.split_once('/').map_or((network, None), |(base, length)| (base, Some(length)));
    let Ok(base) = base.parse::<IpAddr>() else { return false };
    let (one, other, bits) = match (address, base) {
        (IpAddr::V4(one), IpAddr::V4(other)) => (u128::from(one.to_bits()), u128::from(other.to_bits()), 32),
        (IpAddr::V6(one), IpAddr::V6(other)) => (one.to_bits(), other.to_bits(), 128),
        _ => return false,
    };
    let Some(length) = length.map_or(Some(bits), |length| length.parse().ok().filter(|length| *length <= bits)) else {
        return false;
    };
    (one ^ other).checked_shr(bits - length).unwrap_or(0) == 0
}

/// Whether a plan's network can be meant: a subnet, an address, or the name of an interface.
///
/// # Errors
/// A sentence: it is none of these.
pub fn check_network(network: &str) -> Result<(), String> {
    // Linux: names of interfaces have at most 15 bytes (IFNAMSIZ) and no slash or white space.
    let interface = !network.contains(['/', ':']) && (1..16).contains(&network.len());
    let base = network.split_once('/').map_or(network, |(base, _)| base);
    let subnet = base.parse::<IpAddr>().is_ok_and(|base| is_within(base, network));
    if subnet || interface && !network.contains(char::is_whitespace) {
        Ok(())
    } else {
        Err(format!("'{network}' is neither a subnet such as 10.1.0.0/16 nor the name of an interface such as ib0"))
    }
}

/// Where a server listens: on its only address, or on all of that version.
fn listen_at(addresses: &[IpAddr]) -> IpAddr {
    match addresses {
        [only] => *only,
        [IpAddr::V6(_), ..] => std::net::Ipv6Addr::UNSPECIFIED.into(),
        _ => std::net::Ipv4Addr::UNSPECIFIED.into(),
    }
}

/// Another node's door as its file shows it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SeenDoor {
    /// What is written in the file.
    pub(super) door: Door,
    /// When it was renewed, by the file system's clock.
    pub(super) renewed: SystemTime,
    /// Where the key is.
    pub(super) key: PathBuf,
}

/// A node's door; `None` where it has none, or has not renewed it for the lease's time before `now`.
pub(super) fn look(folder: &Folder, node: &str, now: SystemTime, lease: Duration) -> Option<SeenDoor> {
    let place = folder.node(node);
    // Opened, so that an NFS client asks its server.
    let file = File::open(place.join(DOOR)).ok()?;
    let renewed = file.metadata().and_then(|data| data.modified()).ok()?;
    if now.duration_since(renewed).is_ok_and(|age| age > lease) {
        return None;
    }
    let door: Door = serde_json::from_reader(BufReader::new(file)).ok()?;
    // What names a file in the folder is a name and no path.
    let key = folder::is_plain_name(&door.key_file).then(|| place.join(&door.key_file))?;
    Some(SeenDoor { door, renewed, key })
}

/// The first address of a door that answers.
///
/// # Errors
/// A sentence: none does.
pub(super) fn reach(seen: &SeenDoor, us: &Claim) -> Result<String, String> {
    let own = own_addresses(&Sysroot::host());
    let mut tried = Vec::new();
    for text in candidates(&seen.door, us, &own) {
        match try_address(text) {
            Ok(()) => return Ok(text.to_owned()),
            Err(error) => tried.push(format!("{text} ({error})")),
        }
    }
    let host = &seen.door.claim.host;
    if tried.is_empty() {
        return Err(format!("all addresses of {host} are also ours: {}", seen.door.addresses.join(", ")));
    }
    Err(format!(
        "no address of {host} answers: {}; a firewall may be in the way, or name the network with assay cluster plan \
         --network",
        tried.join(", ")
    ))
}

/// The addresses worth trying. One that is ours as well, such as that of a bridge which every host has, leads to
/// ourselves, unless both are the same machine.
fn candidates<'a>(door: &'a Door, us: &Claim, own: &[OwnAddress]) -> Vec<&'a str> {
    let same_machine = boot(us).is_some() && boot(us) == boot(&door.claim);
    let ours = |text: &str| {
        let address = text.parse::<SocketAddr>().map(|address| address.ip());
        address.is_ok_and(|address| own.iter().any(|own| own.address == address))
    };
    door.addresses.iter().map(String::as_str).filter(|text| same_machine || !ours(text)).collect()
}

/// The boot of the machine, without the name space behind it.
fn boot(claim: &Claim) -> Option<&str> {
    claim.boot.as_deref()?.split(' ').next()
}

fn try_address(text: &str) -> io::Result<()> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in text.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, REACH_TIME) {
            Ok(_) => return Ok(()),
            Err(error) => last = error,
        }
    }
    Err(last)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::testing::scratch;

    /// A claimer of whom nothing is known but its name.
    pub(crate) fn claim(id: &str) -> Claim {
        Claim { id: id.to_owned(), host: format!("host-of-{id}"), ..Claim::default() }
    }

    fn own(list: &[(&str, &str)]) -> Vec<OwnAddress> {
        let one = |(address, interface): &(&str, &str)| OwnAddress {
            address: address.parse().unwrap(),
            interface: Some((*interface).to_owned()),
        };
        list.iter().map(one).collect()
    }

    #[test]
    fn a_node_tells_the_addresses_that_the_plan_means() {
        let own = own(&[("198.51.100.7", "ib0"), ("192.0.2.2", "eth0"), ("fd00::2", "eth0"), ("127.0.0.1", "lo")]);
        let told = |network: Option<&str>| {
            let told = announced(&own, network, "n1")?;
            Ok::<_, String>(told.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(" "))
        };
        assert_eq!(told(None).unwrap(), "198.51.100.7 192.0.2.2");
        assert_eq!(told(Some("eth0")).unwrap(), "192.0.2.2");
        assert_eq!(told(Some("192.0.0.0/16")).unwrap(), "192.0.2.2");
        assert_eq!(told(Some("fd00::/64")).unwrap(), "fd00::2");
        assert_eq!(told(Some("127.0.0.0/8")).unwrap(), "127.0.0.1");
        for wrong in ["ib1", "10.0.0.0/8", "192.0.2.2/33", "192.0.2.2/x", ""] {
            let error = told(Some(wrong)).unwrap_err();
            assert!(error.contains("node n1") && error.contains("192.0.2.2"), "{wrong}: {error}");
        }
        assert!(announced(&[], None, "n1").unwrap_err().contains("no address"));
        assert_eq!(announced(&own[3..], None, "n1").unwrap(), ["127.0.0.1".parse::<IpAddr>().unwrap()]);
        assert_eq!(listen_at(&announced(&own, None, "n1").unwrap()).to_string(), "0.0.0.0");
        assert_eq!(listen_at(&announced(&own, Some("ib0"), "n1").unwrap()).to_string(), "198.51.100.7");
    }

    #[test]
    fn subnets_hold_what_begins_with_their_bits() {
        let holds = |network, address: &str| is_within(address.parse().unwrap(), network);
        assert!(holds("10.1.0.0/16", "10.1.255.3") && !holds("10.1.0.0/16", "10.2.0.1"));
        assert!(holds("0.0.0.0/0", "192.0.2.1") && holds("::/0", "fd00::1") && !holds("::/0", "192.0.2.1"));
        assert!(holds("192.0.2.1", "192.0.2.1") && !holds("192.0.2.1", "192.0.2.2"));
        assert!(holds("fd00::/65", "fd00::1") && !holds("fd00::/65", "fd00:0:0:0:8000::1"));
        for good in ["10.1.0.0/16", "fd00::/64", "ib0", "bond0.100", "192.0.2.1"] {
            assert_eq!(check_network(good), Ok(()), "{good}");
        }
        for wrong in ["", "10.1.0.0/33", "x/8", "a name", "sixteen-letters-", "fd00::/129", "eth0/1"] {
            assert!(check_network(wrong).unwrap_err().contains(&format!("'{wrong}'")), "{wrong}");
        }
    }

    #[test]
    fn an_address_that_both_have_leads_to_ourselves() {
        let door = |claim: Claim| Door {
            addresses: vec!["172.17.0.1:5".into(), "192.0.2.9:5".into()],
            key_file: "door-a.key".into(),
            claim,
        };
        let own = own(&[("172.17.0.1", "docker0"), ("192.0.2.2", "eth0")]);
        let us = Claim { boot: Some("one pid:[1]".into()), ..claim("a") };
        let elsewhere = door(Claim { boot: Some("two pid:[1]".into()), ..claim("b") });
        assert_eq!(candidates(&elsewhere, &us, &own), ["192.0.2.9:5"]);
        let here = door(Claim { boot: Some("one pid:[2]".into()), ..claim("b") });
        assert_eq!(candidates(&here, &us, &own), ["172.17.0.1:5", "192.0.2.9:5"]);
        assert_eq!(candidates(&door(claim("b")), &claim("a"), &own), ["192.0.2.9:5"], "nothing is known of either");
        let only = Door { addresses: vec!["172.17.0.1:5".into()], ..elsewhere };
        let seen = SeenDoor { door: only, renewed: SystemTime::UNIX_EPOCH, key: "key".into() };
        assert_eq!(candidates(&seen.door, &us, &own), Vec::<&str>::new());
    }

    #[test]
    fn what_does_not_answer_is_named() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let (us, open) = (claim("a"), listener.local_addr().unwrap().to_string());
        let us = Claim { boot: Some("one".into()), ..us };
        let door = Door { addresses: vec![closed.clone(), open.clone()], key_file: "k".into(), claim: us.clone() };
        let mut seen = SeenDoor { door, renewed: SystemTime::UNIX_EPOCH, key: "key".into() };
        assert_eq!(reach(&seen, &us), Ok(open));
        seen.door.addresses.pop();
        let error = reach(&seen, &us).unwrap_err();
        assert!(error.contains(&closed) && error.contains("--network"), "{error}");
    }

    #[test]
    fn a_door_is_open_while_it_is_renewed() {
        let scratch = scratch();
        let folder = Folder::at(scratch.path());
        let door = Door { addresses: vec!["192.0.2.9:5".into()], key_file: "door-a.key".into(), claim: claim("a") };
        let path = folder.node("n1").join(DOOR);
        folder::write(&path, &door).unwrap();
        let lease = Duration::from_mins(1);
        let renewed = fs::metadata(&path).unwrap().modified().unwrap();
        let seen = look(&folder, "n1", renewed + lease, lease).unwrap();
        assert_eq!((&seen.door, seen.key), (&door, folder.node("n1").join("door-a.key")));
        assert_eq!(look(&folder, "n1", renewed + lease + Duration::from_secs(1), lease), None);
        assert_eq!(look(&folder, "n2", renewed, lease), None);
        // What leads out of the folder is no key of ours, and what is no door is none.
        folder::write(&path, &Door { key_file: "../../etc/passwd".into(), ..door }).unwrap();
        assert_eq!(look(&folder, "n1", renewed, lease), None);
        for broken in [&b""[..], b"{", b"[]", b"{\"addresses\": 1}", b"\xff"] {
            fs::write(&path, broken).unwrap();
            assert_eq!(look(&folder, "n1", renewed, lease), None);
        }
    }

    #[test]
    fn a_key_is_for_one_user_and_never_the_same() {
        use std::os::unix::fs::MetadataExt;
        let scratch = scratch();
        let keys = ["door-a.key", "door-b.key"].map(|name| scratch.path().join(name));
        for key in &keys {
            write_key(key).unwrap();
        }
        let texts = keys.each_ref().map(|key| fs::read_to_string(key).unwrap());
        assert_ne!(texts[0], texts[1]);
        assert!(texts.iter().all(|text| text.trim().len() == 2 * KEY_BYTES));
        assert!(keys.iter().all(|key| fs::metadata(key).unwrap().mode() & 0o777 == 0o600));
        assert!(write_key(&keys[0]).unwrap_err().contains("door-a.key"), "a file that is there is not written over");
        fs::write(scratch.path().join("door.json"), "{}").unwrap();
        sweep(scratch.path());
        assert!(!keys[0].exists() && !keys[1].exists() && scratch.path().join("door.json").exists());
    }

    #[test]
    fn a_program_that_opens_no_door_is_named_with_what_it_said() {
        let scratch = scratch();
        let folder = Folder::at(scratch.path());
        let open = |program: &str| {
            OpenDoor::open(&folder, "n1", Some("127.0.0.0/8"), Path::new(program), &claim("a")).unwrap_err()
        };
        let error = open("/no/such/program");
        assert!(error.contains("'/no/such/program'") && error.contains("No such file"), "{error}");
        assert!(open("/bin/false").contains("'/bin/false'"));
        let left: Vec<_> = fs::read_dir(folder.node("n1")).unwrap().flatten().collect();
        assert!(left.is_empty(), "no key and no door are left: {left:?}");
        assert_eq!(port_in("assay: listening on [::]:41234, TCP and UDP"), Some(41234));
        assert_eq!(port_in("assay: cannot listen on 0.0.0.0:1: no"), None);
    }
}
