use super::library::{mkl_branch, version_in};
use super::*;
use crate::file::tests::skip;

/// The libraries that are installed; without any, the test is skipped.
fn here() -> Vec<Blas> {
    let found: Vec<Blas> = LIBRARIES.iter().filter_map(|library| Blas::load(library).ok()).collect();
    if found.is_empty() {
        skip("no libopenblas.so.0, libmkl_rt.so.2 or libblis.so.4 here (Debian: apt-get install libopenblas0)");
    }
    found
}

/// Numbers in [-0.5, 0.5) from a small generator (Knuth's MMIX multiplier).
fn uniform(seed: u64, count: usize) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    };
    (0..count).map(|_| next()).collect()
}

#[test]
fn systems_are_solved_at_any_order_and_distance_of_columns() {
    for blas in here().iter().filter(|blas| blas.solves()) {
        for (order, lda) in [(1, 1), (2, 5), (7, 7), (64, 65), (150, 160)] {
            let matrix = uniform(7, lda * order);
            let right = uniform(8, order);
            let (mut factors, mut x, mut pivots) = (matrix.clone(), right.clone(), vec![0; order]);
            assert_eq!(blas.solve(order, &mut factors, lda, &mut pivots, &mut x), Ok(()));
            for (row, right) in right.iter().enumerate() {
                let product: f64 = (0..order).map(|column| matrix[row + lda * column] * x[column]).sum();
                assert!((product - right).abs() < 1e-9, "{}: row {row} of order {order}", blas.library.name);
            }
        }
    }
}

#[test]
fn a_singular_matrix_is_reported_with_its_column() {
    for blas in here().iter().filter(|blas| blas.solves()) {
        let mut matrix = vec![0.0; 9];
        (matrix[0], matrix[8]) = (1.0, 1.0);
        let found = blas.solve(3, &mut matrix, 3, &mut [0; 3], &mut [1.0; 3]);
        assert_eq!(found, Err(Unsolved::Singular(1)), "{}", blas.library.name);
    }
}

#[test]
fn products_are_those_of_the_definition() {
    for blas in here() {
        let (order, lda) = (37, 41);
        let (a, b) = (uniform(1, lda * order), uniform(2, lda * order));
        let mut c = vec![f64::NAN; lda * order];
        blas.multiply(order, &a, &b, &mut c, lda);
        #[expect(clippy::cast_possible_truncation, reason = "the same operands in fewer digits")]
        let single = |of: &[f64]| -> Vec<f32> { of.iter().map(|value| *value as f32).collect() };
        let mut narrow = vec![f32::NAN; lda * order];
        blas.multiply(order, &single(&a), &single(&b), &mut narrow, lda);
        for (row, column) in (0..order).flat_map(|row| (0..order).map(move |column| (row, column))) {
            let exact: f64 = (0..order).map(|k| a[row + lda * k] * b[k + lda * column]).sum();
            let place = row + lda * column;
            assert!((c[place] - exact).abs() < 1e-12, "{}: {row}, {column}", blas.library.name);
            assert!((f64::from(narrow[place]) - exact).abs() < 1e-4, "{}: {row}, {column}", blas.library.name);
        }
        assert!(c[order].is_nan(), "the gap between columns is left alone");
    }
}

#[test]
fn a_library_describes_itself_and_obeys_its_number_of_threads() {
    for blas in here() {
        assert!(blas.version.is_some() && blas.config.is_some(), "{blas:?}");
        blas.set_threads(1);
        assert_eq!(blas.threads(), Some(1), "{blas:?}");
    }
}

#[test]
fn a_slice_that_is_too_short_is_never_passed_on() {
    for blas in here() {
        let product = || blas.multiply(4, &[1.0; 15], &[1.0; 16], &mut [0.0; 16], 4);
        let solution = || blas.solve(4, &mut [1.0; 16], 4, &mut [0; 3], &mut [1.0; 4]);
        let refused = |attempt: &dyn Fn()| {
            let said = std::panic::catch_unwind(std::panic::AssertUnwindSafe(attempt)).unwrap_err();
            said.downcast_ref::<String>().is_some_and(|said| said.contains("more room"))
        };
        assert!(refused(&product) && (!blas.solves() || refused(&|| assert!(solution().is_ok()))));
    }
}

#[test]
fn a_library_that_cannot_be_used_has_a_reason() {
    let load = |soname: &'static str, family| {
        let library: &'static Library = Box::leak(Box::new(Library { name: "none", soname, family }));
        Blas::load(library).map(|_| ()).unwrap_err()
    };
    let missing = load("libno-such-library.so.9", Family::OpenBlas);
    assert!(missing.contains("cannot be loaded") && missing.contains("libno-such-library"), "{missing}");
    assert!(load("a\0b", Family::Blis).contains("cannot be loaded"));
    if cfg!(all(target_os = "linux", target_env = "gnu", not(target_feature = "crt-static"))) {
        assert_eq!(load("libc.so.6", Family::OpenBlas), "it has no dgemm_");
    }
}

#[test]
fn matrices_are_held_or_not() {
    assert!(holds(16, 4, 4, 4) && holds(19, 4, 4, 5) && holds(0, 0, 0, 1));
    assert!(!holds(15, 4, 4, 4) && !holds(18, 4, 4, 5) && !holds(16, 4, 4, 3) && !holds(9, 0, 0, 0));
    assert!(!holds(usize::MAX, 2, usize::MAX, usize::MAX), "a size beyond words is not held");
}

#[test]
fn versions_branches_and_layers_are_read() {
    assert_eq!(version_in("OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH"), Some("0.3.21".into()));
    let sentence = "Intel(R) oneAPI Math Kernel Library Version 2023.1-Product Build 20230303";
    assert_eq!(version_in(sentence), Some("2023.1-Product".into()));
    assert_eq!(version_in("no digits"), None);
    assert_eq!((mkl_branch(10), mkl_branch(14), mkl_branch(2)), (Some("AVX2"), Some("AVX-512"), None));
    assert_eq!([(true, true), (false, true), (false, false)].map(|(a, b)| mkl_layer(a, b)), [0, 3, 1]);
}
