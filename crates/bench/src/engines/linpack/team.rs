//! A problem that the threads of a launch solve together.

use model::linpack::LinpackConditions;

use crate::engines::Residuals;

/// A problem that all threads of a launch work on together, each under its number.
pub(super) trait Team: Send + Sync {
    /// Makes its data anew.
    ///
    /// # Errors
    /// Another thread has given up.
    fn fill(&self, thread: usize) -> Result<(), String>;

    /// Works it; calls `look` between pieces.
    ///
    /// # Errors
    /// Another thread has given up.
    fn work(&self, thread: usize, look: &mut dyn FnMut()) -> Result<(), String>;

    /// Checks the result.
    ///
    /// # Errors
    /// What is wrong with it; another thread has given up.
    fn check(&self, thread: usize) -> Result<Residuals, String>;

    /// Whether threads of a library work it, while those of the launch wait.
    fn works_elsewhere(&self) -> bool {
        false
    }

    /// Lets nobody wait for a thread that has left.
    fn abandon(&self);

    /// Share of its buffers in huge pages.
    fn huge_share(&self) -> Option<f64>;

    /// What it is worked with, once it was.
    fn describe(&self) -> LinpackConditions;
}
