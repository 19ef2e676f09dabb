//! Rung 2: neighbouring lanes on neighbouring addresses.
//!
//! `cargo run -p cpu -- matmul --kernel coalesced`
//!
//! The arithmetic of rung 1 with the two axes exchanged: thread `x` walks *along* a row of C. The 32 lanes of a warp
//! now read 32 neighbouring floats of B in one transaction of 128 bytes, and all read the same element of A, which
//! the hardware broadcasts. Nothing else changes.

use super::owned_tile;
use crate::device::{Global, GlobalMut, Gpu};
use crate::kernel;

/// Columns of C that a block owns: one warp.
pub const TILE_COLUMNS: u32 = 32;
/// Rows of C that a block owns.
pub const TILE_ROWS: u32 = 8;

/// C = A·B, one thread per element, lanes along the columns. A: M×K, B: K×N, C: M×N, row-major f32.
///
/// # Safety
/// The buffers hold as many elements as the shape says, and nobody else touches C.
#[kernel(block = (TILE_COLUMNS, TILE_ROWS))]
pub unsafe fn matmul_coalesced(
    gpu: impl Gpu,
    a: Global<f32>,
    b: Global<f32>,
    c: GlobalMut<f32>,
    m: u32,
    n: u32,
    k: u32,
) {
    let (tile_row, tile_column) = owned_tile(gpu, n.div_ceil(TILE_COLUMNS));
    let row = tile_row * TILE_ROWS + gpu.thread_idx().y;
    let column = tile_column * TILE_COLUMNS + gpu.thread_idx().x;
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
