//! What the way between host and device can carry, for every kind of host memory: copies, kernels over the link, latency,
//! the CPU's own access, and what allocating costs.
//!
//! Every figure comes about in the same way ([`Bench`]): the destination is poisoned, the stream is held by a kernel that
//! waits until the queue is full, events stand around the work, and what came out is compared on the device with the
//! pattern that went in, or the sum of what was read with the sum of what was there. A sample that is wrong ends the run.
//!
//! | file | asks |
//! |---|---|
//! | [`plan`] | how much of everything, and does it fit? |
//! | [`memory`], `staged` | which kinds there are, and what each must be able to do |
//! | `copies`, `access`, `latency`, `host`, `managed`, `products` | the figures |
//! | [`findings`] | what they come to: crossover, smallest grid, where pinning begins to pay |
//! | [`document`], [`table`], [`explain`](mod@explain), [`plot`] | the same for programs, people and eyes |
//! | [`parameters`] | what the advisor needs to know of this machine, kept in the user's cache folder |

mod access;
mod bench;
mod copies;
pub mod document;
pub mod explain;
pub mod figure;
pub mod findings;
mod host;
mod latency;
mod managed;
pub mod measurement;
pub mod memory;
pub mod parameters;
pub mod plan;
pub mod plot;
mod products;
mod staged;
pub mod table;

pub use bench::{Bench, Fault, MeasureError};
pub use measurement::{Measurement, Step};
pub use plan::{Plan, PlanError, Wishes};

use self::memory::{HOST_KINDS, HostEntry, KERNEL_KINDS, KernelEntry};
use self::staged::STAGED;

/// Measures everything that the device can do.
///
/// # Errors
/// Memory cannot be had, the device fails, or a sample is wrong: then there are no figures at all.
pub fn measure(bench: &Bench<'_>) -> Result<Vec<Measurement>, MeasureError> {
    let plan = bench.plan;
    let can_map = bench.device.info().can_map_host_memory;
    let host =
        || HOST_KINDS.iter().filter(move |kind| (can_map || !kind.mapped) && (plan.staged || kind.name != STAGED));
    let kernel = || KERNEL_KINDS.iter().filter(move |kind| can_map || !kind.over_link);
    let mut all = Vec::new();
    for &bytes in &plan.sizes {
        for HostEntry { copies, allocation, .. } in host() {
            all.extend(copies(bench, bytes)?);
            if let Some(allocation) = allocation {
                all.extend(allocation(bench, bytes)?);
            }
        }
    }
    for KernelEntry { access, grids, latency, .. } in kernel() {
        all.extend(access(bench, plan.access_bytes)?);
        if let Some(grids) = grids {
            all.extend(grids(bench, plan.grid_bytes)?);
        }
        all.extend(latency(bench, plan.chain_bytes)?);
    }
    if can_map {
        all.extend(access::reuse(bench, plan.access_bytes)?);
        all.extend(latency::small(bench)?);
    }
    // Between a CPU and itself no page moves.
    if !bench.device.is_simt() && bench.device.info().check_managed().is_ok() {
        all.extend(managed::measure(bench, plan.access_bytes)?);
    }
    for cpu in host().filter_map(|kind| kind.cpu) {
        all.extend(cpu(bench, plan.access_bytes)?);
    }
    all.extend(products::measure(bench)?);
    Ok(all)
}
