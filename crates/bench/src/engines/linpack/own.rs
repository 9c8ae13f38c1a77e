//! Our own solver: the problem of a process run in memory that was mapped for it, and touched by no thread yet.

use std::sync::Arc;

use kernels::dense::{Diagonal, Problem, Product, Real, SAMPLES, Shape, Solver, Unfit, Verified};
use model::isa::Element;
use model::linpack::{LinpackConditions, LinpackOp, LinpackParams};
use model::wire::Task;
use sys::numbers::{Number, Numbers};

use super::mixed::LuMixed;
use super::parts::{Memory, Parts, Team, WORKSPACE_ALIGN, abandoned, index, judged, map, unfit};
use super::{Residuals, Trouble};

pub(super) fn team(task: &Task, params: &LinpackParams) -> Result<Arc<dyn Team>, Trouble> {
    match (params.op, params.element) {
        (LinpackOp::Lu, Element::Fp64) => Ok(Arc::new(Lu::<f64>::new(task, params)?)),
        (LinpackOp::LuMixed, Element::Fp32 | Element::Bf16) => Ok(Arc::new(LuMixed::new(task, params)?)),
        (LinpackOp::Gemm, Element::Fp64) => Ok(Arc::new(Gemm::<f64>::new(task, params)?)),
        (LinpackOp::Gemm, Element::Fp32) => Ok(Arc::new(Gemm::<f32>::new(task, params)?)),
        (op, element) => Err(Trouble::Failed(format!("this version has no {op} of {element}"))),
    }
}

struct Lu<T: Real + Number> {
    solver: Solver<T, Numbers<T>>,
    memory: Memory,
}

impl<T: Real + Number> Lu<T> {
    fn new(task: &Task, params: &LinpackParams) -> Result<Self, Trouble> {
        let Parts { tile, blocking, crew, n, lda } = Parts::<T>::new(task, params)?;
        let problem = Problem { n, lda, seed: task.seed, diagonal: Diagonal::Drawn, tile, blocking };
        let matrix = map::<T>(problem.matrix_len().ok_or(Unfit::Order).map_err(unfit)?, index(params.align)?)?;
        let workspace = map::<T>(problem.workspace_len(crew.threads()), WORKSPACE_ALIGN)?;
        let memory = Memory::new(&[matrix.region()], &[workspace.region()]);
        let solver = Solver::new(problem, crew, matrix, workspace).map_err(unfit)?;
        Ok(Self { solver, memory })
    }
}

impl<T: Real + Number> Team for Lu<T> {
    fn fill(&self, thread: usize) -> Result<(), String> {
        self.solver.fill(thread).map_err(abandoned)
    }

    fn work(&self, thread: usize, look: &mut dyn FnMut()) -> Result<(), String> {
        self.solver.factor_and_solve(thread, look).map_err(abandoned)
    }

    fn check(&self, thread: usize) -> Result<Residuals, String> {
        let checked = self.solver.check(thread).map_err(abandoned)?;
        judged(&checked, self.solver.singular())
    }

    fn abandon(&self) {
        self.solver.crew().abandon();
    }

    fn describe(&self) -> (Option<f64>, LinpackConditions) {
        let problem = self.solver.problem();
        self.memory.describe(problem.tile.tile().name, problem.n * problem.n * size_of::<T>())
    }
}

fn judged_product(verified: &Verified) -> Result<Residuals, String> {
    let Verified { scaled, wrong_entries } = *verified;
    if verified.passes() {
        return Ok(Residuals { scaled, raw: None });
    }
    Err(format!(
        "the product is wrong: its error is {scaled:.3e} times what rounding explains, and {wrong_entries} of {SAMPLES} \
         recomputed entries differ"
    ))
}

struct Gemm<T: Real + Number> {
    product: Product<T, Numbers<T>>,
    memory: Memory,
}

impl<T: Real + Number> Gemm<T> {
    fn new(task: &Task, params: &LinpackParams) -> Result<Self, Trouble> {
        let Parts { tile, blocking, crew, n, lda } = Parts::<T>::new(task, params)?;
        let shape = Shape::square(n, lda, task.seed, tile, blocking);
        let [a, b, c] = shape.operand_lens().ok_or(Unfit::Order).map_err(unfit)?;
        let align = index(params.align)?;
        let operands = [map::<T>(a, align)?, map::<T>(b, align)?, map::<T>(c, align)?];
        let workspace = map::<T>(shape.workspace_len(crew.threads()), WORKSPACE_ALIGN)?;
        let memory = Memory::new(&operands.each_ref().map(Numbers::region), &[workspace.region()]);
        let product = Product::new(shape, crew, operands, workspace).map_err(unfit)?;
        Ok(Self { product, memory })
    }
}

impl<T: Real + Number> Team for Gemm<T> {
    fn fill(&self, thread: usize) -> Result<(), String> {
        self.product.fill(thread).map_err(abandoned)
    }

    fn work(&self, thread: usize, look: &mut dyn FnMut()) -> Result<(), String> {
        self.product.multiply(thread, look).map_err(abandoned)
    }

    fn check(&self, thread: usize) -> Result<Residuals, String> {
        judged_product(&self.product.verify(thread).map_err(abandoned)?)
    }

    fn abandon(&self) {
        self.product.crew().abandon();
    }

    fn describe(&self) -> (Option<f64>, LinpackConditions) {
        let shape = self.product.shape();
        self.memory.describe(shape.tile.tile().name, 3 * shape.rows * shape.rows * size_of::<T>())
    }
}

#[cfg(test)]
mod tests {
    use kernels::dense::Checked;

    use super::*;

    #[test]
    fn only_what_rounding_explains_is_a_result() {
        let checked = |scaled, residual| judged(&Checked { residual, scaled }, None);
        assert_eq!(checked(0.02, 1e-12), Ok(Residuals { scaled: 0.02, raw: Some(1e-12) }));
        for bad in [16.0, 1e9, f64::INFINITY, f64::NAN] {
            assert!(checked(bad, 1.0).unwrap_err().contains("the solution is wrong"), "{bad}");
        }
        assert!(checked(0.02, f64::NAN).is_err());
        let verified = |scaled, wrong_entries| judged_product(&Verified { scaled, wrong_entries });
        assert_eq!(verified(0.1, 0), Ok(Residuals { scaled: 0.1, raw: None }));
        assert!(verified(0.1, 1).unwrap_err().contains("1 of 64"));
        assert!(verified(2.0, 0).is_err() && verified(f64::NAN, 0).is_err());
    }

    #[test]
    fn a_product_that_is_changed_afterwards_is_found() {
        let (task, params) = super::super::tests::task_with(60, 1, |params| params.op = LinpackOp::Gemm);
        let mut gemm = Gemm::<f64>::new(&task, &params).unwrap();
        let checked = |gemm: &Gemm<f64>| {
            gemm.fill(0).and_then(|()| gemm.work(0, &mut || {})).unwrap();
            gemm.check(0)
        };
        assert!(checked(&gemm).is_ok());
        // One entry of the third column, once all are computed.
        gemm.product.operands_mut()[2][2 * 68 + 7] += 1e-6;
        assert!(gemm.check(0).unwrap_err().contains("the product is wrong"));
        assert!(checked(&gemm).is_ok(), "computed again");
    }
}
