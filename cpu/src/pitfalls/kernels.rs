//! Pitfalls of running kernels: zero-copy read again and again, the first run, a comparison that NaN passes.

use std::time::{Duration, Instant};

use gpu::access::{Access, Grid, pattern, pattern_sum};
use gpu::matmul::{MatmulKernel, Shape};

use super::{Fault, Meaning, Number, Outcome, Pitfall, Setting, Verdict, repeated};
use crate::memory::{DeviceBuffer, HostBuffer, MappedBuffer, PinnedBuffer};
use crate::verify::{Method, Source, Verifier};

pub(super) const FIRST_RUN: Pitfall = Pitfall {
    name: "first-run",
    claim: "the first launch of a kernel takes longer than the later ones",
    expected: "Every run of the same kernel on the same data takes the same time, so one run is a measurement.",
    reason: "The first launch loads the kernel's code, and the device may still be asleep.",
    advice: "Run everything once or more before the clock counts, and report the median and the spread of several \
             runs.",
    run: first_run,
};

pub(super) const REUSE: Pitfall = Pitfall {
    name: "reuse-over-zero-copy",
    claim: "zero-copy costs the link again at every read, a copy only once",
    expected: "Zero-copy saves the copy, so it is faster.",
    reason: "What a kernel reads from mapped memory crosses the link each time; device memory is many times faster \
             than the link, so a copy is soon paid for.",
    advice: "Map what is read at most once, or what the device has no room for; copy what is read again.",
    run: reuse,
};

pub(super) const NAN: Pitfall = Pitfall {
    name: "default-off-by-nan",
    claim: "a check that fails where |a - b| > eps lets NaN pass",
    expected: "Elements that are wrong differ from the reference by more than eps, so counting those finds them.",
    reason: "Every comparison with NaN is false, so NaN is never further away than eps. Nor is it ever near enough.",
    advice: "Ask whether an element passes: |a - b| <= tolerance. What is not shown to be right is wrong.",
    run: nan,
};

const SEED: u32 = 0x5EED_0003;

/// The first launch against the later ones.
pub(super) const FIRST_MEANS: Meaning = Meaning {
    threshold: 1.5,
    shown: "the first took more than half as long again",
    less: "the first took longer, but at most half as long again",
    reverse: "the first took no longer",
};

fn first_run(setting: &Setting<'_>) -> Result<Outcome, Fault> {
    let words = setting.words(64 << 10).min(16 << 10);
    let grid = Grid::of(1);
    let mut memory = setting.device.alloc::<u32>(words)?;
    let mut sums = setting.device.alloc::<u32>(grid.threads())?;
    // The stream is made here, so that the first launch does not pay for it. No other demonstration runs this kernel.
    setting.device.scope(|stream| stream.fill(&mut stream.bind(&mut memory), 0))?;
    let mut launch = || {
        setting.device.scope(|stream| {
            let (from, mut to) = (stream.bind(&mut memory), stream.bind(&mut sums));
            let started = Instant::now();
            Access(stream).random(grid, from.slice(), to.slice_mut())?;
            stream.synchronize()?;
            Ok::<_, Fault>(started.elapsed())
        })
    };
    let first = Number::time("first_launch", launch()?);
    let later = Number::median("later_launches", repeated(launch)?);
    let (longer, meaning) = FIRST_MEANS.of(first.value, later.value);
    let happened = format!("The first launch took {first}, the later ones {later} each: {meaning}.");
    let verdict = setting
        .on_gpu(longer, "the CPU device loads no code and does not sleep; its first launch warms caches at most");
    Ok(Outcome { happened, numbers: vec![first, later], message: None, verdict })
}

/// How often memory is read.
const ROUNDS: [u32; 5] = [1, 2, 4, 8, 16];

struct Reader {
    grid: Grid,
    mapped: MappedBuffer<u32>,
    copy: DeviceBuffer<u32>,
    sums: DeviceBuffer<u32>,
    told: PinnedBuffer<u32>,
}

impl Reader {
    /// The device's time for `rounds` reads, of the mapped memory or of a copy made first.
    fn read(&mut self, setting: &Setting<'_>, rounds: u32, copied: bool) -> Result<Duration, Fault> {
        let Self { grid, mapped, copy, sums, told } = self;
        let words = mapped.as_slice().len();
        let time = setting.device.scope(|stream| {
            let (mut copy, mut sums) = (stream.bind(copy), stream.bind(sums));
            let start = stream.mark()?;
            if copied {
                stream.upload(&*mapped, &mut copy)?;
                Access(stream).read(*grid, copy.slice(), sums.slice_mut(), rounds)?;
            } else {
                Access(stream).read(*grid, stream.map(&*mapped)?, sums.slice_mut(), rounds)?;
            }
            let end = stream.mark()?;
            stream.download(&sums, told)?;
            Ok::<_, Fault>(stream.elapsed(start, end)?)
        })?;
        let sum = told.as_slice().iter().fold(0u32, |sum, word| sum.wrapping_add(*word));
        match sum == pattern_sum(0..words, SEED).wrapping_mul(rounds) {
            true => Ok(time),
            false => Err(Fault::Wrong("the kernel's sum is not that of what was there".into())),
        }
    }
}

