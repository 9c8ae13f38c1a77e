//! One thread of a process run whose samples are whole jobs, such as the solution of a system, done by all threads together.
//!
//! Data is prepared and results are verified outside the timed part. Just before it, all threads run the instructions that
//! bound the job, which shows the cores' limit and clock at that moment. The clock is also measured between pieces of the job.

use model::wire::{Message, Observations};
use sys::clock::Timer;
use sys::team::spin_until;
use sys::usage::ThreadUsage;

use super::clock_probe::{ClockProbe, Look};
use super::context::{EarlyEnd, HEARING, Member, RunContext, START_DELAY_SECONDS, failed};
use super::observe::Observer;
use super::paced::begin;
use super::pacing::{Extent, Pacer};
use super::record::{self, JobRecord, Record};
use crate::engines::{BackgroundJob, Job, JobProfile, Profile, Trial};
use crate::locks::lock;

/// Length of the bounding loop: some dozen bursts.
const BOUND_SECONDS: f64 = 30e-3;
/// Interval of clock looks: at 50 us each, 0.1 % of the time.
const LOOK_SECONDS: f64 = 50e-3;
/// Maximum looks per sample: half an hour, preallocated.
const MOST_LOOKS: usize = 1 << 15;
/// With this many looks during a job, those before and after do not count.
const ENOUGH_LOOKS: usize = 3;

pub(super) fn run(
    member: Member<'_, '_>,
    job: Box<dyn Job>,
    mut bound: Box<dyn Trial>,
    began: f64,
) -> Result<Observations, EarlyEnd> {
    let context = member.context;
    let probe = ClockProbe::new(context.timer, context.task.imul_cycles);
    let profile = bound.profile();
    let mut pacer = Pacer::new(context.timer, probe, None, profile, Extent::Seconds(BOUND_SECONDS));
    let begun = begin(member, &mut pacer, bound.as_mut(), began)?;
    let mut work = Work { job, bound, pacer, looks: Vec::with_capacity(MOST_LOOKS), used: ThreadUsage::default() };
    let observer = Observer::begin(member);
    let (mut timed_seconds, mut samples) = (0.0, Vec::new());
    for _ in 0..context.task.samples {
        let record = work.sample(member)?;
        timed_seconds += context.timer.seconds(record.begin, record.end);
        lock(&context.jobs)[member.thread] = Some(record);
        member.meet()?;
        if member.is_first() {
            samples.push(send_sample(context, work.job.profile(), profile)?);
            std::thread::sleep(HEARING);
        }
    }
    let mut seen = work.pacer.report(begun);
    if let Some(observer) = observer {
        seen = observer.end(seen);
        // The first thread reports for all.
        work.job.conclude(&samples, &mut seen);
    }
    seen.remote_pages = member.remote_pages()?;
    Ok(context.counted(member.thread, work.used, timed_seconds, seen))
}

struct Work {
    job: Box<dyn Job>,
    bound: Box<dyn Trial>,
    pacer: Pacer,
    looks: Vec<Look>,
    used: ThreadUsage,
}

impl Work {
    /// One sample with the other threads: data, bounding loop, job, check.
    fn sample(&mut self, member: Member<'_, '_>) -> Result<JobRecord, EarlyEnd> {
        let timer = &member.context.timer;
        let began = timer.now();
        self.job.prepare().map_err(failed)?;
        let prepare_seconds = timer.seconds(began, timer.now());
        let start = member.start_in(START_DELAY_SECONDS)?;
        let (bound, _) = self.pacer.sample(self.bound.as_mut(), start).map_err(failed)?;
        let start = member.start_in(START_DELAY_SECONDS)?;
        let (begin, end, cpu_seconds) = self.timed(timer, start, member.context.task.cpus.len()).map_err(failed)?;
        let clock_hz = clock(&self.looks);
        let checked = timer.now();
        let residuals = self.job.verify().map_err(failed)?;
        let verify_seconds = timer.seconds(checked, timer.now());
        // The looks were under the loop's load, whose results are checked, too.
        self.bound.verify().map_err(failed)?;
        Ok(JobRecord { begin, end, cpu_seconds, clock_hz, bound, residuals, prepare_seconds, verify_seconds })
    }

