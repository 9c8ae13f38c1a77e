//! The progress of a run on standard error: on a terminal a live line with the headline results above it, elsewhere a line
//! per result for a log.

use model::number::rough_duration;
use std::io::Write;

use bench::runner::Event;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use model::machine::Machine;
use model::plan::Plan;
use report::Style;
use report::terminal::{HeadlineLines, provisional_line, row_line};

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

pub(crate) struct Progress {
    /// Errors only.
    quiet: bool,
    /// On a terminal: the progress, the remaining time, and the running benchmark.
    live: Option<ProgressBar>,
    headlines: HeadlineLines,
    /// What a log contains so far: benchmarks with a first result, and steps of the progress.
    seen: Vec<String>,
    steps: u32,
    style: Style,
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
    pub(crate) fn new(quiet: bool, plan: &Plan, machine: &Machine) -> Self {
        let live = bar("{bar:20} {prefix} {wide_msg}").filter(|_| !quiet);
        live.iter().for_each(|bar| bar.set_length(STEPS));
        let headlines = HeadlineLines::new(&plan.empty_rows(), machine);
        Self { quiet, live, headlines, seen: Vec::new(), steps: 0, style: Stream::Error.style() }
    }

    pub(crate) fn end(&self) {
        self.live.iter().for_each(ProgressBar::finish_and_clear);
    }

    /// Prints a line, above the live one.
    fn line(&self, text: &str) {
        match &self.live {
            Some(bar) => bar.println(text),
            None => {
                let _ = writeln!(std::io::stderr(), "{text}");
            }
        }
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
                if let Some(bar) = &self.live {
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
                // A log gets only the first of a benchmark's provisional results.
                if self.live.is_none() && !self.seen.contains(&row.id) {
                    self.seen.push(row.id.clone());
                    self.line(&provisional_line(row, of, &self.style));
                }
            }
            Event::Waiting(at_most) => {
                if let Some(bar) = &self.live {
                    bar.set_message(format!("waiting for a quiet machine, at most {}", left(at_most)));
                }
            }
            Event::NotQuiet(because) => {
                self.line(&format!("The machine did not become quiet: {because} Measuring anyway."));
            }
            Event::Finished(row) if self.live.is_none() || self.headlines.is_empty() => {
                self.line(&row_line(row, &self.style));
            }
            Event::Finished(row) => {
                self.headlines.of(row, &self.style).iter().for_each(|text| self.line(text));
            }
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
