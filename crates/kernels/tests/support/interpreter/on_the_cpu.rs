//! The interpreter against this CPU, one instruction at a time, on arbitrary numbers that round, wrap and saturate;
//! tiles against plain loops, on any CPU.

use std::arch::{is_x86_feature_detected, naked_asm};

use super::Machine;

/// Destination, two sources, and a fourth operand: a slot of 1 KiB each, so that tiles fit.
type Slots = [[u8; SLOT]; 4];

const SLOT: usize = 1024;

/// Trials with different numbers.
const TRIALS: u64 = 50;

/// The operands of an instruction.
#[derive(Clone, Copy, Debug)]
enum Numbers {
    /// Any bytes.
    Any,
    /// Floats, or the upper halves of fp32: bytes, fraction bits, and the range of exponents.
    Floats(usize, u32, [u64; 2]),
}

/// An instruction as a function: ZMM0 to ZMM2 are loaded, it is executed, ZMM0 is stored.
struct Probe {
    name: &'static str,
    numbers: Numbers,
    /// Whether this CPU has it, AVX-512F included.
    here: bool,
    function: unsafe extern "C" fn(&mut Slots),
}

macro_rules! probes {
    ($($feature:tt, $numbers:ident: $($instruction:literal)+;)+) => {
        vec![$($({
            #[unsafe(naked)]
            unsafe extern "C" fn probe(slots: &mut Slots) {
                naked_asm!(
                    "vmovdqu64 zmm0, [rdi]",
                    "vmovdqu64 zmm1, [rdi + {slot}]",
                    "vmovdqu64 zmm2, [rdi + 2 * {slot}]",
                    $instruction,
                    "vmovdqu64 [rdi], zmm0",
                    "vzeroupper",
                    "ret",
                    slot = const SLOT,
                )
            }
            let here = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!($feature);
            Probe { name: $instruction, numbers: $numbers, here, function: probe }
        },)+)+]
    };
}

const ANY: Numbers = Numbers::Any;
const HALF: Numbers = Numbers::Floats(2, 10, [0, 25]);
const BRAIN: Numbers = Numbers::Floats(2, 7, [100, 150]);
const SINGLE: Numbers = Numbers::Floats(4, 23, [100, 150]);
const DOUBLE: Numbers = Numbers::Floats(8, 52, [1000, 1050]);

