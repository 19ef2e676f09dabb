//! Pageable memory at nearly the link's speed.
//!
//! The copy engine cannot read pageable memory, so somebody has to copy it to page-locked memory first. The driver does that
//! with one thread and little overlap, at a fraction of the link's speed. Here several threads do it, each with two
//! page-locked chunks and a stream of its own: while the engine carries one chunk, the thread fills the other.
//!
//! ```text
//! thread 0   fill 0 | fill 4      | fill 8      | …
//! engine            | carry 0     | carry 4     | …
//! thread 1   fill 1   | fill 5      | fill 9    | …
//! engine              | carry 1     | carry 5   | …
//! ```
//!
//! One thread copies memory at 8 to 12 GB/s and a PCIe 5.0 link carries 55, so it takes about as many threads as that is
//! times as fast. Where they are all in use the link is the limit.

use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::ThreadPool;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use super::budget::PinnedBudget;
use super::host::{PinnedBuffer, Sealed};
use super::scope::wait;
use crate::device::{Backend, Copied, DeviceError, RawStream};

/// Bytes of the largest chunk. Larger ones gain nothing at the link and leave the caches.
const CHUNK: usize = 4 << 20;

/// Bytes of the smallest chunk: below that, starting a copy takes longer than the copy.
const SMALLEST_CHUNK: usize = 256 << 10;

/// More threads than this only compete for the memory's bandwidth.
const MOST_THREADS: usize = 8;

/// Threads and page-locked chunks that carry pageable memory to and from one device.
pub struct Staging {
    device: Arc<dyn Backend>,
    lanes: Vec<Mutex<Lane>>,
    workers: ThreadPool,
}

/// What one thread works with.
struct Lane {
    stream: Box<dyn RawStream>,
    chunks: [PinnedBuffer<u8>; 2],
}

/// How many threads are started when so many are asked for.
fn number_of(threads: usize) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if threads == 0 { cores.min(MOST_THREADS) } else { threads.min(64) }
}

/// How a transfer is cut up: piece `i` begins at `i · chunk`; lane `l` takes every `lanes`-th piece from `l` on.
#[derive(Clone, Copy)]
struct Cut {
    bytes: usize,
    chunk: usize,
    lanes: usize,
}

impl Staging {
    pub(crate) fn new(device: &Arc<dyn Backend>, budget: &PinnedBudget, threads: usize) -> Result<Self, DeviceError> {
        let threads = number_of(threads);
        let lane = |_| {
            let chunk = || PinnedBuffer::zeroed(device, budget, CHUNK);
            Ok(Mutex::new(Lane { stream: device.stream()?, chunks: [chunk()?, chunk()?] }))
        };
        let lanes = (0..threads).map(lane).collect::<Result<_, DeviceError>>()?;
        let workers = rayon::ThreadPoolBuilder::new().num_threads(threads).thread_name(|i| format!("staging {i}"));
        let workers = workers.build().map_err(|why| DeviceError::NoThreads { asked: threads, why: why.to_string() })?;
        Ok(Self { device: device.clone(), lanes, workers })
    }

    /// Page-locked bytes that so many threads work with; 0 threads is as many as pay.
    pub fn pinned_bytes(threads: usize) -> u64 {
        (number_of(threads) * 2 * CHUNK) as u64
    }

    /// Threads that fill chunks.
    pub fn threads(&self) -> usize {
        self.lanes.len()
    }

    pub(super) fn owner(&self) -> &Arc<dyn Backend> {
        &self.device
    }

    pub(super) fn belongs_to(&self, device: &Arc<dyn Backend>) -> bool {
        Arc::ptr_eq(&self.device, device)
    }

    /// Copies to device memory and returns when that has ended.
    ///
    /// # Safety
    /// `bytes` can be read at `from` and written at `to`, which is memory of this device that no pending work uses, until the
    /// call returns.
    pub(super) unsafe fn upload(&self, to: u64, from: *const u8, bytes: usize) -> Result<(), DeviceError> {
        let from = Address(from.cast_mut());
        // SAFETY: the caller's: each lane reads and writes pieces of its own inside both sides.
        self.on_every_lane(bytes, |lane, number, cut| unsafe { lane.upload(to, from.get(), number, cut) })
    }

    /// Copies from device memory and returns when that has ended.
    ///
    /// # Safety
    /// `bytes` can be read at `from`, which is memory of this device that no pending work writes, and written at `to`, until
    /// the call returns.
    pub(super) unsafe fn download(&self, to: *mut u8, from: u64, bytes: usize) -> Result<(), DeviceError> {
        let to = Address(to);
        // SAFETY: the caller's: each lane reads and writes pieces of its own inside both sides.
        self.on_every_lane(bytes, |lane, number, cut| unsafe { lane.download(to.get(), from, number, cut) })
    }

