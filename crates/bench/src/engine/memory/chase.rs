//! Chases: dependent loads through every line of a buffer, each giving the address of the next.

use kernels::chase::Cycle;
use kernels::lines::Line;
use kernels::pattern::Pattern;
use model::experiment::MemoryParams;

use super::super::{Measure, Opened, Profile, Trial, Trouble};
use super::buffers::{map, obtained, share_bytes};

/// One thread's part of a chase.
pub(super) fn open(params: &MemoryParams, seed: u64) -> Result<Opened, Trouble> {
    Ok(Opened::Paced(Box::new(ChaseTrial::open(params, seed)?)))
}

/// One thread's chase.
struct ChaseTrial {
    cycle: Cycle<'static>,
    pages_obtained: Option<f64>,
}

impl ChaseTrial {
    fn open(params: &MemoryParams, seed: u64) -> Result<Self, Trouble> {
        let bytes = share_bytes(params);
        let mut region = map(bytes.max(Line::BYTES), params.pages)?;
        Pattern::seeded(seed).fill(Line::of_mut(region.as_mut_slice()));
        let pages_obtained = obtained(&region, params.pages);
        // The buffer lives as long as the worker, which ends with the launch.
        let region = Box::leak(Box::new(region));
        let nodes = &mut Line::of_mut(region.as_mut_slice())[..bytes / Line::BYTES];
        let mut links = vec![0; nodes.len()];
        let cycle = Cycle::build(nodes, &mut links, seed)
            .ok_or_else(|| Trouble::Unavailable("the working set is below one line per thread".to_owned()))?;
        Ok(Self { cycle, pages_obtained })
    }
}

impl Trial for ChaseTrial {
    fn profile(&self) -> Profile {
        Profile {
            measure: Measure::Latency,
            work_per_iteration: Cycle::LOADS_PER_ROUND as f64,
            most_iterations: u64::MAX / 1024,
            clock_between_bursts: false,
        }
    }

    fn run(&mut self, iterations: u64) {
        self.cycle.chase(iterations);
    }

    fn verify(&mut self) -> Result<(), String> {
        self.cycle.verify_position().map_err(|wrong| format!("the chase went astray: {wrong}"))
    }

    fn pages_obtained(&self) -> Option<f64> {
        self.pages_obtained
    }
}

#[cfg(test)]
mod tests {
    use model::isa::{Isa, MemoryOp, MemoryPattern, Pages};

    use super::*;

    fn params(working_set: u64) -> MemoryParams {
        MemoryParams {
            pattern: MemoryPattern::Chase,
            op: MemoryOp::Load,
            block: None,
            working_set,
            pages: Pages::Huge2M,
            isa: Isa::Scalar,
            chains: Some(1),
            group: None,
            background: None,
            placement: None,
            threads: 1,
            level: None,
            nodes: None,
        }
    }

    #[test]
    fn a_chase_verifies_where_it_stands() {
        let mut trial = ChaseTrial::open(&params(1 << 20), 3).unwrap();
        for rounds in [1, 7, 1000] {
            trial.run(rounds);
            trial.verify().unwrap();
        }
    }
}
