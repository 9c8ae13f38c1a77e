//! Outputs that cannot be: none has a value, and each reason quotes what is wrong.

use model::experiment::{DiskParams, Experiment};
use model::io::{Direction, DiskEngine, DiskOp, DiskPattern, NetMode, Protocol};
use model::isa::{Isa, MemoryOp};
use serde_json::{Value, json};

use crate::Output;
use crate::tests::fixtures::{chase, disk, disk_params, memory, net, recorded, said, tool, with_net};

fn why(tool_id: &str, experiment: &Experiment, text: &str) -> String {
    match tool(tool_id).parse(&said(text), experiment) {
        Err(reason) => reason,
        Ok(reading) => panic!("{tool_id}: {reading:?}"),
    }
}

fn blast(block: u64) -> Experiment {
    net(Protocol::Udp, NetMode::Blast, block, 1)
}

/// A recorded report with another value at this path.
fn changed(file: &str, path: &str, value: Value) -> String {
    let mut report: Value = serde_json::from_str(&recorded(file)).unwrap();
    *report.pointer_mut(path).unwrap() = value;
    report.to_string()
}

#[test]
fn datagrams_lost_beyond_those_sent_or_below_none() {
    let at =
        |key: &str, value: Value| changed("iperf3-3.12-udp-1472B-t1.json", &format!("/end/sum_received/{key}"), value);
    for (text, expected) in [
        (at("lost_packets", json!(510_834)), "510834 lost of 510833 datagrams"),
        (at("lost_packets", json!(-3)), "-3.0 as lost"),
        (at("packets", json!(900_000)), "724410944 B in 881294 datagrams of 1472 B"),
        (at("bits_per_second", json!(1e30)), "B/s"),
        (at("bits_per_second", json!(-1e9)), "impossible rate: -125000000"),
        (at("bytes", json!(1000)), "1000 B in 1.000041 s"),
    ] {
        let reason = why("iperf3", &blast(1472), &text);
        assert!(reason.contains(expected) && reason.contains("iperf3 reports an impossible"), "{reason}");
    }
}

#[test]
fn iperf3_prints_nan_as_a_number() {
    let reason = why("iperf3", &blast(250), &recorded("iperf3-issue-613-nan.json"));
    assert!(reason.starts_with("iperf3's report is not JSON (invalid number at line"), "{reason}");
}

#[test]
fn iperf3_reports_both_directions_under_one_key() {
    let both = with_net(net(Protocol::Tcp, NetMode::Stream, 128 << 10, 2), |params| {
        params.direction = Some(Direction::Both);
    });
    let text = recorded("iperf3-3.12-tcp-128KiB-both-t2.json").replace("_bidir_reverse", "");
    let reason = why("iperf3", &both, &text);
    assert!(reason.contains("several different values for the same key"), "{reason}");
}

#[test]
fn fio_reports_41_million_requests_per_second_that_took_no_time() {
    let params = DiskParams {
        pattern: DiskPattern::Sequential,
        op: DiskOp::Write,
        engine: DiskEngine::IoUring,
        block: 64,
        ..disk_params(4)
    };
    let reason = why("fio", &disk(params), &recorded("fio-issue-672-no-latency.json"));
    assert_eq!(reason, "fio reports an impossible value: requests that took 0 s");
}

#[test]
fn fio_contradicts_itself() {
    let random = disk(DiskParams { engine: DiskEngine::IoUring, size: 256 << 20, ..disk_params(4) });
    let at = |path: &str, value: Value| changed("fio-3.33-randread-4KiB-d4.json", &format!("/jobs/0/{path}"), value);
    for (text, expected) in [
        (at("read/iops", json!(2e9)), "2000000000 requests per second"),
        (at("read/bw_bytes", json!(9e12)), "requests of 4096 B per second with 9000000000000 B/s"),
        (at("read/lat_ns/mean", json!(4e6)), "at most 4 are in flight"),
        (at("read/lat_ns/max", json!(1)), "with a maximum of 0.000000001 s"),
        (at("usr_cpu", json!(-900.0)), "as cpu share"),
    ] {
        let reason = why("fio", &random, &text);
        assert!(reason.contains(expected), "{reason}");
    }
}

#[test]
fn the_error_line_of_fio_is_quoted_wherever_it_is() {
    let text = recorded("fio-3.36-error-lines-before.json");
    let (before, report) = text.split_at(text.find('{').unwrap());
    for text in [text.clone(), format!("{report}\n{before}")] {
        for status in [0, 1] {
            let output = Output { status: Some(status), ..said(&text) };
            let reason = tool("fio").parse(&output, &disk(disk_params(4))).unwrap_err();
            assert!(reason.contains("io_u error on file /dev/sdb: Input/output error"), "{reason}");
        }
    }
}

