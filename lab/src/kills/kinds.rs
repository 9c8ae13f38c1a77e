//! Suites of one to six seconds for every area, and fake reference tools.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::record::write;

pub(super) struct Kind {
    pub(super) name: &'static str,
    suite: &'static str,
    tools: &'static [&'static str],
}

pub(super) const KINDS: &[Kind] = &[
    Kind {
        name: "cpu",
        suite: r#"
sampling.cpu = { samples = 6, per_launch = 2, sample = "60ms", warm_up = ["5ms", "10ms"] }
cpu = [{ op = "fma", type = ["fp64", "fp32"], isa = ["scalar"], threads = ["1"] }]
"#,
        tools: &[],
    },
    Kind {
        name: "linpack",
        suite: r#"
sampling.linpack = { samples = 6, per_launch = 3, warm_up = ["5ms", "10ms"] }
linpack = [{ op = ["lu", "gemm"], n = ["600"], threads = ["1"], sample = "60ms" }]
"#,
        tools: &[],
    },
    Kind {
        name: "memory",
        suite: r#"
sampling.memory = { samples = 4, per_launch = 2, sample = "60ms", warm_up = ["5ms", "10ms"] }
memory = [
    { pattern = "sequential", op = ["copy"], pages = ["4KiB"], working_sets = ["16MiB"], working_set = "16MiB", threads = ["1"] },
    { pattern = "chase", op = ["load"], pages = ["4KiB"], working_sets = ["1MiB"], working_set = "1MiB", threads = ["1"] },
]
"#,
        tools: &[],
    },
    Kind {
        name: "disk",
        suite: r#"
sampling.disk = { samples = 4, per_launch = 2, sample = "60ms", warm_up = ["10ms", "20ms"] }
disk = [{ pattern = "random", op = ["read", "write"], block = ["4KiB"], depth = [4], size = "16MiB", threads = ["1"] }]
"#,
        tools: &[],
    },
    Kind {
        name: "net",
        suite: r#"
sampling.net = { samples = 4, per_launch = 2, sample = "60ms", warm_up = ["10ms", "20ms"] }
net = [
    { protocol = ["tcp", "udp"], mode = "pingpong", block = ["14B"], threads = ["1"] },
    { protocol = ["tcp"], mode = "stream", block = ["128KiB"], threads = ["1"] },
]
"#,
        tools: &[],
    },
    Kind {
        name: "memory and disk with tools",
        suite: r#"
sampling.memory = { samples = 2, per_launch = 2, sample = "20ms", warm_up = ["5ms", "10ms"] }
sampling.disk = { samples = 2, per_launch = 2, sample = "50ms", warm_up = ["10ms", "20ms"] }
memory = [{ pattern = "sequential", op = ["copy"], pages = ["4KiB"], working_sets = ["64MiB"], working_set = "64MiB", threads = ["1"] }]
disk = [{ pattern = "random", op = ["read"], block = ["4KiB"], depth = [4], size = "16MiB", threads = ["1"] }]
"#,
        tools: &["stream", "fio"],
    },
    Kind {
        name: "net with a tool and its server",
        suite: r#"
sampling.net = { samples = 2, per_launch = 2, sample = "50ms", warm_up = ["10ms", "20ms"] }
net = [{ protocol = ["tcp"], mode = "stream", block = ["128KiB"], threads = ["2"] }]
"#,
        tools: &["iperf3"],
    },
];

impl Kind {
    /// Writes the suite into a folder; the arguments of a run.
    pub(super) fn arguments(&self, folder: &Path, disk: &Path) -> Result<Vec<String>, String> {
        let suite = folder.join(format!("{}.toml", self.name.replace(' ', "-")));
        write(&suite, &format!("name = \"kills\"\n{}", self.suite))?;
        let tools = if self.tools.is_empty() { "none".to_owned() } else { self.tools.join(",") };
        Ok(vec![
            suite.display().to_string(),
            "--dir".to_owned(),
            disk.display().to_string(),
            "--references".to_owned(),
            tools,
        ])
    }
}

pub(super) fn write_tools(folder: &Path) -> Result<(), String> {
    let cannot = |error: std::io::Error| format!("cannot write tools into {}: {error}", folder.display());
    fs::create_dir(folder).map_err(cannot)?;
    for tool in KINDS.iter().flat_map(|kind| kind.tools) {
        let path = folder.join(tool);
        write(&path, &script(tool)?)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).map_err(cannot)?;
    }
    Ok(())
}

/// A tool that leaves two processes behind, one of them in another session, takes 0.3 s, and prints what the real one once printed.
fn script(tool: &str) -> Result<String, String> {
    let recorded = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/tools/recorded");
    let own = std::env::current_exe().map_err(|error| format!("the lab's own path is unknown: {error}"))?;
    let (first, prints) = match tool {
        "stream" => ("# STREAM version $Revision: 5.10 $".to_owned(), "stream-5.10-91MiB-serial.txt"),
        "fio" => ("[ \"$1\" = --version ] && { echo fio-3.33; exit; }".to_owned(), "fio-3.33-randread-4KiB-d4.json"),
        _ => {
            let serves = format!("[ \"$1\" = -s ] && exec '{}' kills --listen \"$@\"", own.display());
            let version = "[ \"$1\" = --version ] && { echo 'iperf 3.12 (a fake)'; exit; }";
            (format!("{version}\n{serves}"), "iperf3-3.12-tcp-128KiB-t2.json")
        }
    };
    Ok(format!(
        "#!/bin/sh\n{first}\n/bin/sleep 300 </dev/null >/dev/null 2>&1 &\n/usr/bin/setsid /bin/sleep 300 </dev/null >/dev/null 2>&1 &\n/bin/sleep 0.3\n/bin/cat {recorded}/{prints}\n"
    ))
}

/// Plays the server of a tool: listens on the port of an argument `-p5201` until it is killed.
pub(super) fn listen(arguments: &[String]) -> Result<(), String> {
    let mut ports = arguments.iter().filter_map(|word| word.strip_prefix("-p")?.parse::<u16>().ok());
    let port = ports.next().ok_or("no argument -pPORT")?;
    let cannot = |error: std::io::Error| format!("cannot listen on port {port}: {error}");
    let listener = std::net::TcpListener::bind(("0.0.0.0", port)).map_err(cannot)?;
    for stream in listener.incoming() {
        drop(stream);
    }
    Ok(())
}
