//! What a test asks the fake itself. Not logged, not counted.

use std::ffi::{CString, c_char};
use std::sync::Mutex;

use crate::config::Config;
use crate::memory::Kind;
use crate::state::{State, lock, try_lock};
use crate::text;

/// Starts anew with a configuration, as `FAKE_CUDA` would give it: no context, no memory, no log, no counts. Returns 0,
/// or 1 if the configuration is not understood.
#[unsafe(no_mangle)]
unsafe extern "C" fn fake_cuda_configure(config: *const c_char) -> i32 {
    match text(config).map_err(|_| "no text".to_owned()).and_then(Config::parse) {
        Ok(config) => {
            lock().reset(config);
            0
        }
        Err(why) => {
            eprintln!("{why}");
            1
        }
    }
}

/// The log so far, a line per event; nothing if it goes to a file. Valid until the next call of this function.
#[unsafe(no_mangle)]
unsafe extern "C" fn fake_cuda_log() -> *const c_char {
    static LAST: Mutex<Option<CString>> = Mutex::new(None);
    let log = CString::new(lock().log.join("\n")).expect("names hold no NUL");
    LAST.lock().expect("nothing panics with it").insert(log).as_ptr()
}

/// How often a function was called.
#[unsafe(no_mangle)]
unsafe extern "C" fn fake_cuda_calls(name: *const c_char) -> u64 {
    text(name).ok().and_then(|name| lock().calls.get(name).copied()).unwrap_or(0)
}

/// How many of a kind are alive: `dev`, `pinned`, `registered`, `managed`, `stream`, `event`, `module`, `pending` (work).
/// `u64::MAX` for another word.
#[unsafe(no_mangle)]
unsafe extern "C" fn fake_cuda_live(kind: *const c_char) -> u64 {
    let state = lock();
    let memory = |kind: Kind| state.allocations.iter().filter(|a| a.kind == kind).count();
    let count = match text(kind) {
        Ok("dev") => memory(Kind::Device),
        Ok("pinned") => memory(Kind::Pinned),
        Ok("registered") => memory(Kind::Registered),
        Ok("managed") => memory(Kind::Managed),
        Ok("stream") => state.made_streams().count(),
        Ok("event") => state.events.len(),
        Ok("module") => state.modules.len(),
        Ok("pending") => state.streams.values().map(|stream| stream.queue.len()).sum(),
        _ => return u64::MAX,
    };
    count as u64
}

/// Logs a violation for everything that is still alive, and returns how many there are.
#[unsafe(no_mangle)]
unsafe extern "C" fn fake_cuda_leaks() -> u64 {
    let mut state = lock();
    let leaks = alive(&state);
    leaks.iter().for_each(|leak| state.violation(&format!("leaked {leak}")));
    leaks.len() as u64
}

/// Everything that was made and not freed, by name.
fn alive(state: &State) -> Vec<String> {
    let memory = state.allocations.iter().map(|a| format!("{} of {} bytes", a.name, a.bytes));
    let streams = state.made_streams().map(|stream| stream.name.clone());
    let events = state.events.values().map(|event| event.name.clone());
    let modules = state.modules.values().map(|module| module.name.clone());
    memory.chain(streams).chain(events).chain(modules).collect()
}

/// Run when the process ends, unless it aborts: the log's last lines say what is still alive, for those who test a
/// program and cannot ask inside it. After a fatal error nothing can be freed, so what is left then is no misuse.
#[used]
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = at_exit;

extern "C" fn at_exit() {
    let Some(mut state) = try_lock() else { return };
    let leaks = alive(&state);
    if state.initialized && state.fatal == 0 {
        leaks.iter().for_each(|leak| state.violation(&format!("leaked {leak}")));
    }
    let line = format!("exit alive={} pinned={} fatal={}", leaks.len(), state.pinned(), state.fatal);
    state.log(&line);
}