#[rustfmt::skip]
fn probes() -> Vec<Probe> {
    probes! {
        "sse2", DOUBLE: "addpd xmm0, xmm1" "mulpd xmm0, xmm1" "subpd xmm0, xmm1" "addsd xmm0, xmm1" "mulsd xmm0, xmm1";
        "sse2", SINGLE: "addps xmm0, xmm1" "mulps xmm0, xmm1" "addss xmm0, xmm1" "mulss xmm0, xmm1" "subss xmm0, xmm1";
        "fma", DOUBLE: "vfmadd231pd ymm0, ymm1, ymm2" "vfmadd231sd xmm0, xmm1, xmm2" "vfmadd132pd ymm0, ymm1, ymm2";
        "fma", SINGLE: "vfmadd231ps ymm0, ymm1, ymm2" "vfmadd231ss xmm0, xmm1, xmm2" "vfmadd213ps ymm0, ymm1, ymm2";
        "avx", DOUBLE: "vaddpd ymm0, ymm1, ymm2" "vmulsd xmm0, xmm1, xmm2" "vsubpd ymm0, ymm1, ymm2";
        "avx", SINGLE: "vaddps ymm0, ymm1, ymm2" "vmulss xmm0, xmm1, xmm2" "vmovss xmm0, xmm1, xmm2";
        "avx512f", DOUBLE: "vfmadd231pd zmm0, zmm1, zmm2" "vaddpd zmm0, zmm1, zmm2";
        "avx512f", SINGLE: "vfmadd231ps zmm0, zmm1, zmm2" "vaddps zmm0, zmm1, zmm2";
        "avx512fp16", HALF: "vfmadd231ph zmm0, zmm1, zmm2" "vaddph zmm0, zmm1, zmm2" "vmulph zmm0, zmm1, zmm2";
        "avx512fp16", HALF: "vfmadd231sh xmm0, xmm1, xmm2" "vsubph zmm0, zmm1, zmm2";
        "sse2", ANY: "paddb xmm0, xmm1" "paddw xmm0, xmm1" "paddd xmm0, xmm1" "paddq xmm0, xmm1" "psubw xmm0, xmm1";
        "sse2", ANY: "pmullw xmm0, xmm1" "pmuludq xmm0, xmm1" "pmaddwd xmm0, xmm1" "movsd xmm0, xmm1" "movq xmm0, xmm1";
        "sse2", ANY: "pand xmm0, xmm1" "pandn xmm0, xmm1" "por xmm0, xmm1" "pxor xmm0, xmm1" "movdqa xmm0, xmm1";
        "sse2", ANY: "psrlw xmm0, 8" "psllw xmm0, 8" "psrlq xmm0, 32" "psllq xmm0, 32" "psraw xmm0, 3" "psrad xmm0, 40";
        "ssse3", ANY: "pmaddubsw xmm0, xmm1";
        "sse4.1", ANY: "pmulld xmm0, xmm1";
        "avx2", ANY: "vpmaddubsw ymm0, ymm1, ymm2" "vpmaddwd ymm0, ymm1, ymm2" "vpaddb ymm0, ymm1, ymm2";
        "avx2", ANY: "vpmullw ymm0, ymm1, ymm2" "vpmulld ymm0, ymm1, ymm2" "vpmuludq ymm0, ymm1, ymm2";
        "avx2", ANY: "vpsrlw ymm0, ymm1, 8" "vpsllq ymm0, ymm1, 32" "vpsrld ymm0, ymm1, xmm2" "vpand ymm0, ymm1, ymm2";
        "avx512f", ANY: "vpternlogd zmm0, zmm1, zmm2, 0xca" "vpternlogq zmm0, zmm1, zmm2, 0xd8";
        "avx512f", ANY: "vpsrlq zmm0, zmm1, 32" "vpsraq zmm0, zmm1, 7" "vpmuludq zmm0, zmm1, zmm2";
        "avx512f", ANY: "vpandq zmm0, zmm1, zmm2" "vpandnd zmm0, zmm1, zmm2";
        "avx512bw", ANY: "vpmullw zmm0, zmm1, zmm2" "vpsllw zmm0, zmm1, 8" "vpmaddubsw zmm0, zmm1, zmm2";
        "avx512dq", ANY: "vpmullq zmm0, zmm1, zmm2";
        "avx512vnni", ANY: "vpdpbusd zmm0, zmm1, zmm2" "vpdpwssd zmm0, zmm1, zmm2";
        "avxvnni", ANY: "{{vex}} vpdpbusd ymm0, ymm1, ymm2" "{{vex}} vpdpwssd ymm0, ymm1, ymm2";
        "avxvnniint8", ANY: "vpdpbssd ymm0, ymm1, ymm2";
        "avx512bf16", BRAIN: "vdpbf16ps zmm0, zmm1, zmm2";
    }
}

/// Numbers that are the same in every run (xorshift64).
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn fill(&mut self, slot: &mut [u8], numbers: Numbers) {
        let (bytes, fraction_bits, exponents) = match numbers {
            Numbers::Any => (8, 0, [0, 0]),
            Numbers::Floats(bytes, fraction_bits, exponents) => (bytes, fraction_bits, exponents),
        };
        for number in slot.chunks_mut(bytes) {
            let mut bits = self.next();
            if fraction_bits > 0 {
                let exponent = exponents[0] + self.next() % (exponents[1] - exponents[0]);
                let sign = (self.next() & 1) << (8 * bytes - 1);
                bits = sign | exponent << fraction_bits | (bits & ((1 << fraction_bits) - 1));
            }
            number.copy_from_slice(&bits.to_le_bytes()[..bytes]);
        }
    }
}

