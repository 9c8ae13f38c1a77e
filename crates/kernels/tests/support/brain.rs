//! The definition of bf16, independent of `kernels`: values, rounding, and sums of products as in VDPBF16PS.

/// The value of a bf16.
pub(crate) fn bfloat(bytes: [u8; 2]) -> f64 {
    f32::from_bits(u32::from(u16::from_ne_bytes(bytes)) << 16).into()
}

/// The bf16 nearest to a finite number, ties to even, by comparing the distances of the two next to it; on x86-64
/// subnormal numbers become zero.
pub(crate) fn nearest(value: f32) -> u16 {
    let toward_zero = u16::try_from(value.to_bits() >> 16).unwrap_or_default();
    if cfg!(not(target_arch = "aarch64")) && value.is_subnormal() {
        return toward_zero & 0x8000;
    }
    // Beyond the largest number is infinity, at the distance of 2^128.
    let at = |bits: u16| {
        let value = bfloat(bits.to_ne_bytes());
        if value.is_infinite() { 2_f64.powi(128).copysign(value) } else { value }
    };
    let below = (f64::from(value) - at(toward_zero)).abs();
    let above = (f64::from(value) - at(toward_zero + 1)).abs();
    match below.total_cmp(&above) {
        core::cmp::Ordering::Less => toward_zero,
        core::cmp::Ordering::Greater => toward_zero + 1,
        core::cmp::Ordering::Equal => toward_zero + (toward_zero & 1),
    }
}

/// Subnormal numbers become zero.
pub(crate) fn flush(value: f32) -> f32 {
    if value.is_subnormal() { 0.0_f32.copysign(value) } else { value }
}

/// A sum and the products of two pairs, the second of which is added first (Intel SDM volume 2, VDPBF16PS).
#[cfg(not(target_arch = "aarch64"))]
pub(crate) fn add_products(sum: f32, left: [u16; 2], right: [u16; 2]) -> f32 {
    [1, 0].into_iter().fold(sum, |sum, part| {
        let [left, right] = [left[part], right[part]].map(|bits| flush(f32::from_bits(u32::from(bits) << 16)));
        flush(left.mul_add(right, flush(sum)))
    })
}

/// A sum and the sum of the products of two pairs, each rounded to odd (Arm ARM, `BFDotAdd`).
#[cfg(target_arch = "aarch64")]
pub(crate) fn add_products(sum: f32, left: [u16; 2], right: [u16; 2]) -> f32 {
    let [first, second] = [0, 1].map(|part| {
        let [left, right] = [left[part], right[part]].map(|bits| flush(f32::from_bits(u32::from(bits) << 16)));
        // Of eight bits each: exact, but for what is too small.
        flush(left * right)
    });
    add_to_odd(flush(sum), add_to_odd(first, second))
}

/// The sum, whose last bit is set if it is not exact.
#[cfg(target_arch = "aarch64")]
fn add_to_odd(first: f32, second: f32) -> f32 {
    let (first, second) = (f64::from(first), f64::from(second));
    let sum = first + second;
    // What the sum lacks, exactly (Knuth, The Art of Computer Programming, volume 2, section 4.2.2).
    let part = sum - first;
    let lacks = (first - (sum - part)) + (second - part);
    let toward_zero = if lacks != 0.0 && (lacks < 0.0) != (sum < 0.0) { sum.abs().next_down() } else { sum.abs() };
    #[expect(clippy::cast_possible_truncation, reason = "what is lost is compared below")]
    let mut nearest = toward_zero as f32;
    if f64::from(nearest) > toward_zero {
        nearest = nearest.next_down();
    }
    let odd = u32::from(lacks != 0.0 || f64::from(nearest) < toward_zero);
    flush(f32::from_bits(nearest.to_bits() | odd).copysign(if sum.is_sign_negative() { -1.0 } else { 1.0 }))
}
