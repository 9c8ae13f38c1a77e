//! Our own solver in mixed precision: a system in fp64, factors in fp32 or by products in bf16, and refinement.

use areas::linpack::solver;
use kernels::dense::{Checked, Diagonal, MOST_REFINEMENTS, Mixed, Problem, Refined, Unfit};
use model::isa::Element;
use model::linpack::{LinpackConditions, LinpackMatrix, LinpackParams};
use model::wire::Task;
use sys::numbers::Numbers;

use super::parts::{Memory, Parts, Team, WORKSPACE_ALIGN, abandoned, bound_tile, index, judged, map, unfit};
use super::{Residuals, Trouble};

fn judged_mixed(
    checked: &Checked,
    singular: Option<usize>,
    refined: Refined,
    factors: Element,
) -> Result<Residuals, String> {
    if let Some(column) = singular {
        return Err(format!("the matrix is singular in {factors}: column {column} (counted from 0) has no pivot"));
    }
    if !refined.converged {
        let (rounds, scaled) = (refined.refinements, checked.scaled);
        return Err(format!(
            "the refinement did not converge: after {rounds} of at most {MOST_REFINEMENTS} rounds the scaled residual is \
             {scaled:.3e}. The matrix is too ill-conditioned for factors in {factors}. Use --op lu for HPL's matrix"
        ));
    }
    judged(checked, None)
}

pub(super) struct LuMixed {
    solver: Mixed<Numbers<f64>, Numbers<f32>>,
    factors: Element,
    memory: Memory,
}

impl LuMixed {
    pub(super) fn new(task: &Task, params: &LinpackParams) -> Result<Self, Trouble> {
        let Parts { tile, blocking, crew, n, lda } = Parts::<f32>::new(task, params)?;
        let isa = params.isa.map(solver::with_factors);
        let wide = bound_tile::<f64>(&LinpackParams { isa, element: Element::Fp64, ..params.clone() })?;
        let is_dominant = params.matrix() == Some(LinpackMatrix::DiagonallyDominant);
        let diagonal = if is_dominant { Diagonal::Dominant } else { Diagonal::Drawn };
        let problem = Problem { n, lda, seed: task.seed, diagonal, tile, blocking };
        let align = index(params.align)?;
        let kept = map::<f64>(problem.kept_len().ok_or(Unfit::Order).map_err(unfit)?, align)?;
        let factors = map::<f32>(problem.matrix_len().ok_or(Unfit::Order).map_err(unfit)?, align)?;
        let vectors = map::<f64>(problem.refinement_len(), WORKSPACE_ALIGN)?;
        let workspace = map::<f32>(problem.workspace_len(crew.threads()), WORKSPACE_ALIGN)?;
        let memory = Memory::new(&[kept.region(), factors.region()], &[vectors.region(), workspace.region()]);
        let solver = Mixed::new(problem, wide, crew, (kept, vectors), (factors, workspace)).map_err(unfit)?;
        Ok(Self { solver, factors: params.element, memory })
    }
}

impl Team for LuMixed {
    fn fill(&self, thread: usize) -> Result<(), String> {
        self.solver.fill(thread).map_err(abandoned)
    }

    fn work(&self, thread: usize, look: &mut dyn FnMut()) -> Result<(), String> {
        self.solver.factor_and_solve(thread, look).map_err(abandoned)
    }

    fn check(&self, thread: usize) -> Result<Residuals, String> {
        let checked = self.solver.check(thread).map_err(abandoned)?;
        judged_mixed(&checked, self.solver.singular(), self.solver.refined(), self.factors)
    }

    fn abandon(&self) {
        self.solver.crew().abandon();
    }

    fn describe(&self) -> (Option<f64>, LinpackConditions) {
        let problem = self.solver.problem();
        let bytes = problem.n * problem.n * (size_of::<f64>() + size_of::<f32>());
        let (huge_share, conditions) = self.memory.describe(problem.tile.tile().name, bytes);
        // Every sample solves the same system by the same operations.
        let refinements = Some(self.solver.refined().refinements as f64);
        (huge_share, LinpackConditions { refinements, ..conditions })
    }
}

#[cfg(test)]
mod tests {
    use model::isa::Isa;
    use model::linpack::LinpackOp;