fn reuse(setting: &Setting<'_>) -> Result<Outcome, Fault> {
    // Beyond the caches of the device.
    let words = setting.words(256 << 20);
    let bytes = Number::bytes("bytes", 4 * words as u64);
    if !setting.device.info().can_map_host_memory {
        let happened = format!("{bytes} were to be read; nothing was.");
        let verdict = Verdict::NotHere("the device cannot map host memory".into());
        return Ok(Outcome { happened, numbers: vec![bytes], message: None, verdict });
    }
    let device = setting.device;
    let grid = Grid::of(setting.blocks());
    let (mut mapped, copy) = (device.mapped(words)?, device.alloc(words)?);
    mapped.as_mut_slice().iter_mut().enumerate().for_each(|(index, word)| *word = pattern(index, SEED));
    let (sums, told) = (device.alloc(grid.threads())?, device.pinned(grid.threads())?);
    let mut reader = Reader { grid, mapped, copy, sums, told };

    let mut happened = format!("{bytes}, where they are and copied once:");
    let mut numbers = vec![bytes];
    let mut crossover = None;
    for rounds in ROUNDS {
        let place = Number::median(&format!("in_place_{rounds}"), repeated(|| reader.read(setting, rounds, false))?);
        let copied = Number::median(&format!("copied_{rounds}"), repeated(|| reader.read(setting, rounds, true))?);
        happened += &format!(" read {rounds} times {place} and {copied},");
        if copied.value < place.value {
            crossover.get_or_insert(rounds);
        }
        numbers.extend([place, copied]);
    }
    let most = ROUNDS[ROUNDS.len() - 1];
    let again = Number::bytes("most_bytes_in_place", 4 * words as u64 * u64::from(most));
    happened += &format!(" the last of which reads {again} in place.");
    numbers.push(again);
    match crossover {
        Some(rounds) => {
            let rounds = Number::count("crossover", rounds.into());
            happened += &format!(" The copy is first faster where the number of reads is {rounds}.");
            numbers.push(rounds);
        }
        None => happened += " The copy is faster at none of them.",
    }
    let verdict = setting.on_gpu(
        crossover.is_some(),
        "the CPU device reads both from the same memory, with no link between; what holds everywhere is how many bytes \
         are read where",
    );
    Ok(Outcome { happened, numbers, message: None, verdict })
}

/// Rows, columns and depth of the product.
const SIZE: usize = 16;
/// What the usual check allows.
const EPSILON: f32 = 1e-3;

fn nan(setting: &Setting<'_>) -> Result<Outcome, Fault> {
    let device = setting.device;
    let shape = Shape::new(SIZE as u64, SIZE as u64, SIZE as u64).map_err(|why| Fault::Wrong(why.to_string()))?;
    let elements = SIZE * SIZE;
    let (mut a, mut b) = (device.pinned::<f32>(elements)?, device.pinned::<f32>(elements)?);
    let mut c = device.pinned::<f32>(elements)?;
    a.as_mut_slice().iter_mut().enumerate().for_each(|(index, x)| *x = (index % 7) as f32 / 8.0);
    b.as_mut_slice().iter_mut().enumerate().for_each(|(index, x)| *x = (index % 5) as f32 / 4.0 - 0.5);
    let (mut da, mut db, mut dc) = (device.alloc(elements)?, device.alloc(elements)?, device.alloc(elements)?);
    device.scope(|stream| {
        let (mut da, mut db, mut dc) = (stream.bind(&mut da), stream.bind(&mut db), stream.bind(&mut dc));
        stream.upload(&a, &mut da)?;
        stream.upload(&b, &mut db)?;
        MatmulKernel::Tiled.launch(stream, shape, da.slice(), db.slice(), dc.slice_mut())?;
        Ok::<_, Fault>(stream.download(&dc, &mut c)?)
    })?;
    let (a, b, c) = (a.as_slice(), b.as_slice(), c.as_mut_slice());
    let reference: Vec<f32> =
        (0..elements).map(|at| (0..SIZE).map(|k| a[at / SIZE * SIZE + k] * b[k * SIZE + at % SIZE]).sum()).collect();
    c[elements / 2] = f32::NAN; // a kernel that went wrong
    let missed = c.iter().zip(&reference).filter(|(got, expected)| (*got - *expected).abs() > EPSILON).count();
    let told = Verifier::new(shape, a, b, Method::Full, Source::Random, 0).check(c);
    let usual = Number::count("found_by_usual_check", missed as u64);
    let ours = Number::count("found_by_verifier", told.wrong_elements);
    let compared = Number::count("elements", elements as u64);
    let happened = format!(
        "One of the {compared} elements of a product was made NaN. Counting |a - b| > eps found {usual} wrong, the \
         verifier of this program {ours}."
    );
    let verdict = Verdict::of(missed == 0 && told.wrong_elements == 1);
    let message = Some(told.to_string());
    Ok(Outcome { happened, numbers: vec![compared, usual, ours], message, verdict })
}
