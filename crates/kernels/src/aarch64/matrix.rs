//! Matrix products in vectors (I8MM, BF16): in each 128 bits 2 x 2 sums, each of eight products of bytes or four of bf16.

use super::loops::fused_loop;

fused_loop!(int8_sve, z ["sve", "i8mm"], "smmla z\\acc\\().s, ", ".b");
fused_loop!(int8_neon_i8mm, q ["i8mm"], "smmla v\\acc\\().4s, ", ".16b");
fused_loop!(bf16_sve, z ["sve", "bf16"], "bfmmla z\\acc\\().s, ", ".h");
fused_loop!(bf16_neon_bf16, q ["bf16"], "bfmmla v\\acc\\().4s, ", ".8h");
