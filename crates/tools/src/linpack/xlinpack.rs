//! Intel's LINPACK (`xlinpack_xeon64`) compared with our own solver: the same order and threads, with MKL.
//!
//! It has never run here: the adapter follows its documentation and published outputs. It counts 2/3 N^3 + 2 N^2
//! operations, HPL and we 2/3 N^3 + 3/2 N^2, so its rate is converted. MKL is limited to our instruction set.

use std::collections::BTreeMap;

use model::experiment::Experiment;
use model::isa::Isa;
use model::linpack::LinpackParams;
use serde_json::{Value, json};

use super::hpl::{expected_seconds, parameters};
use crate::examples;
use crate::invocation::{Invocation, OwnFolder, Target, openmp_environment};
use crate::output::{Output, Reading, Text, details, number_in, only, unless};
use crate::tool::{Adapter, Reason, Rule, Side, ToolDescription, VersionSource};

pub(crate) struct Xlinpack;

const TOOL: &str = "xlinpack";
static DESCRIPTION: ToolDescription = ToolDescription {
    id: TOOL,
    program: "xlinpack_xeon64",
    launcher: None,
    version: VersionSource::Marked("Timing linear equation system solver"),
    compared_with: "LINPACK in fp64 with our own solver (from its documentation, untested)",
    equal: "the order of the matrix, its leading dimension and alignment, the threads and the instruction set",
    rules: &[&LIBRARY, &DIMENSION],
    how_to_get: "in Intel's oneAPI Math Kernel Library, benchmarks/linpack; \
                 https://www.intel.com/content/www/us/en/developer/articles/technical/onemkl-benchmarks-suite.html",
    example: || examples::linpack(1000, 2),
};
static LIBRARY: Rule = Rule::new("library", None, Side::Either);
static DIMENSION: Rule = Rule::new("leading-dimension", Some("its leading dimension differs from ours"), Side::Either);

/// Its input file, named as in its own example.
const INPUT: &str = "lininput_xeon64";
/// The largest alignment in its documentation; its only unit is KiB.
const MOST_ALIGNMENT_KIB: u64 = 64;

/// MKL's name of an instruction set (`MKL_ENABLE_INSTRUCTIONS` in its developer guide).
const fn library_set(isa: Isa) -> Option<&'static str> {
    match isa {
        Isa::Avx512 => Some("AVX512"),
        Isa::Avx2 => Some("AVX2"),
        Isa::Sse2 => Some("SSE4_2"),
        _ => None,
    }
}

/// Its input: two lines that it only prints, the number of tests, and a line for each of their settings.
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

    fn work(experiment: &Experiment) -> Result<&LinpackParams, String> {
        let params = parameters(TOOL, experiment)?;
        match params.isa.filter(|isa| library_set(*isa).is_none()) {
            Some(isa) => Err(format!("xlinpack's library cannot be restricted to {isa}")),
            None => Ok(params),
        }
    }

    fn command(params: &LinpackParams, target: &Target<'_>) -> Result<Invocation, String> {
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

    fn read(params: &LinpackParams, output: &Output) -> Result<Reading, String> {
        output.succeeded(TOOL)?;
        let text = Text::new(TOOL, &output.stdout);
        text.ran_with("Number of threads:", params.threads)?;
        let trial = only(TOOL, "lines of trials", trials(text.text).collect(), output)?;
        unless(trial.n == params.n, TOOL, "order", trial.n, params.n)?;
        if !text.text.contains("Residual checks PASSED") || trial.check != "pass" {
            return Err(format!("xlinpack reports '{}' instead of a passed residual", trial.check));
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

    fn differences(params: &LinpackParams, _version: &str, reading: &Reading) -> Vec<Option<Reason>> {
        let lda = reading.details.get("leading_dimension").and_then(Value::as_u64).filter(|lda| *lda != params.lda);
        let says = |lda| DIMENSION.says(format!("xlinpack's leading dimension is {lda}, ours {}", params.lda));
        vec![LIBRARY.says("xlinpack uses Intel's library, whose kernels and panels are unknown"), lda.and_then(says)]
    }
}

/// Its operation count, from a published result: N = 20000 in 119.912 s is 44.4837 Gflop/s.
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

fn trials(text: &str) -> impl Iterator<Item = Trial<'_>> {
    let table = text.lines().skip_while(|line| !line.contains("Timing linear equation system solver"));
    table.take_while(|line| !line.starts_with("Performance Summary")).filter_map(Trial::read)
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
    use super::*;
    use crate::tests::fixtures::{linpack, said, target};
    use crate::tool::ReferenceTool;

    /// An output of the documented form with a published result.
    const DOCUMENTED: &str = "\
Number of threads: 8
=================== Timing linear equation system solver ===================

Size   LDA    Align. Time(s)    GFlops   Residual     Residual(norm) Check
20000  20000  4      119.912    44.4837  3.917629e-10 3.467960e-02   pass

Performance Summary (GFlops)

Size   LDA    Align.  Average  Maximal
20000  20000  4       44.4837  44.4837

Residual checks PASSED
";

    fn parse(text: &str, n: u64, threads: u32) -> Result<Reading, String> {
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
    fn it_gets_order_threads_and_instructions() {
        let experiment = linpack(2000, 2);
        let target = Target { cpus: &[3, 1], our_rate: Some(1e11), ..target(&experiment) };
        let invocation = Xlinpack.invocation(&target).unwrap();
        assert_eq!(invocation.argv, ["/opt/tool", INPUT]);
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
            (DOCUMENTED.replace("   pass", "   FAIL"), 20000, 8, "reports 'FAIL'"),
            (DOCUMENTED.replace("PASSED", "FAILED"), 20000, 8, "instead of a passed residual"),
            (DOCUMENTED.replace("    44.4837", "    inf"), 20000, 8, "0 lines of trials"),
            (DOCUMENTED.replace("    44.4837", "    0.0000"), 20000, 8, "an impossible"),
        ] {
            let reason = parse(&text, n, threads).unwrap_err();
            assert!(reason.contains(why), "{why}: {reason}");
        }
    }
}
