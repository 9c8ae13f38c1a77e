//! Intel's LINPACK benchmark (`xlinpack_xeon64`) beside our own solver: the same order of matrix, with as many threads of
//! its own library.
//!
//! It was never run here: this adapter rests on its documentation and on the form of outputs that others have published.
//! It solves what its input file lists, prints a line for each trial, and counts 2/3 N^3 + 2 N^2 operations, where HPL and
//! we count 2/3 N^3 + 3/2 N^2: its rate is converted. Its library takes the widest instructions that it knows of; it is
//! told to take those of our benchmark.

use std::collections::BTreeMap;

use model::experiment::Experiment;
use model::isa::Isa;
use model::linpack::LinpackParams;
use serde_json::{Value, json};

use super::hpl::{expected_seconds, parameters};
use crate::difference::rules::{Reason, Rule, Side};
use crate::error::ToolError;
use crate::examples;
use crate::invocation::{Invocation, OwnFolder, Target, openmp_environment};
use crate::output::{Output, Reading, details};
use crate::parsing::{Text, number_in};
use crate::tool::{Adapter, ToolDescription};
use crate::version::source::VersionSource;

pub(crate) struct Xlinpack;

const TOOL: &str = "xlinpack";
static DESCRIPTION: ToolDescription = ToolDescription {
    id: TOOL,
    program: "xlinpack_xeon64",
    launcher: None,
    version: VersionSource::Marked { words: "Timing linear equation system solver" },
    compared_with: "LINPACK in fp64 with our own solver (by its documentation: never tried)",
    equal: "the order of the matrix, its leading dimension and alignment, the threads and the instruction set",
    rules: &[&LIBRARY, &DIMENSION],
    how_to_get: "in Intel's oneAPI Math Kernel Library, benchmarks/linpack; \
                 https://www.intel.com/content/www/us/en/developer/articles/technical/onemkl-benchmarks-suite.html",
    example: || examples::linpack(1000, 2),
};
static LIBRARY: Rule = Rule::new("library", None, Side::Either);
static DIMENSION: Rule =
    Rule::new("leading-dimension", Some("its leading dimension is another than ours"), Side::Either);

/// The file that it reads: the name of its own example.
const INPUT: &str = "lininput_xeon64";
/// The largest alignment that its documentation speaks of, in KiB; it takes no other unit.
const MOST_ALIGNMENT_KIB: u64 = 64;

/// What its library calls an instruction set (`MKL_ENABLE_INSTRUCTIONS` in its developer guide).
const fn library_set(isa: Isa) -> Option<&'static str> {
    match isa {
        Isa::Avx512 => Some("AVX512"),
        Isa::Avx2 => Some("AVX2"),
        Isa::Sse2 => Some("SSE4_2"),
        _ => None,
    }
}

/// What it reads: two lines that it only prints, then how many tests there are, and a line for each setting of them.
fn input(params: &LinpackParams) -> String {
    let kib = (params.align >> 10).clamp(1, MOST_ALIGNMENT_KIB);
    let (n, lda) = (params.n, params.lda);
    format!(
        "Written by assay\nIntel(R) Optimized LINPACK Benchmark data\n1 # number of tests\n{n} # problem sizes\n\
         {lda} # leading dimensions\n1 # times to run a test\n{kib} # alignment values (in KBytes)\n"
    )
}

impl Adapter for Xlinpack {
    const DESCRIPTION: &'static ToolDescription = &DESCRIPTION;
    type Work<'a> = &'a LinpackParams;

    fn work(experiment: &Experiment) -> Result<&LinpackParams, ToolError> {
        let params = parameters(TOOL, experiment)?;
        match params.isa.filter(|isa| library_set(*isa).is_none()) {
            Some(isa) => Err(ToolError::Unsuitable(format!("xlinpack's library cannot be told to take {isa}"))),
            None => Ok(params),
        }
    }

