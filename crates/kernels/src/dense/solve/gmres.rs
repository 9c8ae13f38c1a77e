//! Refinement of a solution by factors of lower precision to the accuracy of fp64: flexible GMRES (Saad, "A Flexible
//! Inner-Outer Preconditioned GMRES Algorithm", SIAM J. Sci. Comput. 1993), preconditioned by the factors, as in HPL-MxP.
//!
//! Classical refinement multiplies the error by the condition number times the factors' roundoff, which is no longer small
//! for HPL's matrices of some ten thousands. One thread's work between the rounds is here; all read whole matrices.

use crate::dense::grid::Grid;
use crate::dense::number::Number;
use crate::portable::tiles::{Lanes, Two};

/// The most rounds of refinement: "If the implementation takes more than 50 iterations, the method should trigger a
/// failure and the run is invalid" (hpl-mxp.org, rules).
pub const MOST_REFINEMENTS: usize = 50;

/// The most uses of the factors: one is for the solution that is refined.
const MOST_USES: usize = MOST_REFINEMENTS + 1;

/// Units of roundoff that the residual may have, in norms that make it `||b - A x|| / (||A|| ||x|| + ||b||)` (2-norms,
/// for the matrix the Frobenius norm). HPL's scaled residual is then at most this, and far less for HPL's matrices.
const ACCURACY: f64 = 2.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ask {
    /// Solve by the factors for the column behind them, and multiply the matrix by that into this vector of the basis.
    Apply(usize),
    /// The residual of the solution, into the first vector of the basis.
    Residual,
    /// Nothing: the refinement has ended.
    End,
}

/// The outcome of a refinement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refined {
    /// Rounds after the first solution.
    pub refinements: usize,
    /// Whether the residual is as small as that of a solution in fp64.
    pub converged: bool,
}

/// The vectors of a refinement, one after the other: the solution, the basis, and the results of the factors; then the
/// triangular factor of the small system.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    vectors: Grid<f64>,
    n: usize,
}

impl Room {
    /// Elements for systems of order `n`.
    pub(super) const fn len(n: usize) -> usize {
        (2 + 2 * MOST_USES) * Self::pitch(n) + MOST_USES * MOST_USES
    }

    /// Elements from one vector to the next: whole pairs of cache lines.
    const fn pitch(n: usize) -> usize {
        n.next_multiple_of(16)
    }

    pub(super) const fn new(first: *mut f64, n: usize) -> Self {
        Self { vectors: Grid::new(first, Self::pitch(n)), n }
    }

    pub(super) const fn solution(self) -> *mut f64 {
        self.vectors.at(0, 0)
    }

    pub(super) const fn basis(self, index: usize) -> *mut f64 {
        self.vectors.at(0, 1 + index)
    }

    /// The numbers of a vector. Safety: nobody else uses them.
    unsafe fn vector<'a>(self, place: usize) -> &'a mut [f64] {
        // SAFETY: the caller's promise, and the room is as long as `len` says.
        unsafe { self.vectors.column_mut(place, 0..self.n) }
    }

    /// The place of the factors' result for a vector of the basis.
    const fn applied(index: usize) -> usize {
        2 + MOST_USES + index
    }

    const fn triangle(self) -> Grid<f64> {
        Grid::new(self.vectors.at(0, 2 + 2 * MOST_USES), MOST_USES)
    }
}

#[derive(Debug)]
pub(super) struct Gmres {
    room: Room,
    rhs: *const f64,
    column: *mut f32,
    matrix_norm: f64,
    rhs_norm: f64,
    solution_norm: f64,
    /// Rotations that made the small system triangular: cosine and sine.
    rotations: [(f64, f64); MOST_USES],
    /// Its right-hand side; the last one in use is the remaining residual, but for its sign.
    small: [f64; MOST_USES + 1],
    uses: usize,
    asked: Option<Ask>,
    converged: bool,
}

impl Gmres {
    /// Begins with the factors' solution for the right-hand side itself, in the column behind them. Safety: the
    /// right-hand side and the column have as many elements as the room's vectors; nobody writes to the former while
    /// this lives, and nobody uses the others while its methods run.
    pub(super) unsafe fn new(room: Room, rhs: *const f64, column: *mut f32, matrix_norm: f64) -> Self {
        // SAFETY: the caller's promise.
        let rhs_norm = norm(unsafe { core::slice::from_raw_parts(rhs, room.n) });
        Self {
            room,
            rhs,
            column,
            matrix_norm,
            rhs_norm,
            solution_norm: 0.0,
            rotations: [(0.0, 0.0); MOST_USES],
            small: [0.0; MOST_USES + 1],
            uses: 0,
            asked: None,
            converged: false,
        }
    }

