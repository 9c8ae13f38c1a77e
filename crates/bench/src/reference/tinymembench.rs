//! tinymembench beside copies and fills of memory with one thread, at the one size that it has: 32 MiB to 32 MiB.
//!
//! It takes no options and goes through everything that it knows, each loop for half a second and up to ten times, and
//! then through its latencies, for minutes: it is ended as soon as it has printed the line that is wanted. We read its loops that name their instructions (`SSE2 copy`, `SSE2 nontemporal copy`,
//! `SSE2 fill`, `SSE2 nontemporal fill`) and the C library's (`standard memcpy`). Its MB are 10^6 bytes, and a copy counts
//! once (its note 2): times 2 it counts as ours, what is read and what is written. Its figure is the best of its passes.
//!
//! Its latencies are those of a random read less that of a loop which reads from the first-level cache: they are no load
//! latencies, and nothing of ours is compared with them.

use model::experiment::{Experiment, MemoryParams};
use model::isa::{Isa, MemoryOp, Pages};
use model::sample::MetricName;
use serde_json::{Map, json};

use super::memory::{no_loop, stream};
use super::{
    About, Invocation, Output, Reading, Reason, Reference, Rule, Side, Target, Version, arguments, bare_environment,
    distinct, examples, positive, succeeded,
};

pub(super) struct Tinymembench;

static ABOUT: About = About {
    tool: "tinymembench",
    program: "tinymembench",
    launcher: None,
    version: Version::Written { prefix: "tinymembench v", oldest: (0, 4) },
    stands_beside: "copies (64 MiB in all) and fills (32 MiB) of memory by one thread, with sse2 or the C library's memcpy",
    equal: "the arrays, the CPU and the instructions",
    rules: &[&BEST, &LIBRARY],
    how_to_get: "https://github.com/ssvb/tinymembench; make",
};
static BEST: Rule = Rule { name: "best-pass", when: None, makes_it: Side::Faster };
static LIBRARY: Rule = Rule { name: "library-copy", when: Some("beside the C library's copy"), makes_it: Side::Either };

/// Bytes of each of its two arrays (`SIZE` in its main.c).
const ARRAY_BYTES: u64 = 32 << 20;
/// Bytes of its `MB`.
const MB: f64 = 1e6;
/// What a loop takes it, in seconds: up to ten times half a second and a pass.
const LOOP_SECONDS: f64 = 5.0;
/// How many times as long it may take, on a machine that is busy otherwise.
const AT_MOST: f64 = 6.0;

/// One of its loops.
#[derive(Clone, Copy, Debug)]
struct Loop {
    /// What stands before its figure.
    name: &'static str,
    /// How many of its arrays it goes over: its bytes times as many count as ours.
    arrays: u32,
    /// The how-manieth it is on x86-64, in version 0.4.9.
    place: u32,
}

const MEMCPY: Loop = Loop { name: "standard memcpy", arrays: 2, place: 14 };
const COPY: Loop = Loop { name: "SSE2 copy", arrays: 2, place: 18 };
const COPY_PAST_THE_CACHE: Loop = Loop { name: "SSE2 nontemporal copy", arrays: 2, place: 19 };
const FILL: Loop = Loop { name: "SSE2 fill", arrays: 1, place: 28 };
const FILL_PAST_THE_CACHE: Loop = Loop { name: "SSE2 nontemporal fill", arrays: 1, place: 29 };

/// The parameters, and its loop.
fn parameters(experiment: &Experiment) -> Result<(&MemoryParams, Loop), String> {
    let params = stream(ABOUT.tool, experiment)?;
    if params.threads != 1 {
        return Err("tinymembench has one thread".to_owned());
    }
    if params.pages != Pages::Base4K {
        return Err("tinymembench's arrays are in the pages that the system gives unasked".to_owned());
    }
    let its_loop = match (params.op, params.isa) {
        (MemoryOp::Memcpy, _) => MEMCPY,
        (MemoryOp::Copy, Isa::Sse2) => COPY,
        (MemoryOp::CopyNt, Isa::Sse2) => COPY_PAST_THE_CACHE,
        (MemoryOp::Write, Isa::Sse2) => FILL,
        (MemoryOp::WriteNt, Isa::Sse2) => FILL_PAST_THE_CACHE,
        (MemoryOp::Copy | MemoryOp::CopyNt | MemoryOp::Write | MemoryOp::WriteNt, isa) => {
            return Err(format!("tinymembench has no loop with {isa}, only with sse2"));
        }
        (op, _) => return Err(no_loop(ABOUT.tool, op)),
    };
    let bytes = u64::from(its_loop.arrays) * ARRAY_BYTES;
    if params.working_set != bytes {
        return Err(format!("tinymembench goes over {bytes} B here, and nothing else"));
    }
    Ok((params, its_loop))
}

