//! The loops of both element types, compiled by this crate.
//!
//! The crate that calls a generic function compiles it, at its own optimisation level: in a small program, for size. It
//! uses the code of the function's own crate instead if that has some for the same type, as the addresses here ensure, and
//! if the function is marked `#[inline(never)]`.

use core::sync::atomic::AtomicPtr;

use crate::dense::gemm::Update;
use crate::dense::grid::Grid;
use crate::dense::number::Number;
use crate::dense::random::{Uniform, fill_diagonal};
use crate::dense::solve::panel::Panel;
use crate::dense::solve::residual::Norms;
use crate::dense::solve::step::Step;
use crate::dense::solve::triangle::Triangles;

/// Addresses that a static may have.
type Loops = [AtomicPtr<()>; 14];

const fn loops<T: Number>() -> Loops {
    [
        AtomicPtr::new(Uniform::fill::<T> as *mut ()),
        AtomicPtr::new(fill_diagonal::<T> as *mut ()),
        AtomicPtr::new(Grid::<T>::pack_stripes as *mut ()),
        AtomicPtr::new(Grid::<T>::pack_pairs as *mut ()),
        AtomicPtr::new(Grid::<T>::pack_strip as *mut ()),
        AtomicPtr::new(Grid::<T>::pack_strip_past_caches as *mut ()),
        AtomicPtr::new(Update::<T>::by_strips as *mut ()),
        AtomicPtr::new(Panel::<T>::factor as *mut ()),
        AtomicPtr::new(Step::<T>::reduce as *mut ()),
        AtomicPtr::new(Step::<T>::interchange as *mut ()),
        AtomicPtr::new(Triangles::<T>::solve_upper as *mut ()),
        AtomicPtr::new(Triangles::<T>::lower_block as *mut ()),
        AtomicPtr::new(Triangles::<T>::take_from as *mut ()),
        AtomicPtr::new(Norms::add_rows::<T> as *mut ()),
    ]
}

#[used]
static FP64: Loops = loops::<f64>();

#[used]
static FP32: Loops = loops::<f32>();
