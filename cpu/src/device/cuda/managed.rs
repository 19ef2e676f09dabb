//! Managed memory of a GPU.

use std::ptr::NonNull;

use cust::device::{Device as CudaDevice, DeviceAttribute};
use cust::sys;
use cust::sys::CUmem_advise as Told;

use super::Shared;
use crate::device::{DeviceError, ManagedSupport};
use crate::driver;
use crate::memory::{Advice, Location};

/// The host, where the driver asks for a device. cuda.h has it as a macro, which the bindings lack.
const CU_DEVICE_CPU: sys::CUdevice = -1;

/// What this GPU can do; and whether every other of the `found` would let the CPU be, for managed memory is theirs too. One
/// that does not answer counts as one that cannot.
pub(super) fn support(device: CudaDevice, found: u32) -> ManagedSupport {
    let has = |device: &CudaDevice, which| device.get_attribute(which).is_ok_and(|value| value != 0);
    if !has(&device, DeviceAttribute::ManagedMemory) {
        return ManagedSupport::None;
    }
    let others = (0..found).filter_map(|ordinal| CudaDevice::get_device(ordinal).ok());
    let lacks = |device: &CudaDevice| !has(device, DeviceAttribute::ConcurrentManagedAccess);
    match std::iter::once(device).chain(others).find(lacks) {
        None => ManagedSupport::Concurrent,
        Some(gpu) => {
            ManagedSupport::NotConcurrent { gpu: gpu.name().unwrap_or_else(|_| "a GPU without a name".into()) }
        }
    }
}

impl Shared {
    /// Nothing if the driver answers with no address.
    pub(super) fn alloc_managed(&self, bytes: usize) -> Result<Option<NonNull<u8>>, DeviceError> {
        self.bind()?;
        let mut address = 0;
        let flags = sys::CUmemAttach_flags::CU_MEM_ATTACH_GLOBAL as u32;
        // SAFETY: a place of ours to write to.
        driver::call("cuMemAllocManaged", unsafe { sys::cuMemAllocManaged(&mut address, bytes, flags) })?;
        Ok(NonNull::new(address as usize as *mut u8))
    }

    /// # Safety
    /// As [`Backend::advise`](crate::device::Backend::advise).
    pub(super) unsafe fn advise(
        &self,
        address: u64,
        bytes: usize,
        advice: Advice,
        holds: bool,
    ) -> Result<(), DeviceError> {
        self.bind()?;
        let (told, device) = match advice {
            // The driver ignores the device of this one.
            Advice::ReadMostly if holds => (Told::CU_MEM_ADVISE_SET_READ_MOSTLY, self.ordinal(Location::Device)),
            Advice::ReadMostly => (Told::CU_MEM_ADVISE_UNSET_READ_MOSTLY, self.ordinal(Location::Device)),
            Advice::PreferredLocation(at) if holds => (Told::CU_MEM_ADVISE_SET_PREFERRED_LOCATION, self.ordinal(at)),
            Advice::PreferredLocation(at) => (Told::CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, self.ordinal(at)),
            Advice::AccessedBy(who) if holds => (Told::CU_MEM_ADVISE_SET_ACCESSED_BY, self.ordinal(who)),
            Advice::AccessedBy(who) => (Told::CU_MEM_ADVISE_UNSET_ACCESSED_BY, self.ordinal(who)),
        };
        // SAFETY: the caller's: a range of managed memory that is alive.
        Ok(driver::call("cuMemAdvise", unsafe { sys::cuMemAdvise(address, bytes, told, device) })?)
    }

    /// # Safety
    /// As [`RawStream::prefetch`](crate::device::RawStream::prefetch), for a stream of this context.
    pub(super) unsafe fn prefetch(
        &self,
        address: u64,
        bytes: usize,
        to: Location,
        stream: sys::CUstream,
    ) -> Result<(), DeviceError> {
        self.bind()?;
        // SAFETY: the caller's: a range of managed memory that lives until the stream was synchronised.
        let code = unsafe { sys::cuMemPrefetchAsync(address, bytes, self.ordinal(to), stream) };
        Ok(driver::call("cuMemPrefetchAsync", code)?)
    }

    fn ordinal(&self, location: Location) -> sys::CUdevice {
        match location {
            Location::Device => self.device.as_raw(),
            Location::Host => CU_DEVICE_CPU,
        }
    }
}
