//! Allocations, and what an address belongs to.

use std::ffi::{c_int, c_void};

use crate::error;
use crate::state::State;

/// What is added to the host address of device memory, and of pinned memory, to make its device address. No x86-64 or
/// AArch64 process can dereference the sums.
const DEVICE_OFFSET: u64 = 1 << 52;
const MAPPED_OFFSET: u64 = 1 << 53;

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Kind {
    Device,
    Pinned,
    Registered,
    Managed,
}

impl Kind {
    /// How names of this kind begin, and what `fake_cuda_live` calls it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Device => "dev",
            Self::Pinned => "pinned",
            Self::Registered => "registered",
            Self::Managed => "managed",
        }
    }
}

pub struct Allocation {
    pub kind: Kind,
    pub name: String,
    /// Where the bytes are.
    pub host: usize,
    pub bytes: usize,
    /// What the device calls it. `None` if the host memory is not mapped.
    pub device: Option<u64>,
    pub flags: u32,
    pub owner: i32,
}

impl Allocation {
    /// The address that its user knows it by.
    fn handle(&self) -> u64 {
        if self.kind == Kind::Device { self.device.unwrap_or(0) } else { self.host as u64 }
    }
}

unsafe extern "C" {
    fn mmap(at: *mut c_void, length: usize, protection: c_int, flags: c_int, file: c_int, offset: i64) -> *mut c_void;
    fn munmap(at: *mut c_void, length: usize) -> c_int;
}

/// A range of bytes of an allocation: where it is, and whose.
pub struct Place {
    pub host: usize,
    /// `None` for pageable memory.
    pub name: Option<String>,
}

impl State {
    pub fn used(&self, device: i32) -> usize {
        let here = |a: &&Allocation| a.owner == device && matches!(a.kind, Kind::Device | Kind::Managed);
        self.allocations.iter().filter(here).map(|a| a.bytes).sum()
    }

    pub fn pinned(&self) -> usize {
        let locked = |a: &&Allocation| matches!(a.kind, Kind::Pinned | Kind::Registered);
        self.allocations.iter().filter(locked).map(|a| a.bytes).sum()
    }

    /// Makes memory of a kind. `bytes` is not 0. The bytes are 0xA5 each: whoever relies on zeros will see.
    pub fn allocate(&mut self, kind: Kind, bytes: usize, flags: u32) -> Result<&Allocation, i32> {
        let owner = self.current_device();
        let (used, limit) = match kind {
            Kind::Device | Kind::Managed => (self.used(owner), self.config.memory),
            Kind::Pinned | Kind::Registered => (self.pinned(), self.config.pinned),
        };
        if used.checked_add(bytes).is_none_or(|sum| sum > limit) {
            return Err(error::OUT_OF_MEMORY);
        }
        // Read and write, private and anonymous. From the system and not from an allocator, which keeps what is freed.
        // SAFETY: asks for new pages; the length is not 0.
        let host = unsafe { mmap(std::ptr::null_mut(), bytes, 3, 0x22, -1, 0) }.cast::<u8>();
        if host as isize == -1 {
            return Err(error::OUT_OF_MEMORY);
        }
        // SAFETY: just allocated with this many bytes.
        unsafe { host.write_bytes(0xA5, bytes) };
        self.adopt(kind, host as usize, bytes, flags)
    }

    /// Enters memory that exists.
    pub fn adopt(&mut self, kind: Kind, host: usize, bytes: usize, flags: u32) -> Result<&Allocation, i32> {
        // CU_MEMHOSTALLOC_DEVICEMAP and CU_MEMHOSTREGISTER_DEVICEMAP are both 2. Under unified addressing a real driver
        // maps all pinned memory; a program that asks for the flag runs everywhere.
        let device = match kind {
            Kind::Device => Some(host as u64 + DEVICE_OFFSET),
            Kind::Managed => Some(host as u64),
            Kind::Pinned | Kind::Registered => (flags & 2 != 0).then_some(host as u64 + MAPPED_OFFSET),
        };
        let (name, _) = self.name(kind.word());
        let owner = self.current_device();
        self.log(&format!("  = {name} bytes={bytes}"));
        let allocation = Allocation { kind, name, host, bytes, device, flags, owner };
        self.freed.retain(|(address, _)| *address != allocation.handle());
        self.allocations.push(allocation);
        Ok(self.allocations.last().expect("just pushed"))
    }