impl Reference for Tinymembench {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn example(&self) -> Experiment {
        // It comes first of those that it has in common with us.
        examples::memory(MemoryOp::Memcpy, Isa::Scalar, 2 * ARRAY_BYTES, 1)
    }

    fn stands_beside(&self, experiment: &Experiment) -> Result<(), String> {
        parameters(experiment).map(|_| ())
    }

    fn invocation(&self, target: &Target<'_>) -> Result<Invocation, String> {
        let (_, Loop { name, place, .. }) = parameters(target.experiment)?;
        let expected_seconds = LOOP_SECONDS * f64::from(place);
        Ok(Invocation {
            argv: arguments(target.program, []),
            enough: Some(format!("{name} :")),
            env: bare_environment(),
            cpus: distinct(target.cpus),
            expected_seconds,
            timeout_seconds: AT_MOST * expected_seconds,
            ..Invocation::default()
        })
    }

    fn parse(&self, _version: &str, output: &Output, experiment: &Experiment) -> Result<Reading, String> {
        let (_, Loop { name, arrays, .. }) = parameters(experiment)?;
        let factor = f64::from(arrays);
        let tool = ABOUT.tool;
        succeeded(tool, output)?;
        let lines: Vec<&str> = output.stdout.lines().filter_map(|line| behind(line, name)).collect();
        let [line] = lines[..] else {
            return Err(format!("tinymembench printed {} lines for its '{name}' and not 1", lines.len()));
        };
        let mut words = line.split_whitespace();
        let rate = words.next().and_then(|word| word.parse::<f64>().ok()).filter(|rate| rate.is_finite());
        let rate = rate.filter(|_| words.next() == Some("MB/s"));
        let rate = rate.ok_or_else(|| format!("tinymembench printed no MB/s for its '{name}'"))?;
        let value = positive(tool, name, rate * MB * factor)?;
        let mut details = Map::new();
        details.insert("loop".into(), json!(name));
        // It tells a spread of a thousandth or more, in brackets.
        let spread = words.next().and_then(|word| word.strip_prefix('(')?.strip_suffix("%)")?.parse::<f64>().ok());
        details
            .extend(spread.filter(|spread| spread.is_finite()).map(|spread| ("spread".into(), json!(spread / 100.0))));
        Ok(Reading { metric: MetricName::Throughput, value, bytes_factor: factor, details })
    }

    fn reasons(&self, _version: &str, experiment: &Experiment, reading: &Reading) -> Vec<Reason> {
        let Ok((params, _)) = parameters(experiment) else { return Vec::new() };
        let spread = reading.details.get("spread").and_then(serde_json::Value::as_f64);
        let spread = spread.map_or(String::new(), |spread| format!(", which differ by {:.1} %", 100.0 * spread));
        let mut reasons = vec![
            BEST.says(format!("tinymembench reports the best of up to ten passes{spread}, ours is the rate over all")),
        ];
        if params.op == MemoryOp::Memcpy {
            reasons.push(LIBRARY.says("tinymembench's C library may choose other stores than ours for the same copy"));
        }
        reasons
    }
}

