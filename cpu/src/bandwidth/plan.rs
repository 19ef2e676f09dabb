//! How much of everything is measured, and whether it fits the machine.

use bytesize::ByteSize;
use gpu::matmul::MatmulKernel;

use super::memory::{HOST_KINDS, KERNEL_KINDS};
use super::staged::staging_shape;
use crate::amount::like;
use crate::device::{Device, DeviceError, DeviceKind};
use crate::memory::{AvailableMemory, BudgetExceeded};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// How much of everything.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Sizes of copies and allocations in bytes, ascending.
    pub sizes: Vec<u64>,
    /// Bytes of the buffers that kernels and the CPU work on.
    pub access_bytes: u64,
    /// Bytes of the buffers for the sweep over grids.
    pub grid_bytes: u64,
    /// Bytes of the chain whose steps give the latency.
    pub chain_bytes: u64,
    /// Steps along that chain.
    pub chain_steps: u32,
    /// Blocks of a kernel that wants all of the device.
    pub blocks: u32,
    /// The grids of the sweep, ascending.
    pub sweep: Vec<u32>,
    /// Samples of each figure.
    pub samples: u32,
    /// What is short is measured more often, up to this: a copy of a millisecond meets more noise than one of a second.
    pub samples_at_most: u32,
    /// Runs before the first sample.
    pub warmup: u32,
    /// Whether staged copies are measured: the budget has room for their page-locked chunks.
    pub staged: bool,
    /// Extents of the matrix products, ascending: no matrix is larger than the largest size.
    pub extents: Vec<u32>,
    /// What the user should know, such as sizes that were left out.
    pub notes: Vec<String>,
}

/// What the user asks for.
#[derive(Clone, Debug, Default)]
pub struct Wishes {
    /// These sizes.
    pub sizes: Vec<u64>,
    /// No size beyond this.
    pub max: Option<u64>,
    /// So many samples.
    pub samples: Option<u32>,
    /// A short run.
    pub quick: bool,
}

/// Why the sizes are not tried.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// More host memory than there is.
    #[error(
        "{} need {} of host memory here, for a buffer each way{}; {} are available. Take a smaller --max or --sizes",
        like(*bytes, *bytes), like(*needed, *bytes), if *on_simt { " on both sides" } else { "" }, like(*available, *bytes)
    )]
    Host {
        /// The size.
        bytes: u64,
        /// Bytes.
        needed: u64,
        /// Bytes.
        available: u64,
        /// Whether device memory is host memory.
        on_simt: bool,
    },
    /// More device memory than is free.
    #[error(
        "{} need {} of device memory, for a buffer each way; {} are free. Take a smaller --max or --sizes",
        like(*bytes, *bytes), like(*needed, *bytes), like(*free, *bytes)
    )]
    Device {
        /// The size.
        bytes: u64,
        /// Bytes.
        needed: u64,
        /// Bytes.
        free: u64,
    },
    /// More page-locked memory than the budget has.
    #[error("{}, a buffer each way: {reason}", like(*bytes, *bytes))]
    Budget {
        /// The size.
        bytes: u64,
        /// The budget's answer.
        reason: BudgetExceeded,
    },
    /// The device does not tell its free memory.
    #[error(transparent)]
    Unknown(#[from] DeviceError),
}

impl Plan {
    /// What to measure on this device. Sizes that the user named must fit; of the default ones those are left out that do
    /// not, with a note.
    ///
    /// # Errors
    /// A size that was named does not fit, or nothing does.
    pub fn new(device: &Device, wishes: &Wishes) -> Result<Self, PlanError> {
        let defaults = Defaults::of(device, wishes.quick);
        let largest = wishes.max.unwrap_or(defaults.max);
        // The sums that the largest grid leaves, one word a thread, and a word here and there.
        let told = 4 * 256 * u64::from(defaults.blocks.max(defaults.sweep)) + 64 * KIB;
        let mut notes = Vec::new();
        let mut sizes = if wishes.sizes.is_empty() { powers_of_four(largest) } else { wishes.sizes.clone() };
        sizes.sort_unstable();
        sizes.dedup();
        if wishes.sizes.is_empty() && wishes.max.is_none() {
            while let [_, .., last] = sizes[..]
                && let Err(reason) = check_needs(device, last, told)
            {
                notes.push(format!("left out: {reason}"));
                sizes.pop();
            }
        }
        let last = sizes.last().copied().unwrap_or(4 * KIB);
        check_needs(device, last, told)?;
        if last < defaults.access && !device.is_simt() {
            notes.push(format!(
                "kernels are measured on {}, which the device's caches may hold: repeated reads then look faster than the \
                 link; --max 256MiB and more is beyond them",
                ByteSize(last)
            ));
        }
        // A set of chunks for each direction; the memory itself is not page-locked then.
        let chunks = 2 * staging_shape(device).pinned_bytes();
        let staged = device.budget().reserve(chunks.saturating_add(told)).map(drop);
        if let Err(reason) = &staged {
            notes.push(format!("staged copies are left out: {reason}"));
        }
        let at_most = |bytes: u64| bytes.min(last).max(64);
        Ok(Self {
            access_bytes: at_most(defaults.access) / 16 * 16,
            grid_bytes: at_most(defaults.grid) / 16 * 16,
            chain_bytes: at_most(defaults.chain) / 16 * 16,
            chain_steps: defaults.steps,
            blocks: defaults.blocks,
            sweep: (0..=defaults.sweep.ilog2()).map(|power| 1 << power).collect(),
            samples: wishes.samples.unwrap_or(defaults.samples),
            samples_at_most: wishes.samples.unwrap_or(defaults.samples_at_most),
            warmup: defaults.warmup,
            staged: staged.is_ok(),
            extents: defaults.extents.iter().copied().filter(|&one| 4 * u64::from(one).pow(2) <= last).collect(),
            sizes,
            notes,
        })
    }

