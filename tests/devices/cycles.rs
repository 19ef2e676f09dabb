//! A thousand times allocate, use and free, of every kind of host memory: nothing is left of it.
//!
//! A kind is a line in [`KINDS`]. What a cycle leaves behind is looked for in four places: the pinned account (to the byte),
//! open file descriptors (to the last), resident memory and free device memory (to [`TOLERANCE`], a quarter of what one
//! leaked buffer a cycle would come to). A leak grows for ever, a cache up to its size (the driver keeps freed pages of managed
//! memory on the device, 48 MiB of them in the first thousand cycles on an H200): so one of [`ROUNDS`] thousands has to leave
//! nothing, and a leak would show in each.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use cpu::device::{Device, DeviceError};
use cpu::memory::{
    HostBuffer, MappedMemory, PageLocked, PageableBuffer, PinnedPool, ResidentMemory, StagingShape, WritableMemory,
};
use gpu::access::mailbox::MESSAGE;
use gpu::access::{Access, AccessError, Grid, pattern};

use crate::suite::Test;

/// All of them, by name.
pub const TESTS: &[(&str, Test)] = &[("a_thousand_cycles_of_each_kind_leave_nothing", leave_nothing)];

/// Cycles that count, and those before them, in which pools and tables grow to their size.
const CYCLES: u32 = 1000;
const WARM_UP: u32 = 50;

/// How often a thousand cycles may be gone through until they leave nothing.
const ROUNDS: u32 = 4;

/// Words of a buffer: 16 KiB, of which a thousand are 16 MiB.
const WORDS: usize = 4096;

/// Bytes by which resident memory may have grown, and free device memory shrunk.
const TOLERANCE: u64 = 4 << 20;

/// One cycle with a pattern of its own.
type Cycle = fn(&Bench, u32);

/// The kinds, each with what it goes through.
const KINDS: [(&str, Cycle); 11] = [
    ("pageable", pageable),
    ("pinned", pinned),
    ("mapped", mapped),
    ("write-combined", write_combined),
    ("registered buffer", registered_buffer),
    ("registered file", registered_file),
    ("staging", staging),
    ("pool", pool),
    ("managed", managed),
    ("mailbox", mailbox),
    ("refused", refused),
];

/// What every cycle may use.
struct Bench<'d> {
    device: &'d Device,
    /// A file of the pattern of seed 0.
    file: PathBuf,
}

/// Whether the test runs by itself in its process, so that what it counts is its own.
const ALONE: &str = "PAGELOCK_CYCLES_ALONE";

/// Runs the cycles; where other tests run beside this one, in a process of their own.
fn leave_nothing(device: &Device) {
    let one_at_a_time = env::args().any(|argument| argument == "--test-threads=1");
    if one_at_a_time || env::var_os(ALONE).is_some() {
        return every_kind(device);
    }
    let name = if device.is_simt() { "simt" } else { "cuda" };
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", &format!("{name}::{}", TESTS[0].0), "--test-threads=1"])
        .env(ALONE, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn every_kind(device: &Device) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("words");
    let bytes: Vec<u8> = (0..WORDS).flat_map(|index| pattern(index, 0).to_ne_bytes()).collect();
    std::fs::write(&file, bytes).unwrap();
    let bench = Bench { device, file };
    for (kind, cycle) in KINDS {
        (0..WARM_UP).for_each(|seed| cycle(&bench, seed));
        let mut held = vec![Held::by(device)];
        let clean = (0..ROUNDS).any(|_| {
            (0..CYCLES).for_each(|seed| cycle(&bench, seed));
            held.push(Held::by(device));
            let [.., before, after] = held.as_slice() else { unreachable!("one was there, one was added") };
            after.is_no_more_than(before)
        });
        println!("{kind}: {} times {CYCLES} cycles", held.len() - 1);
        assert!(clean, "{kind}: each {CYCLES} cycles have left something behind: {held:#?}");
    }
}

/// What a leak would show in.
#[derive(Debug)]
struct Held {
    pinned: u64,
    descriptors: usize,
    resident: u64,
    /// Of a GPU; the CPU device has no memory of its own.
    device_memory: u64,
}

impl Held {
    fn by(device: &Device) -> Self {
        let free = device.free_memory().unwrap();
        Self {
            pinned: device.budget().used(),
            // Absent where the system has no such folder, and then twice the same.
            descriptors: std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count),
            resident: ResidentMemory::now().map_or(0, ResidentMemory::total),
            device_memory: if device.is_simt() { 0 } else { free.total - free.free },
        }
    }

    fn is_no_more_than(&self, before: &Self) -> bool {
        let grown = |now: u64, then: u64| now.saturating_sub(then) > TOLERANCE;
        self.pinned == before.pinned
            && self.descriptors <= before.descriptors
            && !grown(self.resident, before.resident)
            && !grown(self.device_memory, before.device_memory)
    }
}

