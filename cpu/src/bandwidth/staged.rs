//! Pageable memory that our own threads stage, measured beside what the driver does with it.

use std::time::Duration;

use super::memory::{Destination, HostMemory};
use crate::device::{Device, DeviceError};
use crate::memory::{HostBuffer, PageableBuffer, Staging, StagingShape, Stream, StreamBuffer};

/// The name of pageable memory that is staged by our own threads.
pub const STAGED: &str = "staged";

/// Pageable memory with the threads and page-locked chunks that carry it.
pub struct Staged {
    memory: PageableBuffer<u32>,
    staging: Staging,
}

/// How many threads and chunks carry it. A device that is the CPU itself gains nothing from many.
pub fn staging_shape(device: &Device) -> StagingShape {
    match device.is_simt() {
        true => StagingShape { threads: 2, chunks: 2, chunk_bytes: 256 << 10, ..StagingShape::default() },
        false => StagingShape::default(),
    }
}

impl HostMemory for Staged {
    const NAME: &'static str = STAGED;
    const ASYNCHRONOUS: bool = false;

    fn allocate(device: &Device, words: usize) -> Result<Self, DeviceError> {
        Ok(Self { memory: PageableBuffer::zeroed(words)?, staging: device.staging(staging_shape(device))? })
    }

    fn allocation_time(&self) -> Duration {
        HostMemory::allocation_time(&self.memory)
    }

    fn upload<'s>(&'s self, stream: &'s Stream<'s, '_>, to: &mut StreamBuffer<'s, u32>) -> Result<(), DeviceError> {
        stream.upload_staged(&self.staging, self.memory.as_slice(), to)
    }

    fn set_pattern(&mut self, seed: u32) {
        self.memory.set_pattern(seed);
    }

    fn fill(&mut self, word: u32) {
        HostMemory::fill(&mut self.memory, word);
    }

    fn read<R>(&self, read: impl FnOnce(&[u32]) -> R) -> R {
        self.memory.read(read)
    }
}

impl Destination for Staged {
    fn download<'s>(&'s mut self, stream: &'s Stream<'s, '_>, from: &StreamBuffer<'s, u32>) -> Result<(), DeviceError> {
        stream.download_staged(&self.staging, from, self.memory.as_mut_slice())
    }
}
