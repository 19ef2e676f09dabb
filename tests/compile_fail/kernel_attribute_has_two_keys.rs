//! `block` is needed, `shared` may be given, and a word that is misspelt is not passed over.

#![allow(unused_imports)] // what the macro refuses uses nothing

use gpu::device::Gpu;
use gpu::{device, kernel, launch};

#[kernel(block = (32), share = 128)]
pub unsafe fn misspelt(gpu: impl Gpu) {
    let _ = gpu.thread_idx();
}

#[kernel(shared = 128)]
pub unsafe fn shapeless(gpu: impl Gpu) {
    let _ = gpu.thread_idx();
}

#[kernel(block = (1, 2, 3, 4))]
pub unsafe fn four_dimensional(gpu: impl Gpu) {
    let _ = gpu.thread_idx();
}

fn main() {}
