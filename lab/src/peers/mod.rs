//! `cargo lab peers`: our measurements beside the tools that people trust, on this machine.
//!
//! The program measures and compares (`assay run suites/peers.toml --references …`); here it is built, called, and what
//! its document says is kept: every attempt in `lab/data/peers.jsonl`, whatever it shows, and the latest of each comparison
//! in `docs/evidence/performance.md`. No ratio of figures, no interval and no verdict on one is worked out here; that of spreads is, for
//! the page alone, from the figures of the pairs. `cargo lab peers limits` does the same for our arithmetic kernels
//! against their own limits (`lab/data/limits.jsonl`), and `cargo lab peers veth` compares the network rows between two
//! namespaces, where the tools and ours need servers that only this command starts. `cargo lab peers from RUN` measures
//! nothing and keeps the comparisons of a document that another machine made, where there was no Rust; `cargo lab peers
//! page` only writes the page anew.

mod attempt;
mod attended;
mod awake;
mod elsewhere;
mod limits;
mod loop_disk;
mod page;
mod shared;
mod texts;
mod veth;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bench::host;
use bench::references::detect::Places;

use attempt::Attempt;
use loop_disk::LoopDisk;
use shared::{ATTEMPTS, DISK, SUITE, fresh_folder};
use xtask::process::succeeds;
use xtask::set_up;
use xtask::shell::Shell;

/// Every look at our kernels' own limits, one row a line.
const LIMITS: &str = "lab/data/limits.jsonl";
/// What is measured for the limits: every kernel that the machine has, on one thread and on all cores.
const ALL_KERNELS: &[&str] = &["cpu", "--isa", "all", "--threads", "1,all"];
/// Runs of it, so that it is seen whether figures repeat.
const LIMIT_RUNS: usize = 2;
/// What a reader looks at.
const PAGE: &str = "docs/evidence/performance.md";
/// How near our kernels come to their own limits.
const LIMITS_PAGE: &str = "docs/evidence/performance-limits.md";
/// How the tools were called, for who wants to know.
const COMMANDS_PAGE: &str = "docs/evidence/performance-commands.md";
/// Every tool that the program knows: it runs each beside the rows that it can stand beside.
const TOOLS: &str = "all";
/// What the area may be.
const AREAS: &[&str] = &["cpu", "linpack", "memory", "disk", "net"];
/// The word for the network rows between two namespaces.
const VETH: &str = "veth";
/// Pairs of them where nothing is said: as many as the suite takes.
const VETH_PAIRS: u32 = 20;

/// What this command takes, for the usage.
pub(crate) const USAGE: &str = "peers [page | limits | from RUN.JSON [--loop] | AREA | veth] [--filter GLOB] \
     [--tool NAME=PATH] [--pairs N] [--awake | --loop]";

/// What was asked for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Request {
    area: Option<String>,
    /// Of the suite, only the rows that match.
    filter: Option<String>,
    /// `NAME=PATH`, for tools that are not where programs are looked for.
    tools: Vec<String>,
    pairs: Option<u32>,
    /// Whether the CPUs are kept from going idle, for both sides.
    awake: bool,
    /// Whether disk rows are on a loop device.
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
                    request.pairs = Some(pairs.ok_or_else(|| format!("'{text}' is no number of pairs"))?);
                }
                area if (AREAS.contains(&area) || area == VETH) && request.area.is_none() => {
                    request.area = Some(area.to_owned());
                }
                other => return Err(format!("'{other}' is not understood; areas: {}, {VETH}", AREAS.join(", "))),
            }
        }
        if request.awake && request.area.as_deref() == Some(VETH) {
            return Err(format!("--awake is for the rows of one machine, not for {VETH}"));
        }
        if request.on_loop && (request.awake || request.area.as_deref() != Some(DISK)) {
            return Err(format!("--loop is for {DISK}, and not with --awake"));
        }
        Ok(request)
    }

    /// Where tools are looked for.
    fn places(&self) -> Places {
        let named = self.tools.iter().filter_map(|tool| tool.split_once('='));
        let search_path = std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect());
        Places {
            search_path: search_path.unwrap_or_default(),
            overrides: named.map(|(name, path)| (name.to_owned(), PathBuf::from(path))).collect(),
        }
    }

    /// The program's arguments.
    fn arguments(&self, run: &Path, dir: Option<&Path>) -> Vec<String> {
        let mut arguments: Vec<String> = ["run", SUITE, "--references", TOOLS, "--out"].map(str::to_owned).into();
        arguments.push(run.display().to_string());
        arguments.extend(self.area.iter().flat_map(|area| ["--area".to_owned(), area.clone()]));
        arguments.extend(self.filter.iter().flat_map(|filter| ["--filter".to_owned(), filter.clone()]));
        arguments.extend(self.tools.iter().flat_map(|tool| ["--tool".to_owned(), tool.clone()]));
        arguments.extend(self.pairs.iter().flat_map(|pairs| ["--repeat".to_owned(), pairs.to_string()]));
        arguments.extend(dir.iter().flat_map(|dir| ["--dir".to_owned(), dir.display().to_string()]));
        arguments
    }
}

