//! The CPU may use a mailbox while a kernel does, but not free it.

use std::time::Duration;

use cpu::device::{Device, DeviceError};
use cpu::memory::Mailbox;
use gpu::access::{Access, AccessError, Flag};

fn run(device: &Device, mailbox: Mailbox) -> Result<(), AccessError<DeviceError>> {
    device.scope(|stream| {
        Access(stream).mailbox(stream.mailbox(&mailbox)?, 1, Flag::Release, Duration::from_secs(1))?;
        drop(mailbox);
        Ok(())
    })
}

fn main() {}
