//! Pageable memory at nearly the link's speed.
//!
//! The copy engine cannot read pageable memory, so somebody has to copy it to page-locked memory first. The driver does that
//! with one thread and little overlap, at a fraction of the link's speed. Here several threads do it, each with two
//! page-locked chunks and a stream of its own: while the engine carries one chunk, the thread fills the other.
//!
//! ```text
//! caller     fill 0 | fill 2      | fill 4      | …
//! engine            | carry 0     | carry 2     | …
//! thread 1      fill 1 | fill 3      | fill 5      | …
//! engine               | carry 1     | carry 3     | …
//! ```
//!
//! The thread that calls is one of them and begins at once; the others take pieces as soon as they are awake.
//!
//! One thread copies memory at some 7 GB/s and a PCIe 5.0 link carries 55, so it takes eight threads or more. `cargo run
//! --release -p cpu --example staging` finds the best shape of a machine.

use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rayon::ThreadPool;

use super::budget::PinnedBudget;
use super::host::{PinnedBuffer, Sealed};
use super::scope::wait;
use crate::device::{Backend, Copied, DeviceError, RawStream};

/// Bytes of the smallest chunk: below that, starting a copy takes longer than the copy.
const SMALLEST_CHUNK: usize = 256 << 10;

/// More threads than this only compete for the memory's bandwidth.
const MOST_THREADS: usize = 15;

/// Smaller uploads are left to the driver, whose own staging is as fast there. Downloads are ours at every size.
const UPLOADS_WORTH_STAGING: usize = 4 << 20;

/// How many threads stage, and through what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StagingShape {
    /// Threads, each with a stream of its own.
    pub threads: usize,
    /// Chunks of each thread: one being filled while the others are carried.
    pub chunks: usize,
    /// Bytes of the largest chunk; whole pages. Small transfers are cut finer.
    pub chunk_bytes: usize,
    /// Uploads of fewer bytes are left to the driver.
    pub upload_from: usize,
    /// Downloads of fewer bytes are left to the driver.
    pub download_from: usize,
}

impl Default for StagingShape {
    /// What was the fastest on the machine in `docs/perf-log.md`; one core is left to whoever waits.
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            threads: (cores - 1).clamp(1, MOST_THREADS),
            chunks: 3,
            chunk_bytes: 2 << 20,
            upload_from: UPLOADS_WORTH_STAGING,
            download_from: 0,
        }
    }
}

impl StagingShape {
    /// Page-locked bytes that it takes.
    pub fn pinned_bytes(self) -> u64 {
        self.threads as u64 * self.chunks as u64 * self.chunk_bytes as u64
    }

    /// At least one thread and two chunks; whole pages.
    fn sane(self) -> Self {
        Self {
            threads: self.threads.clamp(1, 64),
            chunks: self.chunks.clamp(2, 8),
            chunk_bytes: self.chunk_bytes.clamp(SMALLEST_CHUNK, 256 << 20).next_multiple_of(4096),
            ..self
        }
    }
}

/// Threads and page-locked chunks that carry pageable memory to and from one device.
pub struct Staging {
    shape: StagingShape,
    device: Arc<dyn Backend>,
    lanes: Vec<Mutex<Lane>>,
    /// All lanes but the first, which is the caller's.
    workers: ThreadPool,
}

/// What one thread works with.
struct Lane {
    stream: Box<dyn RawStream>,
    chunks: Vec<PinnedBuffer<u8>>,
}

/// How a transfer is cut up: piece `i` begins at `i · chunk`, and a lane that has nothing to do takes the next one.
struct Cut {
    bytes: usize,
    chunk: usize,
    chunks: usize,
    lanes: usize,
    /// Pieces that were taken.
    taken: AtomicUsize,
}

impl Staging {
    pub(crate) fn new(
        device: &Arc<dyn Backend>,
        budget: &PinnedBudget,
        shape: StagingShape,
    ) -> Result<Self, DeviceError> {
        let shape = shape.sane();
        let threads = shape.threads;
        let lane = |_| {
            let chunk = |_| PinnedBuffer::zeroed(device, budget, shape.chunk_bytes);
            let chunks = (0..shape.chunks).map(chunk).collect::<Result<_, _>>()?;
            Ok(Mutex::new(Lane { stream: device.stream()?, chunks }))
        };
        let lanes = (0..threads).map(lane).collect::<Result<_, DeviceError>>()?;
        // Zero would mean as many as there are cores.
        let others = (threads - 1).max(1);
        let workers = rayon::ThreadPoolBuilder::new().num_threads(others).thread_name(|i| format!("staging {i}"));
        let workers =
            workers.build().map_err(|why| DeviceError::NoStagingThreads { asked: threads, why: why.to_string() })?;
        Ok(Self { shape, device: device.clone(), lanes, workers })
    }

    /// Threads and chunks.
    pub fn shape(&self) -> StagingShape {
        self.shape
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
        self.on_every_lane(bytes, |lane, cut| unsafe { lane.upload(to, from.get(), cut) })
    }

    /// Copies from device memory and returns when that has ended.
    ///
    /// # Safety
    /// `bytes` can be read at `from`, which is memory of this device that no pending work writes, and written at `to`, until
    /// the call returns.
    pub(super) unsafe fn download(&self, to: *mut u8, from: u64, bytes: usize) -> Result<(), DeviceError> {
        let to = Address(to);
        // SAFETY: the caller's: each lane reads and writes pieces of its own inside both sides.
        self.on_every_lane(bytes, |lane, cut| unsafe { lane.download(to.get(), from, cut) })
    }

