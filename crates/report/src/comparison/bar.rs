//! A change as a line of characters: its interval, no change, and the limits. Each result has its own scale, in limits.

use model::comparison::Compared;

use crate::style::Style;

/// Characters on either side of no change.
const HALF: usize = 10;
/// Limits on either side of no change.
const LIMITS: f64 = 2.5;

pub(super) fn bar(row: &Compared, style: &Style) -> String {
    let limit = (1.0 + row.threshold + row.allowance).ln();
    let place = |ratio: f64| {
        let limits = (ratio.ln() / limit).clamp(-LIMITS, LIMITS);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and twice the half")]
        let place = (HALF as f64 * (1.0 + limits / LIMITS)).round() as usize;
        place
    };
    if !(limit > 0.0 && row.ratio > 0.0) {
        return String::new();
    }
    let [line, point, mark, zero] = if style.unicode { ['━', '●', '┊', '│'] } else { ['=', 'o', ':', '|'] };
    let mut cells = [' '; 2 * HALF + 1];
    for (at, character) in [((-limit).exp(), mark), (limit.exp(), mark), (1.0, zero)] {
        cells[place(at)] = character;
    }
    if let Some([low, high]) = row.ratio_ci95.filter(|[low, high]| *low > 0.0 && high >= low) {
        cells[place(low)..=place(high)].fill(line);
    }
    cells[place(row.ratio)] = point;
    cells.iter().collect()
}
