//! Reference tools alongside a benchmark: each tool run is paired with a sample of ours taken just before or after it.
//!
//! Pairs come in rounds of two in opposite order (ours, theirs, theirs, ours), so that drift affects both sides alike. Their
//! number is fixed in advance. A tool that fails is not run again.

use std::collections::{BTreeMap, BTreeSet};

use model::document::Status;
use model::experiment::Experiment;
use model::reference::{self as word, ReferenceSample};
use model::sample::Metric;
use model::wire::HeldFile;
use serde_json::Value;
use sys::process::stop_signal;
use tools::rate_search::{MOST_RUNS, sent_too_fast};
use tools::{Invocation, RUN_SECONDS, Reading, ReferenceTool, Target, explain, find};

use super::reference_pairs::{COMMON, enter};
use crate::engines::net::granted_receive_buffer;
use crate::references::detect::{Detected, Found, NotFound, Places, detect};
use crate::references::own::Lasting;
use crate::references::run::run;
use crate::references::{CommandLines, ToolProgress};
use model::plan::Planned;

/// Version of a tool that reports none: documents always name one.
const NO_VERSION: &str = "not stated";

#[derive(Clone)]
pub(super) struct PairedTool {
    tool: &'static dyn ReferenceTool,
    found: Result<Found, NotFound>,
    pairs: u32,
    pub(super) progress: ToolProgress,
    /// The tool's value of the current pair and its start, until ours is complete.
    pending: Option<(f64, f64)>,
    pub(super) raw: String,
    pub(super) raw_name: String,
}

impl std::fmt::Debug for PairedTool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PairedTool").field("progress", &self.progress).finish_non_exhaustive()
    }
}

pub(super) fn detected(rows: &[Planned], places: &Places) -> Detected {
    let ids: BTreeSet<&str> = rows.iter().flat_map(|row| row.reference_tools.iter().map(String::as_str)).collect();
    let descriptions = ids.into_iter().filter_map(|id| Some(find(id)?.description()));
    descriptions.map(|tool| (tool.id.to_owned(), detect(tool, places))).collect()
}

pub(super) fn paired_tools(
    rows: &[Planned],
    pairs: &dyn Fn(&Planned) -> u32,
    found: &Detected,
) -> Vec<Vec<PairedTool>> {
    let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
    let mut of_row = |planned: &Planned| {
        let tools = planned.reference_tools.iter().filter_map(|tool| find(tool));
        let paired = tools.map(|tool| {
            let name = tool.description().id;
            let unknown = || Err(NotFound::Missing(format!("{name} was not searched for")));
            let found = found.get(name).cloned().unwrap_or_else(unknown);
            let number = numbers.entry(name).or_insert(0);
            *number += 1;
            PairedTool::new(tool, found, pairs(planned), format!("{name}-{number:02}.txt"))
        });
        paired.collect()
    };
    rows.iter().map(&mut of_row).collect()
}

impl PairedTool {
    fn new(tool: &'static dyn ReferenceTool, found: Result<Found, NotFound>, pairs: u32, raw_name: String) -> Self {
        let id = tool.description().id.to_owned();
        let progress = ToolProgress { tool: id, common: vec![Vec::new(); COMMON.len()], ..ToolProgress::default() };
        Self { tool, found, pairs, progress, pending: None, raw: String::new(), raw_name }
    }

    pub(super) fn go_on_from(&mut self, so_far: &ToolProgress) {
        if so_far.tool == self.progress.tool {
            self.progress.clone_from(so_far);
            // Another version may compare more values.
            self.progress.common.resize(COMMON.len(), Vec::new());
        }
    }

    pub(super) fn hold_against(&mut self, now: &Detected) {
        let (Ok(then), None) = (self.found.clone(), &self.progress.failed) else { return };
        self.progress.failed = match now.get(&self.progress.tool) {
            Some(Ok(now)) if now.version != then.version => {
                let [was, is] = [&then, now].map(version);
                Some(format!("it was version {was} when the run began, and is version {is} now"))
            }
            Some(Err(reason)) => Some(format!("it was removed after the run began: {}", reason.reason())),
            Some(Ok(now)) => {
                self.found = Ok(now.clone());
                None
            }
            None => Some("it was not searched for".to_owned()),
        };
    }

    pub(super) fn is_alive(&self) -> bool {
        self.found.is_ok() && self.progress.failed.is_none()
    }

