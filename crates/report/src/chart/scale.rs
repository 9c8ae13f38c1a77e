//! From values to coordinates: linear and logarithmic scales with ticks at 1, 2 and 5 times a power of ten, at powers of
//! two for sizes, and at each value for counts.

use areas::chart::{Reading, is_drawable};
use model::number::{self, Notation, percent, quantity, size, whole};
use model::unit::Unit;

use super::svg::{text_width, widest};

/// From this ratio of the largest to the smallest value, a linear axis would show half of the values as 0.
const LOG_FROM: f64 = 30.0;
/// The share of a single value that an axis has on both sides, well above the resolution of a double.
const SMALLEST_REACH: f64 = 1e-9;
/// An axis of factors is logarithmic where one is farther from 1 than this.
const FAR_RATIO: f64 = 1.9;
const GAP: f64 = 10.0;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    pub(super) value: f64,
    pub(super) text: String,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scale {
    pub(super) is_log: bool,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    pub(super) ticks: Vec<Tick>,
    /// The unit of all ticks; empty where each tick has its own.
    pub(super) unit: &'static str,
}

impl Scale {
    pub(super) fn new(reading: Reading, values: &[f64], (from, to): (f64, f64), most: usize) -> Self {
        let values: Vec<f64> = values.iter().copied().filter(|value| is_drawable(*value)).collect();
        let least = values.iter().copied().reduce(f64::min).unwrap_or(0.0);
        let greatest = values.iter().copied().reduce(f64::max).unwrap_or(1.0);
        let is_positive = least > 0.0;
        let most = most.max(2);
        let plain = Self { is_log: false, low: 0.0, high: 1.0, from, to, ticks: Vec::new(), unit: "" };
        match reading {
            Reading::Auto(notation) if is_positive && greatest / least > LOG_FROM => {
                plain.logarithmic((least, greatest), notation, most)
            }
            Reading::Log(notation) if is_positive => plain.logarithmic((least, greatest), notation, most),
            Reading::Auto(notation) | Reading::Linear(notation) | Reading::Log(notation) => {
                plain.linear((least, greatest), written_factor(notation), most).in_notation(notation)
            }
            Reading::Share => plain.shares((least, greatest.max(1.0)), most),
            Reading::Part => {
                let scale = plain.linear((least, greatest.max(0.001)), 100.0, most);
                scale.texts(|value| trimmed(&percent(value)))
            }
            Reading::Ratio => plain.ratios((least.min(1.0), greatest.max(1.0)), most),
            Reading::Difference => {
                let reach = greatest.abs().max(least.abs()).max(0.001);
                plain.linear((-reach, reach), 100.0, most).texts(|value| {
                    let text = trimmed(&percent(value));
                    if value > 0.0 { format!("+{text}") } else { text }
                })
            }
            Reading::Counts => plain.counts(values),
            Reading::Sizes if is_positive => plain.sizes((least, greatest), most),
            Reading::Numbers | Reading::Sizes => {
                plain.linear((least, greatest), 1.0, most).texts(|value| trimmed(&whole(value)))
            }
            Reading::Steps(names) => plain.steps(names),
        }
    }

    pub(super) fn at(&self, value: f64) -> Option<f64> {
        let share = self.share(value)?;
        (-1e-9..=1.0 + 1e-9).contains(&share).then(|| self.from + share.clamp(0.0, 1.0) * (self.to - self.from))
    }

    pub(super) fn clamped(&self, value: f64) -> f64 {
        let share = match self.share(value) {
            Some(share) => share.clamp(0.0, 1.0),
            None if value > self.low => 1.0,
            None => 0.0,
        };
        self.from + share * (self.to - self.from)
    }

    pub(super) fn titled(&self, title: &str) -> String {
        if self.unit.is_empty() { title.to_owned() } else { format!("{title}, {}", self.unit) }
    }

    fn share(&self, value: f64) -> Option<f64> {
        let share = if self.is_log {
            (value > 0.0).then(|| (value / self.low).ln() / (self.high / self.low).ln())?
        } else {
            (value - self.low) / (self.high - self.low)
        };
        share.is_finite().then_some(share)
    }

