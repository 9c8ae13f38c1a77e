//! Interference made on purpose: does the benchmark warn? Then the same benchmarks undisturbed: how often is confidence high?

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::program::{Program, create_folder, output};
use crate::held::{Group, Held, shell};
use crate::record::Keeper;
use crate::record::{confidence, processes, stat, words_of, write};
use machine::{Sysroot, discover};

pub(super) const TRIALS: u32 = 20;
pub(super) const NOTHING: &str = "nothing";
/// How long a run may take to its first sample.
const PATIENCE: Duration = Duration::from_secs(30);
const CPU: &str = "cpu --op fma --type fp64 --isa vector --threads 1 --repeat 3";
const ALL_CPUS: &str = "cpu --op fma --type fp64 --isa vector --threads all --repeat 3";
const MEMORY: &str = "memory --pattern sequential --op read --threads 1 --repeat 3";
const CACHED: &str = "memory --pattern sequential --op read --working-set 1MiB --threads 1 --repeat 3";
const LIMITED: &str = "memory --pattern sequential --op read --working-set 256MiB --threads 1 --repeat 3";
const DISK: &str = "disk --pattern random --op read --depth 1 --threads 1 --size 64MiB --repeat 3";
const WRITES: &str = "disk --pattern random --op write --depth 1 --threads 1 --size 64MiB --repeat 3";
const NET: &str = "net --protocol tcp --mode pingpong --threads 1 --repeat 3";
/// One process run of 1.5 s on two CPUs, long enough for a disturbance in its middle.
const ONE_PROCESS: &str = "run one-process.toml --repeat 12";
const ONE_PROCESS_SUITE: &str = r#"
name = "one process run"
[sampling.cpu]
samples = 12
per_launch = 12
sample = "120ms"
warm_up = ["40ms", "100ms"]
target = 0.05
[[cpu]]
op = "fma"
type = ["fp64"]
isa = ["vector"]
threads = ["2"]
"#;

pub(super) struct Disturbance {
    pub(super) name: &'static str,
    pub(super) how: &'static str,
    pub(super) row: &'static str,
    pub(super) codes: &'static [&'static str],
    trial: fn(&Ground, &str) -> Result<Value, String>,
}

#[rustfmt::skip]
pub(super) const DISTURBANCES: &[Disturbance] = &[
    Disturbance { name: "busy loop on the same CPU", how: "a shell's endless loop by taskset -c, the program on the same CPU", row: CPU, codes: &["cpu_shared"],
        trial: |ground, row| { let _loop = Held::busy(":", &pinned(ground.first).join(" "), &[])?; ground.through(&pinned(ground.first), row) } },
    Disturbance { name: "busy loop on another CPU", how: "a shell's endless loop by taskset -c", row: CPU, codes: &["other_load"],
        trial: |ground, row| { let _loop = Held::busy(":", &pinned(ground.last).join(" "), &[])?; ground.call(row) } },
    Disturbance { name: "quota", how: "control group with half a CPU", row: CPU, codes: &["cpu_quota"], trial: quota },
    Disturbance { name: "memory hog", how: "dd if=/dev/zero of=/dev/null bs=512M on another CPU", row: MEMORY, codes: &["other_load"],
        trial: |ground, row| { let _hog = Held::busy("dd if=/dev/zero of=/dev/null bs=512M", &pinned(ground.last).join(" "), &[])?; ground.call(row) } },
    Disturbance { name: "cache-sized working set", how: "--working-set 1MiB", row: CACHED, codes: &["possibly_cached"],
        trial: |ground, row| ground.call(row) },
    Disturbance { name: "file system that buffers direct I/O", how: "btrfs on a loop device, a compressed folder", row: WRITES, codes: &["not_direct"], trial: btrfs },
    Disturbance { name: "other disk traffic", how: "dd of 64 MiB with fdatasync, repeatedly, on the same file system", row: DISK, codes: &["other_disk_traffic"], trial: disk_traffic },
    Disturbance { name: "other network traffic", how: "a TCP stream over loopback", row: NET, codes: &["other_net_traffic"], trial: net_traffic },
    Disturbance { name: "affinity to one CPU", how: "taskset -c", row: ALL_CPUS, codes: &["affinity"],
        trial: |ground, row| ground.through(&pinned(ground.first), row) },
    Disturbance { name: "memory limit", how: "control group with 400 MiB", row: LIMITED, codes: &["memory_limit"], trial: memory_limit },
    Disturbance { name: "low priority", how: "nice -n 10", row: CPU, codes: &["low_priority"],
        trial: |ground, row| ground.through(&["nice", "-n", "10"].map(str::to_owned), row) },
    Disturbance { name: "stopped and continued process", how: "SIGSTOP to the worker in its samples, SIGCONT half a second later", row: ONE_PROCESS, codes: &["time_lost", "cpu_shared", "disturbed_blocks"],
        trial: |ground, row| ground.in_the_middle(row, |worker| shell(&format!("kill -STOP {worker}; sleep 0.5; kill -CONT {worker}"))) },
    Disturbance { name: "CPU taken offline", how: "/sys/devices/system/cpu/cpuN/online written 0 for 0.1 s in the samples", row: ONE_PROCESS, codes: &["migrated", "cpus_offline"],
        trial: |ground, row| ground.in_the_middle(row, |_| {
            let _off = Held::offline(ground.last)?;
            std::thread::sleep(Duration::from_millis(100));
            Ok(())
        }) },
];

