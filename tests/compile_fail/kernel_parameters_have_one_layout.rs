//! Host and device must agree on every byte of a parameter. A slice or a reference is a host pointer, which the device cannot
//! follow.

use gpu::device::Gpu;
use gpu::{device, kernel, launch};

#[kernel(block = (32))]
pub unsafe fn takes_a_slice(gpu: impl Gpu, x: &'static [f32]) {
    let _ = (gpu.thread_idx(), x);
}

fn main() {}
