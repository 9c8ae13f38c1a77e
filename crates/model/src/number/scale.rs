//! Numbers for people: three or four significant digits, a prefix, a unit, a spread.
//!
//! The one place where base units become G, ns or KiB. Everything here is text for reading; nothing is parsed back, and
//! documents and CSV do not pass through it.

use model::experiment::Area;
use model::sample::Summary;
use model::unit::Unit;

/// The value from which on one decimal fewer is printed, and the decimals below it. The bounds are the least values
/// whose printed form would have a digit more (9.9995 would print as 10.000), so no number ever has five significant
/// digits.
const DECIMALS: &[(f64, usize)] =
    &[(0.009_999_5, 5), (0.099_995, 4), (9.9995, 3), (99.995, 2), (999.95, 1), (9999.5, 0)];

/// From here on a number takes the next prefix: 999.95 would print as 1000.0.
const NEXT_PREFIX: f64 = 999.95;

/// Below this, and beyond the last entry of [`DECIMALS`], only an exponent keeps the digits.
const LEAST_PLAIN: f64 = 0.001;

/// A prefix may serve a whole column while its smallest value keeps three digits.
const LEAST_IN_COLUMN: f64 = 0.1;

/// A factor and the text of the unit at that factor.
type Step = (f64, &'static str);

const FLOP: &[Step] = &[
    (1.0, "FLOP/s"),
    (1e3, "kFLOP/s"),
    (1e6, "MFLOP/s"),
    (1e9, "GFLOP/s"),
    (1e12, "TFLOP/s"),
    (1e15, "PFLOP/s"),
    (1e18, "EFLOP/s"),
];
const OP: &[Step] =
    &[(1.0, "OP/s"), (1e3, "kOP/s"), (1e6, "MOP/s"), (1e9, "GOP/s"), (1e12, "TOP/s"), (1e15, "POP/s"), (1e18, "EOP/s")];
const BYTE: &[Step] = &[(1.0, "B/s"), (1e3, "kB/s"), (1e6, "MB/s"), (1e9, "GB/s"), (1e12, "TB/s"), (1e15, "PB/s")];
const SECOND: &[Step] = &[(1e-12, "ps"), (1e-9, "ns"), (1e-6, "us"), (1e-3, "ms"), (1.0, "s")];
const EVENT: &[Step] = &[(1.0, "/s"), (1e3, "k/s"), (1e6, "M/s"), (1e9, "G/s")];
const HERTZ: &[Step] = &[(1.0, "Hz"), (1e3, "kHz"), (1e6, "MHz"), (1e9, "GHz"), (1e12, "THz")];
const SECOND_PER_BYTE: &[Step] = &[(1e-12, "ps/B"), (1e-9, "ns/B"), (1e-6, "us/B"), (1e-3, "ms/B"), (1.0, "s/B")];
const ONE: &[Step] = &[(1.0, "")];
/// Bytes per second told as bits per second: the factors are an eighth of a power of 1000.
const BIT: &[Step] = &[(0.125, "b/s"), (125.0, "kb/s"), (125e3, "Mb/s"), (125e6, "Gb/s"), (125e9, "Tb/s")];

/// How figures of a unit are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// In the unit, with a prefix.
    Plain(Unit),
    /// Bytes per second as bits per second in powers of 1000, as links are rated.
    Bits,
}

impl Notation {
    /// How figures of this unit are told in this area.
    pub const fn of(area: Area, unit: Unit) -> Self {
        match (area, unit) {
            (Area::Net, Unit::BytePerSecond) => Self::Bits,
            // What a network does so many times a second are connections, not operations of a processor.
            (Area::Net, Unit::OpPerSecond) => Self::Plain(Unit::PerSecond),
            _ => Self::Plain(unit),
        }
    }

    const fn steps(self) -> &'static [Step] {
        match self {
            Self::Bits => BIT,
            Self::Plain(Unit::FlopPerSecond) => FLOP,
            Self::Plain(Unit::OpPerSecond) => OP,
            Self::Plain(Unit::BytePerSecond) => BYTE,
            Self::Plain(Unit::Second) => SECOND,
            Self::Plain(Unit::PerSecond) => EVENT,
            Self::Plain(Unit::Hertz) => HERTZ,
            Self::Plain(Unit::SecondPerByte) => SECOND_PER_BYTE,
            Self::Plain(Unit::One) => ONE,
        }
    }
}

