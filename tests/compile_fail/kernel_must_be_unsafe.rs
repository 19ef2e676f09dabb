//! A safe kernel could be called by anybody with any address.

#![allow(unused_imports)] // what the macro refuses uses nothing

use gpu::device::{Global, Gpu};
use gpu::{device, kernel, launch};

#[kernel(block = (32))]
pub fn reads_anything(gpu: impl Gpu, x: Global<f32>) {
    let _ = (gpu.thread_idx(), x);
}

fn main() {}
