//! Copies of parts of buffers, which need not begin at the same place on both sides.

use std::ops::Range;

use gpu::device::Element;

use super::{Stream, StreamBuffer};
use crate::device::{Copied, DeviceError};
use crate::memory::host::{PageLocked, WritableMemory};

impl<'scope> Stream<'scope, '_> {
    /// Enqueues a copy to the device of the elements of a range of page-locked memory, to the elements from `at` on. Returns
    /// at once; all of the source is borrowed, so that nothing of it changes on the way.
    ///
    /// # Errors
    /// The range reaches beyond the end of the source, or from `at` on beyond the end of the destination; one side is
    /// another device's, or the device refuses.
    pub fn upload_range<T: Element>(
        &'scope self,
        from: &'scope impl PageLocked<T>,
        range: Range<usize>,
        to: &mut StreamBuffer<'scope, T>,
        at: usize,
    ) -> Result<(), DeviceError> {
        self.check_locked(from)?;
        self.check_device(to)?;
        let from = from.block().as_slice();
        let source = from.get(range.clone()).ok_or_else(|| beyond(range, from.len()))?;
        let address = to.part(at, source.len())?;
        if source.is_empty() {
            return Ok(());
        }
        // SAFETY: `get` and `part` have found this many elements on both sides, and the device is the memory's. Both are
        // borrowed as in `copy_in`; the source is page-locked, checked above.
        unsafe { self.raw.copy_to_device(address, source.as_ptr().cast(), size_of_val(source), Copied::PageLocked) }
    }

    /// Enqueues a copy from the device of the elements of a range, to those of page-locked memory from `at` on. Returns at
    /// once; all of the destination is borrowed until the scope has waited. What lies outside the range stays as it is.
    ///
    /// # Errors
    /// The range reaches beyond the end of the source, or from `at` on beyond the end of the destination; one side is
    /// another device's, or the device refuses.
    pub fn download_range<T: Element>(
        &'scope self,
        from: &StreamBuffer<'scope, T>,
        range: Range<usize>,
        to: &'scope mut (impl PageLocked<T> + WritableMemory<T>),
        at: usize,
    ) -> Result<(), DeviceError> {
        self.check_locked(to)?;
        self.check_device(from)?;
        let len = from.buffer.len();
        let elements = range.end.checked_sub(range.start).ok_or_else(|| beyond(range.clone(), len))?;
        let address = from.part(range.start, elements)?;
        let to = to.block_mut().as_mut_slice();
        let len = to.len();
        let end = at.checked_add(elements).filter(|&end| end <= len);
        let end = end.ok_or(DeviceError::OutOfRange { at, elements, len })?;
        let destination = &mut to[at..end];
        if destination.is_empty() {
            return Ok(());
        }
        let bytes = size_of_val(destination);
        // SAFETY: `part` and the check above have found this many elements on both sides, and the device is the memory's.
        // Both are borrowed as in `copy_out`; the destination is page-locked, checked above.
        unsafe { self.raw.copy_to_host(destination.as_mut_ptr().cast(), address, bytes, Copied::PageLocked) }
    }
}

impl<T: Element> StreamBuffer<'_, T> {
    /// The address of `elements` elements from `at` on.
    fn part(&self, at: usize, elements: usize) -> Result<u64, DeviceError> {
        let len = self.buffer.len();
        let end = at.checked_add(elements).filter(|&end| end <= len);
        end.ok_or(DeviceError::OutOfRange { at, elements, len })?;
        Ok(self.buffer.address() + (at * size_of::<T>()) as u64)
    }
}

/// A range that is not inside `len` elements.
fn beyond(range: Range<usize>, len: usize) -> DeviceError {
    DeviceError::OutOfRange { at: range.start, elements: range.end.saturating_sub(range.start), len }
}
