//! multichase compared with our chase of one chain: dependent loads through every line of a buffer of the same size, in pages
//! of the same size.
//!
//! By default it accesses one line in four, within 256 KiB at a time: `-s 64` makes every line a node, `-T` sets the range to
//! the buffer or our group. It takes samples of half a second and drops the first. It would enable huge pages system-wide,
//! so it runs only where they are enabled.

use model::experiment::{Experiment, MemoryParams};
use model::isa::{MemoryPattern, Pages};
use serde_json::json;

use super::any_pattern;
use crate::examples;
use crate::invocation::{Invocation, NeededSetting, Target};
use crate::output::{Output, Reading, Text, details, refuse_if};
use crate::tool::{Adapter, Reason, Rule, Side, ToolDescription, VersionSource};

pub(crate) struct Multichase;

const TOOL: &str = "multichase";
static DESCRIPTION: ToolDescription = ToolDescription {
    id: TOOL,
    program: "multichase",
    launcher: None,
    version: VersionSource::Unsaid { argument: "-h", help: "TLB locality in bytes" },
    compared_with: "latency of memory: a chase with one chain on one thread",
    equal: "the buffer with a node per cache line, the page size and the CPU",
    rules: &[&COUNTS, &SOME_HUGE],
    how_to_get: "https://github.com/google/multichase; make multichase",
    example: || examples::chase(64 << 20),
};
static COUNTS: Rule = Rule::new("counter", None, Side::Slower);
static SOME_HUGE: Rule = Rule::new("some-huge", Some("ours is in pages of 2 MiB"), Side::Slower);

const LINE_BYTES: u64 = 64;
const SAMPLE_SECONDS: f64 = 0.5;
const LINK_SECONDS: f64 = 600e-9;
const SETTINGS: &[NeededSetting] = &[
    NeededSetting { path: "/sys/kernel/mm/transparent_hugepage/enabled", one_of: &["[always]", "[madvise]"] },
    NeededSetting {
        path: "/sys/kernel/mm/transparent_hugepage/defrag",
        one_of: &["[always]", "[defer+madvise]", "[madvise]"],
    },
];

/// The range of the chase in bytes.
fn group(params: &MemoryParams) -> u64 {
    params.group.unwrap_or(params.working_set).max(1)
}

/// Its options, and the labels with which it confirms them.
fn settings(params: &MemoryParams) -> [(&'static str, u64, &'static str); 4] {
    [
        ("-s", LINE_BYTES, "stride ="),
        ("-m", params.working_set, "total_memory ="),
        ("-T", group(params), "tlb_locality ="),
        ("-t", u64::from(params.threads), "nr_threads ="),
    ]
}

impl Adapter for Multichase {
    const DESCRIPTION: &'static ToolDescription = &DESCRIPTION;
    type Work<'a> = &'a MemoryParams;

    fn work(experiment: &Experiment) -> Result<&MemoryParams, String> {
        let params = any_pattern(TOOL, experiment)?;
        let whole = params.working_set.is_multiple_of(group(params)) && group(params).is_multiple_of(LINE_BYTES);
        let reasons = [
            (params.pattern != MemoryPattern::Chase, "it only does pointer chases"),
            (params.background.is_some(), "it has no background load"),
            (params.chains.is_some_and(|chains| chains != 1), "its chains would share cache lines"),
            (params.threads != 1, "its threads would share cache lines"),
            (!whole, "it would round the working set down"),
        ];
        refuse_if(TOOL, &reasons).map(|()| params)
    }

    fn command(params: &MemoryParams, target: &Target<'_>) -> Result<Invocation, String> {
        let samples = (target.seconds / SAMPLE_SECONDS).round().clamp(1.0, 3600.0);
        let huge = params.pages == Pages::Huge2M;
        let settings = settings(params).map(|(option, value, _)| format!("{option} {value}")).join(" ");
        // `-a`: the mean of its samples.
        let words = format!("-v -a {} {settings} -n {samples}", if huge { "-H" } else { "" });
        let nodes = params.working_set as f64 / LINE_BYTES as f64;
        let expected_seconds = (samples + 1.0) * SAMPLE_SECONDS + nodes * LINK_SECONDS;
        Ok(Invocation {
            settings: if huge { SETTINGS.to_vec() } else { Vec::new() },
            ..Invocation::new(target, &words, [expected_seconds, 20.0 + 4.0 * expected_seconds])
        })
    }

    fn read(params: &MemoryParams, output: &Output) -> Result<Reading, String> {
        output.succeeded(TOOL)?;
        let text = Text::new(TOOL, &output.stdout);
        for (_, ours, label) in settings(params) {
            text.ran_with(label, ours as f64)?;
        }
        text.ran_as("page_size =", if params.pages == Pages::Huge2M { "2097152 bytes (THP)" } else { "4096 bytes" })?;
        text.ran_as("chase =", "simple")?;
        let samples = text.text.lines().filter(|line| line.contains("avg=")).count();
        let last = text.text.lines().next_back().unwrap_or_default().trim();
        let nanoseconds: f64 =
            last.parse().map_err(|_| format!("{TOOL} printed no latency: {}", output.complaint()))?;
        let details = details([
            ("samples", json!(samples)),
            ("working_set", json!(params.working_set)),
            ("group", json!(group(params))),
        ]);
        Reading::latency(TOOL, nanoseconds * 1e-9, details)
    }

