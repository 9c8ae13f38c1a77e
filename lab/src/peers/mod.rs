//! `cargo lab peers`: compares our benchmarks with reference tools on this machine by `assay run suites/peers.toml --references …`,
//! appends every attempt to `lab/data/peers.jsonl`, and writes docs/evidence/performance.md from that file.

mod attempt;
mod from;
mod limits;
mod page;
mod texts;
mod veth;

use std::path::{Path, PathBuf};

use bench::references::detect::Places;
use xtask::process::{announce, is_there};
use xtask::set_up;
use xtask::shell::Shell;

use crate::held::Held;
use crate::record::{Record, build, fresh_folder, records, write};
use attempt::{ATTEMPTS, DISK, Mark, VETH};
use veth::SUITE;

const LIMITS: &str = "lab/data/limits.jsonl";
/// Measures every kernel of the machine, on one thread and on all cores.
const ALL_KERNELS: &[&str] = &["cpu", "--isa", "all", "--threads", "1,all"];
const LIMIT_RUNS: usize = 2;
const EVIDENCE: &str = "docs/evidence";
const AREAS: &[&str] = &["cpu", "linpack", "memory", DISK, "net"];
const VETH_PAIRS: u32 = 20;
/// A file system on a loop device: `$1` is its image, `$2` where it is mounted. On a virtual disk the exit to the hypervisor
/// dominates the CPU time of a request at queue depth 1, equally for every program. On a loop device a kernel thread does that
/// work, which leaves the program's own overhead. 4 GiB: the test file of 1 GiB, and the space that `assay` leaves free.
const LOOP_DISK: [&str; 2] = [
    "mkdir -p \"$2\"; fallocate --length 4G \"$1\"; mkfs.ext4 -q \"$1\"; \
     loop=$(losetup --find --show --direct-io=on \"$1\"); mount \"$loop\" \"$2\"",
    "umount \"$2\" || umount -l \"$2\" || :; losetup --detach \"$loop\" || :; rm -f \"$1\"; rmdir \"$2\"",
];

pub(crate) const USAGE: &str = "peers [page | limits | from RUN.JSON | AREA | veth] [--filter GLOB] \
     [--tool NAME=PATH] [--pairs N] [--awake | --loop]";

#[derive(Debug, Default, PartialEq, Eq)]
struct Request {
    area: Option<String>,
    /// A glob over the ids of the suite.
    filter: Option<String>,
    /// `NAME=PATH`, for tools outside the search path.
    tools: Vec<String>,
    pairs: Option<u32>,
    awake: bool,
    on_loop: bool,
}

impl Request {
    fn read(arguments: &[String]) -> Result<Self, String> {
        let mut request = Self::default();
        let mut rest = arguments.iter();
        while let Some(word) = rest.next() {
            let mut value = || rest.next().ok_or_else(|| format!("{word} needs a value"));
            match word.as_str() {
                "--tool" => request.tools.push(value()?.clone()),
                "--filter" => request.filter = Some(value()?.clone()),
                "--awake" => request.awake = true,
                "--loop" => request.on_loop = true,
                "--pairs" => {
                    let text = value()?;
                    let pairs = text.parse().ok().filter(|pairs| *pairs > 0);
                    request.pairs = Some(pairs.ok_or_else(|| format!("'{text}' is not a number of pairs"))?);
                }
                area if (AREAS.contains(&area) || area == VETH) && request.area.is_none() => {
                    request.area = Some(area.to_owned());
                }
                other => return Err(format!("unknown word '{other}': use one of {}, {VETH}", AREAS.join(", "))),
            }
        }
        if request.awake && request.area.as_deref() == Some(VETH) {
            return Err(format!("--awake does not apply to {VETH}"));
        }
        if request.on_loop && (request.awake || request.area.as_deref() != Some(DISK)) {
            return Err(format!("--loop applies only to {DISK}, without --awake"));
        }
        Ok(request)
    }

