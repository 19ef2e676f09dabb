//! Generation and width of the PCI Express link, which NVML knows and the driver API does not.

use nvml_wrapper::{Device, Nvml};

use super::info::Link;

/// The link of the GPU at a PCI address, or nothing where NVML is absent or does not tell (some virtual machines).
pub fn of_gpu_at(pci_bus_id: &str) -> Option<Link> {
    // The default name has no version and exists only where development files are installed.
    let nvml = Nvml::builder().lib_path("libnvidia-ml.so.1".as_ref()).init().ok()?;
    let device = nvml.device_by_pci_bus_id(pci_bus_id).ok()?;
    read(&device)
}

fn read(device: &Device<'_>) -> Option<Link> {
    Some(Link {
        generation: device.current_pcie_link_gen().ok()?,
        max_generation: device.max_pcie_link_gen().ok()?,
        width: device.current_pcie_link_width().ok()?,
        max_width: device.max_pcie_link_width().ok()?,
    })
}