pub(super) const UNDISTURBED: &[&str] = &[CPU, MEMORY, DISK, NET];

pub(super) struct Ground {
    program: Program,
    pub(super) first: u32,
    pub(super) last: u32,
    folder: PathBuf,
    runs: AtomicU32,
}

pub(super) fn run(keeper: &mut Keeper) -> Result<(), String> {
    let ground = Ground::new(keeper)?;
    write(&ground.folder.join("one-process.toml"), ONE_PROCESS_SUITE)?;
    let mut impossible = Vec::new();
    for disturbance in DISTURBANCES {
        if let Err(reason) = disturb(keeper, &ground, disturbance) {
            println!("{}: {reason}", disturbance.name);
            impossible.push(format!("{} ({reason})", disturbance.name));
        }
    }
    for row in UNDISTURBED {
        leave_alone(keeper, &ground, row)?;
    }
    if impossible.is_empty() { Ok(()) } else { Err(format!("not possible on this machine: {}", impossible.join("; "))) }
}

fn disturb(keeper: &mut Keeper, ground: &Ground, disturbance: &Disturbance) -> Result<(), String> {
    let (mut flagged, mut failed, start) = (0, 0, Instant::now());
    for _ in 0..TRIALS {
        let document = (disturbance.trial)(ground, disturbance.row)?;
        let mut result = result_of(&document, disturbance.codes);
        flagged += u32::from(result["flagged"] == true);
        failed += u32::from(!result["failed"].is_null());
        result["what"] = json!(disturbance.name);
        keeper.keep(&result)?;
    }
    let seconds = start.elapsed().as_secs();
    println!("{}: {flagged} of {TRIALS} flagged, {failed} failed, {seconds} s", disturbance.name);
    Ok(())
}

fn leave_alone(keeper: &mut Keeper, ground: &Ground, row: &str) -> Result<(), String> {
    let mut below = 0;
    for _ in 0..TRIALS {
        let mut result = result_of(&ground.call(&in_full(row))?, &[]);
        below += u32::from(result["confidence"] != "high");
        result["what"] = json!(NOTHING);
        result["row"] = json!(row);
        keeper.keep(&result)?;
    }
    println!("{row}: {below} of {TRIALS} below high confidence, undisturbed");
    Ok(())
}

/// With the samples that an interval needs: fewer lower the confidence by themselves.
pub(super) fn in_full(row: &str) -> String {
    row.replace("--repeat 3", "--repeat 6")
}

