//! What a person sees while a run goes on: on a terminal a line that says what is measured now, how far and how long
//! still, above it every finished row as it comes; elsewhere one line per row, fit for a log. All of it on standard
//! error.

use model::number::rough_duration;
use std::io::Write;

use bench::runner::{Event, Watcher};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use report::Style;
use report::terminal::{provisional_line, row_line};

use crate::environment::Stream;

/// Steps of the bar.
const STEPS: u64 = 1000;

/// A bar of this form on standard error; `None` where that is not a terminal.
pub(crate) fn bar(template: &str) -> Option<ProgressBar> {
    let bar = || ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()).with_style(form(template));
    Stream::Error.is_terminal().then(bar)
}

fn form(template: &str) -> ProgressStyle {
    let ticks = if Stream::Error.style().unicode { "━╸ " } else { "#- " };
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars(ticks)
}

/// Watches a run for a person.
pub(crate) struct Progress {
    form: Form,
    style: Style,
}

enum Form {
    /// `--quiet`: only what went wrong.
    Quiet,
    /// A terminal.
    Live(Live),
    /// A file or a pipe.
    Log(Log),
}

/// What a log has been told.
#[derive(Default)]
struct Log {
    /// Rows that have had their first say.
    seen: Vec<String>,
    /// Steps of the whole that it has been told of.
    steps: u32,
}

/// Steps of the whole after which a log is told how far a run is.
const LOG_STEPS: f64 = 20.0;

/// The least time left that a log is told of, in seconds: what is shorter is over before anybody looks.
const LEAST_LEFT_SECONDS: f64 = 60.0;

impl Log {
    /// What it is told of how far a run is, if the time for it has come.
    fn outlook(&mut self, seconds_left: f64, done: f64, (over, rows): (usize, usize)) -> Option<String> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of the steps")]
        let steps = (done.clamp(0.0, 1.0) * LOG_STEPS) as u32;
        if steps <= self.steps || seconds_left < LEAST_LEFT_SECONDS {
            return None;
        }
        self.steps = steps;
        Some(format!("{over} of {rows} rows done, {}", left(seconds_left)))
    }
}

impl Progress {
    /// The form that fits standard error.
    pub(crate) fn new(quiet: bool) -> Self {
        let style = Stream::Error.style();
        let form = if quiet {
            Form::Quiet
        } else if Stream::Error.is_terminal() {
            Form::Live(Live::new())
        } else {
            Form::Log(Log::default())
        };
        Self { form, style }
    }

    /// Takes the live line away.
    pub(crate) fn end(&self) {
        if let Form::Live(live) = &self.form {
            let _ = live.lines.clear();
        }
    }

    /// A launch of a row begins.
    fn launching(&mut self, id: &str, seconds_left: f64, done: f64, rows: (usize, usize)) {
        let told = match &mut self.form {
            Form::Quiet => None,
            Form::Live(Live { bar, .. }) => {
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of the steps")]
                bar.set_position((done.clamp(0.0, 1.0) * STEPS as f64) as u64);
                bar.set_prefix(format!("{}/{} {}", rows.0, rows.1, left(seconds_left)));
                bar.set_message(id.to_owned());
                None
            }
            Form::Log(log) => log.outlook(seconds_left, done, rows),
        };
        if let Some(told) = told {
            self.line(&told);
        }
    }

    /// A line that stays.
    fn line(&self, text: &str) {
        match &self.form {
            Form::Live(live) => {
                let _ = live.lines.println(text);
            }
            Form::Quiet | Form::Log(_) => {
                let _ = writeln!(std::io::stderr(), "{text}");
            }
        }
    }
}

/// The two lines at the bottom of a terminal.
struct Live {
    lines: MultiProgress,
    /// The figure that came last, of a row that is not finished.
    latest: ProgressBar,
    /// How far, how long still, and what is measured now.
    bar: ProgressBar,
}

impl Live {
    fn new() -> Self {
        let lines = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
        let latest = lines.add(ProgressBar::new(STEPS).with_style(form("{wide_msg}")));
        let bar = lines.add(ProgressBar::new(STEPS).with_style(form("{bar:20} {prefix} {wide_msg}")));
        Self { lines, latest, bar }
    }
}

/// Seconds left as a person says it, in few steps, so that it does not flicker.
fn left(seconds: f64) -> String {
    format!("{} left", rough_duration(seconds.max(1.0)))
}

impl Watcher for Progress {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::CannotStore { reason } => self.line(&format!("assay: {reason}")),
            _ if matches!(self.form, Form::Quiet) => {}
            Event::Launching { row, seconds_left, done, rows } => self.launching(&row.id, seconds_left, done, rows),
            Event::Provisional { row, of } => {
                let text = provisional_line(row, of, &self.style);
                match &mut self.form {
                    Form::Live(live) => live.latest.set_message(text),
                    // In a log only a row's first figure: the rest is still to come.
                    Form::Log(Log { seen, .. }) if !seen.contains(&row.id) => {
                        seen.push(row.id.clone());
                        self.line(&text);
                    }
                    Form::Log(_) | Form::Quiet => {}
                }
            }
            Event::Waiting { at_most } => {
                if let Form::Live(live) = &self.form {
                    live.bar.set_message(format!("waits for a quiet machine, at most {}", left(at_most)));
                }
            }
            Event::NotQuiet { because } => {
                self.line(&format!("The machine did not become quiet: {because} Measuring all the same."));
            }
            Event::Finished { row } => self.line(&row_line(row, &self.style)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_told_in_steps_how_far_a_long_run_is() {
        let mut log = Log::default();
        assert_eq!(log.outlook(2000.0, 0.01, (1, 484)), None, "nothing is known yet");
        assert_eq!(log.outlook(1800.0, 0.06, (30, 484)).unwrap(), "30 of 484 rows done, 30 min left");
        assert_eq!(log.outlook(1790.0, 0.07, (31, 484)), None);
        assert!(log.outlook(900.0, 0.5, (250, 484)).is_some());
        assert_eq!(log.outlook(30.0, 0.99, (480, 484)), None, "it is over in a moment");
    }

    #[test]
    fn time_left_is_told_in_whole_numbers() {
        assert_eq!(left(0.2), "1 s left");
        assert_eq!(left(59.6), "60 s left");
        assert_eq!(left(121.0), "2 min left");
    }
}
