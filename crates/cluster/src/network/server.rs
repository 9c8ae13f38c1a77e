//! A node's server: `assay net serve` as a child of the node's worker, a file with its addresses, and a key that is new
//! for each server.
//!
//! The server's file is renewed like a lease. The server ends with its worker, however that ends.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, SystemTime};

use machine::{Sysroot, own_addresses};
use model::cluster::{Claim, ServerRecord};
use sys::clock::monotonic_raw_seconds;

use super::addresses::{candidates, listen_at, offered};
use crate::attempt::process::end;
use crate::claims::claim::random_hex;
use crate::error::{Error, Result, cannot_write};
use crate::folder::{self, Folder, make_folder, read};

const RECORD: &str = "server.json";
/// The name of a key's file begins and ends with these; between them is the claim's id.
const KEY: (&str, &str) = ("server-", ".key");
const KEY_BYTES: usize = 32;
/// Timeout for a server to listen; it needs milliseconds on an idle machine.
const LISTEN_SECONDS: f64 = 30.0;
const END_SECONDS: f64 = 3.0;
/// Timeout of a connection: what a firewall drops is never answered.
const REACH_TIME: Duration = Duration::from_secs(2);

/// This node's server, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct NodeServer {
    process: Child,
    /// Kept open: a server that cannot write its messages ends.
    _messages: Receiver<String>,
    file: PathBuf,
    key: PathBuf,
    pub(super) record: ServerRecord,
}

impl NodeServer {
    pub(super) fn start(
        folder: &Folder,
        node: &str,
        network: Option<&str>,
        program: &Path,
        us: &Claim,
    ) -> Result<Self> {
        let folder = folder.node(node);
        let addresses = offered(&own_addresses(&Sysroot::host()), network, node)?;
        make_folder(&folder)?;
        sweep(&folder);
        let key_file = format!("{}{}{}", KEY.0, us.id, KEY.1);
        let key = folder.join(&key_file);
        write_key(&key)?;
        let started = start(program, listen_at(&addresses), &key).inspect_err(|_| {
            let _ = fs::remove_file(&key);
        });
        let (process, messages, port) = started?;
        let addresses = addresses.into_iter().map(|address| SocketAddr::new(address, port).to_string()).collect();
        let record = ServerRecord { addresses, key_file, claim: us.clone() };
        let server = Self { process, _messages: messages, file: folder.join(RECORD), key, record };
        folder::write(&server.file, &server.record)?;
        Ok(server)
    }

    /// Renews the file: the server still runs.
    pub(super) fn renew(&mut self) -> Result<()> {
        if let Some(status) = self.process.try_wait().map_err(Error::ServerLost)? {
            return Err(Error::ServerEnded(status));
        }
        if read::<ServerRecord>(&self.file).is_ok_and(|record| record.claim.id != self.record.claim.id) {
            return Err(Error::ServerReplaced);
        }
        // Writing it again also restores a file that was removed.
        folder::write(&self.file, &self.record)
    }
}

impl Drop for NodeServer {
    fn drop(&mut self) {
        let ours = read::<ServerRecord>(&self.file).is_ok_and(|record| record.claim.id == self.record.claim.id);
        if ours {
            let _ = fs::remove_file(&self.file);
        }
        end(&mut self.process, END_SECONDS);
        let _ = fs::remove_file(&self.key);
    }
}

/// Removes the keys of servers that were killed; no other worker has a server on a claimed node.
fn sweep(folder: &Path) {
    let is_key = |name: &&String| name.starts_with(KEY.0) && name.ends_with(KEY.1);
    for name in folder::names(folder).unwrap_or_default().iter().filter(is_key) {
        let _ = fs::remove_file(folder.join(name));
    }
}

/// Writes a random key into a file that only this user can read.
fn write_key(path: &Path) -> Result<()> {
    let text = random_hex(KEY_BYTES, "a key")?;
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    file.and_then(|mut file| writeln!(file, "{text}")).map_err(cannot_write(path))
}

