//! On hardware the copy engine would read memory that was given back: somebody else's bytes, or an error that ends the
//! context.

use cpu::device::{Device, DeviceError};
use cpu::memory::{DeviceBuffer, PinnedBuffer};

fn run(device: &Device, source: PinnedBuffer<f32>, on_device: &mut DeviceBuffer<f32>) -> Result<(), DeviceError> {
    device.scope(|stream| {
        stream.upload(&source, &mut stream.bind(on_device))?;
        drop(source);
        Ok(())
    })
}

fn main() {}
