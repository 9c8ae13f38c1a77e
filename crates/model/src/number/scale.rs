//! Prefixes: which one a value takes, and the texts of units.

use super::digits::{DECIMALS, digits, three, trimmed};
use crate::benchmark::experiment::Area;
use crate::unit::Unit;

/// A unit at a prefix: how many base units one of it is, and its text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Step {
    pub(super) factor: f64,
    pub(super) unit: &'static str,
}

pub(super) const fn at(factor: f64, unit: &'static str) -> Step {
    Step { factor, unit }
}

/// The largest step that a value reaches with this share of it, else the smallest.
pub(super) fn step(value: f64, steps: &[Step], share: f64) -> Step {
    let reached = steps.iter().rev().find(|step| value.abs() >= share * step.factor);
    *reached.unwrap_or(&steps[0])
}

/// A number with four digits takes the next prefix from here on: 999.95 would print as 1000.0.
const FOUR_DIGITS: f64 = 0.999_95;

/// A prefix may serve a whole column while its smallest value keeps three digits.
const LEAST_IN_COLUMN: f64 = 0.1;

/// The steps of a unit: each of these prefixes and its factor.
macro_rules! prefixed {
    ($unit:literal, $($prefix:literal $factor:literal)+) => { &[$(at($factor, concat!($prefix, $unit)),)+] };
}
const FLOP: &[Step] = prefixed!("FLOP/s", "" 1.0 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18);
const OP: &[Step] = prefixed!("OP/s", "" 1.0 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18);
const BYTE: &[Step] = prefixed!("B/s", "" 1.0 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15);
const SECOND: &[Step] = prefixed!("s", "p" 1e-12 "n" 1e-9 "u" 1e-6 "m" 1e-3 "" 1.0);
const EVENT: &[Step] = prefixed!("/s", "" 1.0 "k" 1e3 "M" 1e6 "G" 1e9);
const IOPS: &[Step] = prefixed!("IOPS", "" 1.0 "k" 1e3 "M" 1e6 "G" 1e9);
const HERTZ: &[Step] = prefixed!("Hz", "" 1.0 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12);
const SECOND_PER_BYTE: &[Step] = prefixed!("s/B", "p" 1e-12 "n" 1e-9 "u" 1e-6 "m" 1e-3 "" 1.0);
const ONE: &[Step] = &[at(1.0, "")];
/// Bytes per second as bits per second: the factors are an eighth of a power of 1000.
const BIT: &[Step] = &[at(0.125, "b/s"), at(125.0, "kb/s"), at(125e3, "Mb/s"), at(125e6, "Gb/s"), at(125e9, "Tb/s")];

/// Powers of 1024.
pub(super) const SIZE: &[Step] = &[
    at(1.0, "B"),
    at(1024.0, "KiB"),
    at(1_048_576.0, "MiB"),
    at(1_073_741_824.0, "GiB"),
    at(1_099_511_627_776.0, "TiB"),
    at(1_125_899_906_842_624.0, "PiB"),
];

/// How values of a unit are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// In the unit, with a prefix.
    Plain(Unit),
    /// Bytes per second as bits per second in powers of 1000, as links are rated.
    Bits,
    /// Requests of a disk per second.
    Iops,
}

impl Notation {
    /// How values of this unit are written in this area.
    pub const fn of(area: Area, unit: Unit) -> Self {
        match (area, unit) {
            (Area::Net, Unit::BytePerSecond) => Self::Bits,
            (Area::Disk, Unit::PerSecond) => Self::Iops,
            // A network's rate counts connections, not operations of a processor.
            (Area::Net, Unit::OpPerSecond) => Self::Plain(Unit::PerSecond),
            _ => Self::Plain(unit),
        }
    }

