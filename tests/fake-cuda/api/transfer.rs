//! Copies and fills.

use super::api;
use crate::queue::{Rows, Work};
use crate::state::State;
use crate::{error, put};

/// One end of a copy: an address and bytes between the beginnings of rows.
#[derive(Clone, Copy)]
enum End {
    Host(usize, usize),
    Device(u64, usize),
}
use End::{Device, Host};

fn describe(state: &State, end: End) -> String {
    match end {
        Host(address, _) => state.host_name(address),
        Device(address, _) => state.device_name(address),
    }
}

fn line(state: &State, to: End, from: End, bytes: usize, stream: usize) -> String {
    format!("{} <- {} bytes={bytes} {}", describe(state, to), describe(state, from), state.stream_name(stream))
}

/// Queues a copy of `height` rows of `width` bytes, and waits for it if `wait`.
fn copy(
    s: &mut State,
    call: &str,
    to: End,
    from: End,
    (width, height): (usize, usize),
    stream: usize,
    wait: bool,
) -> Result<(), i32> {
    let stream = s.stream(call, stream)?;
    if width == 0 || height == 0 {
        return Ok(());
    }
    let mut place = |end: End| {
        let pitch = match end {
            Host(_, pitch) | Device(_, pitch) => pitch,
        };
        if height > 1 && pitch < width {
            return Err(error::INVALID_VALUE);
        }
        let span = pitch * (height - 1) + width;
        let place = match end {
            Host(address, _) => s.host_place(call, address, span)?,
            Device(address, _) => s.device_place(call, address, span)?,
        };
        Ok((Rows { host: place.host, pitch }, place.name, span))
    };
    let ((to_rows, to_name, _), (from_rows, from_name, span)) = (place(to)?, place(from)?);
    let label = format!("copy {} <- {} bytes={}", describe(s, to), describe(s, from), width * height);
    // As the real driver: bytes from pageable memory are staged now, and a copy to pageable memory does not return
    // before it has ended.
    let (staged, wait) = (from_name.is_none(), wait || to_name.is_none());
    let work = if staged {
        // SAFETY: the caller's contract says that the source is readable during the call.
        let from = unsafe { std::slice::from_raw_parts(from_rows.host as *const u8, span) }.to_vec();
        Work::Upload { to: to_rows, from, pitch: from_rows.pitch, width, height }
    } else {
        Work::Copy { to: to_rows, from: from_rows, width, height }
    };
    let sequence = s.enqueue(stream, to_name.into_iter().chain(from_name).collect(), label, work);
    if wait {
        s.run(stream, sequence);
        s.outcome()?;
    }
    Ok(())
}

/// Queues a fill of `height` rows of `count` patterns, and waits for it if `wait`.
fn fill(
    s: &mut State,
    call: &str,
    to: (u64, usize),
    pattern: &[u8],
    (count, height): (usize, usize),
    stream: usize,
    wait: bool,
) -> Result<(), i32> {
    let stream = s.stream(call, stream)?;
    let width = count.checked_mul(pattern.len()).ok_or(error::INVALID_VALUE)?;
    if width == 0 || height == 0 {
        return Ok(());
    }
    if to.0 % pattern.len() as u64 != 0 || (height > 1 && to.1 < width) {
        return Err(error::INVALID_VALUE);
    }
    let place = s.device_place(call, to.0, to.1 * (height - 1) + width)?;
    let label = format!("fill {} bytes={}", s.device_name(to.0), width * height);
    let to = Rows { host: place.host, pitch: to.1 };
    let work = Work::Fill { to, pattern: pattern.to_vec(), width, height };
    let sequence = s.enqueue(stream, place.name.into_iter().collect(), label, work);
    if wait {
        s.run(stream, sequence);
        s.outcome()?;
    }
    Ok(())
}

/// `CUDA_MEMCPY2D`.
#[repr(C)]
struct Copy2d {
    from: Side,
    to: Side,
    width: usize,
    height: usize,
}

#[repr(C)]
struct Side {
    x: usize,
    y: usize,
    /// 1 host, 2 device.
    kind: u32,
    host: usize,
    device: u64,
    array: usize,
    pitch: usize,
}

impl Side {
    fn end(&self) -> Result<End, i32> {
        let offset = self.y * self.pitch + self.x;
        match self.kind {
            1 => Ok(Host(self.host + offset, self.pitch)),
            2 => Ok(Device(self.device + offset as u64, self.pitch)),
            _ => Err(error::NOT_SUPPORTED),
        }
    }
}

fn copy_2d(s: &mut State, call: &str, copy2d: *const Copy2d, stream: usize, wait: bool) -> Result<(), i32> {
    if copy2d.is_null() {
        return Err(error::INVALID_VALUE);
    }
    // SAFETY: not null, and a valid description by the caller's contract.
    let c = unsafe { &*copy2d };
    copy(s, call, c.to.end()?, c.from.end()?, (c.width, c.height), stream, wait)
}

