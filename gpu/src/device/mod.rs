//! What a kernel may ask of the machine it runs on.
//!
//! A kernel takes `gpu: impl Gpu` and touches memory only through it, so that one source serves every implementation:
//!
//! | implementation | compiled by | runs on |
//! |---|---|---|
//! | `nvptx` | rustc, target `nvptx64-nvidia-cuda` | the GPU |
//! | `rust_cuda` | rust-cuda's codegen backend, through `cuda_std` | the GPU |
//! | [`host`] | rustc, the host's target | `simt`, one fiber per thread |
//!
//! Index arithmetic follows CUDA: a *grid* of *blocks* of *threads*, `x` fastest.

#[cfg(not(target_os = "cuda"))]
pub mod host;
mod memory;
#[cfg(all(target_os = "cuda", not(feature = "rust-cuda")))]
mod nvptx;
#[cfg(feature = "rust-cuda")]
mod rust_cuda;

pub use memory::{Element, Global, GlobalMut, Shared, SystemWords, Word};
#[cfg(all(target_os = "cuda", not(feature = "rust-cuda")))]
pub use nvptx::{NvptxThread as DeviceThread, trap};
#[cfg(feature = "rust-cuda")]
pub use rust_cuda::RustCudaThread as DeviceThread;

/// Extents or an index in up to three dimensions, `x` fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dim3 {
    /// Fastest: neighbouring `x` are neighbouring lanes of a warp.
    pub x: u32,
    /// Middle.
    pub y: u32,
    /// Slowest.
    pub z: u32,
}

impl Dim3 {
    /// `(x, y, z)`.
    pub const fn new(x: u32, y: u32, z: u32) -> Self {
        Self { x, y, z }
    }

    /// How many cells the extents span. Up to 2⁶³ for a legal grid, so 128 bits never overflow.
    pub const fn count(self) -> u128 {
        self.x as u128 * self.y as u128 * self.z as u128
    }
}

impl core::fmt::Display for Dim3 {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "({}, {}, {})", self.x, self.y, self.z)
    }
}

/// One thread's view of the machine.
///
/// The methods that touch memory are `unsafe` and unchecked: a bounds check at every access costs more than the
/// access (a kernel written with slices runs at 40 % of its speed). What makes them sound is checked once, at the
/// boundary: the launch wrapper on the host compares every buffer with the shape before the kernel starts.
pub trait Gpu: Copy {
    /// This thread's index in its block.
    fn thread_idx(self) -> Dim3;
    /// This block's index in the grid.
    fn block_idx(self) -> Dim3;
    /// Threads per block.
    fn block_dim(self) -> Dim3;
    /// Blocks in the grid.
    fn grid_dim(self) -> Dim3;

    /// Waits until every thread of the block has arrived; what they wrote before is then visible to all of them.
    ///
    /// Every thread of the block must reach the same barrier. A barrier inside a branch that only some threads take
    /// hangs on hardware; `simt` reports it.
    fn sync_threads(self);

    /// Reads element `index` of global memory.
    ///
    /// # Safety
    /// `index` is inside the allocation, and no thread writes the element during the launch.
    #[inline(always)]
    unsafe fn load<T: Element>(self, from: Global<T>, index: usize) -> T {
        // SAFETY: the caller's: `index` is inside the allocation and nobody writes it.
        unsafe { from.0.add(index).read() }
    }

    /// Writes element `index` of global memory.
    ///
    /// # Safety
    /// `index` is inside the allocation, and no other thread reads or writes the element during the launch, unless a
    /// barrier lies between the two and they are of one block.
    #[inline(always)]
    unsafe fn store<T: Element>(self, to: GlobalMut<T>, index: usize, value: T) {
        // SAFETY: the caller's: `index` is inside the allocation and this thread alone touches it.
        unsafe { to.0.add(index).write(value) }
    }

    /// Reads element `index` of memory that the kernel also writes.
    ///
    /// # Safety
    /// `index` is inside the allocation, and no other thread writes the element during the launch, unless a barrier lies
    /// between the two and they are of one block.
    #[inline(always)]
    unsafe fn load_mut<T: Element>(self, from: GlobalMut<T>, index: usize) -> T {
        // SAFETY: the caller's: `index` is inside the allocation and nobody else writes it.
        unsafe { from.0.add(index).read() }
    }

    /// Reads four neighbouring words in one access of 16 bytes, the widest there is.
    ///
    /// # Safety
    /// `index` is a multiple of 4 in an allocation aligned to 16 bytes, `index + 3` is inside it, and no thread writes the
    /// four during the launch.
    unsafe fn load4<T: Word>(self, from: Global<T>, index: usize) -> [T; 4];

