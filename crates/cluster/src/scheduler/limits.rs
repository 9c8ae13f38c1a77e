//! Slurm's limits of a user's jobs.

/// A user's limits; `None`: no limit, or none that can be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct UserLimits {
    /// Jobs in the queue, pending or running.
    pub(crate) submitted: Option<u32>,
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

fn least(one: Option<u32>, other: Option<u32>) -> Option<u32> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Above this limit one place stays free for another job of the user. A limit of two is used up: one job measures, one
/// waits.
const SPARED_ABOVE: u32 = 2;

/// How many more jobs a user with this many in the queue may submit; `None`: no limit.
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