/// Runs the comparisons and keeps what they show.
pub(crate) fn run(shell: &Shell, arguments: &[String]) -> ExitCode {
    let done = if arguments == ["page"] {
        write_page(shell.root())
    } else if arguments == ["limits"] {
        reach(shell).and_then(|new| keep(shell.root(), LIMITS, &new))
    } else if let Some((word, rest)) = arguments.split_first()
        && word == "from"
    {
        let attempts = elsewhere::Wanted::read(rest).and_then(|run| run.attempts(&kept(shell.root(), ATTEMPTS)));
        attempts.and_then(|new| keep(shell.root(), ATTEMPTS, &new))
    } else {
        let attempts = Request::read(arguments).and_then(|request| compare(shell, &request));
        attempts.and_then(|new| keep(shell.root(), ATTEMPTS, &new))
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) if let Some(signal) = host::stop_signal() => {
            println!("peers: stopped by signal {signal}; nothing of it is kept");
            ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX))
        }
        Err(reason) => {
            println!("peers: {reason}");
            println!("Usage: cargo lab {USAGE}");
            ExitCode::from(2)
        }
    }
}

/// Lets the program measure all kernels, and reads how close each comes to its limit.
fn reach(shell: &Shell) -> Result<Vec<Attempt>, String> {
    build(shell)?;
    let mut lines = Vec::new();
    for _ in 0..LIMIT_RUNS {
        lines.extend(limits::read(&measure(shell, &[], |run| {
            let words = ALL_KERNELS.iter().copied().chain(["--out", run]);
            words.map(str::to_owned).collect()
        })?));
    }
    Ok(lines)
}

/// Lets the program compare, and reads what it found.
fn compare(shell: &Shell, request: &Request) -> Result<Vec<Attempt>, String> {
    set_up::run(shell);
    build(shell)?;
    if request.area.as_deref() == Some(VETH) {
        let wanted = veth::Wanted {
            pairs: request.pairs.unwrap_or(VETH_PAIRS),
            part_of_id: request.filter.as_deref().unwrap_or_default(),
            program: &program(shell),
            places: &request.places(),
        };
        return veth::compare(shell, &wanted);
    }
    // From here on there is something to take down however this ends.
    host::note_stop_signals();
    let awake = request.awake.then(|| awake::Awake::begin(shell)).transpose()?;
    let disk = request.on_loop.then(|| LoopDisk::make(shell, &shell.target().join("peers"))).transpose()?;
    let dir = disk.as_ref().map(LoopDisk::root);
    let before: &[&str] = if disk.is_some() { loop_disk::TIED_TO_US } else { &[] };
    let document = measure(shell, before, |run| request.arguments(Path::new(run), dir.as_deref()))?;
    let attempts = attempt::read(&document).into_iter();
    Ok(match (awake, disk) {
        (Some(_), _) => attempts.map(Attempt::made_awake).collect(),
        (None, Some(_)) => attempts.map(Attempt::made_on_a_loop).collect(),
        (None, None) => attempts.collect(),
    })
}

