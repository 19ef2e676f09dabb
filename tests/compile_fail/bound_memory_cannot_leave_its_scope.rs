//! A buffer that stays bound after its scope could be used while its owner uses it too, on a stream that nobody waits for.

use cpu::device::{Device, DeviceError};
use cpu::memory::{DeviceBuffer, MappedBuffer, StreamBuffer};
use gpu::launch::DeviceSlice;

fn stored(device: &Device, on_device: &mut DeviceBuffer<f32>) {
    let mut kept: Option<StreamBuffer<'_, f32>> = None;
    let _: Result<(), DeviceError> = device.scope(|stream| {
        kept = Some(stream.bind(on_device));
        Ok(())
    });
}

fn mapped(device: &Device, memory: &MappedBuffer<f32>) {
    let mut kept: Option<DeviceSlice<'_, f32>> = None;
    let _: Result<(), DeviceError> = device.scope(|stream| {
        kept = Some(stream.map(memory)?);
        Ok(())
    });
}

fn leaked(device: &Device, on_device: &mut DeviceBuffer<f32>) {
    let _: Result<&mut StreamBuffer<'_, f32>, DeviceError> =
        device.scope(|stream| Ok(Box::leak(Box::new(stream.bind(on_device)))));
}

fn main() {}
