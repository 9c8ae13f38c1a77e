//! Disturbances made on purpose, and the warning that each must leave on the row.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;

use crate::common::{
    Scratch, assay, check, codes, document, is_root, is_verified, one_launch, only_row, ran, rows, skip, suite,
};
use crate::disk::support::directory;
use crate::system::cgroup::Cgroup;
use crate::system::process::{
    Running, allowed_cpu, allowed_cpus, has, samples_in_journal, signal, spinning, through_shell,
};

/// A row of one thread, measured in a moment.
const ROW: &str = "cpu --op fma --type fp64 --isa vector --threads 1 --repeat 3 --json -";

/// Trials of a disturbance that may fall between two samples.
const TRIALS: u32 = 3;

/// Asserts that a row was measured and has a warning, with a number and advice.
#[track_caller]
fn assert_warned(row: &Value, code: &str) {
    assert!(is_verified(row), "{row:#}");
    let warning = row["warnings"].as_array().unwrap().iter().find(|warning| warning["code"] == code);
    let warning = warning.unwrap_or_else(|| panic!("no '{code}': {:#} {:#}", row["warnings"], row["conditions"]));
    assert!(warning["text"].as_str().is_some_and(|text| text.contains(|c: char| c.is_ascii_digit())), "{warning:#}");
    assert!(!warning["advice"].as_str().unwrap_or_default().is_empty(), "{warning:#}");
}

#[test]
fn a_low_priority_is_named() {
    if !has("nice") {
        return skip("a low priority", "nice is missing");
    }
    let scratch = Scratch::new();
    let row = only_row(&ran(through_shell(&scratch, "exec nice -n 10 \"$@\"", ROW)));
    assert_warned(&row, "low_priority");
}

#[test]
fn all_threads_on_one_cpu_of_several_are_said_to_be_so() {
    if allowed_cpus().len() < 2 || !has("taskset") {
        return skip("an affinity to one CPU", "there is one CPU, or taskset is missing");
    }
    let scratch = Scratch::new();
    let all = "cpu --op fma --type fp64 --isa vector --threads all --repeat 3 --json -";
    let row = only_row(&ran(through_shell(&scratch, &format!("exec taskset -c {} \"$@\"", allowed_cpu()), all)));
    assert_warned(&row, "affinity");
    assert_eq!(row["params"]["threads"], 1);
}

#[test]
fn load_on_another_cpu_is_named() {
    let (cpus, scratch) = (allowed_cpus(), Scratch::new());
    let (Some(other), true) = (cpus.last().filter(|_| cpus.len() > 1), has("taskset")) else {
        return skip("load on another CPU", "there is one CPU, or taskset is missing");
    };
    let _other = spinning(*other);
    assert_warned(&only_row(&assay(&scratch, ROW)), "other_load");
}

#[test]
fn a_working_set_that_caches_can_hold_is_named() {
    let scratch = Scratch::new();
    let row = only_row(&assay(&scratch, "memory --op read --working-set 1MiB --threads 1 --repeat 3 --json -"));
    assert_warned(&row, "possibly_cached");
}

/// The row of a run whose worker is stopped for half a second during its samples.
fn stopped_and_continued() -> Value {
    let scratch = Scratch::new();
    // Stored, not printed: the journal shows when there is a sample.
    let run = Running::assay(&scratch, &one_launch(&scratch, "\"fp64\"", 4));
    let folder = samples_in_journal(&scratch, 1);
    let worker = run.worker();
    signal(worker, "STOP");
    std::thread::sleep(Duration::from_millis(500));
    signal(worker, "CONT");
    let ran = run.end();
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let document = document(&folder);
    check(&document);
    rows(&document)[0].clone()
}

#[test]
fn a_worker_that_is_stopped_for_a_while_leaves_a_warning() {
    const EXPECTED: [&str; 3] = ["time_lost", "cpu_shared", "disturbed_blocks"];
    let mut seen = Vec::new();
    // The stop may come after the last sample if this test is slow.
    for _ in 0..TRIALS {
        let row = stopped_and_continued();
        assert!(is_verified(&row), "{row:#}");
        if codes(&row).iter().any(|code| EXPECTED.contains(code)) {
            assert_ne!(row["confidence"], "high", "{row:#}");
            return;
        }
        seen.push(row["warnings"].clone());
    }
    panic!("none of {EXPECTED:?} in {seen:#?}");
}