fn build(shell: &Shell) -> Result<(), String> {
    let built = succeeds(&mut shell.cargo(&["build", "--release", "--quiet", "--package", "assay"]));
    if built { Ok(()) } else { Err("the program does not build".to_owned()) }
}

/// The program, as it was built.
fn program(shell: &Shell) -> PathBuf {
    shell.target().join("release/assay")
}

/// The document of a run of the program, whose folder the arguments must name; these words come before it.
fn measure(
    shell: &Shell,
    before: &[&str],
    arguments: impl Fn(&str) -> Vec<String>,
) -> Result<serde_json::Value, String> {
    let run = fresh_folder(&shell.target().join("peers"));
    let mut words: Vec<String> = before.iter().copied().map(str::to_owned).collect();
    words.push(program(shell).display().to_string());
    words.extend(arguments(&run.display().to_string()));
    // A row that failed leaves the others standing, and is an attempt like them.
    attended::attend(&mut shell.command(&words[0], &words[1..]), host::stop_signal)?;
    let document = run.join("run.json");
    let text = std::fs::read_to_string(&document).map_err(|error| format!("{}: {error}", document.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("the document is no JSON: {error}"))
}

/// Appends new lines to a file, and writes the page from all that there are.
fn keep(root: &Path, file: &str, new: &[Attempt]) -> Result<(), String> {
    let mut text = std::fs::read_to_string(root.join(file)).unwrap_or_default();
    for attempt in new {
        text.push_str(&attempt.line());
        text.push('\n');
    }
    write(&root.join(file), &text)?;
    println!("{} lines more in {file}", new.len());
    write_page(root)
}

/// Writes the page from all lines that there are.
fn write_page(root: &Path) -> Result<(), String> {
    // A machine that comes to the front leaves its page among the others.
    let others = root.join("docs").join(texts::FOLDER);
    if let Err(error) = std::fs::remove_dir_all(&others)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        return Err(format!("{}: {error}", others.display()));
    }
    std::fs::create_dir_all(&others).map_err(|error| format!("{}: {error}", others.display()))?;
    for (page, text) in pages(root) {
        write(&root.join(page), &text)?;
    }
    println!("{PAGE} shows the latest of each comparison");
    Ok(())
}

/// The lines of a file under `root`.
fn kept(root: &Path, file: &str) -> Vec<Attempt> {
    let text = std::fs::read_to_string(root.join(file)).unwrap_or_default();
    text.lines().filter_map(Attempt::of_line).collect()
}

/// The pages and what stands on them, from what is kept under `root`.
fn pages(root: &Path) -> Vec<(String, String)> {
    let (attempts, limits) = (kept(root, ATTEMPTS), kept(root, LIMITS));
    let front = [
        (PAGE.to_owned(), page::render(&attempts)),
        (LIMITS_PAGE.to_owned(), page::render_limits(&limits)),
        (COMMANDS_PAGE.to_owned(), page::render_commands(&attempts)),
    ];
    let others = page::render_others(&attempts).into_iter().map(|(path, text)| (format!("docs/evidence/{path}"), text));
    front.into_iter().chain(others).collect()
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn smoke_the_pages_are_as_they_are_written_from_what_is_kept() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        for (page, text) in pages(root) {
            let there = std::fs::read_to_string(root.join(&page)).unwrap();
            assert!(there == text, "{page} is not what `cargo lab peers page` writes");
        }
    }

    #[test]
    fn the_command_line_is_understood_or_refused() {
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
        for bad in [
            "--loop",
            "net --loop",
            "veth --loop",
            "disk --loop --awake",
            "gpu",
            "--pairs",
            "--pairs x",
            "--pairs 0",
            "cpu memory",
            "net veth",
            "--tool",
            "--filter",
            "veth --awake",
        ] {
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
        let elsewhere = request.arguments(Path::new("/run"), Some(Path::new("/elsewhere"))).join(" ");
        assert_eq!(elsewhere, format!("{line} --dir /elsewhere"));
    }
}
