//! Element-wise multiply-add of whole numbers. NEON cannot multiply 64-bit ones: a general register does.

use super::loops::fused_loop;
use super::plain::general_loop;

// Bytes and 16-bit numbers wrap too soon, so that the loop counts its iterations.
fused_loop!(int8_sve, z "sve", "mla z\\acc\\().b, p0/m, ", ".b", counted "x10");
fused_loop!(int8_neon, q, "mla v\\acc\\().16b, ", ".16b", counted "x10");
fused_loop!(int16_sve, z "sve", "mla z\\acc\\().h, p0/m, ", ".h", counted "x10");
fused_loop!(int16_neon, q, "mla v\\acc\\().8h, ", ".8h", counted "x10");
fused_loop!(int32_sve, z "sve", "mla z\\acc\\().s, p0/m, ", ".s");
fused_loop!(int32_neon, q, "mla v\\acc\\().4s, ", ".4s");
fused_loop!(int64_sve, z "sve", "mla z\\acc\\().d, p0/m, ", ".d");
general_loop!(int64_scalar, "x", 8, 2 x ["madd x\\acc, x2, x3, x\\acc", "madd x\\acc, x4, x5, x\\acc"]);