/// Starts a server; returns its process, its messages and its port.
fn start(program: &Path, listen: IpAddr, key: &Path) -> Result<(Child, Receiver<String>, u16)> {
    let mut command = Command::new(program);
    // As an attempt's child it ends with the worker.
    command.args(["attempt", &std::process::id().to_string(), "net", "serve", "--listen"]);
    command.arg(SocketAddr::new(listen, 0).to_string()).arg("--key-file").arg(key);
    command.env_clear().process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let cannot = |why: String| Error::StartServer(program.to_owned(), why);
    let mut server = command.spawn().map_err(|error| cannot(error.to_string()))?;
    let heard = server.stderr.take().map(hear);
    let heard = heard.unwrap_or_else(|| Err(io::Error::other("its output cannot be read")));
    let listening = heard.map_err(|error| cannot(error.to_string())).and_then(|messages| {
        let until = monotonic_raw_seconds() + LISTEN_SECONDS;
        let mut last = "it printed nothing".to_owned();
        loop {
            let left = Duration::try_from_secs_f64(until - monotonic_raw_seconds()).unwrap_or_default();
            let Ok(line) = messages.recv_timeout(left) else { return Err(cannot(last)) };
            match port_in(&line) {
                Some(port) => return Ok((messages, port)),
                None => last = line,
            }
        }
    });
    match listening {
        Ok((messages, port)) => Ok((server, messages, port)),
        Err(why) => {
            end(&mut server, END_SECONDS);
            Err(why)
        }
    }
}

/// A server's messages, read by a thread that ends with it.
fn hear(stream: ChildStderr) -> io::Result<Receiver<String>> {
    let (sender, lines) = mpsc::channel();
    std::thread::Builder::new().spawn(move || {
        for line in BufReader::new(stream).lines().map_while(std::result::Result::ok) {
            // Read to its end also without a receiver.
            let _ = sender.send(line);
        }
    })?;
    Ok(lines)
}

