//! What the driver allocated goes back by another call than what it registered; the wrong one is an error that leaves the
//! memory pinned. Each type frees itself the right way, and only registered memory is given back.

use cpu::device::{Device, DeviceError};

fn given_back(device: &Device) -> Result<Vec<f32>, DeviceError> {
    Ok(device.pinned::<f32>(4)?.into_memory())
}

fn main() {}
