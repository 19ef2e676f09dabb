//! A domain says whose work may use the memory. Who could rename it could hand memory of an inner scope to an outer stream,
//! which uses it when the inner scope has long given it back.

use cpu::device::{Device, DeviceError};
use cpu::memory::{DeviceBuffer, Stream};
use gpu::launch::{DeviceSlice, Launch};

fn renamed(device: &Device, outer: &Stream<'_, '_>, memory: &mut DeviceBuffer<f32>) -> Result<(), DeviceError> {
    device.scope(|inner| {
        let inner = inner.bind(memory);
        let _forged = DeviceSlice { domain: outer.domain(), ..inner.slice() };
        Ok(())
    })
}

fn main() {}