/// The result of one trial, where `expected` are the warnings of the disturbance.
fn result_of(document: &Value, expected: &[&str]) -> Value {
    let rows = document["experiments"].as_array().map_or(&[][..], Vec::as_slice);
    let warnings: Vec<&Value> = rows.iter().filter_map(|row| row["warnings"].as_array()).flatten().collect();
    let code = |warning: &&Value| warning["code"].as_str().unwrap_or_default().to_owned();
    let codes: Vec<String> = warnings.iter().map(code).collect();
    let lowering: Vec<String> = warnings.iter().filter(|warning| confidence(warning) != "high").map(code).collect();
    let failed = rows.iter().find(|row| row["status"] != "ok").map(|row| row["reason"].clone());
    let missing = rows.is_empty().then(|| json!("nothing was measured"));
    let worst = ["low", "fair", "high"].into_iter().find(|level| rows.iter().any(|row| confidence(row) == *level));
    json!({
        "part": "disturbances",
        "flagged": codes.iter().any(|code| expected.contains(&code.as_str())),
        "failed": failed.or(missing),
        "confidence": worst,
        "codes": codes,
        "lowering": lowering,
    })
}

pub(super) fn pinned(cpu: u32) -> Vec<String> {
    vec!["taskset".to_owned(), "-c".to_owned(), cpu.to_string()]
}

impl Ground {
    pub(super) fn new(keeper: &mut Keeper) -> Result<Self, String> {
        let program = Program::build(keeper)?;
        let cpus = discover(&Sysroot::host()).cpu.available_cpus;
        let (Some(&first), Some(&last)) = (cpus.first(), cpus.last()) else { return Err("no CPU is known".to_owned()) };
        let folder = program.store.join("ground");
        create_folder(&folder)?;
        Ok(Self { program, first, last, folder, runs: AtomicU32::new(0) })
    }

    pub(super) fn call(&self, row: &str) -> Result<Value, String> {
        self.through(&[], row)
    }

    pub(super) fn through(&self, through: &[String], row: &str) -> Result<Value, String> {
        let mut arguments: Vec<&str> = row.split_whitespace().collect();
        arguments.extend(["--quiet", "--json", "-"]);
        let output = output(self.program.through(through, &arguments).current_dir(&self.folder));
        output.json.ok_or_else(|| format!("{row}: {}", output.error))
    }

    fn in_the_middle(&self, row: &str, act: impl Fn(u32) -> Result<(), String>) -> Result<Value, String> {
        let number = self.runs.fetch_add(1, Ordering::Relaxed);
        let run = self.folder.join(format!("run-{number}"));
        let folder = run.display().to_string();
        let mut arguments: Vec<&str> = row.split_whitespace().collect();
        arguments.extend(["--quiet", "--out", &folder]);
        let mut command = self.program.through(&[], &arguments);
        command.current_dir(&self.folder).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| format!("cannot start the program: {error}"))?;
        let acted = worker_in_its_samples(&mut child, &run.join("journal.jsonl")).and_then(act);
        let ended = child.wait().map_err(|error| format!("cannot wait for the program: {error}"));
        acted.and(ended)?;
        let path = run.join("run.json");
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
    }
}