    fn differences(params: &MemoryParams, _version: &str, _reading: &Reading) -> Vec<Option<Reason>> {
        let some_huge = "multichase does not report how many of its pages are huge, all of ours are";
        vec![
            COUNTS.says("multichase adds to a counter with a locked instruction every 200 loads"),
            SOME_HUGE.says_if(params.pages == Pages::Huge2M, some_huge),
        ]
    }
}

#[cfg(test)]
mod tests {
    use model::experiment::Background;
    use model::isa::{Isa, MemoryOp};
    use model::sample::MetricName;

    use super::*;
    use crate::tests::fixtures::{assert_refused, chase, memory, recorded, said, target, with_memory};
    use crate::tool::ReferenceTool;

    fn with(change: impl FnOnce(&mut MemoryParams)) -> Experiment {
        with_memory(chase(64 << 20), change)
    }

    fn grouped() -> Experiment {
        with(|params| (params.pages, params.group) = (Pages::Base4K, Some(256 << 10)))
    }

    fn invocation(experiment: &Experiment, seconds: f64) -> Invocation {
        let target = Target { cpus: &[1], seconds, ..target(experiment) };
        Multichase.invocation(&target).unwrap()
    }

    #[test]
    fn every_line_is_a_node_and_the_whole_buffer_is_one_group() {
        let whole = invocation(&chase(1 << 30), 0.5);
        let expected = "/opt/tool -v -a -H -s 64 -m 1073741824 -T 1073741824 -t 1 -n 1";
        assert_eq!((whole.argv.join(" ").as_str(), whole.cpus, whole.settings.len()), (expected, vec![1], 2));
        let small_pages = invocation(&grouped(), 1.2);
        let expected = "/opt/tool -v -a -s 64 -m 67108864 -T 262144 -t 1 -n 2";
        assert_eq!((small_pages.argv.join(" ").as_str(), small_pages.settings.len()), (expected, 0));
    }

    #[test]
    fn what_it_cannot_do_alike_is_refused() {
        let why = |experiment: &Experiment| Multichase.supports(experiment).unwrap_err();
        assert!(why(&memory(MemoryOp::Read, Isa::Avx2, 1 << 30, 1)).contains("pointer chases"));
        assert!(why(&with(|params| params.chains = Some(4))).contains("chains would share"));
        assert!(why(&with(|params| params.threads = 2)).contains("threads would share"));
        let load = Some(Background { op: MemoryOp::Read, pause_ns: 0 });
        assert!(why(&with(|params| params.background = load)).contains("background load"));
        assert!(why(&with(|params| params.group = Some(3 << 20))).contains("round"));
        assert!(why(&with(|params| params.nodes = Some("0-1".into()))).contains("node"));
    }

    #[test]
    fn recorded_runs_are_read() {
        let read = |name: &str, experiment: &Experiment| Multichase.parse(&said(&recorded(name)), experiment).unwrap();
        let reading = read("multichase-a1ffd89-2MiB-64MiB.txt", &chase(64 << 20));
        assert_eq!((reading.metric, &reading.details["samples"]), (MetricName::Latency, &json!(1)));
        assert!((1e-9..1e-6).contains(&reading.value), "{reading:?}");
        let reading = read("multichase-a1ffd89-4KiB-64MiB-g256KiB.txt", &grouped());
        assert_eq!(reading.details["samples"], 2);
        assert!((reading.value - 128.2e-9).abs() < 1e-15, "the mean of 117.3 and 139.2 ns: {reading:?}");
    }

    #[test]
    fn what_it_did_not_measure_is_no_reading() {
        let whole = recorded("multichase-a1ffd89-2MiB-64MiB.txt");
        assert_refused(
            &Multichase,
            &chase(64 << 20),
            [
                (String::new(), "no 'stride ='"),
                ("\u{fffd}garbage\n".repeat(9), "printed no"),
                (whole.split("samples").next().unwrap().to_owned(), "no latency"),
                (whole.replace("stride = 64", "stride = 256"), "and not 64"),
                (whole.replace("total_memory = 6", "total_memory = 5"), "and not 67108864"),
                (whole.replace("tlb_locality = 6", "tlb_locality = x"), "not a number"),
                (whole.replace("nr_threads = 1", "nr_threads = 2"), "and not 1"),
                (whole.replace("2097152 bytes (THP)", "4096 bytes"), "page_size = 4096 bytes"),
                (whole.replace("= simple", "= parallel2"), "chase = parallel2 and not simple"),
                (format!("{whole}0.000\n"), "an impossible"),
                (format!("{whole}nan\n"), "an impossible"),
            ],
        );
    }
}