/// The port in `assay: listening on 0.0.0.0:41234, TCP and UDP`.
fn port_in(line: &str) -> Option<u16> {
    let (_, address) = line.split_once("listening on ")?;
    let address: SocketAddr = address.split(',').next()?.trim().parse().ok()?;
    Some(address.port())
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct PeerServer {
    pub(super) record: ServerRecord,
    /// Time of the last renewal, by the file system's clock.
    pub(super) renewed: SystemTime,
    pub(super) key: PathBuf,
}

/// A node's server; `None` if it has none, or its file was not renewed within the lease before `now`.
pub(super) fn find_server(folder: &Folder, node: &str, now: SystemTime, lease: Duration) -> Option<PeerServer> {
    let place = folder.node(node);
    // Opened, so that an NFS client asks the server.
    let file = File::open(place.join(RECORD)).ok()?;
    let renewed = file.metadata().and_then(|data| data.modified()).ok()?;
    if now.duration_since(renewed).is_ok_and(|age| age > lease) {
        return None;
    }
    let record: ServerRecord = serde_json::from_reader(BufReader::new(file)).ok()?;
    // A name in the folder, never a path out of it.
    let key = folder::is_plain_name(&record.key_file).then(|| place.join(&record.key_file))?;
    Some(PeerServer { record, renewed, key })
}

/// The first address of a server that accepts a connection.
pub(super) fn reach(seen: &PeerServer, us: &Claim) -> Result<String> {
    let own = own_addresses(&Sysroot::host());
    let mut tried = Vec::new();
    for text in candidates(&seen.record, us, &own) {
        match try_address(text) {
            Ok(()) => return Ok(text.to_owned()),
            Err(error) => tried.push(format!("{text} ({error})")),
        }
    }
    let host = &seen.record.claim.host;
    if tried.is_empty() {
        return Err(Error::OwnAddresses(host.clone(), seen.record.addresses.join(", ")));
    }
    Err(Error::Unreachable(host.clone(), tried.join(", ")))
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
mod tests {
    use super::*;
    use crate::tests::support::{claim, plan_folder};

    #[test]
    fn what_does_not_answer_is_named() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let (us, open) = (claim("a"), listener.local_addr().unwrap().to_string());
        let us = Claim { boot: Some("one".into()), ..us };
        let record =
            ServerRecord { addresses: vec![closed.clone(), open.clone()], key_file: "k".into(), claim: us.clone() };
        let mut seen = PeerServer { record, renewed: SystemTime::UNIX_EPOCH, key: "key".into() };
        assert_eq!(reach(&seen, &us).unwrap(), open);
        seen.record.addresses.pop();
        let error = reach(&seen, &us).unwrap_err().to_string();
        assert!(error.contains(&closed) && error.contains("--network"), "{error}");
    }

    #[test]
    fn a_server_is_found_while_its_file_is_renewed() {
        let scratch = plan_folder();
        let folder = Folder::at(scratch.path());
        let record =
            ServerRecord { addresses: vec!["192.0.2.9:5".into()], key_file: "server-a.key".into(), claim: claim("a") };
        let path = folder.node("n1").join(RECORD);
        folder::write(&path, &record).unwrap();
        let lease = Duration::from_secs(60);
        let renewed = fs::metadata(&path).unwrap().modified().unwrap();
        let seen = find_server(&folder, "n1", renewed + lease, lease).unwrap();
        assert_eq!((&seen.record, seen.key), (&record, folder.node("n1").join("server-a.key")));
        assert_eq!(find_server(&folder, "n1", renewed + lease + Duration::from_secs(1), lease), None);
        assert_eq!(find_server(&folder, "n2", renewed, lease), None);
        // A key outside of the folder is not ours, and a broken file is no server.
        folder::write(&path, &ServerRecord { key_file: "../../etc/passwd".into(), ..record }).unwrap();
        assert_eq!(find_server(&folder, "n1", renewed, lease), None);
        for broken in [&b""[..], b"{", b"[]", b"{\"addresses\": 1}", b"\xff"] {
            fs::write(&path, broken).unwrap();
            assert_eq!(find_server(&folder, "n1", renewed, lease), None);
        }
    }

    #[test]
    fn a_key_is_for_one_user_and_never_the_same() {
        use std::os::unix::fs::MetadataExt;
        let scratch = plan_folder();
        let keys = ["server-a.key", "server-b.key"].map(|name| scratch.path().join(name));
        for key in &keys {
            write_key(key).unwrap();
        }
        let texts = keys.each_ref().map(|key| fs::read_to_string(key).unwrap());
        assert_ne!(texts[0], texts[1]);
        assert!(texts.iter().all(|text| text.trim().len() == 2 * KEY_BYTES));
        assert!(keys.iter().all(|key| fs::metadata(key).unwrap().mode() & 0o777 == 0o600));
        assert!(
            write_key(&keys[0]).unwrap_err().to_string().contains("server-a.key"),
            "an existing file is not overwritten"
        );
        fs::write(scratch.path().join("server.json"), "{}").unwrap();
        sweep(scratch.path());
        assert!(!keys[0].exists() && !keys[1].exists() && scratch.path().join("server.json").exists());
    }

    #[test]
    fn a_program_that_starts_no_server_is_named_with_its_message() {
        let scratch = plan_folder();
        let folder = Folder::at(scratch.path());
        let open = |program: &str| {
            NodeServer::start(&folder, "n1", Some("127.0.0.0/8"), Path::new(program), &claim("a"))
                .unwrap_err()
                .to_string()
        };
        let error = open("/no/such/program");
        assert!(error.contains("'/no/such/program'") && error.contains("No such file"), "{error}");
        assert!(open("/bin/false").contains("'/bin/false'"));
        let left: Vec<_> = fs::read_dir(folder.node("n1")).unwrap().flatten().collect();
        assert!(left.is_empty(), "no key and no file are left: {left:?}");
        assert_eq!(port_in("assay: listening on [::]:41234, TCP and UDP"), Some(41234));
        assert_eq!(port_in("assay: cannot listen on 0.0.0.0:1: no"), None);
    }
}
