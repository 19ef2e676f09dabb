//! The pages would be freed while the driver moves them.

use cpu::device::{Device, DeviceError};
use cpu::memory::{ManagedBuffer, ManagedPart};

fn whole(device: &Device, memory: ManagedBuffer<f32>) -> Result<(), DeviceError> {
    device.scope(|stream| {
        stream.prefetch_to_device(&memory)?;
        drop(memory);
        Ok(())
    })
}

fn made_in_the_scope(device: &Device) -> Result<(), DeviceError> {
    device.scope(|stream| {
        let memory = device.managed::<f32>(8)?;
        stream.prefetch_to_device(memory.part(0..4)?)
    })
}

fn part_of_what_is_bound(device: &Device, memory: &mut ManagedBuffer<f32>) {
    let mut kept: Option<ManagedPart<'_>> = None;
    let _: Result<(), DeviceError> = device.scope(|stream| {
        kept = Some(stream.bind_managed(memory).part(0..1)?);
        Ok(())
    });
}

fn main() {}
