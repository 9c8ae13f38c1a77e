//! Linear equations solved by crews against a naive oracle.

use std::thread::ScopedJoinHandle;

use crate::support::{Setting, crewed, every_tile, naive, solver, solver_of};
use kernels::dense::{Abandoned, Checked, Crew, Problem, Real, Solver, Unfit, check, padded};
use kernels::features::Features;

fn fill_and_solve<T: Real>(solver: &Solver<T, Vec<T>>, thread: usize) -> Result<(), Abandoned> {
    solver.fill(thread)?;
    solver.factor_and_solve(thread, &mut || {})
}

fn solve_and_check<T: Real>(solver: &Solver<T, Vec<T>>, thread: usize) -> Result<Checked, Abandoned> {
    solver.factor_and_solve(thread, &mut || {})?;
    solver.check(thread)
}

fn fill_solve_and_check<T: Real>(solver: &Solver<T, Vec<T>>, thread: usize) -> Result<Checked, Abandoned> {
    solver.fill(thread)?;
    solve_and_check(solver, thread)
}

/// Solves and checks; returns the bits of the solution.
fn solved<T: Real>(setting: Setting<T>) -> (Vec<u64>, f64) {
    let mut solver = solver(setting);
    let checks = crewed(&solver, fill_solve_and_check);
    assert!(checks.iter().all(|check| check == &checks[0]), "{setting:?}: {checks:?}");
    let Ok(check) = checks[0] else { panic!("{setting:?} was abandoned") };
    assert!(check.passes() && solver.singular().is_none(), "{setting:?}: {check:?}");
    let n = setting.n;
    let solution = &solver.matrix_mut()[setting.lda * n..][..n];
    (solution.iter().map(|x| x.to_f64().to_bits()).collect(), check.scaled)
}

#[test]
fn every_small_order_is_solved_to_the_same_bits_by_any_number_of_threads() {
    for tile in every_tile::<f64>() {
        for n in (1..=300).filter(|n| *n < 52 || n % 24 < 2) {
            let setting = Setting { n, lda: n + n % 3, panel: [None, Some(1 + n % 50)][n % 2], ..Setting::new(tile) };
            let alone = solved(setting);
            let together = solved(Setting { threads: [2, 3, 5][n % 3], ..setting });
            assert_eq!(alone, together, "{setting:?}");
        }
    }
}

#[test]
fn orders_of_several_jobs_are_solved_in_both_types() {
    for tile in every_tile::<f64>() {
        for (n, panel) in [(401, 48), (517, 96), (640, 30)] {
            let setting = Setting { n, lda: padded::<f64>(n), panel: Some(panel), ..Setting::new(tile) };
            assert_eq!(solved(setting), solved(Setting { threads: 4, ..setting }));
        }
    }
    for tile in every_tile::<f32>() {
        for n in [1, 2, 3, 47, 48, 49, 97, 150, 517] {
            let setting = Setting { n, lda: n, ..Setting::new(tile) };
            assert_eq!(solved(setting), solved(Setting { threads: 3, ..setting }));
        }
    }
}

#[test]
fn factors_pivots_and_solution_agree_with_the_oracle() {
    for tile in every_tile::<f64>() {
        for n in [1, 2, 7, 8, 9, 24, 25, 63, 100, 131, 257] {
            let setting = Setting { n, lda: n + 5, panel: Some(36), threads: 2, ..Setting::new(tile) };
            let mut solver = solver(setting);
            crewed(&solver, fill_and_solve);
            let oracle = naive(n, setting.seed);
            assert_eq!(solver.pivots(), oracle.pivots, "{setting:?}");
            let matrix = solver.matrix_mut().to_vec();
            for column in 0..=n {
                // The lower factor's rows keep the order of the time when their panel was factored.
                let last = if column == n { n } else { column + 1 };
                for row in 0..last {
                    let (found, expected) = (matrix[column * setting.lda + row], oracle.matrix[column * n + row]);
                    assert!((found - expected).abs() < 1e-8 * (1.0 + expected.abs()), "{setting:?} {row} {column}");
                }
            }
        }
    }
}

#[test]
fn padding_between_columns_is_kept() {
    for tile in every_tile::<f64>() {
        let setting = Setting { n: 61, lda: 70, threads: 2, ..Setting::new(tile) };
        let mut solver = solver(setting);
        solver.matrix_mut().fill(f64::NAN);
        crewed(&solver, fill_and_solve);
        for column in solver.matrix_mut().chunks(70) {
            assert!(
                column.iter().skip(61).all(|entry| entry.is_nan()) && !column[..61].iter().any(|entry| entry.is_nan())
            );
        }
    }
}

#[test]
fn a_planted_fault_fails_the_residual() {
    for tile in every_tile::<f64>() {
        for n in [1, 2, 50, 300] {
            let mut solver = solver(Setting { n, lda: n, threads: 2, ..Setting::new(tile) });
            crewed(&solver, Solver::fill);
            solver.matrix_mut()[n / 3 * n + n / 2] = 1.0;
            let wrong = crewed(&solver, solve_and_check)[0].unwrap();
            assert!(!wrong.passes(), "{n}: {wrong:?}");
            assert!(crewed(&solver, fill_solve_and_check)[0].unwrap().passes(), "{n}: filled again");
        }
    }
}

#[test]
fn a_wrong_or_not_finite_solution_fails() {
    let n = 100;
    let mut right = naive(n, 5).matrix[n * n..].to_vec();
    assert!(check(5, &right).passes());
    assert!(!check(6, &right).passes());
    right[99] += 1e-9;
    assert!(!check(5, &right).passes());
    right[99] = f64::NAN;
    assert!(!check(5, &right).passes() && check(5, &right).residual.is_nan());
    right[99] = f64::INFINITY;
    assert!(!check(5, &right).passes());
}

