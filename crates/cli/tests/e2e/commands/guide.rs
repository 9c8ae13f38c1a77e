//! `assay guide` on a terminal played by `script` of util-linux.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::{Scratch, assay, check, document, list, program, refusal, rows, skip, stored_runs};
use crate::system::process::{has, wait_for};

const PATIENCE: Duration = Duration::from_secs(60);

struct Asking {
    script: Child,
    keys: ChildStdin,
    seen: Arc<Mutex<String>>,
}

impl Asking {
    /// Starts it; `None` without `script`.
    fn begin(scratch: &Scratch) -> Option<Self> {
        if !has("script") {
            skip("assay guide on a terminal", "script (util-linux) is missing");
            return None;
        }
        let mut script = Command::new("script");
        // The exit status of `script` is that of the guide.
        script.args(["-q", "-e", "-c", &format!("'{}' guide", program().display()), "/dev/null"]);
        script.env_clear().env("ASSAY_STORE", scratch.join("store")).env("LANG", "C.UTF-8").env("TERM", "xterm");
        script.env("SHELL", "/bin/sh").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut script = script.spawn().unwrap();
        let keys = script.stdin.take().unwrap();
        let (mut shown, seen) = (script.stdout.take().unwrap(), Arc::new(Mutex::new(String::new())));
        let writer = Arc::clone(&seen);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = shown.read(&mut bytes) {
                writer.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..read]));
            }
        });
        Some(Self { script, keys, seen })
    }

    fn seen(&self) -> String {
        self.seen.lock().unwrap().clone()
    }

    /// Waits for a question and presses these keys.
    #[track_caller]
    fn answer(&mut self, question: &str, keys: &str) {
        let asked = || self.seen().contains(question).then_some(());
        assert!(wait_for(PATIENCE, asked).is_some(), "no '{question}' in: {}", self.seen());
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    fn end(mut self) -> (Option<i32>, String) {
        let status = wait_for(PATIENCE, || self.script.try_wait().unwrap());
        let seen = self.seen();
        if status.is_none() {
            let _ = self.script.kill();
        }
        (status.and_then(|status| status.code()), seen)
    }

    /// Answers up to the last question: one area, one thread, one second.
    fn up_to_the_plan(&mut self) {
        // Left clears all choices, the space bar selects the first.
        self.answer("Which areas?", "\x1b[D \r");
        self.answer("Threads?", "0\r");
        self.answer("is not a valid number of threads", "\x7f1\r");
        self.answer("Time limit?", "1s\r");
        if wait_for(PATIENCE, || {
            let seen = self.seen();
            (seen.contains("Reference tools") || seen.contains("Measure now?"))
                .then_some(seen.contains("Reference tools"))
        }) == Some(true)
        {
            self.answer("Reference tools", "\r");
        }
    }
}

#[test]
fn the_guide_measures_what_its_command_line_would() {
    let scratch = Scratch::new();
    let Some(mut asking) = Asking::begin(&scratch) else { return };
    asking.up_to_the_plan();
    asking.answer("Measure now?", "\r");
    let (status, seen) = asking.end();
    assert_eq!(status, Some(0), "{seen}");
    assert!(seen.contains("assay cpu --threads 1 --time-budget 1s") && seen.contains("benchmark"), "{seen}");
    let document = document(&stored_runs(&scratch)[0]);
    check(&document);
    assert!(rows(&document).iter().all(|row| row["area"] == "cpu" && row["params"]["threads"] == 1));
    let words: Vec<&str> = list(&document["assay"], "argv").iter().filter_map(|word| word.as_str()).collect();
    assert_eq!(words, ["assay", "cpu", "--threads", "1", "--time-budget", "1s"], "how to repeat it");
}

#[test]
fn who_says_no_or_leaves_has_measured_nothing() {
    for (keys, expected) in [("n\r", Some(0)), ("\x03", Some(130)), ("\x1b", Some(130))] {
        let scratch = Scratch::new();
        let Some(mut asking) = Asking::begin(&scratch) else { return };
        asking.up_to_the_plan();
        asking.answer("Measure now?", keys);
        let (status, seen) = asking.end();
        assert_eq!(status, expected, "{keys:?}: {seen}");
        assert!(stored_runs(&scratch).is_empty(), "{seen}");
    }
}

#[test]
fn without_a_terminal_there_is_nobody_to_ask() {
    let scratch = Scratch::new();
    let sentence = refusal(&assay(&scratch, "guide")).to_owned();
    assert!(sentence.contains("needs a terminal") && sentence.contains("assay run --help"), "{sentence}");
}