    pub(super) const fn refined(&self) -> Refined {
        Refined { refinements: self.uses.saturating_sub(1), converged: self.converged }
    }

    /// Takes the results of all threads, and returns what they do next. Safety: the other threads wait.
    pub(super) unsafe fn next(&mut self) -> Ask {
        // SAFETY: the caller's promise, in all four.
        let ask = unsafe {
            match self.asked {
                None => self.begin(),
                Some(Ask::Apply(index)) => self.extend(index),
                Some(Ask::Residual) => self.judge(),
                Some(Ask::End) => Ask::End,
            }
        };
        self.asked = Some(ask);
        ask
    }

    /// Begins with a solution of zeros, whose residual is the right-hand side.
    unsafe fn begin(&mut self) -> Ask {
        // SAFETY: the others wait.
        unsafe {
            self.room.vector(0).fill(0.0);
            self.room.vector(1).copy_from_slice(core::slice::from_raw_parts(self.rhs, self.room.n));
            self.judge()
        }
    }

    fn allowed(&self, solution_norm: f64) -> f64 {
        ACCURACY * f64::ROUNDOFF * (self.matrix_norm * solution_norm + self.rhs_norm)
    }

    /// Ends if the residual, the first vector of the basis, is small or cannot become so; else begins a basis with it.
    unsafe fn judge(&mut self) -> Ask {
        // SAFETY: the others wait.
        let (solution, residual) = unsafe { (self.room.vector(0), self.room.vector(1)) };
        self.solution_norm = norm(solution);
        let length = norm(residual);
        self.converged = length <= self.allowed(self.solution_norm);
        if self.converged || !length.is_finite() || self.uses == MOST_USES {
            return Ask::End;
        }
        for entry in &mut *residual {
            *entry /= length;
        }
        self.small[0] = length;
        if self.uses > 0 {
            // SAFETY: as above.
            unsafe { self.pass_to_factors(residual) };
        }
        Ask::Apply(0)
    }

    unsafe fn pass_to_factors(&self, vector: &[f64]) {
        // SAFETY: the others wait.
        let column = unsafe { core::slice::from_raw_parts_mut(self.column, self.room.n) };
        for (entry, value) in column.iter_mut().zip(vector) {
            *entry = f32::from_f64(*value);
        }
    }

    /// Adds one more vector to the basis, and ends the basis if the residual is small enough, by the small system.
    unsafe fn extend(&mut self, index: usize) -> Ask {
        self.uses += 1;
        // SAFETY: the others wait, here and below; the vectors differ, and the small system's factor has these columns.
        let (applied, found, column, small) = unsafe {
            (
                self.room.vector(Room::applied(index)),
                self.room.vector(2 + index),
                core::slice::from_raw_parts(self.column, self.room.n),
                self.room.triangle().column_mut(index, 0..MOST_USES),
            )
        };
        for (entry, value) in applied.iter_mut().zip(column) {
            *entry = value.to_f64();
        }
        if self.solution_norm <= 0.0 && index == 0 {
            self.solution_norm = norm(applied);
        }
        for (place, entry) in small.iter_mut().enumerate().take(index + 1) {
            // SAFETY: as above.
            let other = unsafe { self.room.vector(1 + place) };
            *entry = dot(other, found);
            for (value, part) in found.iter_mut().zip(&*other) {
                *value -= *entry * part;
            }
        }
        let length = norm(found);
        self.rotate(index, small, length);
        let left = self.small[index + 1].abs();
        // Half, as the residual itself has rounding errors; NaN ends it too.
        let goes_on = left > self.allowed(self.solution_norm) / 2.0 && length > 0.0 && length.is_finite();
        if goes_on && self.uses < MOST_USES {
            for entry in &mut *found {
                *entry /= length;
            }
            // SAFETY: as above.
            unsafe { self.pass_to_factors(found) };
            return Ask::Apply(index + 1);
        }
        // SAFETY: as above.
        unsafe { self.update(index + 1) };
        Ask::Residual
    }

    /// Makes one more column of the small system triangular: by all rotations so far and one that zeroes `below`.
    fn rotate(&mut self, index: usize, column: &mut [f64], below: f64) {
        for (place, (cosine, sine)) in self.rotations.iter().enumerate().take(index) {
            let (above, here) = (column[place], column[place + 1]);
            (column[place], column[place + 1]) = (cosine * above + sine * here, cosine * here - sine * above);
        }
        let length = root(column[index] * column[index] + below * below);
        let (cosine, sine) = (column[index] / length, below / length);
        column[index] = length;
        self.rotations[index] = (cosine, sine);
        self.small[index + 1] = -sine * self.small[index];
        self.small[index] *= cosine;
    }