    /// Runs the job at `start` with clock looks before, during and after; returns its beginning, end and CPU seconds.
    fn timed(&mut self, timer: &Timer, start: u64, threads: usize) -> Result<(u64, u64, f64), String> {
        let Self { job, bound, pacer, looks, used } = self;
        looks.clear();
        looks.push(pacer.look_at_clock(bound.as_mut()));
        spin_until(timer, start);
        let elsewhere = job.profile().works_elsewhere;
        let before = counts(elsewhere);
        let begin = timer.now();
        let every = timer.ticks(LOOK_SECONDS);
        let mut next = begin + every;
        job.run(&mut || {
            let now = timer.now();
            if now >= next && looks.len() + 1 < MOST_LOOKS {
                looks.push(pacer.look_at_clock(bound.as_mut()));
                next = now + every;
            }
        })?;
        let end = timer.now();
        let spent = counts(elsewhere).since(before);
        let spent = if elsewhere { spent.part_of(threads) } else { spent };
        *used = used.plus(spent);
        looks.push(pacer.look_at_clock(bound.as_mut()));
        Ok((begin, end, spent.cpu_seconds))
    }
}

/// The thread's counters, or the process's if other threads do the work: ours wait meanwhile.
fn counts(elsewhere: bool) -> ThreadUsage {
    if elsewhere { ThreadUsage::of_process() } else { ThreadUsage::now() }
}

/// The clock from the looks during the job, or all if they are few.
fn clock(looks: &[Look]) -> f64 {
    let during = looks.get(1..looks.len().saturating_sub(1)).unwrap_or_default();
    record::clock(if during.len() >= ENOUGH_LOOKS { during } else { looks })
}

fn send_sample(context: &RunContext, job: JobProfile, bound: Profile) -> Result<BackgroundJob, EarlyEnd> {
    let records: Vec<JobRecord> = lock(&context.jobs).iter_mut().filter_map(Option::take).collect();
    let metrics = record::combine_jobs(&records, job, &context.timer, context.task);
    context.send(&Message::Sample { metrics, histogram: None })?;
    let bounds: Vec<Record> = records.iter().map(|record| record.bound.clone()).collect();
    let rate = record::combine(&bounds, bound, &context.timer, context.task);
    let most = |of: fn(&JobRecord) -> f64| records.iter().map(of).fold(0.0, f64::max);
    Ok(BackgroundJob {
        bound_rate: rate.first().map_or(0.0, |headline| headline.sample.value),
        bound_clock_hz: record::mean(bounds.iter().map(|bound| bound.clock_hz)),
        prepare_seconds: most(|record| record.prepare_seconds),
        verify_seconds: most(|record| record.verify_seconds),
    })
}

#[cfg(test)]
mod tests {
    use model::wire::{MetricSample, Task};

    use super::super::serve::run_thread;
    use super::*;
    use crate::engines::linpack_tests::{Fault, LIBRARY_CPU_SECONDS, plant, plant_library, task};
    use crate::engines::{self, Preparing};

    struct Silent;

    impl Preparing for Silent {
        fn progress(&mut self, _: f64) {}

        fn listening(&mut self, _: &str) {}
    }

    fn run_job(task: &Task) -> (Vec<Message>, Result<Vec<Observations>, String>) {
        let engine = engines::engine_of(task.experiment.area).unwrap();
        let mut output = Vec::new();
        let context = RunContext::new(task, engine, Timer::system(), &mut output);
        let reports = sys::team::run(&task.cpus, |thread, gate| {
            let reason = |ended: EarlyEnd| ended.map_or_else(String::new, |trouble| trouble.to_string());
            run_thread(Member { context: &context, thread, gate }).map_err(reason)
        });
        drop(context);
        let text = String::from_utf8(output).unwrap();
        (text.lines().map(|line| model::json::FromJson::from_json(line.as_bytes()).unwrap()).collect(), reports)
    }

    fn samples(messages: &[Message]) -> Vec<&[MetricSample]> {
        let of = |message: &'_ Message| matches!(message, Message::Sample { .. });
        let metrics = messages.iter().filter(|message| of(message)).map(|message| match message {
            Message::Sample { metrics, .. } => metrics.as_slice(),
            _ => &[],
        });
        metrics.collect()
    }

