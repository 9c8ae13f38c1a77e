//! The limit on the number of benchmarks of a plan, checked before the lists of a suite are combined.

use model::isa::Isa;
use model::plan::PlanError;

use crate::cpu::choice::CpuChoice;
use crate::disk::choice::DiskChoice;
use crate::fields::{IsaChoice, Threads};
use crate::linpack::choice::LinpackChoice;
use crate::memory::choice::MemoryChoice;
use crate::net::choice::NetChoice;
use crate::request::Request;

/// The most combinations of the lists of a suite.
const MOST_BENCHMARKS: usize = 10_000;
/// Working sets of a curve: two in each octave of a 64-bit address.
const MOST_WORKING_SETS: usize = 128;

/// Checks that the lists of a request's suite do not combine to more benchmarks than the limit.
pub(crate) fn check(request: &Request) -> Result<(), PlanError> {
    let suite = &request.suite;
    let threads =
        |of_block: &[Threads]| if request.threads.is_empty() { of_block.len() } else { request.threads.len() };
    let counts = [
        sum(suite.cpu.iter().map(|block| of_cpu(block, threads(&block.threads)))),
        sum(suite.linpack.iter().map(|block| of_linpack(block, threads(&block.threads)))),
        sum(suite.memory.iter().map(|block| of_memory(block, threads(&block.threads)))),
        sum(suite.disk.iter().map(|block| of_disk(block, threads(&block.threads)))),
        sum(suite.net.iter().map(|block| of_net(block, threads(&block.threads)))),
    ];
    let count = sum(counts.into_iter());
    if count <= MOST_BENCHMARKS {
        return Ok(());
    }
    let count = if count == usize::MAX { "too many".to_owned() } else { format!("{count}") };
    Err(PlanError(format!(
        "the lists of the suite '{}' combine to {count} benchmarks; the limit is {MOST_BENCHMARKS}. Shorten the lists, or \
         split the suite",
        suite.name
    )))
}

fn of_cpu(block: &CpuChoice, threads: usize) -> usize {
    product(&[block.elements.len(), sets(&block.isa), threads])
}

fn of_linpack(block: &LinpackChoice, threads: usize) -> usize {
    let LinpackChoice { op, engine, n, nb, lda, align, elements, isa, .. } = block;
    let of_order = [n.len(), nb.len(), lda.len(), align.len()];
    product(&[product(&of_order), op.len(), engine.len(), elements.len(), sets(isa), threads])
}

fn of_memory(block: &MemoryChoice, threads: usize) -> usize {
    let MemoryChoice { pattern, op, pages, isa, chains, background, pause_ns, placement, .. } = block;
    let working_sets = if block.sweep_from.is_some() { MOST_WORKING_SETS } else { block.working_sets.len() };
    let of_access = [pattern.len(), op.len(), block.block.len(), pages.len(), sets(isa), chains.len(), working_sets];
    let of_threads = [background.len(), pause_ns.len(), placement.len(), block.node_pairs.len(), threads];
    product(&[product(&of_access), product(&of_threads)])
}

fn of_disk(block: &DiskChoice, threads: usize) -> usize {
    let DiskChoice { pattern, op, depth, size, engine, sync, cache, layout, load_percent, .. } = block;
    let of_request = [pattern.len(), op.len(), block.block.len(), depth.len(), load_percent.len(), sync.len()];
    let of_file = [size.len(), engine.len(), cache.len(), layout.len(), threads];
    product(&[product(&of_request), product(&of_file)])
}

fn of_net(block: &NetChoice, threads: usize) -> usize {
    let NetChoice { protocol, mode, direction, zero_copy, segmentation, wait, loss_goal, .. } = block;
    let of_mode = [protocol.len(), mode.len(), block.block.len(), direction.len(), zero_copy.len()];
    product(&[product(&of_mode), segmentation.len(), wait.len(), loss_goal.len(), threads])
}

/// The most instruction sets of a list.
fn sets(choices: &[IsaChoice]) -> usize {
    sum(choices.iter().map(|choice| if *choice == IsaChoice::All { Isa::ALL.len() } else { 1 }))
}

/// The number of combinations; an empty list has one, the default.
fn product(lengths: &[usize]) -> usize {
    lengths.iter().fold(1, |product, length| product.saturating_mul((*length).max(1)))
}

fn sum(counts: impl Iterator<Item = usize>) -> usize {
    counts.fold(0, usize::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan;
    use crate::suite::Suite;
    use crate::tests::{machine_with_cpus, request, request_of};

    fn list(item: &str, count: usize) -> String {
        format!("[{}]", vec![item; count].join(", "))
    }

    #[test]
    fn lists_that_combine_to_too_many_benchmarks_are_refused_at_once() {
        let [elements, isa, threads] = ["\"fp64\"", "\"scalar\"", "\"1\""].map(|item| list(item, 3000));
        let cpu = format!("op = \"fma\"\ntype = {elements}\nisa = {isa}\nthreads = {threads}");
        let [block, size, depth] = ["\"4KiB\"", "\"1GiB\"", "1"].map(|item| list(item, 3000));
        let disk = format!(
            "pattern = \"random\"\nop = [\"read\"]\nblock = {block}\nsize = {size}\ndepth = {depth}\nthreads = [\"1\"]"
        );
        for (area, text) in [("cpu", cpu), ("disk", disk)] {
            let suite = Suite::parse(&format!("name = \"x\"\n[[{area}]]\n{text}\n"), "x.toml").unwrap();
            let error = plan(&request_of(suite), &machine_with_cpus(2)).unwrap_err().to_string();
            assert!(error.contains("27000000000 benchmarks; the limit is 10000. Shorten"), "{error}");
        }
    }

    #[test]
    fn every_embedded_suite_is_below_the_limit() {
        for name in Suite::names() {
            assert_eq!(check(&request(name)), Ok(()), "{name}");
        }
    }

    #[test]
    fn products_do_not_overflow() {
        assert_eq!(product(&[usize::MAX, 3]), usize::MAX);
        assert_eq!(product(&[0, 3, 0]), 3);
    }
}
