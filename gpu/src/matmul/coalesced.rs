//! Rung 2: neighbouring lanes on neighbouring addresses.
//!
//! `cargo run -p cpu -- matmul --kernel coalesced`
//!
//! The arithmetic of rung 1 with the two axes exchanged: thread `x` walks *along* a row of C. The 32 lanes of a warp
//! now read 32 neighbouring floats of B in one transaction of 128 bytes, and all read the same element of A, which
//! the hardware broadcasts. Nothing else changes.

use super::{owned_tile, row_times_column};
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
    // SAFETY: row < M and column < N, checked above; A and B hold what the shape says, by this kernel's contract.
    let sum = unsafe { row_times_column(gpu, a, b, row, column, n, k) };
    // SAFETY: as above, for C. Blocks own different tiles and threads different elements, so nobody else touches this one.
    unsafe { gpu.store(c, row as usize * n as usize + column as usize, sum) };
}
