//! Systems solved in mixed precision against a naive oracle, and what refinement cannot correct.
#![expect(clippy::unwrap_used, reason = "what fails here is a test")]

use crate::support::{Setting, every_tile, solver, together};
use kernels::dense::{
    Blocking, BoundTile, Caches, Checked, Crew, Diagonal, MOST_REFINEMENTS, Mixed, Problem, Real, Refined, Unfit, find,
    padded,
};
use kernels::features::Features;
use model::isa::Isa;

type Buffers = Mixed<Vec<f64>, Vec<f32>>;

/// The tile of the same instruction set for fp64; for pairs of bf16 that of the set which they extend.
fn wide(tile: BoundTile<f32>) -> BoundTile<f64> {
    let isa = match tile.tile().isa {
        Isa::Avx512Bf16 => Isa::Avx512,
        Isa::NeonBf16 => Isa::Neon,
        other => other,
    };
    find::<f64>(isa, &Features::detect()).unwrap()
}

/// The tiles with pairs of bf16 that this machine can run.
fn paired_tiles(what: &str) -> Vec<BoundTile<f32>> {
    let features = Features::detect();
    let found: Vec<_> = f32::paired_tiles().iter().filter_map(|tile| tile.bind(&features)).collect();
    if found.is_empty() {
        crate::skip::skip(what, "this machine has no instruction set that multiplies bf16");
    }
    found
}

/// Every tile with the problem that it can solve: random matrices, and with factors in bf16 dominant ones.
fn every_setting(what: &str) -> Vec<Setting<f32>> {
    every_tile().into_iter().map(Setting::new).chain(paired_tiles(what).into_iter().map(dominant)).collect()
}

/// HPL-MxP's problem with this tile.
const fn dominant(tile: BoundTile<f32>) -> Setting<f32> {
    Setting { diagonal: Diagonal::Dominant, ..Setting::new(tile) }
}

fn mixed(setting: Setting<f32>) -> Buffers {
    let problem = setting.problem();
    let crew = Crew::new(setting.threads, std::thread::yield_now);
    let wide_buffers = (vec![0.0; problem.kept_len().unwrap()], vec![0.0; problem.refinement_len()]);
    let low_buffers = (vec![0.0; problem.matrix_len().unwrap()], vec![0.0; problem.workspace_len(setting.threads)]);
    Mixed::new(problem, wide(setting.tile), crew, wide_buffers, low_buffers).unwrap()
}

fn filled(setting: Setting<f32>) -> Buffers {
    let mixed = mixed(setting);
    together(setting.threads, |thread| mixed.fill(thread).unwrap());
    mixed
}

fn solve(mixed: &Buffers) -> Refined {
    together(mixed.crew().threads(), |thread| mixed.factor_and_solve(thread, &mut || {}).unwrap());
    mixed.refined()
}

fn check(mixed: &Buffers) -> Checked {
    let checks = together(mixed.crew().threads(), |thread| mixed.check(thread).unwrap());
    assert!(checks.iter().all(|check| format!("{check:?}") == format!("{:?}", checks[0])), "{checks:?}");
    checks[0]
}

/// Fills, solves and checks; returns the solution and how it was refined.
fn solved(setting: Setting<f32>) -> (Vec<f64>, Refined) {
    let mut mixed = filled(setting);
    let refined = solve(&mixed);
    let checked = check(&mixed);
    assert!(refined.converged && checked.scaled < 2.0 && mixed.singular().is_none(), "{setting:?}: {checked:?}");
    (mixed.solution_mut().to_vec(), refined)
}

fn bits((solution, refined): &(Vec<f64>, Refined)) -> (Vec<u64>, usize) {
    (solution.iter().map(|x| x.to_bits()).collect(), refined.refinements)
}

#[test]
fn every_small_order_is_solved_to_the_same_bits_by_any_number_of_threads() {
    for setting in every_setting("systems solved by factors in bf16") {
        for n in (1..=300).filter(|n| *n < 52 || n % 24 < 2) {
            let setting = Setting { n, lda: n + n % 3, panel: [None, Some(1 + n % 50)][n % 2], ..setting };
            let alone = solved(setting);
            assert!(alone.1.refinements < 20, "{setting:?}: {:?}", alone.1);
            let together = solved(Setting { threads: [2, 3, 5][n % 3], ..setting });
            assert_eq!(bits(&alone), bits(&together), "{setting:?}");
        }
    }
}

