//! The driver: where it is, how new it is, what it lacks, how many GPUs it sees.

use cust::device::Device;
use cust::sys::CUresult;

use super::{Finding, Section};
use crate::driver;

/// What was found, and how many GPUs there are to look at.
pub(super) fn examine() -> (Section, u32) {
    let mut findings = Vec::new();
    let devices = look(&mut findings);
    (Section { title: "driver".into(), findings }, devices)
}

fn look(findings: &mut Vec<Finding>) -> u32 {
    let library = match driver::library() {
        Ok(library) => library,
        Err(why) if why.is_from_variable() => {
            let advice = format!(
                "unset {}, or let it name NVIDIA's libcuda.so.1; until then everything runs on the CPU",
                driver::LIBRARY_VARIABLE
            );
            findings.push(Finding::bad("library", why.to_string(), advice));
            return 0;
        }
        Err(why) => {
            let advice = "without a driver everything runs on the CPU, at small sizes; that is no fault";
            findings.push(Finding::note("library", why.to_string(), advice));
            return 0;
        }
    };
    findings.push(Finding::good("library", library.path().display().to_string()));
    match driver::init() {
        Ok(version) => findings.push(version_finding(version)),
        Err(driver::Error::Call(why)) if why.code() == CUresult::CUDA_ERROR_NO_DEVICE => {
            findings.push(no_gpu());
            return 0;
        }
        Err(why) => {
            let advice = "nvidia-smi says whether the kernel's part of the driver answers; in a container, whether it was \
                          started with the GPU";
            findings.push(Finding::bad("start", why.to_string(), advice));
            return 0;
        }
    }
    let missing = library.missing();
    if !missing.is_empty() {
        let names: Vec<_> = missing.iter().map(|name| name.to_string_lossy()).collect();
        let advice = "this driver is older than those functions; what needs one of them says so when it is used";
        findings.push(Finding::note("functions", format!("{} are missing: {}", names.len(), names.join(", ")), advice));
    }
    match Device::num_devices() {
        Ok(0) => {
            findings.push(no_gpu());
            0
        }
        Ok(devices) => {
            findings.push(Finding::good("GPUs", devices.to_string()));
            devices
        }
        Err(why) => {
            findings.push(Finding::bad(
                "GPUs",
                why.to_string(),
                "the driver started and cannot count its devices; restart it",
            ));
            0
        }
    }
}

fn no_gpu() -> Finding {
    Finding::note("GPUs", "none", "everything runs on the CPU; a virtual machine or a container must be given a GPU")
}

/// A driver for an older CUDA takes no newer PTX.
fn version_finding(version: driver::Version) -> Finding {
    let found = match nvml_wrapper::Nvml::builder().lib_path("libnvidia-ml.so.1".as_ref()).init() {
        Ok(nvml) => {
            let name = nvml.sys_driver_version().unwrap_or_else(|_| "unknown".into());
            format!("for CUDA {version}, release {name}")
        }
        Err(_) => format!("for CUDA {version}"),
    };
    Finding::good("version", found)
}
