//! On hardware the copy engine reads page-locked memory when it gets there, which is after `upload` has returned. A source
//! that changes meanwhile arrives changed, or half changed.

use cpu::device::{Device, DeviceError};
use cpu::memory::{DeviceBuffer, HostBuffer, PinnedBuffer};

fn run(device: &Device, source: &mut PinnedBuffer<f32>, on_device: &mut DeviceBuffer<f32>) -> Result<(), DeviceError> {
    device.scope(|stream| {
        stream.upload(source, &mut stream.bind(on_device))?;
        source.as_mut_slice().fill(1.0);
        Ok(())
    })
}

fn main() {}
