//! The access kernels on simt: every word that must be touched is, once, and nothing else.

use gpu::access::{Access, AccessError, Grid, cycle, pattern, pattern_sum};
use gpu::launch::{DeviceSlice, DeviceSliceMut};
use proptest::prelude::*;
use simt::Simt;

fn slice(words: &[u32]) -> DeviceSlice<'_, u32> {
    // SAFETY: simt reads host memory, which is borrowed for the slice's lifetime.
    unsafe { DeviceSlice::from_raw(words.as_ptr() as usize as u64, words.len()) }
}

fn slice_mut(words: &mut [u32]) -> DeviceSliceMut<'_, u32> {
    // SAFETY: simt writes host memory, which is borrowed alone for the slice's lifetime.
    unsafe { DeviceSliceMut::from_raw(words.as_mut_ptr() as usize as u64, words.len()) }
}

fn patterned(words: usize, seed: u32) -> Vec<u32> {
    (0..words).map(|index| pattern(index, seed)).collect()
}

fn sum(words: &[u32]) -> u32 {
    words.iter().fold(0, |sum, word| sum.wrapping_add(*word))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn reading_touches_every_word(quads in 0usize..3000, blocks in 1u32..4, rounds in 1u32..4, seed: u32) {
        let (simt, grid) = (Simt::with_workers(2).unwrap(), Grid::of(blocks));
        let (from, mut sums) = (patterned(4 * quads, seed), vec![7; grid.threads()]);
        Access(&simt).read(grid, slice(&from), slice_mut(&mut sums), rounds).unwrap();
        prop_assert_eq!(sum(&sums), pattern_sum(0..4 * quads, seed).wrapping_mul(rounds));
    }

    #[test]
    fn striding_touches_every_nth_word(words in 1usize..20_000, stride in 1u32..70, seed: u32) {
        let (simt, grid) = (Simt::with_workers(2).unwrap(), Grid::of(2));
        let (from, mut sums) = (patterned(words, seed), vec![7; grid.threads()]);
        Access(&simt).strided(grid, slice(&from), slice_mut(&mut sums), stride).unwrap();
        prop_assert_eq!(sum(&sums), pattern_sum((0..words).step_by(stride as usize), seed));
    }

    #[test]
    fn scrambling_touches_every_word_of_a_power_of_two(words in 2usize..20_000, seed: u32) {
        let (simt, grid) = (Simt::with_workers(2).unwrap(), Grid::of(3));
        let (from, mut sums) = (patterned(words, seed), vec![7; grid.threads()]);
        Access(&simt).random(grid, slice(&from), slice_mut(&mut sums)).unwrap();
        prop_assert_eq!(sum(&sums), pattern_sum(0..1 << words.ilog2(), seed));
    }

    #[test]
    fn what_is_written_is_what_is_compared(quads in 1usize..3000, seed: u32, wrong in 0usize..20) {
        let (simt, grid) = (Simt::with_workers(2).unwrap(), Grid::of(2));
        let mut to = vec![0; 4 * quads];
        Access(&simt).write(grid, slice_mut(&mut to), seed).unwrap();
        prop_assert_eq!(&to, &patterned(4 * quads, seed));

        let mut copied = vec![1; 4 * quads];
        Access(&simt).copy(grid, slice(&to), slice_mut(&mut copied)).unwrap();
        prop_assert_eq!(&to, &copied);

        let wrong = wrong.min(copied.len());
        copied[..wrong].iter_mut().for_each(|word| *word = !*word);
        let mut mismatches = [0];
        Access(&simt).compare(grid, slice(&copied), slice_mut(&mut mismatches), seed).unwrap();
        prop_assert_eq!(mismatches[0] as usize, wrong);
    }

    #[test]
    fn a_chain_visits_every_word_and_returns(words in 1u32..5000, seed: u64) {
        let simt = Simt::with_workers(1).unwrap();
        let chain = cycle(words, seed);
        let mut visited = vec![false; words as usize];
        let mut at = 0;
        for _ in 0..words {
            prop_assert!(!std::mem::replace(&mut visited[at as usize], true), "a word twice");
            at = chain[at as usize];
        }
        prop_assert_eq!(at, 0);
        let mut end = [99];
        // SAFETY: a cycle of so many words.
        unsafe { Access(&simt).chase(slice(&chain), slice_mut(&mut end), words - 1).unwrap() };
        prop_assert_eq!(chain[end[0] as usize], 0, "one step before the end of the cycle");
    }
}

#[test]
fn lengths_that_do_not_fit_are_refused() {
    let (simt, grid) = (Simt::with_workers(1).unwrap(), Grid::of(1));
    let (from, mut sums) = (vec![0; 6], vec![0; 10]);
    let access = Access(&simt);
    let short = access.read(grid, slice(&from), slice_mut(&mut sums), 1);
    assert_eq!(short, Err(AccessError::Length { what: "sums", needed: 256, got: 10 }));
    let mut enough = vec![0; 256];
    let odd = access.read(grid, slice(&from), slice_mut(&mut enough), 1);
    assert!(matches!(odd, Err(AccessError::Length { needed: 8, got: 6, .. })), "{odd:?}");
}

#[test]
fn a_spin_waits() {
    let start = std::time::Instant::now();
    Access(&Simt::with_workers(1).unwrap()).spin(2_000_000).unwrap();
    assert!(start.elapsed().as_nanos() >= 2_000_000);
}
