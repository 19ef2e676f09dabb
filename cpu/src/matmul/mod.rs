//! One matrix product, C = A·B, carried to the device and back in different ways.
//!
//! A [`Strategy`] says how A and B reach a kernel and how C comes back; it knows no device. [`measure`] runs a strategy
//! as a user would feel it, from host data to host result, and lets nothing pass that was not verified.
//!
//! | mode | host memory | A, B | C |
//! |---|---|---|---|
//! | `pageable` ([`copied`]) | ordinary | copied, staged by the driver | copied, staged by the driver |
//! | `staged` ([`copied`]) | ordinary | copied, staged by several threads of ours | the same |
//! | `pinned` ([`copied`]) | page-locked | copied by the copy engine | copied by the copy engine |
//! | `mapped` ([`mapped`]) | page-locked, mapped | read by the kernel over the link | written by the kernel over the link |
//! | `managed` ([`managed`]) | managed | fetched page by page when the kernel touches them | fetched when the CPU touches it |
//! | `prefetched` ([`managed`]) | managed | moved before the kernel | moved after the kernel |

pub mod copied;
pub mod managed;
pub mod mapped;
mod measure;
mod needs;
mod strategy;

use clap::ValueEnum;
use gpu::matmul::Shape;
use serde::Serialize;

pub use measure::{MeasureError, Measured, Plan, Run, measure};
pub use needs::{NeedsError, check_needs};
pub use strategy::{Allocation, Stages, Strategy, StrategyError};

use crate::device::{Device, DeviceError};
use crate::memory::{PageableBuffer, PinnedBuffer};
use crate::verify::POISON;

/// The inputs of one product: A is M×K, B is K×N, row-major.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    /// M, N, K.
    pub shape: Shape,
    /// M·K elements.
    pub a: &'a [f32],
    /// K·N elements.
    pub b: &'a [f32],
}

/// How the matrices travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Copies from and to ordinary memory, which the driver stages.
    Pageable,
    /// Copies from and to ordinary memory, which several threads stage through page-locked chunks.
    Staged,
    /// Copies from and to page-locked memory.
    Pinned,
    /// No copies: the kernel works on mapped page-locked memory over the link (zero-copy).
    #[value(alias = "zero-copy")]
    Mapped,
    /// No copies: pages of managed memory migrate when the kernel and then the CPU touch them.
    Managed,
    /// No copies: pages of managed memory are moved ahead of the kernel and back after it.
    Prefetched,
}

impl Mode {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Pageable, Self::Staged, Self::Pinned, Self::Mapped, Self::Managed, Self::Prefetched];

    /// The three of the source article's table, in its order.
    pub const ARTICLE: [Self; 3] = [Self::Pageable, Self::Pinned, Self::Mapped];

    /// `pageable`, `pinned`, `mapped`, …
    pub fn name(self) -> &'static str {
        match self {
            Self::Pageable => "pageable",
            Self::Staged => "staged",
            Self::Pinned => "pinned",
            Self::Mapped => "mapped",
            Self::Managed => "managed",
            Self::Prefetched => "prefetched",
        }
    }

    /// Whether the matrices are in managed memory, which not every device has.
    pub fn is_managed(self) -> bool {
        matches!(self, Self::Managed | Self::Prefetched)
    }

    /// Allocates what the mode needs and fills in the inputs.
    ///
    /// # Errors
    /// The host, the budget or the device has not enough memory, or the device lacks that kind.
    pub fn prepare(self, device: &Device, problem: Problem<'_>) -> Result<Box<dyn Strategy>, DeviceError> {
        Ok(match self {
            Self::Pageable => Box::new(copied::Copied::<PageableBuffer<f32>>::new(device, problem)?),
            Self::Staged => Box::new(copied::Copied::<copied::StagedBuffer>::new(device, problem)?),
            Self::Pinned => Box::new(copied::Copied::<PinnedBuffer<f32>>::new(device, problem)?),
            Self::Mapped => Box::new(mapped::Mapped::new(device, problem)?),
            Self::Managed => Box::new(managed::Managed::new(device, problem, false)?),
            Self::Prefetched => Box::new(managed::Managed::new(device, problem, true)?),
        })
    }
}

/// Overwrites a result with a NaN that no arithmetic makes, so that an element nobody writes is seen.
fn poison(c: &mut [f32]) {
    c.fill(f32::from_bits(POISON));
}