    use super::*;
    use crate::engines::linpack::tests;

    fn team(n: u64, threads: u32) -> LuMixed {
        let (task, params) = tests::task_with(n, threads, |params| {
            (params.op, params.element) = (LinpackOp::LuMixed, Element::Fp32);
        });
        LuMixed::new(&task, &params).unwrap()
    }

    /// One sample of a team of one thread.
    fn sample(team: &LuMixed) -> Result<Residuals, String> {
        team.fill(0)?;
        team.work(0, &mut || {})?;
        team.check(0)
    }

    /// One sample of a matrix with another entry than the check expects.
    fn sample_of_another_matrix(team: &mut LuMixed) -> Result<Residuals, String> {
        team.fill(0)?;
        let Problem { n, lda, .. } = *team.solver.problem();
        team.solver.matrix_mut()[n / 3 * lda + n / 2] = 1.0;
        team.work(0, &mut || {})?;
        team.check(0)
    }

    #[test]
    fn a_solution_passes_and_says_how_often_it_was_refined() {
        let team = team(300, 1);
        for _ in 0..2 {
            let found = sample(&team).unwrap();
            assert!(found.scaled < 2.0 && found.raw.is_some_and(|raw| raw > 0.0), "{found:?}");
        }
        let (_, seen) = team.describe();
        assert!(seen.refinements.is_some_and(|rounds| (1.0..20.0).contains(&rounds)), "{seen:?}");
        assert_eq!(seen.matrix_bytes, Some(300 * 300 * 12));
        assert!(seen.mapped_bytes >= seen.matrix_bytes && seen.kernel.is_some(), "{seen:?}");
    }

    /// A team with factors in bf16, where this machine has them.
    fn brain(n: u64) -> Option<LuMixed> {
        let (task, params) = tests::task_with(n, 1, |params| {
            (params.op, params.element, params.isa) = (LinpackOp::LuMixed, Element::Bf16, Some(Isa::Avx512Bf16));
        });
        match LuMixed::new(&task, &params) {
            Ok(team) => Some(team),
            Err(Trouble::Unavailable(reason)) => {
                assert!(reason.contains("lacks avx512_bf16 for lu_mixed of bf16"), "{reason}");
                crate::tests::skip("factors in bf16", &reason);
                None
            }
            Err(trouble) => panic!("{trouble:?}"),
        }
    }

    #[test]
    fn factors_in_bf16_solve_a_dominant_matrix_and_their_faults_are_found() {
        let Some(mut team) = brain(400) else { return };
        let found = sample(&team).unwrap();
        assert!(found.scaled < 2.0 && found.raw.is_some_and(|raw| raw > 0.0), "{found:?}");
        let (_, seen) = team.describe();
        assert_eq!((seen.kernel.as_deref(), seen.matrix_bytes), (Some("avx512_bf16/48x8"), Some(400 * 400 * 12)));
        assert!(seen.refinements.is_some_and(|rounds| (1.0..8.0).contains(&rounds)), "{seen:?}");
        assert_eq!(team.solver.problem().diagonal, Diagonal::Dominant);
        assert!(sample_of_another_matrix(&mut team).unwrap_err().contains("the solution is wrong"));
    }

    #[test]
    fn what_is_solved_wrong_or_does_not_converge_fails_with_the_reason() {
        let mut team = team(400, 1);
        assert!(sample_of_another_matrix(&mut team).unwrap_err().contains("the solution is wrong"));
        assert!(sample(&team).is_ok());
        let (checked, refined) =
            (Checked { residual: 1.0, scaled: 1e9 }, Refined { refinements: 50, converged: false });
        let reason = judged_mixed(&checked, None, refined, Element::Fp32).unwrap_err();
        assert!(reason.contains("did not converge: after 50 of at most 50 rounds"), "{reason}");
    }

    #[test]
    fn a_matrix_without_a_pivot_is_reported_with_its_column() {
        let mut team = team(90, 1);
        team.fill(0).unwrap();
        let lda = team.solver.problem().lda;
        team.solver.matrix_mut()[lda * 89..][..90].fill(0.0);
        team.work(0, &mut || {}).unwrap();
        assert!(team.check(0).unwrap_err().contains("singular in fp32: column 89"));
    }
}
