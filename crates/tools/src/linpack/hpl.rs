//! HPL (`xhpl`) compared with our LINPACK: the same order, and as many processes as we have threads, each with a
//! single-threaded BLAS.
//!
//! It counts 2/3 N^3 + 3/2 N^2 operations, and rejects a scaled residual of 16 or more, as we do.
//! `OpenBLAS` chooses its kernels by the CPU model, and the slowest for an unknown one. So it is given the kernels for the
//! instruction set of our benchmark, and its report of the kernels in use is kept.

use std::collections::BTreeMap;

use model::experiment::Experiment;
use model::isa::{Element, Isa};
use model::linpack::{LinpackEngine, LinpackOp, LinpackParams};
use serde_json::{Value, json};

use crate::examples;
use crate::invocation::{Invocation, OwnFolder, Target, bare_environment};
use crate::output::{Output, Reading, details, number_in, only, refuse_if, unless};
use crate::plausible;
use crate::tool::{Adapter, Reason, Rule, Side, ToolDescription, VersionSource};

pub(crate) struct Hpl;

const TOOL: &str = "hpl";
static DESCRIPTION: ToolDescription = ToolDescription {
    id: TOOL,
    program: "xhpl",
    launcher: Some("mpirun"),
    version: VersionSource::Written { prefix: "HPLinpack ", oldest: (2, 0) },
    compared_with: "LINPACK in fp64 with our own solver",
    equal: "the order of the matrix, as many processes as threads, the CPUs and the instruction set",
    rules: &[&LIBRARY, &OTHER_KERNELS, &UNKNOWN_KERNELS, &PROCESSES],
    how_to_get: "https://www.netlib.org/benchmark/hpl: ./configure && make, with an MPI and a BLAS such as OpenBLAS \
                 (Debian packages libopenmpi-dev and libopenblas-dev)",
    example: || examples::linpack(1000, 2),
};
pub(super) static LIBRARY: Rule =
    Rule::new("library", Some("OpenBLAS used the requested kernels, or none were requested"), Side::Either);
pub(super) static OTHER_KERNELS: Rule =
    Rule::new("other-kernels", Some("OpenBLAS used other kernels than requested"), Side::Either);
pub(super) static UNKNOWN_KERNELS: Rule =
    Rule::new("unknown-kernels", Some("its library does not report its kernels"), Side::Either);
pub(super) static PROCESSES: Rule = Rule::new("processes", Some("it has several processes"), Side::Slower);

/// Its input file.
pub const INPUT: &str = "HPL.dat";
/// Panel widths: its TUNING file recommends 32 to 256; below 64, products of today's libraries are slow.
const PANELS: (u32, u32) = (64, 256);
/// Panel width where ours is unknown.
pub const USUAL_PANEL: u32 = 192;
/// Limit of the scaled residual, which it also checks itself.
const THRESHOLD: f64 = 16.0;
/// Minimum flop per second and thread, for the estimate where our rate is unknown.
const SLOW_FLOP_PER_SECOND: f64 = 2e9;
const SLOWER: f64 = 2.0;
/// Minimum elements made or checked per second and process; the matrix is made twice.
const ELEMENTS_PER_SECOND: f64 = 20e6;
const START_SECONDS: f64 = 2.0;
/// Tolerated contradiction between its rate and its time, beyond the rounding of the time.
const CONTRADICTION: f64 = 1e-3;

/// The parameters, where a program that solves as HPL does measures the same.
pub(super) fn parameters<'a>(tool: &str, experiment: &'a Experiment) -> Result<&'a LinpackParams, String> {
    let params = experiment.linpack().ok_or_else(|| format!("{tool} measures LINPACK"))?;
    let engine = format!("it is compared with our own solver, not with {}", params.engine);
    let op = format!("it solves only in fp64, it has no {} of {}", params.op, params.element);
    let order = format!("it has no matrix of order {}", params.n);
    let reasons: [(bool, &str); 3] = [
        (params.engine != LinpackEngine::Own, &engine),
        (params.op != LinpackOp::Lu || params.element != Element::Fp64, &op),
        (i32::try_from(params.n).is_err() || params.n == 0, &order),
    ];
    refuse_if(tool, &reasons).map(|()| params)
}

