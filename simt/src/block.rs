//! One block: its threads as fibers, in phases from barrier to barrier.
//!
//! A fiber is not a thread: it *takes* threads, one after another, until one of them waits at a barrier. Only then is
//! the next fiber started, which goes on with the next thread. A kernel without barriers thus runs a whole block on
//! one stack; one with barriers has a fiber per thread after the first phase, and no two of them ever run at once.
//!
//! After each phase either all threads wait, and all are resumed in order; or none does, and the block is done; or some
//! wait for others that have returned, which is a fault.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use corosensei::{Coroutine, CoroutineResult, Yielder};
use gpu::device::Dim3;
use gpu::device::host::{HostBlock, HostThread, Scheduler};
use gpu::launch::Kernel;

use crate::dispatch::index_of;
use crate::entry::Entry;
use crate::fault::Fault;
use crate::panic;
use crate::shared::SharedMemory;
use crate::stacks::{Coloured, Stacks};

/// A thread's panic, caught at the root of its fiber.
struct Died {
    thread: u32,
    payload: Box<dyn Any + Send>,
}

/// Suspends without a value: the only reason is the barrier.
type Fiber = Coroutine<(), (), Result<(), Died>, Coloured>;

/// What one worker needs to run block after block of a launch.
pub(crate) struct BlockRunner<'w, K: Kernel> {
    /// One thread of the kernel.
    pub(crate) entry: Entry<K>,
    /// What the host passed.
    pub(crate) args: K::Args,
    /// Blocks in the grid.
    pub(crate) grid: Dim3,
    /// The worker's stacks.
    pub(crate) stacks: &'w mut Stacks,
    /// The worker's shared memory.
    pub(crate) shared: &'w mut SharedMemory,
}

impl<K: Kernel> BlockRunner<'_, K> {
    /// Runs one block to its end, to its fault, or until it `is_moot`, which is asked between phases.
    ///
    /// # Safety
    /// The kernel's contract holds for the arguments, and the entry is for this processor.
    pub(crate) unsafe fn run(&mut self, block_idx: Dim3, is_moot: impl Fn() -> bool) -> Result<(), Fault> {
        let shared = self.shared.for_block(K::SHARED_BYTES);
        let block = HostBlock { block_idx, block_dim: K::BLOCK, grid_dim: self.grid, shared };
        let threads = Threads::<K> { entry: self.entry, args: self.args, block: &block, started: Cell::new(0) };
        // Declared after `threads`, hence dropped before it: also if this function unwinds, no fiber outlives what it
        // borrows.
        let mut waiting = Vec::new();
        // SAFETY: the kernel's contract and the entry are the caller's promise, the order of drops is said above.
        let mut phase = unsafe { threads.start_all(&mut waiting, self.stacks) };
        while phase.is_ok() && !waiting.is_empty() {
            if waiting.len() as u32 != threads.count() {
                phase = Err(threads.divergence(&waiting));
            } else if is_moot() {
                break;
            } else {
                phase = threads.resume_all(&mut waiting, self.stacks);
            }
        }
        unwind(waiting, self.stacks);
        phase
    }
}

/// A fiber at a barrier, and the thread that it carries there.
struct Waiting {
    fiber: Fiber,
    thread: u32,
}

/// The threads of one block, as its fibers take them.
struct Threads<'b, K: Kernel> {
    entry: Entry<K>,
    args: K::Args,
    block: &'b HostBlock,
    /// How many threads were taken; the next one has this linear index.
    started: Cell<u32>,
}