/// A thread that works until the value is dropped.
struct Meanwhile {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Meanwhile {
    fn begin(work: impl FnOnce(&AtomicBool) + Send + 'static) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let end = Arc::clone(&over);
        Self { over, thread: Some(std::thread::spawn(move || work(&end))) }
    }
}

impl Drop for Meanwhile {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

#[test]
fn other_traffic_on_the_disk_is_named() {
    let scratch = Scratch::new();
    let Some(directory) = directory(&scratch, "other traffic on a disk") else { return };
    let filler = directory.join("filler");
    let megabyte = vec![0x5a_u8; 1 << 20];
    let _others = Meanwhile::begin(move |over| {
        while !over.load(Ordering::SeqCst) {
            // Written again and again, each time through to the device.
            let mut file = std::fs::File::create(&filler).unwrap();
            for _ in 0..32 {
                file.write_all(&megabyte).unwrap();
            }
            file.sync_data().unwrap();
        }
    });
    let arguments = format!(
        "disk --pattern random --op read --depth 1 --size 64MiB --repeat 3 --dir {} --json -",
        directory.display()
    );
    assert_warned(&only_row(&assay(&scratch, &arguments)), "other_disk_traffic");
}

#[test]
fn other_traffic_over_loopback_is_named() {
    let scratch = Scratch::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let _receiver = Meanwhile::begin(move |_| {
        let mut buffer = vec![0; 1 << 20];
        let (mut stream, _) = listener.accept().unwrap();
        while stream.read(&mut buffer).is_ok_and(|bytes| bytes > 0) {}
    });
    let mut stream = TcpStream::connect(address).unwrap();
    let _sender = Meanwhile::begin(move |over| {
        let buffer = vec![0; 1 << 18];
        while !over.load(Ordering::SeqCst) && stream.write_all(&buffer).is_ok() {}
    });
    let row = only_row(&assay(&scratch, "net --protocol tcp --mode pingpong --threads 1 --repeat 3 --json -"));
    assert_warned(&row, "other_net_traffic");
}

/// Python that disables transparent huge pages for itself (`PR_SET_THP_DISABLE`, 41) and becomes another program.
const WITHOUT_HUGE_PAGES: &str =
    "import ctypes, os, sys; assert ctypes.CDLL(None).prctl(41, 1, 0, 0, 0) == 0; os.execv(sys.argv[1], sys.argv[1:])";

#[test]
fn huge_pages_that_are_refused_are_named_with_the_share_that_was_obtained() {
    let reserved = std::fs::read_to_string("/proc/sys/vm/nr_hugepages").unwrap_or_default();
    if !has("python3") || !matches!(reserved.trim(), "" | "0") {
        return skip("refused huge pages", "python3 is missing, or reserved huge pages would be used instead");
    }
    let scratch = Scratch::new();
    let script = format!("exec python3 -c '{WITHOUT_HUGE_PAGES}' \"$@\"");
    let arguments = "memory --op read --working-set 64MiB --threads 1 --repeat 3 --json -";
    let row = only_row(&ran(through_shell(&scratch, &script, arguments)));
    assert_warned(&row, "pages_refused");
    assert_eq!(row["conditions"]["pages_obtained"], 0.0, "{row:#}");
}

#[test]
fn a_memory_limit_that_leaves_little_room_is_named() {
    let Some(group) = Cgroup::make("a memory limit that is nearly reached", "memory") else { return };
    group.allow_memory(400 << 20);
    let scratch = Scratch::new();
    let arguments = "memory --op read --working-set 256MiB --threads 1 --repeat 3 --json -";
    let row = only_row(&ran(group.assay(&scratch, arguments)));
    assert_warned(&row, "memory_limit");
}

/// A CPU that is offline until this is dropped.
pub(crate) struct SwitchedOff(PathBuf);

impl SwitchedOff {
    /// `None` where that is not allowed, or not possible.
    pub(crate) fn take(cpu: u32) -> Option<Self> {
        let switch = Path::new("/sys/devices/system/cpu").join(format!("cpu{cpu}/online"));
        let on = std::fs::read_to_string(&switch).is_ok_and(|state| state.trim() == "1");
        let off = on && is_root() && std::fs::write(&switch, "0").is_ok();
        off.then_some(Self(switch))
    }
}

impl Drop for SwitchedOff {
    fn drop(&mut self) {
        let _ = std::fs::write(&self.0, "1");
    }
}

/// One process run of a second and a half on two CPUs, long enough to switch one off and on again meanwhile.
const ONE_LAUNCH: &str = r#"
name = "one process run"
sampling.cpu = { samples = 12, per_launch = 12, sample = "120ms", warm_up = ["40ms", "100ms"] }
cpu = [{ op = "fma", type = ["fp64"], isa = ["vector"], threads = ["2"] }]
"#;

#[test]
fn a_cpu_that_is_switched_off_under_a_row_is_named() {
    let cpus = allowed_cpus();
    let Some(last) = cpus.last().filter(|_| cpus.len() > 1) else {
        return skip("a CPU that is switched off", "there is one CPU");
    };
    let scratch = Scratch::new();
    let run = Running::assay(&scratch, &format!("{} --repeat 12", suite(&scratch, ONE_LAUNCH)));
    let folder = samples_in_journal(&scratch, 1);
    let Some(off) = SwitchedOff::take(*last) else {
        return skip("a CPU that is switched off", "switching one off needs the superuser and a kernel that can");
    };
    std::thread::sleep(Duration::from_millis(100));
    drop(off);
    let ran = run.end();
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let document = document(&folder);
    check(&document);
    assert_warned(&rows(&document)[0], "migrated");
}