api! {
    Context fn cuMemcpyHtoD_v2(to: u64, from: usize, bytes: usize)
        [s, "{}", line(s, Device(to, 0), Host(from, 0), bytes, 0)]
        { copy(s, "cuMemcpyHtoD_v2", Device(to, 0), Host(from, 0), (bytes, 1), 0, true) }
    Context fn cuMemcpyDtoH_v2(to: usize, from: u64, bytes: usize)
        [s, "{}", line(s, Host(to, 0), Device(from, 0), bytes, 0)]
        { copy(s, "cuMemcpyDtoH_v2", Host(to, 0), Device(from, 0), (bytes, 1), 0, true) }
    Context fn cuMemcpyDtoD_v2(to: u64, from: u64, bytes: usize)
        [s, "{}", line(s, Device(to, 0), Device(from, 0), bytes, 0)]
        { copy(s, "cuMemcpyDtoD_v2", Device(to, 0), Device(from, 0), (bytes, 1), 0, true) }
    Context fn cuMemcpyHtoDAsync_v2(to: u64, from: usize, bytes: usize, stream: usize)
        [s, "{}", line(s, Device(to, 0), Host(from, 0), bytes, stream)]
        { copy(s, "cuMemcpyHtoDAsync_v2", Device(to, 0), Host(from, 0), (bytes, 1), stream, false) }
    Context fn cuMemcpyDtoHAsync_v2(to: usize, from: u64, bytes: usize, stream: usize)
        [s, "{}", line(s, Host(to, 0), Device(from, 0), bytes, stream)]
        { copy(s, "cuMemcpyDtoHAsync_v2", Host(to, 0), Device(from, 0), (bytes, 1), stream, false) }
    Context fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: usize)
        [s, "{}", line(s, Device(to, 0), Device(from, 0), bytes, stream)]
        { copy(s, "cuMemcpyDtoDAsync_v2", Device(to, 0), Device(from, 0), (bytes, 1), stream, false) }
    Context fn cuMemcpy2D_v2(c: *const Copy2d) [s] { copy_2d(s, "cuMemcpy2D_v2", c, 0, true) }
    Context fn cuMemcpy2DUnaligned_v2(c: *const Copy2d) [s] { copy_2d(s, "cuMemcpy2DUnaligned_v2", c, 0, true) }
    Context fn cuMemcpy2DAsync_v2(c: *const Copy2d, stream: usize) [s, "{}", s.stream_name(stream)] {
        copy_2d(s, "cuMemcpy2DAsync_v2", c, stream, false)
    }

    Context fn cuMemsetD8_v2(to: u64, value: u8, count: usize) [s, "{} count={count}", s.device_name(to)]
        { fill(s, "cuMemsetD8_v2", (to, 0), &[value], (count, 1), 0, true) }
    Context fn cuMemsetD16_v2(to: u64, value: u16, count: usize) [s, "{} count={count}", s.device_name(to)]
        { fill(s, "cuMemsetD16_v2", (to, 0), &value.to_ne_bytes(), (count, 1), 0, true) }
    Context fn cuMemsetD32_v2(to: u64, value: u32, count: usize) [s, "{} count={count}", s.device_name(to)]
        { fill(s, "cuMemsetD32_v2", (to, 0), &value.to_ne_bytes(), (count, 1), 0, true) }
    Context fn cuMemsetD8Async(to: u64, value: u8, count: usize, stream: usize)
        [s, "{} count={count} {}", s.device_name(to), s.stream_name(stream)]
        { fill(s, "cuMemsetD8Async", (to, 0), &[value], (count, 1), stream, false) }
    Context fn cuMemsetD16Async(to: u64, value: u16, count: usize, stream: usize)
        [s, "{} count={count} {}", s.device_name(to), s.stream_name(stream)]
        { fill(s, "cuMemsetD16Async", (to, 0), &value.to_ne_bytes(), (count, 1), stream, false) }
    Context fn cuMemsetD32Async(to: u64, value: u32, count: usize, stream: usize)
        [s, "{} count={count} {}", s.device_name(to), s.stream_name(stream)]
        { fill(s, "cuMemsetD32Async", (to, 0), &value.to_ne_bytes(), (count, 1), stream, false) }
    Context fn cuMemsetD2D8Async(to: u64, pitch: usize, value: u8, width: usize, height: usize, stream: usize)
        [s, "{} {width}x{height} {}", s.device_name(to), s.stream_name(stream)]
        { fill(s, "cuMemsetD2D8Async", (to, pitch), &[value], (width, height), stream, false) }
    Context fn cuMemsetD2D32Async(to: u64, pitch: usize, value: u32, width: usize, height: usize, stream: usize)
        [s, "{} {width}x{height} {}", s.device_name(to), s.stream_name(stream)]
        { fill(s, "cuMemsetD2D32Async", (to, pitch), &value.to_ne_bytes(), (width, height), stream, false) }
    Context fn cuPointerGetAttribute(out: *mut u32, attribute: i32, address: u64) [s, "{attribute}"] {
        // CU_POINTER_ATTRIBUTE_MEMORY_TYPE: 1 host, 2 device. The others are not known here.
        if attribute != 2 {
            return Err(error::NOT_SUPPORTED);
        }
        let found = s.by_device(address).or_else(|| s.by_host(address as usize)).ok_or(error::INVALID_VALUE)?;
        let device = matches!(found.kind, crate::memory::Kind::Device | crate::memory::Kind::Managed);
        put(out, if device { 2 } else { 1 })
    }
}