impl<K: Kernel> Threads<'_, K> {
    fn count(&self) -> u32 {
        // A legal block has at most 1024.
        K::BLOCK.count() as u32
    }

    fn index(&self, thread: u32) -> Dim3 {
        index_of(u64::from(thread), K::BLOCK)
    }

    /// The next thread that nobody has taken.
    #[inline]
    fn take(&self) -> Option<u32> {
        let thread = self.started.get();
        (thread < self.count()).then(|| {
            self.started.set(thread + 1);
            thread
        })
    }

    /// The first phase: starts fibers until every thread was taken. Those that reached a barrier are `waiting`
    /// afterwards, in the order of their threads.
    ///
    /// # Safety
    /// As [`BlockRunner::run`]; and the fibers in `waiting` are dropped before `self` is.
    unsafe fn start_all(&self, waiting: &mut Vec<Waiting>, stacks: &mut Stacks) -> Result<(), Fault> {
        while self.started.get() < self.count() {
            let stack = stacks.take().map_err(|error| self.no_stack(&error))?;
            // SAFETY: the fiber borrows what `self` refers to, and nothing of this frame (`move`). It is done at the
            // end of this iteration, or in `waiting`, which the caller promises to drop before `self`. What its body asks
            // for, the kernel's contract and the right processor, the caller promises too.
            let mut fiber: Fiber = unsafe {
                Coroutine::with_stack_unchecked(stack, move |yielder, ()| self.run_until_none_is_left(yielder))
            };
            match panic::on_fiber(|| fiber.resume(())) {
                CoroutineResult::Yield(()) => waiting.push(Waiting { fiber, thread: self.started.get() - 1 }),
                CoroutineResult::Return(outcome) => {
                    stacks.give(fiber.into_stack());
                    outcome.map_err(|died| self.panicked(&died))?;
                }
            }
        }
        Ok(())
    }

    /// The body of a fiber.
    ///
    /// # Safety
    /// As [`BlockRunner::run`].
    unsafe fn run_until_none_is_left(&self, yielder: &Yielder<(), ()>) -> Result<(), Died> {
        let scheduler = Barrier(yielder);
        while let Some(thread) = self.take() {
            let gpu = HostThread { thread_idx: self.index(thread), block: self.block, scheduler: &scheduler };
            // Unwind safety: a panic ends the block, and nobody looks at what its threads shared.
            // SAFETY: the caller promises that the kernel's contract holds and that the entry is for this processor.
            catch_unwind(AssertUnwindSafe(|| unsafe { (self.entry)(gpu, self.args) }))
                .map_err(|payload| Died { thread, payload })?;
        }
        Ok(())
    }

    /// A later phase: lets every waiting thread run to its next barrier or to its end. Those that reached a barrier are
    /// `waiting` afterwards, in the same order.
    fn resume_all(&self, waiting: &mut Vec<Waiting>, stacks: &mut Stacks) -> Result<(), Fault> {
        let mut some_returned = false;
        for Waiting { fiber, .. } in waiting.iter_mut() {
            if let CoroutineResult::Return(outcome) = panic::on_fiber(|| fiber.resume(())) {
                some_returned = true;
                outcome.map_err(|died| self.panicked(&died))?;
            }
        }
        if some_returned {
            waiting.extract_if(.., |one| one.fiber.done()).for_each(|one| stacks.give(one.fiber.into_stack()));
        }
        Ok(())
    }

    #[cold]
    fn panicked(&self, died: &Died) -> Fault {
        let (message, location) = panic::describe(&*died.payload);
        let (block, thread) = (self.block.block_idx, self.index(died.thread));
        Fault::Panic { kernel: K::NAME, block, thread, message, location }
    }

    #[cold]
    fn no_stack(&self, error: &std::io::Error) -> Fault {
        let (block, thread) = (self.block.block_idx, self.index(self.started.get()));
        Fault::NoStack { kernel: K::NAME, block, thread, reason: error.to_string() }
    }

    /// Some wait, but not all. `waiting` is in the order of threads, so the first that left is the first number that is
    /// not where it would be if nobody had.
    #[cold]
    fn divergence(&self, waiting: &[Waiting]) -> Fault {
        let first_gap = waiting.iter().zip(0..).find(|(one, number)| one.thread != *number);
        let left_thread = first_gap.map_or(waiting.len() as u32, |(_, number)| number);
        Fault::BarrierDivergence {
            kernel: K::NAME,
            block: self.block.block_idx,
            waiting: waiting.len() as u32,
            left: self.count() - waiting.len() as u32,
            waiting_thread: self.index(waiting[0].thread),
            left_thread: self.index(left_thread),
        }
    }
}

/// Ends fibers wherever they are: their destructors run, their stacks go back.
///
/// This is not [`panic::on_fiber`]: a destructor that panics here aborts the process, so its message must be printed.
fn unwind(waiting: Vec<Waiting>, stacks: &mut Stacks) {
    for Waiting { mut fiber, .. } in waiting {
        fiber.force_unwind();
        stacks.give(fiber.into_stack());
    }
}

/// What a thread waits at.
struct Barrier<'y>(&'y Yielder<(), ()>);

impl Scheduler for Barrier<'_> {
    fn sync_threads(&self) {
        // A destructor that waits while its thread unwinds must not suspend: the standard library counts panics per
        // OS thread, and the other fibers would run as if they panicked too. The block is lost already.
        if !thread::panicking() {
            self.0.suspend(());
        }
    }
}