    const fn steps(self) -> &'static [Step] {
        match self {
            Self::Bits => BIT,
            Self::Iops => IOPS,
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
pub struct UnitScale {
    step: Step,
}

#[expect(missing_docs, reason = "a unit is documented by its name")]
impl UnitScale {
    pub const KILOBYTES_PER_SECOND: Self = Self { step: at(1e3, "kB/s") };
    pub const MEGABYTES_PER_SECOND: Self = Self { step: at(1e6, "MB/s") };
    pub const IOPS: Self = Self { step: at(1.0, "IOPS") };
    pub const GIGABYTES_PER_SECOND: Self = Self { step: at(1e9, "GB/s") };
    pub const MEGABITS_PER_SECOND: Self = Self { step: at(1e6, "Mbit/s") };
    pub const MEGABYTES: Self = Self { step: at(1e6, "MB") };
    pub const KIBIBYTES: Self = Self { step: SIZE[1] };
    pub const MEBIBYTES: Self = Self { step: SIZE[2] };
    pub const GIBIBYTES: Self = Self { step: SIZE[3] };
    pub const MEGAHERTZ: Self = Self { step: at(1e6, "MHz") };
    pub const GIGAHERTZ: Self = Self { step: at(1e9, "GHz") };
    pub const NANOSECONDS: Self = Self { step: at(1e-9, "ns") };
    pub const MICROSECONDS: Self = Self { step: at(1e-6, "us") };
    pub const MILLISECONDS: Self = Self { step: at(1e-3, "ms") };
}

impl UnitScale {
    /// The scale in which `value` has one to three digits before the point, as far as prefixes go.
    pub fn of(value: f64, notation: impl Into<Notation>) -> Self {
        Self::from_share(value, notation.into(), FOUR_DIGITS)
    }

    /// The scale whose next prefix is taken from this share of it on.
    pub(super) fn from_share(value: f64, notation: Notation, share: f64) -> Self {
        let steps = notation.steps();
        // Zero takes no prefix; a bit per second is an eighth of a byte per second.
        let zero = steps.iter().find(|step| value == 0.0 && step.factor >= 0.125);
        Self { step: zero.copied().unwrap_or_else(|| step(value, steps, share)) }
    }

    /// One scale for all of `values`, where each still reads well in it; the one of the smallest is preferred.
    pub fn common(values: &[f64], notation: impl Into<Notation>) -> Option<Self> {
        let notation = notation.into();
        let sizes = || values.iter().map(|value| value.abs()).filter(|size| *size > 0.0 && size.is_finite());
        let (least, most) = (sizes().reduce(f64::min)?, sizes().reduce(f64::max)?);
        let first = Self::of(least, notation).step.factor;
        let reads_well = |factor| least / factor >= LEAST_IN_COLUMN && most / factor < DECIMALS[DECIMALS.len() - 1].0;
        let mut steps = notation.steps().iter().filter(|step| step.factor >= first);
        steps.find(|step| reads_well(step.factor)).map(|step| Self { step: *step })
    }

    /// The digits of `value` in this scale.
    pub fn digits(self, value: f64) -> String {
        digits(value / self.step.factor)
    }

    /// Three digits of `value` in this scale.
    pub fn three(self, value: f64) -> String {
        three(value / self.step.factor)
    }

    /// `value` with N decimals, and the unit: `12.5 MB/s`.
    pub fn fixed(self, value: f64, decimals: usize) -> String {
        format!("{:.decimals$} {}", value / self.step.factor, self.step.unit)
    }

    /// `value` with at most three decimals, and the unit: `1.344 us`.
    pub fn trimmed(self, value: f64) -> String {
        format!("{} {}", trimmed(value / self.step.factor, 3), self.step.unit)
    }

    /// The unit with its prefix; empty for plain ratios and counts.
    pub const fn unit(self) -> &'static str {
        self.step.unit
    }
}

/// A value with its unit: `147.2 GFLOP/s`, `112.0 ns`.
pub fn quantity(value: f64, notation: impl Into<Notation>) -> String {
    let scale = UnitScale::of(value, notation);
    format!("{} {}", scale.digits(value), scale.unit()).trim_end().to_owned()
}

/// A clock to the 10 MHz that matter: `3.79 GHz`.
pub fn clock(hertz: f64) -> String {
    UnitScale::GIGAHERTZ.fixed(hertz, 2)
}

/// A rate of bytes in tenths of MB/s: `123.4 MB/s`.
pub fn byte_rate(bytes_per_second: f64) -> String {
    UnitScale::MEGABYTES_PER_SECOND.fixed(bytes_per_second, 1)
}

/// A rate of a disk's requests without decimals: `68712 IOPS`.
pub fn request_rate(per_second: f64) -> String {
    UnitScale::IOPS.fixed(per_second, 0)
}

/// A rate of bytes with at most three decimals, for a formula: `7.88 GB/s`.
pub fn exact_byte_rate(bytes_per_second: f64) -> String {
    let steps = [at(1.0, "B/s"), at(1e6, "MB/s"), at(1e9, "GB/s")];
    UnitScale { step: step(bytes_per_second, &steps, 1.0) }.trimmed(bytes_per_second)
}

/// A rate of bits with at most three decimals, for a formula: `25 Gbit/s`.
pub fn exact_bit_rate(bits_per_second: f64) -> String {
    let steps = [at(1.0, "bit/s"), at(1e6, "Mbit/s"), at(1e9, "Gbit/s")];
    UnitScale { step: step(bits_per_second, &steps, 1.0) }.trimmed(bits_per_second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_taken_by_the_printed_form() {
        for (value, notation, text) in [
            (999.94e9, Unit::FlopPerSecond.into(), "999.9 GFLOP/s"),
            (999.96e9, Unit::FlopPerSecond.into(), "1.000 TFLOP/s"),
            (999.96e-9, Unit::Second.into(), "1.000 us"),
            (0.0, Unit::Second.into(), "0 s"),
            (1234.0, Unit::One.into(), "1234"),
            (72.0, Unit::Second.into(), "72.00 s"),
            (14_800.0, Unit::PerSecond.into(), "14.80 k/s"),
            (14_800.0, Notation::of(Area::Disk, Unit::PerSecond), "14.80 kIOPS"),
            (4.05e9, Notation::of(Area::Net, Unit::BytePerSecond), "32.40 Gb/s"),
            (4.05e9, Notation::of(Area::Disk, Unit::BytePerSecond), "4.050 GB/s"),
            (0.0, Notation::Bits, "0 b/s"),
            (31_500.0, Notation::of(Area::Net, Unit::OpPerSecond), "31.50 k/s"),
        ] {
            assert_eq!(quantity(value, notation), text);
        }
    }

    #[test]
    fn a_column_shares_a_prefix_where_it_reads_well() {
        for (values, digits, unit) in
            [([966e9, 1.932e12], ["966.0", "1932"], "GOP/s"), ([966e9, 61.8e12], ["0.966", "61.80"], "TOP/s")]
        {
            let scale = UnitScale::common(&values, Unit::OpPerSecond).unwrap();
            assert_eq!((values.map(|value| scale.digits(value)), scale.unit()), (digits.map(str::to_owned), unit));
        }
        assert_eq!(UnitScale::common(&[1e9, 1e14], Unit::OpPerSecond), None);
        assert_eq!(UnitScale::common(&[], Unit::OpPerSecond), None);
    }

    #[test]
    fn a_formula_has_no_digit_too_many() {
        assert_eq!([7e9, 7.8765e9, 6e8, 512.0].map(exact_byte_rate), ["7 GB/s", "7.877 GB/s", "600 MB/s", "512 B/s"]);
        assert_eq!([25e9, 9.415e9, 1e8].map(exact_bit_rate), ["25 Gbit/s", "9.415 Gbit/s", "100 Mbit/s"]);
        assert_eq!(UnitScale::MICROSECONDS.trimmed(1.344e-6), "1.344 us");
    }
}