    /// Writes four neighbouring words in one access of 16 bytes.
    ///
    /// # Safety
    /// As for [`load4`](Self::load4), and no other thread touches the four during the launch.
    unsafe fn store4<T: Word>(self, to: GlobalMut<T>, index: usize, value: [T; 4]);

    /// Adds to element `index` of global memory in one step that no other addition comes between; returns what was there.
    /// Device-wide, and orders nothing else.
    ///
    /// # Safety
    /// `index` is inside the allocation, which is device memory, and the element is touched only by atomic operations during
    /// the launch. Over PCI Express an addition to host memory is not atomic against the host.
    unsafe fn atomic_add(self, to: GlobalMut<u32>, index: usize, value: u32) -> u32;

    /// Writes word `index` so that everything that this thread wrote before, and what other threads wrote before a barrier
    /// that this one has passed, is seen by whoever reads the value with acquire: on this device, another, or the CPU.
    ///
    /// # Safety
    /// `index` is inside the allocation.
    unsafe fn store_release_system(self, to: SystemWords, index: usize, value: u32);

    /// Writes word `index` whole and orders nothing: other processors may see it before what was written earlier.
    ///
    /// # Safety
    /// `index` is inside the allocation.
    unsafe fn store_relaxed_system(self, to: SystemWords, index: usize, value: u32);

    /// Reads word `index`; what is read or written later comes after everything that whoever wrote the value with release
    /// did before.
    ///
    /// # Safety
    /// `index` is inside the allocation.
    unsafe fn load_acquire_system(self, from: SystemWords, index: usize) -> u32;

    /// A clock that all threads share, in nanoseconds. Its steps may be as coarse as a microsecond.
    fn nanoseconds(self) -> u64;

    /// The block's shared memory from byte `offset` on, seen as elements of `T`. Its contents are undefined until
    /// written; `simt` fills it with a NaN pattern.
    ///
    /// # Safety
    /// `offset` is a multiple of `T`'s size and not beyond what the kernel declared.
    unsafe fn shared<T: Element>(self, offset: u32) -> Shared<T>;

    /// Reads element `index` of shared memory.
    ///
    /// # Safety
    /// The element is inside what the kernel declared, was written, and a barrier separates that write from this
    /// read unless this thread wrote it.
    unsafe fn load_shared<T: Element>(self, from: Shared<T>, index: u32) -> T;

    /// Writes element `index` of shared memory.
    ///
    /// # Safety
    /// The element is inside what the kernel declared, and barriers separate this write from every access of other
    /// threads.
    unsafe fn store_shared<T: Element>(self, to: Shared<T>, index: u32, value: T);

    /// `a · b + c` with one rounding. Neither rustc nor LLVM contracts a product and a sum by itself, so kernels say
    /// it: on the GPU this is one `fma.rn.f32`.
    fn mul_add(self, a: f32, b: f32, c: f32) -> f32;
}

/// Repeats a body with `$i` bound to each constant from 0, so that every index in it is a literal.
///
/// LLVM does not unroll a loop around inline assembly, and on the `nvptx64` target shared memory is reached through
/// inline assembly. A loop that must be unrolled (offsets become immediates, accumulators stay in registers) is
/// therefore written `unroll!(i in 0..32 => body)`. The bounds known are 2, 4, 8, 16 and 32.
#[macro_export]
macro_rules! unroll {
    ($i:ident in 0..2 => $body:expr) => { $crate::unroll!(@2 $i, 0u32, $body) };
    ($i:ident in 0..4 => $body:expr) => { $crate::unroll!(@4 $i, 0u32, $body) };
    ($i:ident in 0..8 => $body:expr) => { $crate::unroll!(@8 $i, 0u32, $body) };
    ($i:ident in 0..16 => $body:expr) => { $crate::unroll!(@16 $i, 0u32, $body) };
    ($i:ident in 0..32 => $body:expr) => {{
        $crate::unroll!(@16 $i, 0u32, $body);
        $crate::unroll!(@16 $i, 16u32, $body);
    }};
    (@16 $i:ident, $from:expr, $body:expr) => {{
        $crate::unroll!(@8 $i, $from, $body);
        $crate::unroll!(@8 $i, $from + 8, $body);
    }};
    (@8 $i:ident, $from:expr, $body:expr) => {{
        $crate::unroll!(@4 $i, $from, $body);
        $crate::unroll!(@4 $i, $from + 4, $body);
    }};
    (@4 $i:ident, $from:expr, $body:expr) => {{
        $crate::unroll!(@2 $i, $from, $body);
        $crate::unroll!(@2 $i, $from + 2, $body);
    }};
    (@2 $i:ident, $from:expr, $body:expr) => {{
        { const $i: u32 = $from; $body; }
        { const $i: u32 = $from + 1; $body; }
    }};
}
