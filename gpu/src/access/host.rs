//! The safe way to launch the access kernels: lengths are checked, the grid is the caller's.

mod mailbox;

use core::fmt;
use std::vec::Vec;

pub use mailbox::Flag;

use super::{chase, check, copy, pattern, random, read, spin, strided, write};
use crate::device::Dim3;
use crate::launch::{DeviceSlice, DeviceSliceMut, Domain, Launch};

/// Blocks to launch; each has as many threads as the kernel says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid(u32);

impl Grid {
    /// Threads of a block of any of these kernels that takes a grid.
    pub const THREADS: u32 = read::BLOCK;

    /// So many blocks, at least one.
    pub fn of(blocks: u32) -> Self {
        Self(blocks.clamp(1, (1 << 31) - 1))
    }

    /// Blocks.
    pub fn blocks(self) -> u32 {
        self.0
    }

    /// Threads in all: how many sums a reading kernel leaves.
    pub fn threads(self) -> usize {
        self.0 as usize * Self::THREADS as usize
    }

    fn extents(self) -> Dim3 {
        Dim3::new(self.0, 1, 1)
    }
}

/// Why an access kernel was not launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessError<E> {
    /// A buffer is too short, or its length is not what the kernel can do.
    Length {
        /// Which buffer and what it must be.
        what: &'static str,
        /// Elements needed.
        needed: usize,
        /// Elements there.
        got: usize,
    },
    /// A buffer that is accessed 16 bytes at a time does not begin at a multiple of 16 bytes, as a part of one may.
    Alignment,
    /// A buffer belongs to another scope than the stream that was to use it.
    Domain,
    /// The device refused or failed.
    Device(E),
}

impl<E: fmt::Display> fmt::Display for AccessError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { what, needed, got } => write!(f, "{what}: {needed} elements are needed, {got} are there"),
            Self::Alignment => {
                write!(f, "a buffer must begin at a multiple of 16 bytes; begin a range at every fourth word")
            }
            Self::Domain => write!(f, "a buffer is bound to another stream; bind it to the one that launches"),
            Self::Device(error) => error.fmt(f),
        }
    }
}

impl<E: core::error::Error> core::error::Error for AccessError<E> {}

impl<E> From<E> for AccessError<E> {
    fn from(error: E) -> Self {
        Self::Device(error)
    }
}

type Outcome<L> = Result<(), AccessError<<L as Launch>::Error>>;

/// The access kernels on whatever runs kernels.
pub struct Access<'l, L: Launch>(pub &'l L);

