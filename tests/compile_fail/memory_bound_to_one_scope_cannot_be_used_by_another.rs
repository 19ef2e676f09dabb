//! The streams of two scopes are not ordered with each other: on hardware the inner copy would race with what the outer
//! stream does with the same memory, and an outer copy could outlive memory that only the inner scope had borrowed.

use cpu::device::{Device, DeviceError};
use cpu::memory::{DeviceBuffer, PinnedBuffer};

fn outer_memory_in_the_inner_scope(
    device: &Device,
    source: &PinnedBuffer<f32>,
    on_device: &mut DeviceBuffer<f32>,
) -> Result<(), DeviceError> {
    device.scope(|outer| {
        let mut bound = outer.bind(on_device);
        device.scope(|inner| inner.upload(source, &mut bound))
    })
}

fn inner_memory_in_the_outer_scope(
    device: &Device,
    source: &PinnedBuffer<f32>,
    on_device: &mut DeviceBuffer<f32>,
) -> Result<(), DeviceError> {
    device.scope(|outer| {
        device.scope(|inner| {
            let mut bound = inner.bind(on_device);
            outer.upload(source, &mut bound)
        })
    })
}

fn main() {}