    /// From 0, or from below it, to the next tick above all values; ticks are round after multiplication by `factor`.
    fn linear(mut self, (least, greatest): (f64, f64), factor: f64, most: usize) -> Self {
        let (least, greatest) = (least.min(0.0) * factor, greatest.max(0.0) * factor);
        let span = if greatest > least { greatest - least } else { factor };
        let step = nice_above(span / most as f64);
        let (first, last) = ((least / step + 1e-9).floor(), (greatest / step - 1e-9).ceil());
        let last = if last > first { last } else { first + 1.0 };
        (self.low, self.high) = (first * step / factor, last * step / factor);
        // The quotients above are bounded by `most`, so there are few.
        let indices = std::iter::successors(Some(first), |index| Some(index + 1.0)).take_while(|index| *index <= last);
        self.ticks = indices.map(|index| Tick { value: index * step / factor, text: String::new() }).collect();
        self
    }

    fn shares(self, (least, greatest): (f64, f64), most: usize) -> Self {
        let from = if least >= 0.5 { ((least * 10.0 - 1e-9).floor() / 10.0).min(0.9) } else { 0.0 };
        let mut scale = self.linear((least.min(0.0), greatest - from), 100.0, most);
        scale.low += from;
        scale.high += from;
        for tick in &mut scale.ticks {
            tick.value += from;
        }
        scale.texts(|value| trimmed(&percent(value)))
    }

    /// Factors around 1: linear where they are near it.
    fn ratios(self, (least, greatest): (f64, f64), most: usize) -> Self {
        let scale = if least > 0.0 && (least < 1.0 / FAR_RATIO || greatest > FAR_RATIO) {
            self.logarithmic((least, greatest), Notation::Plain(Unit::One), most)
        } else {
            let reach = (greatest - 1.0).max(1.0 - least).max(0.01);
            let mut scale = self.linear((-reach, reach), 1.0, most);
            scale.low += 1.0;
            scale.high += 1.0;
            scale.ticks.iter_mut().for_each(|tick| tick.value += 1.0);
            scale
        };
        Self { unit: "", ..scale.texts(|value| format!("{}x", number::trimmed(value, 3))) }
    }

    /// Between two of 1, 2 and 5 times a power of ten.
    fn logarithmic(mut self, (least, greatest): (f64, f64), notation: Notation, most: usize) -> Self {
        let factor = written_factor(notation);
        let (low, mut high) = (nice_below(least * factor), nice_above(greatest * factor));
        if high <= low {
            high = nice_above(low * 1.5);
        }
        (self.is_log, self.low, self.high) = (true, low / factor, high / factor);
        let candidates = [(1, true), (1, false), (2, false), (3, false), (5, false), (10, false)];
        let all = candidates.map(|(every, fine)| decades(low, high, every, fine));
        let chosen = all.iter().find(|ticks| ticks.len() <= most + 2).unwrap_or(&all[all.len() - 1]);
        let ends = [low, high];
        let chosen: &[f64] = if chosen.len() < 2 { &ends } else { chosen };
        self.ticks = chosen.iter().map(|value| Tick { value: value / factor, text: String::new() }).collect();
        self.in_notation(notation)
    }

    fn sizes(mut self, (least, greatest): (f64, f64), most: usize) -> Self {
        let (low, high) = (least.log2().floor(), greatest.log2().ceil());
        let high = if high > low { high } else { low + 1.0 };
        (self.is_log, self.low, self.high) = (true, low.exp2(), high.exp2());
        let steps = [1.0, 2.0, 3.0, 5.0, 10.0, 20.0];
        let step = steps.into_iter().find(|step| (high - low) / step < most as f64).unwrap_or(20.0);
        let mut power = (low / step).ceil() * step;
        while power <= high {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a text; floats saturate")]
            let text = size(power.exp2() as u64);
            self.ticks.push(Tick { value: power.exp2(), text });
            power += step;
        }
        self
    }

    /// Logarithmic where all counts are powers of two and differ, else linear.
    fn counts(mut self, mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        values.dedup();
        let (low, high) = match (values.first(), values.last()) {
            (Some(low), Some(high)) if high > low => (*low, *high),
            (Some(only), _) => {
                // Above 2^53, adding 1 changes nothing.
                let reach = (only * SMALLEST_REACH).max(1.0);
                (only - reach, only + reach)
            }
            (None, _) => (0.0, 1.0),
        };
        let powers = values.iter().all(|value| *value >= 1.0 && value.log2().fract() == 0.0);
        (self.is_log, self.low, self.high) = (powers && values.len() > 1, low, high);
        self.ticks = values.into_iter().map(|value| Tick { value, text: trimmed(&whole(value)) }).collect();
        self
    }

