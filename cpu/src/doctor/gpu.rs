//! One GPU: what it is, how it is connected, what it allows, whether the kernels load.

use cust::device::{Device as CudaDevice, DeviceAttribute};
use cust::error::CudaError;

use super::{Finding, Section, numa};
use crate::device::{Device, DeviceInfo, DeviceKind, Link, Selector};
use crate::memory::PinnedBudget;

pub(super) fn examine(ordinal: u32) -> Section {
    let mut findings = Vec::new();
    match CudaDevice::get_device(ordinal) {
        Ok(device) => look(device, ordinal, &mut findings),
        Err(why) => {
            findings.push(Finding::bad("device", why.to_string(), "the driver counts this GPU and does not open it"))
        }
    }
    Section { title: format!("cuda:{ordinal}"), findings }
}

fn look(device: CudaDevice, ordinal: u32, findings: &mut Vec<Finding>) {
    match Device::open(Selector::Cuda(ordinal), PinnedBudget::limited_to(0)) {
        Ok(opened) => {
            let info = opened.info();
            findings.push(identity(info));
            findings.push(memory(&opened));
            findings.push(kernels(info));
            findings.extend(info.notes.iter().map(|note| Finding::note("kernels", note.clone(), "update the driver")));
            findings.push(link(info.link));
        }
        Err(why) => {
            let name = device.name().unwrap_or_else(|_| "a GPU without a name".into());
            findings.push(Finding::bad(
                "device",
                format!("{name} cannot be used: {why}"),
                "see what the message says to do",
            ));
        }
    }
    findings.push(numa_nodes(&device));
    findings.extend(ABILITIES.iter().map(|ability| ability.of(&device)));
    findings.push(copy_engines(&device));
}

fn identity(info: &DeviceInfo) -> Finding {
    Finding::good("device", format!("{} ({})", info.name, info.kind))
}

fn memory(device: &Device) -> Finding {
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    match device.free_memory() {
        Ok(memory) => {
            let found = format!("{:.1} of {:.1} GiB free", gib(memory.free), gib(memory.total));
            if memory.free < memory.total / 10 {
                Finding::note("memory", found, "others use most of it: nvidia-smi names them")
            } else {
                Finding::good("memory", found)
            }
        }
        Err(why) => {
            Finding::bad("memory", why.to_string(), "the device opened and does not tell its memory; restart it")
        }
    }
}

fn kernels(info: &DeviceInfo) -> Finding {
    let image = ptx::IMAGES.iter().find(|image| image.architecture == info.kernels.architecture);
    let version = image.map_or_else(String::new, |image| format!(", PTX {}", image.ptx_version()));
    let driver = match &info.kind {
        DeviceKind::Cuda { driver, .. } => format!(", loaded by a driver for CUDA {driver}"),
        DeviceKind::Simt { .. } => String::new(),
    };
    Finding::good("kernels", format!("{} ({}){version}{driver}", info.kernels.architecture, info.kernels.compiler))
}

fn link(link: Option<Link>) -> Finding {
    let Some(link) = link else {
        return Finding::note("PCIe", "NVML does not tell", "the link's limit is then only what `bandwidth` measures");
    };
    let found = link.to_string();
    if link.width < link.max_width {
        let advice = "fewer lanes than the GPU has: look at the slot, at risers, and at what shares its lanes";
        Finding::note("PCIe", found, advice)
    } else if link.generation < link.max_generation {
        Finding::note("PCIe", found, "an idle GPU lowers the generation to save power; under load it should rise")
    } else {
        Finding::good("PCIe", found)
    }
}

/// Host memory on another node than the GPU's crosses the link between the sockets as well.
fn numa_nodes(device: &CudaDevice) -> Finding {
    let (gpu, process) = (numa::node_of_gpu(device), numa::nodes_of_process());
    let list = |nodes: &[u32]| nodes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    match (gpu, process) {
        (Some(gpu), process) if process.contains(&gpu) && process.len() > 1 => Finding::note(
            "NUMA",
            format!("the GPU is on node {gpu}, this process may run on nodes {}", list(&process)),
            format!("`numactl --cpunodebind={gpu} --membind={gpu}` keeps host memory beside the GPU"),
        ),
        (Some(gpu), process) if process.contains(&gpu) => {
            Finding::good("NUMA", format!("GPU and process on node {gpu}"))
        }
        (Some(gpu), process) if !process.is_empty() => Finding::note(
            "NUMA",
            format!("the GPU is on node {gpu}, this process on {}", list(&process)),
            format!("copies cross the sockets: run with `numactl --cpunodebind={gpu} --membind={gpu}`"),
        ),
        _ => Finding::good("NUMA", "one node, or the system does not tell"),
    }
}

/// An attribute that host memory depends on.
struct Ability {
    subject: &'static str,
    attribute: DeviceAttribute,
    /// What it means to have it, and what to do without.
    with: &'static str,
    without: &'static str,
}

const ABILITIES: [Ability; 5] = [
    Ability {
        subject: "map host memory",
        attribute: DeviceAttribute::CanMapHostMemory,
        with: "kernels can work on mapped memory (zero-copy)",
        without: "mode mapped is refused; copy instead",
    },
    Ability {
        subject: "managed memory",
        attribute: DeviceAttribute::ManagedMemory,
        with: "pages can migrate between host and device",
        without: "managed memory is refused; take mapped or pinned memory",
    },
    Ability {
        subject: "concurrent managed",
        attribute: DeviceAttribute::ConcurrentManagedAccess,
        with: "the CPU may touch managed memory while a kernel runs",
        without: "the CPU would crash if it touched any managed memory while a kernel runs, so it is refused; take mapped \
                  or pinned memory",
    },
    Ability {
        subject: "native atomics",
        attribute: DeviceAttribute::HostNativeAtomicSupported,
        with: "atomics on mapped memory are atomic against the CPU",
        without: "read-modify-write on mapped memory is not atomic against the CPU: keep counters on one side (usual over PCIe)",
    },
    Ability {
        subject: "pageable access",
        attribute: DeviceAttribute::PageableMemoryAccess,
        with: "kernels can read ordinary memory through its page tables",
        without: "kernels reach only memory that was pinned and mapped, or managed",
    },
];

impl Ability {
    fn of(&self, device: &CudaDevice) -> Finding {
        match device.get_attribute(self.attribute) {
            Ok(0) => Finding::note(self.subject, "no", self.without),
            Ok(_) => Finding::good(self.subject, format!("yes: {}", self.with)),
            Err(why) => unknown(self.subject, why),
        }
    }
}

fn copy_engines(device: &CudaDevice) -> Finding {
    match device.get_attribute(DeviceAttribute::AsyncEngineCount) {
        Ok(0) => Finding::note("copy engines", "none that works beside a kernel", "copies and kernels do not overlap"),
        Ok(1) => Finding::note("copy engines", "1", "copies overlap with kernels, but not with copies the other way"),
        Ok(engines) => Finding::good("copy engines", format!("{engines}: copies both ways and kernels overlap")),
        Err(why) => unknown("copy engines", why),
    }
}

fn unknown(subject: &str, why: CudaError) -> Finding {
    Finding::note(subject, format!("the driver does not tell: {why}"), "an older driver may not know the question")
}
