//! Host and kernel would see the same pages at once, and each would take them from the other. Before the scope has waited, a
//! read finds what the kernel has written so far, and a prefetch to the host changes nothing about that.

use cpu::device::{Device, DeviceError};
use cpu::memory::{HostBuffer, ManagedBuffer};
use gpu::access::{Access, AccessError, Grid};

fn output(device: &Device, memory: &mut ManagedBuffer<u32>) -> Result<u32, AccessError<DeviceError>> {
    device.scope(|stream| {
        let mut bound = stream.bind_managed(memory);
        Access(stream).write(Grid::of(1), bound.slice_mut(), 7)?;
        stream.prefetch_to_host(&bound)?;
        Ok(memory.as_slice()[0])
    })
}

fn mapped_output(device: &Device, memory: &mut ManagedBuffer<u32>) -> Result<u32, AccessError<DeviceError>> {
    device.scope(|stream| {
        Access(stream).write(Grid::of(1), stream.map_mut(memory)?, 7)?;
        Ok(memory.as_slice()[0])
    })
}

fn prefetched_input(device: &Device, memory: &mut ManagedBuffer<u32>) -> Result<(), DeviceError> {
    device.scope(|stream| {
        stream.prefetch_to_device(&*memory)?;
        memory.as_mut_slice()[0] = 1;
        Ok(())
    })
}

fn main() {}
