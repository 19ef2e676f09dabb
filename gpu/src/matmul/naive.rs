//! Rung 1: one thread per element of C.
//!
//! `cargo run -p cpu -- matmul --kernel naive`
//!
//! A block of 16×16 threads owns a 16×16 tile of C. Thread `x` walks *down* the rows, which is how one would write it
//! first and is wrong for the memory: the 32 lanes of a warp differ in `x`, so at each step they read 16 different rows
//! of A, K floats apart, and each read fetches a sector of 32 bytes to use 4.

use super::owned_tile;
use crate::device::{Global, GlobalMut, Gpu};
use crate::kernel;

/// Rows and columns of C that a block owns.
pub const TILE: u32 = 16;

/// C = A·B, one thread per element, lanes along the rows. A: M×K, B: K×N, C: M×N, row-major f32.
///
/// # Safety
/// The buffers hold as many elements as the shape says, and nobody else touches C.
#[kernel(block = (TILE, TILE))]
pub unsafe fn matmul_naive(gpu: impl Gpu, a: Global<f32>, b: Global<f32>, c: GlobalMut<f32>, m: u32, n: u32, k: u32) {
    let (tile_row, tile_column) = owned_tile(gpu, n.div_ceil(TILE));
    let row = tile_row * TILE + gpu.thread_idx().x;
    let column = tile_column * TILE + gpu.thread_idx().y;
    if row >= m || column >= n {
        return; // the last tiles overhang C
    }
    let (row, column, n, k) = (row as usize, column as usize, n as usize, k as usize);
    let mut sum = 0.0;
    for i in 0..k {
        // SAFETY: row < M, column < N and i < K, so both are inside A (M·K) and B (K·N); nobody writes them.
        let (a, b) = unsafe { (gpu.load(a, row * k + i), gpu.load(b, i * n + column)) };
        sum = gpu.mul_add(a, b, sum);
    }
    // SAFETY: row < M and column < N; this thread alone owns the element.
    unsafe { gpu.store(c, row * n + column, sum) };
}