    fn places(&self) -> Places {
        let named = self.tools.iter().filter_map(|tool| tool.split_once('='));
        let search_path = std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect());
        Places {
            search_path: search_path.unwrap_or_default(),
            overrides: named.map(|(name, path)| (name.to_owned(), PathBuf::from(path))).collect(),
        }
    }

    fn arguments(&self, run: &Path, dir: Option<&Path>) -> Vec<String> {
        let mut arguments: Vec<String> = ["run", SUITE, "--references", "all", "--out"].map(str::to_owned).into();
        arguments.push(run.display().to_string());
        let pairs = self.pairs.map(|pairs| pairs.to_string());
        let dir = dir.map(|dir| dir.display().to_string());
        let tools = self.tools.iter().map(|tool| ("--tool", Some(tool)));
        let options = [("--area", self.area.as_ref()), ("--filter", self.filter.as_ref())].into_iter().chain(tools);
        for (name, value) in options.chain([("--repeat", pairs.as_ref()), ("--dir", dir.as_ref())]) {
            arguments.extend(value.into_iter().flat_map(|value| [name.to_owned(), value.clone()]));
        }
        arguments
    }
}

pub(crate) fn run(shell: &Shell, arguments: &[String]) -> Result<(), String> {
    let root = shell.root();
    match arguments {
        [word] if word == "page" => write_pages(root),
        [word] if word == "limits" => measure_limits(shell).and_then(|new| keep(root, LIMITS, &new)),
        [word, run] if word == "from" => {
            from::attempts(run, &records(root, ATTEMPTS)).and_then(|new| keep(root, ATTEMPTS, &new))
        }
        _ => Request::read(arguments)
            .and_then(|request| compare(shell, &request))
            .and_then(|new| keep(root, ATTEMPTS, &new)),
    }
}

fn measure_limits(shell: &Shell) -> Result<Vec<Record>, String> {
    let program = build(shell)?;
    let mut lines = Vec::new();
    for _ in 0..LIMIT_RUNS {
        let arguments = |run: &Path| {
            let run = run.display().to_string();
            ALL_KERNELS.iter().copied().chain(["--out", &run]).map(str::to_owned).collect()
        };
        lines.extend(limits::read(&measure(shell, &program, arguments)?));
    }
    Ok(lines)
}

fn compare(shell: &Shell, request: &Request) -> Result<Vec<Record>, String> {
    set_up::run(shell);
    let program = build(shell)?;
    if request.area.as_deref() == Some(VETH) {
        let wanted = veth::Wanted {
            pairs: request.pairs.unwrap_or(VETH_PAIRS),
            part_of_id: request.filter.as_deref().unwrap_or_default(),
            program: &program,
            places: &request.places(),
        };
        return veth::compare(shell, &wanted);
    }
    let awake = request.awake.then(|| keep_awake(shell)).transpose()?;
    let below = shell.root().join(shell.target()).join("peers");
    let [image, mounted] = ["loop.image", "loop"].map(|name| below.join(name).display().to_string());
    let disk = request.on_loop.then(|| {
        let made = Held::new(LOOP_DISK[0], LOOP_DISK[1], &[&image, &mounted]);
        made.map_err(|reason| format!("--loop needs root, losetup, mount and mkfs.ext4: {reason}"))
    });
    let disk = disk.transpose()?;
    let dir = disk.as_ref().map(|_| Path::new(&mounted));
    let document = measure(shell, &program, |run| request.arguments(run, dir))?;
    let mark = awake.map(|_| Mark::Awake).or(disk.map(|_| Mark::OnLoop));
    let attempts = attempt::read(&document).into_iter();
    Ok(attempts.map(|attempt| if let Some(mark) = mark { attempt.marked(mark) } else { attempt }).collect())
}

/// A loop of the idle class (`SCHED_IDLE`) on each CPU: no CPU sleeps, and any other program runs at once. At queue depth 1
/// the CPU sleeps between requests, and in a virtual machine its wake-up costs as much as the request.
fn keep_awake(shell: &Shell) -> Result<Vec<Held>, String> {
    if !["chrt", "taskset"].iter().all(|program| is_there(&mut shell.command(program, &["--version"]))) {
        return Err("--awake needs chrt and taskset (as root on Debian: apt-get install util-linux)".to_owned());
    }
    let cpus = std::thread::available_parallelism().map_err(|error| format!("the CPUs: {error}"))?;
    (0..cpus.get()).map(|cpu| Held::busy(":", &format!("chrt --idle 0 taskset -c {cpu}"), &[])).collect()
}

