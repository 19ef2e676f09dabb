//! Streams: queues of work that somebody has to wait for.

use std::collections::VecDeque;
use std::ffi::c_void;
use std::time::Instant;

use crate::error;
use crate::kernel;
use crate::state::{FROM_CALLBACKS, IN_CALLBACK, State};

pub struct Stream {
    pub name: String,
    pub device: i32,
    pub flags: u32,
    pub priority: i32,
    pub queue: VecDeque<Op>,
}

/// A piece of work.
pub struct Op {
    /// Its place in the order of all work.
    sequence: u64,
    /// Names of the allocations, events and modules that it uses.
    pub touches: Vec<String>,
    /// What the log calls it.
    pub label: String,
    work: Work,
}

/// Rows of bytes at a host address.
pub struct Rows {
    pub host: usize,
    pub pitch: usize,
}

pub enum Work {
    Copy {
        to: Rows,
        from: Rows,
        width: usize,
        height: usize,
    },
    /// A copy from bytes that were staged when it was queued.
    Upload {
        to: Rows,
        from: Vec<u8>,
        pitch: usize,
        width: usize,
        height: usize,
    },
    Fill {
        to: Rows,
        pattern: Vec<u8>,
        width: usize,
        height: usize,
    },
    Launch {
        function: usize,
        arguments: Vec<u64>,
        /// Of the whole grid.
        threads: usize,
    },
    Record(usize),
    /// Waits for a stream to have done everything up to a sequence number.
    Wait(usize, u64),
    Host(unsafe extern "C" fn(*mut c_void), usize),
    Nothing,
}

/// Internal handles of the default streams, one a device.
const DEFAULT: usize = 0x100;

impl State {
    /// The stream of a handle, checked against the current context.
    pub fn stream(&mut self, call: &str, handle: usize) -> Result<usize, i32> {
        let device = self.current_device();
        // Null, CU_STREAM_LEGACY and CU_STREAM_PER_THREAD.
        if handle <= 2 {
            let handle = DEFAULT + device as usize;
            self.streams.entry(handle).or_insert_with(|| Stream {
                name: "default".into(),
                device,
                flags: 0,
                priority: 0,
                queue: VecDeque::new(),
            });
            return Ok(handle);
        }
        match self.streams.get(&handle).map(|stream| stream.device) {
            Some(owner) if owner == device => Ok(handle),
            Some(owner) => {
                self.violation(&format!("{call} with a stream of device {owner} while device {device} is current"));
                Err(error::INVALID_HANDLE)
            }
            None => {
                self.violation(&format!("{call} with a stream that does not exist"));
                Err(error::INVALID_HANDLE)
            }
        }
    }

    pub fn stream_name(&self, handle: usize) -> String {
        match self.streams.get(&handle) {
            Some(stream) => stream.name.clone(),
            None if handle <= 2 => "default".into(),
            None => "nowhere".into(),
        }
    }

    /// Streams that a user made.
    pub fn made_streams(&self) -> impl Iterator<Item = &Stream> {
        self.streams.iter().filter(|(handle, _)| **handle >= 0x1000).map(|(_, stream)| stream)
    }

    /// Queues work, and returns its place in the order.
    pub fn enqueue(&mut self, stream: usize, touches: Vec<String>, label: String, work: Work) -> u64 {
        self.sequence += 1;
        let op = Op { sequence: self.sequence, touches, label, work };
        self.streams.get_mut(&stream).expect("checked by `stream`").queue.push_back(op);
        self.sequence
    }

    /// The first pending piece of work that `uses` holds for.
    pub fn pending(&self, uses: impl Fn(&Op) -> bool) -> Option<String> {
        self.streams.values().flat_map(|stream| &stream.queue).find(|op| uses(op)).map(|op| op.label.clone())
    }

    /// Makes pending work that touches memory do nothing.
    pub fn cancel(&mut self, name: &String) {
        for op in self.streams.values_mut().flat_map(|stream| &mut stream.queue) {
            if op.touches.contains(name) {
                op.work = Work::Nothing;
            }
        }
    }

    /// Executes a stream's work up to a sequence number, and before each piece what has to come before it.
    pub fn run(&mut self, stream: usize, until: u64) {
        while self.step(stream, until) {}
    }

