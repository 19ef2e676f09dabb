//! The device writes bits. In a `bool`, a reference or a `Vec` most bits are no value, and reading one is undefined behaviour.

use cpu::device::Device;

fn run(device: &Device) {
    let _ = device.alloc::<bool>(1);
    let _ = device.pinned::<Vec<u8>>(1);
    let _ = device.mapped::<&'static str>(1);
}

fn main() {}
