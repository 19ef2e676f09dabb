//! Which NUMA node a GPU and this process are on, as Linux tells it. Elsewhere nothing is known, which is said.

use std::fs;

use cust::device::Device;

/// The node of a GPU; nothing on a machine with one node, which reports -1.
pub(super) fn node_of_gpu(device: &Device) -> Option<u32> {
    let address = crate::device::pci_bus_id(device)?.to_lowercase();
    // The driver writes domains with four digits, sysfs with at least four.
    let text = fs::read_to_string(format!("/sys/bus/pci/devices/{address}/numa_node")).ok()?;
    text.trim().parse().ok()
}

/// The nodes whose CPUs this process may run on.
pub(super) fn nodes_of_process() -> Vec<u32> {
    let Some(allowed) = status_list("Cpus_allowed_list:") else { return Vec::new() };
    let Ok(online) = fs::read_to_string("/sys/devices/system/node/online") else { return Vec::new() };
    let cpus_of = |node: u32| {
        let list = fs::read_to_string(format!("/sys/devices/system/node/node{node}/cpulist")).unwrap_or_default();
        parse_list(list.trim())
    };
    parse_list(online.trim())
        .into_iter()
        .filter(|&node| cpus_of(node).iter().any(|cpu| allowed.contains(cpu)))
        .collect()
}

fn status_list(field: &str) -> Option<Vec<u32>> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    Some(parse_list(line.trim()))
}

/// `0-3,8,10-11`, as the kernel writes sets.
fn parse_list(text: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        Some(from.trim().parse().ok()?..=to.trim().parse().ok()?)
    };
    text.split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_read_as_the_kernel_writes_them() {
        assert_eq!(parse_list("0-3,8,10-11"), [0, 1, 2, 3, 8, 10, 11]);
        assert_eq!(parse_list("5"), [5]);
        assert!(parse_list("").is_empty());
        assert!(parse_list("x-y").is_empty());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_runs_somewhere() {
        if fs::exists("/sys/devices/system/node/online").unwrap_or(false) {
            assert!(!nodes_of_process().is_empty());
        }
    }
}
