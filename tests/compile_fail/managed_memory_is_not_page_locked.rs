//! A copy from it is not asynchronous: its pages may be anywhere, and the driver has to fetch them.

use cpu::device::{Device, DeviceError};
use cpu::memory::{DeviceBuffer, ManagedBuffer};

fn run(device: &Device, host: &mut ManagedBuffer<f32>, on_device: &mut DeviceBuffer<f32>) -> Result<(), DeviceError> {
    device.scope(|stream| {
        let mut on_device = stream.bind(on_device);
        stream.upload(host, &mut on_device)?;
        stream.download(&on_device, host)
    })
}

fn main() {}
