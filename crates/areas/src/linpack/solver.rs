//! The operations of each solver, and how our own blocks a problem.

use std::collections::BTreeSet;

use kernels::dense::{self, Blocking, Caches, Real, Tile};
use kernels::features::Feature;
use model::isa::{Element, Isa};
use model::linpack::{LinpackEngine, LinpackOp, LinpackParams};
use model::machine::Machine;

struct Ability {
    engine: LinpackEngine,
    op: LinpackOp,
    elements: &'static [Element],
    /// Kernel and counting rule, with a revision.
    method: &'static str,
}

const fn ability(engine: LinpackEngine, op: LinpackOp, elements: &'static [Element], method: &'static str) -> Ability {
    Ability { engine, op, elements, method }
}

const FP64: &[Element] = &[Element::Fp64];
const BOTH: &[Element] = &[Element::Fp64, Element::Fp32];

const ABILITIES: &[Ability] = &[
    ability(LinpackEngine::Own, LinpackOp::Lu, FP64, "linpack-lu/1"),
    ability(LinpackEngine::Own, LinpackOp::LuMixed, &[Element::Fp32], "linpack-lu-mixed/1"),
    // Another matrix, hence another method.
    ability(LinpackEngine::Own, LinpackOp::LuMixed, &[Element::Bf16], "linpack-lu-mixed-dominant/1"),
    ability(LinpackEngine::Own, LinpackOp::Gemm, BOTH, "linpack-gemm/1"),
    ability(LinpackEngine::Faer, LinpackOp::Lu, FP64, "linpack-lu-faer/1"),
    ability(LinpackEngine::Faer, LinpackOp::Gemm, BOTH, "linpack-gemm-faer/1"),
    ability(LinpackEngine::System, LinpackOp::Lu, FP64, "linpack-lu-system/1"),
    ability(LinpackEngine::System, LinpackOp::Gemm, BOTH, "linpack-gemm-system/1"),
];

fn abilities(engine: LinpackEngine, op: LinpackOp) -> impl Iterator<Item = &'static Ability> {
    ABILITIES.iter().filter(move |one| (one.engine, one.op) == (engine, op))
}

pub(super) fn computes(engine: LinpackEngine, op: LinpackOp) -> bool {
    abilities(engine, op).next().is_some()
}

pub(super) fn has(engine: LinpackEngine, op: LinpackOp, element: Element) -> bool {
    abilities(engine, op).any(|one| one.elements.contains(&element))
}

/// The operations of a solver: `lu of fp64, gemm of fp64 and fp32`.
pub(super) fn known(engine: LinpackEngine) -> String {
    let of = |one: &Ability| {
        let elements: Vec<&str> = one.elements.iter().map(|element| element.name()).collect();
        format!("{} of {}", one.op, elements.join(" and "))
    };
    ABILITIES.iter().filter(|one| one.engine == engine).map(of).collect::<Vec<_>>().join(", ")
}

pub(super) fn method(engine: LinpackEngine, op: LinpackOp, element: Element) -> &'static str {
    abilities(engine, op).find(|one| one.elements.contains(&element)).map_or("linpack/1", |one| one.method)
}

pub(super) fn refused_factors(element: Element) -> Option<&'static str> {
    (element == Element::Fp16).then_some(
        "there are no factors in fp16: outside AMX-FP16 (Granite Rapids) no instruction of x86-64 multiplies fp16 and \
         adds in fp32; --op lu_mixed has --type fp32 and bf16",
    )
}

/// Why this program lacks a solver.
pub fn refused(engine: LinpackEngine) -> Option<String> {
    let sentence = "this program was built without faer; build it with `cargo build --release --features faer`";
    (engine == LinpackEngine::Faer && cfg!(not(feature = "faer"))).then(|| sentence.to_owned())
}

/// An instruction set of our own solver.
#[derive(Clone, Copy, Debug)]
pub struct Set {
    /// The instruction set.
    pub isa: Isa,
    /// The CPU features that it needs.
    pub requires: &'static [Feature],
}

/// The instruction sets of our own solver for an element type, the widest first.
pub fn sets(element: Element) -> Vec<Set> {
    fn of<T: Real>(tiles: &[Tile<T>]) -> Vec<Set> {
        tiles.iter().map(|tile| Set { isa: tile.isa, requires: tile.requires }).collect()
    }
    match element {
        Element::Fp64 => of(f64::tiles()),
        Element::Fp32 => of(f32::tiles()),
        Element::Bf16 => of(f32::paired_tiles()),
        _ => Vec::new(),
    }
}

/// The instruction set for fp64 work next to factors of lower precision.
pub const fn with_factors(isa: Isa) -> Isa {
    match isa {
        Isa::Avx512Bf16 => Isa::Avx512,
        Isa::NeonBf16 => Isa::Neon,
        other => other,
    }
}

/// The leading dimension with which columns do not conflict in the caches.
pub(super) fn padded(element: Element, n: u64) -> u64 {
    let rows = usize::try_from(n).unwrap_or(usize::MAX / 2);
    let lda = match element {
        Element::Fp32 | Element::Bf16 => dense::padded::<f32>(rows),
        _ => dense::padded::<f64>(rows),
    };
    lda as u64
}

