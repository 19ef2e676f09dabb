//! The buffer is dropped when the closure returns, and the scope waits after that. On hardware the copy would still be
//! under way. Leaking a guard, or a panic, cannot change the order: there is no guard.

use cpu::device::{Device, DeviceError};
use cpu::memory::DeviceBuffer;

fn run(device: &Device, on_device: &mut DeviceBuffer<f32>) -> Result<(), DeviceError> {
    device.scope(|stream| {
        let local = device.pinned(1)?;
        stream.upload(&local, &mut stream.bind(on_device))
    })
}

/// The same for a buffer that is moved into the closure.
fn run_moved(device: &Device, on_device: &mut DeviceBuffer<f32>) -> Result<(), DeviceError> {
    let moved = device.pinned(1)?;
    device.scope(move |stream| stream.upload(&moved, &mut stream.bind(on_device)))
}

/// And for device memory.
fn run_device_memory(device: &Device) -> Result<(), DeviceError> {
    device.scope(|stream| {
        let mut local = device.alloc::<f32>(1)?;
        stream.fill(&mut stream.bind(&mut local), 0)
    })
}

fn main() {}
