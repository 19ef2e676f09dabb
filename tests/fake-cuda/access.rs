//! What the `access_…` kernels of `gpu` do: they touch memory in several ways, with the pattern that `bandwidth` checks.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::error;
use crate::state::State;

/// As `gpu::access::pattern`. Written again, for the fake has no dependencies; a difference fails every test of it.
fn pattern(index: usize, seed: u32) -> u32 {
    let mut word = (index as u32).wrapping_mul(0x9E37_79B1) ^ seed;
    word ^= word >> 15;
    word.wrapping_mul(0x85EB_CA77)
}

/// Runs an access kernel of this name; other names and other arguments do nothing.
pub fn run(state: &mut State, name: &str, threads: usize, arguments: &[u64]) -> Result<(), i32> {
    match (name, arguments) {
        ("access_read", &[from, sums, quads, rounds]) => {
            let words = load(state, name, from, 4 * quads as usize)?;
            leave_sum(state, name, sums, threads, total(words).wrapping_mul(rounds as u32))
        }
        ("access_strided", &[from, sums, words, stride]) => {
            let words = load(state, name, from, words as usize)?;
            leave_sum(state, name, sums, threads, total(words.into_iter().step_by((stride as u32).max(1) as usize)))
        }
        ("access_random", &[from, sums, bits]) => {
            let words = load(state, name, from, 1 << (bits as u32))?;
            leave_sum(state, name, sums, threads, total(words))
        }
        ("access_write", &[to, quads, seed]) => {
            let mut words: Vec<u32> = (0..4 * quads as usize).map(|index| pattern(index, seed as u32)).collect();
            if let Some(word) = state.config.wrong.and_then(|index| words.get_mut(index)) {
                *word ^= 1;
            }
            store(state, name, to, &words)
        }
        ("access_copy", &[from, to, quads]) => {
            let words = load(state, name, from, 4 * quads as usize)?;
            store(state, name, to, &words)
        }
        ("access_check", &[from, mismatches, words, seed]) => {
            let from = place(state, name, from, words as usize)? as *const u32;
            // SAFETY: `place` found so many words in a live allocation, aligned, and the kernel's contract is that nobody
            // writes them. Where they are and not in a copy, so that whoever counts memory does not count it twice.
            let words = unsafe { std::slice::from_raw_parts(from, words as usize) };
            let differs = |&(index, &word): &(usize, &u32)| word != pattern(index, seed as u32);
            let wrong = words.iter().enumerate().filter(differs).count() as u32;
            let before = load(state, name, mismatches, 1)?[0];
            store(state, name, mismatches, &[before.wrapping_add(wrong)])
        }
        ("access_mailbox", &[words, message, rounds, release, patience]) => {
            let bytes = 4 * (MESSAGE + message as u32 as usize);
            let place = place(state, name, words, bytes / 4)? as *const AtomicU32;
            // SAFETY: `place` found so many words in a live allocation, aligned; all who touch them do so atomically.
            let words = unsafe { std::slice::from_raw_parts(place, bytes / 4) };
            mailbox(words, rounds as u32, release as u32 != 0, Duration::from_nanos(patience));
            Ok(())
        }
        ("access_chase", &[from, end, steps]) => {
            let mut at = 0;
            for _ in 0..steps as u32 {
                at = load(state, name, from + 4 * u64::from(at), 1)?[0];
            }
            store(state, name, end, &[at])
        }
        _ => Ok(()),
    }
}

/// Where the kernel's flag, the CPU's answer and the message are in a mailbox, and the answer that ends the kernel; as in
/// `gpu::access::mailbox`.
const FLAG: usize = 0;
const ANSWER: usize = 32;
const MESSAGE: usize = 64;
const STOP: u32 = u32::MAX;

/// Sends messages while another thread of the program polls; this one is in a call that waits. A flag without release
/// overtakes its message by as much as it may: until it was answered.
fn mailbox(words: &[AtomicU32], rounds: u32, release: bool, patience: Duration) {
    for round in 1..=rounds {
        let send = || {
            let message = words[MESSAGE..].iter().enumerate();
            message.for_each(|(index, word)| word.store(pattern(index, round), Ordering::Relaxed));
        };
        if release {
            send();
        }
        words[FLAG].store(round, Ordering::Release);
        let started = Instant::now();
        let is_answered = loop {
            match words[ANSWER].load(Ordering::Acquire) {
                answer if answer == round => break true,
                answer if answer == STOP || started.elapsed() > patience => break false,
                _ => std::thread::yield_now(),
            }
        };
        if !release {
            send();
        }
        if !is_answered {
            return;
        }
    }
}

fn total(words: impl IntoIterator<Item = u32>) -> u32 {
    words.into_iter().fold(0, |sum, word| sum.wrapping_add(word))
}

/// One sum for each thread; only their total says anything, so the first thread gets all of it.
fn leave_sum(state: &mut State, name: &str, sums: u64, threads: usize, sum: u32) -> Result<(), i32> {
    let mut all = vec![0; threads];
    all[0] = sum;
    store(state, name, sums, &all)
}

fn place(state: &mut State, name: &str, address: u64, words: usize) -> Result<usize, i32> {
    let place = state.device_place(name, address, 4 * words).map_err(|_| error::ILLEGAL_ADDRESS)?;
    if address % 4 == 0 { Ok(place.host) } else { Err(error::MISALIGNED_ADDRESS) }
}

fn load(state: &mut State, name: &str, address: u64, words: usize) -> Result<Vec<u32>, i32> {
    let from = place(state, name, address, words)? as *const u32;
    // SAFETY: `place` found so many words in a live allocation, aligned.
    Ok(unsafe { std::slice::from_raw_parts(from, words) }.to_vec())
}

fn store(state: &mut State, name: &str, address: u64, words: &[u32]) -> Result<(), i32> {
    let to = place(state, name, address, words.len())? as *mut u32;
    // SAFETY: as above; `words` is our own.
    unsafe { std::ptr::copy_nonoverlapping(words.as_ptr(), to, words.len()) };
    Ok(())
}
