//! A stream of a GPU.

use std::cell::{Cell, RefCell};
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use cust::event::{Event, EventFlags};
use cust::stream::Stream as CudaStream;
use cust::sys;

use super::{Function, Shared, of};
use crate::device::{Copied, DeviceError, RawLaunch, RawStream};
use crate::driver::{self, DriverError};
use crate::memory::Location;

/// A stream with the events that mark points in it.
pub(super) struct Queue {
    /// Present until dropped: the context must be current before the stream is destroyed.
    stream: Option<CudaStream>,
    events: RefCell<Vec<Event>>,
    /// How many of `events` are in use; the others wait to be used again.
    marks: Cell<usize>,
    last_kernel: Cell<Option<&'static str>>,
    shared: Arc<Shared>,
}

impl Queue {
    pub(super) fn new(stream: CudaStream, shared: Arc<Shared>) -> Self {
        let (events, marks, last_kernel) = (RefCell::default(), Cell::new(0), Cell::new(None));
        Self { stream: Some(stream), events, marks, last_kernel, shared }
    }

    fn handle(&self) -> sys::CUstream {
        self.stream.as_ref().map_or(ptr::null_mut(), CudaStream::as_inner)
    }

    /// Adds which kernel was last launched to an error that a kernel may have caused.
    fn explained(&self, error: DriverError) -> DeviceError {
        match self.last_kernel.get() {
            Some(kernel) if error.leaves_context_unusable() => DeviceError::KernelFailed { kernel, reason: error },
            _ => error.into(),
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        let _ = self.shared.bind();
        self.events.get_mut().clear();
        self.stream = None;
    }
}

// SAFETY: CUDA's streams do work in order, and cuStreamSynchronize returns when all of it has ended or the context is lost.
unsafe impl RawStream for Queue {
    unsafe fn copy_to_device(&self, to: u64, from: *const u8, bytes: usize, _: Copied) -> Result<(), DeviceError> {
        self.shared.bind()?;
        // The driver finds out by itself whether the source is page-locked, and stages it if not.
        // SAFETY: the caller promises that both sides have the bytes until the stream was synchronised.
        let code = unsafe { sys::cuMemcpyHtoDAsync_v2(to, from.cast(), bytes, self.handle()) };
        driver::call("cuMemcpyHtoDAsync", code).map_err(|error| self.explained(error))
    }

    unsafe fn copy_to_host(&self, to: *mut u8, from: u64, bytes: usize, _: Copied) -> Result<(), DeviceError> {
        self.shared.bind()?;
        // SAFETY: as above, and that nobody else touches the destination.
        let code = unsafe { sys::cuMemcpyDtoHAsync_v2(to.cast(), from, bytes, self.handle()) };
        driver::call("cuMemcpyDtoHAsync", code).map_err(|error| self.explained(error))
    }

    unsafe fn fill(&self, to: u64, byte: u8, bytes: usize) -> Result<(), DeviceError> {
        self.shared.bind()?;
        // SAFETY: the caller promises that `to` has the bytes until the stream was synchronised.
        let code = unsafe { sys::cuMemsetD8Async(to, byte, bytes, self.handle()) };
        driver::call("cuMemsetD8Async", code).map_err(|error| self.explained(error))
    }

    unsafe fn prefetch(&self, address: u64, bytes: usize, to: Location) -> Result<(), DeviceError> {
        // SAFETY: the caller's; the stream is destroyed in `drop` only.
        let outcome = unsafe { self.shared.prefetch(address, bytes, to, self.handle()) };
        outcome.map_err(|error| match error {
            DeviceError::Driver(error) => self.explained(error),
            other => other,
        })
    }

    unsafe fn launch(&self, launch: RawLaunch<'_>) -> Result<(), DeviceError> {
        self.shared.bind()?;
        let Function(function) = self.shared.function(launch.kernel, launch.shared_bytes)?;
        let (grid, block) = (launch.grid, launch.block);
        // SAFETY: the caller promises one pointer per parameter of the entry point of this name, each to a value of its type,
        // and the kernel's contract. The driver copies the values before it returns; the function is of our module.
        let code = unsafe {
            sys::cuLaunchKernel(
                function,
                grid.x,
                grid.y,
                grid.z,
                block.x,
                block.y,
                block.z,
                launch.shared_bytes,
                self.handle(),
                launch.parameters.as_mut_ptr(),
                ptr::null_mut(),
            )
        };
        self.last_kernel.set(Some(launch.kernel));
        driver::call("cuLaunchKernel", code).map_err(|error| self.explained(error))
    }

    fn mark(&self) -> Result<usize, DeviceError> {
        self.shared.bind()?;
        let index = self.marks.get();
        let mut events = self.events.borrow_mut();
        if index == events.len() {
            events.push(Event::new(EventFlags::DEFAULT).map_err(of("cuEventCreate"))?);
        }
        if let Some(stream) = &self.stream {
            // As every call after a launch, this one may be the first to hear of a kernel's failure.
            let recorded = events[index].record(stream).map_err(|error| DriverError::from_cust("cuEventRecord", error));
            recorded.map_err(|error| self.explained(error))?;
        }
        self.marks.set(index + 1);
        Ok(index)
    }

    fn elapsed(&self, from: usize, to: usize) -> Result<Duration, DeviceError> {
        self.shared.bind()?;
        let events = self.events.borrow();
        let waited = events[to].synchronize().map_err(|error| DriverError::from_cust("cuEventSynchronize", error));
        waited.map_err(|error| self.explained(error))?;
        let milliseconds = events[to].elapsed_time_f32(&events[from]).map_err(of("cuEventElapsedTime"))?;
        Ok(Duration::from_secs_f64(f64::from(milliseconds.max(0.0)) / 1e3))
    }

    fn synchronize(&self) -> Result<(), DeviceError> {
        self.shared.bind()?;
        // SAFETY: the stream is destroyed in `drop` only.
        let code = unsafe { sys::cuStreamSynchronize(self.handle()) };
        driver::call("cuStreamSynchronize", code).map_err(|error| self.explained(error))
    }

    fn reset(&mut self) {
        self.marks.set(0);
        self.last_kernel.set(None);
    }
}