impl<L: Launch> Access<'_, L> {
    fn check<const N: usize>(&self, domains: [Domain; N], lengths: &[(&'static str, usize, usize)]) -> Outcome<L> {
        if domains.iter().any(|domain| *domain != self.0.domain()) {
            return Err(AccessError::Domain);
        }
        match lengths.iter().find(|(_, needed, got)| got < needed) {
            Some(&(what, needed, got)) => Err(AccessError::Length { what, needed, got }),
            None => Ok(()),
        }
    }

    /// Reads all of `from` in order, `rounds` times; whole pieces of 16 bytes.
    ///
    /// # Errors
    /// `sums` has fewer elements than the grid has threads, `from` is no multiple of 4 words or not aligned to 16 bytes, or the device refuses.
    pub fn read(
        &self,
        grid: Grid,
        from: DeviceSlice<'_, u32>,
        mut sums: DeviceSliceMut<'_, u32>,
        rounds: u32,
    ) -> Outcome<L> {
        self.check([from.domain(), sums.domain()], &[("sums", grid.threads(), sums.len())])?;
        whole_quads(from.address(), from.len())?;
        let args = (from.global(), sums.global(), from.len() as u64 / 4, rounds);
        // SAFETY: the lengths were checked, and so was the alignment.
        Ok(unsafe { self.0.launch::<read::AccessRead>(grid.extents(), args) }?)
    }

    /// Writes the pattern of `seed` to all of `to`; whole pieces of 16 bytes.
    ///
    /// # Errors
    /// `to` is no multiple of 4 words or not aligned to 16 bytes, or the device refuses.
    pub fn write(&self, grid: Grid, mut to: DeviceSliceMut<'_, u32>, seed: u32) -> Outcome<L> {
        self.check([to.domain()], &[])?;
        whole_quads(to.address(), to.len())?;
        let args = (to.global(), to.len() as u64 / 4, seed);
        // SAFETY: the length was checked, and so was the alignment.
        Ok(unsafe { self.0.launch::<write::AccessWrite>(grid.extents(), args) }?)
    }

    /// Copies all of `from`; whole pieces of 16 bytes.
    ///
    /// # Errors
    /// `to` is shorter than `from`, `from` is no multiple of 4 words or not aligned to 16 bytes, or the device refuses.
    pub fn copy(&self, grid: Grid, from: DeviceSlice<'_, u32>, mut to: DeviceSliceMut<'_, u32>) -> Outcome<L> {
        self.check([from.domain(), to.domain()], &[("the destination", from.len(), to.len())])?;
        whole_quads(from.address(), from.len())?;
        whole_quads(to.address(), 0)?;
        let args = (from.global(), to.global(), from.len() as u64 / 4);
        // SAFETY: the lengths were checked; so was the alignment; a mutable slice overlaps no other.
        Ok(unsafe { self.0.launch::<copy::AccessCopy>(grid.extents(), args) }?)
    }

    /// Reads every `stride`-th word of `from`; a stride of 0 counts as 1.
    ///
    /// # Errors
    /// `sums` has fewer elements than the grid has threads, or the device refuses.
    pub fn strided(
        &self,
        grid: Grid,
        from: DeviceSlice<'_, u32>,
        mut sums: DeviceSliceMut<'_, u32>,
        stride: u32,
    ) -> Outcome<L> {
        self.check([from.domain(), sums.domain()], &[("sums", grid.threads(), sums.len())])?;
        let args = (from.global(), sums.global(), from.len() as u64, stride.max(1));
        // SAFETY: the lengths were checked.
        Ok(unsafe { self.0.launch::<strided::AccessStrided>(grid.extents(), args) }?)
    }

    /// Reads each of the first 2^bits words of `from` once, where 2^bits is the largest power of two that fits.
    ///
    /// # Errors
    /// `from` has fewer than 2 words, `sums` fewer elements than the grid has threads, or the device refuses.
    pub fn random(&self, grid: Grid, from: DeviceSlice<'_, u32>, mut sums: DeviceSliceMut<'_, u32>) -> Outcome<L> {
        let lengths = [("sums", grid.threads(), sums.len()), ("words to read in random order", 2, from.len())];
        self.check([from.domain(), sums.domain()], &lengths)?;
        let args = (from.global(), sums.global(), from.len().ilog2().min(31));
        // SAFETY: the lengths were checked; 2^bits ≤ length, 1 ≤ bits ≤ 31.
        Ok(unsafe { self.0.launch::<random::AccessRandom>(grid.extents(), args) }?)
    }

    /// Follows a chain made by [`cycle`] for `steps` steps.
    ///
    /// # Errors
    /// `end` is empty, or the device refuses.
    ///
    /// # Safety
    /// Every word of `from` is an index into `from`.
    pub unsafe fn chase(&self, from: DeviceSlice<'_, u32>, mut end: DeviceSliceMut<'_, u32>, steps: u32) -> Outcome<L> {
        let lengths = [("the chain", 1, from.len()), ("the end", 1, end.len())];
        self.check([from.domain(), end.domain()], &lengths)?;
        // SAFETY: the caller's: the chain stays inside.
        Ok(unsafe { self.0.launch::<chase::AccessChase>(Dim3::new(1, 1, 1), (from.global(), end.global(), steps)) }?)
    }

    /// Adds the number of words that differ from the pattern of `seed` to `mismatches[0]`.
    ///
    /// # Errors
    /// `mismatches` is empty, or the device refuses.
    pub fn compare(
        &self,
        grid: Grid,
        from: DeviceSlice<'_, u32>,
        mut mismatches: DeviceSliceMut<'_, u32>,
        seed: u32,
    ) -> Outcome<L> {
        self.check([from.domain(), mismatches.domain()], &[("mismatches", 1, mismatches.len())])?;
        let args = (from.global(), mismatches.global(), from.len() as u64, seed);
        // SAFETY: the lengths were checked.
        Ok(unsafe { self.0.launch::<check::AccessCheck>(grid.extents(), args) }?)
    }

    /// Keeps the stream busy for so many nanoseconds.
    ///
    /// # Errors
    /// The device refuses.
    pub fn spin(&self, nanoseconds: u64) -> Outcome<L> {
        // SAFETY: touches no memory.
        Ok(unsafe { self.0.launch::<spin::Spin>(Dim3::new(1, 1, 1), (nanoseconds,)) }?)
    }
}

fn whole_quads<E>(address: u64, words: usize) -> Result<(), AccessError<E>> {
    if !address.is_multiple_of(16) {
        return Err(AccessError::Alignment);
    }
    let what = "words in pieces of 16 bytes";
    if words.is_multiple_of(4) {
        Ok(())
    } else {
        Err(AccessError::Length { what, needed: words.next_multiple_of(4), got: words })
    }
}

/// The sum of the first `words` words of a pattern, as the reading kernels add them up.
pub fn pattern_sum(words: impl Iterator<Item = usize>, seed: u32) -> u32 {
    words.fold(0u32, |sum, index| sum.wrapping_add(pattern(index, seed)))
}

/// A chain through all of `words` words in one cycle, in an order that no prefetcher guesses: a random cyclic permutation
/// (Sattolo's algorithm) from a small generator of its own.
pub fn cycle(words: u32, seed: u64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..words).collect();
    let mut state = seed | 1;
    for last in (1..order.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let other = ((u128::from(state >> 32) * last as u128) >> 32) as usize; // below `last`, never `last` itself
        order.swap(last, other);
    }
    order
}