/// Rows and columns of processes: nearly square, rather wide than high, as its TUNING file recommends.
pub const fn grid(processes: u32) -> (u32, u32) {
    let mut rows = processes.isqrt();
    while rows > 1 && !processes.is_multiple_of(rows) {
        rows -= 1;
    }
    let rows = if rows == 0 { 1 } else { rows };
    (rows, processes / rows)
}

fn panel(params: &LinpackParams) -> u32 {
    params.nb.unwrap_or(USUAL_PANEL).clamp(PANELS.0, PANELS.1)
}

/// Its input file, as in its own example; `device` selects its output.
pub fn input(params: &LinpackParams, device: u32) -> String {
    let (rows, columns) = grid(params.threads);
    let (n, panel) = (params.n, panel(params));
    // Lookahead needs a second process.
    let depth = u32::from(params.threads > 1);
    format!(
        "\
HPLinpack benchmark input file
written by assay
HPL.out      output file name (if any)
{device}            device out (6=stdout,7=stderr,file)
1            # of problems sizes (N)
{n}        Ns
1            # of NBs
{panel}          NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
{rows}            Ps
{columns}            Qs
{THRESHOLD:.1}         threshold
1            # of panel fact
2            PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
1            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
{depth}            DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
"
    )
}

/// The `OpenBLAS` core type with kernels for this set and no wider one (`driver/others/dynamic.c`).
const fn core_type(isa: Isa) -> Option<&'static str> {
    match isa {
        Isa::Avx512 => Some("SkylakeX"),
        Isa::Avx2 => Some("Haswell"),
        Isa::Sse2 => Some("Prescott"),
        _ => None,
    }
}

/// One thread per process, and what Open MPI needs to start processes on this host, for any user, one per hardware thread.
pub fn environment(params: &LinpackParams) -> BTreeMap<String, String> {
    let variables = [
        ("OMP_NUM_THREADS", "1"),
        // Makes it print the kernels in use.
        ("OPENBLAS_VERBOSE", "2"),
        ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
        ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
        ("OMPI_MCA_plm_rsh_agent", ""),
        ("OMPI_MCA_hwloc_base_use_hwthreads_as_cpus", "1"),
        ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
    ];
    let core = params.isa.and_then(core_type).map(|core| ("OPENBLAS_CORETYPE", core));
    let set = variables.into_iter().chain(core).map(|(name, value)| (name.to_owned(), value.to_owned()));
    bare_environment().into_iter().chain(set).collect()
}

/// Estimated seconds of a run, start and check included.
pub fn expected_seconds(params: &LinpackParams, our_rate: Option<f64>) -> f64 {
    let threads = f64::from(params.threads.max(1));
    let known = our_rate.filter(|rate| rate.is_finite() && *rate > 0.0).map(|rate| rate / SLOWER);
    let elements = params.n as f64 * params.n as f64;
    let solving = params.op.operations(params.n) / known.unwrap_or(SLOW_FLOP_PER_SECOND * threads);
    START_SECONDS + solving + 2.0 * elements / (ELEMENTS_PER_SECOND * threads)
}

/// The command line of HPL and HPC Challenge: one process per thread, in a folder with its input.
pub(super) fn launched(
    tool: &str,
    target: &Target<'_>,
    params: &LinpackParams,
    folder: OwnFolder,
    expected_seconds: f64,
) -> Result<Invocation, String> {
    let launcher = target.launcher.ok_or_else(|| format!("{tool} needs the program that starts its processes"))?;
    let [launcher, program] = [launcher, target.program].map(|path| path.to_string_lossy().into_owned());
    let seconds = [expected_seconds, 60.0 + 20.0 * expected_seconds];
    Ok(Invocation {
        argv: vec![launcher, "-np".to_owned(), params.threads.to_string(), program],
        env: environment(params),
        folder: Some(folder),
        ..Invocation::new(target, "", seconds)
    })
}

