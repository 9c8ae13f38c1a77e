//! The progress of a run on standard error: on a terminal a live line with the results above it, elsewhere a line per
//! result for a log.

use model::number::rough_duration;
use std::io::Write;

use bench::runner::Event;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use report::Style;
use report::terminal::{provisional_line, row_line};

use crate::environment::Stream;

const STEPS: u64 = 1000;

/// A bar of this template on standard error; `None` if that is no terminal. It is cleared when it is dropped.
pub(crate) fn bar(template: &str) -> Option<ProgressBar> {
    let bar = || ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()).with_style(form(template));
    Stream::Error.is_terminal().then(bar)
}

fn form(template: &str) -> ProgressStyle {
    let ticks = if Stream::Error.style().unicode { "━╸ " } else { "#- " };
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars(ticks)
}

/// Shows the events of a run.
pub(crate) struct Progress {
    /// Errors only.
    quiet: bool,
    /// On a terminal.
    live: Option<Live>,
    /// What a log contains so far: benchmarks with a first result, and steps of the progress.
    seen: Vec<String>,
    steps: u32,
    style: Style,
}

/// The two lines at the bottom of a terminal.
struct Live {
    lines: MultiProgress,
    /// The latest value of an unfinished benchmark.
    latest: ProgressBar,
    /// The progress, the remaining time, and the running benchmark.
    bar: ProgressBar,
}

/// A log gets the progress in this many steps.
const LOG_STEPS: f64 = 20.0;

/// The least remaining time, in seconds, for which a log gets the progress.
const LEAST_LEFT_SECONDS: f64 = 60.0;

/// The progress for a log, if it has advanced a step.
fn outlook(steps: &mut u32, seconds_left: f64, done: f64, (over, rows): (usize, usize)) -> Option<String> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of the steps")]
    let now = (done.clamp(0.0, 1.0) * LOG_STEPS) as u32;
    if now <= *steps || seconds_left < LEAST_LEFT_SECONDS {
        return None;
    }
    *steps = now;
    Some(format!("{over} of {rows} benchmarks done, {}", left(seconds_left)))
}

impl Progress {
    pub(crate) fn new(quiet: bool) -> Self {
        let live = (!quiet && Stream::Error.is_terminal()).then(|| {
            let lines = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
            let latest = lines.add(ProgressBar::new(STEPS).with_style(form("{wide_msg}")));
            let bar = lines.add(ProgressBar::new(STEPS).with_style(form("{bar:20} {prefix} {wide_msg}")));
            Live { lines, latest, bar }
        });
        Self { quiet, live, seen: Vec::new(), steps: 0, style: Stream::Error.style() }
    }

    /// Clears the live lines.
    pub(crate) fn end(&self) {
        let _ = self.live.as_ref().map(|live| live.lines.clear());
    }

    /// Prints a line, above the live ones.
    fn line(&self, text: &str) {
        let _ = match &self.live {
            Some(live) => live.lines.println(text),
            None => writeln!(std::io::stderr(), "{text}"),
        };
    }
}

/// The remaining time, rounded so that it does not flicker.
fn left(seconds: f64) -> String {
    format!("{} left", rough_duration(seconds.max(1.0)))
}

impl Progress {
    #[expect(clippy::needless_pass_by_value, reason = "an event is not used again")]
    pub(crate) fn event(&mut self, event: Event<'_>) {
        match event {
            Event::CannotStore(reason) => self.line(&format!("assay: {reason}")),
            _ if self.quiet => {}
            Event::Launching { row, seconds_left, done, rows } => {
                if let Some(Live { bar, .. }) = &self.live {
                    #[expect(
                        clippy::cast_possible_truncation,
                        clippy::cast_sign_loss,
                        reason = "a share of the steps"
                    )]
                    bar.set_position((done.clamp(0.0, 1.0) * STEPS as f64) as u64);
                    bar.set_prefix(format!("{}/{} {}", rows.0, rows.1, left(seconds_left)));
                    bar.set_message(row.id.clone());
                } else {
                    let text = outlook(&mut self.steps, seconds_left, done, rows);
                    text.iter().for_each(|text| self.line(text));
                }
            }
            Event::Provisional { row, of } => {
                let text = provisional_line(row, of, &self.style);
                match &self.live {
                    Some(live) => live.latest.set_message(text),
                    // A log gets only the first of a benchmark's provisional results.
                    None if !self.seen.contains(&row.id) => {
                        self.seen.push(row.id.clone());
                        self.line(&text);
                    }
                    None => {}
                }
            }
            Event::Waiting(at_most) => {
                if let Some(live) = &self.live {
                    live.bar.set_message(format!("waiting for a quiet machine, at most {}", left(at_most)));
                }
            }
            Event::NotQuiet(because) => {
                self.line(&format!("The machine did not become quiet: {because} Measuring anyway."));
            }
            Event::Finished(row) => self.line(&row_line(row, &self.style)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_gets_progress_lines_in_steps() {
        let mut steps = 0;
        let mut outlook = |left, done, rows| outlook(&mut steps, left, done, rows);
        assert_eq!(outlook(2000.0, 0.01, (1, 484)), None, "nothing is known yet");
        assert_eq!(outlook(1800.0, 0.06, (30, 484)).unwrap(), "30 of 484 benchmarks done, 30 min left");
        assert_eq!(outlook(1790.0, 0.07, (31, 484)), None);
        assert!(outlook(900.0, 0.5, (250, 484)).is_some());
        assert_eq!(outlook(30.0, 0.99, (480, 484)), None, "it ends in a moment");
        assert_eq!((left(0.2), left(59.6), left(121.0)), ("1 s left".into(), "60 s left".into(), "2 min left".into()));
    }
}
