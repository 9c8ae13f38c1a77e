//! What a thread of the client's end does, as the flow that drives it sees it. Each way of working is a type of its own: one
//! file, and a line in [`super::parts::part_of`] and in the server end's table of work (`far.rs`).

use model::document::NetConditions;
use sys::clock::Timer;

use super::near::Session;
use crate::engines::{FlowProfile, Tally, Window};

/// Which window, and of which launch and thread.
pub(super) struct Moment<'a> {
    /// What the threads of the launch share.
    pub(super) session: &'a Session,
    /// The thread, which is also the number of its data connection.
    pub(super) thread: usize,
    /// Number of the window, counted from 1.
    pub(super) number: u32,
    /// The time.
    pub(super) timer: &'a Timer,
    /// The window.
    pub(super) window: Window,
    /// What this thread is to do in a window without an end: bytes, or round trips; `None` where time alone decides.
    pub(super) work: Option<u64>,
}

impl Moment<'_> {
    /// What this thread is to do, in a window without an end.
    pub(super) fn in_full(&self) -> Option<u64> {
        (self.window.end == Window::NO_END).then(|| self.work.unwrap_or(0))
    }
}

/// One thread's part of a launch.
pub(super) trait Part {
    /// Its metrics, and how long before a window it starts.
    fn profile(&self) -> FlowProfile;

    /// The windows from now on are samples.
    fn warmed_up(&mut self) {}

    /// Works until the window has passed. Allocates nothing inside it.
    ///
    /// # Errors
    /// What went wrong: a wrong result, the other end gone.
    fn run(&mut self, moment: &Moment<'_>, tally: &mut Tally) -> Result<(), String>;

    /// Checks what was done since the last check, as far as `run` has not.
    ///
    /// # Errors
    /// What is wrong.
    fn verify(&mut self, _moment: &Moment<'_>) -> Result<(), String> {
        Ok(())
    }

    /// Adds what only it knows, at the end of the launch: of every thread the bytes on the link and the CPU seconds, which
    /// are added up; the rest is the first thread's to say.
    fn describe(&self, seen: &mut NetConditions);
}
