//! On hardware the driver would stage the bytes and hold the caller meanwhile, so that nothing overlaps and nobody knows why.
//! `upload_pageable` and `download_pageable` say what they are.

use cpu::device::{Device, DeviceError};
use cpu::memory::{DeviceBuffer, PageableBuffer};

fn run(device: &Device, host: &mut PageableBuffer<f32>, on_device: &mut DeviceBuffer<f32>) -> Result<(), DeviceError> {
    device.scope(|stream| {
        let mut on_device = stream.bind(on_device);
        stream.upload(host, &mut on_device)?;
        stream.download(&on_device, host)
    })
}

fn main() {}
