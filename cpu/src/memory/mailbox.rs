//! Memory that the CPU touches while a kernel does.
//!
//! Everything else that is lent to a stream is out of the CPU's hands until the scope has waited. A mailbox is not: both
//! sides read and write it meanwhile, which is no data race because both have atomic operations and nothing else. What a
//! word says about others is a matter of order: store it with release and load it with acquire. `pitfalls write-then-poll`
//! shows what happens otherwise.

use std::hint;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::block::HostBlock;
use super::budget::PinnedBudget;
use crate::device::{Backend, DeviceError, HostFlags};

/// Mapped page-locked words that the CPU and kernels use at the same time.
///
/// There is no read-modify-write on the kernel's side: over PCI Express it is not atomic against the CPU. And there is no
/// slice of plain words, so it cannot be copied or mapped as other memory is.
///
/// ```
/// use std::sync::atomic::Ordering;
/// use std::time::Duration;
///
/// use cpu::device::{Device, DeviceError, Selector};
/// use cpu::memory::PinnedBudget;
/// use gpu::access::{Access, AccessError, Flag, mailbox};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let device = Device::open(Selector::Simt, PinnedBudget::limited_to(1 << 20))?;
/// let mailbox = device.mailbox(mailbox::MESSAGE + 100)?;
/// let patience = Duration::from_secs(10);
/// std::thread::scope(|threads| {
///     let reader = threads.spawn(|| {
///         mailbox.wait_for(mailbox::FLAG, |flag| flag == 1, patience)?; // acquire: the message is complete
///         let last = mailbox.words()[mailbox::MESSAGE + 99].load(Ordering::Relaxed);
///         mailbox.words()[mailbox::ANSWER].store(1, Ordering::Release);
///         Ok::<_, DeviceError>(last)
///     });
///     device.scope(|stream| Access(stream).mailbox(stream.mailbox(&mailbox)?, 1, Flag::Release, patience))?;
///     assert_eq!(reader.join().unwrap()?, gpu::access::pattern(99, 1));
///     Ok::<_, Box<dyn std::error::Error>>(())
/// })
/// # }
/// ```
pub struct Mailbox {
    /// Never lent as plain words: no method of it is called that makes a slice.
    block: HostBlock<u32>,
    len: usize,
}

impl Mailbox {
    pub(crate) fn zeroed(backend: &Arc<dyn Backend>, budget: &PinnedBudget, len: usize) -> Result<Self, DeviceError> {
        let flags = HostFlags { portable: true, mapped: true, write_combined: false };
        Ok(Self { block: HostBlock::zeroed(backend, budget, len, flags)?, len })
    }

    /// The words, for either side to use at any time.
    pub fn words(&self) -> &[AtomicU32] {
        // SAFETY: the block has `len` initialised words (or none, at an aligned address), lives as long as `self`, and is
        // touched by atomic operations alone: this slice is the CPU's only way to it, `SystemWords` the kernels'.
        unsafe { slice::from_raw_parts(self.block.as_ptr().cast::<AtomicU32>().cast_const(), self.len) }
    }

    /// Words.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How long it took until all of the memory was there.
    pub fn allocation_time(&self) -> Duration {
        self.block.allocation_time()
    }

    /// Polls a word with acquire until it `is_wanted`, and returns it. What was written before it was stored with release can
    /// then be read.
    ///
    /// # Errors
    /// There is no such word, or it is not wanted after `patience`: a kernel that failed raises no flag.
    pub fn wait_for(
        &self,
        word: usize,
        is_wanted: impl Fn(u32) -> bool,
        patience: Duration,
    ) -> Result<u32, DeviceError> {
        /// Loads before this thread gives its core to others, and looks at the clock.
        const LOADS: u32 = 64;
        let beyond = DeviceError::OutOfRange { at: word, elements: 1, len: self.len };
        let place = self.words().get(word).ok_or(beyond)?;
        let started = Instant::now();
        loop {
            for _ in 0..LOADS {
                let found = place.load(Ordering::Acquire);
                if is_wanted(found) {
                    return Ok(found);
                }
                hint::spin_loop();
            }
            let waited = started.elapsed();
            if waited > patience {
                return Err(DeviceError::NoAnswer { word, found: place.load(Ordering::Relaxed), waited });
            }
            thread::yield_now();
        }
    }

    pub(super) fn block(&self) -> &HostBlock<u32> {
        &self.block
    }
}
