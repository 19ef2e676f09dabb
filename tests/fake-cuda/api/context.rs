//! Contexts.

use super::api;
use crate::error;
use crate::put;
use crate::state::{Context, State};

/// Handles of primary contexts, one a device.
const PRIMARY: usize = 0x200;

/// Ends a context. Work that was pending is lost with it.
fn end(state: &mut State, call: &str, handle: usize) {
    let device = state.contexts[&handle].device;
    let streams: Vec<usize> = state.streams.iter().filter(|(_, s)| s.device == device).map(|(h, _)| *h).collect();
    for stream in streams {
        let queue = &mut state.streams.get_mut(&stream).expect("just listed").queue;
        if let Some(label) = queue.front().map(|op| op.label.clone()) {
            queue.clear();
            state.violation(&format!("{call} ends the context while work is pending: {label}"));
        }
    }
    state.contexts.remove(&handle);
}

api! {
    Init fn cuDevicePrimaryCtxRetain(out: *mut usize, device: i32) [s, "device={device}"] {
        if !(0..s.config.devices).contains(&device) {
            return Err(error::INVALID_DEVICE);
        }
        let handle = PRIMARY + device as usize;
        let new = || Context { device, primary: true, retained: 0, flags: 0 };
        s.contexts.entry(handle).or_insert_with(new).retained += 1;
        put(out, handle)
    }
    Init fn cuDevicePrimaryCtxRelease_v2(device: i32) [s, "device={device}"] {
        let handle = PRIMARY + device as usize;
        let Some(context) = s.contexts.get_mut(&handle) else {
            s.violation("cuDevicePrimaryCtxRelease_v2 of a context that is not retained");
            return Err(error::INVALID_CONTEXT);
        };
        context.retained -= 1;
        if context.retained == 0 {
            end(s, "cuDevicePrimaryCtxRelease_v2", handle);
        }
        Ok(())
    }
    Init fn cuDevicePrimaryCtxReset_v2(device: i32) [s, "device={device}"] {
        let handle = PRIMARY + device as usize;
        if s.contexts.contains_key(&handle) {
            end(s, "cuDevicePrimaryCtxReset_v2", handle);
        }
        s.fatal = 0;
        Ok(())
    }
    Init fn cuDevicePrimaryCtxSetFlags_v2(device: i32, flags: u32) [s, "device={device} flags={flags}"] {
        if let Some(context) = s.contexts.get_mut(&(PRIMARY + device as usize)) {
            context.flags = flags;
        }
        Ok(())
    }
    Init fn cuDevicePrimaryCtxGetState(device: i32, flags: *mut u32, active: *mut i32) [s, "device={device}"] {
        let context = s.contexts.get(&(PRIMARY + device as usize));
        put(flags, context.map_or(0, |context| context.flags))?;
        put(active, i32::from(context.is_some()))
    }
    Init fn cuCtxCreate_v2(out: *mut usize, flags: u32, device: i32) [s, "device={device} flags={flags}"] {
        if !(0..s.config.devices).contains(&device) {
            return Err(error::INVALID_DEVICE);
        }
        let handle = 0x300 + s.name("context").1;
        s.contexts.insert(handle, Context { device, primary: false, retained: 1, flags });
        s.with_stack(|stack| stack.push(handle));
        put(out, handle)
    }
    Init fn cuCtxDestroy_v2(context: usize) [s] {
        if s.contexts.get(&context).is_none_or(|context| context.primary) {
            return Err(error::INVALID_CONTEXT);
        }
        end(s, "cuCtxDestroy_v2", context);
        s.with_stack(|stack| stack.retain(|&other| other != context));
        Ok(())
    }
    Init fn cuCtxSetCurrent(context: usize) [s] {
        if context != 0 && !s.contexts.contains_key(&context) {
            return Err(error::INVALID_CONTEXT);
        }
        s.with_stack(|stack| {
            stack.pop();
            if context != 0 {
                stack.push(context);
            }
        });
        Ok(())
    }
    Init fn cuCtxPushCurrent_v2(context: usize) [s] {
        if !s.contexts.contains_key(&context) {
            return Err(error::INVALID_CONTEXT);
        }
        s.with_stack(|stack| stack.push(context));
        Ok(())
    }
    Init fn cuCtxPopCurrent_v2(out: *mut usize) [s] {
        let popped = s.with_stack(Vec::pop).ok_or(error::INVALID_CONTEXT)?;
        if out.is_null() { Ok(()) } else { put(out, popped) }
    }
    Init fn cuCtxGetCurrent(out: *mut usize) [s] { put(out, s.current().unwrap_or(0)) }
    Context fn cuCtxGetDevice(out: *mut i32) [s] { put(out, s.current_device()) }
    Context fn cuCtxGetFlags(out: *mut u32) [s] { put(out, s.contexts[&s.current().unwrap_or(0)].flags) }
    Init fn cuCtxGetApiVersion(context: usize, out: *mut u32) [s] { put(out, s.config.driver as u32) }
    Context fn cuCtxGetStreamPriorityRange(least: *mut i32, greatest: *mut i32) [s] {
        put(least, 0)?;
        put(greatest, -5)
    }
    Context fn cuCtxGetLimit(out: *mut usize, limit: i32) [s, "{limit}"] { put(out, 1024) }
    Context fn cuCtxSetLimit(limit: i32, value: usize) [s, "{limit} value={value}"] { Ok(()) }
    Context fn cuCtxGetCacheConfig(out: *mut i32) [s] { put(out, 0) }
    Context fn cuCtxSetCacheConfig(config: i32) [s] { Ok(()) }
    Context fn cuCtxGetSharedMemConfig(out: *mut i32) [s] { put(out, 1) }
    Context fn cuCtxSetSharedMemConfig(config: i32) [s] { Ok(()) }
    Context fn cuCtxSynchronize() [s] {
        let device = s.current_device();
        s.run_device(device)
    }
}
