//! What the advisor needs to know of this machine: medians, without samples, in the user's cache folder.

use std::io::{self, Write};
use std::path::PathBuf;

use directories::ProjectDirs;
use serde::{Deserialize, Serialize};

use super::document::Document;
use super::measurement::{Measurement, Step, select};
use super::memory::{HOST_KINDS, KERNEL_KINDS, MAPPED};
use crate::output;

/// The version of the file's layout. Rises when a field changes its meaning or goes away.
pub const VERSION: u32 = 1;

/// A machine, as far as a prediction needs it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameters {
    /// [`VERSION`].
    pub version: u32,
    /// `pagelock` and its own version.
    pub program: String,
    /// The device.
    pub device: String,
    /// What the link could carry one way, in theory.
    pub link_limit_gb_per_s: Option<f64>,
    /// Copies and allocations, at each size of each kind of which both ways and the allocation were measured.
    pub costs: Vec<Cost>,
    /// Kernels on memory of a kind.
    pub kernels: Vec<KernelSpeed>,
    /// The CPU on memory of a kind.
    pub cpu: Vec<CpuSpeed>,
    /// A launch that reads next to nothing over the link, from the call to the end of the wait.
    pub launch_and_wait_ms: Option<f64>,
}

/// What one size of one kind of host memory costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// The kind.
    pub memory: String,
    /// The size.
    pub size_bytes: u64,
    /// Copying it to the device.
    pub h2d_ms: f64,
    /// Copying it to the host.
    pub d2h_ms: f64,
    /// Allocating it.
    pub allocate_ms: f64,
    /// Freeing it.
    pub free_ms: f64,
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
    /// Reading in disorder, 4 bytes at a time.
    pub random_gb_per_s: f64,
    /// One dependent read.
    pub latency_ns: f64,
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
        let all = &document.measurements[..];
        Self {
            version: VERSION,
            program: document.program.clone(),
            device: document.device.name.clone(),
            link_limit_gb_per_s: document.findings.link_limit_gb_per_s,
            costs: HOST_KINDS.iter().flat_map(|kind| costs(all, kind.name)).collect(),
            kernels: KERNEL_KINDS.iter().filter_map(|kind| kernel_speed(all, kind.name)).collect(),
            cpu: HOST_KINDS.iter().filter_map(|kind| cpu_speed(all, kind.name)).collect(),
            launch_and_wait_ms: select(all, Step::SmallInPlace, MAPPED).next().map(|one| one.time_ms.median),
        }
    }

    /// The parameters of the device of this name, if they were measured and can be read.
    pub fn load(device: &str) -> Option<Self> {
        let text = std::fs::read(path(device)?).ok()?;
        serde_json::from_slice(&text).ok().filter(|found: &Self| found.version == VERSION)
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

fn costs(all: &[Measurement], kind: &'static str) -> impl Iterator<Item = Cost> {
    select(all, Step::H2d, kind).filter_map(move |one| {
        let at = |step| {
            let same = select(all, step, kind).find(|other| other.size_bytes == one.size_bytes);
            same.map(|other| other.time_ms.median)
        };
        Some(Cost {
            memory: kind.into(),
            size_bytes: one.size_bytes,
            h2d_ms: one.time_ms.median,
            d2h_ms: at(Step::D2h)?,
            allocate_ms: at(Step::Allocate)?,
            free_ms: at(Step::Free)?,
        })
    })
}

fn kernel_speed(all: &[Measurement], kind: &str) -> Option<KernelSpeed> {
    let rate = |step| select(all, step, kind).next().map(|one| one.gb_per_s);
    Some(KernelSpeed {
        memory: kind.into(),
        read_gb_per_s: rate(Step::Read)?,
        write_gb_per_s: rate(Step::Write)?,
        random_gb_per_s: rate(Step::Random)?,
        latency_ns: select(all, Step::Latency, kind).find_map(Measurement::latency_ns)?,
    })
}

fn cpu_speed(all: &[Measurement], kind: &str) -> Option<CpuSpeed> {
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
