//! The host's view of a kernel: everything that a launch needs to know, as types.
//!
//! [`kernel`](crate::kernel) implements [`Kernel`] for a handle beside each kernel function. Whoever can run kernels
//! (a CUDA stream, `simt`) implements [`Launch`]. The safe wrappers beside the kernels, such as
//! [`matmul::MatmulKernel::launch`](crate::matmul::MatmulKernel::launch), check buffers against shapes and are written
//! once for both.

use core::ffi::c_void;
use core::marker::PhantomData;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::device::{Dim3, Element, Global, GlobalMut, Gpu};

/// A kernel's typed handle. Implemented by [`kernel`](crate::kernel), never by hand.
pub trait Kernel: 'static {
    /// The entry point's name in the PTX.
    const NAME: &'static str;
    /// Threads per block.
    const BLOCK: Dim3;
    /// Bytes of shared memory per block.
    const SHARED_BYTES: u32;
    /// The parameters, in order.
    type Args: Args;

    /// Runs one thread of the kernel on the host.
    ///
    /// # Safety
    /// The kernel's own contract.
    unsafe fn run<G: Gpu>(gpu: G, args: Self::Args);
}

/// A value that a kernel takes by value.
///
/// # Safety
/// Plain data with one layout on host and device.
pub unsafe trait Arg: Copy + Send + Sync + 'static {}
// SAFETY: an element has one layout by its own contract.
unsafe impl<T: Element> Arg for T {}
// SAFETY: a transparent 64-bit address.
unsafe impl<T: Element> Arg for Global<T> {}
// SAFETY: a transparent 64-bit address.
unsafe impl<T: Element> Arg for GlobalMut<T> {}

/// The parameters of a kernel, as the driver wants them: an array of pointers, one to each value.
pub trait Args: Copy + Send + Sync + 'static {
    /// Calls `f` with a pointer to each parameter in order. The pointers live as long as the call.
    fn with_pointers<R>(&mut self, f: impl FnOnce(&mut [*mut c_void]) -> R) -> R;
}

macro_rules! args {
    ($($t:ident),+) => {
        impl<$($t: Arg),+> Args for ($($t,)+) {
            #[allow(non_snake_case)]
            fn with_pointers<R>(&mut self, f: impl FnOnce(&mut [*mut c_void]) -> R) -> R {
                let ($($t,)+) = self;
                f(&mut [$(core::ptr::from_mut($t).cast::<c_void>()),+])
            }
        }
    };
}
args!(A);
args!(A, B);
args!(A, B, C);
args!(A, B, C, D);
args!(A, B, C, D, E);
args!(A, B, C, D, E, F);
args!(A, B, C, D, E, F, G);
args!(A, B, C, D, E, F, G, H);
args!(A, B, C, D, E, F, G, H, I);
args!(A, B, C, D, E, F, G, H, I, J);
args!(A, B, C, D, E, F, G, H, I, J, K);
args!(A, B, C, D, E, F, G, H, I, J, K, L);

/// Something that runs kernels.
pub trait Launch {
    /// Why a launch was refused or failed.
    type Error;

    /// Whose memory may be launched on: slices of another domain are refused. A scope's stream has a domain of its own,
    /// so that memory borrowed for one scope cannot be used by the stream of another, which may outlive the borrow.
    fn domain(&self) -> Domain {
        Domain::ANY
    }

    /// Starts `K` over a grid of blocks. May return before the kernel has ended.
    ///
    /// # Errors
    /// The grid or the block is beyond the device's limits, or the device refuses.
    ///
    /// # Safety
    /// The kernel's own contract holds for these arguments until it has ended.
    unsafe fn launch<K: Kernel>(&self, grid: Dim3, args: K::Args) -> Result<(), Self::Error>;
}

/// A group of work that is ordered among itself and ends before the memory that it uses is given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Domain(u64);

impl Domain {
    /// For machines that run a launch to its end before they return, where order is no question.
    pub const ANY: Self = Self(0);

    /// A domain that no other call returns.
    pub fn unique() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// Device memory that a kernel may read: an address, a length in elements, and a borrow of whatever owns it.
#[derive(Clone, Copy, Debug)]
pub struct DeviceSlice<'a, T: Element> {
    address: u64,
    len: usize,
    domain: Domain,
    owner: PhantomData<&'a [T]>,
}

/// Device memory that a kernel may write: an address, a length in elements, and the only borrow of whatever owns it.
#[derive(Debug)]
pub struct DeviceSliceMut<'a, T: Element> {
    address: u64,
    len: usize,
    domain: Domain,
    owner: PhantomData<&'a mut [T]>,
}

impl<T: Element> DeviceSlice<'_, T> {
    /// Names device memory.
    ///
    /// # Safety
    /// `len` elements at `address` are readable by the device that will launch with them for the slice's lifetime, and
    /// nothing writes them meanwhile except work ordered before or after the launch.
    pub unsafe fn from_raw(address: u64, len: usize) -> Self {
        Self { address, len, domain: Domain::ANY, owner: PhantomData }
    }

    /// The same memory, for work in one domain only.
    pub fn in_domain(self, domain: Domain) -> Self {
        Self { domain, ..self }
    }

    /// Whose work may use it.
    pub fn domain(&self) -> Domain {
        self.domain
    }

    /// Elements.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The kernel's argument.
    pub fn global(&self) -> Global<T> {
        Global::at(self.address)
    }
}

impl<T: Element> DeviceSliceMut<'_, T> {
    /// The same memory for a shorter time, so that one output can be written by several launches in turn.
    pub fn reborrow(&mut self) -> DeviceSliceMut<'_, T> {
        DeviceSliceMut { owner: PhantomData, ..*self }
    }

    /// Names device memory.
    ///
    /// # Safety
    /// `len` elements at `address` are writable by the device that will launch with them for the slice's lifetime, and
    /// nothing else touches them meanwhile except work ordered before or after the launch.
    pub unsafe fn from_raw(address: u64, len: usize) -> Self {
        Self { address, len, domain: Domain::ANY, owner: PhantomData }
    }

    /// The same memory, for work in one domain only.
    pub fn in_domain(self, domain: Domain) -> Self {
        Self { domain, ..self }
    }

    /// Whose work may use it.
    pub fn domain(&self) -> Domain {
        self.domain
    }

    /// Elements.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The kernel's argument.
    pub fn global(&mut self) -> GlobalMut<T> {
        GlobalMut::at(self.address)
    }
}
