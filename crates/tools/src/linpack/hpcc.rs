//! HPC Challenge (`hpcc`): its HPL compared with our LINPACK, where no HPL is packaged, and its STREAM with our copy, scale,
//! add and triad ([`super::hpcc_stream`]).
//!
//! It always runs all of its benchmarks over as much memory, so it is compared with small systems and arrays only.
//! Everything else is as in [`super::hpl`].

use std::collections::BTreeMap;

use model::experiment::{Experiment, MemoryParams};
use model::linpack::LinpackParams;
use serde_json::Value;

use super::hpcc_stream;
use super::hpl::{
    LIBRARY, OTHER_KERNELS, PROCESSES, UNKNOWN_KERNELS, differences, expected_seconds, input, launched, parameters,
    read,
};
use crate::examples;
use crate::invocation::{Invocation, OwnFolder, Target};
use crate::memory::stream_differences;
use crate::output::{Output, Reading, refuse_if};
use crate::tool::{Adapter, Reason, Rule, Side, ToolDescription, VersionSource};

pub(crate) struct Hpcc;

const TOOL: &str = "hpcc";
static DESCRIPTION: ToolDescription = ToolDescription {
    id: TOOL,
    program: "hpcc",
    launcher: Some("mpirun"),
    // It prints its own version only while it runs.
    version: VersionSource::Written { prefix: "HPLinpack ", oldest: (2, 0) },
    compared_with: "LINPACK in fp64 with our own solver, up to N = 2000; copy, scale, add and triad of memory, 4 MiB to 32 MiB",
    equal: "the order of the matrix or the size of the arrays, as many processes as threads, and the CPUs",
    rules: &[&LIBRARY, &OTHER_KERNELS, &UNKNOWN_KERNELS, &PROCESSES, &STORES, &PAGES, &BEST],
    how_to_get: "Debian packages hpcc and libopenblas0-pthread; https://github.com/icl-utk-edu/hpcc",
    example: || examples::linpack(300, 2),
};
static STORES: Rule = Rule::new("compiler-stores", Some("compared with memory"), Side::Either);
static PAGES: Rule = Rule::new("unasked-pages", Some("compared with memory"), Side::Either);
static BEST: Rule = Rule::new("best-pass", Some("compared with memory"), Side::Faster);

const INPUT: &str = "hpccinf.txt";
const RESULTS: &str = "hpccoutf.txt";
/// The largest order: its other benchmarks take 20 s there, and minutes at 5000.
const LARGEST: u64 = 2000;
/// Minimum seconds of its other benchmarks.
const OTHERS_SECONDS: f64 = 8.0;
/// Their seconds per element of the matrix.
const OTHERS_SECONDS_PER_ELEMENT: f64 = 4e-6;

pub(crate) enum Work<'a> {
    System(&'a LinpackParams),
    Stream(&'a MemoryParams, &'static str),
}

impl Adapter for Hpcc {
    const DESCRIPTION: &'static ToolDescription = &DESCRIPTION;
    type Work<'a> = Work<'a>;

