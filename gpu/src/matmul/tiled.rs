//! Rung 3: a block loads each element of A and B once for all of its threads.
//!
//! `cargo run -p cpu -- matmul --kernel tiled`
//!
//! In rung 2 every thread reads K elements of A and K of B from global memory, 2·M·N·K loads in all, though there are
//! only M·K + K·N different ones. Here a block of 32×32 threads owns a 32×32 tile of C and walks along K in steps of
//! 32: it copies a tile of A and a tile of B into shared memory, each thread one element of each, and then every
//! thread does 32 multiply-adds out of shared memory. Global loads fall by a factor of 32.
//!
//! ```text
//!              ┌ B ──────┐
//!              │  ▒▒     │  ← tile_b, walks down
//!              │  ░░     │
//!  ┌ A ──────┐ ┌ C ──────┐
//!  │▒▒░░     │ │  ██     │  ← the block's tile
//!  └─────────┘ └─────────┘
//!   ↑ tile_a, walks right
//! ```
//!
//! Two barriers a step: nobody multiplies before the tiles are complete, nobody overwrites them while another still
//! reads. All threads reach both, the ones beyond C's edge too, which load zeros there and store nothing.

use super::owned_tile;
use crate::device::{Global, GlobalMut, Gpu};
use crate::{kernel, unroll};

/// Rows and columns of C that a block owns, and the step along K.
pub const TILE: u32 = 32;
const TILE_BYTES: u32 = TILE * TILE * size_of::<f32>() as u32;

/// C = A·B, 32×32 tiles through shared memory. A: M×K, B: K×N, C: M×N, row-major f32.
///
/// # Safety
/// The buffers hold as many elements as the shape says, and nobody else touches C.
#[kernel(block = (TILE, TILE), shared = 2 * TILE_BYTES)]
pub unsafe fn matmul_tiled(gpu: impl Gpu, a: Global<f32>, b: Global<f32>, c: GlobalMut<f32>, m: u32, n: u32, k: u32) {
    // SAFETY: `shared` above declares two tiles; the second starts where the first ends, a multiple of 4 bytes.
    let (tile_a, tile_b) = unsafe { (gpu.shared::<f32>(0), gpu.shared::<f32>(TILE_BYTES)) };
    let (tile_row, tile_column) = owned_tile(gpu, n.div_ceil(TILE));
    let (x, y) = (gpu.thread_idx().x, gpu.thread_idx().y);
    let row = tile_row * TILE + y;
    let column = tile_column * TILE + x;

    let mut sum = 0.0;
    for step in 0..k.div_ceil(TILE) {
        // This thread's element of each tile: A at (row, step·32 + x), B at (step·32 + y, column); zero outside.
        let (a_column, b_row) = (step * TILE + x, step * TILE + y);
        let mut from_a = 0.0;
        if row < m && a_column < k {
            // SAFETY: row < M and a_column < K; A holds M·K elements by this kernel's contract.
            from_a = unsafe { gpu.load(a, row as usize * k as usize + a_column as usize) };
        }
        let mut from_b = 0.0;
        if b_row < k && column < n {
            // SAFETY: b_row < K and column < N; B holds K·N elements by this kernel's contract.
            from_b = unsafe { gpu.load(b, b_row as usize * n as usize + column as usize) };
        }
        // SAFETY: x, y < 32, the block's shape; each thread writes its own element, and the barrier below the products
        // keeps the last step's readers away.
        unsafe {
            gpu.store_shared(tile_a, y * TILE + x, from_a);
            gpu.store_shared(tile_b, y * TILE + x, from_b);
        }
        gpu.sync_threads(); // the tiles are complete
        unroll!(I in 0..32 => {
            // SAFETY: I, x, y < 32; written before the barrier, and nobody writes until the next one.
            let (a, b) = unsafe { (gpu.load_shared(tile_a, y * TILE + I), gpu.load_shared(tile_b, I * TILE + x)) };
            sum = gpu.mul_add(a, b, sum);
        });
        gpu.sync_threads(); // nobody reads them any more
    }
    if row < m && column < n {
        // SAFETY: row < M and column < N; C holds M·N elements by this kernel's contract. Blocks own different tiles and
        // threads different elements, so nobody else touches this one.
        unsafe { gpu.store(c, row as usize * n as usize + column as usize, sum) };
    }
}
