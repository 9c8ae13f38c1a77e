//! Every rule in a case where it holds, from a recorded output where there is one, and in a case where it does not.

use std::collections::BTreeSet;

use model::experiment::{DiskParams, Experiment};
use model::io::{Direction, DiskEngine, DiskOp, DiskPattern, NetMode, Protocol};
use model::isa::{Isa, MemoryOp, Pages};
use model::sample::MetricName;
use serde_json::{Value, json};

use crate::tests::fixtures::{
    chase, cpu, disk, disk_params, linpack, memory, net, recorded, said, with_memory, with_net,
};
use crate::{Output, Reading, ReferenceTool, Rule, Side, TOOLS, ToolDescription, explain};

struct Case {
    version: &'static str,
    experiment: Experiment,
    reading: Reading,
}

struct Cause {
    tool: &'static str,
    rule: &'static str,
    says: &'static str,
    caused: Case,
    /// A case where it does not hold; `None` for a rule that always does.
    otherwise: Option<Case>,
}

fn cause(
    tool: &'static str,
    rule: &'static str,
    says: &'static str,
    caused: Case,
    otherwise: impl Into<Option<Case>>,
) -> Cause {
    Cause { tool, rule, says, caused, otherwise: otherwise.into() }
}

fn printed(tool: &str, version: &'static str, file: &str, experiment: Experiment) -> Case {
    read_from(tool, version, &said(&recorded(file)), experiment)
}

fn read_from(tool: &str, version: &'static str, output: &Output, experiment: Experiment) -> Case {
    let reading = crate::tests::fixtures::tool(tool).parse(output, &experiment).unwrap();
    Case { version, experiment, reading }
}

fn rate(version: &'static str, experiment: Experiment, details: &Value) -> Case {
    let details = details.as_object().cloned().unwrap();
    let reading = Reading { metric: MetricName::Throughput, value: 1e9, details };
    Case { version, experiment, reading }
}

fn latency(seconds: f64, experiment: Experiment, details: &Value) -> Case {
    let mut case = rate("1.0", experiment, details);
    (case.reading.metric, case.reading.value) = (MetricName::Latency, seconds);
    case
}

fn nothing() -> Value {
    json!({})
}

fn huge(experiment: Experiment) -> Experiment {
    with_memory(experiment, |params| params.pages = Pages::Huge2M)
}

fn loops() -> Vec<Cause> {
    let read = |bytes, threads| memory(MemoryOp::Read, Isa::Avx2, bytes, threads);
    let likwid = |experiment, details| rate("5.2.2", experiment, &details);
    let peakflops = "likwid-bench-5.2.2-peakflops_avx512_fma-t1.txt";
    let pmbw = |experiment| rate("", experiment, &nothing());
    let multichase = |experiment: Experiment| latency(1e-7, experiment, &nothing());
    vec![
        cause(
            "likwid-bench",
            "operand-load",
            "an operand from the L1 cache for every 15",
            printed("likwid-bench", "5.2.2", peakflops, cpu(Isa::Avx512, 1)),
            likwid(read(1 << 30, 1), nothing()),
        ),
        cause(
            "likwid-bench",
            "base-pages",
            "in base pages, ours in pages of 2 MiB",
            likwid(huge(read(1 << 30, 1)), nothing()),
            likwid(read(1 << 30, 1), nothing()),
        ),
        cause(
            "likwid-bench",
            "working-set",
            "likwid-bench went over 900000 B, we over 1000000 B",
            likwid(read(1_000_000, 1), json!({"working_set": 900_000})),
            likwid(read(1_000_000, 1), json!({"working_set": 995_000})),
        ),
        cause(
            "pmbw",
            "base-pages",
            "pmbw's area is in base pages",
            pmbw(huge(read(1 << 30, 1))),
            pmbw(read(1 << 30, 1)),
        ),
        cause("pmbw", "unpinned", "share our CPUs unpinned", pmbw(read(1 << 30, 2)), pmbw(read(1 << 30, 1))),
        cause("pmbw", "long-passes", "for more than a second", pmbw(read(1 << 30, 1)), None),
        cause("multichase", "counter", "a locked instruction every 200 loads", multichase(chase(64 << 20)), None),
        cause(
            "multichase",
            "some-huge",
            "how many of its pages are huge",
            multichase(chase(64 << 20)),
            multichase(with_memory(chase(64 << 20), |params| params.pages = Pages::Base4K)),
        ),
    ]
}