impl From<Unit> for Notation {
    fn from(unit: Unit) -> Self {
        Self::Plain(unit)
    }
}

/// A unit with its prefix, chosen for one value or for several that are read together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    factor: f64,
    unit: &'static str,
}

impl Scale {
    /// The scale in which `value` has one to three digits before the point, as far as prefixes go.
    pub fn of(value: f64, notation: impl Into<Notation>) -> Self {
        let steps = notation.into().steps();
        let fits = |(factor, _): &&Step| value.abs() / factor < NEXT_PREFIX;
        // Zero has no size of its own: it is printed without a prefix, and a bit per second is an eighth of a byte.
        let zero = steps.iter().find(|(factor, _)| value == 0.0 && *factor >= 0.125);
        let (factor, unit) = *zero.or_else(|| steps.iter().find(fits)).unwrap_or(&steps[steps.len() - 1]);
        Self { factor, unit }
    }

    /// One scale for all of `values`, where each still reads well in it; the one of the smallest is preferred.
    pub fn common(values: &[f64], notation: impl Into<Notation>) -> Option<Self> {
        let notation = notation.into();
        let sizes = || values.iter().map(|value| value.abs()).filter(|size| *size > 0.0 && size.is_finite());
        let (least, most) = (sizes().reduce(f64::min)?, sizes().reduce(f64::max)?);
        let first = Self::of(least, notation).factor;
        notation
            .steps()
            .iter()
            .filter(|(factor, _)| *factor >= first)
            .find(|(factor, _)| least / factor >= LEAST_IN_COLUMN && most / factor < DECIMALS[DECIMALS.len() - 1].0)
            .map(|&(factor, unit)| Self { factor, unit })
    }

    /// The digits of `value` in this scale.
    pub fn digits(self, value: f64) -> String {
        digits(value / self.factor)
    }

    /// The unit with its prefix; empty for plain ratios and counts.
    pub const fn unit(self) -> &'static str {
        self.unit
    }
}

/// Four significant digits, three below 1; an exponent where plain digits would not do.
pub fn digits(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 {
        return "0".to_owned();
    }
    let decimals = DECIMALS.iter().find(|(bound, _)| size < *bound).map(|(_, decimals)| *decimals);
    match decimals {
        Some(decimals) if size >= LEAST_PLAIN => format!("{value:.decimals$}"),
        _ => format!("{value:.2e}"),
    }
}

/// A value with its unit: `147.2 GFLOP/s`, `112.0 ns`.
pub fn quantity(value: f64, notation: impl Into<Notation>) -> String {
    let scale = Scale::of(value, notation);
    format!("{} {}", scale.digits(value), scale.unit()).trim_end().to_owned()
}

/// Four significant digits, and never fewer than all before the point: `95.81`, `49152`.
pub fn whole(value: f64) -> String {
    if (9999.5..1e12).contains(&value.abs()) { format!("{value:.0}") } else { digits(value) }
}

/// Billions as [`whole`] has them.
pub fn giga(value: f64) -> String {
    whole(value / 1e9)
}

/// A count that is a power of ten as such: `10^12`; any other with its digits.
pub fn power(value: f64) -> String {
    let exponent = value.log10().round();
    if value > 0.0 && (0.0..1000.0).contains(&exponent) && (value / 10_f64.powf(exponent) - 1.0).abs() < 1e-9 {
        format!("10^{exponent:.0}")
    } else {
        digits(value)
    }
}

/// A clock to the 10 MHz that matter: `3.79 GHz`.
pub fn clock(hertz: f64) -> String {
    format!("{:.2} GHz", hertz / 1e9)
}

/// A ratio as a percentage with one decimal, two below 0.1 %: `99.3 %`; by an exponent where it is no share of anything.
pub fn percent(ratio: f64) -> String {
    let value = ratio * 100.0;
    if value.abs() >= 1e6 {
        return format!("{} %", digits(value));
    }
    let decimals = if value == 0.0 || value.abs() >= 0.095 { 1 } else { 2 };
    format!("{value:.decimals$} %")
}

/// The widest half of an interval that is told as a figure, in percent of the median.
const MOST_SPREAD: f64 = 999.0;

