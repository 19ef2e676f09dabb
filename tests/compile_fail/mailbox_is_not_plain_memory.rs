//! CPU and kernels touch a mailbox at the same time. A plain access on either side would be a data race, and a copy is a
//! plain access too.

use cpu::device::{Device, DeviceError};
use cpu::memory::{DeviceBuffer, Mailbox};

fn as_an_input(device: &Device, mailbox: &Mailbox) -> Result<usize, DeviceError> {
    device.scope(|stream| Ok(stream.map(mailbox)?.len()))
}

fn as_a_source(device: &Device, mailbox: &Mailbox, to: &mut DeviceBuffer<u32>) -> Result<(), DeviceError> {
    device.scope(|stream| stream.upload(mailbox, &mut stream.bind(to)))
}

fn main() {}
