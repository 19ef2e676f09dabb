//! The first parameter is the machine that the kernel runs on; the host passes the others.

#![allow(unused_imports)] // what the macro refuses uses nothing

use gpu::device::{Global, Gpu};
use gpu::{device, kernel, launch};

#[kernel(block = (32))]
pub unsafe fn without(x: Global<f32>) {
    let _ = x;
}

#[kernel(block = (32))]
pub unsafe fn last(x: Global<f32>, gpu: impl Gpu) {
    let _ = (gpu.thread_idx(), x);
}

fn main() {}
