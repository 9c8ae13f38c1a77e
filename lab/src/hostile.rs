//! `cargo lab hostile`: a server of the release program under connections of hostile peers, and the clients it serves meanwhile.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use bench::net::{Key, ServerSession, Target};
use socket2::{Domain, Socket, Type};
use xtask::shell::Shell;

use crate::record::{build, machine_line, with_section, write};

pub(crate) const USAGE: &str = "hostile [CONNECTIONS_PER_SECOND]";
const PAGE: &str = "docs/evidence/security.md";
const MARKS: [&str; 2] = ["<!-- hostile peers -->", "<!-- end of hostile peers -->"];
const RATE: u64 = 1000;
const THREADS: u64 = 4;
/// Connections that an attacking thread keeps open, the newest ones.
const KEPT: usize = 400;
const CLIENTS: u32 = 20;
const PROGRAMS: u32 = 3;
const SERVED_SECONDS: f64 = 2.0;
const HOSTILE: &str = "127.0.0.2";
const LISTEN_TIME: Duration = Duration::from_secs(10);
const WARM_UP: Duration = Duration::from_secs(2);
/// A client's end is noticed within the server's poll interval.
const BETWEEN: Duration = Duration::from_millis(200);

/// Whether all clients were served in time.
pub(crate) fn run(shell: &Shell, arguments: &[String]) -> Result<bool, String> {
    let rate = match arguments {
        [] => RATE,
        [rate] => rate.parse().map_err(|_| format!("'{rate}' is not a number of connections per second"))?,
        _ => return Err("too many arguments".to_owned()),
    };
    campaign(shell, rate)
}

fn campaign(shell: &Shell, rate: u64) -> Result<bool, String> {
    let program = build(shell)?;
    let key = std::env::temp_dir().join(format!("assay-lab-hostile-{}.key", std::process::id()));
    let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&key);
    let written = file.and_then(|mut file| file.write_all(b"a key of the hostile peers' campaign\n"));
    let tested = written.map_err(|error| format!("cannot write {}: {error}", key.display())).and_then(|()| {
        let kinds = kinds();
        kinds.iter().map(|(name, bytes)| Tested::new(&program, &key, name, bytes, rate)).collect::<Result<Vec<_>, _>>()
    });
    let _ = std::fs::remove_file(&key);
    let tested = tested?;
    let section = section(rate, &tested);
    println!("{section}");
    let page = shell.root().join(PAGE);
    let text = std::fs::read_to_string(&page).unwrap_or_else(|_| "# Security\n".to_owned());
    write(&page, &with_section(MARKS, &text, &section))?;
    Ok(tested.iter().all(Tested::holds))
}

fn kinds() -> [(&'static str, Vec<u8>); 6] {
    let preface = [b"assaynet\x01\x01\0\0\0\0\0\0", &[b'0'; 32][..]].concat();
    let frame = |body: &str| [&u32::try_from(body.len()).unwrap_or(0).to_be_bytes(), body.as_bytes()].concat();
    let nonce = "0".repeat(32);
    let hello = frame(&format!(r#"{{"kind":"hello","versions":[0,4000000000],"program":"x","nonce":"{nonce}"}}"#));
    let proof = frame(&format!(r#"{{"kind":"proof","proof":"{}"}}"#, "00".repeat(32)));
    let greeting = [preface.clone(), hello].concat();
    [
        ("none", Vec::new()),
        ("connect and send nothing", Vec::new()),
        ("preface only", preface),
        ("garbage", b"GET / HTTP/1.1\r\nHost: a.long.name.of.a.host.example\r\n\r\n".to_vec()),
        ("hello and no proof", greeting.clone()),
        ("wrong key", [greeting, proof].concat()),
    ]
}

/// Clients of a server under one kind of hostile connection.
struct Tested {
    kind: &'static str,
    opened_per_second: f64,
    /// Seconds until each client was admitted.
    admitted: Vec<Result<f64, String>>,
    finished_runs: u32,
    log_lines: u64,
    peak_memory_kib: u64,
}

impl Tested {
    fn new(program: &Path, key: &Path, kind: &'static str, bytes: &[u8], rate: u64) -> Result<Self, String> {
        println!("{kind} …");
        let server = Server::start(program, key)?;
        let attack = Attack { address: server.address, bytes, rate: if kind == "none" { 0 } else { rate } };
        let (end, opened) = (AtomicBool::new(false), AtomicU64::new(0));
        let began = Instant::now();
        let (admitted, finished_runs) = std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| attack.run(&end, &opened));
            }
            std::thread::sleep(WARM_UP);
            let clients = clients(&server, program, key);
            end.store(true, Ordering::Release);
            clients
        })?;
        let opened_per_second = opened.load(Ordering::Acquire) as f64 / began.elapsed().as_secs_f64();
        let peak_memory_kib = server.peak_memory_kib();
        Ok(Self { kind, opened_per_second, admitted, finished_runs, log_lines: server.stop(), peak_memory_kib })
    }

    fn in_time(&self) -> usize {
        self.admitted.iter().flatten().filter(|seconds| **seconds <= SERVED_SECONDS).count()
    }

    fn holds(&self) -> bool {
        self.in_time() == CLIENTS as usize && self.finished_runs == PROGRAMS
    }

    fn line(&self) -> String {
        let slowest = self.admitted.iter().flatten().copied().fold(0.0, f64::max);
        format!(
            "| {} | {:.0} | {} of {CLIENTS} | {slowest:.2} s | {} of {PROGRAMS} | {} | {:.1} MB |\n",
            self.kind,
            self.opened_per_second,
            self.in_time(),
            self.finished_runs,
            self.log_lines,
            self.peak_memory_kib as f64 / 1000.0 * 1.024
        )
    }
}

type Clients = Result<(Vec<Result<f64, String>>, u32), String>;

/// Sessions one after the other, then complete runs of the program.
fn clients(server: &Server, program: &Path, key: &Path) -> Clients {
    let (to, secret) = (server.address.to_string(), Key::read(key, &mut std::io::empty())?);
    let target = Target::parse(&to)?;
    let admitted = (0..CLIENTS).map(|_| {
        std::thread::sleep(BETWEEN);
        let began = Instant::now();
        let session = ServerSession::begin(&target, Some(&secret), "lab", &mut |_| {});
        let seconds = began.elapsed().as_secs_f64();
        session.map(|_| seconds).map_err(|why| {
            println!("  not served: {why:?}");
            format!("{why:?}")
        })
    });
    let admitted = admitted.collect();
    let finished = (0..PROGRAMS).filter(|_| {
        std::thread::sleep(BETWEEN);
        let mut command = Command::new(program);
        command.args(["net", "--to", &to, "--key-file"]).arg(key);
        command.args("--protocol tcp --mode pingpong --threads 1 --block 1 --repeat 3 --json -".split(' '));
        command.stdout(Stdio::null()).stdin(Stdio::null()).status().is_ok_and(|status| status.success())
    });
    let finished = u32::try_from(finished.count()).unwrap_or(u32::MAX);
    Ok((admitted, finished))
}

struct Attack<'a> {
    address: SocketAddr,
    bytes: &'a [u8],
    rate: u64,
}

