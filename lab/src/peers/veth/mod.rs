//! The network benchmarks of `suites/peers.toml` over a veth pair: `assay net --to` with `assay net serve`, and the tools' clients
//! with their servers, alternating on the same CPUs.

mod rows;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bench::references::detect::{Found, Places, detect};
use machine::{Sysroot, discover};
use model::experiment::{NetParams, net_id};
use serde_json::{Value, json};
use tools::rate_search::{MOST_RUNS, RateSearch, sent_too_fast};
use tools::{FOLDER, Invocation, ListensFor, Output, PORT, Reading, ReferenceTool, Server, TOOLS, Target};

use super::attempt::{self, VETH};
use crate::held::Held;
use crate::record::Record;
use rows::{better, experiment};
use xtask::process::output;
use xtask::shell::Shell;

pub(super) const SUITE: &str = "suites/peers.toml";
const CLIENT: &str = "assay-peers-client";
const SERVER: &str = "assay-peers-server";
/// An address of the benchmark network (RFC 2544, section C.2.2); the client's ends in 1.
const SERVER_ADDRESS: &str = "198.18.211.2";
/// Two namespaces joined by a veth pair. With `tcp_no_metrics_save` 0 TCP would keep round trips and losses of a path for later
/// connections: each run would depend on those before it.
const NAMESPACES: [&str; 2] = [
    "for name in $1 $2; do ip netns del $name 2>/dev/null || :; ip netns add $name; ip -n $name link set lo up; \
     ip netns exec $name sh -c 'echo 1 > /proc/sys/net/ipv4/tcp_no_metrics_save'; done; \
     ip -n $1 link add client0 type veth peer name server0 netns $2; \
     ip -n $1 addr add 198.18.211.1/30 dev client0; ip -n $2 addr add 198.18.211.2/30 dev server0; \
     ip -n $1 link set client0 up; ip -n $2 link set server0 up",
    "ip netns del $1 || :; ip netns del $2 || :",
];
/// An empty folder for the tools, and a key that only this user can read.
const FILES: [&str; 2] = [
    "rm -rf \"$1\"; mkdir -p \"$1/tools\"; umask 077; od -An -v -N 32 -tx1 /dev/urandom | tr -d ' \\n' > \"$1/key\"; \
     echo >> \"$1/key\"",
    "rm -rf \"$1\"",
];
/// Ports of the tools' servers, a new one for each: connections of the server before may linger at its port.
const TOOL_PORTS: std::ops::Range<u16> = 5301..6301;
const OUR_PORT: u16 = 5211;
const LISTENS_WITHIN: Duration = Duration::from_secs(10);
/// Seconds of a tool's run, if the tool has such an option; the same as on loopback.
const SECONDS: f64 = 0.5;
const OUR_TIMEOUT: f64 = 60.0;

pub(super) struct Wanted<'a> {
    pub(super) pairs: u32,
    pub(super) part_of_id: &'a str,
    pub(super) program: &'a Path,
    pub(super) places: &'a Places,
}

pub(super) fn compare(shell: &Shell, wanted: &Wanted<'_>) -> Result<Vec<Record>, String> {
    let machine = discover(&Sysroot::host());
    let rows = rows::of_suite(&shell.root().join(SUITE), &machine)?;
    let _namespaces = match Held::new(NAMESPACES[0], NAMESPACES[1], &[CLIENT, SERVER]) {
        Ok(made) => made,
        Err(reason) => {
            println!("SKIPPED: peers veth needs root and ip (Debian: apt-get install iproute2): {reason}");
            return Ok(Vec::new());
        }
    };
    let folder = shell.root().join(shell.target()).join("peers/veth");
    let _files = Held::new(FILES[0], FILES[1], &[&folder.display().to_string()])?;
    let (key, folder) = (folder.join("key"), folder.join("tools"));
    let ports = Cell::new(TOOL_PORTS.start);
    let mut attempts = Vec::new();
    for row in rows.iter().filter(|row| net_id(row).contains(wanted.part_of_id)) {
        let cpus = rows::cpus(row.threads, &machine.cpu.available_cpus);
        let ends = Ends { shell, key: &key, cpus, program: wanted.program, folder: &folder, ports: &ports };
        for tool in TOOLS.iter().copied().filter(|tool| tool.supports(&experiment(row)).is_ok()) {
            attempts.extend(ends.compare(row, tool, wanted));
        }
    }
    Ok(attempts)
}

