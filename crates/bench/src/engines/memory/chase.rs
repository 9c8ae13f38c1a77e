//! Chases: dependent loads through every line of a buffer, each of which gives the address of the next.

use super::super::{Means, Measure, Profile, Trial, Trouble};
use super::buffers::{map, obtained, want_huge_pages};
use areas::memory::blocks::share_bytes;
use kernels::chase::{Chase, Order};
use kernels::lines::CacheLine;
use kernels::pattern::Pattern;
use model::experiment::MemoryParams;
use model::isa::Pages;
use model::unit::Unit;

pub(super) fn open(params: &MemoryParams, seed: u64) -> Result<ChaseTrial, Trouble> {
    // One chain measures the latency of a load; several, how many loads a core completes at a time.
    let one = params.chains.unwrap_or(1) == 1;
    let measure = if one { Measure::Latency } else { Measure::Rate(Unit::OpPerSecond) };
    ChaseTrial::open(params, share_bytes(params), measure, seed)
}

pub(super) struct ChaseTrial {
    chase: Chase<'static>,
    measure: Measure,
    pages_obtained: Option<f64>,
}

impl ChaseTrial {
    pub(super) fn open(params: &MemoryParams, bytes: usize, measure: Measure, seed: u64) -> Result<Self, Trouble> {
        let lines = |bytes: u64| usize::try_from(bytes / CacheLine::BYTES as u64).unwrap_or(usize::MAX);
        let order = Order { chains: params.chains.unwrap_or(1) as usize, group: params.group.map(lines) };
        let mut region = map(bytes.max(CacheLine::BYTES), params.pages)?;
        Pattern::seeded(seed).fill(CacheLine::slice_mut(region.as_mut_slice()));
        want_huge_pages(&region, params.pages);
        let pages_obtained = obtained(&region, params.pages);
        // The buffer lives as long as the worker, which ends with the process run.
        let region = Box::leak(Box::new(region));
        let nodes = &mut CacheLine::slice_mut(region.as_mut_slice())[..bytes / CacheLine::BYTES];
        // Drawn in random order as well: without huge pages, half of the time would be page walks.
        let mut scratch = map(Chase::scratch_lines(nodes.len()) * CacheLine::BYTES, Pages::Huge2M)?;
        let chase = Chase::build(nodes, CacheLine::slice_mut(scratch.as_mut_slice()), order, seed);
        let chase = chase.ok_or_else(|| {
            let why = format!("a thread's {bytes} B of the working set hold less than one line for each chain");
            Trouble::Unavailable(format!("{why}, or more than 256 GiB"))
        })?;
        Ok(Self { chase, measure, pages_obtained })
    }
}

impl Trial for ChaseTrial {
    fn profile(&self) -> Profile {
        Profile::unpaced(self.measure, self.chase.loads_per_round() as f64)
    }

    fn run(&mut self, iterations: u64) {
        self.chase.follow(iterations);
    }

    fn verify(&mut self) -> Result<(), String> {
        self.chase.verify_position().map_err(|wrong| format!("the chase followed a wrong address: {wrong}"))
    }

    fn means(&self) -> Means {
        Means { pages_obtained: self.pages_obtained, ..Means::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::memory::tests::params;
    use model::isa::{MemoryOp, MemoryPattern};

    fn chase(working_set: u64, chains: u32, group: Option<u64>) -> MemoryParams {
        MemoryParams { chains: Some(chains), group, ..params(MemoryPattern::Chase, MemoryOp::Load, working_set) }
    }

    fn opened(params: &MemoryParams) -> ChaseTrial {
        ChaseTrial::open(params, share_bytes(params), Measure::Latency, 3).unwrap()
    }

    #[test]
    fn a_chase_verifies_where_it_stands() {
        for params in [chase(1 << 20, 1, None), chase(1 << 20, 13, None), chase(1 << 20, 1, Some(8 << 10))] {
            let mut trial = opened(&params);
            for rounds in [1, 7, 1000] {
                trial.run(rounds);
                trial.verify().unwrap();
            }
        }
    }

    #[test]
    fn several_chains_are_a_rate_and_one_is_a_latency() {
        let profile = |chains| open(&chase(1 << 20, chains, None), 3).unwrap().profile();
        assert_eq!((profile(1).measure, profile(1).work_per_iteration), (Measure::Latency, 64.0));
        assert_eq!((profile(12).measure, profile(12).work_per_iteration), (Measure::Rate(Unit::OpPerSecond), 60.0));
    }

    #[test]
    fn fewer_lines_than_chains_are_refused() {
        let params = chase(256, 5, None);
        let refused = ChaseTrial::open(&params, share_bytes(&params), Measure::Latency, 3).err();
        assert!(matches!(refused, Some(Trouble::Unavailable(reason)) if reason.contains("256 B")));
    }
}
