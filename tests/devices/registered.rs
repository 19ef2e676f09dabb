//! Registered memory where it is awkward: several ranges in one page, at any base.

use cpu::device::Device;
use cpu::memory::HostBuffer;
use gpu::access::{Access, Grid, pattern};

use crate::suite::Test;

/// All of them, by name.
pub const TESTS: &[(&str, Test)] =
    &[("neighbours_in_one_page_are_registered_each_by_itself", neighbours_in_one_page_are_registered_each_by_itself)];

const SEED: u32 = 7;

/// Small allocations lie side by side, none at the beginning of the page but perhaps one. Each is registered, written by a
/// kernel and given back by itself; the neighbours stay as they are.
fn neighbours_in_one_page_are_registered_each_by_itself(device: &Device) {
    let all: Vec<Vec<u32>> = (0..200).map(|_| vec![0u32; 12]).collect();
    let page = |memory: &[u32]| memory.as_ptr().addr() / 4096;
    let home = page(&all[100]);
    let neighbours = all.into_iter().filter(|memory| page(memory) == home);
    let mut buffers: Vec<_> = neighbours.map(|memory| device.register(memory).unwrap()).collect();
    assert!(buffers.len() >= 2, "the allocator has not put two of 200 small pieces into one page");
    assert_eq!(device.budget().used(), 48 * buffers.len() as u64, "bytes, not pages");
    // From the middle, so that neighbours on both sides are there and then are not.
    while !buffers.is_empty() {
        let mut buffer = buffers.swap_remove(buffers.len() / 2);
        let written = device.scope(|stream| Access(stream).write(Grid::of(1), stream.map_mut(&mut buffer)?, SEED));
        written.unwrap();
        let memory = buffer.into_memory();
        assert!(memory.iter().enumerate().all(|(index, &word)| word == pattern(index, SEED)));
        assert!(buffers.iter().all(|other| other.as_slice() == [0; 12]), "a neighbour was written");
    }
}
