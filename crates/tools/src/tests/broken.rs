//! Every parser on every recorded output, whole and broken: no panic, and no value that is not in the text.

use model::experiment::{DiskParams, Experiment};
use model::io::{DiskEngine, DiskOp, DiskPattern, NetMode, Protocol};
use model::isa::{Isa, MemoryOp};
use proptest::prelude::*;

use crate::tests::fixtures::{chase, cpu, disk, disk_params, linpack, memory, net, recorded, said, tool};
use crate::{Output, explain, ids, read_as_every_output};

/// A recorded output with its benchmark. The value is a number of the text times the factor, or computed without one.
struct Recorded {
    tool: &'static str,
    version: &'static str,
    file: &'static str,
    experiment: Experiment,
    factor: Option<f64>,
}

fn recordings() -> Vec<Recorded> {
    let mib = f64::from(1 << 20);
    let read = |bytes, isa| memory(MemoryOp::Read, isa, bytes, 1);
    let pingpong = |protocol, bytes| net(protocol, NetMode::Pingpong, bytes, 1);
    let stream = |threads| net(Protocol::Tcp, NetMode::Stream, 128 << 10, threads);
    let one = disk_params(1);
    let rows = [
        ("likwid-bench", "5.2.2", "likwid-bench-5.2.2-peakflops_avx512_fma-t1.txt", cpu(Isa::Avx512, 1), Some(1e6)),
        ("stream", "5.10", "stream-5.10-1043MiB-t2.txt", memory(MemoryOp::Triad, Isa::Avx2, 1 << 30, 2), Some(1e6)),
        ("pmbw", "", "pmbw-0.6.3-read256-1GiB-t1.txt", read(1 << 30, Isa::Avx2), Some(1.0)),
        ("multichase", "", "multichase-a1ffd89-2MiB-64MiB.txt", chase(64 << 20), Some(1e-9)),
        (
            "sysbench",
            "1.0.20",
            "sysbench-1.0.20-write-64MiB-t1.txt",
            memory(MemoryOp::Write, Isa::Avx2, 1 << 26, 1),
            Some(mib),
        ),
        ("hpl", "2.3", "hpl-2.3-n1000-t1.txt", linpack(1000, 1), Some(1e9)),
        ("hpcc", "2.0", "hpcc-1.5.0-n1000-t2.txt", linpack(1000, 2), Some(1e9)),
        ("hpcc", "2.0", "hpcc-1.5.0-n725-t1.txt", memory(MemoryOp::Triad, Isa::Avx2, 4 << 20, 1), Some(1e9)),
        ("fio", "3.33", "fio-3.33-randread-4KiB-d4.json", disk(disk_params(4)), Some(1.0)),
        ("ioping", "1.3", "ioping-1.3-randread-4KiB.json", disk(one.clone()), Some(1.0)),
        (
            "iozone",
            "3.508",
            "iozone-3.508-random-4KiB-t1.txt",
            disk(DiskParams { op: DiskOp::Write, ..one.clone() }),
            Some(0.25),
        ),
        (
            "iozone",
            "3.508",
            "iozone-3.508-read-1MiB-t2.txt",
            disk(DiskParams {
                pattern: DiskPattern::Sequential,
                engine: DiskEngine::IoUring,
                block: 1 << 20,
                size: 32 << 20,
                threads: 2,
                ..one
            }),
            Some(1024.0),
        ),
        ("iperf3", "3.12", "iperf3-3.12-tcp-128KiB-t2.json", stream(2), None),
        ("iperf", "2.1.8", "iperf-2.1.8-tcp-128KiB-t1.csv", stream(1), Some(0.125)),
        ("iperf", "2.1.8", "iperf-2.1.8-udp-1472B-t1.txt", net(Protocol::Udp, NetMode::Blast, 1472, 1), Some(0.125)),
        ("sockperf", "3.7", "sockperf-3.7-tcp-14B.txt", pingpong(Protocol::Tcp, 14), Some(1e-6)),
        ("ping", "20221126", "ping-20221126-64B.txt", pingpong(Protocol::Udp, 64), Some(1e-3)),
    ];
    let row = |(tool, version, file, experiment, factor)| Recorded { tool, version, file, experiment, factor };
    rows.into_iter().map(row).collect()
}

