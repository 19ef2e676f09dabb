//! Which block is next, and which fault counts.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use gpu::device::Dim3;

use crate::fault::Fault;

/// Chunks that each worker gets on average: enough that the last ones to finish wait little for each other.
const CHUNKS_PER_WORKER: u64 = 64;
/// Blocks of a chunk at most, so that a fault is noticed soon in a huge grid.
const MAX_CHUNK: u64 = 1024;

/// The blocks of one launch, numbered `x` fastest, handed out in ascending chunks. Its size does not depend on the
/// grid's.
///
/// Blocks below the lowest fault so far are still run, those above are not. As all blocks below it have been handed
/// out, the fault that remains is the lowest of the grid: the same one at every launch, however the workers race.
pub(crate) struct Dispatch {
    grid: Dim3,
    blocks: u64,
    chunk: u64,
    next: AtomicU64,
    lowest_fault: AtomicU64,
    fault: Mutex<Option<(u64, Fault)>>,
}

impl Dispatch {
    /// All blocks of a legal grid, for so many workers.
    pub(crate) fn new(grid: Dim3, workers: usize) -> Self {
        let blocks = u64::from(grid.x) * u64::from(grid.y) * u64::from(grid.z); // a legal grid has less than 2⁶³
        Self {
            grid,
            blocks,
            chunk: (blocks / (workers as u64 * CHUNKS_PER_WORKER)).clamp(1, MAX_CHUNK),
            next: AtomicU64::new(0),
            lowest_fault: AtomicU64::new(u64::MAX),
            fault: Mutex::new(None),
        }
    }

    /// The grid's extents.
    pub(crate) fn grid(&self) -> Dim3 {
        self.grid
    }

    /// Blocks in the grid.
    pub(crate) fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The next blocks to run, or none if all are handed out or lie above a fault.
    pub(crate) fn next_chunk(&self) -> Option<Range<u64>> {
        // Relaxed suffices: a block publishes nothing to other blocks. A worker stops at the first chunk beyond the
        // end, so the counter passes it by at most a chunk per worker and cannot wrap.
        let start = self.next.fetch_add(self.chunk, Ordering::Relaxed);
        let end = (start + self.chunk).min(self.blocks);
        (start < end && !self.is_moot(start)).then_some(start..end)
    }

    /// Whether the block's outcome no longer matters, because one below it has faulted.
    #[inline]
    pub(crate) fn is_moot(&self, block: u64) -> bool {
        self.lowest_fault.load(Ordering::Relaxed) < block
    }

    /// The index in the grid of the block with this number.
    pub(crate) fn index(&self, block: u64) -> Dim3 {
        index_of(block, self.grid)
    }

    /// Notes a block's fault.
    pub(crate) fn report(&self, block: u64, fault: Fault) {
        self.lowest_fault.fetch_min(block, Ordering::Relaxed);
        let mut lowest = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        if lowest.as_ref().is_none_or(|(other, _)| block < *other) {
            *lowest = Some((block, fault));
        }
    }

    /// The launch's result, once all workers are done.
    pub(crate) fn into_result(self) -> Result<(), Fault> {
        let lowest = self.fault.into_inner().unwrap_or_else(PoisonError::into_inner);
        lowest.map_or(Ok(()), |(_, fault)| Err(fault))
    }
}

/// The index of cell `number` in `extents`, `x` fastest.
#[inline]
pub(crate) fn index_of(number: u64, extents: Dim3) -> Dim3 {
    let (row, x) = (number / u64::from(extents.x), number % u64::from(extents.x));
    let (z, y) = (row / u64::from(extents.y), row % u64::from(extents.y));
    // Remainders of 32-bit divisors, and a quotient below `extents.z` for a number inside: all fit.
    Dim3::new(x as u32, y as u32, z as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(kernel: &'static str) -> Fault {
        Fault::Nested { kernel }
    }

    #[test]
    fn every_block_is_handed_out_once_in_order() {
        for (grid, workers) in [(Dim3::new(1, 1, 1), 16), (Dim3::new(3, 5, 7), 2), (Dim3::new(100_003, 2, 1), 3)] {
            let dispatch = Dispatch::new(grid, workers);
            let mut expected = 0;
            while let Some(chunk) = dispatch.next_chunk() {
                assert_eq!(chunk.start, expected);
                expected = chunk.end;
            }
            assert_eq!(u128::from(expected), grid.count());
        }
    }

    #[test]
    fn the_largest_grid_is_numbered_without_overflow() {
        let grid = Dim3::new((1 << 31) - 1, 65_535, 65_535);
        let dispatch = Dispatch::new(grid, 16);
        assert_eq!(u128::from(dispatch.blocks()), grid.count());
        assert_eq!(dispatch.index(dispatch.blocks() - 1), Dim3::new((1 << 31) - 2, 65_534, 65_534));
        assert_eq!(dispatch.next_chunk(), Some(0..MAX_CHUNK));
    }

    #[test]
    fn the_lowest_fault_wins_and_only_blocks_above_it_are_moot() {
        let dispatch = Dispatch::new(Dim3::new(100, 1, 1), 1);
        dispatch.report(40, nested("later"));
        dispatch.report(20, nested("earlier"));
        dispatch.report(30, nested("between"));
        assert!(dispatch.is_moot(21) && !dispatch.is_moot(20) && !dispatch.is_moot(19));
        assert_eq!(dispatch.into_result(), Err(nested("earlier")));
    }

    #[test]
    fn nothing_is_handed_out_above_a_fault() {
        let dispatch = Dispatch::new(Dim3::new(1000, 1, 1), 1);
        let first = dispatch.next_chunk().expect("a chunk");
        dispatch.report(first.start, nested("first"));
        assert_eq!(dispatch.next_chunk(), None);
    }
}