fn measure(
    shell: &Shell,
    program: &Path,
    arguments: impl Fn(&Path) -> Vec<String>,
) -> Result<serde_json::Value, String> {
    let run = fresh_folder(&shell.target().join("peers"));
    // It ends when this process is killed, so that what it uses can be removed.
    let words = ["--pdeathsig", "TERM", &program.display().to_string()].map(str::to_owned);
    let mut command = shell.command("setpriv", &[&words[..], &arguments(&run)].concat());
    announce(&command);
    // The exit status does not matter: a failed benchmark is an attempt too.
    command.status().map_err(|error| format!("cannot start setpriv: {error}"))?;
    let document = run.join("run.json");
    let text = std::fs::read_to_string(&document).map_err(|error| format!("{}: {error}", document.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("the document is not JSON: {error}"))
}

fn keep(root: &Path, file: &str, new: &[Record]) -> Result<(), String> {
    let mut text = std::fs::read_to_string(root.join(file)).unwrap_or_default();
    for record in new {
        text.push_str(&record.to_line());
        text.push('\n');
    }
    write(&root.join(file), &text)?;
    println!("added {} lines to {file}", new.len());
    write_pages(root)
}

fn write_pages(root: &Path) -> Result<(), String> {
    // A machine that moves to the front page leaves a page of its own.
    let folder = root.join(EVIDENCE).join(texts::FOLDER);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for (page, text) in pages(root) {
        write(&root.join(page), &text)?;
    }
    println!("{EVIDENCE}/performance.md shows the latest attempt of each comparison");
    Ok(())
}

fn pages(root: &Path) -> Vec<(String, String)> {
    let attempts = records(root, ATTEMPTS);
    let front = [
        ("performance.md".to_owned(), page::render(&attempts)),
        ("performance-limits.md".to_owned(), page::render_limits(&records(root, LIMITS))),
        (texts::COMMANDS_OF_LAST.to_owned(), page::render_commands(&attempts)),
    ];
    let all = front.into_iter().chain(page::render_others(&attempts));
    all.map(|(path, text)| (format!("{EVIDENCE}/{path}"), text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn smoke_the_pages_are_those_written_from_the_recorded_data() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        for (page, text) in pages(root) {
            let current = std::fs::read_to_string(root.join(&page)).unwrap();
            assert!(current == text, "{page} is not what `cargo lab peers page` writes");
        }
    }

    #[test]
    fn the_command_line_is_read_or_refused() {
        let request = Request::read(&words("disk --pairs 30 --tool fio=/opt/fio --filter disk/**/t1")).unwrap();
        let expected = Request {
            area: Some("disk".into()),
            filter: Some("disk/**/t1".into()),
            tools: vec!["fio=/opt/fio".into()],
            pairs: Some(30),
            awake: false,
            on_loop: false,
        };
        assert_eq!(request, expected);
        assert!(Request::read(&words("disk --awake")).unwrap().awake);
        assert!(Request::read(&words("disk --loop")).unwrap().on_loop);
        let bad = "--loop; net --loop; veth --loop; disk --loop --awake; gpu; --pairs; --pairs x; --pairs 0; cpu memory; \
                   net veth; --tool; --filter; veth --awake";
        for bad in bad.split("; ") {
            assert!(Request::read(&words(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn everything_asked_for_reaches_the_program() {
        let request = Request::read(&words("net --pairs 24 --tool iperf3=/x --filter net/**")).unwrap();
        let line = request.arguments(Path::new("/run"), None).join(" ");
        assert_eq!(
            line,
            format!("run {SUITE} --references all --out /run --area net --filter net/** --tool iperf3=/x --repeat 24")
        );
        let in_dir = request.arguments(Path::new("/run"), Some(Path::new("/dir"))).join(" ");
        assert_eq!(in_dir, format!("{line} --dir /dir"));
    }
}
