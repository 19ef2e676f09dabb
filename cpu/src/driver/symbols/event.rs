//! Events.

use core::ffi::c_uint;

use cust::sys::{CUevent, CUstream};

use super::forward;

forward! {
    cuEventCreate(ph_event: *mut CUevent, flags: c_uint);
    cuEventRecord(h_event: CUevent, h_stream: CUstream);
    cuEventRecordWithFlags(h_event: CUevent, h_stream: CUstream, flags: c_uint);
    cuEventQuery(h_event: CUevent);
    cuEventSynchronize(h_event: CUevent);
    cuEventDestroy_v2(h_event: CUevent);
    cuEventElapsedTime(p_milliseconds: *mut f32, h_start: CUevent, h_end: CUevent);
}
