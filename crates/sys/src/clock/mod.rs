//! The only place that reads time.
//!
//! Intervals are timed by the CPU's counter if it has a constant rate, calibrated against `CLOCK_MONOTONIC_RAW` and never
//! taken from what CPUID, `CNTFRQ_EL0` or a data sheet claims; else by that clock itself. The counter does not count the
//! core's cycles.

#[cfg(target_arch = "aarch64")]
mod aarch64;
/// No counter: every time stamp is from the system's clock.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod none {
    pub(super) fn invariant() -> bool {
        false
    }

    pub(super) fn read() -> u64 {
        0
    }

    pub(super) use self::read as read_unordered;
}
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
use aarch64 as counter;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
use none as counter;
#[cfg(target_arch = "x86_64")]
use x86_64 as counter;

use std::time::Duration;

/// Reads per calibration point; the tightest bracket counts.
const BRACKETS: u32 = 32;

/// Ticks after which a tick is a thousandth: an Arm counter may have 24 or 25 MHz, 40 ns a tick.
const RESOLVED_TICKS: f64 = 1000.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Counter,
    /// `CLOCK_MONOTONIC_RAW`, in nanoseconds.
    System,
}

/// A calibrated clock. Time stamps ("ticks") from different threads of a machine with an invariant counter compare.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timer {
    source: Source,
    ticks_per_second: f64,
    overhead_ticks: u64,
    /// From the 10th to the 90th percentile of the time between two stamps; at least the counter's step.
    spread_ticks: u64,
}

/// The start of a calibration; the longer until [`Calibration::finish`], the more precise.
#[derive(Clone, Copy, Debug)]
pub struct Calibration {
    ticks: u64,
    nanoseconds: u64,
}

impl Calibration {
    pub fn begin() -> Self {
        let (ticks, nanoseconds) = bracketed();
        Self { ticks, nanoseconds }
    }

    /// The relative difference of a timer's time from the system's since the calibration began.
    pub fn drift(&self, timer: &Timer) -> f64 {
        let (ticks, nanoseconds) = match timer.source {
            Source::Counter => bracketed(),
            Source::System => return 0.0,
        };
        let by_system = nanoseconds.saturating_sub(self.nanoseconds) as f64 * 1e-9;
        if by_system > 0.0 { timer.seconds(self.ticks, ticks) / by_system - 1.0 } else { 0.0 }
    }

    /// Finishes the calibration once at least `least` has passed since it began, sleeping if necessary. A bracket is
    /// known to about 30 ns, so 100 ms give the rate to better than 1 in 10^6.
    pub fn finish(self, least: Duration) -> Timer {
        if !counter::invariant() {
            return Timer::system();
        }
        let least = u64::try_from(least.as_nanos()).unwrap_or(u64::MAX);
        let passed = monotonic_raw_nanoseconds().saturating_sub(self.nanoseconds);
        if passed < least {
            std::thread::sleep(Duration::from_nanos(least - passed));
        }
        let (ticks, nanoseconds) = bracketed();
        let seconds = nanoseconds.saturating_sub(self.nanoseconds) as f64 * 1e-9;
        Timer::from_rate(ticks.saturating_sub(self.ticks) as f64 / seconds)
    }
}

impl Timer {
    /// A timer by the counter at a calibrated rate; by the system's clock without an invariant counter of plausible rate.
    pub fn from_rate(ticks_per_second: f64) -> Self {
        if !counter::invariant() || !(1e6..1e11).contains(&ticks_per_second) {
            return Self::system();
        }
        Self { source: Source::Counter, ticks_per_second, overhead_ticks: 0, spread_ticks: 0 }.with_overhead()
    }

    pub fn system() -> Self {
        Self { source: Source::System, ticks_per_second: 1e9, overhead_ticks: 0, spread_ticks: 0 }.with_overhead()
    }

    /// Measures the overhead of a time stamp and its spread.
    fn with_overhead(self) -> Self {
        let between = |_| {
            let start = self.now();
            self.now() - start
        };
        let mut stamps: [u64; 1000] = std::array::from_fn(between);
        stamps.sort_unstable();
        Self { overhead_ticks: stamps[0], spread_ticks: (stamps[900] - stamps[100]).max(1), ..self }
    }

    /// A time stamp in ticks. Everything before it has finished, and nothing after it has started.
    #[inline]
    pub fn now(&self) -> u64 {
        match self.source {
            Source::Counter => counter::read(),
            Source::System => monotonic_raw_nanoseconds(),
        }
    }

    /// A time stamp in ticks without a fence. It may be off by the instructions in flight, some hundred or tens of
    /// nanoseconds, but never by a system call. For stamping many requests: two fences would be a third of our work.
    #[inline]
    pub fn now_unordered(&self) -> u64 {
        match self.source {
            Source::Counter => counter::read_unordered(),
            Source::System => monotonic_raw_nanoseconds(),
        }
    }

    pub fn source(&self) -> Source {
        self.source
    }

    pub fn ticks_per_second(&self) -> f64 {
        self.ticks_per_second
    }

    /// The length of an interval of about `seconds` that the counter resolves to a thousandth: longer if it is coarse.
    pub fn resolved(&self, seconds: f64) -> f64 {
        seconds.max(RESOLVED_TICKS / self.ticks_per_second)
    }

    /// Seconds between two consecutive time stamps: the least of a thousand.
    pub fn overhead_seconds(&self) -> f64 {
        self.overhead_ticks as f64 / self.ticks_per_second
    }

    /// The spread of the time between two stamps, in seconds: from the 10th to the 90th percentile of a thousand.
    pub fn precision_seconds(&self) -> f64 {
        self.spread_ticks as f64 / self.ticks_per_second
    }