    /// Executes one piece of a stream's work. False if there was none.
    pub fn step(&mut self, handle: usize, until: u64) -> bool {
        let Some(stream) = self.streams.get(&handle) else { return false };
        let Some(sequence) = stream.queue.front().map(|op| op.sequence).filter(|&s| s <= until) else { return false };
        // The default stream waits for all blocking streams of its device, and they for it. Each recursion is about
        // smaller sequence numbers, so it ends.
        let (device, blocking) = (stream.device, stream.flags & 1 == 0);
        let default = DEFAULT + device as usize;
        if handle == default {
            let others = self.streams.iter().filter(|(h, s)| **h != default && s.device == device && s.flags & 1 == 0);
            for other in others.map(|(h, _)| *h).collect::<Vec<_>>() {
                self.run(other, sequence - 1);
            }
        } else if blocking {
            self.run(default, sequence - 1);
        }
        let stream = self.streams.get_mut(&handle).expect("nothing destroys streams meanwhile");
        let name = stream.name.clone();
        let op = stream.queue.pop_front().expect("seen above");
        self.execute(&name, op);
        true
    }

    /// Everything that was queued on any stream of a device.
    pub fn run_device(&mut self, device: i32) -> Result<(), i32> {
        let streams: Vec<_> = self.streams.iter().filter(|(_, s)| s.device == device).map(|(h, _)| *h).collect();
        streams.into_iter().for_each(|stream| self.run(stream, u64::MAX));
        self.outcome()
    }

    /// What a synchronizing call returns.
    pub fn outcome(&self) -> Result<(), i32> {
        if self.fatal == 0 { Ok(()) } else { Err(self.fatal) }
    }

    fn execute(&mut self, stream: &str, op: Op) {
        if self.fatal != 0 {
            return; // an error has ended the context, and with it all work that was queued
        }
        self.log(&format!("  exec {stream} {}", op.label));
        match op.work {
            Work::Copy { to, from, width, height } => {
                for row in 0..height {
                    let (to, from) = (to.host + row * to.pitch, from.host + row * from.pitch);
                    // SAFETY: both ranges were inside allocations when the work was queued, and freed memory is kept
                    // while work refers to it; pageable memory is only used by work that ends within the call.
                    unsafe { std::ptr::copy(from as *const u8, to as *mut u8, width) };
                }
            }
            Work::Upload { to, from, pitch, width, height } => {
                for row in 0..height {
                    let from = &from[row * pitch..row * pitch + width];
                    // SAFETY: as above; the staged bytes are our own.
                    unsafe { std::ptr::copy(from.as_ptr(), (to.host + row * to.pitch) as *mut u8, width) };
                }
            }
            Work::Fill { to, pattern, width, height } => {
                for row in 0..height {
                    for at in (0..width).step_by(pattern.len()) {
                        let to = (to.host + row * to.pitch + at) as *mut u8;
                        // SAFETY: as above; the width is a multiple of the pattern.
                        unsafe { std::ptr::copy(pattern.as_ptr(), to, pattern.len()) };
                    }
                }
            }
            Work::Launch { function, arguments, threads } => {
                let result = match self.config.launch_error {
                    0 => kernel::run(self, function, &arguments, threads),
                    code => Err(code),
                };
                if let Err(code) = result {
                    self.log(&format!("  the kernel failed -> {code}"));
                    self.fatal = code;
                }
            }
            Work::Record(event) => {
                if let Some(event) = self.events.get_mut(&event)
                    && event.recorded.is_some_and(|(_, sequence)| sequence == op.sequence)
                {
                    event.done = Some(Instant::now());
                }
            }
            Work::Wait(stream, until) => self.run(stream, until),
            Work::Host(function, data) => {
                IN_CALLBACK.set(true);
                // SAFETY: the contract of cuLaunchHostFunc.
                unsafe { function(data as *mut c_void) };
                IN_CALLBACK.set(false);
                let calls = std::mem::take(&mut *FROM_CALLBACKS.lock().expect("only pushed to"));
                calls.iter().for_each(|call| self.violation(&format!("{call} from within a stream's callback")));
            }
            Work::Nothing => {}
        }
    }
}
