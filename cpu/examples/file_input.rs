//! A file as a kernel's input, where it lies: no read, no copy, no second 4 GiB.
//!
//! `cargo run --release -p cpu --example file_input -- [--size 4GiB] [--folder /tmp] [--device auto]`
//!
//! Writes a file of a known pattern (every byte of it, no holes), maps and page-locks it, and lets the device compare every
//! word over the link. Before, during and after, it asks what this process keeps in memory, and holds that against what a
//! second copy would take. Then it corrupts one word, to see that the comparison finds it. Needs as much room in the folder,
//! and the page cache for it. Exit code 0 if all of it is as it should be.

use std::error::Error;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use bytesize::ByteSize;
use clap::Parser;
use cpu::device::{Device, DeviceError, DeviceKind, Selector};
use cpu::memory::{HostBuffer, MappedMemory, PinnedBudget, ResidentMemory};
use gpu::access::{Access, AccessError, Grid, pattern};
use rayon::iter::{IndexedParallelIterator, IntoParallelRefMutIterator, ParallelIterator};

const SEED: u32 = 0x5EED_F11E;

/// What a process may keep anew without a copy being among it, if that is more than 3 % of the file: stacks, tables of the
/// driver, and the batches in which the system counts.
const SLACK: u64 = 8 << 20;

#[derive(Parser)]
#[command(about = "A file as a kernel's input, without a copy of it in memory")]
struct Arguments {
    /// Bytes of the file
    #[arg(long, default_value = "4GiB")]
    size: ByteSize,
    /// Where to make it [default: the system's folder for temporary files]
    #[arg(long)]
    folder: Option<PathBuf>,
    /// auto (a GPU if there is one), cuda:0 (this GPU or an error) or simt (the CPU)
    #[arg(long, default_value_t = Selector::Auto)]
    device: Selector,
}

fn main() -> ExitCode {
    match show() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn show() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let device = Device::open(arguments.device, PinnedBudget::from_available_memory())?;
    let folder = arguments.folder.unwrap_or_else(std::env::temp_dir);
    let trial = run(&device, &folder, arguments.size.as_u64())?;
    print!("{}: {}", device.info().name, trial.table());
    Ok(trial.verdict()?)
}

/// What was found.
#[derive(Clone)]
pub struct Trial {
    /// Of the file.
    pub bytes: u64,
    /// Before, during and after.
    pub memory: [ResidentMemory; 3],
    /// Bytes on the pinned account then.
    pub pinned: [u64; 3],
    /// How long mapping and page-locking took.
    pub page_locking: Duration,
    /// How long comparing took, with the launch and the wait.
    pub comparison: Duration,
    /// Words that differ from the pattern, which should be none.
    pub mismatches: u32,
    /// The same when one word does.
    pub mismatches_of_corrupted: u32,
}

/// Makes the file, uses it, and removes it.
///
/// # Errors
/// The file cannot be made or registered, the device fails, or the system does not tell what is resident.
pub fn run(device: &Device, folder: &Path, bytes: u64) -> Result<Trial, Box<dyn Error>> {
    let words = usize::try_from(bytes / 4)?.max(2);
    // What cannot be page-locked need not be written, and a disk that is full disturbs others.
    device.budget().reserve(4 * words as u64).map(drop)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    write_pattern(file.as_file_mut(), words)?;
    warm_up(device)?;

    let resident = || ResidentMemory::now().ok_or("/proc/self/status does not tell what is resident; take Linux");
    let pinned = || device.budget().used();
    let (memory_before, pinned_before) = (resident()?, pinned());
    // SAFETY: the file has a name that nobody else knows, and nothing here writes to it while it is registered.
    let input = unsafe { device.register_file::<u32>(file.path(), 0)? };
    let started = Instant::now();
    let mismatches = compare(device, &input)?;
    let comparison = started.elapsed();
    let (memory_during, pinned_during) = (resident()?, pinned());
    let page_locking = input.registration_time();
    drop(input);
    let (memory_after, pinned_after) = (resident()?, pinned());

    corrupt(file.path(), words / 2)?;
    // SAFETY: as above.
    let input = unsafe { device.register_file::<u32>(file.path(), 0)? };
    let mismatches_of_corrupted = compare(device, &input)?;
    drop(input);
    Ok(Trial {
        bytes: 4 * words as u64,
        memory: [memory_before, memory_during, memory_after],
        pinned: [pinned_before, pinned_during, pinned_after],
        page_locking,
        comparison,
        mismatches,
        mismatches_of_corrupted,
    })
}