    /// Seconds from one time stamp to a later one; 0 if it is not later.
    #[inline]
    pub fn seconds(&self, from: u64, to: u64) -> f64 {
        to.saturating_sub(from) as f64 / self.ticks_per_second
    }

    pub fn ticks(&self, seconds: f64) -> u64 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "negative and huge saturate")]
        let ticks = (seconds * self.ticks_per_second) as u64;
        ticks
    }
}

/// The counter and the system's clock, read as close together as possible.
fn bracketed() -> (u64, u64) {
    let once = || {
        let before = counter::read();
        let nanoseconds = monotonic_raw_nanoseconds();
        let after = counter::read();
        (after.saturating_sub(before), before + after.saturating_sub(before) / 2, nanoseconds)
    };
    let tightest = (0..BRACKETS).map(|_| once()).min_by_key(|(width, _, _)| *width).unwrap_or_else(once);
    (tightest.1, tightest.2)
}

fn clock_nanoseconds(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a live, writable timespec; an unknown clock leaves it at zero.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// `CLOCK_MONOTONIC_RAW`: nanoseconds since an arbitrary start, without NTP's slewing, the same in all processes.
pub fn monotonic_raw_nanoseconds() -> u64 {
    clock_nanoseconds(libc::CLOCK_MONOTONIC_RAW)
}

pub fn monotonic_raw_seconds() -> f64 {
    monotonic_raw_nanoseconds() as f64 * 1e-9
}

pub fn thread_cpu_seconds() -> f64 {
    clock_nanoseconds(libc::CLOCK_THREAD_CPUTIME_ID) as f64 * 1e-9
}

/// Seconds since boot, suspended time included.
pub(crate) fn boot_seconds() -> f64 {
    clock_nanoseconds(libc::CLOCK_BOOTTIME) as f64 * 1e-9
}

/// CPU time of all threads of the process, ended ones included, in seconds.
pub fn process_cpu_seconds() -> f64 {
    clock_nanoseconds(libc::CLOCK_PROCESS_CPUTIME_ID) as f64 * 1e-9
}

/// The time of day in seconds since 1970, UTC: to compare with clock times of other programs, never for measuring.
pub fn unix_seconds() -> f64 {
    clock_nanoseconds(libc::CLOCK_REALTIME) as f64 * 1e-9
}

/// The time of day in UTC, ISO 8601 to the second: `2026-11-21T08:00:00Z`.
pub fn utc_now() -> String {
    let seconds = i64::try_from(clock_nanoseconds(libc::CLOCK_REALTIME) / 1_000_000_000).unwrap_or(0);
    // SAFETY: all-zero bytes are a valid `tm`, a struct of integers and a pointer that may be null.
    let mut parts: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are live for the call, and `gmtime_r` writes only through the second.
    unsafe { libc::gmtime_r(&raw const seconds, &raw mut parts) };
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
        parts.tm_year + 1900,
        parts.tm_mon + 1,
        parts.tm_mday,
        parts.tm_hour,
        parts.tm_min,
        parts.tm_sec
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_keeps_the_systems_time_and_a_wrong_rate_is_detected() {
        let calibration = Calibration::begin();
        let timer = calibration.finish(Duration::from_millis(50));
        let (ticks, nanoseconds) = (timer.now(), monotonic_raw_nanoseconds());
        std::thread::sleep(Duration::from_millis(100));
        let (ticks_later, nanoseconds_later) = (timer.now(), monotonic_raw_nanoseconds());
        let by_timer = timer.seconds(ticks, ticks_later);
        let by_system = (nanoseconds_later - nanoseconds) as f64 * 1e-9;
        assert!((by_timer / by_system - 1.0).abs() < 1e-3, "{by_timer} s by the timer, {by_system} s by the system");
        assert!(timer.overhead_seconds() < 1e-3 && timer.precision_seconds() < 1e-3, "{timer:?}");
        assert!(calibration.drift(&timer).abs() < 1e-3);
        let wrong = Timer::from_rate(timer.ticks_per_second() * 1.1);
        assert!(wrong.source() == Source::System || (calibration.drift(&wrong) + 1.0 / 11.0).abs() < 1e-2);
    }

    #[test]
    fn a_coarse_counter_lengthens_an_interval() {
        let coarse = Timer { ticks_per_second: 25e6, ..Timer::system() };
        assert!((coarse.resolved(15e-6) - 40e-6).abs() < 1e-12 && (coarse.resolved(1e-3) - 1e-3).abs() < 1e-12);
    }

    #[test]
    fn an_implausible_rate_falls_back_to_the_systems_clock() {
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e15] {
            assert_eq!(Timer::from_rate(rate).source(), Source::System);
        }
    }

    #[test]
    fn time_does_not_run_backwards_and_unordered_stamps_are_of_the_same_clock() {
        for timer in [Timer::system(), Calibration::begin().finish(Duration::from_millis(20))] {
            // A microsecond is more than the instructions in flight take.
            let slack = timer.ticks(1e-6);
            for _ in 0..1000 {
                let (before, between, after) = (timer.now(), timer.now_unordered(), timer.now());
                assert!(before <= after, "{before} {after}");
                assert!(before <= between + slack && between <= after + slack, "{before} {between} {after}");
            }
            assert!((timer.seconds(5, 3)).abs() < f64::EPSILON);
        }
    }

    #[test]
    fn utc_is_iso_8601() {
        let now = utc_now();
        assert_eq!(now.len(), 20, "{now}");
        assert!(now.starts_with("20") && now.ends_with('Z'), "{now}");
    }
}