#[test]
fn orders_of_several_panels_are_solved_to_the_accuracy_of_fp64() {
    for (n, panel, threads) in [(257, 48, 2), (401, 37, 3), (517, 96, 4), (640, 30, 2)] {
        for setting in every_setting("systems of several panels solved by factors in bf16") {
            let setting = Setting { n, lda: padded::<f32>(n), panel: Some(panel), threads, ..setting };
            let (solution, refined) = solved(setting);
            let mut oracle =
                solver(Setting { n, lda: n, diagonal: setting.diagonal, ..Setting::new(wide(setting.tile)) });
            oracle.fill(0).unwrap();
            oracle.factor_and_solve(0, &mut || {}).unwrap();
            let largest = solution.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
            // The condition number of a random matrix is up to some 10^5 here.
            let limit = if setting.diagonal == Diagonal::Drawn { 1e-9 } else { 1e-12 } * largest;
            for (found, expected) in solution.iter().zip(&oracle.matrix_mut()[n * n..]) {
                assert!((found - expected).abs() < limit, "{setting:?}: {found} {expected}");
            }
            assert!((1..20).contains(&refined.refinements), "{n}: {refined:?}");
        }
    }
}

#[test]
fn a_dominant_system_hardly_needs_interchanges_and_is_the_same_for_any_number_of_threads() {
    for tile in every_tile::<f32>() {
        let systems = [1, 2, 3].map(|threads| {
            let mut mixed = filled(Setting { n: 270, lda: 271, threads, ..dominant(tile) });
            mixed.matrix_mut().to_vec()
        });
        assert!(systems.iter().all(|system| system == &systems[0]));
        for row in 0..270 {
            let others: f64 =
                (0..270).filter(|column| *column != row).map(|column| systems[0][column * 271 + row].abs()).sum();
            assert!(systems[0][row * 272] > others, "{row}");
        }
        let mut low = solver(Setting { n: 270, lda: 270, panel: Some(40), ..dominant(tile) });
        low.fill(0).unwrap();
        low.factor_and_solve(0, &mut || {}).unwrap();
        // A matrix dominant by rows has a column's largest entry on the diagonal in most columns, not in all.
        let kept = low.pivots().iter().enumerate().filter(|(row, pivot)| *row == **pivot as usize).count();
        assert!(kept >= 269, "{kept} of 270");
    }
}

#[test]
fn another_matrix_is_found() {
    for setting in every_setting("planted faults in factors in bf16") {
        for n in [1, 2, 50, 300] {
            let mut mixed = filled(Setting { n, lda: n, threads: 2, ..setting });
            mixed.matrix_mut()[n / 3 * n + n / 2] = 1.0;
            assert!(solve(&mixed).converged && !check(&mixed).passes(), "{n}");
            together(2, |thread| mixed.fill(thread).unwrap());
            assert!(solve(&mixed).converged && check(&mixed).passes(), "{n}");
        }
    }
}

#[test]
fn the_solution_of_a_random_matrix_fails_the_check_of_a_dominant_one() {
    let tile = every_tile::<f32>()[0];
    let mut drawn = filled(Setting { n: 100, lda: 100, ..Setting::new(tile) });
    let mut other = filled(Setting { n: 100, lda: 100, ..dominant(tile) });
    other.matrix_mut().copy_from_slice(drawn.matrix_mut());
    assert!(solve(&other).converged && !check(&other).passes());
}

#[test]
fn factors_by_bf16_are_coarse_for_the_matrices_of_hpl() {
    for tile in paired_tiles("a random matrix by factors in bf16") {
        let rounds = |diagonal: Diagonal| {
            solve(&filled(Setting { n: 1000, lda: 1000, threads: 2, diagonal, ..Setting::new(tile) }))
        };
        let (drawn, dominant) = (rounds(Diagonal::Drawn), rounds(Diagonal::Dominant));
        assert!(dominant.converged && 2 * dominant.refinements < drawn.refinements, "{dominant:?} {drawn:?}");
    }
}

#[test]
fn the_system_is_kept_and_can_be_solved_again() {
    let tile = every_tile::<f32>()[0];
    let mut mixed = mixed(Setting { n: 61, lda: 70, threads: 2, ..Setting::new(tile) });
    mixed.matrix_mut().fill(f64::NAN);
    together(2, |thread| mixed.fill(thread).unwrap());
    let before: Vec<u64> = mixed.matrix_mut().iter().map(|entry| entry.to_bits()).collect();
    let first = (solve(&mixed), mixed.solution_mut().to_vec());
    let second = (solve(&mixed), mixed.solution_mut().to_vec());
    assert_eq!(first, second);
    let after: Vec<u64> = mixed.matrix_mut().iter().map(|entry| entry.to_bits()).collect();
    assert_eq!(before, after);
    for column in mixed.matrix_mut().chunks(70) {
        assert!(column.iter().skip(61).all(|entry| entry.is_nan()), "padding stays");
    }
}