/// What stands behind the name of a loop: ` SSE2 copy                     :   9123.4 MB/s (1.2%)`.
fn behind<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.trim_start().strip_prefix(name)?.trim_start().strip_prefix(':')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::tests::{difference, failed, memory, recorded, said};

    /// Of a program that repeats nothing, so that it tells no spread.
    const RECORDED: &str = "tinymembench-0.4.9-one-repeat.txt";

    fn parse(text: &str, op: MemoryOp, bytes: u64) -> Result<Reading, String> {
        Tinymembench.parse("0.4.9", &said(text), &memory(op, Isa::Sse2, bytes, 1))
    }

    #[test]
    fn copies_count_twice_and_fills_once() {
        for (op, arrays, megabytes) in [
            (MemoryOp::Copy, 2, 969.3),
            (MemoryOp::CopyNt, 2, 1962.0),
            (MemoryOp::Memcpy, 2, 1276.3),
            (MemoryOp::Write, 1, 1603.8),
            (MemoryOp::WriteNt, 1, 5142.4),
        ] {
            let reading = parse(&recorded(RECORDED), op, arrays * ARRAY_BYTES).unwrap();
            assert_eq!((reading.value, reading.bytes_factor), (megabytes * 1e6 * arrays as f64, arrays as f64), "{op}");
            let sentence =
                difference(&Tinymembench, "0.4.9", &memory(op, Isa::Sse2, arrays * ARRAY_BYTES, 1), &reading).unwrap();
            assert_eq!(sentence.contains("C library"), op == MemoryOp::Memcpy, "{sentence}");
        }
    }

    #[test]
    fn its_loops_stand_where_it_is_expected_to_come_to_them() {
        let text = recorded(RECORDED);
        let names: Vec<&str> = text
            .lines()
            .filter(|line| line.contains("MB/s"))
            .filter_map(|line| line.split_once(" : "))
            .map(|(name, _)| name.trim())
            .collect();
        for Loop { name, place, .. } in [MEMCPY, COPY, COPY_PAST_THE_CACHE, FILL, FILL_PAST_THE_CACHE] {
            assert_eq!(names[place as usize - 1], name);
        }
    }

    #[test]
    fn its_spread_is_told_where_it_tells_one() {
        let text = recorded(RECORDED).replace("   969.3 MB/s", "   969.3 MB/s (9.7%)");
        let reading = parse(&text, MemoryOp::Copy, 2 * ARRAY_BYTES).unwrap();
        assert!((reading.details["spread"].as_f64().unwrap() - 0.097).abs() < 1e-12);
        let experiment = memory(MemoryOp::Copy, Isa::Sse2, 2 * ARRAY_BYTES, 1);
        assert!(difference(&Tinymembench, "0.4.9", &experiment, &reading).unwrap().contains("differ by 9.7 %"));
    }

    #[test]
    fn only_what_it_does_is_compared() {
        let why = |op, isa, bytes, threads| Tinymembench.stands_beside(&memory(op, isa, bytes, threads)).unwrap_err();
        assert!(why(MemoryOp::Copy, Isa::Sse2, 2 * ARRAY_BYTES, 2).contains("one thread"));
        assert!(why(MemoryOp::Copy, Isa::Avx2, 2 * ARRAY_BYTES, 1).contains("only with sse2"));
        assert!(why(MemoryOp::Copy, Isa::Sse2, 1 << 30, 1).contains("67108864 B"));
        assert!(why(MemoryOp::Read, Isa::Sse2, ARRAY_BYTES, 1).contains("no loop for read"));
    }

    #[test]
    fn what_it_did_not_measure_is_no_reading() {
        let whole = recorded(RECORDED);
        for (text, why) in [
            (String::new(), "0 lines for its 'SSE2 copy'"),
            (whole.split(" SSE2 copy  ").next().unwrap().to_owned(), "0 lines"),
            (whole.replace("   969.3 MB/s", "   969.3 GB/s"), "no MB/s"),
            (whole.replace("   969.3 MB/s", "   inf MB/s"), "no MB/s"),
            (whole.replace("   969.3 MB/s", "   0.0 MB/s"), "no measurement"),
        ] {
            let reason = parse(&text, MemoryOp::Copy, 2 * ARRAY_BYTES).unwrap_err();
            assert!(reason.contains(why), "{why}: {reason}");
        }
        let experiment = memory(MemoryOp::Copy, Isa::Sse2, 2 * ARRAY_BYTES, 1);
        let refused = Tinymembench.parse("0.4.9", &failed(1, "no memory"), &experiment).unwrap_err();
        assert!(refused.contains("no memory"), "{refused}");
    }
}
