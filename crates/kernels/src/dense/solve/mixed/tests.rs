//! Factors of another matrix, which a refinement must reject.

extern crate std;

use std::vec;

use super::*;
use crate::dense::blocking::{Blocking, Caches};
use crate::dense::real::widest;
use crate::dense::solve::gmres::MOST_REFINEMENTS;
use crate::features::Features;

#[test]
fn factors_of_another_matrix_do_not_converge() {
    const N: usize = 400;
    for diagonal in [Diagonal::Drawn, Diagonal::Dominant] {
        let (tile, wide) = (widest::<f32>(&Features::detect()).unwrap(), widest::<f64>(&Features::detect()).unwrap());
        let blocking = Blocking::new(tile.tile(), N, Caches::default());
        let problem = Problem { n: N, lda: N, seed: 7, diagonal, tile, blocking };
        let kept = (vec![0.0; problem.kept_len().unwrap()], vec![0.0; problem.refinement_len()]);
        let low = (vec![0.0; problem.matrix_len().unwrap()], vec![0.0; problem.workspace_len(1)]);
        let mixed = Mixed::new(problem, wide, Crew::new(1, || {}), kept, low).unwrap();
        mixed.fill(0).unwrap();
        let solved = mixed.together(0, Phase::Work, || {
            // SAFETY: this thread is the whole crew, and the factors have these rows.
            unsafe {
                mixed.round(0, &mut || {});
                mixed.low.factor(0, &mut || {})?;
                // Every other pivot has another sign and size, so that even a nearly diagonal matrix is another one.
                for row in (0..N).step_by(2) {
                    let pivot = mixed.low.grid().at(row, row);
                    pivot.write(-pivot.read() * (row + 1) as f32);
                }
                mixed.low.grid().column_mut(N, 0..N).fill(1.0);
                mixed.refine(0, &mut || {})
            }
        });
        assert_eq!(solved, Ok(()));
        assert_eq!(mixed.refined(), Refined { refinements: MOST_REFINEMENTS, converged: false });
        assert!(!mixed.check(0).unwrap().passes());
        mixed.factor_and_solve(0, &mut || {}).unwrap();
        assert!(mixed.refined().converged && mixed.check(0).unwrap().passes());
    }
}
