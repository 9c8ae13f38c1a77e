//! Solvers allocate nothing once they have their buffers.
#![expect(clippy::unwrap_used, reason = "what fails here is a test")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use kernels::dense::{
    Abandoned, Blocking, Caches, Crew, Diagonal, Mixed, Problem, Product, Real, Shape, Solver, widest,
};
use kernels::features::Features;

/// Counts the allocations of watched threads.
struct Counting;

static COUNT: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static IS_WATCHED: Cell<bool> = const { Cell::new(false) };
}

// SAFETY: everything is the system allocator's; counting allocates nothing, as the flag needs no room but its own.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if IS_WATCHED.get() {
            COUNT.fetch_add(1, Ordering::Relaxed);
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(place, layout) };
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const N: usize = 333;
const THREADS: usize = 2;

/// The number of allocations while the threads of a crew do this.
fn allocations(work: impl Fn(usize) -> Result<bool, Abandoned> + Sync) -> usize {
    COUNT.store(0, Ordering::Relaxed);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let work = &work;
            scope.spawn(move || {
                IS_WATCHED.set(true);
                let passes = work(thread);
                IS_WATCHED.set(false);
                assert_eq!(passes, Ok(true));
            });
        }
    });
    COUNT.load(Ordering::Relaxed)
}

fn problem<T: Real>() -> Problem<T> {
    let tile = widest::<T>(&Features::detect()).unwrap();
    let blocking = Blocking::new(tile.tile(), N, Caches::default());
    Problem { n: N, lda: N, seed: 3, diagonal: Diagonal::Drawn, tile, blocking }
}

fn crew() -> Crew {
    Crew::new(THREADS, std::thread::yield_now)
}

#[test]
fn nothing_is_allocated_after_the_start() {
    let counted = allocations(|_| {
        drop(std::hint::black_box(Box::new(7)));
        Ok(true)
    });
    assert_eq!(counted, THREADS, "allocations are seen");

    let wide = problem::<f64>();
    let (matrix, work) = (vec![0.0; wide.matrix_len().unwrap()], vec![0.0; wide.workspace_len(THREADS)]);
    let solver = Solver::new(wide, crew(), matrix, work).unwrap();
    let solve = |thread| {
        solver.fill(thread)?;
        solver.factor_and_solve(thread, &mut || {})?;
        Ok(solver.check(thread)?.passes())
    };
    assert_eq!(allocations(solve), 0);

    let low = problem::<f32>();
    let kept = (vec![0.0; low.kept_len().unwrap()], vec![0.0; low.refinement_len()]);
    let factors = (vec![0.0; low.matrix_len().unwrap()], vec![0.0; low.workspace_len(THREADS)]);
    let mixed = Mixed::new(low, wide.tile, crew(), kept, factors).unwrap();
    let solve = |thread| {
        mixed.fill(thread)?;
        mixed.factor_and_solve(thread, &mut || {})?;
        Ok(mixed.check(thread)?.passes())
    };
    assert_eq!(allocations(solve), 0);

    let shape = Shape::square(N, N, 3, wide.tile, wide.blocking);
    let operands = shape.operand_lens().unwrap().map(|len| vec![0.0; len]);
    let product = Product::new(shape, crew(), operands, vec![0.0; shape.workspace_len(THREADS)]).unwrap();
    let multiply = |thread| {
        product.fill(thread)?;
        product.multiply(thread, &mut || {})?;
        Ok(product.verify(thread)?.passes())
    };
    assert_eq!(allocations(multiply), 0);
}
