//! One thread's notes of a sample, and the metrics of a sample from all threads. Pure arithmetic on time stamps.

use model::sample::{MetricName, Sample, ThreadShare};
use model::unit::{Better, Unit};
use model::wire::{MetricSample, Task};
use sys::clock::{Timer, monotonic_raw_seconds};

use super::clock_probe::Look;
use crate::engines::{JobProfile, Measure, Profile, Residuals};

/// Minimum excess of a gap over the burst's median; less is noise of time stamps and cache misses.
const LEAST_GAP_SECONDS: f64 = 2e-6;
/// A gap also exceeds the median by this many robust standard deviations: memory chunks vary.
const GAP_DEVIATIONS: f64 = 6.0;
const CHUNKS_FOR_A_MEDIAN: usize = 4;
/// A gap is isolated: the chunks before and after it take at most this times the median. A busy sibling slows many chunks.
const NORMAL_NEXT: f64 = 1.1;
/// A look below this share of the median clock was disturbed.
const PLAUSIBLE_CLOCK: f64 = 0.9;

/// The least share of its CPU with which a thread keeps the others waiting for less than 2 % of the time of two.
const ENOUGH_CPU: f64 = 0.96;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Burst {
    pub(super) first: usize,
    pub(super) last: usize,
    pub(super) cycles: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Pause {
    pub(super) begin: u64,
    pub(super) end: u64,
    pub(super) look: Look,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stretch {
    pub(super) begin: f64,
    pub(super) end: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Record {
    work_per_chunk: f64,
    chunks: Vec<Stretch>,
    pub(super) bursts: Vec<BurstSum>,
    /// Our own pauses at their expected length; the excess is lost time.
    pauses: Vec<Stretch>,
    /// Chunks and pauses that took longer than they should, in order.
    lost: Vec<Stretch>,
    pub(super) clock_hz: f64,
    pub(super) gap_seconds: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BurstSum {
    pub(super) seconds: f64,
    pub(super) work: f64,
    pub(super) cycles: Option<f64>,
}

impl Record {
    pub(super) fn new(
        timer: &Timer,
        work_per_chunk: f64,
        stamps: &[u64],
        bursts: &[Burst],
        pauses: &[Pause],
        looks: &[Look],
    ) -> Self {
        let at = |ticks: u64| timer.seconds(0, ticks);
        let mut record = Self {
            work_per_chunk,
            chunks: Vec::with_capacity(stamps.len()),
            bursts: Vec::with_capacity(bursts.len()),
            pauses: own_pauses(timer, pauses),
            lost: Vec::new(),
            clock_hz: clock(looks),
            gap_seconds: 0.0,
        };
        let all = bursts.iter().flat_map(|burst| stamps[burst.first..=burst.last].windows(2));
        let all: Vec<f64> = all.map(|pair| timer.seconds(pair[0], pair[1])).collect();
        let usual = Usual::new(&all);
        for burst in bursts {
            let of_burst = &stamps[burst.first..=burst.last];
            let chunks = of_burst.windows(2).map(|pair| Stretch { begin: at(pair[0]), end: at(pair[1]) });
            let lengths: Vec<f64> = of_burst.windows(2).map(|pair| timer.seconds(pair[0], pair[1])).collect();
            record.chunks.extend(chunks);
            record.gap_seconds += gaps(&lengths, usual);
            record.bursts.push(BurstSum {
                seconds: lengths.iter().sum(),
                work: work_per_chunk * lengths.len() as f64,
                cycles: burst.cycles.map(|cycles| cycles as f64),
            });
        }
        let paused: f64 = pauses.iter().map(|pause| timer.seconds(pause.begin, pause.end)).sum();
        let meant: f64 = record.pauses.iter().map(Stretch::seconds).sum();
        record.gap_seconds += (paused - meant).max(0.0);
        record.lost = record.lost_stretches(usual, |index| at(pauses[index].end));
        if let Some(hz) = counted_hz(&record.bursts) {
            record.clock_hz = hz;
        }
        record
    }

    /// Chunks that took longer than usual, and what each pause took beyond its expected length.
    fn lost_stretches(&self, usual: Usual, pause_end: impl Fn(usize) -> f64) -> Vec<Stretch> {
        let late = |chunk: &&Stretch| chunk.seconds() > usual.median + usual.least;
        let excess = |(index, own): (usize, &Stretch)| Stretch { begin: own.end, end: pause_end(index) };
        let pauses = self.pauses.iter().enumerate().map(excess).filter(|excess| excess.seconds() > LEAST_GAP_SECONDS);
        let mut lost: Vec<Stretch> = self.chunks.iter().filter(late).copied().chain(pauses).collect();
        lost.sort_by(|a, b| a.begin.total_cmp(&b.begin));
        lost
    }

    pub(super) fn lost_in(&self, window: Stretch) -> bool {
        overlapping(&self.lost, window).iter().any(|lost| lost.share_inside(window) > 0.0)
    }

    pub(super) fn work(&self) -> f64 {
        self.work_per_chunk * self.chunks.len() as f64
    }

    fn begin(&self) -> f64 {
        self.chunks.first().map_or(0.0, |chunk| chunk.begin)
    }

    fn end(&self) -> f64 {
        self.chunks.last().map_or(0.0, |chunk| chunk.end)
    }

    pub(super) fn elapsed_seconds(&self) -> f64 {
        self.end() - self.begin()
    }

    /// Work and seconds inside a window: straddling chunks count in proportion, our own pauses not at all.
    pub(super) fn inside(&self, window: Stretch) -> ThreadShare {
        let chunks = overlapping(&self.chunks, window).iter();
        let work: f64 = chunks.map(|chunk| self.work_per_chunk * chunk.share_inside(window)).sum();
        let pauses = overlapping(&self.pauses, window).iter();
        let paused: f64 = pauses.map(|pause| pause.share_inside(window) * pause.seconds()).sum();
        ThreadShare { work, seconds: window.seconds() - paused, clock_hz: Some(self.clock_hz) }
    }

    fn whole(&self) -> ThreadShare {
        let paused: f64 = self.pauses.iter().map(Stretch::seconds).sum();
        ThreadShare { work: self.work(), seconds: self.elapsed_seconds() - paused, clock_hz: Some(self.clock_hz) }
    }

    /// Work and its chunks' seconds, for a latency.
    fn busy(&self) -> ThreadShare {
        let seconds = self.chunks.iter().map(Stretch::seconds).sum();
        ThreadShare { work: self.work(), seconds, clock_hz: Some(self.clock_hz) }
    }
}

/// Those of ordered stretches, of which no two overlap, that overlap a window.
fn overlapping(stretches: &[Stretch], window: Stretch) -> &[Stretch] {
    let first = stretches.partition_point(|stretch| stretch.end <= window.begin);
    let end = stretches.partition_point(|stretch| stretch.begin < window.end);
    &stretches[first..end.max(first)]
}

impl Stretch {
    pub(super) fn seconds(&self) -> f64 {
        self.end - self.begin
    }

    fn share_inside(&self, window: Self) -> f64 {
        let overlap = self.end.min(window.end) - self.begin.max(window.begin);
        if self.seconds() > 0.0 { (overlap / self.seconds()).clamp(0.0, 1.0) } else { 0.0 }
    }
}

/// Expected length of each pause: its chains at the clock plus the fastest check. Far slower looks count at the usual clock.
fn own_pauses(timer: &Timer, pauses: &[Pause]) -> Vec<Stretch> {
    let usual_hz = median(pauses.iter().map(|pause| pause.look.hz));
    let chains = |look: &Look| look.nominal_seconds * (look.hz / look.hz.max(PLAUSIBLE_CLOCK * usual_hz));
    let length = |pause: &Pause| timer.seconds(pause.begin, pause.end);
    let check = pauses.iter().map(|pause| length(pause) - pause.look.seconds).fold(f64::INFINITY, f64::min).max(0.0);
    let own = |pause: &Pause| {
        let begin = timer.seconds(0, pause.begin);
        Stretch { begin, end: begin + (chains(&pause.look) + check).min(length(pause)) }
    };
    pauses.iter().map(own).collect()
}

/// Seconds lost inside a burst: what chunks took beyond the median, if more than twice as long, or alone between normal ones.
/// Many slow ones in a row are a slower core. A long gap ends its burst; one of few chunks is judged by the whole record.
fn gaps(lengths: &[f64], of_record: Usual) -> f64 {
    let of_burst = Usual::new(lengths);
    let Usual { median: usual, least } = if lengths.len() < CHUNKS_FOR_A_MEDIAN { of_record } else { of_burst };
    let normal =
        |index: Option<usize>| index.and_then(|i| lengths.get(i)).is_none_or(|length| *length <= NORMAL_NEXT * usual);
    let lost = |(index, length): (usize, &f64)| {
        let excess = length - usual;
        let alone = normal(index.checked_sub(1)) && normal(Some(index + 1));
        if excess > least && (excess > usual || alone) { excess } else { 0.0 }
    };
    lengths.iter().enumerate().map(lost).sum()
}

/// Usual length of a chunk, and the minimum excess of a gap, in seconds.
#[derive(Clone, Copy, Debug)]
struct Usual {
    median: f64,
    least: f64,
}

impl Usual {
    fn new(lengths: &[f64]) -> Self {
        let spread = stats::summarise(lengths).map_or(0.0, |summary| stats::MAD_TO_SIGMA * summary.mad);
        Self { median: median(lengths.iter().copied()), least: LEAST_GAP_SECONDS.max(GAP_DEVIATIONS * spread) }
    }
}

/// Median clock of the looks, of those under load if they are the majority.
pub(super) fn clock(looks: &[Look]) -> f64 {
    let paced: Vec<f64> = looks.iter().filter(|look| look.paced).map(|look| look.hz).collect();
    if 2 * paced.len() > looks.len() { median(paced.into_iter()) } else { median(looks.iter().map(|look| look.hz)) }
}

fn counted_hz(bursts: &[BurstSum]) -> Option<f64> {
    let counted =
        bursts.iter().filter(|burst| burst.seconds > 0.0).filter_map(|burst| Some(burst.cycles? / burst.seconds));
    let hz = median(counted);
    (hz > 0.0).then_some(hz)
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    stats::summarise(&values.collect::<Vec<_>>()).map_or(0.0, |summary| summary.median)
}

/// A sample of this process run that began at `begin` in seconds of the timer, without its values.
pub(super) fn sample_from(task: &Task, timer: &Timer, begin: f64) -> Sample {
    // The clocks' zeros differ; the distance from now is the same by both.
    let ago = timer.seconds(0, timer.now()) - begin;
    let start = (monotonic_raw_seconds() - task.run_began - ago).max(0.0);
    Sample { start, launch: task.launch, block: task.block, session: task.session, ..Sample::default() }
}

pub(super) fn combine(records: &[Record], profile: Profile, timer: &Timer, task: &Task) -> Vec<MetricSample> {
    let window = counted_window(records);
    let whole = task.exact_work.is_some();
    let per_thread: Vec<ThreadShare> = match profile.measure {
        Measure::Rate(_) | Measure::Accesses(_) if whole => records.iter().map(Record::whole).collect(),
        Measure::Rate(_) | Measure::Accesses(_) => records.iter().map(|record| record.inside(window)).collect(),
        Measure::Latency => records.iter().map(Record::busy).collect(),
        Measure::Loaded => records.iter().take(1).map(Record::busy).collect(),
    };
    let (value, work, seconds) = match profile.measure {
        Measure::Rate(_) | Measure::Accesses(_) if whole => until_the_last(&per_thread),
        measure => headline(measure, &per_thread),
    };
    let clock_hz = mean(records.iter().map(|record| record.clock_hz));
    let (name, unit, better) = profile.measure.metric();
    let sample = Sample {
        value,
        work: Some(work),
        seconds,
        clock_hz: Some(clock_hz),
        stolen_seconds: Some(mean(records.iter().map(|record| record.gap_seconds))),
        per_thread,
        ..sample_from(task, timer, window.begin)
    };
    let clock = Sample { value: clock_hz, work: None, per_thread: Vec::new(), ..sample.clone() };
    let clock = MetricSample { name: MetricName::Clock, unit: Unit::Hertz, better: Better::Higher, sample: clock };
    let second = second_metric(profile.measure, &sample, records, window);
    [Some(MetricSample { name, unit, better, sample }), second, Some(clock)].into_iter().flatten().collect()
}

/// The time in which all threads worked. Threads that took turns have none; all of their time counts then.
pub(super) fn counted_window(records: &[Record]) -> Stretch {
    let ends = |of: fn(&Record) -> f64, pick: fn(f64, f64) -> f64| records.iter().map(of).reduce(pick).unwrap_or(0.0);
    let common = Stretch { begin: ends(Record::begin, f64::max), end: ends(Record::end, f64::min) };
    let all = Stretch { begin: ends(Record::begin, f64::min), end: ends(Record::end, f64::max) };
    let mut shares = records.iter().map(|record| record.inside(common));
    if shares.all(|share| share.work > 0.0 && share.seconds > 0.0) { common } else { all }
}

/// Seconds between the first and the last thread's start; `None` for one thread.
pub(super) fn start_spread_seconds(records: &[Record]) -> Option<f64> {
    let begins = || records.iter().map(Record::begin);
    let (first, last) = (begins().reduce(f64::min)?, begins().reduce(f64::max)?);
    (records.len() > 1).then_some(last - first)
}

fn second_metric(measure: Measure, headline: &Sample, records: &[Record], window: Stretch) -> Option<MetricSample> {
    match measure {
        Measure::Rate(_) | Measure::Latency => None,
        Measure::Accesses(bytes) => {
            let busy: f64 = headline.per_thread.iter().map(|share| share.seconds).sum();
            let accesses = headline.per_thread.iter().map(|share| share.work).sum::<f64>() / bytes as f64;
            let (value, work) = (busy / accesses, Some(accesses));
            let sample = Sample { value, work, seconds: busy, per_thread: Vec::new(), ..headline.clone() };
            Some(MetricSample { name: MetricName::Latency, unit: Unit::Second, better: Better::Lower, sample })
        }
        Measure::Loaded => {
            let shares: Vec<ThreadShare> = records.iter().skip(1).map(|record| record.inside(window)).collect();
            let (value, work, seconds) = self::headline(Measure::Rate(Unit::BytePerSecond), &shares);
            let sample = Sample { value, work: Some(work), seconds, per_thread: shares, ..headline.clone() };
            let (unit, better) = (Unit::BytePerSecond, Better::Higher);
            Some(MetricSample { name: MetricName::Throughput, unit, better, sample })
        }
    }
}

/// Value, work and seconds of all threads: rates add up, a latency is one thread's.
pub(super) fn headline(measure: Measure, per_thread: &[ThreadShare]) -> (f64, f64, f64) {
    let work: f64 = per_thread.iter().map(|share| share.work).sum();
    match measure {
        Measure::Rate(_) | Measure::Accesses(_) => {
            let rate: f64 = per_thread.iter().map(|share| share.work / share.seconds).sum();
            (rate, work, work / rate)
        }
        Measure::Latency | Measure::Loaded => {
            let seconds: f64 = per_thread.iter().map(|share| share.seconds).sum();
            (seconds / work, work, seconds)
        }
    }
}

/// Rate, work and seconds of a divided total, which is done with its last part.
fn until_the_last(per_thread: &[ThreadShare]) -> (f64, f64, f64) {
    let work: f64 = per_thread.iter().map(|share| share.work).sum();
    let seconds = per_thread.iter().map(|share| share.seconds).fold(0.0, f64::max);
    (work / seconds, work, seconds)
}

pub(super) fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1);
    values.sum::<f64>() / count as f64
}

#[derive(Clone, Debug)]
pub(super) struct JobRecord {
    pub(super) begin: u64,
    pub(super) end: u64,
    pub(super) cpu_seconds: f64,
    pub(super) clock_hz: f64,
    pub(super) bound: Record,
    pub(super) residuals: Residuals,
    pub(super) prepare_seconds: f64,
    pub(super) verify_seconds: f64,
}

/// The metrics of a sample, from the first thread's start to the last one's end. The work is divided equally. Without
/// interference it takes as long as the threads had their CPUs, on average: they share the work as they get on.
pub(super) fn combine_jobs(records: &[JobRecord], job: JobProfile, timer: &Timer, task: &Task) -> Vec<MetricSample> {
    let begin = records.iter().map(|record| record.begin).min().unwrap_or(0);
    let end = records.iter().map(|record| record.end).max().unwrap_or(0);
    let seconds = timer.seconds(begin, end);
    let cpu_seconds = mean(records.iter().map(|record| record.cpu_seconds));
    // Threads of a library sleep where they wait, so that their CPU time is too short. Ours spin: where one of several has
    // lost its CPU for long, the CPU time of the others is too long.
    let keeps_its_cpu = |record: &JobRecord| record.cpu_seconds >= ENOUGH_CPU * timer.seconds(record.begin, record.end);
    let is_known =
        !job.works_elsewhere && cpu_seconds > 0.0 && (records.len() == 1 || records.iter().all(keeps_its_cpu));
    let undisturbed = |value: f64| is_known.then_some(value);
    let clock_hz = mean(records.iter().map(|record| record.clock_hz));
    let part = |record: &JobRecord| ThreadShare {
        work: job.work / records.len() as f64,
        seconds: timer.seconds(record.begin, record.end),
        clock_hz: Some(record.clock_hz),
    };
    let sample = Sample {
        value: job.work / seconds,
        work: Some(job.work),
        seconds,
        clock_hz: Some(clock_hz),
        per_thread: records.iter().map(part).collect(),
        ..sample_from(task, timer, timer.seconds(0, begin))
    };
    let worst =
        |of: fn(&Residuals) -> Option<f64>| records.iter().filter_map(|record| of(&record.residuals)).reduce(f64::max);
    let values = [
        (MetricName::Latency, Unit::Second, Better::Lower, Some(seconds)),
        (MetricName::Residual, Unit::One, Better::Lower, worst(|residuals| Some(residuals.scaled))),
        (MetricName::ResidualRaw, Unit::One, Better::Lower, worst(|residuals| residuals.raw)),
        (MetricName::Clock, Unit::Hertz, Better::Higher, Some(clock_hz)),
    ];
    let others = values.into_iter().filter_map(|(name, unit, better, value)| {
        let undisturbed = match name {
            MetricName::Latency => undisturbed(cpu_seconds),
            MetricName::Clock => undisturbed(clock_hz),
            _ => None,
        };
        let sample = Sample { value: value?, work: None, per_thread: Vec::new(), undisturbed, ..sample.clone() };
        Some(MetricSample { name, unit, better, sample })
    });
    let whole = Sample { undisturbed: undisturbed(job.work / cpu_seconds), ..sample.clone() };
    let headline = MetricSample { name: MetricName::Throughput, unit: job.unit, better: Better::Higher, sample: whole };
    std::iter::once(headline).chain(others).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    const RATE: Measure = Measure::Rate(Unit::FlopPerSecond);

    fn look(hz: f64) -> Look {
        Look { hz, disagreement: 0.0, nominal_seconds: 30e-6, seconds: 30e-6, paced: false }
    }

    pub(in crate::worker) fn record(start_us: u64, lengths_us: &[u64]) -> Record {
        in_bursts(start_us, &[lengths_us])
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
    }

    #[test]
    fn an_undisturbed_record_has_no_gaps() {
        let record = record(0, &[50; 20]);
        assert!(close(record.gap_seconds, 0.0));
        assert!(close(record.work(), 2000.0));
        assert!(close(record.elapsed_seconds(), 1e-3));
    }

    #[test]
    fn a_gap_is_what_one_chunk_took_beyond_the_others_and_a_slow_stretch_is_none() {
        let mut lengths = [50; 20];
        lengths[7] = 60;
        lengths[13] = 4050;
        assert!(close(record(0, &lengths).gap_seconds, 4010e-6));
        let mut slow = [50; 20];
        slow[5..12].fill(80);
        assert!(close(record(0, &slow).gap_seconds, 0.0));
    }

    #[test]
    fn a_gap_that_ends_its_burst_is_still_one() {
        // Bursts of chunks of 200 us; the second is cut short by a gap of 50 ms.
        for cut in [&[50_200_u64][..], &[200, 50_200], &[200, 200, 50_200]] {
            let record = in_bursts(0, &[&[200; 6], cut, &[200; 6]]);
            assert!(close(record.gap_seconds, 50e-3), "{cut:?}: {}", record.gap_seconds);
        }
    }

    fn in_bursts(start_us: u64, lengths_us: &[&[u64]]) -> Record {
        let (mut stamps, mut bursts, mut now) = (Vec::new(), Vec::new(), start_us * 1000);
        for lengths in lengths_us {
            let first = stamps.len();
            stamps.push(now);
            for length in *lengths {
                now += length * 1000;
                stamps.push(now);
            }
            bursts.push(Burst { first, last: stamps.len() - 1, cycles: None });
        }
        Record::new(&Timer::system(), 100.0, &stamps, &bursts, &[], &[look(3e9); 4])
    }

    #[test]
    fn the_rate_counts_lost_time() {
        let mut lengths = [50; 20];
        lengths[3] = 1050;
        let share = record(0, &lengths).busy();
        assert!(close(share.work / share.seconds, 2000.0 / 2e-3), "half the rate when half the time is lost");
    }

    #[test]
    fn threads_are_counted_inside_their_common_window() {
        // The second thread starts 100 us later and stops 100 us earlier: the first counts only between.
        let records = [record(0, &[50; 20]), record(100, &[50; 16])];
        let window = Stretch { begin: 100e-6, end: 900e-6 };
        let shares: Vec<_> = records.iter().map(|record| record.inside(window)).collect();
        assert!(close(shares[0].work, 1600.0) && close(shares[1].work, 1600.0), "{shares:?}");
        let (value, work, seconds) = headline(RATE, &shares);
        assert!(close(value, 2.0 * 1600.0 / 800e-6) && close(work / seconds, value));
    }

    #[test]
    fn threads_that_took_turns_are_counted_over_all_of_their_time() {
        let records = [record(0, &[100; 10]), record(2000, &[100; 10])];
        let window = counted_window(&records);
        let shares: Vec<_> = records.iter().map(|record| record.inside(window)).collect();
        let (value, work, seconds) = headline(RATE, &shares);
        assert!(close(value * 3e-3, work) && close(seconds, 3e-3), "{value} for {seconds} s");
    }

    #[test]
    fn the_spread_of_starts_is_from_the_first_thread_to_the_last() {
        let threads = [record(40, &[10, 10]), record(0, &[10]), record(15, &[10])];
        assert!(close(start_spread_seconds(&threads).unwrap(), 40e-6));
        assert_eq!((start_spread_seconds(&threads[..1]), start_spread_seconds(&[])), (None, None));
    }

    #[test]
    fn a_total_is_done_when_the_last_thread_is() {
        // Ten chunks each; the second thread takes twice as long for them.
        let records = [record(0, &[50; 10]), record(0, &[100; 10])];
        let shares: Vec<_> = records.iter().map(Record::whole).collect();
        let (value, work, seconds) = until_the_last(&shares);
        assert!(close(work, 2000.0) && close(seconds, 1e-3) && close(value, 2e6), "{value} {work} {seconds}");
    }

    #[test]
    fn our_own_pause_is_not_lost_but_what_exceeds_it_is() {
        let timer = Timer::system();
        // Two bursts of 1 ms; the pause between should take 30 us + the 2 us check that the other pause shows, but took
        // 532 us.
        let stamps: Vec<u64> = [0, 1_000_000, 1_532_000, 2_532_000, 2_564_000, 3_564_000].into();
        let bursts = [0, 2, 4].map(|first| Burst { first, last: first + 1, cycles: None });
        let pauses = [
            Pause { begin: 1_000_000, end: 1_532_000, look: Look { seconds: 430e-6, ..look(3e9) } },
            Pause { begin: 2_532_000, end: 2_564_000, look: look(3e9) },
        ];
        let record = Record::new(&timer, 100.0, &stamps, &bursts, &pauses, &[look(3e9); 4]);
        assert!(close(record.gap_seconds, 500e-6), "{}", record.gap_seconds);
        let share = record.inside(Stretch { begin: 0.0, end: 3.564e-3 });
        assert!(close(share.seconds, 3.5e-3), "{}", share.seconds);
        assert!(close(share.work, 300.0));
    }

    #[test]
    fn a_look_that_was_disturbed_as_a_whole_is_lost_time() {
        // Three pauses of 30 us of chains; in the second both chains ran at a tenth of the clock.
        let timer = Timer::system();
        let slow = Look { hz: 3e8, nominal_seconds: 300e-6, seconds: 300e-6, disagreement: 0.0, paced: false };
        let pauses = [
            Pause { begin: 1_000_000, end: 1_030_000, look: look(3e9) },
            Pause { begin: 2_000_000, end: 2_300_000, look: slow },
            Pause { begin: 3_000_000, end: 3_030_000, look: look(3e9) },
        ];
        let own: Vec<f64> = own_pauses(&timer, &pauses).iter().map(Stretch::seconds).collect();
        assert!(close(own[0], 30e-6) && own[1] < 34e-6, "{own:?}");
    }

    #[test]
    fn a_latency_is_what_one_thread_sees() {
        let shares = [ThreadShare { work: 1000.0, seconds: 1e-4, clock_hz: None }; 2];
        let (value, _, _) = headline(Measure::Latency, &shares);
        assert!(close(value, 1e-7), "two threads do not halve it");
    }

    #[test]
    fn time_without_a_cpu_is_no_part_of_an_undisturbed_job() {
        let record = |cpu_seconds| JobRecord {
            begin: 0,
            end: Timer::system().ticks(4.0),
            cpu_seconds,
            clock_hz: 3e9,
            bound: record(0, &[200; 9]),
            residuals: Residuals { scaled: 0.1, raw: None },
            prepare_seconds: 0.0,
            verify_seconds: 0.0,
        };
        let of = |cpu_seconds: &[f64], works_elsewhere| {
            let job = JobProfile { unit: Unit::FlopPerSecond, work: 12.0, works_elsewhere };
            let records: Vec<JobRecord> = cpu_seconds.iter().copied().map(record).collect();
            combine_jobs(&records, job, &Timer::system(), &crate::tests::task())
        };
        let undisturbed = |found: &[MetricSample]| -> Vec<Option<f64>> {
            found.iter().map(|metric| metric.sample.undisturbed).collect()
        };
        let alone = of(&[2.0], false);
        assert_eq!(undisturbed(&alone), [Some(6.0), Some(2.0), None, Some(3e9)]);
        assert!(close(alone[0].sample.value, 3.0));
        assert_eq!(undisturbed(&of(&[3.9, 4.0], false))[1], Some(3.95));
        assert_eq!(undisturbed(&of(&[2.0, 4.0], false)), [None; 4], "the second spun while the first had no CPU");
        assert_eq!(undisturbed(&of(&[2.0], true)), [None; 4], "a library's threads sleep");
    }

    #[test]
    fn the_hardware_counter_is_preferred_for_the_clock() {
        let stamps = [0, 1_000_000];
        let bursts = [Burst { first: 0, last: 1, cycles: Some(3_500_000) }];
        let record = Record::new(&Timer::system(), 1.0, &stamps, &bursts, &[], &[look(3e9), look(3e9)]);
        assert!(close(record.clock_hz, 3.5e9));
    }
}
