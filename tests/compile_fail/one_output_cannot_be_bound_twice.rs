//! Two bindings of one buffer are two outputs on one address: the threads of a launch would write each other's results.

use cpu::device::{Device, DeviceError};
use cpu::memory::DeviceBuffer;
use gpu::matmul::{LaunchError, MatmulKernel, Shape};

fn run(device: &Device, shape: Shape, memory: &mut DeviceBuffer<f32>) -> Result<(), LaunchError<DeviceError>> {
    device.scope(|stream| {
        let input = stream.bind(memory);
        let mut output = stream.bind(memory);
        MatmulKernel::Tiled.launch(stream, shape, input.slice(), input.slice(), output.slice_mut())
    })
}

fn main() {}
