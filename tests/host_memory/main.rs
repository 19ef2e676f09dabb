//! What goes wrong with each kind of host memory, on the fake driver: each refusal with its own error, every order of freeing,
//! and every call failing in turn.
//!
//! What is not here because it does not compile is in `tests/compile_fail`: registering one `Vec` twice, dropping it while it
//! is registered (`registered_memory_has_one_owner`), unregistering what the driver allocated
//! (`memory_of_the_driver_cannot_be_unregistered`).

#[path = "../support/fake.rs"]
mod fake;

mod failures;
mod orders;
mod refusals;

use std::error::Error;
use std::path::Path;

use cpu::device::{Device, DeviceError, Selector};
use cpu::memory::{HostBuffer, Mailbox, PinnedBudget, PinnedPool, StagingShape};
use fake::Fake;
use gpu::access::mailbox::{ANSWER, MESSAGE};
use gpu::access::{Access, AccessError, Flag, Grid, pattern};

/// The first device of a driver that is configured anew.
fn open(fake: &Fake, config: &str) -> Result<Device, DeviceError> {
    fake.configure(config);
    Device::open(Selector::Cuda(0), PinnedBudget::limited_to(256 << 20))
}

const WORDS: usize = 64;
const SEED: u32 = 7;

/// A file of the pattern.
fn write_file(path: &Path) {
    let bytes: Vec<u8> = (0..WORDS).flat_map(|index| pattern(index, SEED).to_ne_bytes()).collect();
    std::fs::write(path, bytes).unwrap();
}

/// What a kind of memory goes through; the file holds the pattern.
type Use = fn(&Device, &Path) -> Result<(), Box<dyn Error>>;

/// Each kind that the other tests of failures do not have.
const USES: [(&str, Use); 6] = [
    ("registered buffer", registered_buffer),
    ("registered file", registered_file),
    ("write-combined", write_combined),
    ("mailbox", mailbox),
    ("staging", staging),
    ("pool", pool),
];

fn registered_buffer(device: &Device, _: &Path) -> Result<(), Box<dyn Error>> {
    let mut memory = device.register(vec![0u32; WORDS])?;
    device.scope(|stream| Access(stream).write(Grid::of(1), stream.map_mut(&mut memory)?, SEED))?;
    let expected: Vec<u32> = (0..WORDS).map(|index| pattern(index, SEED)).collect();
    assert_eq!(memory.into_memory(), expected);
    Ok(())
}

fn registered_file(device: &Device, path: &Path) -> Result<(), Box<dyn Error>> {
    // SAFETY: the test's own file, which nobody writes any more.
    let memory = unsafe { device.register_file::<u32>(path, 0)? };
    let (mut count, mut told) = (device.alloc(1)?, device.pinned(1)?);
    device.scope(|stream| {
        let mut count = stream.bind(&mut count);
        stream.fill(&mut count, 0)?;
        Access(stream).compare(Grid::of(1), stream.map(&memory)?, count.slice_mut(), SEED)?;
        stream.download(&count, &mut told)?;
        Ok::<_, AccessError<DeviceError>>(())
    })?;
    assert_eq!(told.as_slice(), [0]);
    Ok(())
}

fn write_combined(device: &Device, _: &Path) -> Result<(), Box<dyn Error>> {
    let mut memory = device.write_combined::<u32>(WORDS)?;
    memory.fill(5);
    let (mut on_device, mut back) = (device.alloc(WORDS)?, device.pinned(WORDS)?);
    device.scope(|stream| {
        let mut on_device = stream.bind(&mut on_device);
        stream.upload_range(&memory, 0..WORDS, &mut on_device, 0)?;
        stream.download_range(&on_device, 0..WORDS, &mut back, 0)
    })?;
    assert_eq!(back.as_slice(), [5; WORDS]);
    Ok(())
}

/// One message, answered in advance.
fn mailbox(device: &Device, _: &Path) -> Result<(), Box<dyn Error>> {
    use std::sync::atomic::Ordering;

    let mailbox: Mailbox = device.mailbox(MESSAGE + WORDS)?;
    mailbox.words()[ANSWER].store(1, Ordering::Release);
    let patience = std::time::Duration::from_secs(10);
    device.scope(|stream| Access(stream).mailbox(stream.mailbox(&mailbox)?, 1, Flag::Release, patience))?;
    assert_eq!(mailbox.words()[MESSAGE + 1].load(Ordering::Relaxed), pattern(1, 1));
    Ok(())
}

/// Large enough that it is staged and not left to the driver.
fn staging(device: &Device, _: &Path) -> Result<(), Box<dyn Error>> {
    let staging =
        device.staging(StagingShape { threads: 2, chunks: 2, chunk_bytes: 1 << 20, ..StagingShape::default() })?;
    let (from, mut to) = (vec![3u8; 5 << 20], vec![0u8; 5 << 20]);
    let mut on_device = device.alloc(from.len())?;
    device.scope(|stream| {
        let mut on_device = stream.bind(&mut on_device);
        stream.upload_staged(&staging, &from, &mut on_device)?;
        stream.download_staged(&staging, &on_device, &mut to)
    })?;
    assert!(to == from);
    Ok(())
}

fn pool(device: &Device, _: &Path) -> Result<(), Box<dyn Error>> {
    let pool = PinnedPool::<u32>::new(device);
    let first = pool.take(WORDS)?;
    let second = pool.take(2 * WORDS)?;
    pool.give_back(first);
    pool.give_back(second);
    assert_eq!(pool.take(WORDS)?.len(), WORDS);
    Ok(())
}
