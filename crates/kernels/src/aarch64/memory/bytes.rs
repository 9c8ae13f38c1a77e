//! The copy without vectors.

use super::streams::{start, stream};
use crate::memory::kernel::Job;

// Copies one byte per iteration.
stream!(byte_loop, [x1 x2], setup: [], count: "lsl x5, x5, #9",
    block: ["ldrb w7, [x2], #1", "strb w7, [x1], #1"], finish: []);
