//! The CPU does not cache write-combined memory, so each read goes out to memory by itself, some hundred times slower. There
//! is no slice to read from, only a call that says what it costs.

use cpu::device::{Device, DeviceError, Selector};
use cpu::memory::{HostBuffer, PinnedBudget};

fn main() -> Result<(), DeviceError> {
    let device = Device::open(Selector::Simt, PinnedBudget::limited_to(1 << 20))?;
    let memory = device.write_combined::<f32>(16)?;
    let first = memory.as_slice()[0];
    println!("{first}");
    Ok(())
}
