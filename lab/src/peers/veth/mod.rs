//! The network rows of `suites/peers.toml` over a pair of veth interfaces: `assay net --to` against `assay net serve`, and
//! the tools' clients against their servers, in turn.
//!
//! Ours and theirs run between the same two namespaces, on the same CPUs at either end (both are started under
//! `taskset`), each a fresh client; ours with a fresh server for each row, theirs with one for each run, as on loopback.
//! Pairs come in rounds of two, the second in the reverse order of the first. The command lines and what the output means
//! are those of the program's own adapters, but for the address. The ratio is `stats`'.

mod namespaces;
mod rows;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bench::references::detect::{Found, Places, detect};
use serde_json::{Value, json};
use stats::Better;
use tools::rate_search::{MOST_RUNS, RateSearch, sent_too_fast};
use tools::{FOLDER, Invocation, ListensFor, Output, PORT, Reading, ReferenceTool, Server, TOOLS, Target};

use super::attempt::{self, Attempt};
use super::shared::{SUITE, VETH_PATH};
use namespaces::{FAR, FAR_ADDRESS, NEAR, Namespaces};
use rows::Row;
use xtask::process::output;
use xtask::shell::Shell;

/// Where tools' servers listen, each at the next of so many ports: the namespace is theirs alone, but connections of the
/// server before may linger at its port.
const TOOL_PORTS: std::ops::Range<u16> = 5301..6301;
/// Where ours listens: its default, by its help.
const OUR_PORT: u16 = 5211;
/// A server listens by then, or will not.
const LISTENS_WITHIN: Duration = Duration::from_secs(10);
/// Seconds of a tool's run, where the tool leaves the choice: as on loopback.
const SECONDS: f64 = 0.5;
/// Seconds after which one run of ours is ended: a row of `assay net` takes a few.
const OUR_TIMEOUT: f64 = 60.0;

/// What is compared.
pub(super) struct Wanted<'a> {
    /// Pairs of each comparison.
    pub(super) pairs: u32,
    /// Only rows whose id has this in it.
    pub(super) part_of_id: &'a str,
    /// The program.
    pub(super) program: &'a Path,
    /// Where tools are.
    pub(super) places: &'a Places,
}

/// All comparisons; none, with the reason said, where there can be no namespaces.
///
/// # Errors
/// The suite cannot be read.
pub(super) fn compare(shell: &Shell, wanted: &Wanted<'_>) -> Result<Vec<Attempt>, String> {
    let suite = std::fs::read_to_string(shell.root().join(SUITE)).map_err(|error| error.to_string())?;
    let rows = rows::of_suite(&suite)?;
    let _namespaces = match Namespaces::make(shell) {
        Ok(made) => made,
        Err(reason) => {
            println!("SKIPPED: peers over veth: {reason}");
            return Ok(Vec::new());
        }
    };
    let key = shell.target().join("peers").join("veth.key");
    write_key(&key)?;
    let folder = empty_folder(&shell.target().join("peers").join("veth-tools"))?;
    let (all, ports) = (sys_cpus(), Cell::new(TOOL_PORTS.start));
    let mut attempts = Vec::new();
    for row in rows.iter().filter(|row| row.id().contains(wanted.part_of_id)) {
        let cpus = rows::cpus(row.threads(), &all);
        let ends = Ends { shell, key: &key, cpus, program: wanted.program, folder: &folder, ports: &ports };
        for tool in TOOLS.iter().copied().filter(|tool| tool.supports(&row.experiment()).is_ok()) {
            attempts.extend(ends.compare(row, tool, wanted));
        }
    }
    let _ = std::fs::remove_file(&key);
    let _ = std::fs::remove_dir_all(&folder);
    Ok(attempts)
}

/// A folder for what tools leave behind, with nothing in it.
fn empty_folder(path: &Path) -> Result<PathBuf, String> {
    let _ = std::fs::remove_dir_all(path);
    std::fs::create_dir_all(path).map_err(|error| format!("{} cannot be made: {error}", path.display()))?;
    Ok(path.to_owned())
}

/// The CPUs that we may run on.
fn sys_cpus() -> Vec<u32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or("0");
    rows::cpu_list(list.trim())
}

/// A key that nobody can guess, for nobody else to read.
fn write_key(path: &Path) -> Result<(), String> {
    use std::fmt::Write as _;
    use std::io::{Read, Write as _};
    use std::os::unix::fs::OpenOptionsExt;
    let wrong = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut random = [0_u8; 32];
    std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut random)).map_err(wrong)?;
    let text = random.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    });
    std::fs::create_dir_all(path.parent().unwrap_or(path)).map_err(wrong)?;
    let _ = std::fs::remove_file(path);
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(wrong)?;
    writeln!(file, "{text}").map_err(wrong)
}

