//! Holds a stream until the host has filled it, so that what follows runs without gaps and its events measure it alone.

use crate::device::Gpu;
use crate::kernel;

/// Waits until the device's clock has moved on by so many nanoseconds.
///
/// # Safety
/// None: it touches no memory.
#[kernel(block = 1)]
pub unsafe fn spin(gpu: impl Gpu, nanoseconds: u64) {
    let start = gpu.nanoseconds();
    while gpu.nanoseconds().wrapping_sub(start) < nanoseconds {}
}