    fn steps(mut self, names: &[&str]) -> Self {
        (self.low, self.high) = (-0.5, names.len().max(1) as f64 - 0.5);
        let ticks = names.iter().enumerate();
        self.ticks = ticks.map(|(index, name)| Tick { value: index as f64, text: (*name).to_owned() }).collect();
        self
    }

    fn texts(mut self, text: impl Fn(f64) -> String) -> Self {
        for tick in &mut self.ticks {
            tick.text = text(tick.value);
        }
        self
    }

    fn in_notation(mut self, notation: Notation) -> Self {
        let values: Vec<f64> = self.ticks.iter().map(|tick| tick.value).collect();
        match number::UnitScale::common(&values, notation) {
            Some(scale) => {
                self.unit = scale.unit();
                self.texts(|value| trimmed(&scale.digits(value)))
            }
            None => self.texts(|value| trimmed(&quantity(value, notation))),
        }
    }

    /// With every n-th tick only, so that their texts, centred below them between the `edges` of the drawing, do not touch.
    pub(super) fn thinned(mut self, edges: (f64, f64)) -> Self {
        let every = (1..self.ticks.len()).find(|every| self.fits(*every, edges)).unwrap_or(self.ticks.len().max(1));
        self.ticks = self.ticks.into_iter().step_by(every).collect();
        self
    }

    /// The middle of a tick's text below an axis, which stays between the edges.
    pub(super) fn middle(&self, tick: &Tick, (low, high): (f64, f64)) -> Option<f64> {
        let half = (text_width(&tick.text) / 2.0).min((high - low) / 2.0);
        Some(self.at(tick.value)?.clamp(low + half, high - half))
    }

    fn fits(&self, every: usize, edges: (f64, f64)) -> bool {
        let place = |tick: &Tick| Some((self.middle(tick, edges)?, text_width(&tick.text)));
        let places: Vec<(f64, f64)> = self.ticks.iter().step_by(every).filter_map(place).collect();
        places.windows(2).all(|two| (two[1].0 - two[0].0).abs() >= f64::midpoint(two[0].1, two[1].1) + GAP)
    }

    pub(super) fn widest(&self) -> f64 {
        widest(self.ticks.iter().map(|tick| &tick.text))
    }
}

/// The factor from base units to written units, whose powers of ten are round: links are rated in bits.
const fn written_factor(notation: Notation) -> f64 {
    match notation {
        Notation::Bits => 8.0,
        Notation::Plain(_) | Notation::Iops => 1.0,
    }
}

/// The least of 1, 2 and 5 times a power of ten that is not below a positive value.
fn nice_above(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    [1.0, 2.0, 5.0]
        .into_iter()
        .map(|digit| digit * power)
        .find(|nice| *nice >= value * (1.0 - 1e-9))
        .unwrap_or(10.0 * power)
}

/// The greatest of them that is not above a value.
fn nice_below(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    [5.0, 2.0].into_iter().map(|digit| digit * power).find(|nice| *nice <= value * (1.0 + 1e-9)).unwrap_or(power)
}

/// Every n-th power of ten between two values; also 2 and 5 times them if `fine`.
fn decades(low: f64, high: f64, every: i32, fine: bool) -> Vec<f64> {
    #[expect(clippy::cast_possible_truncation, reason = "logarithms of drawable values are below 40")]
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let digits: &[f64] = if fine { &[1.0, 2.0, 5.0] } else { &[1.0] };
    (first..=last)
        .filter(|power| power % every == 0)
        .flat_map(|power| digits.iter().map(move |digit| digit * 10_f64.powi(power)))
        .filter(|value| (low * (1.0 - 1e-9)..=high * (1.0 + 1e-9)).contains(value))
        .collect()
}