/// The default width of our own solver's panels; `None` for other solvers and for products.
pub(super) fn panel(params: &LinpackParams, machine: &Machine, cpus: &[u32]) -> Option<u32> {
    fn of<T: Real>(params: &LinpackParams, caches: Caches) -> Option<u32> {
        // The plan may be for another machine, so a missing feature does not matter here.
        let tile = T::tiles().iter().chain(T::paired_tiles()).find(|tile| Some(tile.isa) == params.isa)?;
        u32::try_from(blocking(params, tile, caches).panel).ok()
    }
    let factors = params.engine == LinpackEngine::Own && params.op != LinpackOp::Gemm;
    let caches = caches(machine, cpus);
    match params.element {
        Element::Fp64 if factors => of::<f64>(params, caches),
        Element::Fp32 | Element::Bf16 if factors => of::<f32>(params, caches),
        _ => None,
    }
}

/// How a problem is blocked for the caches, in panels of the chosen width if there is one.
pub fn blocking<T: Real>(params: &LinpackParams, tile: &Tile<T>, caches: Caches) -> Blocking {
    let n = usize::try_from(params.n).unwrap_or(usize::MAX / 2);
    let blocking = match params.op {
        LinpackOp::Gemm => Blocking::of_products(tile, caches),
        _ => Blocking::new(tile, n, caches),
    };
    match params.nb {
        Some(nb) => Blocking::of_panel(tile, nb as usize, caches),
        None => blocking,
    }
}

/// The share of each level of data cache that every thread on these CPUs has.
pub fn caches(machine: &Machine, cpus: &[u32]) -> Caches {
    let share = |level: u32, cpu: &u32| {
        let data = machine.caches.iter().filter(|cache| cache.kind != "instruction" && cache.level == level);
        let cache = data.into_iter().find(|cache| cache.cpus.contains(cpu))?;
        let sharing: BTreeSet<&u32> = cpus.iter().filter(|cpu| cache.cpus.contains(cpu)).collect();
        usize::try_from(cache.bytes? / sharing.len().max(1) as u64).ok()
    };
    let least = |level: u32| cpus.iter().filter_map(|cpu| share(level, cpu)).min().unwrap_or(0);
    Caches { l1d: least(1), l2: least(2) }
}

#[cfg(test)]
mod tests {
    use model::machine::Cache;

    use super::*;

    #[test]
    fn every_operation_is_in_the_table_once_and_is_listed() {
        for one in ABILITIES {
            for element in one.elements {
                let same = abilities(one.engine, one.op).filter(|other| other.elements.contains(element));
                assert_eq!(same.map(|other| other.method).collect::<Vec<_>>(), [method(one.engine, one.op, *element)]);
                assert!(has(one.engine, one.op, *element) && refused_factors(*element).is_none());
            }
            assert!(one.method.starts_with("linpack-") && known(one.engine).contains(one.op.name()));
            if one.engine == LinpackEngine::Own {
                let needs_x86 = |element: &Element| *element == Element::Bf16 && cfg!(not(target_arch = "x86_64"));
                assert!(one.elements.iter().all(|one| needs_x86(one) || !sets(*one).is_empty()), "{}", one.op);
            }
        }
        assert!(!has(LinpackEngine::Own, LinpackOp::Lu, Element::Int8));
        assert!(has(LinpackEngine::Own, LinpackOp::LuMixed, Element::Fp32));
        assert!(!computes(LinpackEngine::System, LinpackOp::LuMixed));
        assert!(
            !has(LinpackEngine::Own, LinpackOp::LuMixed, Element::Fp16) && refused_factors(Element::Fp16).is_some()
        );
        let refusal = refused(LinpackEngine::Faer);
        assert_eq!(refusal.is_none(), cfg!(feature = "faer"));
        assert!(refusal.is_none_or(|sentence| sentence.contains("--features faer")));
        assert!(refused(LinpackEngine::Own).is_none() && refused(LinpackEngine::System).is_none());
    }

    #[test]
    fn threads_on_one_core_share_its_caches() {
        let cache = |level, bytes, cpus: &[u32]| {
            let (kind, bytes, cpus) = ("unified".into(), Some(bytes), cpus.to_vec());
            Cache { level, kind, bytes, cpus, ..Cache::default() }
        };
        let caches = vec![cache(1, 48 << 10, &[0, 1]), cache(2, 2 << 20, &[0, 1]), cache(1, 32 << 10, &[2])];
        let machine = Machine { caches, ..Machine::default() };
        assert_eq!(super::caches(&machine, &[0]), Caches { l1d: 48 << 10, l2: 2 << 20 });
        assert_eq!(super::caches(&machine, &[0, 1]), Caches { l1d: 24 << 10, l2: 1 << 20 });
        assert_eq!(super::caches(&machine, &[0, 0]), Caches { l1d: 48 << 10, l2: 2 << 20 }, "they take turns");
        assert_eq!(super::caches(&machine, &[0, 2]).l1d, 32 << 10);
        assert_eq!(super::caches(&machine, &[7]), Caches::default());
    }
}
