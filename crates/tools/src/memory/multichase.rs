//! multichase beside our chase with one chain: dependent loads through every line of a buffer of the same size, in
//! pages of the same size.
//!
//! Left alone it visits one line in four, and stays within 256 KiB at a time: `-s 64` gives each line its node, `-T`
//! the bytes among which it stays, the whole buffer or our own group. It prints the settings that it uses, and those
//! are held against ours. It takes samples of half a second and drops the first.
//!
//! Asked for huge pages, it switches the system's setting on where it is off. It is run only where it is on.

use model::experiment::{Experiment, MemoryParams};
use model::isa::{MemoryPattern, Pages};
use model::sample::MetricName;
use serde_json::{Map, json};

use super::memory::of_memory;
use super::{
    About, Invocation, NeededSetting, Output, Reading, Reason, Reference, Rule, Side, Target, Version, arguments,
    bare_environment, complaint, distinct, examples, positive, succeeded,
};

pub(super) struct Multichase;

static ABOUT: About = About {
    tool: "multichase",
    program: "multichase",
    launcher: None,
    version: Version::Unsaid { argument: "-h", help: "TLB locality in bytes" },
    stands_beside: "latency of memory: a chase with one chain on one thread",
    equal: "the buffer, a node for each line of it, the page size and the CPU",
    rules: &[&COUNTS, &SOME_HUGE],
    how_to_get: "https://github.com/google/multichase; make multichase",
};
static COUNTS: Rule = Rule { name: "counter", when: None, makes_it: Side::Slower };
static SOME_HUGE: Rule = Rule { name: "some-huge", when: Some("ours is in pages of 2 MiB"), makes_it: Side::Slower };

/// Bytes of a node: a cache line.
const LINE_BYTES: u64 = 64;
/// Seconds of one of its samples.
const SAMPLE_SECONDS: f64 = 0.5;
/// Seconds that it takes to link one node at most, for the expected time.
const LINK_SECONDS: f64 = 600e-9;
/// The settings with which it leaves the system alone.
const SETTINGS: &[NeededSetting] = &[
    NeededSetting { path: "/sys/kernel/mm/transparent_hugepage/enabled", one_of: &["[always]", "[madvise]"] },
    NeededSetting {
        path: "/sys/kernel/mm/transparent_hugepage/defrag",
        one_of: &["[always]", "[defer+madvise]", "[madvise]"],
    },
];

/// The parameters, if multichase can do exactly this.
fn parameters(experiment: &Experiment) -> Result<&MemoryParams, String> {
    let params = of_memory(ABOUT.tool, experiment)?;
    let refuse = |why: String| Err(format!("multichase is not run beside this: {why}"));
    if params.pattern != MemoryPattern::Chase {
        return refuse("it only chases".to_owned());
    }
    if params.background.is_some() {
        return refuse("nothing loads the memory meanwhile".to_owned());
    }
    if let Some(chains) = params.chains.filter(|chains| *chains != 1) {
        return refuse(format!("its {chains} chains would share their lines"));
    }
    if params.threads != 1 {
        return refuse("its threads would share their lines".to_owned());
    }
    if !params.working_set.is_multiple_of(group(params)) || !group(params).is_multiple_of(LINE_BYTES) {
        return refuse("it would round the working set down".to_owned());
    }
    Ok(params)
}

/// Bytes among which it stays.
fn group(params: &MemoryParams) -> u64 {
    params.group.unwrap_or(params.working_set).max(1)
}

/// The options that make its chase ours, and the words with which it confirms each.
fn settings(params: &MemoryParams) -> [(&'static str, u64, &'static str); 4] {
    [
        ("-s", LINE_BYTES, "stride = "),
        ("-m", params.working_set, "total_memory = "),
        ("-T", group(params), "tlb_locality = "),
        ("-t", u64::from(params.threads), "nr_threads = "),
    ]
}

impl Reference for Multichase {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn example(&self) -> Experiment {
        examples::chase(64 << 20)
    }

