//! Every word once, in a scrambled order: each access fetches a sector of its own, from anywhere.

use super::thread_of;
use crate::device::{Global, GlobalMut, Gpu};
use crate::kernel;

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Reads 2^`bits` words, each once, and leaves each thread's sum in `sums`.
///
/// # Safety
/// `from` holds 2^bits words, bits is from 1 to 31; `sums` holds one for each thread of the grid.
#[kernel(block = BLOCK)]
pub unsafe fn access_random(gpu: impl Gpu, from: Global<u32>, sums: GlobalMut<u32>, bits: u32) {
    let (thread, threads) = thread_of(gpu);
    let words = 1usize << bits;
    let mut number = thread;
    let mut sum = 0u32;
    while number + 3 * threads < words {
        let at = |ahead: usize| scrambled((number + ahead * threads) as u32, bits) as usize;
        // SAFETY: a scrambled number has no more bits than the number.
        let (a, b, c, d) =
            unsafe { (gpu.load(from, at(0)), gpu.load(from, at(1)), gpu.load(from, at(2)), gpu.load(from, at(3))) };
        sum = sum.wrapping_add(a).wrapping_add(b).wrapping_add(c).wrapping_add(d);
        number += 4 * threads;
    }
    while number < words {
        // SAFETY: as above.
        sum = sum.wrapping_add(unsafe { gpu.load(from, scrambled(number as u32, bits) as usize) });
        number += threads;
    }
    // SAFETY: one element for each thread.
    unsafe { gpu.store(sums, thread, sum) };
}

/// A permutation of the numbers of so many bits: multiplying by an odd number and folding the upper half onto the lower
/// can both be undone, so no two numbers come out the same.
#[inline(always)]
fn scrambled(number: u32, bits: u32) -> u32 {
    let mask = u32::MAX >> (32 - bits);
    let half = bits.div_ceil(2);
    let mut number = number.wrapping_mul(0x9E37_79B1) & mask;
    number ^= number >> half;
    number = number.wrapping_mul(0x85EB_CA77) & mask;
    number ^ (number >> half)
}