fn fill(words: &mut [u32], seed: u32) {
    words.iter_mut().enumerate().for_each(|(index, word)| *word = pattern(index, seed));
}

fn assert_filled(words: &[u32], seed: u32) {
    assert!(words.iter().enumerate().all(|(index, &word)| word == pattern(index, seed)), "seed {seed}");
}

/// To the device and back, both asynchronous.
fn round_trip(device: &Device, from: &impl PageLocked<u32>, to: &mut (impl PageLocked<u32> + WritableMemory<u32>)) {
    let mut on_device = device.alloc(WORDS).unwrap();
    let round = device.scope(|stream| {
        let mut on_device = stream.bind(&mut on_device);
        stream.upload_range(from, 0..WORDS, &mut on_device, 0)?;
        stream.download_range(&on_device, 0..WORDS, to, 0)
    });
    round.unwrap();
}

/// Lets a kernel compare memory where it lies.
fn assert_kernels_see(device: &Device, memory: &impl MappedMemory<u32>, seed: u32) {
    let (mut count, mut told) = (device.alloc::<u32>(1).unwrap(), device.pinned::<u32>(1).unwrap());
    let compared = device.scope(|stream| {
        let mut count = stream.bind(&mut count);
        stream.fill(&mut count, 0)?;
        Access(stream).compare(Grid::of(2), stream.map(memory)?, count.slice_mut(), seed)?;
        stream.download(&count, &mut told)?;
        Ok::<_, AccessError<DeviceError>>(())
    });
    compared.unwrap();
    assert_eq!(told.as_slice(), [0], "seed {seed}");
}

fn pageable(bench: &Bench, seed: u32) {
    let (mut from, mut to) = (PageableBuffer::zeroed(WORDS).unwrap(), PageableBuffer::zeroed(WORDS).unwrap());
    let mut on_device = bench.device.alloc(WORDS).unwrap();
    fill(from.as_mut_slice(), seed);
    let round = bench.device.scope(|stream| {
        let mut on_device = stream.bind(&mut on_device);
        stream.upload_pageable(from.as_slice(), &mut on_device)?;
        stream.download_pageable(&on_device, to.as_mut_slice())
    });
    round.unwrap();
    assert_filled(to.as_slice(), seed);
}

fn pinned(bench: &Bench, seed: u32) {
    let (mut from, mut to) = (bench.device.pinned(WORDS).unwrap(), bench.device.pinned(WORDS).unwrap());
    fill(from.as_mut_slice(), seed);
    round_trip(bench.device, &from, &mut to);
    assert_filled(to.as_slice(), seed);
}

fn mapped(bench: &Bench, seed: u32) {
    let mut memory = bench.device.mapped(WORDS).unwrap();
    let written = bench.device.scope(|stream| Access(stream).write(Grid::of(2), stream.map_mut(&mut memory)?, seed));
    written.unwrap();
    assert_filled(memory.as_slice(), seed);
}

fn write_combined(bench: &Bench, seed: u32) {
    let mut memory = bench.device.write_combined(WORDS).unwrap();
    let words: Vec<u32> = (0..WORDS).map(|index| pattern(index, seed)).collect();
    memory.write(0, &words).unwrap();
    assert_kernels_see(bench.device, &memory, seed);
}

