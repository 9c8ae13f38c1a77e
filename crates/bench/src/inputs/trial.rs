//! A short trial of the matrix product before a plan: emulated and throttled processors are far below their limits.

use areas::Suite;
use areas::linpack::{ProductRate, solver};
use kernels::dense::{Blocking, Crew, Product, Shape, padded, widest};
use kernels::features::Features;
use model::machine::Machine;
use sys::clock::monotonic_raw_seconds;
use sys::memory::PageSize;
use sys::numbers::Numbers;

/// 14 million operations: less than a millisecond at 50 GFLOP/s, 7 ms at 2 GFLOP/s.
const ORDER: usize = 192;
/// The fastest trial counts: others may be interrupted.
const TRIALS: u32 = 3;
/// The alignment of every buffer in bytes.
const ALIGN: usize = 4096;

/// The rate of a small product on the first CPU, if the suite has benchmarks whose order and expected time follow from it.
pub(super) fn product_rate(suite: &Suite, machine: &Machine) -> Option<ProductRate> {
    let cpu = *machine.cpu.available_cpus.first().filter(|_| !suite.linpack.is_empty())?;
    let found = sys::team::run(&[cpu], |_, _| multiply(machine, cpu).ok_or_else(String::new));
    found.ok()?.into_iter().next()
}

fn multiply(machine: &Machine, cpu: u32) -> Option<ProductRate> {
    let tile = widest::<f64>(&Features::detect())?;
    let isa = tile.tile().isa;
    let blocking = Blocking::of_products(tile.tile(), solver::caches(machine, &[cpu]));
    let shape = Shape::square(ORDER, padded::<f64>(ORDER), 1, tile, blocking);
    let map = |len| Numbers::map(len, ALIGN, PageSize::Base).ok();
    let [a, b, c] = shape.operand_lens()?;
    let crew = Crew::new(1, std::thread::yield_now);
    let product = Product::new(shape, crew, [map(a)?, map(b)?, map(c)?], map(shape.workspace_len(1))?).ok()?;
    let trial = |_| {
        product.fill(0).ok()?;
        let begin = monotonic_raw_seconds();
        product.multiply(0, &mut || {}).ok()?;
        Some(shape.operations() / (monotonic_raw_seconds() - begin))
    };
    let flop_per_second = (0..TRIALS).filter_map(trial).reduce(f64::max)?;
    Some(ProductRate { cpu, isa, flop_per_second })
}