#[test]
fn text_around_a_report_does_not_change_its_value() {
    let random = disk(DiskParams { engine: DiskEngine::IoUring, size: 256 << 20, ..disk_params(4) });
    for (id, experiment, file) in [
        ("fio", random, "fio-3.33-randread-4KiB-d4.json"),
        ("iperf3", blast(1472), "iperf3-3.12-udp-1472B-t1.json"),
        ("ioping", disk(disk_params(1)), "ioping-1.3-randread-4KiB.json"),
    ] {
        let report = recorded(file);
        let read = |text: &str| tool(id).parse(&said(text), &experiment);
        let expected = read(&report).unwrap();
        for text in [format!("warning: [clock] {{is}} slow\n{report}"), format!("{report}\nserver: ended }}\n")] {
            assert_eq!(read(&text).as_ref(), Ok(&expected), "{id}");
        }
    }
}

#[test]
fn rates_and_latencies_that_no_machine_has() {
    let read = memory(MemoryOp::Read, Isa::Avx2, 1 << 30, 1);
    let pmbw = recorded("pmbw-0.6.3-read256-1GiB-t1.txt");
    let field = |name: &str| pmbw.split_once(name).unwrap().1.split('\t').next().unwrap().to_owned();
    let (volume, rate) = (field("testvol="), field("bandwidth="));
    let text =
        pmbw.replace(&rate, "1e18").replace(&volume, &format!("{}", 1e18 * field("\ttime=").parse::<f64>().unwrap()));
    assert!(why("pmbw", &read, &text).contains("1000000000000000000 B/s"));
    for nanoseconds in ["0.00001", "1e30"] {
        let whole = recorded("multichase-a1ffd89-2MiB-64MiB.txt");
        let lines: Vec<String> = whole
            .lines()
            .map(|line| if line.trim().parse::<f64>().is_ok() { nanoseconds.to_owned() } else { line.to_owned() })
            .collect();
        let reason = why("multichase", &chase(64 << 20), &format!("{}\n", lines.join("\n")));
        assert!(reason.contains("s of latency"), "{reason}");
    }
}

#[test]
fn duplicates_and_errors_of_ping_are_no_answers() {
    let experiment = net(Protocol::Udp, NetMode::Pingpong, 56, 1);
    let reading = tool("ping").parse(&said(&recorded("ping-iputils-duplicates-errors.txt")), &experiment).unwrap();
    assert_eq!((&reading.details["requests"], &reading.details["answers"]), (&json!(3), &json!(2)));
    assert!((reading.value - 0.390e-3).abs() < 1e-9 && reading.details["max"] == json!(0.000_412), "{reading:?}");
    let more = recorded("ping-iputils-duplicates-errors.txt").replace("2 received", "4 received");
    assert!(why("ping", &experiment, &more).contains("4 answers of 3 requests"));
}

#[test]
fn another_program_of_the_same_name_is_distinguished_by_its_answer() {
    let answer = |id: &str, stdout: &str, stderr: &str| {
        let output = Output { stdout: stdout.to_owned(), stderr: stderr.to_owned(), status: Some(1) };
        crate::version_in_answer(tool(id).description(), &output).unwrap_err()
    };
    let fiona = recorded("fiona-fio.txt");
    let version = fiona.lines().nth(1).unwrap();
    let expected =
        "this program is not fio of https://github.com/axboe/fio: 'fio --version' prints 'fio, version 1.9.4'";
    assert_eq!(answer("fio", version, ""), expected);
    let busybox =
        "ping: invalid option -- 'V'\nBusyBox v1.36.1 (Debian 1:1.36.1-9) multi-call binary.\n\nUsage: ping HOST\n";
    let reason = answer("ping", "", busybox);
    assert!(reason.starts_with("this program is not ping of https://github.com/iputils/iputils"), "{reason}");
    assert!(reason.contains("'BusyBox v1.36.1 (Debian"), "{reason}");
    // A program that cannot start may be the tool.
    let broken = "fio: error while loading shared libraries: libaio.so.1.0: cannot open shared object file";
    assert!(answer("fio", "", broken).contains("does not print a version: fio: error while"));
    // Whatever they print is no value.
    let measured = fiona.split_once("$ fio --name").unwrap().1;
    assert!(why("fio", &disk(disk_params(4)), measured).contains("Error: No such option: --name"));
    let pings = net(Protocol::Udp, NetMode::Pingpong, 48, 1);
    assert!(why("ping", &pings, &recorded("ping-busybox.txt")).contains("no count"));
}
