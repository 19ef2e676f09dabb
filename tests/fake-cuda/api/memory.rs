//! Allocating, pinning, mapping.

use super::api;
use crate::memory::{Kind, Place};
use crate::queue::Work;
use crate::state::State;
use crate::{error, put};

/// A range of managed memory that a call names together with a device: −1 is the CPU, and each must be able to use managed
/// memory while the other does.
fn managed_range(s: &mut State, call: &str, address: u64, bytes: usize, device: i32) -> Result<Place, i32> {
    let place = s.device_place(call, address, bytes)?;
    if bytes == 0 || s.by_device(address).is_none_or(|a| a.kind != Kind::Managed) {
        s.violation(&format!("{call} of {bytes} bytes at {}, which is no managed memory", s.device_name(address)));
        return Err(error::INVALID_VALUE);
    }
    match (-1..s.config.devices).contains(&device) && s.config.sequential_managed.is_none_or(|other| other != device) {
        true => Ok(place),
        false => Err(error::INVALID_DEVICE),
    }
}

api! {
    Context fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) [s] {
        put(free, s.config.memory - s.used(s.current_device()))?;
        put(total, s.config.memory)
    }
    Context fn cuMemAlloc_v2(out: *mut u64, bytes: usize) [s, "bytes={bytes}"] {
        if bytes == 0 || out.is_null() {
            return Err(error::INVALID_VALUE);
        }
        let address = s.allocate(Kind::Device, bytes, 0)?.device;
        put(out, address.expect("device memory has one"))
    }
    Context fn cuMemFree_v2(address: u64) [s, "{}", s.device_name(address)] {
        if address == 0 { Ok(()) } else { s.release("cuMemFree_v2", address, &[Kind::Device, Kind::Managed]) }
    }
    Context fn cuMemAllocAsync(out: *mut u64, bytes: usize, stream: usize) [s, "bytes={bytes} {}", s.stream_name(stream)] {
        s.stream("cuMemAllocAsync", stream)?;
        if bytes == 0 || out.is_null() {
            return Err(error::INVALID_VALUE);
        }
        let address = s.allocate(Kind::Device, bytes, 0)?.device;
        put(out, address.expect("device memory has one"))
    }
    // In stream order: the fake executes what was queued, then frees.
    Context fn cuMemFreeAsync(address: u64, stream: usize) [s, "{} {}", s.device_name(address), s.stream_name(stream)] {
        let stream = s.stream("cuMemFreeAsync", stream)?;
        s.run(stream, u64::MAX);
        s.release("cuMemFreeAsync", address, &[Kind::Device])
    }
    Context fn cuMemAllocManaged(out: *mut u64, bytes: usize, flags: u32) [s, "bytes={bytes} flags={flags}"] {
        if bytes == 0 || out.is_null() || !(1..=2).contains(&flags) {
            return Err(error::INVALID_VALUE);
        }
        if !s.config.managed {
            return Err(error::NOT_SUPPORTED);
        }
        let address = s.allocate(Kind::Managed, bytes, flags)?.device;
        put(out, address.expect("managed memory has one"))
    }
    Context fn cuMemAdvise(address: u64, bytes: usize, advice: i32, device: i32)
        [s, "{} bytes={bytes} {advice} device={device}", s.device_name(address)]
    {
        if !(1..=6).contains(&advice) {
            return Err(error::INVALID_VALUE);
        }
        managed_range(s, "cuMemAdvise", address, bytes, device).map(drop)
    }
    Context fn cuMemPrefetchAsync(address: u64, bytes: usize, device: i32, stream: usize)
        [s, "{} bytes={bytes} device={device} {}", s.device_name(address), s.stream_name(stream)]
    {
        let stream = s.stream("cuMemPrefetchAsync", stream)?;
        let place = managed_range(s, "cuMemPrefetchAsync", address, bytes, device)?;
        let label = format!("prefetch {} {bytes} to {device}", s.device_name(address));
        s.enqueue(stream, place.name.into_iter().collect(), label, Work::Nothing);
        Ok(())
    }
    Context fn cuMemHostAlloc(out: *mut usize, bytes: usize, flags: u32) [s, "bytes={bytes} flags={flags}"] {
        if out.is_null() || flags > 7 {
            return Err(error::INVALID_VALUE);
        }
        // A size of 0 is no error: it gives no memory.
        let host = if bytes == 0 { 0 } else { s.allocate(Kind::Pinned, bytes, flags)?.host };
        put(out, host)
    }
    Context fn cuMemAllocHost_v2(out: *mut usize, bytes: usize) [s, "bytes={bytes}"] {
        if out.is_null() {
            return Err(error::INVALID_VALUE);
        }
        let host = if bytes == 0 { 0 } else { s.allocate(Kind::Pinned, bytes, 0)?.host };
        put(out, host)
    }
    Context fn cuMemFreeHost(address: usize) [s, "{}", s.host_name(address)] {
        if address == 0 { Ok(()) } else { s.release("cuMemFreeHost", address as u64, &[Kind::Pinned]) }
    }
    Context fn cuMemHostRegister_v2(address: usize, bytes: usize, flags: u32) [s, "bytes={bytes} flags={flags}"] {
        if address == 0 || bytes == 0 || flags & !0xF != 0 {
            return Err(error::INVALID_VALUE);
        }
        let overlaps = |kind: Kind| {
            s.allocations.iter().any(|a| a.kind == kind && a.host < address + bytes && address < a.host + a.bytes)
        };
        if overlaps(Kind::Registered) {
            return Err(error::HOST_MEMORY_ALREADY_REGISTERED);
        }
        if overlaps(Kind::Pinned) || overlaps(Kind::Managed) {
            return Err(error::INVALID_VALUE);
        }
        if s.pinned() + bytes > s.config.pinned {
            return Err(error::OUT_OF_MEMORY);
        }
        s.adopt(Kind::Registered, address, bytes, flags).map(drop)
    }
    Context fn cuMemHostUnregister(address: usize) [s, "{}", s.host_name(address)] {
        s.release("cuMemHostUnregister", address as u64, &[Kind::Registered])
    }
    Context fn cuMemHostGetDevicePointer_v2(out: *mut u64, address: usize, flags: u32) [s, "{}", s.host_name(address)] {
        let place = s.by_host(address).and_then(|a| a.device.map(|device| device + (address - a.host) as u64));
        match place {
            Some(device) if flags == 0 && s.config.map_host => put(out, device),
            _ => {
                s.violation("cuMemHostGetDevicePointer_v2 of memory that is not mapped");
                Err(error::INVALID_VALUE)
            }
        }
    }
    Context fn cuMemHostGetFlags(out: *mut u32, address: usize) [s, "{}", s.host_name(address)] {
        let flags = s.by_host(address).filter(|a| a.kind != Kind::Managed).map(|a| a.flags);
        put(out, flags.ok_or(error::INVALID_VALUE)?)
    }
}