fn compiled() -> Vec<Cause> {
    let triad = |threads| memory(MemoryOp::Triad, Isa::Avx2, 4 << 20, threads);
    let serial = || {
        let experiment = memory(MemoryOp::Triad, Isa::Avx2, 96_000_000, 1);
        printed("stream", "5.10", "stream-5.10-91MiB-serial.txt", experiment)
    };
    let with_passes = |passes: u32| rate("5.10", triad(1), &json!({"passes": passes}));
    let hpcc = || printed("hpcc", "2.0", "hpcc-1.5.0-n725-t2.txt", triad(2));
    let hpcc_linpack = || printed("hpcc", "2.0", "hpcc-1.5.0-n1000-t2.txt", linpack(1000, 2));
    let sysbench = "sysbench-1.0.20-write-64MiB-t1.txt";
    let written = memory(MemoryOp::Write, Isa::Avx2, 1 << 26, 1);
    vec![
        cause("stream", "compiler-stores", "compiler chose whether its stores", serial(), None),
        cause("stream", "unasked-pages", "use the system's default pages", serial(), None),
        cause("stream", "best-pass", "stream reports the best of 9 passes", with_passes(9), with_passes(1)),
        cause(
            "sysbench",
            "narrow-loop",
            "writes 8 bytes at a time, ours uses avx2",
            printed("sysbench", "1.0.20", sysbench, written),
            None,
        ),
        cause("hpcc", "compiler-stores", "compiler chose whether its stores", hpcc(), hpcc_linpack()),
        cause("hpcc", "unasked-pages", "use the system's default pages", hpcc(), hpcc_linpack()),
        cause("hpcc", "best-pass", "hpcc reports the best of 9 passes", hpcc(), hpcc_linpack()),
    ]
}

fn equations() -> Vec<Cause> {
    let mut causes = Vec::new();
    for (tool, file, threads) in [("hpl", "hpl-2.3-n1000-t1.txt", 1), ("hpcc", "hpcc-1.5.0-n1000-t2.txt", 2)] {
        // OpenBLAS reports its kernels on standard error.
        let with = |says: &str| {
            let stderr = says.to_owned();
            read_from(tool, "2.3", &Output { stderr, ..said(&recorded(file)) }, linpack(1000, threads))
        };
        let of = |threads| rate("2.3", linpack(1000, threads), &nothing());
        let requested = || with("Core: SkylakeX\n");
        let others = || with("Core: Haswell\n");
        let silent = || rate("2.3", linpack(1000, 1), &nothing());
        let other_kernels = "OpenBLAS's kernels for Haswell, although those for SkylakeX were requested";
        causes.extend([
            cause(tool, "library", "OpenBLAS's kernels for SkylakeX", requested(), others()),
            cause(tool, "other-kernels", other_kernels, others(), requested()),
            cause(tool, "unknown-kernels", "does not report its kernels", silent(), requested()),
            cause(tool, "processes", "2 processes exchange panels", of(2), of(1)),
        ]);
    }
    let xlinpack = |leading: u64| rate("", linpack(1000, 1), &json!({"leading_dimension": leading}));
    causes.extend([
        cause("xlinpack", "library", "Intel's library", xlinpack(1000), None),
        cause("xlinpack", "leading-dimension", "dimension is 1016, ours 1000", xlinpack(1016), xlinpack(1000)),
    ]);
    causes
}

