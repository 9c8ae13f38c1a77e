//! What interference may have taken from either side, by the warnings of the runs.
//!
//! Interference only takes: on the new side it can explain a change for the worse, on the base side one for the better. A
//! *setting* (a quota, a priority) hides nothing: it is the explanation of the change.

use model::comparison::{Change, Direction};
use model::document::Row;
use model::warning::{Cause, Confidence, Warning, WarningCode};

use super::matching::Pair;

/// The largest share that is turned into a change; beyond it the result has low confidence.
const MOST_SHARE: f64 = 0.9;

#[derive(Clone, Copy, Debug)]
pub(super) struct Seen<'a> {
    pub(super) side: &'static str,
    pub(super) warning: &'a Warning,
    pub(super) change: f64,
}

pub(super) fn sides<'a>(pair: &Pair<'a>) -> [(&'static str, &'a Row); 2] {
    [("BASE", pair.base), ("NEW", pair.new)]
}

/// The interference that may account for the largest change in this direction; the clock counts on either side.
pub(super) fn most<'a>(pair: &Pair<'a>, direction: Direction, clock_counts: bool) -> Option<Seen<'a>> {
    let taking = if direction == Direction::Worse { "NEW" } else { "BASE" };
    let all = sides(pair).into_iter().flat_map(|(side, row)| row.warnings.iter().map(move |warning| (side, warning)));
    let seen = all.filter_map(|(side, warning)| {
        let code = warning.code.known()?;
        let share = warning.value.filter(|share| share.is_finite() && *share > 0.0)?.min(MOST_SHARE);
        let change = if code == WarningCode::ClockMoved {
            clock_counts.then_some(share)?
        } else {
            // The rest must grow by this to make up for the share that was lost.
            (side == taking && code.is_share_of_the_rate()).then_some(share / (1.0 - share))?
        };
        Some(Seen { side, warning, change })
    });
    seen.reduce(|most, other| if other.change > most.change { other } else { most })
}

/// The first interference of low confidence, which allows no verdict. A change stays one if every size is known.
pub(super) fn hiding<'a>(pair: &Pair<'a>, judged: Change) -> Option<(&'static str, &'a Warning)> {
    let hides = |code: WarningCode| {
        let says_how_much = code.is_share_of_the_rate() || code == WarningCode::ClockMoved;
        code.rule().cause == Cause::Others && !(judged == Change::Changed && says_how_much)
    };
    let grave = |warning: &&Warning| warning.confidence == Confidence::Low && warning.code.known().is_some_and(hides);
    sides(pair).into_iter().find_map(|(side, row)| Some((side, row.warnings.iter().find(grave)?)))
}