fn worker_in_its_samples(child: &mut Child, journal: &Path) -> Result<u32, String> {
    let start = Instant::now();
    while start.elapsed() < PATIENCE && child.try_wait().is_ok_and(|ended| ended.is_none()) {
        let journal = std::fs::read_to_string(journal).unwrap_or_default();
        if journal.lines().any(|line| line.starts_with("{\"kind\":\"sample\""))
            && let Some(worker) = worker_of(child.id())
        {
            return Ok(worker);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Err("the run took no sample, or its worker was not found".to_owned())
}

fn worker_of(parent: u32) -> Option<u32> {
    let parent = parent.to_string();
    processes().find(|process| {
        words_of(*process, "cmdline").iter().any(|word| word == "worker")
            && stat(*process).is_some_and(|fields| fields.get(1) == Some(&parent))
    })
}

pub(super) fn quota(ground: &Ground, row: &str) -> Result<Value, String> {
    let group = Group::make("cpu", "trust")?;
    let [set, _] = group.quota_commands(50);
    shell(&set)?;
    ground.through(&group.words(), row)
}

fn memory_limit(ground: &Ground, row: &str) -> Result<Value, String> {
    let group = Group::make("memory", "trust")?;
    shell(&group.memory_command(400 << 20))?;
    ground.through(&group.words(), row)
}

fn btrfs(ground: &Ground, row: &str) -> Result<Value, String> {
    let [image, mounted] = ["btrfs.image", "btrfs"].map(|name| ground.folder.join(name).display().to_string());
    // btrfs cannot overwrite a compressed file in place, so direct writes are copied.
    let make = "truncate -s 320M \"$1\"; mkfs.btrfs -q -f \"$1\"; mkdir -p \"$2\"; mount -o loop \"$1\" \"$2\"; \
                mkdir \"$2/compressed\"; chattr +c \"$2/compressed\"";
    let undo = "umount \"$2\" || umount -l \"$2\"; rmdir \"$2\"; rm -f \"$1\"";
    let _mounted = Held::new(make, undo, &[&image, &mounted])?;
    ground.call(&format!("{row} --dir {mounted}/compressed"))
}

fn disk_traffic(ground: &Ground, row: &str) -> Result<Value, String> {
    let filler = ground.folder.join("filler").display().to_string();
    let traffic = Held::busy("dd if=/dev/zero of=\"$1\" bs=1M count=64 conv=fdatasync", "", &[&filler])?;
    let document = ground.call(&format!("{row} --dir {}", ground.folder.display()));
    drop(traffic);
    let _ = std::fs::remove_file(&filler);
    document
}

fn net_traffic(ground: &Ground, row: &str) -> Result<Value, String> {
    let cannot_send = |error: std::io::Error| format!("cannot send over loopback: {error}");
    let listener = TcpListener::bind("127.0.0.1:0").map_err(cannot_send)?;
    let mut stream = TcpStream::connect(listener.local_addr().map_err(cannot_send)?).map_err(cannot_send)?;
    let (mut receiver, _) = listener.accept().map_err(cannot_send)?;
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let receiving = std::thread::spawn(move || {
        let mut buffer = vec![0; 1 << 20];
        while receiver.read(&mut buffer).is_ok_and(|bytes| bytes > 0) {}
    });
    let sending = std::thread::spawn(move || {
        let buffer = vec![0; 1 << 18];
        while !stopped.load(Ordering::SeqCst) && stream.write_all(&buffer).is_ok() {}
    });
    let document = ground.call(row);
    stop.store(true, Ordering::SeqCst);
    let _ = (sending.join(), receiving.join());
    document
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_disturbance_has_its_own_name_and_codes() {
        let mut names: Vec<&str> = DISTURBANCES.iter().map(|disturbance| disturbance.name).chain([NOTHING]).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
        assert!(DISTURBANCES.iter().all(|disturbance| !disturbance.codes.is_empty()));
    }

    #[test]
    fn a_row_with_the_warning_is_flagged_and_a_failed_one_counted_apart() {
        let document = |row: Value| json!({"experiments": [row]});
        let warned = document(json!({"status": "ok", "confidence": "low", "warnings": [
            {"code": "cpu_quota", "confidence": "low"}, {"code": "few_samples", "confidence": "high"}]}));
        let result = result_of(&warned, &["cpu_quota"]);
        assert_eq!(
            (&result["flagged"], &result["failed"], &result["confidence"]),
            (&json!(true), &Value::Null, &json!("low"))
        );
        assert_eq!(
            (&result["codes"], &result["lowering"]),
            (&json!(["cpu_quota", "few_samples"]), &json!(["cpu_quota"]))
        );
        assert_eq!(result_of(&warned, &["steal"])["flagged"], false);
        let failed = document(json!({"status": "failed", "reason": "no CPU 1", "warnings": []}));
        assert_eq!(result_of(&failed, &["migrated"])["failed"], "no CPU 1");
        assert_eq!(result_of(&json!({}), &[])["failed"], "nothing was measured");
    }
}