struct Ends<'a> {
    shell: &'a Shell,
    key: &'a Path,
    /// Of the client and of the server.
    cpus: [Vec<u32>; 2],
    program: &'a Path,
    /// Working directory, `HOME` and `TMPDIR` of the tools.
    folder: &'a Path,
    ports: &'a Cell<u16>,
}

struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Serving {
    fn start(command: &mut Command, port: u16, transport: ListensFor) -> Result<Self, String> {
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut serving = Self(child.map_err(|error| format!("cannot start a server: {error}"))?);
        let began = Instant::now();
        while began.elapsed() < LISTENS_WITHIN {
            if let Ok(Some(status)) = serving.0.try_wait() {
                return Err(format!("a server ended: {status}"));
            }
            // Sockets in /proc/PID/net are those of the process's namespace.
            let tables = if transport == ListensFor::Tcp { ["tcp", "tcp6"] } else { ["udp", "udp6"] };
            let table = |name: &str| std::fs::read_to_string(format!("/proc/{}/net/{name}", serving.0.id()));
            if tables.iter().filter_map(|name| table(name).ok()).any(|text| rows::has_port(&text, port)) {
                return Ok(serving);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Err(format!("a server did not listen at port {port} within {} s", LISTENS_WITHIN.as_secs()))
    }
}

#[derive(Default)]
struct Comparison {
    pairs: Vec<(f64, f64)>,
    tails: Vec<(f64, f64)>,
    document: Option<Value>,
    called: [Vec<String>; 2],
    search: RateSearch,
    version: Option<String>,
    failed: Option<String>,
}

impl Ends<'_> {
    fn compare(&self, row: &NetParams, tool: &'static dyn ReferenceTool, wanted: &Wanted<'_>) -> Vec<Record> {
        println!("{} and {} over veth, {} pairs", net_id(row), tool.description().id, wanted.pairs);
        let mut comparison = Comparison::default();
        let found = detect(tool.description(), wanted.places).map_err(|missing| missing.reason().to_owned());
        comparison.version = found.as_ref().ok().and_then(|found| found.version.clone());
        comparison.failed =
            found.and_then(|found| self.measure(row, tool, &found, wanted.pairs, &mut comparison)).err();
        attempt::read(&self.as_document(row, tool, wanted.pairs, comparison))
    }

    fn measure(
        &self,
        row: &NetParams,
        tool: &'static dyn ReferenceTool,
        found: &Found,
        pairs: u32,
        comparison: &mut Comparison,
    ) -> Result<(), String> {
        let argv = ["net", "serve", "--listen", SERVER_ADDRESS, "--key-file", &self.key.display().to_string()];
        let mut server =
            self.in_namespace(SERVER, &[&[self.program.display().to_string()], &argv.map(str::to_owned)[..]].concat());
        let _serving = Serving::start(&mut server, OUR_PORT, ListensFor::Tcp)?;
        for pair in 0..pairs {
            // Order ABBA, against a linear drift.
            let (ours, theirs);
            if pair % 2 == 0 {
                ours = self.ours(row, comparison)?;
                theirs = self.theirs(row, tool, found, comparison)?;
            } else {
                theirs = self.theirs(row, tool, found, comparison)?;
                ours = self.ours(row, comparison)?;
            }
            comparison.pairs.push((ours.0, theirs.value));
            let tail = theirs.details.get("p99").and_then(Value::as_f64);
            comparison.tails.extend(ours.1.zip(tail));
        }
        Ok(())
    }

    fn in_namespace(&self, namespace: &str, argv: &[String]) -> Command {
        let cpus: Vec<String> = self.cpus[usize::from(namespace == SERVER)].iter().map(u32::to_string).collect();
        // `ip` and `taskset` exec it, so the child is the program itself.
        let before = ["netns", "exec", namespace, "taskset", "-c", &cpus.join(",")].map(str::to_owned);
        self.shell.command("ip", &[&before[..], argv].concat())
    }

    fn ours(&self, row: &NetParams, comparison: &mut Comparison) -> Result<(f64, Option<f64>), String> {
        let mut argv = limited(OUR_TIMEOUT);
        argv.push(self.program.display().to_string());
        argv.extend(rows::arguments(row, SERVER_ADDRESS, &self.key.display().to_string()));
        let text = output(&mut self.in_namespace(CLIENT, &argv)).ok_or("our own run failed; its output is above")?;
        let document: Value =
            serde_json::from_str(&text).map_err(|error| format!("our document is not JSON: {error}"))?;
        let metric = &document["experiments"][0]["metrics"][0];
        let value = metric["samples"][0]["value"].as_f64();
        let reason = document["experiments"][0]["reason"].as_str().unwrap_or("no sample");
        let value = value.ok_or_else(|| format!("our own benchmark has no value: {reason}"))?;
        let tail = metric["summary"]["percentiles"]["p99"].as_f64();
        comparison.document = Some(document);
        Ok((value, tail))
    }

    fn theirs(
        &self,
        row: &NetParams,
        tool: &'static dyn ReferenceTool,
        found: &Found,
        comparison: &mut Comparison,
    ) -> Result<Reading, String> {
        let experiment = experiment(row);
        for _ in 0..MOST_RUNS {
            let target = Target {
                experiment: &experiment,
                program: &found.path,
                cpus: &self.cpus[0],
                other_cpus: &self.cpus[1],
                seconds: SECONDS,
                file: None,
                our_rate: None,
                version: found.version.as_deref().unwrap_or_default(),
                offered_rate: comparison.search.rate(),
                receive_buffer: None,
                launcher: None,
            };
            let invocation = tool.invocation(&target)?;
            let server = invocation.server.as_ref().ok_or("it has no server for the other namespace")?;
            let port = self.next_port();
            comparison.called = [addressed(&invocation.argv, port), addressed(&server.argv, port)];
            let output = self.run_tool(&invocation, server, port)?;
            let reading = tool.parse(&output, &experiment)?;
            if comparison.search.ran(sent_too_fast(&experiment, &reading)) {
                return Ok(reading);
            }
        }
        Err(format!("it lost more than the loss goal in each of {MOST_RUNS} runs"))
    }

    fn next_port(&self) -> u16 {
        let port = self.ports.get();
        self.ports.set(if port + 1 == TOOL_PORTS.end { TOOL_PORTS.start } else { port + 1 });
        port
    }

    fn run_tool(&self, client: &Invocation, server: &Server, port: u16) -> Result<Output, String> {
        let mut serve = self.tool_in(SERVER, &addressed(&server.argv, port), &server.env);
        let _serving = Serving::start(&mut serve, port, server.listens_for)?;
        let argv = [limited(client.timeout_seconds), addressed(&client.argv, port)].concat();
        let ran = self.tool_in(CLIENT, &argv, &client.env).output().map_err(|error| error.to_string())?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(Output { stdout: text(&ran.stdout), stderr: text(&ran.stderr), status: ran.status.code() })
    }

    fn tool_in(&self, namespace: &str, argv: &[String], env: &BTreeMap<String, String>) -> Command {
        let mut command = self.in_namespace(namespace, argv);
        let folder = self.folder.display().to_string();
        command.current_dir(self.folder).envs(env.iter().map(|(name, value)| (name, value.replace(FOLDER, &folder))));
        command
    }

    fn as_document(
        &self,
        row: &NetParams,
        tool: &'static dyn ReferenceTool,
        pairs: u32,
        comparison: Comparison,
    ) -> Value {
        let mut reference = json!({
            "tool": tool.description().id, "version": comparison.version, "pairs": pairs, "argv": comparison.called[0],
            "server_argv": comparison.called[1], "env": {"LC_ALL": "C"}, "bytes_factor": 1.0,
            "status": if comparison.failed.is_some() { "failed" } else { "ok" }, "reason": comparison.failed, "also": [],
        });
        let mut document = comparison.document.unwrap_or_else(|| rows::without_value(row));
        if reference["status"] == "ok" {
            rows::put_ratio(&mut reference, &comparison.pairs, better(row));
            rows::put_tail(&mut reference, &comparison.tails);
            let sample = |pair: &(f64, f64)| json!({"ours": pair.0, "value": pair.1});
            reference["samples"] = json!(comparison.pairs.iter().map(sample).collect::<Vec<_>>());
            document["experiments"][0]["metrics"][0]["summary"]["median"] = reference["ours"].clone();
        }
        let experiment = &mut document["experiments"][0];
        experiment["params"]["path"] = json!(VETH);
        experiment["conditions"]["cpus"] = json!(self.cpus.concat());
        experiment["metrics"][0]["references"] = json!([reference]);
        document
    }
}

fn limited(seconds: f64) -> Vec<String> {
    ["timeout", "--kill-after=2", &seconds.to_string()].map(str::to_owned).to_vec()
}

/// A tool's command line with the address of the server's namespace and this port.
fn addressed(argv: &[String], port: u16) -> Vec<String> {
    argv.iter().map(|word| word.replace("127.0.0.1", SERVER_ADDRESS).replace(PORT, &port.to_string())).collect()
}
