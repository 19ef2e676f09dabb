//! What goes wrong in a launch, sorted by who can act.

use gpu::device::Dim3;

use crate::limits::LimitError;

/// Why a launch was refused or ended early.
///
/// The caller can act on [`Limit`](Self::Limit) and [`Nested`](Self::Nested), which are found before anything runs; the
/// author of the kernel on [`Panic`](Self::Panic) and [`BarrierDivergence`](Self::BarrierDivergence); whoever
/// administers the machine on [`NoStack`](Self::NoStack). After the latter three global memory holds whatever the
/// blocks wrote until then.
///
/// If several blocks fault, the one with the lowest linear index is reported (`x` fastest).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The launch is beyond the device's limits. Nothing ran.
    #[error("kernel `{kernel}` does not fit the device: {limit}")]
    Limit {
        /// The kernel's name.
        kernel: &'static str,
        /// What was asked for and what is allowed.
        limit: LimitError,
    },
    /// The launch came from inside a kernel. Nothing of it ran.
    #[error("kernel `{kernel}` was launched from inside a kernel; launch it from the host")]
    Nested {
        /// The name of the kernel that was not launched.
        kernel: &'static str,
    },
    /// A thread panicked.
    #[error(
        "kernel `{kernel}`: thread {thread} of block {block} panicked{}: {message}",
        location.as_ref().map(|location| format!(" at {location}")).unwrap_or_default()
    )]
    Panic {
        /// The kernel's name.
        kernel: &'static str,
        /// The block's index in the grid.
        block: Dim3,
        /// The thread's index in the block.
        thread: Dim3,
        /// What the panic said.
        message: String,
        /// Where, as `file:line:column`; unknown if someone replaced the panic hook after the machine was made.
        location: Option<String>,
    },
    /// Some threads of a block wait at a barrier and the others have returned. A GPU may hang here, or not wait at all.
    #[error(
        "kernel `{kernel}`: {waiting} threads of block {block} wait at a barrier, among them {waiting_thread}, but \
         {left} have returned, among them {left_thread}; move the barrier out of the branch, so that all threads reach it"
    )]
    BarrierDivergence {
        /// The kernel's name.
        kernel: &'static str,
        /// The block's index in the grid.
        block: Dim3,
        /// How many threads wait.
        waiting: u32,
        /// How many have returned.
        left: u32,
        /// The first thread that waits.
        waiting_thread: Dim3,
        /// The first thread that has returned.
        left_thread: Dim3,
    },
    /// The operating system gave no stack for a thread.
    #[error(
        "kernel `{kernel}`: no stack for thread {thread} of block {block}: {reason}; take fewer workers, or raise \
         vm.max_map_count (two mappings per thread and worker)"
    )]
    NoStack {
        /// The kernel's name.
        kernel: &'static str,
        /// The block's index in the grid.
        block: Dim3,
        /// The index in the block of the thread that was to run.
        thread: Dim3,
        /// What the operating system said.
        reason: String,
    },
}
