//! The driver and its devices.

use std::ffi::c_char;

use super::api;
use crate::state::State;
use crate::{error, put, text};

fn check(state: &State, device: i32) -> Result<(), i32> {
    if (0..state.config.devices).contains(&device) { Ok(()) } else { Err(error::INVALID_DEVICE) }
}

/// Copies text with its NUL, cut to `len`.
fn fill(out: *mut c_char, len: i32, text: &str) -> Result<(), i32> {
    if out.is_null() || len <= 0 {
        return Err(error::INVALID_VALUE);
    }
    let bytes = text.bytes().take(len as usize - 1).chain([0]);
    for (i, byte) in bytes.enumerate() {
        // SAFETY: i < len, which the caller says the buffer has.
        unsafe { out.add(i).write(byte as c_char) };
    }
    Ok(())
}

fn bus_id(device: i32) -> String {
    format!("0000:{:02X}:00.0", device + 1)
}

api! {
    Nothing fn cuInit(flags: u32) [s] {
        if flags != 0 {
            return Err(error::INVALID_VALUE);
        }
        if s.config.devices == 0 {
            return Err(error::NO_DEVICE);
        }
        s.initialized = true;
        Ok(())
    }
    Nothing fn cuDriverGetVersion(out: *mut i32) [s] { put(out, s.config.driver) }
    Init fn cuDeviceGetCount(out: *mut i32) [s] { put(out, s.config.devices) }
    Init fn cuDeviceGet(out: *mut i32, ordinal: i32) [s, "ordinal={ordinal}"] {
        check(s, ordinal)?;
        put(out, ordinal)
    }
    Init fn cuDeviceGetName(out: *mut c_char, len: i32, device: i32) [s, "device={device}"] {
        check(s, device)?;
        fill(out, len, "Fake H200")
    }
    Init fn cuDeviceGetPCIBusId(out: *mut c_char, len: i32, device: i32) [s, "device={device}"] {
        check(s, device)?;
        fill(out, len, &bus_id(device))
    }
    Init fn cuDeviceGetByPCIBusId(out: *mut i32, id: *const c_char) [s] {
        let id = text(id)?;
        let device = (0..s.config.devices).find(|&device| bus_id(device).eq_ignore_ascii_case(id));
        put(out, device.ok_or(error::INVALID_DEVICE)?)
    }
    Init fn cuDeviceGetUuid(out: *mut [u8; 16], device: i32) [s, "device={device}"] {
        check(s, device)?;
        put(out, [b'F', b'A', b'K', b'E', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, device as u8])
    }
    Init fn cuDeviceGetUuid_v2(out: *mut [u8; 16], device: i32) [s, "device={device}"] {
        check(s, device)?;
        put(out, [b'F', b'A', b'K', b'E', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, device as u8])
    }
    Init fn cuDeviceTotalMem_v2(out: *mut usize, device: i32) [s, "device={device}"] {
        check(s, device)?;
        put(out, s.config.memory)
    }
    Init fn cuDeviceCanAccessPeer(out: *mut i32, device: i32, peer: i32) [s, "device={device} peer={peer}"] {
        check(s, device)?;
        check(s, peer)?;
        put(out, 0)
    }
    Init fn cuDeviceGetAttribute(out: *mut i32, attribute: i32, device: i32) [s, "{attribute} device={device}"] {
        check(s, device)?;
        let value = match attribute {
            1..=3 => 1024,                  // threads per block, block x, y
            4 => 64,                        // block z
            5 => i32::MAX,                  // grid x
            6 | 7 => 65535,                 // grid y, z
            8 => 48 << 10,                  // shared memory per block
            9 => 64 << 10,                  // constant memory
            10 => 32,                       // warp size
            11 => i32::MAX,                 // pitch
            12 | 82 => 65536,               // registers per block, per multiprocessor
            13 => 1_980_000,                // clock, kHz
            14 => 512,                      // texture alignment
            16 => 132,                      // multiprocessors
            17 | 18 | 20 => 0,              // watchdog, integrated, compute mode
            19 => i32::from(s.config.map_host), // CAN_MAP_HOST_MEMORY
            31 | 32 => 1,                   // concurrent kernels, ECC
            33 => device + 1,               // PCI bus
            34 | 35 | 50 => 0,              // PCI device, TCC, PCI domain
            36 => 3_201_000,                // memory clock, kHz
            37 => 6144,                     // memory bus, bits
            38 => 60 << 20,                 // L2, bytes
            39 => 2048,                     // threads per multiprocessor
            40 => 3,                        // copy engines
            41 => 1,                        // unified addressing
            75 => s.config.capability.0,
            76 => s.config.capability.1,
            78..=80 => 1,                   // stream priorities, L1 caching
            81 => 228 << 10,                // shared memory per multiprocessor
            83 => i32::from(s.config.managed), // MANAGED_MEMORY
            84..=86 => 0,                   // multi-GPU board and group, native host atomics
            87 => 2,                        // f32 : f64
            88 => 0,                        // pageable memory access
            // CONCURRENT_MANAGED_ACCESS
            89 => i32::from(s.config.managed && s.config.sequential_managed != Some(device)),
            90 => 1,                        // preemption
            91 => 0,                        // host pointer usable for registered memory
            95 => 1,                        // cooperative launch
            97 => 227 << 10,                // shared memory per block, opt-in
            113 => 1,                       // read-only memory can be registered
            _ => 0,
        };
        put(out, value)
    }
}
