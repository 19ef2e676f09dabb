//! On hardware a made-up address is memory of somebody else, or an error that ends the context.

use cpu::memory::Stream;
use gpu::launch::{DeviceSlice, DeviceSliceMut, Launch};

fn for_a_stream(stream: &Stream<'_, '_>) -> DeviceSlice<'static, f32> {
    DeviceSlice::from_raw_in(stream.domain(), 0x1000, 1)
}

fn for_the_cpu() -> DeviceSliceMut<'static, f32> {
    DeviceSliceMut::from_raw(0x1000, 1)
}

fn main() {}
