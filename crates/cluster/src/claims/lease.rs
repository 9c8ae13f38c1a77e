//! Leases that a thread renews.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sys::clock::monotonic_raw_seconds;

use super::claim::HeldClaim;

/// Renewals per lease.
const RENEWALS: f64 = 6.0;
/// The share of a lease after which a claim that could not be renewed counts as lost.
const SURE: f64 = 5.0 / RENEWALS;

/// The leases of a worker. [`Leases::keep`] renews them until [`Leases::end`].
#[derive(Debug)]
pub(crate) struct Leases {
    seconds: f64,
    kept: Mutex<Vec<Arc<Lease>>>,
    ended: Mutex<bool>,
    wake: Condvar,
}

#[derive(Debug)]
pub(crate) struct Lease {
    held: HeldClaim,
    lost: AtomicBool,
    /// When it was last renewed, by the raw monotonic clock.
    renewed: Mutex<f64>,
    sure_seconds: f64,
}

/// The guarded value, also after a panic of another thread.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Lease {
    pub(crate) fn held(&self) -> &HeldClaim {
        &self.held
    }

    /// Whether the claim is ours, without a call to the file system, which may hang.
    pub(crate) fn is_ours(&self) -> bool {
        !self.lost.load(Ordering::SeqCst) && monotonic_raw_seconds() - *lock(&self.renewed) < self.sure_seconds
    }

    /// Renews the lease now; `false` if the claim is lost.
    pub(crate) fn renew(&self) -> bool {
        // The time before the call: the file's own is later.
        let began = monotonic_raw_seconds();
        match self.held.renew() {
            Ok(true) => *lock(&self.renewed) = began,
            Ok(false) => self.lost.store(true, Ordering::SeqCst),
            // The next renewal may succeed while the lease lasts.
            Err(_) => {}
        }
        self.is_ours()
    }
}

impl Leases {
    pub(crate) fn new(lease: Duration) -> Self {
        let seconds = lease.as_secs_f64();
        Self { seconds, kept: Mutex::default(), ended: Mutex::new(false), wake: Condvar::new() }
    }

    /// Keeps renewing a claim that has just been made.
    pub(crate) fn hold(&self, held: HeldClaim) -> Arc<Lease> {
        let lease = Lease {
            held,
            lost: AtomicBool::new(false),
            renewed: Mutex::new(monotonic_raw_seconds()),
            sure_seconds: self.seconds * SURE,
        };
        let lease = Arc::new(lease);
        lock(&self.kept).push(Arc::clone(&lease));
        lease
    }

    pub(crate) fn forget(&self, lease: &Arc<Lease>) {
        lock(&self.kept).retain(|other| !Arc::ptr_eq(other, lease));
    }

    /// Renews all leases and calls `also`, repeatedly, until [`Leases::end`].
    pub(crate) fn keep(&self, also: &dyn Fn()) {
        let mut ended = lock(&self.ended);
        while !*ended {
            let pause = Duration::from_secs_f64(self.seconds / RENEWALS);
            ended = self.wake.wait_timeout(ended, pause).unwrap_or_else(PoisonError::into_inner).0;
            if *ended {
                return;
            }
            drop(ended);
            // Not under the lock: a file system that hangs must not block `is_ours`.
            let kept = lock(&self.kept).clone();
            for lease in kept {
                lease.renew();
            }
            also();
            ended = lock(&self.ended);
        }
    }

    pub(crate) fn end(&self) {
        *lock(&self.ended) = true;
        self.wake.notify_all();
    }
}