    fn stands_beside(&self, experiment: &Experiment) -> Result<(), String> {
        parameters(experiment).map(|_| ())
    }

    fn invocation(&self, target: &Target<'_>) -> Result<Invocation, String> {
        let params = parameters(target.experiment)?;
        let samples = (target.seconds / SAMPLE_SECONDS).round().clamp(1.0, 3600.0);
        let huge = params.pages == Pages::Huge2M;
        // The mean of its samples, as ours is over all of one.
        let first = ["-v".to_owned(), "-a".to_owned(), if huge { "-H".to_owned() } else { String::new() }];
        let mut argv = arguments(target.program, first);
        argv.extend(settings(params).into_iter().flat_map(|(option, value, _)| [option.to_owned(), value.to_string()]));
        argv.extend(["-n".to_owned(), samples.to_string()]);
        let nodes = params.working_set as f64 / LINE_BYTES as f64;
        let expected_seconds = (samples + 1.0) * SAMPLE_SECONDS + nodes * LINK_SECONDS;
        Ok(Invocation {
            argv,
            env: bare_environment(),
            cpus: distinct(target.cpus),
            settings: if huge { SETTINGS.to_vec() } else { Vec::new() },
            expected_seconds,
            timeout_seconds: 20.0 + 4.0 * expected_seconds,
            ..Invocation::default()
        })
    }

    fn parse(&self, _version: &str, output: &Output, experiment: &Experiment) -> Result<Reading, String> {
        let tool = ABOUT.tool;
        succeeded(tool, output)?;
        let params = parameters(experiment)?;
        for (_, ours, words) in settings(params) {
            let its = number(output, words)?;
            if (its - ours as f64).abs() > 0.0 {
                return Err(format!("{tool} ran with '{words}{its}' and not {ours}"));
            }
        }
        let pages = text(output, "page_size = ")?;
        let expected = if params.pages == Pages::Huge2M { "2097152 bytes (THP)" } else { "4096 bytes" };
        if pages != expected {
            return Err(format!("{tool} asked for pages of {pages} and not of {expected}"));
        }
        if text(output, "chase = ")? != "simple" {
            return Err(format!("{tool} did not chase one chain"));
        }
        let samples = output.stdout.lines().filter(|line| line.contains("avg=")).count();
        let last = output.stdout.lines().next_back().unwrap_or_default().trim();
        let nanoseconds: f64 = last.parse().map_err(|_| format!("{tool} printed no latency: {}", complaint(output)))?;
        let mut details = Map::new();
        details.insert("samples".into(), json!(samples));
        details.insert("working_set".into(), json!(params.working_set));
        details.insert("group".into(), json!(group(params)));
        let value = positive(tool, "latency", nanoseconds * 1e-9)?;
        Ok(Reading { metric: MetricName::Latency, value, bytes_factor: 1.0, details })
    }

    fn reasons(&self, _version: &str, experiment: &Experiment, _reading: &Reading) -> Vec<Reason> {
        let mut reasons = vec![COUNTS.says("multichase adds to a counter with a locked instruction every 200 loads")];
        if parameters(experiment).is_ok_and(|params| params.pages == Pages::Huge2M) {
            reasons.push(SOME_HUGE.says("how many of multichase's pages are huge it does not say, all of ours are"));
        }
        reasons
    }
}

/// What stands behind words at the beginning of a line.
fn text<'a>(output: &'a Output, words: &str) -> Result<&'a str, String> {
    let line = output.stdout.lines().find_map(|line| line.strip_prefix(words)).map(str::trim);
    line.ok_or_else(|| format!("{} printed nothing behind '{}'", ABOUT.tool, words.trim_end()))
}

