//! A file that is mapped for reading has no pages to write to: a kernel that wrote there would fault, and with it the
//! context.

use cpu::device::{Device, DeviceError, Selector};
use cpu::memory::PinnedBudget;

fn main() -> Result<(), DeviceError> {
    let device = Device::open(Selector::Simt, PinnedBudget::limited_to(1 << 20))?;
    // SAFETY: nobody changes the file.
    let mut file = unsafe { device.register_file::<f32>("a.bin", 0) }.unwrap();
    device.scope(|stream| {
        let c = stream.map_mut(&mut file)?;
        println!("{}", c.len());
        Ok::<_, DeviceError>(())
    })
}