fn disks() -> Vec<Cause> {
    let share = |share: f64| rate("3.33", disk(disk_params(4)), &json!({"cpu_share": share}));
    let one = disk_params(1);
    let written = DiskParams { op: DiskOp::Write, ..one.clone() };
    let in_order = |engine, threads| DiskParams {
        pattern: DiskPattern::Sequential,
        engine,
        block: 1 << 20,
        size: 32 << 20,
        threads,
        ..one.clone()
    };
    let iozone =
        |params: &DiskParams, bytes: u64| rate("3.508", disk(params.clone()), &json!({"bytes_per_process": bytes}));
    let two = in_order(DiskEngine::IoUring, 2);
    let fio = |params: &DiskParams| rate("3.33", disk(params.clone()), &nothing());
    let positioned = in_order(DiskEngine::Sync, 1);
    let ioping = printed("ioping", "1.3", "ioping-1.3-randread-4KiB.json", disk(one.clone()));
    let repeating = printed("ioping", "1.3", "ioping-1.3-randread-4KiB.json", disk(one.clone()));
    vec![
        cause("fio", "cpu-bound", "busy 97 % of the time", share(0.97), share(0.5)),
        cause("fio", "base-pages", "up to 256 pieces of memory for each request", fio(&two), fio(&one)),
        cause("iozone", "base-pages", "iozone's buffers are in base pages", iozone(&two, 16 << 20), iozone(&one, 4096)),
        cause(
            "iozone",
            "file-size",
            "iozone's file has 4096 B, ours has 1048576 B",
            iozone(&one, 4096),
            iozone(&one, 1 << 20),
        ),
        cause(
            "iozone",
            "file-each",
            "a file each, our threads share one",
            printed("iozone", "3.508", "iozone-3.508-read-1MiB-t2.txt", disk(two.clone())),
            iozone(&one, 1 << 20),
        ),
        cause("iozone", "engine", "ours uses io_uring", iozone(&two, 16 << 20), iozone(&one, 1 << 20)),
        cause("iozone", "seek", "two system calls per record", iozone(&one, 1 << 20), iozone(&positioned, 32 << 20)),
        cause("iozone", "same-byte", "almost only one byte value", iozone(&written, 1 << 20), iozone(&one, 1 << 20)),
        cause("ioping", "outside-requests", "of its time outside its requests", ioping, None),
        cause("ioping", "repeated-offsets", "draws its offsets with repetition", repeating, None),
    ]
}

fn streams() -> Vec<Cause> {
    let stream = |threads| net(Protocol::Tcp, NetMode::Stream, 128 << 10, threads);
    let blast = |threads| net(Protocol::Udp, NetMode::Blast, 1472, threads);
    let both = || with_net(stream(1), |params| params.direction = Some(Direction::Both));
    let iperf3 = |version, experiment, details: Value| rate(version, experiment, &details);
    let iperf = || printed("iperf", "2.1.8", "iperf-2.1.8-tcp-128KiB-t1.csv", stream(1));
    let datagrams = || printed("iperf", "2.1.8", "iperf-2.1.8-udp-1472B-t1.txt", blast(1));
    vec![
        cause(
            "iperf3",
            "one-thread",
            "serves all 2 streams from one thread",
            printed("iperf3", "3.12", "iperf3-3.12-tcp-128KiB-t2.json", stream(2)),
            printed("iperf3", "3.16", "iperf3-3.12-tcp-128KiB-t2.json", stream(2)),
        ),
        cause(
            "iperf3",
            "call-each",
            "a system call for each datagram",
            printed("iperf3", "3.12", "iperf3-3.12-udp-1472B-t1.json", blast(1)),
            iperf3("3.12", stream(1), nothing()),
        ),
        cause(
            "iperf3",
            "cpu-bound",
            "iperf3's server was bound by the CPU: busy 99 %",
            iperf3("3.16", both(), json!({"near_cpu": 0.4, "far_cpu": 0.99})),
            iperf3("3.16", stream(1), json!({"sender_cpu": 0.5, "receiver_cpu": 0.4})),
        ),
        cause(
            "iperf3",
            "unpinned",
            "iperf3's threads move between the CPUs",
            iperf3("3.16", stream(1), nothing()),
            iperf3("3.16", blast(1), nothing()),
        ),
        cause("iperf", "unarrived", "its client passes to the kernel", iperf(), datagrams()),
        cause("iperf", "unset", "neither its buffers nor the CPU", iperf(), datagrams()),
        cause("iperf", "call-each", "looks at the clock before the next", datagrams(), iperf()),
    ]
}

