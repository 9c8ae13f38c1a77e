//! Products of matrices by crews against a naive oracle.

use crate::support::{every_tile, together};
use kernels::dense::{Abandoned, Blocking, BoundTile, Caches, Crew, Product, Real, Shape, Unfit, padded};
use proptest::prelude::*;

fn product<T: Real>(shape: Shape<T>, threads: usize) -> Product<T, Vec<T>> {
    let operands = shape.operand_lens().unwrap_or([0; 3]).map(|len| vec![T::ZERO; len]);
    let workspace = vec![T::ZERO; shape.workspace_len(threads)];
    let Ok(product) = Product::new(shape, Crew::new(threads, std::thread::yield_now), operands, workspace) else {
        panic!("{shape:?} does not fit");
    };
    product
}

/// The results of all threads.
fn crewed<T: Real, R: Send>(
    product: &Product<T, Vec<T>>,
    work: impl Fn(&Product<T, Vec<T>>, usize) -> Result<R, Abandoned> + Sync,
) -> Vec<R> {
    let all = together(product.crew().threads(), |thread| work(product, thread));
    all.into_iter().map(|one| one.unwrap_or_else(|abandoned| panic!("{abandoned}"))).collect()
}

/// The result of a product in columns, which the product has verified.
fn multiplied<T: Real>(shape: Shape<T>, threads: usize) -> Vec<T> {
    let mut product = product(shape, threads);
    let found = crewed(&product, |product, thread| {
        product.fill(thread)?;
        product.multiply(thread, &mut || {})?;
        product.verify(thread)
    });
    assert!(found.iter().all(|one| one.passes() && one == &found[0]), "{shape:?}: {found:?}");
    product.operands_mut()[2].to_vec()
}

/// The same by three loops, with the sum of the magnitudes.
fn naive<T: Real>(shape: Shape<T>) -> Vec<(f64, f64)> {
    let mut filled = product(shape, 1);
    crewed(&filled, Product::fill);
    let [a, b, c] = filled.operands_mut();
    let at = |matrix: &[T], which: usize, row: usize, column: usize| matrix[column * shape.steps[which] + row].to_f64();
    let mut results: Vec<(f64, f64)> = c.iter().map(|entry| (entry.to_f64(), entry.to_f64().abs())).collect();
    for column in 0..shape.columns {
        for row in 0..shape.rows {
            let result = &mut results[column * shape.steps[2] + row];
            for level in 0..shape.depth {
                let product = at(a, 0, row, level) * at(b, 1, level, column);
                *result = (result.0 - product, result.1 + product.abs());
            }
        }
    }
    results
}

fn shape<T: Real>(tile: BoundTile<T>, sizes: [usize; 3], blocking: Blocking) -> Shape<T> {
    let [rows, columns, depth] = sizes;
    Shape { rows, columns, depth, steps: [rows + 3, depth, rows], seed: 11, tile, blocking }
}