impl Adapter for Hpl {
    const DESCRIPTION: &'static ToolDescription = &DESCRIPTION;
    type Work<'a> = &'a LinpackParams;

    fn work(experiment: &Experiment) -> Result<&LinpackParams, String> {
        parameters(TOOL, experiment)
    }

    fn command(params: &LinpackParams, target: &Target<'_>) -> Result<Invocation, String> {
        let folder = OwnFolder { files: BTreeMap::from([(INPUT, input(params, 6))]), results: None };
        launched(TOOL, target, params, folder, expected_seconds(params, target.our_rate))
    }

    fn read(params: &LinpackParams, output: &Output) -> Result<Reading, String> {
        read(TOOL, output, params)
    }

    fn differences(params: &LinpackParams, _version: &str, reading: &Reading) -> Vec<Option<Reason>> {
        differences(TOOL, params, reading)
    }
}

/// Parses the output of HPL, alone or as part of another program.
pub fn read(tool: &str, output: &Output, params: &LinpackParams) -> Result<Reading, String> {
    output.succeeded(tool)?;
    let line = only(tool, "results", output.stdout.lines().filter_map(ResultLine::read).collect(), output)?;
    let (rows, columns) = (line.rows, line.columns);
    unless(line.n == params.n, tool, "order", line.n, params.n)?;
    let processes = format!("{rows} x {columns}");
    unless(rows * columns == params.threads, tool, "processes", processes, params.threads)?;
    let residual = residual(tool, &output.stdout)?;
    if !output.stdout.contains("End of Tests.") {
        return Err(format!("{tool} did not finish"));
    }
    let rate = line.gigaflop_per_second * 1e9;
    let seconds = params.op.operations(params.n) / rate;
    let mut details = details([
        ("seconds", json!(seconds)),
        ("nb", json!(line.panel)),
        ("p", json!(rows)),
        ("q", json!(columns)),
        ("variant", json!(line.variant)),
        ("residual", json!(residual)),
    ]);
    details.extend(cores(output).map(|cores| ("blas_core".to_owned(), Value::from(cores))));
    let reading = Reading::throughput(tool, rate, details)?;
    if (seconds - line.seconds).abs() > 0.005 + CONTRADICTION * seconds {
        return Err(format!("{tool} contradicts itself: {rate} flop/s do not take {} s", line.seconds));
    }
    // A cluster's results come from here, without an adapter.
    plausible::check_operations(tool, params.threads, reading)
}

pub(super) fn differences(tool: &str, params: &LinpackParams, reading: &Reading) -> Vec<Option<Reason>> {
    let core = reading.details.get("blas_core").and_then(Value::as_str);
    let kernels = match (core, params.isa.and_then(core_type)) {
        (Some(core), Some(wanted)) if wanted != core => OTHER_KERNELS
            .says(format!("{tool} uses OpenBLAS's kernels for {core}, although those for {wanted} were requested")),
        (Some(core), _) => LIBRARY.says(format!("{tool} uses OpenBLAS's kernels for {core}")),
        (None, _) => UNKNOWN_KERNELS.says(format!("{tool} uses a library that does not report its kernels")),
    };
    let processes = params.threads;
    let exchange = format!("{tool}'s {processes} processes exchange panels, our threads share the matrix");
    vec![kernels, PROCESSES.says_if(processes > 1, exchange)]
}

/// The result line, under `T/V  N  NB  P  Q  Time  Gflops`.
struct ResultLine<'a> {
    variant: &'a str,
    n: u64,
    panel: u32,
    rows: u32,
    columns: u32,
    seconds: f64,
    gigaflop_per_second: f64,
}

impl<'a> ResultLine<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [variant, n, panel, rows, columns, seconds, rate] = words[..] else { return None };
        // `WR11C2R4`: mapping, lookahead, broadcast, factorization.
        let known = variant.len() == 8 && (variant.starts_with("WR") || variant.starts_with("WC"));
        Some(Self {
            variant: Some(variant).filter(|_| known)?,
            n: n.parse().ok()?,
            panel: panel.parse().ok()?,
            rows: rows.parse().ok()?,
            columns: columns.parse().ok()?,
            seconds: seconds.parse().ok()?,
            gigaflop_per_second: rate.parse().ok()?,
        })
    }
}

