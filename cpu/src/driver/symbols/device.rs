//! Starting the driver, and what a device is.

use core::ffi::{c_char, c_int, c_uint};

use cust::sys::{CUdevice, CUdevice_P2PAttribute, CUdevice_attribute, CUmemoryPool, CUuuid};

use super::forward;

forward! {
    cuInit(flags: c_uint) else CUDA_ERROR_NO_DEVICE;
    cuDriverGetVersion(driver_version: *mut c_int) else CUDA_ERROR_NO_DEVICE;
    cuDeviceGet(device: *mut CUdevice, ordinal: c_int);
    cuDeviceGetCount(count: *mut c_int) else CUDA_ERROR_NO_DEVICE;
    cuDeviceGetName(name: *mut c_char, len: c_int, dev: CUdevice);
    cuDeviceGetUuid(uuid: *mut CUuuid, dev: CUdevice);
    cuDeviceGetUuid_v2(uuid: *mut CUuuid, dev: CUdevice);
    cuDeviceTotalMem_v2(bytes: *mut usize, dev: CUdevice);
    cuDeviceGetAttribute(pi: *mut c_int, attrib: CUdevice_attribute, dev: CUdevice);
    cuDeviceGetDefaultMemPool(pool_out: *mut CUmemoryPool, dev: CUdevice);
    cuDeviceGetByPCIBusId(dev: *mut CUdevice, pci_bus_id: *const c_char);
    cuDeviceGetPCIBusId(pci_bus_id: *mut c_char, len: c_int, dev: CUdevice);
    cuDeviceCanAccessPeer(can_access_peer: *mut c_int, dev: CUdevice, peer_dev: CUdevice);
    cuDeviceGetP2PAttribute(
        value: *mut c_int, attrib: CUdevice_P2PAttribute, src_device: CUdevice, dst_device: CUdevice,
    );
}
