//! Pitfalls of copying: asynchronous in name only, many small copies, pinning for a single one.

use std::time::{Duration, Instant};

use super::{Fault, Meaning, Number, Outcome, Pitfall, Setting, repeated};
use crate::bandwidth::memory::HostMemory;
use crate::memory::{PageableBuffer, PinnedBuffer};

pub(super) const ALL: [Pitfall; 3] = [
    Pitfall {
        name: "pageable-async",
        claim: "an asynchronous copy of pageable memory is not asynchronous",
        expected: "A copy that is called asynchronous returns at once and leaves the CPU free while the bytes travel.",
        reason: "The copy engine cannot follow pages that the system may move. The driver copies pageable bytes \
                 through a page-locked buffer of its own and holds the caller meanwhile.",
        advice: "Keep what is to travel meanwhile in pinned memory. Where it must be pageable, stage it on purpose \
                 (upload_staged) or count on the wait.",
        run: pageable_async,
    },
    Pitfall {
        name: "small-copies",
        claim: "many small copies cost far more than a large one of as many bytes",
        expected: "The time of a copy depends on its bytes: a thousand times 4 KiB take as long as 4 MB at once.",
        reason: "Each copy costs a call, an entry in the queue and the start of a transfer, whatever it carries.",
        advice: "Gather small pieces into one pinned buffer and copy that; or let the kernel read them where they are.",
        run: small_copies,
    },
    Pitfall {
        name: "pin-copy-free",
        claim: "pinning memory for a single copy is slower than a pageable copy",
        expected: "Pinned copies are faster, so memory is pinned, copied and freed wherever something is copied.",
        reason: "Page-locking touches and locks every page through the system, and freeing undoes it; both take longer \
                 than the copy gains.",
        advice: "Pin once, early, and use the memory again and again; copy what travels once from where it is.",
        run: pin_copy_free,
    },
];

/// Of one copy to the device: until the call returned, and until the bytes were there.
fn copy<M: HostMemory>(setting: &Setting<'_>, words: usize, times: usize) -> Result<Vec<[Duration; 2]>, Fault> {
    let mut memory = M::allocate(setting.device, words)?;
    memory.fill(1);
    let mut on_device = setting.device.alloc(words)?;
    repeated(|| {
        setting.device.scope(|stream| {
            let mut to = stream.bind(&mut on_device);
            let started = Instant::now();
            for _ in 0..times {
                memory.upload(stream, &mut to)?;
            }
            let returned = started.elapsed();
            stream.synchronize()?;
            Ok([returned, started.elapsed()])
        })
    })
}

fn numbers(names: [&str; 2], runs: &[[Duration; 2]]) -> [Number; 2] {
    [0, 1].map(|which| Number::median(names[which], runs.iter().map(|run| run[which])))
}

fn pageable_async(setting: &Setting<'_>) -> Result<Outcome, Fault> {
    let words = setting.words(64 << 20);
    let bytes = Number::bytes("bytes", 4 * words as u64);
    let pageable = copy::<PageableBuffer<u32>>(setting, words, 1)?;
    let pinned = copy::<PinnedBuffer<u32>>(setting, words, 1)?;
    let [slow_call, slow] = numbers(["pageable_call", "pageable_copy"], &pageable);
    let [quick_call, quick] = numbers(["pinned_call", "pinned_copy"], &pinned);
    let held = slow_call.value >= 0.5 * slow.value;
    let free = quick_call.value < 0.5 * quick.value;
    let meaning = match (held, free) {
        (true, true) => "the CPU was held for most of the pageable copy and was free during the pinned one",
        (true, false) => "the CPU was held for most of both copies",
        (false, true) => "the CPU was free during most of both copies",
        (false, false) => "the CPU was free during most of the pageable copy and held during the pinned one",
    };
    let happened = format!(
        "{bytes} from pageable memory: the call returned after {slow_call}, the copy had ended after {slow}. From \
         pinned memory: {quick_call} and {quick}. So {meaning}."
    );
    let verdict = setting.on_gpu(
        held && free,
        "the CPU device copies in the thread that asks, so that every call lasts as long as its copy, whatever the \
         memory",
    );
    Ok(Outcome { happened, numbers: vec![bytes, slow_call, slow, quick_call, quick], message: None, verdict })
}