impl Attack<'_> {
    fn run(&self, end: &AtomicBool, opened: &AtomicU64) {
        let (began, mut tried, mut kept) = (Instant::now(), 0_u64, VecDeque::new());
        while !end.load(Ordering::Acquire) {
            let due = began.elapsed().as_secs_f64() * self.rate as f64 / THREADS as f64;
            if tried as f64 >= due {
                std::thread::sleep(Duration::from_millis(1));
                continue;
            }
            tried += 1;
            let Ok(mut stream) = self.connect() else { continue };
            opened.fetch_add(1, Ordering::AcqRel);
            let _ = stream.write_all(self.bytes);
            kept.push_back(stream);
            if kept.len() > KEPT {
                kept.pop_front();
            }
        }
    }

    fn connect(&self) -> std::io::Result<TcpStream> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        let from = HOSTILE.parse().map_err(std::io::Error::other)?;
        socket.bind(&SocketAddr::new(from, 0).into())?;
        socket.connect_timeout(&self.address.into(), Duration::from_secs(1))?;
        Ok(socket.into())
    }
}

struct Server {
    process: Child,
    address: SocketAddr,
    lines: std::thread::JoinHandle<u64>,
}

impl Server {
    fn start(program: &Path, key: &Path) -> Result<Self, String> {
        let mut command = Command::new(program);
        command.args(["net", "serve", "--listen", "127.0.0.1:0", "--key-file"]).arg(key);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = command.spawn().map_err(|error| format!("cannot start the server: {error}"))?;
        let stderr = process.stderr.take().ok_or("the server has no standard error")?;
        let (sender, first) = mpsc::channel();
        let lines = std::thread::spawn(move || {
            let mut count = 0;
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                if count < 5 {
                    println!("  {line}");
                }
                count += 1;
                let _ = sender.send(line);
            }
            count
        });
        let address = first
            .recv_timeout(LISTEN_TIME)
            .ok()
            .and_then(|line| line.split("listening on ").nth(1)?.split(',').next()?.parse().ok());
        let Some(address) = address else {
            let _ = process.kill().and_then(|()| process.wait());
            return Err("the server does not listen".to_owned());
        };
        Ok(Self { process, address, lines })
    }

    fn peak_memory_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse().ok());
        peak.unwrap_or(0)
    }

    /// Ends it; the number of lines it wrote.
    fn stop(mut self) -> u64 {
        let _ = self.process.kill().and_then(|()| self.process.wait());
        self.lines.join().unwrap_or(0)
    }
}

fn section(rate: u64, tested: &[Tested]) -> String {
    let machine = machine::discover(&machine::Sysroot::host());
    let machine = serde_json::to_value(&machine).map(|machine| machine_line(&machine)).unwrap_or_default();
    let rows: String = tested.iter().map(Tested::line).collect();
    format!(
        "## Hostile peers\n\nWritten by `cargo lab hostile`. A server with a key listens on loopback. From {HOSTILE}, {rate} connections per \
         second of one kind are\nopened and kept open. From 127.0.0.1, {CLIENTS} clients in turn begin a session, and {PROGRAMS} complete runs of \
         `assay net --to` follow.\n\nServed: admitted within {SERVED_SECONDS} s of the client's turn. {machine}.\n\n\
         | hostile connections | opened per second | clients served | slowest | runs finished | lines of the server | peak memory |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n{rows}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_replaces_only_itself() {
        let first = with_section(MARKS, "# Security\n\nOther text.\n", "one\n");
        assert_eq!(first, "# Security\n\nOther text.\n\n<!-- hostile peers -->\none\n<!-- end of hostile peers -->\n");
        let more = format!("{first}\n## Kills\n");
        let second = with_section(MARKS, &more, "two\n");
        assert_eq!(second, more.replace("one", "two"));
    }
}
