//! The driver takes pointers to the arguments, and neither types nor their number: on hardware a kernel would take whatever
//! lies there.

use cpu::memory::Stream;
use gpu::device::{Dim3, Global, GlobalMut};
use gpu::launch::Launch;
use gpu::matmul::tiled::MatmulTiled;

const ONE: Dim3 = Dim3::new(1, 1, 1);

fn too_few(stream: &Stream<'_, '_>, a: Global<f32>, b: Global<f32>, c: GlobalMut<f32>) {
    let _ = unsafe { stream.launch::<MatmulTiled>(ONE, (a, b, c, 1, 1)) };
}

fn wrong_order(stream: &Stream<'_, '_>, a: Global<f32>, b: Global<f32>, c: GlobalMut<f32>) {
    let _ = unsafe { stream.launch::<MatmulTiled>(ONE, (c, a, b, 1, 1, 1)) };
}

fn wrong_element(stream: &Stream<'_, '_>, a: Global<f64>, b: Global<f32>, c: GlobalMut<f32>) {
    let _ = unsafe { stream.launch::<MatmulTiled>(ONE, (a, b, c, 1, 1, 1)) };
}

fn wrong_width(stream: &Stream<'_, '_>, a: Global<f32>, b: Global<f32>, c: GlobalMut<f32>, size: usize) {
    let _ = unsafe { stream.launch::<MatmulTiled>(ONE, (a, b, c, size, size, size)) };
}

fn main() {}