    fn command(params: &LinpackParams, target: &Target<'_>) -> Result<Invocation, ToolError> {
        let expected_seconds = expected_seconds(params, target.our_rate);
        let mut env = openmp_environment(params.threads, target.cpus);
        let instructions = params.isa.and_then(library_set);
        env.extend(instructions.map(|set| ("MKL_ENABLE_INSTRUCTIONS".to_owned(), set.to_owned())));
        Ok(Invocation {
            env,
            folder: Some(OwnFolder { files: BTreeMap::from([(INPUT, input(params))]), results: None }),
            ..Invocation::new(target, INPUT, [expected_seconds, 60.0 + 20.0 * expected_seconds])
        })
    }

    fn read(params: &LinpackParams, output: &Output) -> Result<Reading, ToolError> {
        output.succeeded(TOOL)?;
        let text = Text::new(TOOL, &output.stdout);
        text.ran_with("Number of threads:", u64::from(params.threads))?;
        let trial = only_trial(text.text)?;
        if trial.n != params.n {
            let reason = format!("xlinpack solved a system of order {} and not {}", trial.n, params.n);
            return Err(ToolError::OtherSettings(reason));
        }
        if !text.text.contains("Residual checks PASSED") || trial.check != "pass" {
            let reason = format!("xlinpack does not say that its residual passes, but '{}'", trial.check);
            return Err(ToolError::Failed(reason));
        }
        let rate = trial.gigaflop_per_second * 1e9;
        let as_ours = params.op.operations(trial.n) / its_operations(trial.n);
        let details = details([
            ("seconds", json!(its_operations(trial.n) / rate)),
            ("leading_dimension", json!(trial.lda)),
            ("residual", json!(trial.residual)),
        ]);
        Reading::throughput(TOOL, rate * as_ours, details)
    }

    fn differences(params: &LinpackParams, _version: &str, reading: &Reading) -> Vec<Reason> {
        let mut reasons =
            vec![LIBRARY.says("xlinpack multiplies with Intel's own library, whose kernels and panels are not known")];
        let lda = reading.details.get("leading_dimension").and_then(Value::as_u64).filter(|lda| *lda != params.lda);
        let says = |lda| DIMENSION.says(format!("xlinpack's leading dimension is {lda}, ours {}", params.lda));
        reasons.extend(lda.map(says));
        reasons
    }
}

/// What it takes the solution of a system to be worth, as its published times and rates show (N = 20000 in 119.912 s are
/// 44.4837 Gflop/s).
fn its_operations(n: u64) -> f64 {
    let n = n as f64;
    (2.0 / 3.0 * n + 2.0) * n * n
}

/// The line of its only trial: `20000  20000  4      119.912    44.4837  3.917629e-10 3.467960e-02   pass`.
struct Trial<'a> {
    n: u64,
    lda: u64,
    gigaflop_per_second: f64,
    /// Scaled by the norms of the system.
    residual: f64,
    check: &'a str,
}

fn only_trial(text: &str) -> Result<Trial<'_>, ToolError> {
    let table = text.lines().skip_while(|line| !line.contains("Timing linear equation system solver"));
    let until = table.take_while(|line| !line.starts_with("Performance Summary"));
    let trials: Vec<Trial<'_>> = until.filter_map(Trial::read).collect();
    <[Trial<'_>; 1]>::try_from(trials)
        .map(|[trial]| trial)
        .map_err(|trials| ToolError::Unreadable(format!("xlinpack printed {} lines of trials and not 1", trials.len())))
}

