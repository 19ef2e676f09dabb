//! A kernel trusts its arguments: on hardware a wrong length reads and writes memory of somebody else. The safe wrapper
//! beside each kernel checks them.

use cpu::memory::Stream;
use gpu::device::{Dim3, Global, GlobalMut};
use gpu::launch::Launch;
use gpu::matmul::tiled::MatmulTiled;

fn run(stream: &Stream<'_, '_>, a: Global<f32>, b: Global<f32>, c: GlobalMut<f32>) {
    let _ = stream.launch::<MatmulTiled>(Dim3::new(1, 1, 1), (a, b, c, 1, 1, 1));
}

fn main() {}