    #[test]
    fn solutions_are_reported_with_their_time_residuals_and_clock() {
        for threads in [1, 2, 3] {
            let task = task(150, threads);
            engines::engine_of(task.experiment.area).unwrap().prepare(&task, &mut Silent).unwrap();
            let (messages, reports) = run_job(&task);
            let (reports, samples) = (reports.unwrap(), samples(&messages));
            assert_eq!(samples.len(), 2);
            for metrics in samples {
                let names: Vec<&str> = metrics.iter().map(|metric| metric.name.name()).collect();
                assert_eq!(names, ["throughput", "latency", "residual", "residual_raw", "clock"]);
                let [rate, time, residual, raw, clock] = metrics else { panic!("{metrics:?}") };
                let work = rate.sample.work.unwrap();
                assert!((work - (2.0 / 3.0 * 150.0 + 1.5) * 150.0 * 150.0).abs() < 1e-6);
                assert!((rate.sample.value * time.sample.value / work - 1.0).abs() < 1e-9);
                assert_eq!(rate.sample.per_thread.len(), threads as usize);
                assert!((0.0..16.0).contains(&residual.sample.value) && residual.sample.value > 0.0);
                assert!(raw.sample.value > 0.0 && raw.sample.value < 1e-9 && clock.sample.value > 1e6);
            }
            let seen = reports[0].linpack.clone().unwrap();
            // Threads that share a CPU may have no time in common.
            assert!(threads > 1 || seen.fma_flop_per_second.is_some_and(|rate| rate > 0.0));
            assert!(seen.fma_clock_hz.is_some_and(|hz| hz > 1e6));
            assert!(seen.matrix_bytes == Some(8 * 150 * 150) && seen.mapped_bytes > seen.matrix_bytes, "{seen:?}");
        }
    }

    #[test]
    fn what_is_solved_wrong_is_a_failure_and_never_a_result() {
        let failure = |fault| {
            let task = task(100, 1);
            plant(&task, fault);
            let (messages, reports) = run_job(&task);
            (samples(&messages).len(), reports.map(drop))
        };
        assert_eq!(failure(Fault::None), (2, Ok(())));
        for fault in [Fault::Factor, Fault::Solution, Fault::NotANumber, Fault::Dependent] {
            let (samples, ended) = failure(fault);
            let sentence = ended.unwrap_err();
            assert!(samples == 0 && sentence.contains("the solution is wrong"), "{fault:?}: {sentence}");
        }
        let (samples, ended) = failure(Fault::Singular);
        let sentence = ended.unwrap_err();
        assert!(samples == 0 && sentence.contains("singular: column 99"), "{sentence}");
    }

    #[test]
    fn what_a_library_takes_on_threads_of_its_own_is_counted() {
        let mut task = task(100, 2);
        task.experiment.id.push_str("/library");
        plant_library(&task);
        let (messages, reports) = run_job(&task);
        let samples = samples(&messages).len();
        assert_eq!(samples, 2);
        for report in reports.unwrap() {
            // Our own threads slept. One that starts late misses some CPU time.
            let least = samples as f64 * LIBRARY_CPU_SECONDS / 2.0;
            assert!(report.cpu_seconds >= least, "{} s of {least} s", report.cpu_seconds);
        }
    }

    #[test]
    fn the_clock_is_that_of_the_looks_during_a_job_where_there_are_some() {
        let look = |hz| Look { hz, disagreement: 0.0, nominal_seconds: 0.0, seconds: 0.0, paced: false };
        let all = |clocks: &[f64]| clock(&clocks.iter().map(|hz| look(*hz)).collect::<Vec<_>>());
        assert!((all(&[3e9, 2.5e9, 2.6e9, 2.5e9, 3e9]) - 2.5e9).abs() < 1.0);
        assert!((all(&[3e9, 2.8e9]) - 2.9e9).abs() < 1.0);
        assert!((all(&[3e9, 2.8e9, 2.9e9]) - 2.9e9).abs() < 1.0);
    }
}
