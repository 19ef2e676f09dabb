//! An input may be read by every block at once, through caches that nobody keeps coherent. On hardware a write to it would be
//! seen by some threads and not by others.

use cpu::device::DeviceError;
use cpu::memory::Stream;
use gpu::device::{Global, Gpu};
use gpu::launch::{DeviceSlice, DeviceSliceMut};
use gpu::matmul::{LaunchError, MatmulKernel, Shape};

unsafe fn in_a_kernel(gpu: impl Gpu, input: Global<f32>) {
    unsafe { gpu.store(input, 0, 1.0) }
}

fn in_a_launch(
    stream: &Stream<'_, '_>,
    shape: Shape,
    a: DeviceSlice<'_, f32>,
    b: DeviceSlice<'_, f32>,
) -> Result<(), LaunchError<DeviceError>> {
    MatmulKernel::Tiled.launch(stream, shape, a, b, a)
}

/// One output, two launches in turn: each borrows it anew.
fn moved_away(
    stream: &Stream<'_, '_>,
    shape: Shape,
    a: DeviceSlice<'_, f32>,
    c: DeviceSliceMut<'_, f32>,
) -> Result<(), LaunchError<DeviceError>> {
    MatmulKernel::Tiled.launch(stream, shape, a, a, c)?;
    MatmulKernel::Tiled.launch(stream, shape, a, a, c)
}

fn main() {}
