//! STREAM's scale, add and triad of fp64, as `stream.c` 5.10 defines them, through the cache and past it.

use super::streams::{combined, eight, four, group, moved, numbered, start, stream};
use crate::memory::kernel::Job;

macro_rules! both {
    ($neon:ident $sve:ident $neon_nt:ident $sve_nt:ident, $($rest:tt)+) => {
        combined!($neon $sve through the cache, $($rest)+);
        combined!($neon_nt $sve_nt past the cache, $($rest)+);
    };
}

both!(scale_neon scale_sve scale_nt_neon scale_nt_sve, [x1 x2] from [x2],
    neon: eight!(["fmul v", ".2d, v", ".2d, v16.2d"]), sve: eight!(["fmul z", ".d, z", ".d, z16.d"]));
both!(add_neon add_sve add_nt_neon add_nt_sve, [x1 x2 x3] from [x2 x3],
    neon: eight!(["fadd v", ".2d, v", ".2d, v2", ".2d"]), sve: eight!(["fadd z", ".d, z", ".d, z2", ".d"]));
both!(triad_neon triad_sve triad_nt_neon triad_nt_sve, [x1 x2 x3] from [x2 x3],
    neon: eight!(["fmla v", ".2d, v2", ".2d, v16.2d"]), sve: eight!(["fmla z", ".d, p0/m, z2", ".d, z16.d"]));