/// The slots after interpretation.
fn modelled(function: unsafe extern "C" fn(&mut Slots), slots: &Slots) -> Vec<u8> {
    let mut machine = Machine::new(slots.as_flattened());
    machine.call(&crate::function::function(function as *const u8), 0).unwrap_or_else(|why| panic!("{why}"));
    machine.file().to_vec()
}

#[test]
fn every_instruction_agrees_with_this_cpu() {
    let mut draw = Draw(0x5eed);
    for probe in probes() {
        if !probe.here {
            println!("{}: this CPU lacks it", probe.name);
            continue;
        }
        for _ in 0..TRIALS {
            let mut slots = [[0; SLOT]; 4];
            for slot in &mut slots {
                draw.fill(&mut slot[..64], probe.numbers);
            }
            if matches!(probe.numbers, Numbers::Floats(2, 7, _)) {
                draw.fill(&mut slots[0][..64], SINGLE);
            }
            let expected = modelled(probe.function, &slots);
            // SAFETY: this CPU has the instruction, as was just checked; the function loads and stores within `slots`
            // and destroys only registers that the calling convention allows it to.
            unsafe { (probe.function)(&mut slots) };
            assert!(
                slots.as_flattened() == expected,
                "{}: {:x?}, not {:x?}",
                probe.name,
                &slots[0][..64],
                &expected[..64]
            );
        }
    }
}

/// Defines a function that adds to the tile in the first slot the product of those in the second and third, with the
/// configuration in the fourth and rows 64 bytes apart.
macro_rules! tile_product {
    ($name:ident, $instruction:literal) => {
        #[unsafe(naked)]
        unsafe extern "C" fn $name(slots: &mut Slots) {
            naked_asm!(
                "ldtilecfg [rdi + 3 * {slot}]",
                "mov eax, 64",
                "tileloadd tmm0, [rdi + 1 * rax]",
                "tileloadd tmm1, [rdi + 1 * rax + {slot}]",
                "tileloadd tmm2, [rdi + 1 * rax + 2 * {slot}]",
                $instruction,
                "tilestored [rdi + 1 * rax], tmm0",
                "tilerelease",
                "ret",
                slot = const SLOT,
            )
        }
    };
}
tile_product!(bytes_signed, "tdpbssd tmm0, tmm1, tmm2");
tile_product!(bytes_mixed, "tdpbusd tmm0, tmm1, tmm2");
tile_product!(brain_floats, "tdpbf16ps tmm0, tmm1, tmm2");
tile_product!(half_floats, "tdpfp16ps tmm0, tmm1, tmm2");

/// The shapes of a product: rows of the result, its columns, and steps of 32 bits.
const SHAPES: [[usize; 3]; 3] = [[16, 16, 16], [5, 3, 2], [1, 16, 7]];

/// Slots with a configuration of this shape in the fourth, and random bytes in the other ones.
fn tiles(draw: &mut Draw, [rows, columns, steps]: [usize; 3]) -> Slots {
    let mut slots = [[0; SLOT]; 4];
    slots[..3].iter_mut().for_each(|slot| draw.fill(slot, ANY));
    let byte = |count: usize| u8::try_from(count).unwrap_or(u8::MAX);
    let configuration = &mut slots[3];
    configuration[0] = 1;
    for (tile, (rows, columns)) in [(rows, columns), (rows, steps), (steps, columns)].into_iter().enumerate() {
        (configuration[16 + 2 * tile], configuration[48 + tile]) = (byte(4 * columns), byte(rows));
    }
    slots
}

/// The four bytes of a slot at this row and column.
fn element(slot: &[u8; SLOT], row: usize, column: usize) -> [u8; 4] {
    slot.as_chunks().0[16 * row + column]
}

