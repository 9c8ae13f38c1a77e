//! What others may have taken from either side of a row, by the warnings that the runs themselves gave.
//!
//! A disturbance only ever takes: seen on the new side it can explain a change for the worse, seen on the base side one
//! for the better. What a *setting* did (a quota, a priority) hides nothing: it is the change, and is told as its
//! explanation.

use model::comparison::{Change, Direction};
use model::document::Row;
use model::warning::{Cause, Grade, Warning, WarningCode};

use super::matching::Pair;

/// The largest share that can be turned into a change; beyond it the row is grade C for any of them.
const MOST_SHARE: f64 = 0.9;

/// A disturbance of one side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen<'a> {
    /// `BASE` or `NEW`.
    pub(super) side: &'static str,
    pub(super) warning: &'a Warning,
    /// The relative change that it can account for.
    pub(super) change: f64,
}

/// The kind of a warning; `None` for one of a later version.
pub(super) fn code(warning: &Warning) -> Option<WarningCode> {
    warning.code.known()
}

/// Both sides of a pair with their names.
pub(super) fn sides<'a>(pair: &Pair<'a>) -> [(&'static str, &'a Row); 2] {
    [("BASE", pair.base), ("NEW", pair.new)]
}

/// What may account for a change in this direction the most. The clock moves both ways, so that it counts on either
/// side; per cycle it does not count.
pub(super) fn most<'a>(pair: &Pair<'a>, direction: Direction, clock_counts: bool) -> Option<Seen<'a>> {
    let taking = if direction == Direction::Worse { "NEW" } else { "BASE" };
    let all = sides(pair).into_iter().flat_map(|(side, row)| row.warnings.iter().map(move |warning| (side, warning)));
    let seen = all.filter_map(|(side, warning)| {
        let code = code(warning)?;
        let share = warning.figure.filter(|figure| figure.is_finite() && *figure > 0.0)?.min(MOST_SHARE);
        let change = if code == WarningCode::ClockMoved {
            clock_counts.then_some(share)?
        } else {
            // What is left after a share is lost must grow by this to be whole again.
            (side == taking && code.is_share_of_the_rate()).then_some(share / (1.0 - share))?
        };
        Some(Seen { side, warning, change })
    });
    seen.reduce(|most, other| if other.change > most.change { other } else { most })
}

/// The first disturbance that makes a figure unfit for a verdict of its own: what others did, to grade C. A change may
/// still be told where every such disturbance says how much it took, and the interval lies beyond that: what is
/// allowed for cannot have caused it. That the figures are the same never can.
pub(super) fn hiding<'a>(pair: &Pair<'a>, judged: Change) -> Option<(&'static str, &'a Warning)> {
    sides(pair).into_iter().find_map(|(side, row)| {
        let grave = |warning: &&Warning| {
            warning.grade == Grade::C
                && code(warning).is_some_and(|code| {
                    let says_how_much = code.is_share_of_the_rate() || code == WarningCode::ClockMoved;
                    code.rule().cause == Cause::Others && !(judged == Change::Changed && says_how_much)
                })
        };
        row.warnings.iter().find(grave).map(|warning| (side, warning))
    })
}