/// Copies of the small kind.
const PIECES: usize = 1000;
/// Words of each: 4 KiB.
const PIECE: usize = 1024;

/// Small copies against a large one.
pub(super) const PIECES_MEAN: Meaning = Meaning {
    threshold: 2.0,
    shown: "the small ones cost more than twice as much",
    less: "the small ones cost more, but at most twice as much",
    reverse: "the small ones cost no more",
};

fn small_copies(setting: &Setting<'_>) -> Result<Outcome, Fault> {
    let whole = |runs: Vec<[Duration; 2]>| runs.into_iter().map(|[_, ended]| ended);
    let small = Number::median("small_copies", whole(copy::<PinnedBuffer<u32>>(setting, PIECE, PIECES)?));
    let large = Number::median("large_copy", whole(copy::<PinnedBuffer<u32>>(setting, PIECE * PIECES, 1)?));
    let pieces = Number::count("pieces", PIECES as u64);
    let piece = Number::bytes("piece_bytes", 4 * PIECE as u64);
    let bytes = Number::bytes("large_bytes", 4 * (PIECE * PIECES) as u64);
    let (dearer, meaning) = PIECES_MEAN.of(small.value, large.value);
    let happened =
        format!("{pieces} copies of {piece} took {small}, one of {bytes} took {large}, both pinned: {meaning}.");
    let verdict =
        setting.on_gpu(dearer, "on the CPU device a copy starts no transfer; what is counted are calls and bytes");
    Ok(Outcome { happened, numbers: vec![pieces, piece, small, bytes, large], message: None, verdict })
}

fn pin_copy_free(setting: &Setting<'_>) -> Result<Outcome, Fault> {
    let words = setting.words(64 << 20);
    let bytes = Number::bytes("bytes", 4 * words as u64);
    let costs = repeated(|| {
        let buffer = setting.device.pinned::<u32>(words)?;
        let pinning = HostMemory::allocation_time(&buffer);
        let started = Instant::now();
        drop(buffer);
        Ok([pinning, started.elapsed()])
    })?;
    let [pin, free] = numbers(["pin", "free"], &costs);
    let whole = |runs: Vec<[Duration; 2]>| runs.into_iter().map(|[_, ended]| ended);
    let pinned = Number::median("pinned_copy", whole(copy::<PinnedBuffer<u32>>(setting, words, 1)?));
    let pageable = Number::median("pageable_copy", whole(copy::<PageableBuffer<u32>>(setting, words, 1)?));
    let slower = pin.value + pinned.value + free.value > pageable.value;
    let gain = pageable.value - pinned.value;
    let mut numbers = vec![bytes.clone(), pin.clone(), pinned.clone(), free.clone(), pageable.clone()];
    let pays = if gain > 0.0 {
        let uses = Number::count("uses_until_it_pays", ((pin.value + free.value) / gain).ceil().max(1.0) as u64);
        let text = format!("pinning pays from use {uses} on");
        numbers.push(uses);
        text
    } else {
        "the pinned copy itself was no faster, so pinning never pays".to_owned()
    };
    let meaning = if slower { "all three take longer than the plain copy" } else { "all three take no longer than it" };
    let happened = format!(
        "For {bytes}: pinning took {pin}, the pinned copy {pinned}, freeing {free}; a plain pageable copy took \
         {pageable}. So {meaning}, and {pays}."
    );
    let verdict =
        setting.on_gpu(slower, "the CPU device allocates ordinary memory under either name, and copies both alike");
    Ok(Outcome { happened, numbers, message: None, verdict })
}