#[test]
fn a_singular_matrix_is_reported_with_its_first_column_without_a_pivot() {
    for tile in every_tile::<f64>() {
        for (n, zero) in [(1, 0), (9, 8), (60, 0), (60, 25), (130, 129)] {
            let mut solver = solver(Setting { n, lda: n, threads: 2, panel: Some(32), ..Setting::new(tile) });
            crewed(&solver, Solver::fill);
            solver.matrix_mut()[zero * n..][..n].fill(0.0);
            let outcome = crewed(&solver, solve_and_check);
            assert_eq!(solver.singular(), Some(zero), "{n}");
            assert!(!outcome[0].unwrap().passes());
        }
    }
}

#[test]
fn tiny_pivots_do_not_overflow() {
    for tile in every_tile::<f64>() {
        let mut solver = solver(Setting { n: 20, lda: 20, ..Setting::new(tile) });
        crewed(&solver, Solver::fill);
        // Scaled by a power of two so that entries are subnormal.
        let scaled = |entry: f64| entry * f64::from_bits(1 << 52) * 0.5_f64.powi(9);
        solver.matrix_mut().iter_mut().for_each(|entry| *entry = scaled(*entry));
        crewed(&solver, |solver, thread| solver.factor_and_solve(thread, &mut || {}));
        assert!(solver.matrix_mut()[400..].iter().all(|x| x.is_finite()));
    }
}

#[test]
fn look_is_called_on_every_thread_while_there_is_work() {
    let tile = every_tile::<f64>()[0];
    let solver = solver(Setting { n: 600, lda: 600, threads: 2, ..Setting::new(tile) });
    let looks = crewed(&solver, |solver, thread| {
        let mut looks = 0_usize;
        solver.fill(thread)?;
        solver.factor_and_solve(thread, &mut || looks += 1)?;
        Ok(looks)
    });
    assert!(looks.iter().all(|looks| looks.unwrap() > 10), "{looks:?}");
}

#[test]
fn a_crew_abandons_its_work_where_a_thread_panics_or_errs() {
    let tile = every_tile::<f64>()[0];
    let new = || solver(Setting { n: 300, lda: 300, threads: 3, ..Setting::new(tile) });
    let panicking = new();
    let outcomes = std::thread::scope(|scope| {
        let work = |thread| {
            let panicking = &panicking;
            move || {
                panicking.fill(thread)?;
                let mut looks = 0;
                panicking.factor_and_solve(thread, &mut || {
                    looks += 1;
                    assert!(thread != 2 || looks < 3, "planned");
                })
            }
        };
        [0, 1, 2].map(|thread| scope.spawn(work(thread))).map(ScopedJoinHandle::join)
    });
    assert!(outcomes[2].is_err(), "the panic is passed on");
    assert!(outcomes[..2].iter().all(|outcome| matches!(outcome, Ok(Err(Abandoned)))));
    assert!(panicking.crew().is_abandoned() && panicking.fill(0) == Err(Abandoned));

    let outside = new();
    assert_eq!(outside.fill(3), Err(Abandoned), "no such thread");
    let twice = new();
    let outcomes = std::thread::scope(|scope| {
        let handles = [(); 2].map(|()| scope.spawn(|| twice.fill(0)));
        handles.map(|handle| handle.join().unwrap())
    });
    assert_eq!(outcomes, [Err(Abandoned); 2], "one number on two threads");
    let different = new();
    let outcomes = crewed(
        &different,
        |solver, thread| {
            if thread == 0 { solver.fill(thread) } else { solver.check(thread).map(|_| ()) }
        },
    );
    assert_eq!(outcomes, [Err(Abandoned); 3], "different things at a time");
}

#[test]
fn a_problem_that_does_not_fit_is_refused() {
    let tile = every_tile::<f64>()[0];
    let setting = Setting { n: 10, lda: 12, ..Setting::new(tile) };
    let problem = setting.problem();
    let (matrix, work) = (problem.matrix_len().unwrap(), problem.workspace_len(1));
    let new = |problem: Problem<f64>, matrix: usize, work: usize| {
        Solver::new(problem, Crew::new(1, || {}), vec![0.0; matrix], vec![0.0; work]).map(|_| ()).unwrap_err()
    };
    assert_eq!(new(problem, matrix - 1, work), Unfit::Matrix(matrix));
    assert_eq!(new(problem, matrix, work - 1), Unfit::Workspace(work));
    assert_eq!(new(Problem { n: 0, ..problem }, matrix, work), Unfit::Order);
    assert_eq!(new(Problem { lda: 9, ..problem }, matrix, work), Unfit::LeadingDimension);
    let huge = Problem { n: usize::MAX / 2, lda: usize::MAX / 2, ..problem };
    assert_eq!((new(huge, matrix, work), huge.matrix_len()), (Unfit::Order, None));
    assert!(solver_of(problem, 2).factor_and_solve(2, &mut || {}).is_err());
}

#[test]
fn the_widest_tile_is_one_that_this_machine_can_run() {
    let found = kernels::dense::widest::<f64>(&Features::detect()).unwrap();
    assert_eq!(found.tile().name, every_tile::<f64>()[0].tile().name);
    let portable = kernels::dense::widest::<f32>(&Features::NONE).unwrap();
    assert!(portable.tile().requires.is_empty());
}
