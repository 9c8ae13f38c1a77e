//! Which of many kernels a person is shown: of each operation that processors are sold by the fastest on each type, and
//! the plain loop. The JSON form has them all.

use model::isa::CpuOp;

use areas::cpu::label::{of_stem, order_of};

/// What is said where not all kernels are shown.
pub(super) const OTHERS: &str =
    "the fastest of FMA, dot, matrix and plain loop on each type; assay info --json has every kernel";

/// The operations that are shown.
const SHOWN: [CpuOp; 4] = [CpuOp::Fma, CpuOp::Dot, CpuOp::Matrix, CpuOp::Plain];

/// Of `items`, each about an experiment without its threads and with a figure to be judged by: those of the fastest
/// kernel of each shown operation and type, in the order of the CPU's table, and then those about anything else than
/// this version's arithmetic.
pub(super) fn fastest<T>(items: &[T], stem: impl Fn(&T) -> &str, figure: impl Fn(&T) -> f64) -> Vec<&T> {
    let best = |item: &T| {
        let Some(own) = of_stem(stem(item)) else { return true };
        let alike =
            |other: &&T| of_stem(stem(other)).is_some_and(|other| (other.op, other.element) == (own.op, own.element));
        let fastest =
            items.iter().filter(alike).reduce(|best, other| if figure(other) > figure(best) { other } else { best });
        SHOWN.contains(&own.op) && fastest.is_some_and(|fastest| stem(fastest) == stem(item))
    };
    let mut shown: Vec<&T> = items.iter().filter(|item| best(item)).collect();
    shown.sort_by_key(|item| order_of(of_stem(stem(item)).as_ref()));
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_of_each_type_stands_for_the_others() {
        let items = [
            ("cpu/fma/fp64/avx512", 32.0),
            ("cpu/fma/fp64/avx2", 16.0),
            ("cpu/fma/fp64/avx512", 64.0),
            ("cpu/dot/int8/avx512_vnni", 256.0),
            ("cpu/matrix/int8/amx", 2048.0),
            ("cpu/muladd/int8/avx512", 40.0),
            ("cpu/plain/int8/scalar", 3.0),
            ("memory/sequential-read", 1.0),
        ];
        let shown = fastest(&items, |item| item.0, |item| item.1);
        let stems: Vec<&str> = shown.iter().map(|item| item.0).collect();
        // Both thread counts of a kernel are shown, and what is no arithmetic is left alone.
        assert_eq!(
            stems,
            [
                "cpu/fma/fp64/avx512",
                "cpu/fma/fp64/avx512",
                "cpu/matrix/int8/amx",
                "cpu/dot/int8/avx512_vnni",
                "cpu/plain/int8/scalar",
                "memory/sequential-read"
            ]
        );
    }
}
