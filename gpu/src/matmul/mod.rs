//! C = A·B in f32, row-major: A is M×K, B is K×N, C is M×N, any M, N, K ≥ 1.
//!
//! One file per rung of the ladder, each adding one idea to the one before:
//!
//! | rung | idea |
//! |---|---|
//! | [`naive`] | one thread per element of C |
//! | [`coalesced`] | the same, with neighbouring lanes on neighbouring addresses |
//! | [`tiled`] | a block loads each element of A and B once for all of its threads |

pub mod coalesced;
#[cfg(not(target_os = "cuda"))]
mod host;
pub mod naive;
pub mod tiled;

#[cfg(not(target_os = "cuda"))]
pub use host::{LaunchError, MatmulKernel, Shape, ShapeError};

use crate::device::Gpu;

/// Which tile of C this block owns, as (tile row, tile column) in a grid of tiles that is `tile_columns` wide.
///
/// The blocks are numbered along `x` alone, row of tiles by row of tiles: a grid may have 2³¹ − 1 blocks in `x` but only
/// 65,535 in `y`, which a tall matrix would exceed.
#[inline(always)]
fn owned_tile(gpu: impl Gpu, tile_columns: u32) -> (u32, u32) {
    let block = gpu.block_idx().x;
    let tile_columns = tile_columns.max(1); // N ≥ 1 already; said here so that no division-by-zero panic is compiled in
    (block / tile_columns, block % tile_columns)
}
