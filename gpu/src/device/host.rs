//! The device interface on the host. The machine itself is the crate `simt`; this file is what one of its threads
//! sees, and the little that it asks of the scheduler in return.

use core::mem::size_of;
use core::sync::atomic::{AtomicU32, Ordering};

use std::sync::OnceLock;
use std::thread;
use std::time::Instant;

use super::{Dim3, Element, Global, GlobalMut, Gpu, Shared, SystemWords, Word};

/// What a thread asks of whoever schedules it.
pub trait Scheduler {
    /// Suspends the calling thread until every thread of its block has called this.
    fn sync_threads(&self);
}

/// One block as its threads see it.
#[derive(Debug)]
pub struct HostBlock {
    /// This block's index in the grid.
    pub block_idx: Dim3,
    /// Threads per block.
    pub block_dim: Dim3,
    /// Blocks in the grid.
    pub grid_dim: Dim3,
    /// The block's shared memory: as many bytes as the kernel declared, aligned to 128.
    pub shared: *mut u8,
}

/// One thread of a block.
#[derive(Clone, Copy)]
pub struct HostThread<'b> {
    /// This thread's index in its block.
    pub thread_idx: Dim3,
    /// The block that it belongs to.
    pub block: &'b HostBlock,
    /// Who suspends and resumes it.
    pub scheduler: &'b dyn Scheduler,
}

impl Gpu for HostThread<'_> {
    #[inline(always)]
    fn thread_idx(self) -> Dim3 {
        self.thread_idx
    }

    #[inline(always)]
    fn block_idx(self) -> Dim3 {
        self.block.block_idx
    }

    #[inline(always)]
    fn block_dim(self) -> Dim3 {
        self.block.block_dim
    }

    #[inline(always)]
    fn grid_dim(self) -> Dim3 {
        self.block.grid_dim
    }

    #[inline(always)]
    fn sync_threads(self) {
        self.scheduler.sync_threads();
    }

    #[inline(always)]
    unsafe fn load4<T: Word>(self, from: Global<T>, index: usize) -> [T; 4] {
        // SAFETY: the caller's: four elements inside the allocation, which nobody writes.
        unsafe { from.0.add(index).cast::<[T; 4]>().read() }
    }

    #[inline(always)]
    unsafe fn store4<T: Word>(self, to: GlobalMut<T>, index: usize, value: [T; 4]) {
        // SAFETY: the caller's: four elements inside the allocation, which this thread alone touches.
        unsafe { to.0.add(index).cast::<[T; 4]>().write(value) }
    }

    #[inline(always)]
    unsafe fn atomic_add(self, to: GlobalMut<u32>, index: usize, value: u32) -> u32 {
        // SAFETY: the caller's: the element is inside the allocation, aligned, and touched by atomic operations alone.
        unsafe { AtomicU32::from_ptr(to.0.add(index)) }.fetch_add(value, Ordering::Relaxed)
    }

    #[inline(always)]
    unsafe fn store_release_system(self, to: SystemWords, index: usize, value: u32) {
        // SAFETY: the caller's: the word is inside the allocation, aligned, and `SystemWords` are touched by atomic operations
        // alone.
        unsafe { AtomicU32::from_ptr(to.0.add(index)) }.store(value, Ordering::Release);
    }

    #[inline(always)]
    unsafe fn store_relaxed_system(self, to: SystemWords, index: usize, value: u32) {
        // SAFETY: as above.
        unsafe { AtomicU32::from_ptr(to.0.add(index)) }.store(value, Ordering::Relaxed);
    }

    #[inline(always)]
    unsafe fn load_acquire_system(self, from: SystemWords, index: usize) -> u32 {
        // Who loads with acquire waits for another thread of the operating system, which may need this core to answer.
        thread::yield_now();
        // SAFETY: as above.
        unsafe { AtomicU32::from_ptr(from.0.add(index)) }.load(Ordering::Acquire)
    }

    #[inline(always)]
    fn nanoseconds(self) -> u64 {
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed().as_nanos() as u64
    }

    #[inline(always)]
    unsafe fn shared<T: Element>(self, offset: u32) -> Shared<T> {
        // SAFETY: the caller's: `offset` is not beyond what the kernel declared, which is what the block allocated.
        Shared::at(unsafe { self.block.shared.add(offset as usize) })
    }

    #[inline(always)]
    unsafe fn load_shared<T: Element>(self, from: Shared<T>, index: u32) -> T {
        // SAFETY: the caller's: the element is inside the block's shared memory, which is initialised and aligned.
        unsafe { from.address.add(index as usize * size_of::<T>()).cast::<T>().read() }
    }

    #[inline(always)]
    unsafe fn store_shared<T: Element>(self, to: Shared<T>, index: u32, value: T) {
        // SAFETY: the caller's: the element is inside the block's shared memory and this thread alone touches it.
        unsafe { to.address.add(index as usize * size_of::<T>()).cast::<T>().write(value) }
    }

    #[inline(always)]
    fn mul_add(self, a: f32, b: f32, c: f32) -> f32 {
        f32::mul_add(a, b, c)
    }
}