fn is_right<T: Real>(tile: BoundTile<T>, sizes: [usize; 3], blocking: Blocking, threads: usize) {
    let shape = shape(tile, sizes, blocking);
    let found = multiplied(shape, threads);
    for (place, (entry, (expected, magnitude))) in found.iter().zip(naive(shape)).enumerate() {
        let limit = 2.0 * T::ROUNDOFF * (shape.depth + 2) as f64 * magnitude;
        assert!((entry.to_f64() - expected).abs() <= limit, "{shape:?} at {place}: {entry:?} instead of {expected}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn products_of_any_shape_agree_with_the_oracle(
        sizes in [1_usize..130, 1_usize..40, 1_usize..70],
        panel in 1_usize..80,
        block in 0_usize..60,
        columns in 0_usize..30,
        threads in 1_usize..4,
    ) {
        let blocking = Blocking { panel, rows: block, columns };
        for tile in every_tile::<f64>() {
            is_right(tile, sizes, blocking, threads);
        }
        for tile in every_tile::<f32>() {
            is_right(tile, sizes, blocking, threads);
        }
    }
}

#[test]
fn the_number_of_threads_does_not_change_the_result() {
    for tile in every_tile::<f64>() {
        let shape = shape(tile, [150, 333, 90], Blocking { panel: 40, rows: 48, columns: 48 });
        let alone = multiplied(shape, 1);
        assert!([2, 3, 7].iter().all(|threads| multiplied(shape, *threads) == alone));
    }
}

#[test]
fn every_tile_agrees_with_the_oracle_at_every_depth() {
    fn check_all<T: Real>() {
        for tile in every_tile::<T>() {
            let (rows, columns) = (tile.tile().rows, tile.tile().columns);
            for depth in (0..50).chain([255, 256]).map(|depth| depth + 1) {
                is_right(tile, [rows, columns, depth], Blocking { panel: depth, rows, columns }, 1);
            }
        }
    }
    check_all::<f64>();
    check_all::<f32>();
}

#[test]
fn a_fault_is_found_at_any_place() {
    fn check_all<T: Real>(fault: f64) {
        for tile in every_tile::<T>() {
            let shape = shape(tile, [70, 45, 33], Blocking { panel: 20, rows: 48, columns: 48 });
            let mut product = product(shape, 2);
            crewed(&product, |product, thread| {
                product.fill(thread)?;
                product.multiply(thread, &mut || {})
            });
            for place in [0, 69, 70, 1000, 70 * 45 - 1] {
                let right = product.operands_mut()[2][place];
                for wrong in [T::from_f64(right.to_f64() + fault), T::from_f64(f64::NAN), T::from_f64(f64::INFINITY)] {
                    product.operands_mut()[2][place] = wrong;
                    assert!(!crewed(&product, Product::verify)[0].passes(), "{wrong:?} at {place}");
                }
                product.operands_mut()[2][place] = right;
            }
            assert!(crewed(&product, Product::verify)[0].passes());
            // Multiplied twice, or not at all.
            crewed(&product, |product, thread| product.multiply(thread, &mut || {}));
            assert!(!crewed(&product, Product::verify)[0].passes());
            crewed(&product, Product::fill);
            assert!(!crewed(&product, Product::verify)[0].passes());
        }
    }
    check_all::<f64>(1e-12);
    check_all::<f32>(1e-3);
}

#[test]
fn parts_of_the_depth_are_packed_in_turn_by_any_number_of_threads() {
    // Parts of 3, of which the last is short: at 34 barriers a buffer could be overwritten too early.
    for tile in every_tile::<f64>() {
        let (sizes, blocking) = ([97, 120, 100], Blocking { panel: 3, rows: 24, columns: 8 });
        is_right(tile, sizes, blocking, 1);
        let alone = multiplied(shape(tile, sizes, blocking), 1);
        for threads in [2, 3, 5].repeat(6) {
            assert!(multiplied(shape(tile, sizes, blocking), threads) == alone, "{threads} threads");
        }
    }
}

#[test]
fn the_workspace_is_small_compared_with_the_matrices() {
    fn check_all<T: Real>() {
        for tile in every_tile::<T>() {
            for (n, threads) in [(1000, 1), (5000, 2), (7500, 2), (10_000, 16), (20_000, 2), (45_000, 128)] {
                let caches = Caches { l1d: 48 << 10, l2: 2 << 20 };
                let blocking = Blocking::of_products(tile.tile(), caches);
                let shape = Shape::square(n, padded::<T>(n), 1, tile, blocking);
                let bytes = size_of::<T>() * shape.workspace_len(threads);
                assert!(bytes <= (3 * size_of::<T>() * n * n / 20).max(64 << 20), "{n}, {threads} threads: {bytes}");
            }
        }
    }
    check_all::<f64>();
    check_all::<f32>();
}

#[test]
fn a_product_that_does_not_fit_is_refused() {
    let tile = every_tile::<f64>()[0];
    let right = shape(tile, [10, 20, 30], Blocking { panel: 8, rows: 8, columns: 8 });
    let lens = right.operand_lens().unwrap();
    let new = |shape: Shape<f64>, lens: [usize; 3], work: usize| {
        let operands = lens.map(|len| vec![0.0; len]);
        Product::new(shape, Crew::new(1, || {}), operands, vec![0.0; work]).map(|_| ()).unwrap_err()
    };
    let work = right.workspace_len(1);
    assert_eq!(new(right, [lens[0] - 1, lens[1], lens[2]], work), Unfit::Matrix(lens[0]));
    assert_eq!(new(right, [lens[0], lens[1], lens[2] - 1], work), Unfit::Matrix(lens[2]));
    assert_eq!(new(right, lens, work - 1), Unfit::Workspace(work));
    assert_eq!(new(Shape { rows: 0, ..right }, lens, work), Unfit::Order);
    assert_eq!(new(Shape { steps: [9, 30, 10], ..right }, lens, work), Unfit::LeadingDimension);
    assert_eq!(new(Shape { steps: [usize::MAX; 3], ..right }, lens, work), Unfit::Order);
}
