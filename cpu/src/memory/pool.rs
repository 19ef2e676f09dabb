//! Pinned memory that is used again: allocating it takes longer than a copy of the same size.

use std::sync::{Mutex, MutexGuard, PoisonError};

use gpu::device::Element;

use super::host::{HostBuffer, PinnedBuffer};
use crate::device::{Device, DeviceError};

/// A buffer is not handed out for less than this part of it: one that is much too long had better go.
const MOST_TIMES_TOO_LONG: usize = 2;

/// Pinned buffers that were given back, for the next that asks. What is allocated has exactly the length that was asked for,
/// not the next power of two; what waits in the pool stays page-locked and on the budget until [`trim`](Self::trim) or until
/// the pool is dropped.
///
/// ```
/// use cpu::device::{Device, Selector};
/// use cpu::memory::{HostBuffer, PinnedBudget, PinnedPool};
///
/// # fn main() -> Result<(), cpu::device::DeviceError> {
/// let device = Device::open(Selector::Simt, PinnedBudget::limited_to(1 << 20))?;
/// let pool = PinnedPool::<f32>::new(&device);
/// let first = pool.take(1000)?;
/// pool.give_back(first);
/// let second = pool.take(600)?; // the same memory
/// assert_eq!((second.len(), device.budget().used()), (1000, 4000));
/// # Ok(())
/// # }
/// ```
pub struct PinnedPool<'d, T: Element> {
    device: &'d Device,
    /// The shortest first.
    idle: Mutex<Vec<PinnedBuffer<T>>>,
}

impl<'d, T: Element> PinnedPool<'d, T> {
    /// An empty pool, on the device's budget.
    pub fn new(device: &'d Device) -> Self {
        Self { device, idle: Mutex::default() }
    }

    /// A buffer of at least `len` elements: the shortest that was given back and is at most twice as long, with whatever it
    /// held; else a new one of exactly `len`, zeroed. Where the budget has no room for that, what waits in the pool is freed
    /// first.
    ///
    /// # Errors
    /// The budget or the driver refuses, though nothing waits in the pool any more.
    pub fn take(&self, len: usize) -> Result<PinnedBuffer<T>, DeviceError> {
        if let Some(buffer) = self.reused(len) {
            return Ok(buffer);
        }
        match self.device.pinned(len) {
            Err(DeviceError::Budget(_) | DeviceError::NotPinned { .. }) if self.trim() > 0 => self.device.pinned(len),
            outcome => outcome,
        }
    }

    fn reused(&self, len: usize) -> Option<PinnedBuffer<T>> {
        let mut idle = self.idle();
        let shortest = idle.partition_point(|buffer| buffer.len() < len);
        let fits = idle.get(shortest)?.len() <= len.saturating_mul(MOST_TIMES_TOO_LONG);
        fits.then(|| idle.remove(shortest))
    }

    /// Keeps a buffer for the next that asks. It need not be from this pool, nor on its device's budget. An empty one is
    /// dropped.
    pub fn give_back(&self, buffer: PinnedBuffer<T>) {
        if !buffer.is_empty() {
            let mut idle = self.idle();
            let place = idle.partition_point(|other| other.len() < buffer.len());
            idle.insert(place, buffer);
        }
    }

    /// Frees what waits in the pool; returns how many bytes.
    pub fn trim(&self) -> u64 {
        let freed = std::mem::take(&mut *self.idle());
        bytes(&freed)
    }

    /// Bytes that wait in the pool, page-locked.
    pub fn idle_bytes(&self) -> u64 {
        bytes(&self.idle())
    }

    fn idle(&self) -> MutexGuard<'_, Vec<PinnedBuffer<T>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn bytes<T: Element>(buffers: &[PinnedBuffer<T>]) -> u64 {
    buffers.iter().map(|buffer| (buffer.len() * size_of::<T>()) as u64).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Selector;
    use crate::memory::PinnedBudget;

    fn device(limit: u64) -> Device {
        Device::open(Selector::Simt, PinnedBudget::limited_to(limit)).unwrap()
    }

    #[test]
    fn lengths_are_exact_and_accounted() {
        let device = device(10_000);
        let pool = PinnedPool::<u32>::new(&device);
        let buffer = pool.take(1001).unwrap();
        assert_eq!((buffer.len(), device.budget().used(), pool.idle_bytes()), (1001, 4004, 0));
        pool.give_back(buffer);
        assert_eq!((device.budget().used(), pool.idle_bytes()), (4004, 4004), "still page-locked");
        assert_eq!((pool.trim(), pool.trim()), (4004, 0));
        assert_eq!(device.budget().used(), 0);
    }

    #[test]
    fn the_shortest_that_fits_is_used_again_unless_it_is_more_than_twice_as_long() {
        let device = device(10_000);
        let pool = PinnedPool::<u8>::new(&device);
        let taken = [300, 100, 200].map(|len| pool.take(len).unwrap());
        taken.into_iter().for_each(|buffer| pool.give_back(buffer));
        assert_eq!(device.budget().used(), 600);
        let again = pool.take(150).unwrap();
        assert_eq!((again.len(), device.budget().used()), (200, 600));
        let next = pool.take(150).unwrap();
        assert_eq!((next.len(), device.budget().used()), (300, 600), "twice as long still is");
        let small = pool.take(49).unwrap();
        assert_eq!((small.len(), device.budget().used()), (49, 649), "100 are more than twice as long");
        let exact = pool.take(100).unwrap();
        assert_eq!((exact.len(), pool.idle_bytes()), (100, 0));
        drop(pool);
        drop((again, next, small, exact));
        assert_eq!(device.budget().used(), 0);
    }

    #[test]
    fn what_waits_makes_room_for_what_is_asked_for() {
        let device = device(1000);
        let pool = PinnedPool::<u8>::new(&device);
        pool.give_back(pool.take(100).unwrap());
        let large = pool.take(1000).unwrap();
        assert_eq!((large.len(), device.budget().used()), (1000, 1000));
        let refused = pool.take(1).map(drop);
        assert!(matches!(refused, Err(DeviceError::Budget(_))), "{refused:?}");
        pool.give_back(large);
        drop(pool);
        assert_eq!(device.budget().used(), 0, "a pool that is dropped frees");
    }

    #[test]
    fn empty_buffers_do_not_wait() {
        let device = device(0);
        let pool = PinnedPool::<u64>::new(&device);
        let empty = pool.take(0).unwrap();
        pool.give_back(empty);
        assert!(pool.idle().is_empty() && pool.take(0).unwrap().is_empty());
    }

    #[test]
    fn threads_share_a_pool() {
        let device = device(4 * 64);
        let pool = PinnedPool::<u8>::new(&device);
        std::thread::scope(|threads| {
            for thread in 0..4u8 {
                let pool = &pool;
                threads.spawn(move || {
                    for _ in 0..1000 {
                        let mut buffer = pool.take(64).unwrap();
                        buffer.as_mut_slice().fill(thread);
                        assert!(buffer.as_slice().iter().all(|&byte| byte == thread));
                        pool.give_back(buffer);
                    }
                });
            }
        });
        assert_eq!(device.budget().used(), pool.idle_bytes());
    }
}