    fn work(experiment: &Experiment) -> Result<Work<'_>, String> {
        if experiment.memory().is_some() {
            return hpcc_stream::parameters(TOOL, experiment).map(|(params, name)| Work::Stream(params, name));
        }
        let params = parameters(TOOL, experiment)?;
        let beyond = format!("its other benchmarks take minutes beyond N = {LARGEST}; hpl runs HPL alone");
        refuse_if(TOOL, &[(params.n > LARGEST, &beyond)]).map(|()| Work::System(params))
    }

    fn command(work: Work<'_>, target: &Target<'_>) -> Result<Invocation, String> {
        // The order of the matrix sizes all of its benchmarks. For memory our rate is in bytes, not flop.
        let (params, our_rate) = match work {
            Work::System(params) => (params.clone(), target.our_rate),
            Work::Stream(params, _) => (hpcc_stream::system(params), None),
        };
        let others = OTHERS_SECONDS + OTHERS_SECONDS_PER_ELEMENT * (params.n * params.n) as f64;
        // Device 8: a file; hpcc ignores its name.
        let files = BTreeMap::from([(INPUT, input(&params, 8))]);
        let folder = OwnFolder { files, results: Some(RESULTS) };
        launched(TOOL, target, &params, folder, expected_seconds(&params, our_rate) + others)
    }

    fn read(work: Work<'_>, output: &Output) -> Result<Reading, String> {
        let mut reading = match work {
            Work::System(params) => read(TOOL, output, params)?,
            Work::Stream(params, name) => hpcc_stream::read(TOOL, output, params, name)?,
        };
        let said = |words: &str| output.stdout.lines().find_map(|line| line.split_once(words)).map(|(_, rest)| rest);
        if said("Success=") != Some("1") {
            return Err("hpcc does not report success".to_owned());
        }
        let version = said("HPC Challenge Benchmark version ").and_then(|rest| rest.split_whitespace().next());
        reading.details.extend(version.map(|version| ("hpcc_version".to_owned(), Value::from(version))));
        Ok(reading)
    }

    fn differences(work: Work<'_>, _version: &str, reading: &Reading) -> Vec<Option<Reason>> {
        match work {
            Work::System(params) => differences(TOOL, params, reading),
            Work::Stream(..) => stream_differences(TOOL, [&STORES, &PAGES, &BEST], reading),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use model::isa::{Isa, MemoryOp};
    use model::sample::MetricName;

    use super::*;
    use crate::output::Text;
    use crate::tests::fixtures::{assert_refused, linpack, memory, recorded, said, target};
    use crate::tool::ReferenceTool;

    fn parse(text: &str, n: u64) -> Result<Reading, String> {
        Hpcc.parse(&said(text), &linpack(n, 2))
    }

    #[test]
    fn a_recorded_run_is_read() {
        let text = recorded("hpcc-1.5.0-n1000-t2.txt");
        let reading = parse(&text, 1000).unwrap();
        let summary = Text::new(TOOL, &text).number("HPL_Tflops=").unwrap();
        assert!((reading.value / 1e12 / summary - 1.0).abs() < 1e-3, "{reading:?}");
        assert_eq!(reading.details["hpcc_version"], "1.5.0");
        assert_eq!((&reading.details["p"], &reading.details["q"]), (&Value::from(1), &Value::from(2)));
    }

    #[test]
    fn what_it_did_not_measure_is_no_reading() {
        let whole = recorded("hpcc-1.5.0-n1000-t2.txt");
        assert_refused(
            &Hpcc,
            &linpack(1000, 2),
            [
                (String::new(), "0 results"),
                (whole.split("Begin of HPL section").next().unwrap().to_owned(), "0 results"),
                (whole.split("Begin of Summary").next().unwrap().to_owned(), "does not report success"),
                (whole.replace("Success=1", "Success=0"), "does not report success"),
                (whole.replace("PASSED", "FAILED"), "found its own solution wrong"),
            ],
        );
        assert!(parse(&whole, 2000).unwrap_err().contains("order 1000 and not 2000"));
    }

    #[test]
    fn it_is_compared_with_small_systems_only() {
        assert_eq!(Hpcc.supports(&linpack(2000, 2)), Ok(()));
        assert!(Hpcc.supports(&linpack(2001, 2)).unwrap_err().contains("hpl runs HPL alone"));
    }

    fn arrays(op: MemoryOp, working_set: u64, threads: u32) -> Experiment {
        memory(op, Isa::Avx2, working_set, threads)
    }

    #[test]
    fn its_stream_is_single_for_one_thread_and_star_for_several() {
        let reading =
            |name: &str, op, threads| Hpcc.parse(&said(&recorded(name)), &arrays(op, 4 << 20, threads)).unwrap();
        for (op, one, two, alone) in [
            (MemoryOp::Copy, 29.746_374, 56.559_761, 57.733_915),
            (MemoryOp::Scale, 30.169_913, 44.233_274, 44.757_288),
            (MemoryOp::Add, 30.163_637, 46.655_778, 47.049_388),
            (MemoryOp::Triad, 29.647_905, 43.463_348, 43.959_522),
        ] {
            let single = reading("hpcc-1.5.0-n725-t1.txt", op, 1);
            assert_eq!((single.metric, single.value), (MetricName::Throughput, one * 1e9));
            assert_eq!(single.details["elements_per_array"], 175_208.0);
            assert!(!single.details.contains_key("one_process_alone"));
            let star = reading("hpcc-1.5.0-n725-t2.txt", op, 2);
            assert_eq!((star.value, &star.details["passes"]), (two * 1e9 * 2.0, &Value::from(9.0)));
            assert_eq!(star.details["working_set"], 2.0 * 3.0 * 8.0 * 87_604.0);
            assert_eq!(
                (&star.details["one_process_alone"], &star.details["hpcc_version"]),
                (&Value::from(alone * 1e9), &Value::from("1.5.0"))
            );
        }
    }

    #[test]
    fn its_arrays_are_as_large_as_ours_by_the_order_of_its_matrix() {
        for (working_set, n) in [(4 << 20, 725), (32 << 20, 2048)] {
            let experiment = arrays(MemoryOp::Triad, working_set, 2);
            let target = Target {
                launcher: Some(Path::new("/usr/bin/mpirun")),
                cpus: &[0, 1],
                seconds: 0.1,
                our_rate: Some(1e3),
                ..target(&experiment)
            };
            let invocation = Hpcc.invocation(&target).unwrap();
            assert_eq!(invocation.argv.join(" "), "/usr/bin/mpirun -np 2 /opt/tool");
            assert!(invocation.folder.unwrap().files[INPUT].contains(&format!("\n{n}        Ns\n")));
            assert!(invocation.expected_seconds < 60.0, "a rate of bytes is none of flop");
            assert_eq!(invocation.env["OPENBLAS_CORETYPE"], "Haswell");
        }
    }

    #[test]
    fn what_its_stream_cannot_do_alike_is_refused() {
        let why = |experiment: &Experiment| Hpcc.supports(experiment).unwrap_err();
        assert!(why(&arrays(MemoryOp::Read, 4 << 20, 1)).contains("no loop for read"));
        assert!(why(&arrays(MemoryOp::TriadNt, 4 << 20, 1)).contains("no loop for triad"));
        for bytes in [(4 << 20) - 1, (32 << 20) + 1] {
            assert!(why(&arrays(MemoryOp::Triad, bytes, 1)).contains("from 4MiB to 32MiB"));
        }
    }

    #[test]
    fn what_its_stream_did_not_measure_is_no_reading() {
        let whole = recorded("hpcc-1.5.0-n725-t2.txt");
        let why =
            |text: &str, bytes, threads| Hpcc.parse(&said(text), &arrays(MemoryOp::Triad, bytes, threads)).unwrap_err();
        for (text, reason) in [
            (String::new(), "no complete section StarSTREAM"),
            (whole.split("Begin of SingleSTREAM").next().unwrap().to_owned(), "no complete section SingleSTREAM"),
            (whole.replace("Success=1", "Success=0"), "does not report success"),
            (whole.replace("Solution Validates", "Failed Validation"), "results are correct"),
            (whole.replace("Node(s) with error 0", "Node(s) with error 1"), "results are correct"),
            (whole.replace("Average Triad GB/s 43", "Average Triad GB/s fast 43"), "which is not a number"),
            (whole.replace("Average Triad GB/s 43.463348", "Average Triad GB/s 0"), "an impossible"),
            (whole.replace("uses 8 bytes", "uses 4 bytes"), "elements of 4 B"),
            (whole.replace("Array size = 87604", "Array size = 43802"), "43802 elements"),
        ] {
            let said = why(&text, 4 << 20, 2);
            assert!(said.contains(reason), "{reason}: {said}");
        }
        assert!(why(&whole, 8 << 20, 2).contains("87604 elements"), "arrays of another size");
        assert!(why(&whole, 4 << 20, 1).contains("CommWorldProcs= 2 and not 1"));
    }
}
