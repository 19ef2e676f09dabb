//! A stream counts its marks without a lock, and two threads that enqueue would make its order an accident. Each thread opens
//! a scope of its own; `Device` can be shared.

use cpu::device::{Device, DeviceError};

/// As `std::thread::Scope::spawn` asks.
fn spawn(_: impl FnOnce() + Send) {}

fn run(device: &Device) -> Result<(), DeviceError> {
    spawn(|| drop(device.free_memory()));
    device.scope(|stream| {
        spawn(|| drop(stream.synchronize()));
        Ok(())
    })
}

fn main() {}