    /// Runs one direction on as many lanes as there are pieces, the first of them on this thread.
    fn on_every_lane(
        &self,
        bytes: usize,
        work: impl Fn(&Lane, &Cut) -> Result<(), DeviceError> + Sync,
    ) -> Result<(), DeviceError> {
        let cut = Cut::new(bytes, self.shape);
        let run = |number: usize| {
            let mut lane = self.lanes[number].lock().unwrap_or_else(PoisonError::into_inner);
            let outcome = work(&lane, &cut);
            // Whatever became of it: nothing is pending when this returns.
            let waited = wait(&*lane.stream);
            lane.stream.reset();
            outcome.and(waited)
        };
        if cut.lanes < 2 {
            return if cut.lanes == 0 { Ok(()) } else { run(0) };
        }
        let failed = Mutex::new(Ok(()));
        let first = self.workers.in_place_scope(|workers| {
            for number in 1..cut.lanes {
                let (run, failed) = (&run, &failed);
                workers.spawn(move |_| {
                    if let Err(error) = run(number) {
                        *failed.lock().unwrap_or_else(PoisonError::into_inner) = Err(error);
                    }
                });
            }
            run(0)
        });
        first.and(failed.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Cut {
    fn new(bytes: usize, shape: StagingShape) -> Self {
        // As many pieces as all lanes have chunks, so that filling and carrying overlap; whole pages.
        let pieces = shape.threads * shape.chunks;
        let chunk = bytes.div_ceil(pieces).next_multiple_of(4096).clamp(SMALLEST_CHUNK, shape.chunk_bytes);
        let lanes = shape.threads.min(bytes.div_ceil(chunk));
        Self { bytes, chunk, chunks: shape.chunks, lanes, taken: AtomicUsize::new(0) }
    }

    /// The pieces that a lane takes, in turn: which of its chunks, offset, length.
    fn pieces(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        (0..).map_while(|turn| {
            // No more than a counter: what the pieces are copied with orders itself.
            let offset = self.taken.fetch_add(1, Ordering::Relaxed).checked_mul(self.chunk)?;
            (offset < self.bytes).then(|| (turn % self.chunks, offset, self.chunk.min(self.bytes - offset)))
        })
    }
}

impl Lane {
    /// # Safety
    /// As [`Staging::upload`], for the pieces that the lane takes.
    unsafe fn upload(&self, to: u64, from: *const u8, cut: &Cut) -> Result<(), DeviceError> {
        let mut pending = vec![None; cut.chunks];
        for (slot, offset, bytes) in cut.pieces() {
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
    unsafe fn download(&self, to: *mut u8, from: u64, cut: &Cut) -> Result<(), DeviceError> {
        let mut pending = vec![None; cut.chunks];
        let empty = |slot: usize, (mark, offset, bytes): (usize, usize, usize)| {
            self.stream.wait_for(mark)?; // the engine has written the chunk
            // SAFETY: the piece is inside the destination, which the caller lends alone; the chunk holds it.
            unsafe { ptr::copy_nonoverlapping(self.chunks[slot].block().as_ptr().cast_const(), to.add(offset), bytes) };
            Ok::<_, DeviceError>(())
        };
        let mut next = 0;
        for (slot, offset, bytes) in cut.pieces() {
            if let Some(piece) = pending[slot].take() {
                empty(slot, piece)?;
            }
            let chunk = self.chunks[slot].block().as_ptr();
            // SAFETY: the piece is inside the source; the chunk has at least as many bytes, belongs to this lane, which is
            // locked, and was emptied.
            unsafe { self.stream.copy_to_host(chunk, from + offset as u64, bytes, Copied::PageLocked)? };
            pending[slot] = Some((self.stream.mark()?, offset, bytes));
            next = (slot + 1) % cut.chunks;
        }
        // The oldest first: the chunk that would be used next.
        for slot in (next..cut.chunks).chain(0..next) {
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

    fn shape(threads: usize, chunks: usize, chunk_bytes: usize) -> StagingShape {
        StagingShape { threads, chunks, chunk_bytes, ..StagingShape::default() }
    }

    #[test]
    fn the_pieces_of_all_lanes_cover_everything_once() {
        let largest = 4 << 20;
        for bytes in [1, 4095, 4096, SMALLEST_CHUNK, SMALLEST_CHUNK + 1, 10 * largest + 7, 100 * largest] {
            for (threads, chunks) in [(1, 2), (2, 2), (3, 4), (8, 2), (12, 3)] {
                let cut = Cut::new(bytes, shape(threads, chunks, largest));
                assert!(cut.lanes <= threads);
                // In disorder: the first lane takes one, the second the next, and then the first all others.
                let (mut one, mut other) = (cut.pieces(), cut.pieces());
                let mut pieces: Vec<_> = [one.next(), other.next()].into_iter().flatten().chain(one).collect();
                pieces.sort_by_key(|&(_, offset, _)| offset);
                let end = pieces.iter().fold(0, |end, &(slot, offset, len)| {
                    assert_eq!(offset, end, "{bytes} bytes, {threads} threads");
                    assert!(len <= largest && len > 0 && slot < chunks);
                    offset + len
                });
                assert_eq!(end, bytes);
                assert_eq!(other.next(), None);
            }
        }
        assert_eq!(Cut::new(0, StagingShape::default()).lanes, 0);
    }
}