fn registered_buffer(bench: &Bench, seed: u32) {
    let mut words = vec![0; WORDS];
    fill(&mut words, seed);
    let memory = bench.device.register(words).unwrap();
    assert_kernels_see(bench.device, &memory, seed);
    assert_filled(&memory.into_memory(), seed);
}

fn registered_file(bench: &Bench, _: u32) {
    // SAFETY: it was written before the first cycle, and nobody else knows it.
    match unsafe { bench.device.register_file::<u32>(&bench.file, 0) } {
        Ok(memory) => assert_kernels_see(bench.device, &memory, 0),
        Err(why) => assert!(why.to_string().contains("cannot page-lock read-only memory"), "{why}"),
    }
}

fn staging(bench: &Bench, seed: u32) {
    let shape = StagingShape { threads: 1, chunks: 2, chunk_bytes: 256 << 10, upload_from: 0, download_from: 0 };
    let staging = bench.device.staging(shape).unwrap();
    let (mut from, mut to) = (vec![0; WORDS], vec![0; WORDS]);
    let mut on_device = bench.device.alloc(WORDS).unwrap();
    fill(&mut from, seed);
    let round = bench.device.scope(|stream| {
        let mut on_device = stream.bind(&mut on_device);
        stream.upload_staged(&staging, &from, &mut on_device)?;
        stream.download_staged(&staging, &on_device, &mut to)
    });
    round.unwrap();
    assert_filled(&to, seed);
}

fn pool(bench: &Bench, seed: u32) {
    let pool = PinnedPool::new(bench.device);
    let mut from = pool.take(WORDS).unwrap();
    fill(from.as_mut_slice(), seed);
    pool.give_back(from);
    let (from, mut to) = (pool.take(WORDS).unwrap(), pool.take(WORDS).unwrap());
    round_trip(bench.device, &from, &mut to);
    assert_filled(to.as_slice(), seed);
    pool.give_back(to);
}

fn managed(bench: &Bench, seed: u32) {
    if bench.device.info().check_managed().is_err() {
        return assert!(bench.device.managed::<u32>(WORDS).is_err());
    }
    let mut memory = bench.device.managed(WORDS).unwrap();
    let written = bench.device.scope(|stream| {
        let mut memory = stream.bind_managed(&mut memory);
        stream.prefetch_to_device(&memory)?;
        Access(stream).write(Grid::of(2), memory.slice_mut(), seed)?;
        stream.prefetch_to_host(&memory)?;
        Ok::<_, AccessError<DeviceError>>(())
    });
    written.unwrap();
    assert_filled(memory.as_slice(), seed);
}

/// One message that nobody waits for: the kernel ends by itself.
fn mailbox(bench: &Bench, _: u32) {
    use gpu::access::{Flag, mailbox::ANSWER};
    use std::sync::atomic::Ordering;

    let mailbox = bench.device.mailbox(MESSAGE + WORDS).unwrap();
    mailbox.words()[ANSWER].store(1, Ordering::Release);
    let patience = std::time::Duration::from_secs(10);
    let sent =
        bench.device.scope(|stream| Access(stream).mailbox(stream.mailbox(&mailbox)?, 1, Flag::Release, patience));
    sent.unwrap();
    let message = mailbox.words()[MESSAGE..].iter().map(|word| word.load(Ordering::Relaxed));
    assert!(message.enumerate().all(|(index, word)| word == pattern(index, 1)));
}

/// What the budget refuses costs nothing either.
fn refused(bench: &Bench, _: u32) {
    let too_much = usize::try_from(bench.device.budget().limit()).unwrap() / 4 + 1;
    for refused in [bench.device.pinned::<u32>(too_much).map(drop), bench.device.mapped::<u32>(too_much).map(drop)] {
        assert!(matches!(refused, Err(DeviceError::Budget(_))), "{refused:?}");
    }
    // A length that no address space holds.
    assert!(bench.device.pinned::<u32>(usize::MAX).is_err());
}
