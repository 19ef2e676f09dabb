//! Events.

use super::api;
use crate::queue::Work;
use crate::state::{Event, State};
use crate::{error, put};

pub fn name(state: &State, event: usize) -> String {
    state.events.get(&event).map_or_else(|| "nowhere".into(), |event| event.name.clone())
}

fn record(s: &mut State, call: &str, event: usize, stream: usize) -> Result<(), i32> {
    let stream = s.stream(call, stream)?;
    if !s.events.contains_key(&event) {
        s.violation(&format!("{call} of an event that does not exist"));
        return Err(error::INVALID_HANDLE);
    }
    let name = name(s, event);
    let sequence = s.enqueue(stream, vec![name.clone()], format!("record {name}"), Work::Record(event));
    let event = s.events.get_mut(&event).expect("seen above");
    (event.recorded, event.done) = (Some((stream, sequence)), None);
    Ok(())
}

api! {
    Context fn cuEventCreate(out: *mut usize, flags: u32) [s, "flags={flags}"] {
        let (name, number) = s.name("event");
        s.log(&format!("  = {name}"));
        let handle = 0x2_0000 + number;
        s.events.insert(handle, Event { name, timing: flags & 2 == 0, recorded: None, done: None });
        put(out, handle)
    }
    Context fn cuEventRecord(event: usize, stream: usize) [s, "{} {}", name(s, event), s.stream_name(stream)] {
        record(s, "cuEventRecord", event, stream)
    }
    Context fn cuEventRecordWithFlags(event: usize, stream: usize, flags: u32)
        [s, "{} {}", name(s, event), s.stream_name(stream)]
        { record(s, "cuEventRecordWithFlags", event, stream) }
    Context fn cuEventSynchronize(event: usize) [s, "{}", name(s, event)] {
        let recorded = s.events.get(&event).ok_or(error::INVALID_HANDLE)?.recorded;
        if let Some((stream, sequence)) = recorded {
            s.run(stream, sequence);
        }
        s.outcome()
    }
    // Executes one piece of the stream's work, so that a loop of queries ends.
    Context fn cuEventQuery(event: usize) [s, "{}", name(s, event)] {
        let e = s.events.get(&event).ok_or(error::INVALID_HANDLE)?;
        let Some((stream, sequence)) = e.recorded.filter(|_| e.done.is_none()) else { return Ok(()) };
        let pending = s.step(stream, sequence);
        s.outcome()?;
        if pending { Err(error::NOT_READY) } else { Ok(()) }
    }
    Context fn cuEventElapsedTime(out: *mut f32, start: usize, end: usize) [s, "{} {}", name(s, start), name(s, end)] {
        let event = |event| s.events.get(&event).filter(|e| e.timing && e.recorded.is_some());
        let (start, end) = event(start).zip(event(end)).ok_or(error::INVALID_HANDLE)?;
        let (start, end) = start.done.zip(end.done).ok_or(error::NOT_READY)?;
        let ms = if end >= start { (end - start).as_secs_f32() } else { -(start - end).as_secs_f32() } * 1e3;
        put(out, ms)
    }
    Context fn cuEventDestroy_v2(event: usize) [s, "{}", name(s, event)] {
        if !s.events.contains_key(&event) {
            s.violation("cuEventDestroy_v2 of an event that does not exist");
            return Err(error::INVALID_HANDLE);
        }
        let name = name(s, event);
        if let Some(label) = s.pending(|op| op.touches.contains(&name)) {
            s.violation(&format!("cuEventDestroy_v2 of {name} while work that uses it is pending: {label}"));
        }
        s.events.remove(&event);
        Ok(())
    }
}
