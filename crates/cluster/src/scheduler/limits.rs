//! How many jobs a user may still have queued, out of every limit that Slurm lets us read.

/// Limits of jobs that apply to a user; each `None` where there is none, or none that can be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct UserLimits {
    /// Jobs that may be in the queue, waiting or running.
    pub(crate) submitted: Option<u32>,
    /// Jobs that may run at a time.
    pub(crate) running: Option<u32>,
}

impl UserLimits {
    pub(crate) fn and(self, other: Self) -> Self {
        Self { submitted: least(self.submitted, other.submitted), running: least(self.running, other.running) }
    }

    pub(crate) fn tightest(self) -> Option<u32> {
        least(self.submitted, self.running)
    }
}

/// The lesser, where `None` is no limit.
fn least(one: Option<u32>, other: Option<u32>) -> Option<u32> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Above this limit one place stays free, so that a user who wants to submit something else meanwhile can. A limit of
/// two leaves no place to give away: one job to measure, one to wait.
const SPARED_ABOVE: u32 = 2;

/// How many more jobs may be submitted by a user who has so many in the queue; `None` where there is no limit.
pub(crate) fn room(limits: UserLimits, queued: u32) -> Option<u32> {
    let limit = limits.tightest()?;
    Some(limit.saturating_sub(u32::from(limit > SPARED_ABOVE)).saturating_sub(queued))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_place_stays_free_where_there_are_more_than_two() {
        let limit = |submitted| UserLimits { submitted, running: None };
        let cases = [(None, 50, None), (Some(10), 0, Some(9)), (Some(10), 4, Some(5)), (Some(10), 9, Some(0))];
        let small = [(Some(10), 300, Some(0)), (Some(3), 0, Some(2)), (Some(2), 0, Some(2)), (Some(2), 1, Some(1))];
        let least = [(Some(1), 0, Some(1)), (Some(0), 0, Some(0))];
        for (limits, queued, expected) in cases.into_iter().chain(small).chain(least) {
            assert_eq!(room(limit(limits), queued), expected, "{limits:?} {queued}");
        }
    }

    #[test]
    fn the_tightest_limit_counts() {
        let association = UserLimits { submitted: Some(10), running: None };
        let qos = UserLimits { submitted: Some(20), running: Some(4) };
        assert_eq!(association.and(qos), UserLimits { submitted: Some(10), running: Some(4) });
        assert_eq!(room(association.and(qos), 0), Some(3));
    }
}