    unsafe fn update(&self, count: usize) {
        let mut weights = [0.0; MOST_USES];
        weights[..count].copy_from_slice(&self.small[..count]);
        // SAFETY: the others wait, here and below.
        let solution = unsafe { self.room.vector(0) };
        for index in (0..count).rev() {
            // SAFETY: as above.
            let (column, applied) =
                unsafe { (self.room.triangle().column(index, 0..count), self.room.vector(Room::applied(index))) };
            weights[index] /= column[index];
            let weight = weights[index];
            for (entry, factor) in weights[..index].iter_mut().zip(column) {
                *entry -= factor * weight;
            }
            for (entry, part) in solution.iter_mut().zip(&*applied) {
                *entry += weight * part;
            }
        }
    }
}

/// Independent partial sums of a product.
const SUMS: usize = 16;

/// The product of two vectors, in an order that depends on their length alone.
fn dot(left: &[f64], right: &[f64]) -> f64 {
    let mut sums = [Two::all(0.0); SUMS / 2];
    let ((left, left_rest), (right, right_rest)) = (left.as_chunks::<SUMS>(), right.as_chunks::<SUMS>());
    for (left, right) in left.iter().zip(right) {
        // SAFETY: an array is as many pairs.
        let pairs = |numbers: &[f64; SUMS]| unsafe { (&raw const *numbers).cast::<[Two; SUMS / 2]>().read_unaligned() };
        for (sum, (left, right)) in sums.iter_mut().zip(pairs(left).into_iter().zip(pairs(right))) {
            *sum = sum.plus(left.times(right));
        }
    }
    // SAFETY: as above.
    let mut sums = unsafe { (&raw const sums).cast::<[f64; SUMS]>().read() };
    for (sum, (left, right)) in sums.iter_mut().zip(left_rest.iter().zip(right_rest)) {
        *sum += left * right;
    }
    sums.into_iter().sum()
}

fn norm(vector: &[f64]) -> f64 {
    root(dot(vector, vector))
}

/// Rounds a column to fp32; the sum of its squares.
// Inlined into a function that is compiled for size, each conversion would wait for the one before.
#[inline(never)]
pub(super) fn rounded(from: &[f64], to: &mut [f32]) -> f64 {
    for (entry, value) in to.iter_mut().zip(from) {
        *entry = f32::from_f64(*value);
    }
    dot(from, from)
}

/// The square root, which `core` lacks: Newton's iteration from half the exponent, whose error of at most 4 % falls
/// below the roundoff in five rounds. Any value but a positive finite number is returned unchanged.
pub(super) fn root(value: f64) -> f64 {
    if !(value.is_finite() && value > 0.0) {
        return value;
    }
    // The halved bits of 1.0 correct the halved bias of the exponent.
    let first = f64::from_bits(value.to_bits() / 2 + 1.0_f64.to_bits() / 2);
    (0..5).fold(first, |root, _| 0.5 * (root + value / root))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_accurate_to_the_last_places() {
        for index in 1..2000_i32 {
            let value = f64::from(index) * 0.37;
            let value = value * value * value * value;
            let scaled = (root(value) * root(value) / value - 1.0).abs();
            assert!(scaled < 4.0 * f64::EPSILON, "{value}: {scaled}");
        }
        for (value, expected) in [(0.0, 0.0), (4.0, 2.0), (1e-300, 1e-150), (1e300, 1e150)] {
            assert!((root(value) - expected).abs() <= 1e-15 * expected, "{value}");
        }
        assert!(root(f64::NAN).is_nan() && root(f64::INFINITY).is_infinite());
    }

    #[test]
    fn products_of_vectors_match_the_definition() {
        let left: [f64; 37] = core::array::from_fn(|index| index as f64 - 11.0);
        let right: [f64; 37] = core::array::from_fn(|index| 3.0 - index as f64 / 4.0);
        let expected: f64 = left.iter().zip(&right).map(|(left, right)| left * right).sum();
        assert!((dot(&left, &right) - expected).abs() < 1e-9);
        let mut single = [0.0_f32; 37];
        assert!((rounded(&left, &mut single) - dot(&left, &left)).abs() < 1e-9);
        assert!(single.iter().zip(&left).all(|(single, left)| (f64::from(*single) - left).abs() < 1e-6));
    }
}
