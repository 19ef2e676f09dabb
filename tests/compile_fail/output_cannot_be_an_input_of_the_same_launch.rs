//! On hardware some blocks would read what others have already overwritten: a race, and another result at every run.

use cpu::device::{Device, DeviceError};
use cpu::memory::{DeviceBuffer, MappedBuffer};
use gpu::matmul::{LaunchError, MatmulKernel, Shape};

fn copied(device: &Device, shape: Shape, memory: &mut DeviceBuffer<f32>) -> Result<(), LaunchError<DeviceError>> {
    device.scope(|stream| {
        let mut memory = stream.bind(memory);
        MatmulKernel::Tiled.launch(stream, shape, memory.slice(), memory.slice(), memory.slice_mut())
    })
}

fn mapped(device: &Device, shape: Shape, memory: &mut MappedBuffer<f32>) -> Result<(), LaunchError<DeviceError>> {
    device.scope(|stream| {
        let (input, output) = (stream.map(memory)?, stream.map_mut(memory)?);
        MatmulKernel::Tiled.launch(stream, shape, input, input, output)
    })
}

fn main() {}
