//! Contexts: whose memory, streams and modules a thread works with.

use core::ffi::{c_int, c_uint};

use cust::sys::{CUcontext, CUdevice, CUfunc_cache, CUlimit, CUsharedconfig};

use super::forward;

forward! {
    cuDevicePrimaryCtxRetain(pctx: *mut CUcontext, dev: CUdevice);
    cuDevicePrimaryCtxRelease_v2(dev: CUdevice);
    cuDevicePrimaryCtxSetFlags_v2(dev: CUdevice, flags: c_uint);
    cuDevicePrimaryCtxGetState(dev: CUdevice, flags: *mut c_uint, active: *mut c_int);
    cuDevicePrimaryCtxReset_v2(dev: CUdevice);
    cuCtxCreate_v2(pctx: *mut CUcontext, flags: c_uint, dev: CUdevice);
    cuCtxDestroy_v2(ctx: CUcontext);
    cuCtxPushCurrent_v2(ctx: CUcontext);
    cuCtxPopCurrent_v2(pctx: *mut CUcontext);
    cuCtxSetCurrent(ctx: CUcontext);
    cuCtxGetCurrent(pctx: *mut CUcontext);
    cuCtxGetDevice(device: *mut CUdevice);
    cuCtxGetFlags(flags: *mut c_uint);
    cuCtxSynchronize();
    cuCtxSetLimit(limit: CUlimit, value: usize);
    cuCtxGetLimit(pvalue: *mut usize, limit: CUlimit);
    cuCtxGetCacheConfig(pconfig: *mut CUfunc_cache);
    cuCtxSetCacheConfig(config: CUfunc_cache);
    cuCtxGetSharedMemConfig(p_config: *mut CUsharedconfig);
    cuCtxSetSharedMemConfig(config: CUsharedconfig);
    cuCtxGetApiVersion(ctx: CUcontext, version: *mut c_uint);
    cuCtxGetStreamPriorityRange(least_priority: *mut c_int, greatest_priority: *mut c_int);
    cuCtxEnablePeerAccess(peer_context: CUcontext, flags: c_uint);
    cuCtxDisablePeerAccess(peer_context: CUcontext);
    cuProfilerStart();
    cuProfilerStop();
}