/// What both sides of a row run with.
struct Ends<'a> {
    shell: &'a Shell,
    key: &'a Path,
    /// Of the near end, and of the far one.
    cpus: [Vec<u32>; 2],
    program: &'a Path,
    /// Where tools run, which is their `HOME` and their `TMPDIR`.
    folder: &'a Path,
    /// Where the next tool's server listens.
    ports: &'a Cell<u16>,
}

/// A server that is ended when it is dropped.
struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Serving {
    /// Starts it and waits until it listens.
    fn start(command: &mut Command, port: u16, transport: ListensFor) -> Result<Self, String> {
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut serving = Self(child.map_err(|error| format!("a server cannot be started: {error}"))?);
        let began = Instant::now();
        while began.elapsed() < LISTENS_WITHIN {
            if let Ok(Some(status)) = serving.0.try_wait() {
                return Err(format!("a server did not stay: {status}"));
            }
            // The tables of a process are those of its namespace.
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

/// One comparison as it grows.
#[derive(Default)]
struct Grown {
    /// Ours and theirs.
    pairs: Vec<(f64, f64)>,
    /// The same of 99th percentiles, where both have them.
    tails: Vec<(f64, f64)>,
    /// The last document of ours.
    document: Option<Value>,
    /// How the tool and its server were called last.
    called: [Vec<String>; 2],
    search: RateSearch,
    /// The tool's version, if it is there and says one.
    version: Option<String>,
    /// Why there is no comparison, if so.
    failed: Option<String>,
}

impl Ends<'_> {
    fn compare(&self, row: &Row, tool: &'static dyn ReferenceTool, wanted: &Wanted<'_>) -> Vec<Attempt> {
        println!("{} beside {} over veth, {} pairs", row.id(), tool.description().id, wanted.pairs);
        let mut grown = Grown::default();
        let found = detect(tool.description(), wanted.places).map_err(|missing| missing.reason().to_owned());
        grown.version = found.as_ref().ok().and_then(|found| found.version.clone());
        grown.failed = found.and_then(|found| self.measure(row, tool, &found, wanted.pairs, &mut grown)).err();
        attempt::read(&self.as_document(row, tool, wanted.pairs, grown))
    }

    fn measure(
        &self,
        row: &Row,
        tool: &'static dyn ReferenceTool,
        found: &Found,
        pairs: u32,
        grown: &mut Grown,
    ) -> Result<(), String> {
        let argv = ["net", "serve", "--listen", FAR_ADDRESS, "--key-file", &self.key.display().to_string()];
        let mut server =
            self.in_namespace(FAR, &[&[self.program.display().to_string()], &argv.map(str::to_owned)[..]].concat());
        let _serving = Serving::start(&mut server, OUR_PORT, ListensFor::Tcp)?;
        for pair in 0..pairs {
            let (ours, theirs);
            if pair % 2 == 0 {
                ours = self.ours(row, grown)?;
                theirs = self.theirs(row, tool, found, grown)?;
            } else {
                theirs = self.theirs(row, tool, found, grown)?;
                ours = self.ours(row, grown)?;
            }
            grown.pairs.push((ours.0, theirs.value));
            let tail = theirs.details.get("p99").and_then(Value::as_f64);
            grown.tails.extend(ours.1.zip(tail));
        }
        Ok(())
    }

    fn in_namespace(&self, namespace: &str, argv: &[String]) -> Command {
        let cpus = &self.cpus[usize::from(namespace == FAR)];
        Namespaces::command(self.shell, namespace, cpus, argv)
    }

    /// One run of ours: its figure, and its 99th percentile if it is a latency.
    fn ours(&self, row: &Row, grown: &mut Grown) -> Result<(f64, Option<f64>), String> {
        let mut argv = limited(OUR_TIMEOUT);
        argv.push(self.program.display().to_string());
        argv.extend(row.arguments(FAR_ADDRESS, &self.key.display().to_string()));
        let text = output(&mut self.in_namespace(NEAR, &argv)).ok_or("our own run failed; its words are above")?;
        let document: Value =
            serde_json::from_str(&text).map_err(|error| format!("our document is no JSON: {error}"))?;
        let metric = &document["experiments"][0]["metrics"][0];
        let value = metric["samples"][0]["value"].as_f64();
        let reason = document["experiments"][0]["reason"].as_str().unwrap_or("it has no sample");
        let value = value.ok_or_else(|| format!("our own row has no figure: {reason}"))?;
        let tail = metric["summary"]["percentiles"]["p99"].as_f64();
        grown.document = Some(document);
        Ok((value, tail))
    }

    /// A figure of the tool, as fast as its loss goal allows where there is one.
    fn theirs(
        &self,
        row: &Row,
        tool: &'static dyn ReferenceTool,
        found: &Found,
        grown: &mut Grown,
    ) -> Result<Reading, String> {
        let experiment = row.experiment();
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
                offered_rate: grown.search.rate(),
                launcher: None,
            };
            let invocation = tool.invocation(&target)?;
            let server =
                invocation.server.as_ref().ok_or("it has no server that could stand in the other namespace")?;
            let port = self.next_port();
            grown.called = [there(&invocation.argv, port), there(&server.argv, port)];
            let said = self.run_tool(&invocation, server, port)?;
            let reading = tool.parse(&said, &experiment)?;
            if grown.search.ran(sent_too_fast(&experiment, &reading)) {
                return Ok(reading);
            }
        }
        Err(format!("it lost more than the goal in each of {MOST_RUNS} runs"))
    }

    fn next_port(&self) -> u16 {
        let port = self.ports.get();
        self.ports.set(if port + 1 == TOOL_PORTS.end { TOOL_PORTS.start } else { port + 1 });
        port
    }

    fn run_tool(&self, client: &Invocation, server: &Server, port: u16) -> Result<Output, String> {
        let mut serve = self.tool_in(FAR, &there(&server.argv, port), &server.env);
        let _serving = Serving::start(&mut serve, port, server.listens_for)?;
        let argv = [limited(client.timeout_seconds), there(&client.argv, port)].concat();
        let ran = self.tool_in(NEAR, &argv, &client.env).output().map_err(|error| error.to_string())?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(Output { stdout: text(&ran.stdout), stderr: text(&ran.stderr), status: ran.status.code() })
    }

    /// A tool's command in a namespace and in the folder, whose path stands in its environment where [`FOLDER`] does.
    fn tool_in(&self, namespace: &str, argv: &[String], env: &BTreeMap<String, String>) -> Command {
        let mut command = self.in_namespace(namespace, argv);
        let folder = self.folder.display().to_string();
        command.current_dir(self.folder).envs(env.iter().map(|(name, value)| (name, value.replace(FOLDER, &folder))));
        command
    }

    /// The comparison in the form of the program's own documents, from which lines are read.
    fn as_document(&self, row: &Row, tool: &'static dyn ReferenceTool, pairs: u32, grown: Grown) -> Value {
        let latency = row.is_latency();
        let better = if latency { Better::Lower } else { Better::Higher };
        let mut reference = json!({
            "tool": tool.description().id, "version": grown.version, "pairs": pairs, "argv": grown.called[0],
            "server_argv": grown.called[1], "env": {"LC_ALL": "C"}, "bytes_factor": 1.0,
            "status": if grown.failed.is_some() { "failed" } else { "ok" }, "reason": grown.failed, "also": [],
        });
        let mut document = grown.document.unwrap_or_else(|| rows::without_figure(row));
        if reference["status"] == "ok" {
            rows::put_ratio(&mut reference, &grown.pairs, better);
            rows::put_tail(&mut reference, &grown.tails);
            let sample = |pair: &(f64, f64)| json!({"ours": pair.0, "value": pair.1});
            reference["samples"] = json!(grown.pairs.iter().map(sample).collect::<Vec<_>>());
            document["experiments"][0]["metrics"][0]["summary"]["median"] = reference["ours"].clone();
        }
        let experiment = &mut document["experiments"][0];
        experiment["params"]["path"] = json!(VETH_PATH);
        experiment["conditions"]["cpus"] = json!(self.cpus.concat());
        experiment["metrics"][0]["references"] = json!([reference]);
        document
    }
}

/// What ends a command after so many seconds.
fn limited(seconds: f64) -> Vec<String> {
    ["timeout", "--kill-after=2", &seconds.to_string()].map(str::to_owned).to_vec()
}

/// A tool's command line with the far end's address and this port.
fn there(argv: &[String], port: u16) -> Vec<String> {
    argv.iter().map(|word| word.replace("127.0.0.1", FAR_ADDRESS).replace(PORT, &port.to_string())).collect()
}
