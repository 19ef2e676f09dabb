//! The machine: its workers, and how a launch is spread over them.

use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::{fmt, io};

use gpu::device::Dim3;
use gpu::launch::{Domain, Kernel, Launch};
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::block::BlockRunner;
use crate::dispatch::Dispatch;
use crate::entry::{self, Entry};
use crate::fault::Fault;
use crate::limits;
use crate::panic;
use crate::shared::SharedMemory;
use crate::stacks::Stacks;

/// Workers of a machine at most.
///
/// A stack is two memory mappings (the guard page and the rest), a block has up to 1024 threads, and each worker runs
/// one block: 16 workers make 2 · 1024 · 16 = 32,768 mappings, half of what Linux allows a process (vm.max_map_count
/// = 65,530). The other half is for everybody else: allocator, libraries, a second machine.
const MAX_WORKERS: usize = 16;

/// A CUDA-shaped device made of operating-system threads.
///
/// One machine serves any number of threads of the host at once: `&Simt` is all that a launch needs. The launches
/// then share the workers. What a machine allocates (stacks, shared memory) it keeps for the next launch and frees
/// when it is dropped.
pub struct Simt {
    pool: ThreadPool,
    /// What the worker with that index in the pool runs blocks with.
    workers: Box<[Mutex<Worker>]>,
}

/// What outlives a launch on one worker. Its mutex is never contended, for only that worker takes it.
#[derive(Default)]
struct Worker {
    stacks: Stacks,
    shared: SharedMemory,
}

/// A machine needs at least one thread of its own, and the operating system starts none.
#[derive(Debug, thiserror::Error)]
#[error(
    "the operating system starts no thread: {reason}. `ulimit -u`, or pids.max of the control group, allows no more"
)]
pub struct StartError {
    #[source]
    reason: io::Error,
}

impl Simt {
    /// A machine with a worker for every core, at most 16.
    ///
    /// # Errors
    /// As [`with_workers`](Self::with_workers).
    pub fn new() -> Result<Self, StartError> {
        Self::with_workers(thread::available_parallelism().map_or(1, NonZeroUsize::get))
    }

    /// A machine with `workers` workers, but at least 1 and at most 16; with fewer where the operating system does not
    /// start that many threads.
    ///
    /// # Errors
    /// The operating system starts not even one thread.
    pub fn with_workers(workers: usize) -> Result<Self, StartError> {
        panic::install_hook();
        let mut count = workers.clamp(1, MAX_WORKERS);
        let pool = loop {
            match start_pool(count) {
                Ok(pool) => break pool,
                // Half and not one less: a system short of threads is not asked sixteen times, and others get some.
                Err(_) if count > 1 => count /= 2,
                Err(reason) => return Err(StartError { reason }),
            }
        };
        Ok(Self { pool, workers: (0..count).map(|_| Mutex::default()).collect() })
    }

    /// How many blocks run at once.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.workers.len()
    }

    /// Runs `K` over a grid of blocks and returns when all of them have ended.
    ///
    /// # Errors
    /// The launch is beyond the device's limits, or a block faulted; see [`Fault`].
    ///
    /// # Safety
    /// The kernel's own contract holds for these arguments, and the addresses among them are host pointers.
    pub unsafe fn launch<K: Kernel>(&self, grid: Dim3, args: K::Args) -> Result<(), Fault> {
        limits::check::<K>(grid).map_err(|limit| Fault::Limit { kernel: K::NAME, limit })?;
        // It would run on the calling thread's 64 KiB of stack and wait for a worker that waits for it.
        if panic::is_on_fiber() {
            return Err(Fault::Nested { kernel: K::NAME });
        }
        let dispatch = Dispatch::new(grid, self.workers());
        let entry = entry::best::<K>();
        let jobs = dispatch.blocks().min(self.workers() as u64);
        self.pool.in_place_scope(|scope| {
            for _ in 0..jobs {
                // SAFETY: the kernel's contract is the caller's promise, and `best` chose the entry on this processor.
                scope.spawn(|_| unsafe { self.work::<K>(&dispatch, entry, args) });
            }
        });
        dispatch.into_result()
    }

    /// Runs blocks on the calling worker until none is left. A fiber must not change its OS thread, and does not: it is
    /// resumed nowhere but in here, and here nothing is handed to the pool.
    ///
    /// # Safety
    /// The kernel's contract holds for the arguments, and the entry is for this processor.
    unsafe fn work<K: Kernel>(&self, dispatch: &Dispatch, entry: Entry<K>, args: K::Args) {
        let index = self.pool.current_thread_index().expect("jobs of the pool run on its threads");
        let mut worker = self.workers[index].lock().unwrap_or_else(PoisonError::into_inner);
        let Worker { stacks, shared } = &mut *worker;
        let mut runner = BlockRunner::<K> { entry, args, grid: dispatch.grid(), stacks, shared };
        while let Some(chunk) = dispatch.next_chunk() {
            for block in chunk {
                if dispatch.is_moot(block) {
                    return;
                }
                // SAFETY: the caller promises the kernel's contract and that the entry is for this processor.
                let outcome = unsafe { runner.run(dispatch.index(block), || dispatch.is_moot(block)) };
                if let Err(fault) = outcome {
                    dispatch.report(block, fault);
                }
            }
        }
    }
}

/// Starts all of these threads, or none: those of a failed attempt have ended when it returns, and count against no
/// limit in the next.
fn start_pool(count: usize) -> io::Result<ThreadPool> {
    let mut started = Vec::with_capacity(count);
    let pool = ThreadPoolBuilder::new()
        .num_threads(count)
        .spawn_handler(|worker| {
            let named = thread::Builder::new().name(format!("simt-{}", worker.index()));
            started.push(named.spawn(|| worker.run())?);
            Ok(())
        })
        .build();
    pool.map_err(|error| {
        for worker in started {
            // It ran nothing but the pool's loop; how it ended is no news.
            let _ = worker.join();
        }
        io::Error::other(error)
    })
}

// SAFETY: a launch waits for all of its workers, so nothing of it runs when it returns.
unsafe impl Launch for Simt {
    type Error = Fault;

    fn domain(&self) -> Domain {
        Domain::ANY
    }

    unsafe fn launch<K: Kernel>(&self, grid: Dim3, args: K::Args) -> Result<(), Fault> {
        // SAFETY: the caller promises the kernel's contract; slices for `Domain::ANY` are made of host pointers.
        unsafe { Simt::launch::<K>(self, grid, args) }
    }
}

impl fmt::Debug for Simt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simt").field("workers", &self.workers()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_shared_between_threads() {
        fn shared<T: Send + Sync>() {}
        shared::<Simt>();
    }

    #[test]
    fn the_number_of_workers_is_kept_within_its_bounds() {
        assert_eq!(
            [0, 1, 3, 1000].map(|asked| Simt::with_workers(asked).expect("threads").workers()),
            [1, 1, 3, MAX_WORKERS]
        );
    }
}
