//! The two are different address spaces: on hardware an address of one is another place, or none, in the other.

use gpu::device::{Global, Gpu, Shared};

unsafe fn shared_as_global(gpu: impl Gpu, tile: Shared<f32>) -> f32 {
    unsafe { gpu.load(tile, 0) }
}

unsafe fn global_as_shared(gpu: impl Gpu, matrix: Global<f32>) -> f32 {
    unsafe { gpu.load_shared(matrix, 0) }
}

fn main() {}
