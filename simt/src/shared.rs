//! A block's shared memory: one buffer per worker, used by one block after another.

/// 128 bytes, aligned so: the strictest alignment that the hardware asks of shared memory (bulk copies by TMA).
#[derive(Clone, Copy)]
#[repr(C, align(128))]
struct Line([u8; 128]);

/// All bits set: a NaN as `f32` or `f64`, the largest number as an unsigned integer. Reading what nobody wrote shows.
const UNWRITTEN: Line = Line([0xFF; 128]);

/// Memory for the shared memory of one block at a time.
#[derive(Default)]
pub(crate) struct SharedMemory {
    lines: Vec<Line>,
}

impl SharedMemory {
    /// `bytes` bytes for the next block, unwritten, aligned to 128. Valid until the next call.
    pub(crate) fn for_block(&mut self, bytes: u32) -> *mut u8 {
        let lines = (bytes as usize).div_ceil(size_of::<Line>());
        self.lines.clear();
        self.lines.resize(lines, UNWRITTEN);
        self.lines.as_mut_ptr().cast()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_starts_unwritten_and_aligned() {
        let mut memory = SharedMemory::default();
        for bytes in [0, 1, 128, 129, 227 * 1024, 4] {
            let start = memory.for_block(bytes);
            assert!(start.cast::<Line>().is_aligned());
            // SAFETY: `for_block` has just made that many initialised bytes, and nothing else refers to them.
            let block = unsafe { std::slice::from_raw_parts_mut(start, bytes as usize) };
            assert!(block.iter().all(|&byte| byte == 0xFF));
            block.fill(0);
        }
    }
}
