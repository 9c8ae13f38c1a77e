//! The number types of dense linear algebra.

use core::fmt::Debug;
use core::ops::{Add, Div, Mul, Neg, Sub};

use model::isa::Element;

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// `f32` or `f64`: a binary floating-point type.
pub trait Number:
    sealed::Sealed
    + Copy
    + Debug
    + PartialEq
    + PartialOrd
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// The smallest normal number, whose reciprocal is finite and exact enough.
    const SMALLEST_NORMAL: Self;
    /// The unit roundoff, half the distance from 1 to the next number: 2^-53 for `f64`, as in HPL's residual (its
    /// `HPL_pdlamch` gives this "relative machine eps"), 2^-24 for `f32`.
    const ROUNDOFF: f64;
    /// The bits of 64 that its significand lacks.
    const SPARE_BITS: u32;
    /// The type as an element.
    const ELEMENT: Element;

    /// The magnitude.
    #[must_use]
    fn abs(self) -> Self;

    /// The nearest number of this type.
    fn from_f64(value: f64) -> Self;

    /// The same number.
    fn to_f64(self) -> f64;
}

macro_rules! number {
    ($float:ty, $element:ident) => {
        impl Number for $float {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const SMALLEST_NORMAL: Self = Self::MIN_POSITIVE;
            const ROUNDOFF: f64 = Self::EPSILON as f64 / 2.0;
            const SPARE_BITS: u32 = u64::BITS - Self::MANTISSA_DIGITS;
            const ELEMENT: Element = Element::$element;

            #[inline]
            fn abs(self) -> Self {
                Self::abs(self)
            }

            #[inline]
            #[allow(clippy::cast_possible_truncation, reason = "rounding to this type is what is asked for")]
            fn from_f64(value: f64) -> Self {
                value as Self
            }

            #[inline]
            fn to_f64(self) -> f64 {
                self.into()
            }
        }
    };
}
number!(f64, Fp64);
number!(f32, Fp32);
