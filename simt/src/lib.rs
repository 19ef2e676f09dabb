//! A CUDA-shaped device in plain Rust: it runs the kernels of [`gpu`] on the CPU.
//!
//! | CUDA | here |
//! |---|---|
//! | device | a [`Simt`]: a pool of operating-system threads, its *workers* |
//! | grid | a counter from which the workers draw blocks, `x` fastest |
//! | block | runs on one worker from its first thread to its last |
//! | thread | a fiber: a stack of its own, suspended and resumed at barriers, without the operating system |
//! | `__syncthreads` | suspends the fiber; when all fibers of the block are suspended, all are resumed, in order |
//! | shared memory | a buffer per worker, filled with NaN before each block |
//! | global memory | the process's own: a device address is a host pointer |
//! | launch limits | CUDA's own, those of compute capability 9.0, checked before anything runs |
//! | trap, sticky error, hang | a [`Fault`] that names kernel, block and thread; the machine stays usable |
//!
//! The threads of a block run one after another, always in the same order, so a kernel computes the same bits at every
//! launch, races included, and a fault is reported for the same block and thread each time. What depends on real
//! simultaneity does not show here: a race that the order happens to hide stays hidden.
//!
//! # Example
//! A = 2×3, B = 3×2, through the rung that needs barriers and shared memory:
//! ```
//! use gpu::launch::{DeviceSlice, DeviceSliceMut};
//! use gpu::matmul::{MatmulKernel, Shape};
//! use simt::Simt;
//!
//! let simt = Simt::new()?;
//! let shape = Shape::new(2, 2, 3)?;
//! let (a, b) = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0_f32], [7.0, 8.0, 9.0, 10.0, 11.0, 12.0_f32]);
//! let mut c = [f32::NAN; 4];
//!
//! // SAFETY: the addresses and lengths of live arrays; `c` is borrowed by nobody else until the launch returns.
//! let (device_a, device_b, device_c) = unsafe {
//!     (
//!         DeviceSlice::from_raw(a.as_ptr().expose_provenance() as u64, a.len()),
//!         DeviceSlice::from_raw(b.as_ptr().expose_provenance() as u64, b.len()),
//!         DeviceSliceMut::from_raw(c.as_mut_ptr().expose_provenance() as u64, c.len()),
//!     )
//! };
//! MatmulKernel::Tiled.launch(&simt, shape, device_a, device_b, device_c)?;
//! assert_eq!(c, [58.0, 64.0, 139.0, 154.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What a kernel may do
//! - **Return at different times**, but not while others wait: a barrier that some threads of the block never reach is
//!   [`Fault::BarrierDivergence`], where a GPU would hang or go on with half the data.
//! - **Panic**: index out of bounds, arithmetic overflow, `panic!`. The block ends, destructors of all its threads run,
//!   blocks beyond it do not start, and the launch returns [`Fault::Panic`] with message and place. Nothing is printed.
//! - **Use 64 KiB of stack** per thread. Below lies a guard page, so more ends the process with a segmentation fault.
//! - **Not launch kernels**: that is [`Fault::Nested`].
//!
//! # How it is fast
//! Two ideas carry it. A fiber takes threads until one of them waits (`block`), so a kernel without
//! barriers runs a whole block on one stack without a switch. And a thread is entered through a copy of the kernel that
//! is compiled for AVX2 and FMA if the processor has them, so that `mul_add` is an instruction and not a call.
//!
//! # Layout
//! | module | what is there |
//! |---|---|
//! | `machine` | [`Simt`]: workers, launch |
//! | `dispatch` | which block is next, and which fault counts |
//! | `block` | one block: fibers, phases between barriers |
//! | `entry` | one thread: the copy of the kernel that this processor runs best |
//! | `stacks` | the fibers' stacks, reused |
//! | `shared` | a block's shared memory |
//! | `panic` | panics on fibers: silent, with their place |
//! | `limits`, `fault` | what is refused and what goes wrong |

mod block;
mod dispatch;
mod entry;
mod fault;
mod limits;
mod machine;
mod panic;
mod shared;
mod stacks;

pub use fault::Fault;
pub use limits::LimitError;
pub use machine::{Simt, StartError};