/// Slots whose first has the sum of the products of each row and column added.
fn multiplied<T>(
    slots: &Slots,
    [rows, columns, steps]: [usize; 3],
    mut sum_of: impl FnMut([u8; 4], &[T]) -> [u8; 4],
    product: impl Fn([u8; 4], [u8; 4]) -> T,
) -> Slots {
    let mut expected = *slots;
    for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
        let meeting = |step| product(element(&slots[1], row, step), element(&slots[2], step, column));
        let products: Vec<T> = (0..steps).map(meeting).collect();
        expected[0].as_chunks_mut().0[16 * row + column] = sum_of(element(&slots[0], row, column), &products);
    }
    expected
}

#[test]
fn tiles_of_bytes_are_multiplied_like_matrices() {
    let mut draw = Draw(0xb17e5);
    for shape in SHAPES {
        let slots = tiles(&mut draw, shape);
        let sum = |old: [u8; 4], products: &[i32]| {
            products.iter().fold(i32::from_le_bytes(old), |sum, product| sum.wrapping_add(*product)).to_le_bytes()
        };
        let signed = |a: u8| i32::from(a.cast_signed());
        let dot = |a: [u8; 4], b: [u8; 4], read: fn(u8) -> i32| (0..4).map(|i| read(a[i]) * signed(b[i])).sum::<i32>();
        let expected = multiplied(&slots, shape, sum, |a, b| dot(a, b, |a| i32::from(a.cast_signed())));
        assert!(modelled(bytes_signed, &slots) == expected.as_flattened(), "{shape:?}");
        let expected = multiplied(&slots, shape, sum, |a, b| dot(a, b, i32::from));
        assert!(modelled(bytes_mixed, &slots) == expected.as_flattened(), "{shape:?}");
    }
}

/// The bits of a small integer in bf16, and in binary16.
fn of_whole(number: i8) -> [[u8; 2]; 2] {
    let [.., low, high] = f32::from(number).to_le_bytes();
    let magnitude = u16::from(number.unsigned_abs());
    let exponent = magnitude.checked_ilog2().map_or(0, |exponent| u16::try_from(exponent).unwrap_or(0));
    let fraction = if magnitude == 0 { 0 } else { (magnitude << (10 - exponent) & 0x3ff) | (exponent + 15) << 10 };
    [[low, high], (fraction | u16::from(number < 0) << 15).to_le_bytes()]
}

#[test]
fn tiles_of_floats_are_multiplied_like_matrices() {
    let mut draw = Draw(0xf10a7);
    for (format, function) in [brain_floats as unsafe extern "C" fn(&mut Slots), half_floats].into_iter().enumerate() {
        for shape in SHAPES {
            // Integers, so that no sum rounds in any order.
            let whole = tiles(&mut draw, shape);
            let mut slots = whole;
            for slot in &mut slots[1..3] {
                for number in slot.as_chunks_mut::<2>().0 {
                    *number = of_whole(number[0].cast_signed())[format];
                }
            }
            let whole_of = |bytes: [u8; 4]| [bytes[0], bytes[2]].map(|byte| f32::from(byte.cast_signed()));
            for number in slots[0].as_chunks_mut::<4>().0 {
                *number = whole_of(*number)[0].to_le_bytes();
            }
            let mut expected = slots;
            let sum = |old: [u8; 4], products: &[f32]| (whole_of(old)[0] + products.iter().sum::<f32>()).to_le_bytes();
            let product = |a: [u8; 4], b: [u8; 4]| {
                let ([a0, a1], [b0, b1]) = (whole_of(a), whole_of(b));
                a0 * b0 + a1 * b1
            };
            let [rows, columns, _] = shape;
            let result = multiplied(&whole, shape, sum, product);
            for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
                expected[0].as_chunks_mut().0[16 * row + column] = element(&result[0], row, column);
            }
            assert!(modelled(function, &slots) == expected.as_flattened(), "{shape:?}");
        }
    }
}
