//! Work that is enqueued after the scope has waited is waited for by nobody: on hardware it would use memory that its owner
//! has long changed or freed.

use cpu::device::{Device, DeviceError};
use cpu::memory::Stream;

fn stored(device: &Device) {
    let mut kept: Option<&Stream<'_, '_>> = None;
    let _: Result<(), DeviceError> = device.scope(|stream| {
        kept = Some(stream);
        Ok(())
    });
    let _ = kept.unwrap().synchronize();
}

fn returned(device: &Device) {
    let _: Result<_, DeviceError> = device.scope(|stream| Ok(stream));
}

fn main() {}