/// A number without trailing zeros: `20 GB/s` for `20.00 GB/s`.
fn trimmed(text: &str) -> String {
    let (digits, rest) = text.split_at(text.find(' ').unwrap_or(text.len()));
    if digits.contains('.') && !digits.contains('e') {
        return format!("{}{rest}", digits.trim_end_matches('0').trim_end_matches('.'));
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use model::unit::Unit;
    use proptest::prelude::*;

    use super::*;

    fn texts(scale: &Scale) -> Vec<&str> {
        scale.ticks.iter().map(|tick| tick.text.as_str()).collect()
    }

    fn bytes() -> Notation {
        Unit::BytePerSecond.into()
    }

    #[test]
    fn ticks_are_round_in_the_written_unit() {
        let scale = Scale::new(Reading::Auto(bytes()), &[15.3e9, 28.3e9], (200.0, 0.0), 5);
        assert_eq!((texts(&scale), scale.unit), (vec!["0", "10", "20", "30"], "GB/s"));
        let scale = Scale::new(Reading::Auto(Notation::Bits), &[1.83e9, 2.5e9], (200.0, 0.0), 5);
        assert_eq!((texts(&scale), scale.unit), (vec!["0", "5", "10", "15", "20"], "Gb/s"));
        let scale = Scale::new(Reading::Auto(bytes()), &[2e7, 28.3e9], (200.0, 0.0), 5);
        assert_eq!((texts(&scale), scale.unit), (vec!["0.1", "1", "10"], "GB/s"));
        let scale = Scale::new(Reading::Auto(bytes()), &[2e3, 28.3e9], (200.0, 0.0), 6);
        assert_eq!((texts(&scale)[0], scale.unit), ("10 kB/s", ""));
        let scale = Scale::new(Reading::Sizes, &[4096.0, 1e9], (0.0, 500.0), 8);
        assert_eq!(texts(&scale), ["4 KiB", "32 KiB", "256 KiB", "2 MiB", "16 MiB", "128 MiB", "1 GiB"]);
        let scale = Scale::new(Reading::Counts, &[1.0, 2.0, 8.0, 4.0], (0.0, 300.0), 4);
        assert_eq!((texts(&scale), scale.at(2.0).map(f64::round)), (vec!["1", "2", "4", "8"], Some(100.0)));
        assert_eq!(
            texts(&Scale::new(Reading::Share, &[0.4, 0.993], (0.0, 1.0), 5)),
            ["0 %", "20 %", "40 %", "60 %", "80 %", "100 %"]
        );
    }

    #[test]
    fn a_count_that_stands_alone_is_in_the_middle_however_large_it_is() {
        for count in [0.0, 1.0, 2_f64.powi(53), 2.128_289_918_810_145_6e17, 1e29] {
            let scale = Scale::new(Reading::Counts, &[count], (40.0, 640.0), 2);
            let at = scale.at(count).expect("a place");
            assert!((at - 340.0).abs() < 1e-3, "{count} {at} {scale:?}");
        }
    }

    #[test]
    fn what_cannot_be_placed_is_not() {
        let scale = Scale::new(Reading::Log(bytes()), &[1e3, 1e6], (0.0, 100.0), 5);
        assert_eq!((scale.at(0.0), scale.at(-1.0), scale.at(f64::NAN), scale.at(1e9)), (None, None, None, None));
        assert!((scale.clamped(1e9) - 100.0).abs() < 1e-9 && scale.clamped(-5.0).abs() < 1e-9);
        assert!(!is_drawable(f64::INFINITY) && !is_drawable(1e-300) && is_drawable(0.0));
    }

    fn readings() -> Vec<Reading> {
        vec![
            Reading::Auto(bytes()),
            Reading::Linear(Notation::Bits),
            Reading::Log(Unit::Second.into()),
            Reading::Share,
            Reading::Part,
            Reading::Ratio,
            Reading::Difference,
            Reading::Counts,
            Reading::Sizes,
            Reading::Numbers,
        ]
    }

    proptest! {
        #[test]
        fn every_value_has_a_place_and_ticks_ascend(
            values in prop::collection::vec(prop_oneof![Just(0.0), (-12_f64..18.0).prop_map(|power| 10_f64.powf(power))], 1..20),
            which in 0_usize..10,
            most in 2_usize..9,
        ) {
            let reading = readings()[which];
            let scale = Scale::new(reading, &values, (40.0, 640.0), most);
            for value in &values {
                let at = scale.at(*value);
                prop_assert!(at.is_some_and(|at| (40.0..=640.0).contains(&at)), "{reading:?} {value} {at:?} {scale:?}");
            }
            prop_assert!(scale.ticks.windows(2).all(|two| two[0].value < two[1].value), "{:?}", scale.ticks);
            prop_assert!(!scale.ticks.is_empty() && scale.ticks.len() <= 40);
            for tick in &scale.ticks {
                prop_assert!(scale.at(tick.value).is_some(), "{reading:?} {tick:?} {scale:?}");
            }
            let thinned = scale.thinned((0.0, 680.0));
            prop_assert!(thinned.ticks.len() == 1 || thinned.fits(1, (0.0, 680.0)));
        }
    }
}