impl<'a> Trial<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [n, lda, _align, _seconds, rate, _residual, residual, check] = words[..] else { return None };
        Some(Self {
            n: n.parse().ok()?,
            lda: lda.parse().ok()?,
            gigaflop_per_second: number_in(rate)?,
            residual: number_in(residual)?,
            check,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::tests::fixtures::{failed, linpack, said, target};
    use crate::tool::ReferenceTool;

    /// An output of the published form; the figures of its line have been published with it.
    const DOCUMENTED: &str = "\
Written by assay
Intel(R) Optimized LINPACK Benchmark data

Current date/time: Thu Jan  1 00:00:00 1970

CPU frequency:    3.050 GHz
Number of CPUs: 1
Number of cores: 4
Number of threads: 8

Parameters are set to:

Number of tests: 1
Number of equations to solve (problem size) : 20000
Leading dimension of array                  : 20000
Number of trials to run                     : 1
Data alignment value (in Kbytes)            : 4

Maximum memory requested that can be used=3200404096, at the size=20000

=================== Timing linear equation system solver ===================

Size   LDA    Align. Time(s)    GFlops   Residual     Residual(norm) Check
20000  20000  4      119.912    44.4837  3.917629e-10 3.467960e-02   pass

Performance Summary (GFlops)

Size   LDA    Align.  Average  Maximal
20000  20000  4       44.4837  44.4837

Residual checks PASSED

End of tests
";

    fn parse(text: &str, n: u64, threads: u32) -> Result<Reading, ToolError> {
        Xlinpack.parse(&said(text), &linpack(n, threads))
    }

    #[test]
    fn a_documented_output_is_read_and_its_operations_counted_as_ours() {
        let reading = parse(DOCUMENTED, 20000, 8).unwrap();
        let seconds = reading.details["seconds"].as_f64().unwrap();
        assert!((seconds - 119.912).abs() < 0.001, "its rate and its time agree by its own count: {seconds}");
        let ours = (2.0 / 3.0 * 20000.0 + 1.5) * 20000.0 * 20000.0;
        assert!((reading.value * seconds / ours - 1.0).abs() < 1e-12, "{reading:?}");
        assert_eq!(reading.details["residual"], 3.467_960e-2);
    }

    #[test]
    fn it_is_told_order_threads_and_instructions() {
        let experiment = linpack(2000, 2);
        let target = Target {
            program: Path::new("/opt/xlinpack_xeon64"),
            cpus: &[3, 1],
            our_rate: Some(1e11),
            ..target(&experiment)
        };
        let invocation = Xlinpack.invocation(&target).unwrap();
        assert_eq!(invocation.argv, ["/opt/xlinpack_xeon64", INPUT]);
        let env: Vec<String> = invocation.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(
            env.join(" "),
            "HOME={folder} LC_ALL=C MKL_ENABLE_INSTRUCTIONS=AVX512 OMP_DYNAMIC=false OMP_NUM_THREADS=2 \
             OMP_PLACES={1},{3} OMP_PROC_BIND=close TMPDIR={folder}"
        );
        let input = &invocation.folder.unwrap().files[INPUT];
        let numbers: Vec<&str> = input.lines().skip(2).filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(numbers, ["1", "2000", "2000", "1", "1"], "{input}");
    }

    #[test]
    fn what_it_did_not_measure_is_no_reading() {
        for (text, n, threads, why) in [
            (String::new(), 20000, 8, "no 'Number of threads:'"),
            (DOCUMENTED.to_owned(), 20000, 4, "threads: 8 and not 4"),
            (DOCUMENTED.to_owned(), 1000, 8, "order 20000 and not 1000"),
            (DOCUMENTED.replace("   pass", "   FAIL"), 20000, 8, "but 'FAIL'"),
            (DOCUMENTED.replace("PASSED", "FAILED"), 20000, 8, "does not say that its residual passes"),
            (DOCUMENTED.replace("    44.4837", "    inf"), 20000, 8, "0 lines of trials"),
            (DOCUMENTED.replace("    44.4837", "    0.0000"), 20000, 8, "no measurement"),
        ] {
            let reason = parse(&text, n, threads).unwrap_err();
            assert!(reason.contains(why), "{why}: {reason}");
        }
        let refused = Xlinpack.parse(&failed(1, "cannot open"), &linpack(1000, 1)).unwrap_err();
        assert!(refused.contains("cannot open"), "{refused}");
    }
}
