//! The CPU time of a thread inside a window.

use sys::clock::thread_cpu_seconds;

use crate::engines::Window;

/// The CPU time of the calling thread inside a window, from looks at the time: the kernel is asked at its two ends only.
#[derive(Debug, Default)]
pub(super) struct Used {
    before: Option<f64>,
    within: Option<f64>,
}

impl Used {
    /// It is now.
    #[inline]
    pub(super) fn look(&mut self, now: u64, window: Window) {
        if now >= window.begin && self.before.is_none() {
            self.before = Some(thread_cpu_seconds());
        }
        if now >= window.end && self.within.is_none() {
            self.within = self.before.map(|before| thread_cpu_seconds() - before);
        }
    }

    /// CPU seconds from the window's begin to its end, or until now where it has none.
    pub(super) fn seconds(&self) -> f64 {
        let until_now = || self.before.map(|before| thread_cpu_seconds() - before);
        self.within.or_else(until_now).unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_inside_counts() {
        let window = Window { begin: 10, end: 20 };
        let mut used = Used::default();
        used.look(5, window);
        assert!(used.seconds().abs() < f64::EPSILON, "nothing before it");
        used.look(12, window);
        let spin = || (0..200_000_u64).fold(1_u64, |sum, next| std::hint::black_box(sum ^ next));
        spin();
        used.look(25, window);
        let inside = used.seconds();
        spin();
        used.look(30, window);
        assert!(inside > 0.0 && used.seconds().to_bits() == inside.to_bits(), "nothing after it");
    }
}
