//! Registered memory that is freed leaves the driver with pages that are somebody else's by now; registered twice, the first
//! to unregister would unlock it under the other.

use cpu::device::{Device, DeviceError};

fn freed(device: &Device, memory: Vec<f32>) -> Result<(), DeviceError> {
    let _registered = device.register(memory);
    drop(memory);
    Ok(())
}

fn registered_twice(device: &Device, memory: Vec<f32>) {
    let _first = device.register(memory);
    let _second = device.register(memory);
}

fn main() {}
