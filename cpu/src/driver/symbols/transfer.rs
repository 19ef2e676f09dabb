//! Copies and fills, synchronous and on a stream.

use core::ffi::{c_uchar, c_uint, c_ushort, c_void};

use cust::sys::{CUDA_MEMCPY2D, CUarray, CUcontext, CUdeviceptr, CUstream};

use super::forward;

forward! {
    cuMemcpy(dst: CUdeviceptr, src: CUdeviceptr, byte_count: usize);
    cuMemcpyHtoD_v2(dst_device: CUdeviceptr, src_host: *const c_void, byte_count: usize);
    cuMemcpyDtoH_v2(dst_host: *mut c_void, src_device: CUdeviceptr, byte_count: usize);
    cuMemcpyDtoD_v2(dst_device: CUdeviceptr, src_device: CUdeviceptr, byte_count: usize);
    cuMemcpyHtoA_v2(dst_array: CUarray, dst_offset: usize, src_host: *const c_void, byte_count: usize);
    cuMemcpyAtoH_v2(dst_host: *mut c_void, src_array: CUarray, src_offset: usize, byte_count: usize);
    cuMemcpy2D_v2(p_copy: *const CUDA_MEMCPY2D);
    cuMemcpy2DUnaligned_v2(p_copy: *const CUDA_MEMCPY2D);
    cuMemcpyAsync(dst: CUdeviceptr, src: CUdeviceptr, byte_count: usize, h_stream: CUstream);
    cuMemcpyPeerAsync(
        dst_device: CUdeviceptr, dst_context: CUcontext, src_device: CUdeviceptr, src_context: CUcontext,
        byte_count: usize, h_stream: CUstream,
    );
    cuMemcpyHtoDAsync_v2(dst_device: CUdeviceptr, src_host: *const c_void, byte_count: usize, h_stream: CUstream);
    cuMemcpyDtoHAsync_v2(dst_host: *mut c_void, src_device: CUdeviceptr, byte_count: usize, h_stream: CUstream);
    cuMemcpyDtoDAsync_v2(dst_device: CUdeviceptr, src_device: CUdeviceptr, byte_count: usize, h_stream: CUstream);
    cuMemcpy2DAsync_v2(p_copy: *const CUDA_MEMCPY2D, h_stream: CUstream);
    cuMemsetD8_v2(dst_device: CUdeviceptr, uc: c_uchar, n: usize);
    cuMemsetD16_v2(dst_device: CUdeviceptr, us: c_ushort, n: usize);
    cuMemsetD32_v2(dst_device: CUdeviceptr, ui: c_uint, n: usize);
    cuMemsetD8Async(dst_device: CUdeviceptr, uc: c_uchar, n: usize, h_stream: CUstream);
    cuMemsetD16Async(dst_device: CUdeviceptr, us: c_ushort, n: usize, h_stream: CUstream);
    cuMemsetD32Async(dst_device: CUdeviceptr, ui: c_uint, n: usize, h_stream: CUstream);
    cuMemsetD2D8Async(
        dst_device: CUdeviceptr, dst_pitch: usize, uc: c_uchar, width: usize, height: usize, h_stream: CUstream,
    );
    cuMemsetD2D32Async(
        dst_device: CUdeviceptr, dst_pitch: usize, ui: c_uint, width: usize, height: usize, h_stream: CUstream,
    );
}