/// How far the median can be trusted, `plus_minus` being the sign to use: half the width of its 95 % interval relative
/// to it (`±0.3 %`), or the number of samples where there is no such interval (`n=3`).
pub fn spread(summary: &Summary, plus_minus: &str) -> String {
    match summary.ci95 {
        Some([low, high]) if summary.median != 0.0 => {
            let half = 100.0 * (high - low).abs() / 2.0 / summary.median.abs();
            // Of ten times the figure and more, how much more is no news: `>999` keeps the column as narrow as it is.
            if half > MOST_SPREAD {
                return format!("{plus_minus}>{MOST_SPREAD} %");
            }
            // Never more exact than a hundredth of a percent: what is smaller is rounded up to it.
            let decimals = if half < 0.095 { 2 } else { usize::from(half < 9.95) };
            format!("{plus_minus}{:.decimals$} %", half.max(0.01))
        }
        _ => format!("n={}", summary.n),
    }
}

/// From which part of the median on a standard deviation is one: samples that are equal differ by the rounding of their
/// quotients, some 1e-16 each, and no measurement is as exact as a millionth.
const LEAST_DEVIATION: f64 = 1e-6;

/// The samples' standard deviation for a reader: 0 where it is nothing but rounding; `None` of one sample.
pub fn deviation(summary: &Summary) -> Option<f64> {
    let is_rounding = |deviation: f64| deviation < LEAST_DEVIATION * summary.median.abs();
    summary.stddev.map(|deviation| if is_rounding(deviation) { 0.0 } else { deviation })
}

/// A span of time as one would say it: `3.4 s`, `88 s` is `1 min 28 s`, `2 h 05 min`.
pub fn duration(seconds: f64) -> String {
    const MINUTE: f64 = 60.0;
    const HOUR: f64 = 3600.0;
    // An empty sum is -0.0, and nothing takes less than no time.
    let seconds = if seconds > 0.0 { seconds } else { 0.0 };
    if seconds < 9.95 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds.round();
    if whole < MINUTE {
        format!("{whole:.0} s")
    } else if whole < HOUR {
        format!("{:.0} min {:02.0} s", (whole / MINUTE).floor(), whole % MINUTE)
    } else {
        let minutes = (seconds / MINUTE).round();
        format!("{:.0} h {:02.0} min", (minutes / MINUTE).floor(), minutes % MINUTE)
    }
}

