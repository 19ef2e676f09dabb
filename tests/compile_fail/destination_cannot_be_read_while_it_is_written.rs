//! On hardware `download` returns before the bytes have arrived: the read would see the old ones, or some of each.

use cpu::device::{Device, DeviceError};
use cpu::memory::{DeviceBuffer, HostBuffer, PinnedBuffer};

fn run(device: &Device, on_device: &mut DeviceBuffer<f32>, result: &mut PinnedBuffer<f32>) -> Result<f32, DeviceError> {
    device.scope(|stream| {
        stream.download(&stream.bind(on_device), result)?;
        Ok(result.as_slice()[0])
    })
}

fn main() {}
