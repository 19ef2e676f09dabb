//! The host: the program, its memory, the CPU device.

use std::fs;

use bytesize::ByteSize;
use sysinfo::System;

use super::{Finding, Section};
use crate::amount;
use crate::memory::{AvailableMemory, PinnedBudget};

/// Mappings that `simt` may need: two for each stack of 1024 threads of 16 blocks.
const SIMT_MAPPINGS: u64 = 2 * 1024 * 16;

pub(super) fn examine(budget: &PinnedBudget) -> Section {
    let findings = [program(), system(), memory(), pinned(budget), locked_limit(), simt()];
    Section { title: "host".into(), findings: findings.into_iter().flatten().collect() }
}

fn program() -> Option<Finding> {
    let images: Vec<String> =
        ptx::IMAGES.iter().map(|image| format!("{} (PTX {})", image.architecture, image.ptx_version())).collect();
    let compiler = ptx::IMAGES.first().map_or("nobody", |image| image.compiler);
    let found = format!("pagelock {}, kernels for {} ({compiler})", env!("CARGO_PKG_VERSION"), images.join(", "));
    Some(Finding::good("program", found))
}

fn system() -> Option<Finding> {
    let kernel = System::kernel_version().unwrap_or_else(|_| "unknown".into());
    let name = System::long_os_version().unwrap_or_else(|_| "an unknown system".into());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Some(Finding::good("system", format!("{name}, kernel {kernel}, {cores} cores")))
}

fn memory() -> Option<Finding> {
    let Some(memory) = AvailableMemory::now() else {
        return Some(Finding::note(
            "memory",
            "the system does not tell",
            "sizes are not checked before they are tried",
        ));
    };
    let machine = format!("{} available", ByteSize(memory.machine));
    Some(match memory.control_group {
        Some(group) if group < memory.machine => Finding::note(
            "memory",
            format!("{machine}, {} to this control group", ByteSize(group)),
            "a container or a service limit is in force; what is larger fails here, though the machine has it",
        ),
        _ => Finding::good("memory", machine),
    })
}

fn pinned(budget: &PinnedBudget) -> Option<Finding> {
    let found = format!("{} may be page-locked: {}", amount::like(budget.limit(), budget.limit()), budget.origin());
    Some(if budget.limit() < 64 << 20 {
        Finding::note("pinned", found, "that is little; --pinned-limit names another limit")
    } else {
        Finding::good("pinned", found)
    })
}

/// `ulimit -l`. The driver does not honour it, which surprises people in both directions.
fn locked_limit() -> Option<Finding> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find(|line| line.starts_with("Max locked memory"))?;
    let soft = line.split_whitespace().nth(3)?.to_owned();
    let found = soft.parse().map_or(soft, |bytes| ByteSize(bytes).to_string());
    Some(Finding::good("ulimit -l", format!("{found}; NVIDIA's driver does not ask for it, the budget above does")))
}

fn simt() -> Option<Finding> {
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(16);
    let blocks = if workers == 1 { "one block at a time".into() } else { format!("{workers} blocks at once") };
    let found = format!("runs kernels on the CPU, {blocks}");
    let mappings: Option<u64> =
        fs::read_to_string("/proc/sys/vm/max_map_count").ok().and_then(|count| count.trim().parse().ok());
    Some(match mappings {
        Some(count) if count < SIMT_MAPPINGS => Finding::note(
            "simt",
            found,
            format!(
                "vm.max_map_count is {count}; blocks of 1024 threads with barriers may need {SIMT_MAPPINGS} mappings"
            ),
        ),
        _ => Finding::good("simt", found),
    })
}
