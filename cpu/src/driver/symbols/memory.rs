//! Allocating, pinning, mapping and describing memory.

use core::ffi::{c_uint, c_void};

use cust::sys::{
    CUdevice, CUdeviceptr, CUmem_advise, CUmem_range_attribute, CUmemPool_attribute, CUmemoryPool, CUpointer_attribute,
    CUstream,
};

use super::forward;

forward! {
    cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    cuMemAlloc_v2(dptr: *mut CUdeviceptr, bytesize: usize);
    cuMemAllocPitch_v2(
        dptr: *mut CUdeviceptr, p_pitch: *mut usize, width_in_bytes: usize, height: usize, element_size_bytes: c_uint,
    );
    cuMemFree_v2(dptr: CUdeviceptr);
    cuMemGetAddressRange_v2(pbase: *mut CUdeviceptr, psize: *mut usize, dptr: CUdeviceptr);
    cuMemAllocHost_v2(pp: *mut *mut c_void, bytesize: usize);
    cuMemFreeHost(p: *mut c_void);
    cuMemHostAlloc(pp: *mut *mut c_void, bytesize: usize, flags: c_uint);
    cuMemHostGetDevicePointer_v2(pdptr: *mut CUdeviceptr, p: *mut c_void, flags: c_uint);
    cuMemHostGetFlags(p_flags: *mut c_uint, p: *mut c_void);
    cuMemAllocManaged(dptr: *mut CUdeviceptr, bytesize: usize, flags: c_uint);
    cuMemHostRegister_v2(p: *mut c_void, bytesize: usize, flags: c_uint);
    cuMemHostUnregister(p: *mut c_void);
    cuMemFreeAsync(dptr: CUdeviceptr, h_stream: CUstream);
    cuMemAllocAsync(dptr: *mut CUdeviceptr, bytesize: usize, h_stream: CUstream);
    cuMemPoolTrimTo(pool: CUmemoryPool, min_bytes_to_keep: usize);
    cuMemPoolSetAttribute(pool: CUmemoryPool, attr: CUmemPool_attribute, value: *mut c_void);
    cuMemPoolGetAttribute(pool: CUmemoryPool, attr: CUmemPool_attribute, value: *mut c_void);
    cuPointerGetAttribute(data: *mut c_void, attribute: CUpointer_attribute, ptr: CUdeviceptr);
    cuMemPrefetchAsync(dev_ptr: CUdeviceptr, count: usize, dst_device: CUdevice, h_stream: CUstream);
    cuMemAdvise(dev_ptr: CUdeviceptr, count: usize, advice: CUmem_advise, device: CUdevice);
    cuMemRangeGetAttribute(
        data: *mut c_void, data_size: usize, attribute: CUmem_range_attribute, dev_ptr: CUdeviceptr, count: usize,
    );
    cuPointerGetAttributes(
        num_attributes: c_uint, attributes: *mut CUpointer_attribute, data: *mut *mut c_void, ptr: CUdeviceptr,
    );
}