fn residual(tool: &str, text: &str) -> Result<f64, String> {
    let line = text.lines().find(|line| line.starts_with("||Ax-b||_oo/(eps*"));
    let behind = line.and_then(|line| line.split_once('=')).map(|(_, behind)| behind.trim());
    let behind = behind.ok_or_else(|| format!("{tool} printed no residual"))?;
    let residual = behind.strip_suffix(" PASSED").and_then(|residual| number_in(residual.trim_end_matches([' ', '.'])));
    let accepted = residual.filter(|residual| *residual < THRESHOLD);
    accepted.ok_or_else(|| format!("{tool} found its own solution wrong: its scaled residual is {behind}"))
}

/// The distinct core types that `OpenBLAS` reports, one per process.
fn cores(output: &Output) -> Option<String> {
    let lines = [&output.stderr, &output.stdout].into_iter().flat_map(|text| text.lines());
    let mut cores: Vec<&str> = lines.filter_map(|line| line.strip_prefix("Core: ")).map(str::trim).collect();
    cores.sort_unstable();
    cores.dedup();
    (!cores.is_empty()).then(|| cores.join(", "))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use model::sample::MetricName;

    use super::*;
    use crate::tests::fixtures::{assert_refused, linpack, recorded, said, with_linpack};
    use crate::tool::ReferenceTool;

    fn parse(text: &str, n: u64, threads: u32) -> Result<Reading, String> {
        Hpl.parse(&said(text), &linpack(n, threads))
    }

    fn target(experiment: &Experiment, our_rate: Option<f64>) -> Target<'_> {
        Target {
            launcher: Some(Path::new("/usr/bin/mpirun")),
            cpus: &[3, 1],
            our_rate,
            ..crate::tests::fixtures::target(experiment)
        }
    }

    #[test]
    fn processes_stand_in_a_grid_as_square_as_can_be() {
        let expected = [(1, (1, 1)), (2, (1, 2)), (4, (2, 2)), (6, (2, 3)), (7, (1, 7)), (48, (6, 8)), (64, (8, 8))];
        for (processes, expected) in expected {
            assert_eq!(grid(processes), expected, "{processes}");
        }
        assert!((1..2000).all(|processes| {
            let (rows, columns) = grid(processes);
            rows * columns == processes && rows <= columns
        }));
    }

    #[test]
    fn it_gets_the_same_system_and_a_process_per_thread() {
        let experiment = linpack(10_000, 2);
        let invocation = Hpl.invocation(&target(&experiment, Some(1e11))).unwrap();
        assert_eq!(invocation.argv.join(" "), "/usr/bin/mpirun -np 2 /opt/tool");
        assert_eq!(invocation.cpus, [1, 3]);
        let variable = |name: &str| invocation.env.get(name).map(String::as_str);
        assert_eq!((variable("OPENBLAS_CORETYPE"), variable("OMP_NUM_THREADS")), (Some("SkylakeX"), Some("1")));
        let input = &invocation.folder.as_ref().unwrap().files[INPUT];
        let first = |line: usize| input.lines().nth(line - 1).unwrap().split_whitespace().next().unwrap();
        // N, NB, P, Q; device, lookahead, and the length of its own example.
        assert_eq!((first(6), first(8), first(11), first(12)), ("10000", "192", "1", "2"));
        assert_eq!((first(4), first(25), input.lines().count()), ("6", "1", 31));
        // 6.7e11 operations at half of our rate take 13 s, the matrix 5 more.
        assert!((18.0..25.0).contains(&invocation.expected_seconds), "{}", invocation.expected_seconds);
        let slow = Hpl.invocation(&target(&experiment, None)).unwrap();
        assert!(slow.expected_seconds > invocation.expected_seconds, "{}", slow.expected_seconds);
        let alone = Target { launcher: None, ..target(&experiment, None) };
        assert!(Hpl.invocation(&alone).unwrap_err().contains("starts its processes"));
    }

    #[test]
    fn the_kernels_are_those_of_our_rows_set() {
        let core = |isa| {
            let experiment = with_linpack(linpack(1000, 1), |params| params.isa = isa);
            Hpl.invocation(&target(&experiment, None)).unwrap().env.get("OPENBLAS_CORETYPE").cloned()
        };
        assert_eq!(core(Some(Isa::Avx2)), Some("Haswell".to_owned()));
        assert_eq!((core(Some(Isa::Scalar)), core(None)), (None, None));
    }

    #[test]
    fn only_what_it_does_is_compared() {
        let why = |change: fn(&mut LinpackParams)| Hpl.supports(&with_linpack(linpack(1000, 1), change)).unwrap_err();
        assert!(why(|params| params.op = LinpackOp::Gemm).contains("no gemm"));
        assert!(why(|params| params.op = LinpackOp::LuMixed).contains("no lu_mixed"));
        assert!(why(|params| params.engine = LinpackEngine::System).contains("not with system"));
        assert!(why(|params| params.n = 1 << 40).contains("of order"));
        assert!(why(|params| params.n = 0).contains("of order 0"));
    }

    #[test]
    fn recorded_runs_are_read() {
        for (name, n, threads, panel) in
            [("hpl-2.3-n2000-t2.txt", 2000, 2, 192), ("hpl-2.3-n1000-t1.txt", 1000, 1, 128)]
        {
            let reading = parse(&recorded(name), n, threads).unwrap();
            assert_eq!(reading.metric, MetricName::Throughput);
            assert_eq!(reading.details["nb"], panel);
            let seconds = reading.details["seconds"].as_f64().unwrap();
            assert!((LinpackOp::Lu.operations(n) / seconds / reading.value - 1.0).abs() < 1e-12);
            assert!(reading.details["residual"].as_f64().unwrap() < 1.0 && !reading.details.contains_key("blas_core"));
        }
    }

    #[test]
    fn the_kernels_that_it_used_are_in_the_details() {
        let cores = |stderr: &str| {
            let output = Output { stderr: stderr.to_owned(), ..said(&recorded("hpl-2.3-n2000-t2.txt")) };
            Hpl.parse(&output, &linpack(2000, 2)).unwrap().details.get("blas_core").cloned()
        };
        assert_eq!(cores("Core: SkylakeX\nCore: SkylakeX\n"), Some(Value::from("SkylakeX")));
        assert_eq!(cores("Core: Prescott\nCore: Haswell\n"), Some(Value::from("Haswell, Prescott")));
        assert_eq!(cores(""), None);
    }

    #[test]
    fn what_it_did_not_measure_is_no_reading() {
        let whole = recorded("hpl-2.3-n2000-t2.txt");
        let line = whole.lines().find(|line| line.starts_with("WR")).unwrap();
        assert_refused(
            &Hpl,
            &linpack(2000, 2),
            [
                (String::new(), "0 results"),
                ("\u{fffd}garbage\n".repeat(9), "0 results"),
                (whole.replace(line, &format!("{line}\n{line}")), "2 results"),
                (whole.replace("||Ax-b||_oo/(eps*", "x"), "printed no residual"),
                (whole.replace("PASSED", "FAILED"), "its own solution wrong"),
                (whole.replace("   3.37595811e-03", " 3.4e+05"), "its own solution wrong"),
                (whole.replace("   3.37595811e-03", " nan"), "its own solution wrong"),
                (whole.split("Finished").next().unwrap().to_owned(), "did not finish"),
                (whole.replace("2.6318e+00", "2.6318e+01"), "contradicts itself"),
                (whole.replace("2.6318e+00", "-2.6318e+00"), "an impossible"),
                (whole.replace("2.6318e+00", "nan"), "an impossible"),
            ],
        );
        assert!(parse(&whole, 1999, 2).unwrap_err().contains("order 2000 and not 1999"));
        assert!(parse(&whole, 2000, 4).unwrap_err().contains("processes 1 x 2 and not 4"));
    }
}
