//! The HPC Challenge (`hpcc`) beside our LINPACK: the HPL in it, which distributions have as a package where they have no
//! HPL by itself.
//!
//! It always runs its seven other benchmarks first, over as much memory, which takes it many times as long as its HPL:
//! it is run beside small systems alone. Everything else is as in [`super::hpl`].

use std::collections::BTreeMap;

use model::experiment::Experiment;
use serde_json::Value;

use super::hpl::{difference, environment, expected_seconds, input, launched, parameters, read};
use super::{About, Invocation, Output, OwnFolder, Reading, Reference, Target, Version, distinct, examples};

pub(super) struct Hpcc;

static ABOUT: About = About {
    tool: "hpcc",
    program: "hpcc",
    launcher: Some("mpirun"),
    // Of itself it says the version only while it runs.
    version: Version::Written { prefix: "HPLinpack ", oldest: (2, 0) },
    stands_beside: "LINPACK in fp64 with our own solver, up to N = 2000",
    equal: "the order of the matrix, as many processes as threads, the CPUs and the instruction set",
    how_to_get: "Debian packages hpcc and libopenblas0-pthread; https://github.com/icl-utk-edu/hpcc",
};

/// The file that it reads.
const INPUT: &str = "hpccinf.txt";
/// The file that it writes.
const RESULTS: &str = "hpccoutf.txt";
/// The largest order beside which it is run: its other benchmarks take some 20 s then, and minutes at 5000.
const LARGEST: u64 = 2000;
/// Seconds that those take however small the system is.
const OTHERS_SECONDS: f64 = 8.0;
/// And for each element of the matrix.
const OTHERS_SECONDS_PER_ELEMENT: f64 = 4e-6;

impl Reference for Hpcc {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn example(&self) -> Experiment {
        examples::linpack(1000, 2)
    }

    fn stands_beside(&self, experiment: &Experiment) -> Result<(), String> {
        let params = parameters(ABOUT.tool, experiment)?;
        if params.n > LARGEST {
            return Err(format!("hpcc's other benchmarks take minutes beyond N = {LARGEST}; hpl runs HPL alone"));
        }
        Ok(())
    }

    fn invocation(&self, target: &Target<'_>) -> Result<Invocation, String> {
        self.stands_beside(target.experiment)?;
        let params = parameters(ABOUT.tool, target.experiment)?;
        let elements = params.n as f64 * params.n as f64;
        let others = OTHERS_SECONDS + OTHERS_SECONDS_PER_ELEMENT * elements;
        let expected_seconds = expected_seconds(params, target.our_rate) + others;
        Ok(Invocation {
            argv: launched(ABOUT.tool, target, params.threads)?,
            env: environment(params),
            cpus: distinct(target.cpus),
            // 8: to a file, of which it ignores the name.
            folder: Some(OwnFolder { files: BTreeMap::from([(INPUT, input(params, 8))]), results: Some(RESULTS) }),
            expected_seconds,
            timeout_seconds: 60.0 + 20.0 * expected_seconds,
            ..Invocation::default()
        })
    }

    fn parse(&self, _version: &str, output: &Output, experiment: &Experiment) -> Result<Reading, String> {
        let mut reading = read(ABOUT.tool, output, parameters(ABOUT.tool, experiment)?)?;
        let said = |words: &str| output.stdout.lines().find_map(|line| line.split_once(words)).map(|(_, rest)| rest);
        if said("Success=") != Some("1") {
            return Err("hpcc does not say that all of it succeeded".to_owned());
        }
        let version = said("HPC Challenge Benchmark version ").and_then(|rest| rest.split_whitespace().next());
        reading.details.extend(version.map(|version| ("hpcc_version".to_owned(), Value::from(version))));
        Ok(reading)
    }

    fn difference(&self, _version: &str, experiment: &Experiment, reading: &Reading) -> Option<String> {
        difference(ABOUT.tool, experiment, reading)
    }
}

#[cfg(test)]
mod tests {
    use model::sample::MetricName;

    use super::*;
    use crate::reference::tests::{failed, linpack, recorded, said};

    fn parse(text: &str, n: u64) -> Result<Reading, String> {
        Hpcc.parse("2.0", &said(text), &linpack(n, 2))
    }

    #[test]
    fn a_recorded_run_is_read() {
        let reading = parse(&recorded("hpcc-1.5.0-n1000-t2.txt"), 1000).unwrap();
        assert_eq!((reading.metric, reading.bytes_factor), (MetricName::Throughput, 1.0));
        let of_summary: f64 = recorded("hpcc-1.5.0-n1000-t2.txt")
            .lines()
            .find_map(|line| line.strip_prefix("HPL_Tflops=")?.parse().ok())
            .unwrap();
        assert!((reading.value / 1e12 / of_summary - 1.0).abs() < 1e-3, "{reading:?}");
        assert_eq!(reading.details["hpcc_version"], "1.5.0");
        assert_eq!((&reading.details["p"], &reading.details["q"]), (&Value::from(1), &Value::from(2)));
    }

    #[test]
    fn what_it_did_not_measure_is_no_reading() {
        let whole = recorded("hpcc-1.5.0-n1000-t2.txt");
        for (text, why) in [
            (String::new(), "no result"),
            (whole.split("Begin of HPL section").next().unwrap().to_owned(), "no result"),
            (whole.split("Begin of Summary").next().unwrap().to_owned(), "all of it succeeded"),
            (whole.replace("Success=1", "Success=0"), "all of it succeeded"),
            (whole.replace("PASSED", "FAILED"), "found its own solution wrong"),
        ] {
            let reason = parse(&text, 1000).unwrap_err();
            assert!(reason.contains(why), "{why}: {reason}");
        }
        assert!(parse(&whole, 2000).unwrap_err().contains("order 1000 and not 2000"));
        let aborted = Hpcc.parse("2.0", &failed(1, "cannot open file hpccinf.txt"), &linpack(1000, 2)).unwrap_err();
        assert!(aborted.contains("hpccinf.txt"), "{aborted}");
    }

    #[test]
    fn it_is_run_beside_small_systems_alone() {
        assert_eq!(Hpcc.stands_beside(&linpack(2000, 2)), Ok(()));
        assert!(Hpcc.stands_beside(&linpack(2001, 2)).unwrap_err().contains("hpl runs HPL alone"));
    }
}