fn numbers(text: &str) -> Vec<f64> {
    let is_of_number = |with: &'static str| move |c: char| !(c.is_ascii_digit() || with.contains(c));
    let words = text.split(is_of_number("+-.eE")).chain(text.split(is_of_number(".")));
    words.filter_map(|word| word.parse().ok()).collect()
}

/// Whether a text has a value, which must be a number of the text.
fn read(recorded: &Recorded, text: &str, status: Option<i32>) -> bool {
    let reference = tool(recorded.tool);
    let output = Output { status, ..said(text) };
    let Ok(reading) = reference.parse(&output, &recorded.experiment) else { return false };
    assert!(reading.value.is_finite() && reading.value > 0.0, "{}: {reading:?}", recorded.tool);
    assert_eq!(status, Some(0), "{}: a failed run has no value", recorded.tool);
    // Any value must be fit for an explanation.
    let ours = 2.0 * reading.value;
    let sentence = explain(reference, recorded.version, &recorded.experiment, &reading, ours, None).unwrap();
    assert!(sentence.ends_with('.'), "{}: {sentence}", recorded.tool);
    if let Some(factor) = recorded.factor {
        let stands = |number: f64| (number * factor / reading.value - 1.0).abs() < 1e-9;
        assert!(numbers(text).into_iter().any(stands), "{}: {} is nowhere in {text}", recorded.tool, reading.value);
    }
    true
}

#[test]
fn every_tool_is_read_as_it_was_recorded_and_a_difference_has_an_explanation() {
    let recordings = recordings();
    for recorded_run in &recordings {
        assert!(read(recorded_run, &recorded(recorded_run.file), Some(0)), "{}", recorded_run.file);
        assert!(!read(recorded_run, &recorded(recorded_run.file), Some(2)), "{}", recorded_run.file);
        assert!(!read(recorded_run, &recorded(recorded_run.file), None), "{}", recorded_run.file);
    }
    let covered = |tool: &str| recordings.iter().any(|recorded| recorded.tool == tool);
    let missing: Vec<_> = ids().filter(|tool| !covered(tool)).collect();
    assert_eq!(missing, ["xlinpack"], "it could not be had");
}

#[derive(Clone, Debug)]
enum Edit {
    CutOff,
    TakeOut(usize),
    Twice(usize),
    Put(&'static str),
    OtherDigit(u8),
}

fn edit() -> impl Strategy<Value = Edit> {
    let words = ["-", "nan", "inf", "1e999", "0", ",", "\n", "{", "\u{fffd}", "99999999999999999999", "=", " "];
    prop_oneof![
        Just(Edit::CutOff),
        (1_usize..200).prop_map(Edit::TakeOut),
        (1_usize..200).prop_map(Edit::Twice),
        prop::sample::select(words.to_vec()).prop_map(Edit::Put),
        (b'0'..=b'9').prop_map(Edit::OtherDigit),
    ]
}

/// The text with a change at this share of its length.
fn changed(text: &str, at: f64, edit: &Edit) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place among letters in memory")]
    let at = ((letters.len() as f64 * at) as usize).min(letters.len());
    let upto = |length: usize| (at + length).min(letters.len());
    match edit {
        Edit::CutOff => letters.truncate(at),
        Edit::TakeOut(length) => {
            let end = upto(*length);
            letters.drain(at..end);
        }
        Edit::Twice(length) => {
            let piece = letters[at..upto(*length)].to_vec();
            letters.splice(at..at, piece);
        }
        Edit::Put(word) => {
            letters.splice(at..at, word.chars());
        }
        Edit::OtherDigit(digit) => {
            if let Some(found) = letters.iter_mut().skip(at).find(|letter| letter.is_ascii_digit()) {
                *found = char::from(*digit);
            }
        }
    }
    letters.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_broken_output_makes_no_panic_and_no_value_of_its_own(
        edits in prop::collection::vec((0.0..1.0_f64, edit()), 1..5),
    ) {
        for recorded_run in recordings() {
            let whole = recorded(recorded_run.file);
            let text = edits.iter().fold(whole, |text, (at, edit)| changed(&text, *at, edit));
            read(&recorded_run, &text, Some(0));
        }
    }

    #[test]
    fn no_bytes_make_a_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        read_as_every_output(&bytes);
    }
}
