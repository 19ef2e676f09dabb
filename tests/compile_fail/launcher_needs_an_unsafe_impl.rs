//! Safe launch wrappers believe what a launcher says of its domain. One that says another stream's would pass that stream's
//! memory on to whatever it likes.

use cpu::device::DeviceError;
use cpu::memory::Stream;
use gpu::device::Dim3;
use gpu::launch::{Domain, Kernel, Launch};

struct Liar<'s, 'scope, 'env> {
    launches_on: &'s Stream<'scope, 'env>,
    pretends_to_be: Domain,
}

impl Launch for Liar<'_, '_, '_> {
    type Error = DeviceError;

    fn domain(&self) -> Domain {
        self.pretends_to_be
    }

    unsafe fn launch<K: Kernel>(&self, grid: Dim3, args: K::Args) -> Result<(), DeviceError> {
        unsafe { self.launches_on.launch::<K>(grid, args) }
    }
}

fn main() {}