    /// Runs one direction on as many lanes as there are pieces; a single piece does without another thread.
    fn on_every_lane(
        &self,
        bytes: usize,
        work: impl Fn(&Lane, usize, Cut) -> Result<(), DeviceError> + Sync,
    ) -> Result<(), DeviceError> {
        let cut = Cut::new(bytes, self.lanes.len());
        let run = |number: usize| {
            let mut lane = self.lanes[number].lock().unwrap_or_else(PoisonError::into_inner);
            let outcome = work(&lane, number, cut);
            // Whatever became of it: nothing is pending when this returns.
            let waited = wait(&*lane.stream);
            lane.stream.reset();
            outcome.and(waited)
        };
        match cut.lanes {
            0 => Ok(()),
            1 => run(0),
            lanes => self.workers.install(|| (0..lanes).into_par_iter().map(run).collect()),
        }
    }
}

impl Cut {
    fn new(bytes: usize, lanes: usize) -> Self {
        // Two pieces a lane, so that filling and carrying overlap; whole pages.
        let chunk = bytes.div_ceil(2 * lanes).next_multiple_of(4096).clamp(SMALLEST_CHUNK, CHUNK);
        Self { bytes, chunk, lanes: lanes.min(bytes.div_ceil(chunk)) }
    }

    /// The pieces of a lane in turn: which of its two chunks, offset, length.
    fn pieces(self, lane: usize) -> impl Iterator<Item = (usize, usize, usize)> {
        let offsets = (lane * self.chunk..self.bytes).step_by(self.chunk * self.lanes);
        offsets.enumerate().map(move |(turn, offset)| (turn % 2, offset, self.chunk.min(self.bytes - offset)))
    }
}

impl Lane {
    /// # Safety
    /// As [`Staging::upload`], for the lane's pieces.
    unsafe fn upload(&self, to: u64, from: *const u8, number: usize, cut: Cut) -> Result<(), DeviceError> {
        let mut pending = [None; 2];
        for (slot, offset, bytes) in cut.pieces(number) {
            if let Some(mark) = pending[slot].take() {
                self.stream.wait_for(mark)?; // the engine has read the chunk
            }
            let chunk = self.chunks[slot].block().as_ptr();
            // SAFETY: the piece is inside the source; the chunk has at least as many bytes, belongs to this lane, which is
            // locked, and no copy from it is pending.
            unsafe { ptr::copy_nonoverlapping(from.add(offset), chunk, bytes) };
            // SAFETY: the piece is inside the destination; the chunk is page-locked and stays as it is until the mark.
            unsafe { self.stream.copy_to_device(to + offset as u64, chunk, bytes, Copied::PageLocked)? };
            pending[slot] = Some(self.stream.mark()?);
        }
        Ok(())
    }

    /// # Safety
    /// As [`Staging::download`], for the lane's pieces.
    unsafe fn download(&self, to: *mut u8, from: u64, number: usize, cut: Cut) -> Result<(), DeviceError> {
        let mut pending = [None; 2];
        let empty = |slot: usize, (mark, offset, bytes): (usize, usize, usize)| {
            self.stream.wait_for(mark)?; // the engine has written the chunk
            // SAFETY: the piece is inside the destination, which the caller lends alone; the chunk holds it.
            unsafe { ptr::copy_nonoverlapping(self.chunks[slot].block().as_ptr().cast_const(), to.add(offset), bytes) };
            Ok::<_, DeviceError>(())
        };
        let mut last = 0;
        for (slot, offset, bytes) in cut.pieces(number) {
            if let Some(piece) = pending[slot].take() {
                empty(slot, piece)?;
            }
            let chunk = self.chunks[slot].block().as_ptr();
            // SAFETY: the piece is inside the source; the chunk has at least as many bytes, belongs to this lane, which is
            // locked, and was emptied.
            unsafe { self.stream.copy_to_host(chunk, from + offset as u64, bytes, Copied::PageLocked)? };
            pending[slot] = Some((self.stream.mark()?, offset, bytes));
            last = slot;
        }
        for slot in [1 - last, last] {
            if let Some(piece) = pending[slot].take() {
                empty(slot, piece)?;
            }
        }
        Ok(())
    }
}

/// A pointer that several threads use at places of their own.
#[derive(Clone, Copy)]
struct Address(*mut u8);

impl Address {
    fn get(self) -> *mut u8 {
        self.0
    }
}

// SAFETY: dereferenced only in `Lane`, each of which touches pieces that no other does.
unsafe impl Send for Address {}
// SAFETY: as above.
unsafe impl Sync for Address {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_of_all_lanes_cover_everything_once() {
        for bytes in [1, 4095, 4096, SMALLEST_CHUNK, SMALLEST_CHUNK + 1, 10 * CHUNK + 7, 100 * CHUNK] {
            for lanes in [1, 2, 3, 8] {
                let cut = Cut::new(bytes, lanes);
                let mut pieces: Vec<_> = (0..cut.lanes).flat_map(|lane| cut.pieces(lane)).collect();
                pieces.sort_by_key(|&(_, offset, _)| offset);
                let end = pieces.iter().fold(0, |end, &(_, offset, len)| {
                    assert_eq!(offset, end, "{bytes} bytes, {lanes} lanes");
                    assert!(len <= CHUNK && len > 0);
                    offset + len
                });
                assert_eq!(end, bytes);
                assert!(cut.lanes <= lanes);
            }
        }
        assert_eq!(Cut::new(0, 8).lanes, 0);
    }
}
