//! On hardware the driver may give the memory to the next allocation while a kernel still writes to it.

use cpu::device::{Device, DeviceError};
use cpu::memory::DeviceBuffer;

fn run(device: &Device, mut memory: DeviceBuffer<f32>) -> Result<(), DeviceError> {
    device.scope(|stream| {
        stream.fill(&mut stream.bind(&mut memory), 0)?;
        drop(memory);
        Ok(())
    })
}

fn main() {}
