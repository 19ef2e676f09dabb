//! Streams.

use core::ffi::{c_int, c_uint, c_void};

use cust::sys::{
    CUcontext, CUdeviceptr, CUevent, CUgraph, CUstream, CUstreamCallback, CUstreamCaptureMode, CUstreamCaptureStatus,
};

use super::forward;

forward! {
    cuStreamCreate(ph_stream: *mut CUstream, flags: c_uint);
    cuStreamCreateWithPriority(ph_stream: *mut CUstream, flags: c_uint, priority: c_int);
    cuStreamGetPriority(h_stream: CUstream, priority: *mut c_int);
    cuStreamGetFlags(h_stream: CUstream, flags: *mut c_uint);
    cuStreamGetCtx(h_stream: CUstream, pctx: *mut CUcontext);
    cuStreamWaitEvent(h_stream: CUstream, h_event: CUevent, flags: c_uint);
    cuStreamAddCallback(h_stream: CUstream, callback: CUstreamCallback, user_data: *mut c_void, flags: c_uint);
    cuStreamBeginCapture_v2(h_stream: CUstream, mode: CUstreamCaptureMode);
    cuStreamEndCapture(h_stream: CUstream, ph_graph: *mut CUgraph);
    cuStreamIsCapturing(h_stream: CUstream, capture_status: *mut CUstreamCaptureStatus);
    cuStreamAttachMemAsync(h_stream: CUstream, dptr: CUdeviceptr, length: usize, flags: c_uint);
    cuStreamQuery(h_stream: CUstream);
    cuStreamSynchronize(h_stream: CUstream);
    cuStreamDestroy_v2(h_stream: CUstream);
}
