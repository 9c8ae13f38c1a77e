//! What a launch has prepared, until its threads take their parts.
//!
//! Preparation happens before there are threads, in an engine that is one static value; so what it prepared is kept
//! here by the launch's token. Several launches in one process, as in tests, do not meet.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::super::flows::DataEnd;
use super::super::near::Session;

/// What has been prepared and not yet taken, by token.
static PREPARED: Mutex<BTreeMap<String, Prepared>> = Mutex::new(BTreeMap::new());

struct Prepared {
    session: Arc<Session>,
    ends: Vec<Option<DataEnd>>,
}

fn prepared() -> MutexGuard<'static, BTreeMap<String, Prepared>> {
    PREPARED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps what was prepared until its threads take it.
pub(in crate::engines::net) fn keep(token: &str, session: Session, ends: Vec<DataEnd>) {
    let ends = ends.into_iter().map(Some).collect();
    prepared().insert(token.to_owned(), Prepared { session: Arc::new(session), ends });
}

/// A thread's part; `None` if it was not prepared, or has been taken.
pub(in crate::engines::net) fn take(token: &str, thread: usize) -> Option<(Arc<Session>, DataEnd)> {
    let mut all = prepared();
    let launch = all.get_mut(token)?;
    let end = launch.ends.get_mut(thread)?.take()?;
    let session = Arc::clone(&launch.session);
    if launch.ends.iter().all(Option::is_none) {
        all.remove(token);
    }
    Some((session, end))
}
