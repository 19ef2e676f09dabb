//! The threads that matrices are made and verified on: rayon's global pool, started so that it never panics.
//!
//! Left to itself, rayon starts the pool at its first use and panics if the operating system starts fewer threads than
//! there are cores (`ulimit -u`, pids.max).

use std::num::NonZeroUsize;
use std::sync::Once;
use std::sync::mpsc::channel;
use std::thread;

/// Starts the pool, with fewer threads than cores if need be; called before each use. Where someone has started it, or
/// the caller is in a pool of its own, nothing changes.
pub(crate) fn start() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        let wanted = wanted();
        let pool = match startable(wanted) {
            all if all == wanted => rayon::ThreadPoolBuilder::new().num_threads(all),
            // The calling thread does the work, and there is no other that could ask for it.
            0 | 1 => rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread(),
            // One is left for whoever comes next, such as a progress bar.
            some => rayon::ThreadPoolBuilder::new().num_threads(some - 1),
        };
        // An error says that the pool is there already.
        let _ = pool.build_global();
    });
}

/// What rayon would start: RAYON_NUM_THREADS, or a thread for every core.
fn wanted() -> usize {
    let asked = std::env::var("RAYON_NUM_THREADS").ok().and_then(|text| text.parse().ok()).filter(|&asked| asked > 0);
    asked.unwrap_or_else(|| thread::available_parallelism().map_or(1, NonZeroUsize::get))
}

/// How many threads, up to `wanted`, the operating system starts: they are started, and ended again.
pub(crate) fn startable(wanted: usize) -> usize {
    let mut threads = Vec::new();
    for _ in 0..wanted {
        let (release, released) = channel::<()>();
        // It waits until its sender is gone, so that all are there at once.
        let Ok(thread) = thread::Builder::new().stack_size(64 << 10).spawn(move || released.recv()) else { break };
        threads.push((release, thread));
    }
    let count = threads.len();
    for (release, thread) in threads {
        drop(release);
        let _ = thread.join();
    }
    count
}

#[cfg(test)]
mod tests {
    #[test]
    fn threads_are_counted_and_the_pool_starts() {
        assert_eq!(super::startable(3), 3);
        super::start();
        super::start();
        assert!(rayon::current_num_threads() > 0);
    }
}