    /// Steps that call [`Bench::done`](super::Bench), about.
    pub fn steps(&self) -> u64 {
        let (sizes, sweep) = (self.sizes.len() as u64, self.sweep.len() as u64);
        let (host, kernel) = (HOST_KINDS.len() as u64, KERNEL_KINDS.len() as u64);
        let products = 2 * (MatmulKernel::ALL.len() * self.extents.len()) as u64;
        host * (4 * sizes + 2) + kernel * 15 + 2 * sweep + 18 + products
    }
}

struct Defaults {
    max: u64,
    access: u64,
    grid: u64,
    chain: u64,
    steps: u32,
    blocks: u32,
    sweep: u32,
    samples: u32,
    samples_at_most: u32,
    warmup: u32,
    extents: &'static [u32],
}

impl Defaults {
    fn of(device: &Device, quick: bool) -> Self {
        let full = match device.info().kind {
            // Beyond every cache of the device (50 MB in an H200), or its reads would be measured instead.
            DeviceKind::Cuda { multiprocessors, .. } => Self {
                max: 1 << 30,
                access: 256 * MIB,
                grid: 64 * MIB,
                chain: 64 * MIB,
                steps: 20_000,
                blocks: 8 * multiprocessors,
                sweep: 1024,
                samples: 5,
                samples_at_most: 41,
                warmup: 1,
                extents: &[64, 256, 512, 1024, 2048, 4096],
            },
            DeviceKind::Simt { workers } => Self {
                max: 4 * MIB,
                access: MIB,
                grid: MIB / 4,
                chain: 64 * KIB,
                steps: 1000,
                blocks: workers as u32,
                sweep: 8,
                samples: 5,
                samples_at_most: 5,
                warmup: 1,
                extents: &[32, 64, 128, 256],
            },
        };
        match (quick, device.is_simt()) {
            (false, _) => full,
            (true, true) => Self { max: MIB, access: MIB / 4, grid: MIB / 16, extents: &[32, 64, 128], ..full },
            (true, false) => Self {
                max: 64 * MIB,
                access: 64 * MIB,
                grid: 16 * MIB,
                steps: 5000,
                extents: &[64, 256, 1024, 2048],
                ..full
            },
        }
    }
}

/// 4 KiB, 16 KiB, 64 KiB, … and the largest itself.
fn powers_of_four(largest: u64) -> Vec<u64> {
    let mut sizes: Vec<u64> =
        std::iter::successors(Some(4 * KIB), |size| size.checked_mul(4)).take_while(|size| *size < largest).collect();
    sizes.push(largest);
    sizes
}

/// Checks that two buffers of a size fit: host memory, device memory, and the budget, which also has to have room for what
/// kernels tell the host.
fn check_needs(device: &Device, bytes: u64, told: u64) -> Result<(), PlanError> {
    let both = bytes.saturating_mul(2);
    let on_simt = device.is_simt();
    let needed = if on_simt { both.saturating_mul(2) } else { both };
    let available = AvailableMemory::now().map_or(u64::MAX, AvailableMemory::least);
    if needed > available {
        return Err(PlanError::Host { bytes, needed, available, on_simt });
    }
    let free = device.free_memory()?.free;
    if both > free {
        return Err(PlanError::Device { bytes, needed: both, free });
    }
    // Reserved for a moment and given back: the budget itself says whether it fits.
    let asked = both.saturating_add(told);
    device.budget().reserve(asked).map(drop).map_err(|reason| PlanError::Budget { bytes, reason })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Selector;
    use crate::memory::PinnedBudget;

    fn plan(limit: u64, wishes: Wishes) -> Result<Plan, PlanError> {
        Plan::new(&Device::open(Selector::Simt, PinnedBudget::limited_to(limit)).unwrap(), &wishes)
    }

    #[test]
    fn sizes_grow_by_four_and_end_at_the_largest() {
        assert_eq!(powers_of_four(64 * KIB), [4 * KIB, 16 * KIB, 64 * KIB]);
        assert_eq!(powers_of_four(48 * KIB), [4 * KIB, 16 * KIB, 48 * KIB]);
        assert_eq!(powers_of_four(16), [16]);
        assert_eq!(powers_of_four(1 << 30).len(), 10);
    }

    #[test]
    fn default_sizes_that_do_not_fit_are_left_out_and_said() {
        let plan = plan(MIB, Wishes::default()).unwrap();
        assert_eq!(plan.sizes.last(), Some(&(256 * KIB)), "two of 1 MiB are more than the limit");
        assert_eq!(plan.notes.len(), 3, "{:?}", plan.notes);
        assert!(plan.access_bytes <= 256 * KIB);
    }

    #[test]
    fn sizes_that_were_named_must_fit() {
        let named = Wishes { sizes: vec![MIB, 64 * KIB, MIB], ..Wishes::default() };
        assert!(matches!(plan(MIB, named.clone()), Err(PlanError::Budget { bytes: MIB, .. })));
        assert_eq!(plan(4 * MIB, named).unwrap().sizes, [64 * KIB, MIB]);
        let huge = Wishes { max: Some(1 << 60), ..Wishes::default() };
        assert!(matches!(plan(u64::MAX, huge), Err(PlanError::Host { .. })));
    }
}