    /// Ends an allocation that a call for these kinds was given the address of.
    pub fn release(&mut self, call: &str, address: u64, kinds: &[Kind]) -> Result<(), i32> {
        let unknown =
            if kinds.contains(&Kind::Registered) { error::HOST_MEMORY_NOT_REGISTERED } else { error::INVALID_VALUE };
        let Some(index) = self.allocations.iter().position(|a| a.handle() == address || a.device == Some(address))
        else {
            match self.freed.iter().find(|(freed, _)| *freed == address).map(|(_, name)| name.clone()) {
                Some(name) => self.violation(&format!("{call} of {name}, which was freed before")),
                None => self.violation(&format!("{call} of an address that is no allocation")),
            }
            return Err(unknown);
        };
        let allocation = &self.allocations[index];
        let name = allocation.name.clone();
        if !kinds.contains(&allocation.kind) {
            self.violation(&format!("{call} of {name}: the wrong function for this memory"));
            return Err(error::INVALID_VALUE);
        }
        if allocation.handle() != address {
            self.violation(&format!("{call} of the device address of {name}"));
            return Err(error::INVALID_VALUE);
        }
        let in_use = self.pending(|op| op.touches.contains(&name));
        if let Some(label) = &in_use {
            self.violation(&format!("{call} of {name} while work that uses it is pending: {label}"));
        }
        let allocation = self.allocations.remove(index);
        self.freed.push((address, name.clone()));
        if in_use.is_some() {
            // Pending work will touch it: our own memory stays for ever, the user's memory must not be touched.
            if allocation.kind == Kind::Registered {
                self.cancel(&name);
            }
        } else if allocation.kind != Kind::Registered {
            // SAFETY: `allocate` mapped it with this length, it has left the table, and no queue refers to it.
            unsafe { munmap(allocation.host as *mut c_void, allocation.bytes) };
        }
        Ok(())
    }

    pub fn by_host(&self, address: usize) -> Option<&Allocation> {
        let holds = |a: &&Allocation| a.kind != Kind::Device && (a.host..a.host + a.bytes).contains(&address);
        self.allocations.iter().find(holds)
    }

    pub fn by_device(&self, address: u64) -> Option<&Allocation> {
        let holds = |a: &&Allocation| a.device.is_some_and(|d| (d..d + a.bytes as u64).contains(&address));
        self.allocations.iter().find(holds)
    }

    /// A host address in words.
    pub fn host_name(&self, address: usize) -> String {
        self.by_host(address).map_or_else(|| "pageable".into(), |a| format!("{}+{}", a.name, address - a.host))
    }

    /// A device address in words.
    pub fn device_name(&self, address: u64) -> String {
        match self.by_device(address) {
            Some(a) => format!("{}+{}", a.name, address - a.device.expect("found by it")),
            None => "nowhere".into(),
        }
    }

    /// `bytes` of device-accessible memory at a device address.
    pub fn device_place(&mut self, call: &str, address: u64, bytes: usize) -> Result<Place, i32> {
        let Some(a) = self.by_device(address) else {
            let what = match self.by_host(address as usize) {
                Some(a) => format!("the host address of {}, where a device address belongs", a.name),
                None => "an address that is not device memory".into(),
            };
            self.violation(&format!("{call} with {what}"));
            return Err(error::INVALID_VALUE);
        };
        let offset = (address - a.device.expect("found by it")) as usize;
        let (place, name, end) = (Place { host: a.host + offset, name: Some(a.name.clone()) }, a.name.clone(), a.bytes);
        if bytes > end - offset {
            self.violation(&format!("{call} of {bytes} bytes at {name}+{offset}, which ends at {end}"));
            return Err(error::INVALID_VALUE);
        }
        Ok(place)
    }

    /// `bytes` of host memory at a host address.
    pub fn host_place(&mut self, call: &str, address: usize, bytes: usize) -> Result<Place, i32> {
        if let Some(a) = self.by_device(address as u64).filter(|a| a.kind != Kind::Managed) {
            let name = a.name.clone();
            self.violation(&format!("{call} with the device address of {name}, where a host address belongs"));
            return Err(error::INVALID_VALUE);
        }
        let Some(a) = self.by_host(address) else { return Ok(Place { host: address, name: None }) };
        let (name, offset, end) = (a.name.clone(), address - a.host, a.bytes);
        if bytes > end - offset {
            self.violation(&format!("{call} of {bytes} bytes at {name}+{offset}, which ends at {end}"));
            return Err(error::INVALID_VALUE);
        }
        Ok(Place { host: address, name: Some(name) })
    }
}
