//! Streams.

use std::collections::VecDeque;
use std::ffi::c_void;

use super::api;
use crate::queue::{Stream, Work};
use crate::state::State;
use crate::{error, put};

fn create(s: &mut State, out: *mut usize, flags: u32, priority: i32) -> Result<(), i32> {
    if out.is_null() || flags > 1 {
        return Err(error::INVALID_VALUE);
    }
    let (name, number) = s.name("stream");
    let handle = 0x1_0000 + number;
    let device = s.current_device();
    s.log(&format!("  = {name}"));
    s.streams.insert(handle, Stream { name, device, flags, priority: priority.clamp(-5, 0), queue: VecDeque::new() });
    put(out, handle)
}

api! {
    Context fn cuStreamCreate(out: *mut usize, flags: u32) [s, "flags={flags}"] { create(s, out, flags, 0) }
    Context fn cuStreamCreateWithPriority(out: *mut usize, flags: u32, priority: i32)
        [s, "flags={flags} priority={priority}"]
        { create(s, out, flags, priority) }
    Context fn cuStreamGetFlags(stream: usize, out: *mut u32) [s, "{}", s.stream_name(stream)] {
        let stream = s.stream("cuStreamGetFlags", stream)?;
        put(out, s.streams[&stream].flags)
    }
    Context fn cuStreamGetPriority(stream: usize, out: *mut i32) [s, "{}", s.stream_name(stream)] {
        let stream = s.stream("cuStreamGetPriority", stream)?;
        put(out, s.streams[&stream].priority)
    }
    Context fn cuStreamSynchronize(stream: usize) [s, "{}", s.stream_name(stream)] {
        let stream = s.stream("cuStreamSynchronize", stream)?;
        s.run(stream, u64::MAX);
        s.outcome()
    }
    // Executes one piece of work, so that a loop of queries ends.
    Context fn cuStreamQuery(stream: usize) [s, "{}", s.stream_name(stream)] {
        let stream = s.stream("cuStreamQuery", stream)?;
        let pending = s.step(stream, u64::MAX);
        s.outcome()?;
        if pending { Err(error::NOT_READY) } else { Ok(()) }
    }
    Context fn cuStreamWaitEvent(stream: usize, event: usize, flags: u32)
        [s, "{} {}", s.stream_name(stream), super::event::name(s, event)]
    {
        let stream = s.stream("cuStreamWaitEvent", stream)?;
        let event = s.events.get(&event).ok_or(error::INVALID_HANDLE)?;
        // An event that was never recorded holds nobody up.
        if let Some((other, sequence)) = event.recorded {
            let (name, label) = (event.name.clone(), format!("wait {}", event.name));
            s.enqueue(stream, vec![name], label, Work::Wait(other, sequence));
        }
        Ok(())
    }
    Context fn cuLaunchHostFunc(stream: usize, function: Option<unsafe extern "C" fn(*mut c_void)>, data: usize)
        [s, "{}", s.stream_name(stream)]
    {
        let stream = s.stream("cuLaunchHostFunc", stream)?;
        let function = function.ok_or(error::INVALID_VALUE)?;
        s.enqueue(stream, Vec::new(), "host function".into(), Work::Host(function, data));
        Ok(())
    }
    Context fn cuStreamDestroy_v2(stream: usize) [s, "{}", s.stream_name(stream)] {
        let handle = s.stream("cuStreamDestroy_v2", stream)?;
        if let Some(label) = s.streams[&handle].queue.front().map(|op| op.label.clone()) {
            let name = s.stream_name(handle);
            s.violation(&format!("cuStreamDestroy_v2 of {name} while work is pending: {label}"));
            s.run(handle, u64::MAX);
        }
        s.streams.remove(&handle);
        Ok(())
    }
}
