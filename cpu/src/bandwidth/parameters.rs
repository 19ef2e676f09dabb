//! What the advisor needs to know of this machine: medians, without samples, in the user's cache folder.

use std::io::{self, Write};
use std::path::PathBuf;

use directories::ProjectDirs;
use serde::{Deserialize, Serialize};

use super::document::Document;
use super::figure::Figure;
use super::measurement::Step;
use super::memory::{HOST_KINDS, KERNEL_KINDS, MAPPED};
use crate::device::DeviceKind;
use crate::memory::StagingShape;
use crate::output;

/// The version of the file's layout. Rises when a field changes its meaning or goes away.
///
/// 2: costs may lack a way back and an allocation, so that staged and write-combined memory have rows; products.
pub const VERSION: u32 = 2;

/// A machine, as far as a prediction needs it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameters {
    /// [`VERSION`].
    pub version: u32,
    /// `pagelock` and its own version.
    pub program: String,
    /// The device.
    pub device: String,
    /// Bytes of device memory, where it is not host memory.
    pub device_memory_bytes: Option<u64>,
    /// What the link could carry one way, in theory.
    pub link_limit_gb_per_s: Option<f64>,
    /// Page-locked bytes that staging by several threads takes.
    pub staging_bytes: u64,
    /// Copies and allocations at each size of each kind.
    pub costs: Vec<Cost>,
    /// Kernels on memory of a kind.
    pub kernels: Vec<KernelSpeed>,
    /// The CPU on memory of a kind.
    pub cpu: Vec<CpuSpeed>,
    /// Matrix products: the kernel alone.
    pub products: Vec<ProductCost>,
    /// A launch that reads next to nothing over the link, from the call to the end of the wait.
    pub launch_and_wait_ms: Option<f64>,
    /// The same with a copy of as little before it.
    pub copy_launch_and_wait_ms: Option<f64>,
}

/// What one size of one kind of host memory costs. Absent is what was not measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// The kind.
    pub memory: String,
    /// The size.
    pub size_bytes: u64,
    /// Copying it to the device.
    pub h2d_ms: Option<f64>,
    /// Copying it to the host.
    pub d2h_ms: Option<f64>,
    /// Allocating it.
    pub allocate_ms: Option<f64>,
    /// Freeing it.
    pub free_ms: Option<f64>,
}

/// What the kernel of a square matrix product takes on memory of a kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProductCost {
    /// The kernel's name.
    pub kernel: String,
    /// `device` or `mapped`.
    pub memory: String,
    /// M, N and K.
    pub extent: u32,
    /// Its time.
    pub kernel_ms: f64,
}

/// How kernels get on with memory of a kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelSpeed {
    /// The kind.
    pub memory: String,
    /// Reading in order.
    pub read_gb_per_s: f64,
    /// Writing in order.
    pub write_gb_per_s: f64,
    /// Reading and writing at once, both counted.
    pub copy_gb_per_s: f64,
    /// Reading in disorder, 4 bytes at a time.
    pub random_gb_per_s: f64,
    /// One dependent read.
    pub latency_ns: Option<f64>,
}

/// How one thread of the CPU gets on with memory of a kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CpuSpeed {
    /// The kind.
    pub memory: String,
    /// Reading.
    pub read_gb_per_s: f64,
    /// Writing.
    pub write_gb_per_s: f64,
}

impl Parameters {
    /// Takes the medians out of a document.
    pub fn of(document: &Document) -> Self {
        let figures: Vec<Figure> = document.measurements.iter().map(Figure::from).collect();
        let device_memory_bytes = match document.device.kind {
            DeviceKind::Cuda { memory_bytes, .. } => Some(memory_bytes),
            DeviceKind::Simt { .. } => None,
        };
        let limit = document.findings.link_limit_gb_per_s;
        Self::from_figures(&document.program, &document.device.name, device_memory_bytes, limit, &figures)
    }

    /// Takes the medians out of figures, of this run or of another's report.
    pub fn from_figures(
        program: &str,
        device: &str,
        device_memory_bytes: Option<u64>,
        link_limit_gb_per_s: Option<f64>,
        all: &[Figure],
    ) -> Self {
        let small = |step| select(all, step, MAPPED).next().map(|one| one.time_ms.median);
        Self {
            version: VERSION,
            program: program.into(),
            device: device.into(),
            device_memory_bytes,
            link_limit_gb_per_s,
            staging_bytes: StagingShape::default().pinned_bytes(),
            costs: HOST_KINDS.iter().flat_map(|kind| costs(all, kind.name)).collect(),
            kernels: KERNEL_KINDS.iter().filter_map(|kind| kernel_speed(all, kind.name)).collect(),
            cpu: HOST_KINDS.iter().filter_map(|kind| cpu_speed(all, kind.name)).collect(),
            products: all.iter().filter_map(product_cost).collect(),
            launch_and_wait_ms: small(Step::SmallInPlace),
            copy_launch_and_wait_ms: small(Step::SmallCopied),
        }
    }

