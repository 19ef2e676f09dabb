//! Whether a product fits into the machine, asked before anything is allocated.

use bytesize::ByteSize;
use gpu::matmul::Shape;

use super::Mode;
use crate::device::{Device, DeviceError};
use crate::memory::{AvailableMemory, BudgetExceeded, StagingShape};

/// Why a product is not tried.
#[derive(Debug, thiserror::Error)]
pub enum NeedsError {
    /// More host memory than there is.
    #[error(
        "a {shape} product needs {} of host memory here (inputs, buffers, what verification keeps); {} are available. \
         Take a smaller size", ByteSize(*needed), ByteSize(*available)
    )]
    Host {
        /// The product.
        shape: Shape,
        /// Bytes.
        needed: u64,
        /// Bytes.
        available: u64,
    },
    /// Mode mapped on a device that cannot.
    #[error("a {shape} product in mode mapped: {reason}")]
    Mapping {
        /// The product.
        shape: Shape,
        /// The device's answer.
        reason: DeviceError,
    },
    /// A managed mode on a device that cannot.
    #[error("a {shape} product in mode {}: {reason}", mode.name())]
    Managed {
        /// The product.
        shape: Shape,
        /// The mode.
        mode: Mode,
        /// The device's answer.
        reason: DeviceError,
    },
    /// More device memory than is free.
    #[error(
        "a {shape} product needs {} of device memory in mode {}; {} of {} are free. Take a smaller size, or --mode mapped, \
         which needs none", ByteSize(*needed), mode.name(), ByteSize(*free), ByteSize(*total)
    )]
    Device {
        /// The product.
        shape: Shape,
        /// The mode.
        mode: Mode,
        /// Bytes.
        needed: u64,
        /// Bytes.
        free: u64,
        /// Bytes.
        total: u64,
    },
    /// More page-locked memory than the budget has.
    #[error("a {shape} product in mode {}: {reason}", mode.name())]
    Budget {
        /// The product.
        shape: Shape,
        /// The mode.
        mode: Mode,
        /// The budget's answer.
        reason: BudgetExceeded,
    },
    /// The device does not tell its free memory.
    #[error(transparent)]
    Unknown(#[from] DeviceError),
}

/// Checks that every mode of a product fits: host memory, device memory, the budget for page-locked memory. Modes run one
/// after the other, so the largest counts, beside the inputs and `verification_bytes`.
///
/// # Errors
/// One of them does not fit.
pub fn check_needs(device: &Device, shape: Shape, modes: &[Mode], verification_bytes: u64) -> Result<(), NeedsError> {
    let bytes = |elements: usize| elements as u64 * size_of::<f32>() as u64;
    let inputs = bytes(shape.a_len() + shape.b_len());
    let matrices = inputs + bytes(shape.c_len());

    let copies = modes.iter().map(|&mode| host_copies(mode, device.is_simt())).max().unwrap_or(0);
    let needed = inputs.saturating_add(matrices.saturating_mul(copies)).saturating_add(verification_bytes);
    let available = AvailableMemory::now().map_or(u64::MAX, AvailableMemory::least);
    if needed > available {
        return Err(NeedsError::Host { shape, needed, available });
    }
    for &mode in modes {
        if mode == Mode::Mapped && !device.info().can_map_host_memory {
            let reason = DeviceError::CannotMap { name: device.info().name.clone() };
            return Err(NeedsError::Mapping { shape, reason });
        }
        if mode.is_managed() {
            device.info().check_managed().map_err(|reason| NeedsError::Managed { shape, mode, reason })?;
        }
        if mode != Mode::Mapped {
            let memory = device.free_memory()?;
            if matrices > memory.free {
                return Err(NeedsError::Device {
                    shape,
                    mode,
                    needed: matrices,
                    free: memory.free,
                    total: memory.total,
                });
            }
        }
        let pinned = match mode {
            Mode::Pageable | Mode::Managed | Mode::Prefetched => 0,
            Mode::Staged => StagingShape::default().pinned_bytes(),
            Mode::Pinned | Mode::Mapped => matrices,
        };
        if pinned > 0 {
            // Reserved for a moment and given back: the budget itself says whether it fits.
            device.budget().reserve(pinned).map_err(|reason| NeedsError::Budget { shape, mode, reason })?;
        }
    }
    Ok(())
}

/// How often host memory must have room for the three matrices.
fn host_copies(mode: Mode, on_simt: bool) -> u64 {
    match mode {
        Mode::Mapped => 1,
        // Once where it lies; and what lies there is counted again when more is asked for, see `memory::managed`.
        Mode::Managed | Mode::Prefetched => 2,
        // On simt, device memory is host memory.
        Mode::Pageable | Mode::Staged | Mode::Pinned => 1 + u64::from(on_simt),
    }
}
