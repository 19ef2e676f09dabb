//! A mark is the number of an event in its own stream. Another stream has another event under that number, or none.

use cpu::device::{Device, DeviceError};

fn run(device: &Device) -> Result<(), DeviceError> {
    device.scope(|outer| {
        let before = outer.mark()?;
        device.scope(|inner| {
            let after = inner.mark()?;
            inner.elapsed(before, after)?;
            Ok(())
        })
    })
}

fn main() {}