fn number(output: &Output, words: &str) -> Result<f64, String> {
    let text = text(output, words)?;
    let word = text.split_whitespace().next().unwrap_or_default();
    let number = word.parse::<f64>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| format!("{} printed '{text}' behind '{}': that is no number", ABOUT.tool, words.trim_end()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use model::experiment::{Background, Params};
    use model::isa::{Isa, MemoryOp};

    use super::*;
    use crate::reference::tests::{chase, failed, memory, recorded, said};

    fn with(change: impl Fn(&mut MemoryParams)) -> Experiment {
        let mut experiment = chase(64 << 20);
        if let Params::Memory(params) = &mut experiment.params {
            change(params);
        }
        experiment
    }

    fn grouped() -> Experiment {
        with(|params| (params.pages, params.group) = (Pages::Base4K, Some(256 << 10)))
    }

    fn invocation(experiment: &Experiment, seconds: f64) -> Invocation {
        let target = Target {
            experiment,
            program: Path::new("/opt/multichase"),
            cpus: &[1],
            other_cpus: &[],
            seconds,
            file: None,
            our_rate: None,
            version: "",
            offered_rate: None,
            launcher: None,
        };
        Multichase.invocation(&target).unwrap()
    }

    #[test]
    fn every_line_is_a_node_and_the_whole_buffer_is_one_group() {
        let whole = invocation(&chase(1 << 30), 0.5);
        let expected = "/opt/multichase -v -a -H -s 64 -m 1073741824 -T 1073741824 -t 1 -n 1";
        assert_eq!((whole.argv.join(" ").as_str(), whole.cpus, whole.settings.len()), (expected, vec![1], 2));
        let small_pages = invocation(&grouped(), 1.2);
        let expected = "/opt/multichase -v -a -s 64 -m 67108864 -T 262144 -t 1 -n 2";
        assert_eq!((small_pages.argv.join(" ").as_str(), small_pages.settings.len()), (expected, 0));
    }

    #[test]
    fn what_it_cannot_do_alike_is_refused() {
        let why = |experiment: &Experiment| Multichase.stands_beside(experiment).unwrap_err();
        assert!(why(&memory(MemoryOp::Read, Isa::Avx2, 1 << 30, 1)).contains("only chases"));
        assert!(why(&with(|params| params.chains = Some(4))).contains("4 chains"));
        assert!(why(&with(|params| params.threads = 2)).contains("threads would share"));
        let load = Some(Background { op: MemoryOp::Read, pause_ns: 0 });
        assert!(why(&with(|params| params.background = load)).contains("loads the memory"));
        assert!(why(&with(|params| params.group = Some(3 << 20))).contains("round"));
        assert!(why(&with(|params| params.nodes = Some("0-1".into()))).contains("node"));
    }

    #[test]
    fn recorded_runs_are_read() {
        let read =
            |name: &str, experiment: &Experiment| Multichase.parse("", &said(&recorded(name)), experiment).unwrap();
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
        let parse = |text: &str| Multichase.parse("", &said(text), &chase(64 << 20)).unwrap_err();
        for (text, why) in [
            (String::new(), "nothing behind 'stride ='"),
            ("\u{fffd}garbage\n".repeat(9), "nothing behind"),
            (whole.split("samples").next().unwrap().to_owned(), "no latency"),
            (whole.replace("stride = 64", "stride = 256"), "and not 64"),
            (whole.replace("total_memory = 6", "total_memory = 5"), "and not 67108864"),
            (whole.replace("tlb_locality = 6", "tlb_locality = x"), "no number"),
            (whole.replace("nr_threads = 1", "nr_threads = 2"), "and not 1"),
            (whole.replace("2097152 bytes (THP)", "4096 bytes"), "asked for pages of 4096 bytes"),
            (whole.replace("= simple", "= parallel2"), "did not chase"),
            (format!("{whole}0.000\n"), "no measurement"),
            (format!("{whole}nan\n"), "no measurement"),
        ] {
            let reason = parse(&text);
            assert!(reason.contains(why), "{why}: {reason}");
        }
        let refused = Multichase.parse("", &failed(1, "mmap: Cannot allocate memory"), &chase(64 << 20));
        assert!(refused.unwrap_err().contains("Cannot allocate memory"));
    }
}
