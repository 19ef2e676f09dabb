//! Over zero-copy memory host and kernel see the same bytes at once. A host that writes a kernel's input or reads its output
//! before the scope has waited races with it.

use cpu::device::{Device, DeviceError};
use cpu::memory::{HostBuffer, MappedBuffer};

fn input(device: &Device, memory: &mut MappedBuffer<f32>) -> Result<(), DeviceError> {
    device.scope(|stream| {
        let _input = stream.map(memory)?;
        memory.as_mut_slice()[0] = 1.0;
        Ok(())
    })
}

fn output(device: &Device, memory: &mut MappedBuffer<f32>) -> Result<f32, DeviceError> {
    device.scope(|stream| {
        let _output = stream.map_mut(memory)?;
        Ok(memory.as_slice()[0])
    })
}

fn main() {}
