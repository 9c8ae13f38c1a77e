//! A change as a line of characters: its interval, no change, and the limits. Each result has its own scale, in limits.

use model::comparison::Compared;

use crate::style::Style;

/// Characters on either side of no change.
const HALF: usize = 10;
/// Limits on either side of no change.
const LIMITS: f64 = 2.5;

/// The line; empty where the ratio is no positive number.
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

#[cfg(test)]
mod tests {
    use model::comparison::Change;
    use model::unit::{Better, Unit};

    use super::*;

    fn row(ratio: f64, interval: Option<[f64; 2]>) -> Compared {
        Compared {
            id: "cpu/x".into(),
            id_new: None,
            metric: "throughput".into(),
            unit: Unit::FlopPerSecond,
            better: Better::Higher,
            verdict: Change::Inconclusive,
            direction: None,
            base: 1.0,
            new: ratio,
            ratio,
            ratio_ci95: interval,
            p: None,
            threshold: 0.10,
            allowance: 0.0,
            noise: None,
            noise_source: None,
            n_base: 9,
            n_new: 9,
            units: "samples".into(),
            needed: None,
            per_cycle: None,
            explanation: None,
        }
    }

    #[test]
    fn intervals_stand_where_they_lie() {
        let shown = |ratio, interval| bar(&row(ratio, interval), &Style::PLAIN);
        assert_eq!(shown(1.0, None), "      :   o   :      ");
        assert_eq!(shown(0.9, Some([0.85, 0.93])), "   ===o=  |   :      ");
        assert_eq!(shown(3.0, Some([2.0, 4.0])), "      :   |   :     o");
        assert_eq!(shown(f64::NAN, None), "");
    }
}
