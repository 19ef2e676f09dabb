//! Streams, events, callbacks, and whose context is current.

use core::ffi::c_void;
use std::ptr;

use cpu::driver;
use cust::context::CurrentContext;
use cust::error::CudaError;
use cust::event::{Event, EventFlags};
use cust::sys;

use crate::fake::with_fake;
use crate::{context, device_memory, pinned, stream};

#[test]
fn streams_wait_for_events_and_the_default_stream() {
    with_fake("streams::streams_wait_for_events_and_the_default_stream", "", |fake| {
        let _context = context();
        let device = device_memory(16);
        let (first, second) = (stream(), stream());
        // cust's `wait_event` takes the event by value, and so destroys it at once.
        let mut event = ptr::null_mut();
        cu!(cuEventCreate(&mut event, 2)).unwrap();
        cu!(cuMemsetD8Async(device, 1, 16, first.as_inner())).unwrap();
        cu!(cuEventRecord(event, first.as_inner())).unwrap();
        cu!(cuStreamWaitEvent(second.as_inner(), event, 0)).unwrap();
        cu!(cuMemsetD8Async(device, 2, 16, second.as_inner())).unwrap();
        assert!(cu!(cuEventQuery(event)).unwrap_err().is_not_ready());
        second.synchronize().unwrap();
        cu!(cuEventQuery(event)).unwrap();
        cu!(cuEventDestroy_v2(event)).unwrap();
        let fill = |stream: &str| format!("{stream} fill dev1+0 bytes=16");
        assert_eq!(
            fake.executed(),
            [fill("stream1"), "stream2 wait event1".into(), "stream1 record event1".into(), fill("stream2")]
        );

        // A blocking stream's work comes before what the default stream is given later. (cust drops NON_BLOCKING from
        // the flags, so all three streams are blocking ones.)
        cu!(cuMemsetD8Async(device, 3, 16, first.as_inner())).unwrap();
        let mut byte = 0u8;
        cu!(cuMemcpyDtoH_v2(ptr::from_mut(&mut byte).cast(), device, 1)).unwrap();
        assert_eq!(byte, 3);
        cu!(cuMemFree_v2(device)).unwrap();
        assert_eq!(fake.violations(), [""; 0]);
    });
}

#[test]
fn events_that_are_not_done() {
    with_fake("streams::events_that_are_not_done", "", |_| {
        let _context = context();
        let stream = stream();
        let [start, end, untimed] = [EventFlags::DEFAULT, EventFlags::DEFAULT, EventFlags::DISABLE_TIMING]
            .map(|flags| Event::new(flags).unwrap());
        assert_eq!(end.elapsed_time_f32(&start).unwrap_err(), CudaError::InvalidHandle); // never recorded
        start.record(&stream).unwrap();
        end.record(&stream).unwrap();
        untimed.record(&stream).unwrap();
        assert_eq!(end.elapsed_time_f32(&start).unwrap_err(), CudaError::NotReady);
        assert_eq!(untimed.elapsed_time_f32(&start).unwrap_err(), CudaError::InvalidHandle);
        end.synchronize().unwrap();
        assert!(end.elapsed_time_f32(&start).unwrap() >= 0.0);
        stream.synchronize().unwrap();
    });
}

#[test]
fn calls_from_a_callback_are_refused() {
    unsafe extern "C" fn frees(host: *mut c_void) {
        assert_eq!(cu!(cuMemFreeHost(host)).unwrap_err().name(), "CUDA_ERROR_NOT_PERMITTED");
    }
    with_fake("streams::calls_from_a_callback_are_refused", "", |fake| {
        let _context = context();
        let host = pinned(16, 0);
        cu!(cuLaunchHostFunc(ptr::null_mut(), Some(frees), host.cast())).unwrap();
        assert_eq!(fake.violations(), [""; 0]);
        CurrentContext::synchronize().unwrap();
        assert_eq!(fake.violations(), ["cuMemFreeHost from within a stream's callback"]);
        cu!(cuMemFreeHost(host.cast())).unwrap();
    });
}

#[test]
fn another_thread_has_no_context() {
    with_fake("streams::another_thread_has_no_context", "", |fake| {
        let context = context();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert_eq!(cu!(cuMemAlloc_v2(&mut 0, 16)).unwrap_err().name(), "CUDA_ERROR_INVALID_CONTEXT");
                CurrentContext::set_current(&context).unwrap();
                cu!(cuMemFree_v2(device_memory(16))).unwrap();
            });
        });
        assert_eq!(fake.violations(), ["cuMemAlloc_v2 without a current context"]);
    });
}