    /// Runs the tool for a value; returns whether it overwrote its file.
    pub(super) fn measure(
        &mut self,
        planned: &Planned,
        file: Option<&HeldFile>,
        our_rate: Option<f64>,
        now: f64,
        on_start: &mut dyn FnMut(Lasting<'_>),
    ) -> bool {
        let Ok(found) = self.found.clone() else { return false };
        let mut overwritten = false;
        for _ in 0..MOST_RUNS {
            let target = Target {
                experiment: &planned.experiment,
                program: &found.path,
                launcher: found.launcher.as_deref(),
                cpus: &planned.cpus,
                other_cpus: &planned.other_cpus,
                seconds: RUN_SECONDS,
                file,
                our_rate,
                version: found.version.as_deref().unwrap_or_default(),
                offered_rate: self.progress.search.rate(),
                receive_buffer: granted_receive_buffer(),
            };
            let reading = self.tool.invocation(&target).and_then(|invocation| {
                overwritten |= invocation.files.iter().any(|file| file.overwritten);
                self.run_once(&invocation, &target, on_start)
            });
            match reading {
                Ok(reading) if self.progress.search.ran(sent_too_fast(target.experiment, &reading)) => {
                    self.pending = Some((reading.value, now));
                    self.progress.last = Some(reading);
                    return overwritten;
                }
                Ok(_) => {}
                // A resumed run repeats what a signal ended.
                Err(reason) => {
                    self.progress.failed = Some(reason).filter(|_| stop_signal().is_none());
                    return overwritten;
                }
            }
        }
        let rate = self.progress.search.rate().unwrap_or_default();
        self.progress.failed =
            Some(format!("it lost more than the goal in each of {MOST_RUNS} runs, down to {rate:.0} B/s"));
        overwritten
    }

    fn run_once(
        &mut self,
        invocation: &Invocation,
        target: &Target<'_>,
        on_start: &mut dyn FnMut(Lasting<'_>),
    ) -> Result<Reading, String> {
        self.progress.called = CommandLines {
            argv: invocation.argv.clone(),
            server_argv: invocation.server.as_ref().map_or_else(Vec::new, |server| server.argv.clone()),
            env: invocation.env.clone(),
        };
        let ran = run(invocation, on_start)?;
        self.raw.push_str(&ran.raw());
        self.raw.push('\n');
        (self.progress.called.argv, self.progress.called.server_argv) = (ran.argv, ran.server_argv);
        self.tool.parse(&ran.output, target.experiment)
    }

    /// Completes the pair with our values by metric name; without ours there is no pair.
    pub(super) fn pair(&mut self, ours_of: &dyn Fn(&str) -> Option<f64>) {
        let Some((value, start)) = self.pending.take() else { return };
        let metric = self.progress.last.as_ref().map(|reading| reading.metric.name());
        if let Some(ours) = metric.and_then(ours_of) {
            let pair = u32::try_from(self.progress.samples.len()).unwrap_or(u32::MAX - 1) + 1;
            self.progress.samples.push(ReferenceSample { value, ours, pair, start });
            let details = self.progress.last.as_ref().map(|reading| reading.details.clone().into());
            for (common, pairs) in COMMON.iter().zip(&mut self.progress.common) {
                let theirs = details.as_ref().and_then(|details: &Value| details.pointer(common.path)?.as_f64());
                pairs.extend(ours_of(common.name).zip(theirs));
            }
        }
    }

    pub(super) fn raw(&self) -> Option<(&str, &str)> {
        (!self.raw.is_empty()).then_some((self.raw_name.as_str(), self.raw.as_str()))
    }

    /// Whether its reference belongs to this metric: the one that it reports, or the headline.
    pub(super) fn is_of(&self, metric: &Metric, headline: bool) -> bool {
        self.progress.last.as_ref().map_or(headline, |reading| metric.name == reading.metric)
    }

    pub(super) fn reference(&self, metric: &Metric, experiment: &Experiment, stored: bool) -> word::Reference {
        let mut reference = self.facts(stored);
        if let Some((status, reason)) = self.obstacle(metric) {
            (reference.status, reference.reason) = (status, Some(reason));
            return reference;
        }
        let Some((median, chance)) = enter(&mut reference, metric, &self.progress.samples, &self.progress.common)
        else {
            (reference.status, reference.reason) = (Status::Failed, Some("its values have no ratio".to_owned()));
            return reference;
        };
        if let (Ok(found), Some(reading)) = (&self.found, &self.progress.last) {
            let usual = Reading { value: median, ..reading.clone() };
            let version = found.version.as_deref().unwrap_or_default();
            let ours = metric.summary.median;
            reference.explanation = explain(self.tool, version, experiment, &usual, ours, chance.as_deref());
        }
        reference
    }

    fn facts(&self, stored: bool) -> word::Reference {
        let last = self.progress.last.as_ref();
        word::Reference {
            tool: self.progress.tool.clone(),
            version: self.found.as_ref().ok().map(version),
            argv: self.progress.called.argv.clone(),
            server_argv: self.progress.called.server_argv.clone(),
            env: self.progress.called.env.clone(),
            pairs: self.pairs,
            bytes_factor: 1.0,
            details: last.map(|reading| reading.details.clone()).unwrap_or_default(),
            raw: self.raw().filter(|_| stored).map(|(name, _)| format!("raw/{name}")),
            ..word::Reference::default()
        }
    }

    /// Why it has no value; it needs one for each sample of ours.
    fn obstacle(&self, metric: &Metric) -> Option<(Status, String)> {
        let measured = self.progress.samples.len();
        let whole = measured > 0 && measured == metric.samples.len();
        match (&self.found, &self.progress.failed) {
            (Err(NotFound::Missing(reason)), _) => {
                Some((Status::Skipped, format!("{reason}; to get it: {}", self.tool.description().how_to_get)))
            }
            (Err(NotFound::Unusable { reason, .. }), _) => Some((Status::Skipped, reason.clone())),
            (Ok(_), Some(reason)) => Some((Status::Failed, reason.clone())),
            (Ok(_), None) if whole => None,
            (Ok(_), None) => {
                Some((Status::Skipped, format!("only {measured} of {} pairs could be measured", self.pairs)))
            }
        }
    }
}

fn version(found: &Found) -> String {
    found.version.clone().unwrap_or_else(|| NO_VERSION.to_owned())
}

#[cfg(test)]
mod tests {
    use model::io::{NetMode, Protocol};
    use model::reference::Verdict;
    use model::sample::MetricName;
    use model::unit::Better;
    use serde_json::{Value, json};
    use tools::{Output, Reason, ToolDescription, VersionSource};

    use super::super::reference_pairs::{LATENCY_P99, withdraw};
    use super::*;
    use crate::tests::{document, experiment, planned, repetition};

    fn installed(tool: &'static dyn ReferenceTool, pairs: usize) -> PairedTool {
        let found = Found { path: "/bin/echo".into(), version: Some("5.2.2".into()), launcher: None };
        PairedTool::new(tool, Ok(found), u32::try_from(pairs).unwrap(), "raw.txt".into())
    }

    fn add_pair(
        tool: &mut PairedTool,
        metric: MetricName,
        value: f64,
        details: &Value,
        ours: &dyn Fn(&str) -> Option<f64>,
    ) {
        let details = details.as_object().cloned().unwrap_or_default();
        tool.progress.last = Some(Reading { metric, value, details });
        tool.pending = Some((value, 0.0));
        tool.pair(ours);
    }

    fn likwid(samples: &[(f64, f64)]) -> PairedTool {
        let mut tool = installed(find("likwid-bench").unwrap(), samples.len());
        for (ours, theirs) in samples {
            let ours = |name: &str| (name == "throughput").then_some(*ours);
            add_pair(&mut tool, MetricName::Throughput, *theirs, &Value::Null, &ours);
        }
        tool
    }

    fn metric_of(values: &[f64]) -> Metric {
        let mut metric = document().experiments[0].metrics[0].clone();
        let one = metric.samples[0].clone();
        metric.samples = values.iter().map(|value| model::sample::Sample { value: *value, ..one.clone() }).collect();
        metric
    }

    #[test]
    fn ratio_and_verdict_are_of_the_pairs() {
        let pairs: Vec<(f64, f64)> = (0..20).map(|i| (102.0 + f64::from(i % 3), 100.0 + f64::from(i % 2))).collect();
        let ours: Vec<f64> = pairs.iter().map(|pair| pair.0).collect();
        let reference = likwid(&pairs).reference(&metric_of(&ours), &experiment(), true);
        assert_eq!((reference.status, reference.verdict), (Status::Ok, Some(Verdict::AtLeast)));
        assert_eq!((reference.median, reference.ratio), (Some(100.5), Some(103.0 / 100.5)));
        assert_eq!(reference.samples.len(), 20);
    }

    #[test]
    fn what_chance_suffices_for_is_said_and_what_it_does_not_is_not() {
        // The tool is faster, which none of its rules explains.
        let explained = |pairs: &[(f64, f64)]| {
            let ours: Vec<f64> = pairs.iter().map(|pair| pair.0).collect();
            let mut metric = metric_of(&ours);
            metric.summary.median = stats::summarise(&ours).unwrap().median;
            likwid(pairs).reference(&metric, &experiment(), true).explanation.unwrap()
        };
        let few = explained(&[(90.0, 100.0), (80.0, 100.0), (110.0, 100.0)]);
        assert!(
            few.contains("3 pairs are too few for an interval, and their ratios lie between 0.80 and 1.10"),
            "{few}"
        );
        assert!(explained(&[(90.0, 100.0)]).contains("one pair is too few"));
        let wide: Vec<(f64, f64)> = (0..8).map(|i| (if i < 5 { 90.0 } else { 120.0 }, 100.0)).collect();
        assert!(explained(&wide).contains("includes 1"), "{}", explained(&wide));
        let narrow = explained(&[(90.0, 100.0); 8]);
        assert!(narrow.starts_with("No known rule explains the difference; equal were"), "{narrow}");
    }

    #[test]
    fn other_values_that_both_sides_report_are_compared_over_the_same_pairs() {
        let mut tool = installed(find("fio").unwrap(), 8);
        for pair in 0..8_u8 {
            let details = json!({"latency": {"p50": 2e-4, "p99": 1e-3}, "cpu_seconds_per_request": 4e-6});
            // One process run does not know its CPU time.
            let cpu = (pair != 5).then_some(2e-6);
            add_pair(&mut tool, MetricName::Throughput, 1.0, &details, &|name| match name {
                "throughput" => Some(1.0),
                "latency" => Some(1e-4),
                _ => cpu,
            });
        }
        let reference = tool.reference(&metric_of(&[1.0; 8]), &experiment(), true);
        assert_eq!(reference.also.len(), 1, "a value that a pair lacks is left out: {:?}", reference.also);
        let latency = &reference.also[0];
        assert_eq!((latency.name.as_str(), latency.ours, latency.theirs, latency.ratio), ("latency", 1e-4, 2e-4, 0.5));
        assert!(latency.ratio_ci95.is_some() && latency.better == Better::Lower);
    }

    #[test]
    fn the_99th_percentile_of_a_round_trip_is_compared_too() {
        let mut tool = installed(find("sockperf").unwrap(), 6);
        for _ in 0..6 {
            add_pair(&mut tool, MetricName::Latency, 2e-5, &json!({"p99": 4e-5, "loss": 0.0}), &|name| match name {
                "latency" => Some(1e-5),
                LATENCY_P99 => Some(3e-5),
                _ => Some(0.0),
            });
        }
        let mut metric = metric_of(&[1e-5; 6]);
        metric.name = "latency".into();
        let also = tool.reference(&metric, &experiment(), true).also;
        let found: Vec<(&str, f64)> = also.iter().map(|one| (one.name.as_str(), one.ratio)).collect();
        assert_eq!(found, [(LATENCY_P99, 0.75)], "a loss of nothing has no ratio");
    }

    /// A tool that sends 1000 B/s, or its offered load, into a link.
    struct Lossy {
        link: f64,
    }

    static LOSSY: ToolDescription = ToolDescription {
        id: "lossy",
        program: "echo",
        launcher: None,
        version: VersionSource::Unsaid { argument: "--help", help: "" },
        compared_with: "",
        equal: "",
        rules: &[],
        how_to_get: "",
        example: no_drop,
    };

    fn no_drop() -> Experiment {
        tools::examples::net(Protocol::Udp, NetMode::NoDrop, 1472, 1)
    }

    impl ReferenceTool for Lossy {
        fn description(&self) -> &'static ToolDescription {
            &LOSSY
        }

        fn supports(&self, _: &Experiment) -> Result<(), String> {
            Ok(())
        }

        fn invocation(&self, target: &Target<'_>) -> Result<Invocation, String> {
            let rate = target.offered_rate.unwrap_or(1000.0).to_string();
            let argv = vec!["/bin/echo".to_owned(), rate];
            Ok(Invocation { argv, timeout_seconds: 10.0, ..Invocation::default() })
        }

        fn parse(&self, output: &Output, _: &Experiment) -> Result<Reading, String> {
            let value: f64 = output.stdout.trim().parse().unwrap();
            let loss = f64::from(u8::from(value > self.link));
            let details = json!({"sent": value, "loss": loss}).as_object().cloned().unwrap();
            Ok(Reading { metric: MetricName::Throughput, value, details })
        }

        fn reasons(&self, _: &str, _: &Experiment, _: &Reading) -> Vec<Reason> {
            Vec::new()
        }
    }

    #[test]
    fn of_a_round_that_was_cut_off_the_other_order_is_left() {
        let planned = planned();
        let mut row = crate::runner::progress::Progress::new(&planned, Some(6), false);
        assert_eq!(row.theirs_first_in_half_a_round(), None, "nothing was measured");
        row.tools = vec![installed(&Lossy { link: 1e9 }, 6)];
        for (ours_at, theirs_at, expected) in
            [(2.0, 1.0, Some(true)), (3.0, 4.0, None), (5.0, 6.0, Some(false)), (8.0, 7.0, None)]
        {
            row.tools[0].measure(&planned, None, None, theirs_at, &mut |_| {});
            let mut ours = repetition(1000.0);
            ours.metrics[0].sample.start = ours_at;
            row.samples.push(ours);
            row.tools[0].pair(&|_| Some(1000.0));
            assert_eq!(row.theirs_first_in_half_a_round(), expected, "ours at {ours_at}, theirs at {theirs_at}");
        }
    }

    #[test]
    fn a_tool_that_loses_too_much_is_brought_to_the_highest_rate_that_it_keeps() {
        let planned = Planned { experiment: no_drop(), ..planned() };
        let mut tool = installed(&Lossy { link: 300.0 }, 6);
        tool.measure(&planned, None, None, 1.0, &mut |_| {});
        let (found, _) = tool.pending.unwrap();
        assert!((290.0..=300.0).contains(&found), "{found}: {}", tool.raw);
        let runs = tool.raw.matches('$').count();
        assert!(runs > 3 && tool.raw.starts_with("$ /bin/echo 1000"), "{}", tool.raw);
        tool.measure(&planned, None, None, 1.0, &mut |_| {});
        assert_eq!((tool.pending, tool.raw.matches('$').count()), (Some((found, 1.0)), runs + 1), "found once");
        let mut hopeless = installed(&Lossy { link: 0.0 }, 6);
        hopeless.measure(&planned, None, None, 1.0, &mut |_| {});
        assert!(hopeless.pending.is_none() && hopeless.progress.failed.unwrap().contains("more than the goal"));
    }

    #[test]
    fn a_missing_tool_is_reported_with_its_reason() {
        let missing = Err(NotFound::Missing("no fio here".into()));
        let tool = PairedTool::new(find("fio").unwrap(), missing, 9, "fio-01.txt".into());
        assert!(!tool.is_alive() && tool.is_of(&metric_of(&[1.0]), true));
        let reference = tool.reference(&metric_of(&[1.0]), &experiment(), true);
        assert_eq!(reference.status, Status::Skipped);
        let reason = reference.reason.unwrap();
        assert!(reason.starts_with("no fio here; to get it: Debian package fio"), "{reason}");
        assert!(reference.version.is_none() && reference.raw.is_none());
    }

    #[test]
    fn a_tool_without_a_partner_for_each_sample_has_no_ratio() {
        let reference = likwid(&[(1.0, 1.0); 7]).reference(&metric_of(&[1.0; 8]), &experiment(), true);
        assert_eq!((reference.status, reference.median, reference.ratio), (Status::Skipped, None, None));
        assert!(reference.reason.unwrap().contains("7 of 7"));
        let mut reference = likwid(&[(1.0, 1.0); 7]).reference(&metric_of(&[1.0; 7]), &experiment(), true);
        assert_eq!(reference.status, Status::Ok);
        withdraw(&mut reference, 7);
        assert_eq!(reference.status, Status::Ok);
        withdraw(&mut reference, 9);
        assert_eq!((reference.status, reference.median, reference.verdict), (Status::Skipped, None, None));
        assert!(reference.reason.unwrap().contains("2 of its samples"));
    }
}