#[test]
fn a_system_too_ill_conditioned_for_factors_in_fp32_does_not_converge() {
    const N: usize = 300;
    // A third of the columns are nearly, in fp32, copies of another third.
    let nearly_dependent = |matrix: &mut [f64]| {
        for column in 0..N / 3 {
            for row in 0..N {
                let noise = matrix[(column + N / 3) * N + row] * 1e-7;
                matrix[(column + N / 3) * N + row] = matrix[column * N + row] + noise;
            }
        }
    };
    let tile = every_tile::<f32>()[0];
    let mut mixed = filled(Setting { n: N, lda: N, threads: 2, ..Setting::new(tile) });
    nearly_dependent(mixed.matrix_mut());
    let refined = solve(&mixed);
    assert!(!refined.converged && refined.refinements <= MOST_REFINEMENTS, "{refined:?}");
    // In fp64 the same system is solved as usual.
    let mut wide = solver(Setting { n: N, lda: N, ..Setting::new(wide(tile)) });
    wide.fill(0).unwrap();
    nearly_dependent(wide.matrix_mut());
    let system = wide.matrix_mut().to_vec();
    wide.factor_and_solve(0, &mut || {}).unwrap();
    let solution = wide.matrix_mut()[N * N..].to_vec();
    let largest = solution.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    for row in 0..N {
        let product: f64 = (0..N).map(|column| system[column * N + row] * solution[column]).sum();
        assert!((product - system[N * N + row]).abs() < 1e-12 * largest, "row {row}");
    }
}

#[test]
fn a_singular_matrix_is_reported_and_its_solution_fails() {
    for tile in every_tile::<f32>() {
        for (n, zero) in [(1, 0), (9, 8), (60, 25), (130, 129)] {
            let mut mixed = filled(Setting { n, lda: n, threads: 2, panel: Some(32), ..Setting::new(tile) });
            mixed.matrix_mut()[zero * n..][..n].fill(0.0);
            assert!(!solve(&mixed).converged, "{n}");
            assert_eq!(mixed.singular(), Some(zero), "{n}");
            assert!(!check(&mixed).passes());
        }
    }
}

#[test]
fn a_right_hand_side_of_zeros_has_a_solution_of_zeros() {
    let tile = every_tile::<f32>()[0];
    let mut mixed = filled(Setting { n: 40, lda: 40, ..Setting::new(tile) });
    mixed.matrix_mut()[40 * 40..].fill(0.0);
    assert!(solve(&mixed).converged);
    assert!(mixed.solution_mut().iter().all(|x| x.abs() <= 0.0));
}

#[test]
fn a_mixed_problem_that_does_not_fit_is_refused() {
    let tile = every_tile::<f32>()[0];
    let problem = Setting { n: 10, lda: 12, ..Setting::new(tile) }.problem();
    let (kept, room) = (problem.kept_len().unwrap(), problem.refinement_len());
    let (matrix, work) = (problem.matrix_len().unwrap(), problem.workspace_len(1));
    let new = |problem: Problem<f32>, lens: [usize; 4]| {
        let ([kept, room], [matrix, work]) =
            ([lens[0], lens[1]].map(|len| vec![0.0; len]), [lens[2], lens[3]].map(|len| vec![0.0_f32; len]));
        Mixed::new(problem, wide(tile), Crew::new(1, || {}), (kept, room), (matrix, work)).map(|_| ()).unwrap_err()
    };
    assert_eq!(new(problem, [kept - 1, room, matrix, work]), Unfit::Matrix(kept));
    assert_eq!(new(problem, [kept, room - 1, matrix, work]), Unfit::Workspace(room));
    assert_eq!(new(problem, [kept, room, matrix - 1, work]), Unfit::Matrix(matrix));
    let huge = Problem { n: usize::MAX / 2, lda: usize::MAX / 2, ..problem };
    assert_eq!((new(huge, [kept, room, matrix, work]), huge.kept_len()), (Unfit::Order, None));
}

#[test]
fn workspace_and_refinement_are_small_compared_with_the_matrices() {
    fn problem<T: Real>(n: usize, tile: BoundTile<T>) -> Problem<T> {
        let blocking = Blocking::new(tile.tile(), n, Caches { l1d: 48 << 10, l2: 2 << 20 });
        Problem { n, lda: padded::<T>(n), seed: 1, diagonal: Diagonal::Drawn, tile, blocking }
    }
    for (n, threads) in [(1000, 1), (2000, 2), (10_000, 2), (10_000, 16), (20_000, 2), (20_000, 64), (45_000, 128)] {
        for tile in every_tile::<f32>() {
            let low = problem(n, tile);
            let bytes = 4 * low.workspace_len(threads) + 8 * low.refinement_len();
            assert!(bytes <= (12 * n * n / 20).max(64 << 20), "{n}, {threads} threads: {bytes}");
            let bytes = 8 * problem(n, wide(tile)).workspace_len(threads);
            assert!(bytes <= (8 * n * n / 20).max(64 << 20), "{n}, {threads} threads: {bytes}");
        }
    }
}