fn round_trips() -> Vec<Cause> {
    let pingpong = || net(Protocol::Udp, NetMode::Pingpong, 64, 1);
    let sockperf = |dropped: u32| latency(1e-5, pingpong(), &json!({"dropped": dropped}));
    let ping = || printed("ping", "20221126", "ping-20221126-64B.txt", pingpong());
    vec![
        cause("sockperf", "lost", "sockperf lost 3 messages", sockperf(3), sockperf(0)),
        cause("ping", "kernel-answers", "kernel answers ping", ping(), None),
        cause("ping", "rare-requests", "the CPUs sleep in between", ping(), None),
        cause(
            "ping",
            "whole-microseconds",
            "ping reports whole microseconds",
            latency(1e-5, pingpong(), &nothing()),
            latency(5e-5, pingpong(), &nothing()),
        ),
    ]
}

fn causes() -> Vec<Cause> {
    [loops(), compiled(), equations(), disks(), streams(), round_trips()].into_iter().flatten().collect()
}

/// Our value if the tool is half as fast as ours, or twice as fast.
fn ours(reading: &Reading, tool_is_slower: bool) -> f64 {
    if tool_is_slower == (reading.metric == MetricName::Latency) { reading.value / 2.0 } else { reading.value * 2.0 }
}

fn holding(tool: &str, case: &Case) -> Vec<&'static Rule> {
    let reasons = crate::tests::fixtures::tool(tool).reasons(case.version, &case.experiment, &case.reading);
    reasons.into_iter().map(|reason| reason.rule).collect()
}

#[test]
fn every_rule_of_every_tool_is_caused_here() {
    let caused: BTreeSet<(&str, &str)> = causes().iter().map(|cause| (cause.tool, cause.rule)).collect();
    let stated = |reference: &&dyn ReferenceTool| {
        let ToolDescription { id, rules, .. } = reference.description();
        rules.iter().map(move |rule| (*id, rule.name))
    };
    let stated: Vec<(&str, &str)> = TOOLS.iter().flat_map(stated).collect();
    assert_eq!(stated.len(), stated.iter().collect::<BTreeSet<_>>().len(), "each has a name of its own");
    assert_eq!(caused, stated.into_iter().collect());
    let tools: BTreeSet<&str> = caused.iter().map(|(tool, _)| *tool).collect();
    assert_eq!(tools.len(), TOOLS.len(), "no tool is without a rule");
}

#[test]
fn a_rule_is_said_where_it_is_caused_and_nowhere_else() {
    for Cause { tool, rule: name, says, caused, otherwise } in causes() {
        let reference = crate::tests::fixtures::tool(tool);
        let rule = *reference.description().rules.iter().find(|rule| rule.name == name).unwrap();
        let at =
            |our_rate: f64| explain(reference, caused.version, &caused.experiment, &caused.reading, our_rate, None);
        let [slower, faster] = [true, false].map(|slower| at(ours(&caused.reading, slower)).unwrap());
        for (sentence, other_side) in [(&slower, Side::Faster), (&faster, Side::Slower)] {
            assert_eq!(sentence.contains(says), rule.makes_it != other_side, "{tool}, {name}: {sentence}");
            assert!(sentence.ends_with('.') && !sentence.contains(".."), "{sentence}");
        }
        assert_eq!(at(1.04 * caused.reading.value), None, "{tool}, {name}: within 5 % nothing is claimed");
        assert!(holding(tool, &caused).contains(&rule), "{tool}, {name}");
        assert_eq!(rule.when.is_some(), otherwise.is_some(), "{tool}, {name}: whether it always holds");
        let rules = reference.description().rules;
        assert!(holding(tool, &caused).iter().all(|rule| rules.contains(rule)), "{tool}: only stated rules hold");
        if let Some(otherwise) = otherwise {
            assert!(!holding(tool, &otherwise).contains(&rule), "{tool}, {name}: not where it is not caused");
        }
    }
}
