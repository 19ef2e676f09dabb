//! Pitfalls of allocating and touching: too much pinned, write-combined memory read, memory registered twice.

use std::hint::black_box;
use std::time::Instant;

use super::{Fault, Meaning, Number, Outcome, Pitfall, Setting, Verdict, repeated};
use crate::device::DeviceError;
use crate::memory::{HostBuffer, PinnedBudget};

pub(super) const ALL: [Pitfall; 3] = [
    Pitfall {
        name: "over-pinning",
        claim: "too much pinned memory takes the machine down, so the budget refuses it first",
        expected: "Whoever asks for too much gets an error from the driver.",
        reason: "Pinned pages are taken from everybody else. The driver may well grant them, and the machine then \
                 swaps, freezes or kills processes; ulimit -l does not hold the driver back.",
        advice: "Pin what is in flight and not what is stored. Set the most that you allow with --pinned-limit.",
        run: over_pinning,
    },
    Pitfall {
        name: "write-combined-read",
        claim: "the CPU reads write-combined memory very slowly, where it is what its name says",
        expected: "Write-combined memory is the fast kind, so it is taken for everything.",
        reason: "The CPU does not cache it: every read goes out to memory by itself, and nothing is fetched ahead.",
        advice: "Use it for what the CPU only writes, in order. Here it has no slice to read from, only \
                 read_back_slowly.",
        run: write_combined_read,
    },
    Pitfall {
        name: "registered-twice",
        claim: "memory can be page-locked once; the second time is an error",
        expected: "Registering memory that is registered already does nothing.",
        reason: "The driver keeps ranges, not counts: a range that overlaps a registered one is refused, and had it \
                 been granted, the first to unregister would unlock the memory under the other.",
        advice: "Let one buffer own the memory. Device::register takes the Vec, so that safe code has nothing left to \
                 register a second time.",
        run: registered_twice,
    },
];

/// As in the source article: 10 GB in one call.
const FAR_TOO_MUCH: u64 = 10 << 30;

/// What the demonstration allows at most, on a machine where 10 GiB would be little.
const ALLOWED: u64 = 8 << 30;

fn over_pinning(setting: &Setting<'_>) -> Result<Outcome, Fault> {
    let limit = setting.device.budget().limit().min(ALLOWED);
    let device = setting.device.with_budget(PinnedBudget::limited_to(limit));
    let started = Instant::now();
    let answer = device.pinned::<u8>(FAR_TOO_MUCH as usize);
    let time = Number::time("refusal", started.elapsed());
    let asked = Number::bytes("asked", FAR_TOO_MUCH);
    let limit = Number::bytes("limit", limit);
    let used = Number::bytes("used_afterwards", device.budget().used());
    let (what, message) = match &answer {
        Ok(_) => ("granted", None),
        Err(DeviceError::Budget(error)) => {
            ("refused by the budget, and the driver was not asked", Some(error.to_string()))
        }
        Err(error) => ("refused, but not by the budget", Some(error.to_string())),
    };
    let happened = format!(
        "{asked} in one call, with a budget of {limit} for this demonstration: {what}. The answer came after {time}; \
         {used} are on the account afterwards."
    );
    let verdict = Verdict::of(matches!(answer, Err(DeviceError::Budget(_))));
    Ok(Outcome { happened, numbers: vec![asked, limit, time, used], message, verdict })
}

/// Reads of write-combined memory against those of ordinary pinned memory.
pub(super) const READS_MEAN: Meaning = Meaning {
    threshold: 2.0,
    shown: "more than twice as long",
    less: "longer, but at most twice as long",
    reverse: "no longer",
};

fn write_combined_read(setting: &Setting<'_>) -> Result<Outcome, Fault> {
    let words = setting.words(16 << 20);
    let bytes = Number::bytes("bytes", 4 * words as u64);
    if !setting.device.info().can_map_host_memory {
        let happened = format!("{bytes} were to be read; nothing was.");
        let verdict = Verdict::NotHere("the device cannot map host memory".into());
        return Ok(Outcome { happened, numbers: vec![bytes], message: None, verdict });
    }
    let mut ordinary = setting.device.pinned::<u32>(words)?;
    let mut combined = setting.device.write_combined::<u32>(words)?;
    ordinary.as_mut_slice().fill(7);
    combined.fill(7);
    let read = |name, read: &dyn Fn() -> Vec<u32>| {
        let times = repeated(|| {
            let started = Instant::now();
            let copy = black_box(read());
            let time = started.elapsed();
            match copy.iter().all(|&word| word == 7) {
                true => Ok(time),
                false => Err(Fault::Wrong("the CPU read other words than it wrote".into())),
            }
        })?;
        Ok::<_, Fault>(Number::median(name, times))
    };
    let fast = read("ordinary_read", &|| ordinary.as_slice().to_vec())?;
    let slow = read("write_combined_read", &|| combined.read_back_slowly())?;
    let (crawls, meaning) = READS_MEAN.of(slow.value, fast.value);
    let happened = format!(
        "One CPU thread copied {bytes} out of write-combined memory in {slow} and out of ordinary pinned memory in \
         {fast}: {meaning}."
    );
    // That the flag reaches the driver is for the tests to see. What the system makes of it is the machine's own
    // affair: on the virtual machine with the H200, reads were as fast as from cached memory. Why was not looked into.
    let cached = match setting.device.is_simt() {
        true => "the CPU device has ordinary, cached memory under either name",
        false => {
            "reads take at most twice as long as from cached memory, so this machine seems to cache it in spite of the flag"
        }
    };
    let verdict = if crawls && !setting.device.is_simt() { Verdict::Shown } else { Verdict::NotHere(cached.into()) };
    Ok(Outcome { happened, numbers: vec![bytes, slow, fast], message: None, verdict })
}

fn registered_twice(setting: &Setting<'_>) -> Result<Outcome, Fault> {
    let words = setting.words(1 << 20);
    let bytes = Number::bytes("bytes", 4 * words as u64);
    let first = setting.device.register(vec![7u32; words]).map_err(|refused| *refused.reason)?;
    let second = setting.device.register_again(&first);
    let usable = first.as_slice().iter().filter(|&&word| word == 7).count();
    let left = Number::count("words_unharmed", usable as u64);
    let (what, message) = match &second {
        Ok(()) => ("was granted", None),
        Err(error @ DeviceError::AlreadyRegistered { .. }) => {
            ("was refused as AlreadyRegistered", Some(error.to_string()))
        }
        Err(error) => ("was refused, with another error than AlreadyRegistered", Some(error.to_string())),
    };
    let happened = format!(
        "{bytes} were registered. The device was asked, past the types, to register them again: that {what}. The first \
         buffer still holds {left} words."
    );
    let refused = matches!(second, Err(DeviceError::AlreadyRegistered { .. }));
    Ok(Outcome { happened, numbers: vec![bytes, left], message, verdict: Verdict::of(refused && usable == words) })
}