/// Bytes in powers of 1024, whole where they are: `1 GiB`, `23.4 GiB`.
pub fn size(bytes: u64) -> String {
    const STEPS: &[(f64, &str)] = &[
        (1.0, "B"),
        (1024.0, "KiB"),
        (1_048_576.0, "MiB"),
        (1_073_741_824.0, "GiB"),
        (1_099_511_627_776.0, "TiB"),
        (1_125_899_906_842_624.0, "PiB"),
    ];
    let value = bytes as f64;
    // The bound is the least value that would print as 1024.
    let (factor, unit) = STEPS.iter().find(|(factor, _)| value / factor < 1023.95).unwrap_or(&STEPS[STEPS.len() - 1]);
    let scaled = value / factor;
    if scaled.fract() == 0.0 || scaled >= 999.5 {
        format!("{scaled:.0} {unit}")
    } else if scaled < 99.95 {
        format!("{} {unit}", format!("{scaled:.1}").trim_end_matches(".0"))
    } else {
        format!("{scaled:.0} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(n: u32, median: f64, ci95: Option<[f64; 2]>) -> Summary {
        Summary {
            n,
            median,
            ci95,
            ci_confidence: None,
            min: median,
            max: median,
            mean: median,
            stddev: None,
            cv: None,
            cv_robust: None,
            best: None,
            percentiles: None,
        }
    }

    #[test]
    fn a_percentage_is_short_whatever_it_is_of() {
        let told = [0.993, 0.0, 0.0007, -0.5, 9999.0, 1e300].map(percent);
        assert_eq!(told, ["99.3 %", "0.0 %", "0.07 %", "-50.0 %", "999900.0 %", "1.00e302 %"]);
    }

    #[test]
    fn a_prefix_is_taken_by_the_printed_form() {
        assert_eq!(quantity(999.94e9, Unit::FlopPerSecond), "999.9 GFLOP/s");
        assert_eq!(quantity(999.96e9, Unit::FlopPerSecond), "1.000 TFLOP/s");
        assert_eq!(quantity(999.96e-9, Unit::Second), "1.000 us");
        assert_eq!(quantity(241.1e9, Unit::FlopPerSecond), "241.1 GFLOP/s");
        assert_eq!(quantity(0.0, Unit::Second), "0 s");
        assert_eq!(quantity(1234.0, Unit::One), "1234");
        assert_eq!(quantity(72.0, Unit::Second), "72.00 s");
        assert_eq!(quantity(14_800.0, Unit::PerSecond), "14.80 k/s");
        assert_eq!(quantity(4.05e9, Notation::of(Area::Net, Unit::BytePerSecond)), "32.40 Gb/s");
        assert_eq!(quantity(4.05e9, Notation::of(Area::Disk, Unit::BytePerSecond)), "4.050 GB/s");
        assert_eq!(quantity(0.0, Notation::Bits), "0 b/s");
        assert_eq!(quantity(31_500.0, Notation::of(Area::Net, Unit::OpPerSecond)), "31.50 k/s");
    }

    #[test]
    fn equal_samples_have_no_deviation_but_that_of_their_rounding() {
        let of = |stddev| deviation(&Summary { stddev, ..summary(3, 4e6, None) });
        assert_eq!((of(Some(4.2e-8)), of(Some(3.9)), of(None)), (Some(0.0), Some(0.0), None));
        assert_eq!(of(Some(4.1)), Some(4.1), "what is measured is told");
    }

    #[test]
    fn a_column_shares_a_prefix_where_it_reads_well() {
        let scale = Scale::common(&[966e9, 1.932e12], Unit::OpPerSecond).unwrap();
        assert_eq!(
            (scale.digits(966e9), scale.digits(1.932e12), scale.unit()),
            ("966.0".into(), "1932".into(), "GOP/s")
        );
        let scale = Scale::common(&[966e9, 61.8e12], Unit::OpPerSecond).unwrap();
        assert_eq!(
            (scale.digits(966e9), scale.digits(61.8e12), scale.unit()),
            ("0.966".into(), "61.80".into(), "TOP/s")
        );
        assert_eq!(Scale::common(&[1e9, 1e14], Unit::OpPerSecond), None);
        assert_eq!(Scale::common(&[], Unit::OpPerSecond), None);
    }

    #[test]
    fn a_spread_without_an_interval_says_how_many_samples_there_are() {
        assert_eq!(spread(&summary(9, 100.0, Some([99.7, 100.3])), "±"), "±0.3 %");
        assert_eq!(spread(&summary(9, 100.0, Some([99.99, 100.03])), "±"), "±0.02 %");
        assert_eq!(spread(&summary(9, 100.0, Some([100.0, 100.0])), "±"), "±0.01 %");
        assert_eq!(spread(&summary(9, 100.0, Some([80.0, 120.0])), "+-"), "+-20 %");
        assert_eq!(spread(&summary(9, 1.0, Some([0.5, 19.5])), "±"), "±950 %");
        assert_eq!(spread(&summary(9, 1.0, Some([0.5, 2e4])), "±"), "±>999 %");
        assert_eq!(spread(&summary(3, 100.0, None), "±"), "n=3");
    }

    #[test]
    fn time_and_size_are_said_as_people_say_them() {
        let durations: Vec<_> = [0.04, 3.44, 9.96, 59.6, 72.0, 3599.7, 7500.0].map(duration).into();
        assert_eq!(durations, ["0.0 s", "3.4 s", "10 s", "1 min 00 s", "1 min 12 s", "1 h 00 min", "2 h 05 min"]);
        let sizes: Vec<_> = [0, 1000, 32 << 10, 1 << 30, 24_906_055_680, 1_073_741_823, u64::MAX].map(size).into();
        assert_eq!(sizes, ["0 B", "1000 B", "32 KiB", "1 GiB", "23.2 GiB", "1 GiB", "16384 PiB"]);
    }

    #[test]
    fn billions_and_powers_keep_their_digits() {
        assert_eq!([95.81e9, 49_152e9, 0.0412e9, 0.0].map(giga), ["95.81", "49152", "0.0412", "0"]);
        assert_eq!([1e12, 1.0, 2.5e12, 1e6].map(power), ["10^12", "10^0", "2.50e12", "10^6"]);
    }

    #[test]
    fn percentages_keep_their_digits() {
        assert_eq!([0.9934, 1.0, 0.0042, 0.0, 0.0004].map(percent), ["99.3 %", "100.0 %", "0.4 %", "0.0 %", "0.04 %"]);
    }
}