/// Writes `words` words of the pattern, a piece at a time, each made by all cores.
fn write_pattern(file: &mut File, words: usize) -> io::Result<()> {
    const PIECE: usize = 4 << 20;
    let mut piece = vec![0u32; PIECE.min(words)];
    for first in (0..words).step_by(PIECE) {
        let piece = &mut piece[..PIECE.min(words - first)];
        piece.par_iter_mut().enumerate().for_each(|(index, word)| *word = pattern(first + index, SEED));
        file.write_all(bytemuck::cast_slice(piece))?;
    }
    file.flush()
}

/// Flips one bit of one word.
fn corrupt(path: &Path, word: usize) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    file.seek(SeekFrom::Start(4 * word as u64))?;
    file.write_all(&(pattern(word, SEED) ^ 1).to_ne_bytes())
}

/// Loads the kernel and makes the stream, so that neither counts as memory that the file costs.
fn warm_up(device: &Device) -> Result<(), Box<dyn Error>> {
    let mut few = device.mapped::<u32>(1024)?;
    few.as_mut_slice().iter_mut().enumerate().for_each(|(index, word)| *word = pattern(index, SEED));
    match compare(device, &few)? {
        0 => Ok(()),
        wrong => Err(format!("{wrong} of 1024 words of mapped memory differ; nothing that follows could be trusted"))?,
    }
}

/// How many words differ from the pattern, by the device's count.
fn compare(device: &Device, input: &impl MappedMemory<u32>) -> Result<u32, AccessError<DeviceError>> {
    let blocks = match device.info().kind {
        DeviceKind::Cuda { multiprocessors, .. } => 8 * multiprocessors,
        DeviceKind::Simt { workers } => 4 * workers as u32,
    };
    let (mut count, mut told) = (device.alloc::<u32>(1)?, device.pinned::<u32>(1)?);
    device.scope(|stream| {
        let mut count = stream.bind(&mut count);
        stream.fill(&mut count, 0)?;
        Access(stream).compare(Grid::of(blocks), stream.map(input)?, count.slice_mut(), SEED)?;
        stream.download(&count, &mut told)?;
        Ok::<_, AccessError<DeviceError>>(())
    })?;
    Ok(told.as_slice()[0])
}

impl Trial {
    /// As people read it.
    pub fn table(&self) -> String {
        let size = |bytes: u64| ByteSize(bytes).to_string();
        let mut text = format!("a file of {} as a kernel's input\n", size(self.bytes));
        text += &format!("{:8}", "");
        for column in ["anonymous", "file", "shared", "total", "peak", "pinned"] {
            text += &format!("{column:>12}");
        }
        for (name, memory, pinned) in
            [("before", 0), ("during", 1), ("after", 2)].map(|(name, at)| (name, self.memory[at], self.pinned[at]))
        {
            let ResidentMemory { anonymous, file, shared, peak } = memory;
            text += &format!("\n{name:8}");
            for bytes in [anonymous, file, shared, memory.total(), peak, pinned] {
                text += &format!("{:>12}", size(bytes));
            }
        }
        text + &format!(
            "\nmapped and page-locked in {:.2?}; {} words compared in {:.2?} ({:.1} GB/s): {} differ; with one corrupted: {}\n",
            self.page_locking,
            self.bytes / 4,
            self.comparison,
            self.bytes as f64 / self.comparison.as_secs_f64() / 1e9,
            self.mismatches,
            self.mismatches_of_corrupted
        )
    }

    /// Whether there was no second copy at any moment, nothing stayed, and the device saw the file's own words.
    ///
    /// # Errors
    /// What is not as it should be, with what was found.
    pub fn verdict(&self) -> Result<(), String> {
        let [before, during, after] = self.memory;
        let little = (self.bytes / 100 * 3).max(SLACK);
        let copy_free = before.total() + self.bytes + (self.bytes / 10).max(SLACK);
        let held = [
            ("no word differs", self.mismatches == 0),
            ("the corrupted word is found, and no other", self.mismatches_of_corrupted == 1),
            ("anonymous memory grows by little", during.anonymous <= before.anonymous + little),
            ("resident memory grows by the file at most, and a tenth", during.total() <= copy_free),
            ("nor was it ever more", during.peak <= copy_free.max(before.peak)),
            ("anonymous memory is what it was, afterwards", after.anonymous <= before.anonymous + little),
            ("resident memory is what it was, afterwards", after.total() <= before.total() + little),
            ("the file was on the account, to the byte", self.pinned[1] == self.pinned[0] + self.bytes),
            ("nothing is on it afterwards", self.pinned[2] == self.pinned[0]),
        ];
        match held.iter().find(|(_, holds)| !holds) {
            Some((claim, _)) => Err(format!("it does not hold that {claim}:\n{}", self.table())),
            None => Ok(()),
        }
    }
}
