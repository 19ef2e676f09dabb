//! Everything the driver knows, behind one lock, and the door that every call comes in by.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::config::Config;
use crate::error;
use crate::memory::Allocation;
use crate::ptx::Ptx;
use crate::queue::Stream;

pub struct State {
    pub config: Config,
    /// Which `fake_cuda_configure` this is the state of; a thread's current context is void after the next.
    generation: u64,
    pub initialized: bool,
    pub log: Vec<String>,
    file: Option<File>,
    /// Calls of each function.
    pub calls: BTreeMap<&'static str, u64>,
    /// The error that ended the context, or 0.
    pub fatal: i32,
    names: BTreeMap<&'static str, usize>,
    /// The number of the piece of work that was queued last, over all streams.
    pub sequence: u64,
    pub contexts: BTreeMap<usize, Context>,
    pub allocations: Vec<Allocation>,
    /// Addresses that were freed, with the names they had.
    pub freed: Vec<(u64, String)>,
    pub streams: BTreeMap<usize, Stream>,
    pub events: BTreeMap<usize, Event>,
    pub modules: BTreeMap<usize, Module>,
    pub functions: BTreeMap<usize, Function>,
}

pub struct Context {
    pub device: i32,
    pub primary: bool,
    /// How often the primary context is retained.
    pub retained: usize,
    pub flags: u32,
}

pub struct Event {
    pub name: String,
    pub timing: bool,
    /// The latest record: stream and sequence number.
    pub recorded: Option<(usize, u64)>,
    /// When the latest record was executed.
    pub done: Option<Instant>,
}

pub struct Module {
    pub name: String,
    pub ptx: Ptx,
}

pub struct Function {
    pub module: usize,
    pub name: String,
    /// Sizes of the parameters in bytes.
    pub parameters: Vec<usize>,
    /// What cuFuncSetAttribute allowed.
    pub shared_limit: i32,
}

/// What a call needs.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
pub enum Need {
    Nothing,
    /// cuInit.
    Init,
    /// A current context that no error has ended.
    Context,
}

thread_local! {
    /// The stack of current contexts, and the generation it belongs to.
    static CURRENT: RefCell<(u64, Vec<usize>)> = const { RefCell::new((0, Vec::new())) };
    /// Whether this thread runs a function that was queued on a stream.
    pub static IN_CALLBACK: Cell<bool> = const { Cell::new(false) };
}

/// Calls made from within callbacks. The state is locked then.
pub static FROM_CALLBACKS: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());

static STATE: LazyLock<Mutex<State>> = LazyLock::new(|| {
    let config = Config::parse(&std::env::var("FAKE_CUDA").unwrap_or_default()).unwrap_or_else(|why| panic!("{why}"));
    Mutex::new(State::new(config, 1))
});

pub fn lock() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// As [`lock`], for a moment when another thread may hold the state for ever; nothing if somebody holds it.
pub fn try_lock() -> Option<MutexGuard<'static, State>> {
    STATE.try_lock().ok()
}

/// One call of the driver: logged, counted, failed if the configuration says so, then done.
pub fn enter(
    call: &'static str,
    need: Need,
    describe: impl FnOnce(&State) -> String,
    body: impl FnOnce(&mut State) -> Result<(), i32>,
) -> i32 {
    if IN_CALLBACK.get() {
        FROM_CALLBACKS.lock().unwrap_or_else(PoisonError::into_inner).push(call);
        return error::NOT_PERMITTED;
    }
    let mut state = lock();
    let line = format!("{call} {}", describe(&state));
    state.log(line.trim_end());
    let code = state.admit(call, need).and_then(|()| body(&mut state)).err().unwrap_or(0);
    if code != 0 {
        state.log(&format!("{call} -> {code}"));
    }
    code
}

impl State {
    pub fn new(config: Config, generation: u64) -> Self {
        let file = std::env::var_os("FAKE_CUDA_LOG").map(|path| {
            File::options().create(true).append(true).open(&path).unwrap_or_else(|why| panic!("{path:?}: {why}"))
        });
        Self {
            config,
            generation,
            initialized: false,
            log: Vec::new(),
            file,
            calls: BTreeMap::new(),
            fatal: 0,
            names: BTreeMap::new(),
            sequence: 0,
            contexts: BTreeMap::new(),
            allocations: Vec::new(),
            freed: Vec::new(),
            streams: BTreeMap::new(),
            events: BTreeMap::new(),
            modules: BTreeMap::new(),
            functions: BTreeMap::new(),
        }
    }

    /// Starts anew. What the old state held is leaked, for somebody may still read it.
    pub fn reset(&mut self, config: Config) {
        let generation = self.generation + 1;
        std::mem::forget(std::mem::replace(self, Self::new(config, generation)));
    }

    /// To the file if there is one, else to memory: a test that counts resident memory has the file.
    pub fn log(&mut self, line: &str) {
        match &mut self.file {
            // One write per line, so that the lines of several processes do not mix.
            Some(file) => {
                file.write_all(format!("{line}\n").as_bytes()).expect("FAKE_CUDA_LOG is writable");
            }
            None => self.log.push(line.to_owned()),
        }
    }

    pub fn violation(&mut self, what: &str) {
        self.log(&format!("VIOLATION {what}"));
    }

    /// `kind1`, `kind2`, … and its number.
    pub fn name(&mut self, kind: &'static str) -> (String, usize) {
        let number = self.names.entry(kind).or_default();
        *number += 1;
        (format!("{kind}{number}"), *number)
    }

    fn admit(&mut self, call: &'static str, need: Need) -> Result<(), i32> {
        let count = self.calls.entry(call).or_default();
        *count += 1;
        let count = *count;
        if let Some(failure) = self.config.failures.iter().find(|(name, nth, _)| name == call && *nth == count) {
            return Err(failure.2);
        }
        if need >= Need::Init && !self.initialized {
            return Err(error::NOT_INITIALIZED);
        }
        if need == Need::Context {
            match self.current().map(|current| self.contexts.get(&current)) {
                None => {
                    self.violation(&format!("{call} without a current context"));
                    return Err(error::INVALID_CONTEXT);
                }
                Some(None) => {
                    self.violation(&format!("{call} in a context that was released"));
                    return Err(error::CONTEXT_IS_DESTROYED);
                }
                Some(Some(_)) => {}
            }
            if self.fatal != 0 {
                return Err(self.fatal);
            }
        }
        Ok(())
    }

    /// The context that is current on this thread, alive or not.
    pub fn current(&self) -> Option<usize> {
        self.with_stack(|stack| stack.last().copied())
    }

    /// Works on this thread's stack of contexts.
    pub fn with_stack<R>(&self, f: impl FnOnce(&mut Vec<usize>) -> R) -> R {
        CURRENT.with_borrow_mut(|(generation, stack)| {
            if *generation != self.generation {
                (*generation, *stack) = (self.generation, Vec::new());
            }
            f(stack)
        })
    }

    /// The device of the current context. [`Need::Context`] has been checked.
    pub fn current_device(&self) -> i32 {
        self.current().and_then(|current| self.contexts.get(&current)).map_or(0, |context| context.device)
    }
}