    /// The parameters of the device of this name, if they were measured and can be read.
    pub fn load(device: &str) -> Kept {
        let Some(path) = path(device) else { return Kept::Nothing };
        let Ok(text) = std::fs::read(&path) else { return Kept::Nothing };
        match serde_json::from_slice::<Version>(&text) {
            Ok(Version { version: VERSION }) => {}
            Ok(Version { version }) => return Kept::OtherVersion { path, version },
            Err(_) => return Kept::Damaged { path },
        }
        match serde_json::from_slice(&text) {
            Ok(parameters) => Kept::Good { path, parameters: Box::new(parameters) },
            Err(_) => Kept::Damaged { path },
        }
    }

    /// Writes them to the user's cache folder; returns where.
    ///
    /// # Errors
    /// There is no such folder or it cannot be written.
    pub fn save(&self) -> io::Result<PathBuf> {
        let path = path(&self.device).ok_or_else(|| io::Error::other("the user has no home folder; set HOME"))?;
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let write = |file: &mut io::BufWriter<&std::fs::File>| {
            serde_json::to_writer_pretty(&mut *file, self)?;
            writeln!(file)
        };
        output::write(&path, write).map_err(|error| io::Error::other(error.to_string()))?;
        Ok(path)
    }
}

/// What a file says first.
#[derive(Deserialize)]
struct Version {
    version: u32,
}

/// What is kept of a device.
#[derive(Clone, Debug)]
pub enum Kept {
    /// Nothing: it was not measured, or nothing can be kept here.
    Nothing,
    /// Parameters.
    Good {
        /// The file.
        path: PathBuf,
        /// Its content.
        parameters: Box<Parameters>,
    },
    /// What another version of this program wrote.
    OtherVersion {
        /// The file.
        path: PathBuf,
        /// Of its layout.
        version: u32,
    },
    /// Something else.
    Damaged {
        /// The file.
        path: PathBuf,
    },
}

/// Where the parameters of the device of this name are kept.
pub fn path(device: &str) -> Option<PathBuf> {
    let folders = ProjectDirs::from("", "", "pagelock")?;
    Some(folders.cache_dir().join(format!("bandwidth-{}.json", file_name(device))))
}

/// Letters and digits, the rest one dash each time: names of devices have spaces, and who knows what else.
fn file_name(device: &str) -> String {
    let words = device.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let name = words.collect::<Vec<_>>().join("-").to_ascii_lowercase();
    if name.is_empty() { "unnamed".into() } else { name }
}

fn select<'f>(all: &'f [Figure], step: Step, memory: &'f str) -> impl Iterator<Item = &'f Figure> {
    all.iter().filter(move |one| one.step == step && one.memory == memory)
}

fn costs(all: &[Figure], kind: &'static str) -> impl Iterator<Item = Cost> {
    select(all, Step::H2d, kind).map(move |one| {
        let at = |step| {
            let same = select(all, step, kind).find(|other| other.size_bytes == one.size_bytes);
            same.map(|other| other.time_ms.median)
        };
        Cost {
            memory: kind.into(),
            size_bytes: one.size_bytes,
            h2d_ms: Some(one.time_ms.median),
            d2h_ms: at(Step::D2h),
            allocate_ms: at(Step::Allocate),
            free_ms: at(Step::Free),
        }
    })
}

fn product_cost(one: &Figure) -> Option<ProductCost> {
    (one.step == Step::Product).then_some(())?;
    let (kernel, extent) = (one.kernel.clone()?, one.extent?);
    Some(ProductCost { kernel, memory: one.memory.clone(), extent, kernel_ms: one.time_ms.median })
}

fn kernel_speed(all: &[Figure], kind: &str) -> Option<KernelSpeed> {
    let rate = |step| select(all, step, kind).next().map(|one| one.gb_per_s);
    Some(KernelSpeed {
        memory: kind.into(),
        read_gb_per_s: rate(Step::Read)?,
        write_gb_per_s: rate(Step::Write)?,
        copy_gb_per_s: rate(Step::Copy)?,
        random_gb_per_s: rate(Step::Random)?,
        latency_ns: select(all, Step::Latency, kind).find_map(Figure::latency_ns),
    })
}

fn cpu_speed(all: &[Figure], kind: &str) -> Option<CpuSpeed> {
    let rate = |step| select(all, step, kind).next().map(|one| one.gb_per_s);
    Some(CpuSpeed { memory: kind.into(), read_gb_per_s: rate(Step::CpuRead)?, write_gb_per_s: rate(Step::CpuWrite)? })
}

#[cfg(test)]
mod tests {
    use super::file_name;

    #[test]
    fn device_names_become_file_names() {
        assert_eq!(file_name("NVIDIA H200"), "nvidia-h200");
        assert_eq!(file_name("Quadro/RTX (../x)"), "quadro-rtx-x");
        assert_eq!(file_name("…"), "unnamed");
    }
}
