//! The host's view of a kernel: everything that a launch needs to know, as types.
//!
//! [`kernel`](crate::kernel) implements [`Kernel`] for a handle beside each kernel function. Whoever can run kernels
//! (a CUDA stream, `simt`) implements [`Launch`]. The safe wrappers beside the kernels, such as
//! [`matmul::MatmulKernel::launch`](crate::matmul::MatmulKernel::launch), check buffers against shapes and are written
//! once for both.

use core::ffi::c_void;
use core::marker::PhantomData;
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::device::{Dim3, Element, Global, GlobalMut, Gpu, SystemWords};

mod mailbox;

pub use mailbox::MailboxSlice;

/// A kernel's typed handle. [`kernel`](crate::kernel) implements it beside the entry point, from the same declaration.
///
/// # Safety
/// Where compiled kernels have an entry point of this name, it is this kernel: it takes `Args` in this order, is made for
/// blocks of this shape and uses no more than so many bytes of dynamic shared memory. Whoever launches by name and
/// pointers relies on it.
pub unsafe trait Kernel: 'static {
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
// SAFETY: `Element` promises one layout on host and device.
unsafe impl<T: Element> Arg for T {}
// SAFETY: a transparent pointer: 64 bits on the device, and on the host, asserted below.
unsafe impl<T: Element> Arg for Global<T> {}
// SAFETY: as above.
unsafe impl<T: Element> Arg for GlobalMut<T> {}
// SAFETY: as above.
unsafe impl Arg for SystemWords {}
const _: () = assert!(size_of::<Global<u8>>() == 8, "a device address has 64 bits, and so must a pointer of the host");

/// The parameters of a kernel, as the driver wants them: an array of pointers, one to each value.
///
/// # Safety
/// `with_pointers` passes one pointer for each parameter, in order, each to a live value of the parameter's type. The
/// driver reads through them without knowing how many there are.
pub unsafe trait Args: Copy + Send + Sync + 'static {
    /// Calls `f` with a pointer to each parameter in order. The pointers live as long as the call.
    fn with_pointers<R>(&mut self, f: impl FnOnce(&mut [*mut c_void]) -> R) -> R;
}

macro_rules! args {
    ($($t:ident),+) => {
        // SAFETY: one pointer to each field of the tuple, which is borrowed for the call.
        unsafe impl<$($t: Arg),+> Args for ($($t,)+) {
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
///
/// # Safety
/// Safe wrappers such as [`MatmulKernel::launch`](crate::matmul::MatmulKernel::launch) hold `domain` against the domains
/// of the slices that they are given, and trust the answer. So all work that `launch` starts ends before the memory of
/// that domain is given back; with [`Domain::ANY`], before `launch` returns. A wrapper that delegates `launch` delegates
/// `domain` too.
pub unsafe trait Launch {
    /// Why a launch was refused or failed.
    type Error;

    /// Whose memory may be launched on: slices of another domain are refused. A scope's stream has a domain of its own,
    /// so that memory borrowed for one scope cannot be used by the stream of another, which may outlive the borrow.
    fn domain(&self) -> Domain;

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
///
/// A domain is a name, not a permission: anybody may read it, and only the unsafe constructors of slices put it on memory.
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

/// The address of a range's first element, and its length; nothing unless the range lies inside `len` elements.
fn part<T: Element>(address: u64, len: usize, Range { start, end }: Range<usize>) -> Option<(u64, usize)> {
    // Inside the memory, whose bytes fit an address.
    (start <= end && end <= len).then(|| (address + (start * size_of::<T>()) as u64, end - start))
}

impl<'a, T: Element> DeviceSlice<'a, T> {
    /// The elements of a range, for as long as all of them were lent; nothing if it reaches beyond the end or ends before
    /// it begins. Kernels that read several elements at once ask for more alignment than an element's, and check it.
    pub fn range(&self, range: Range<usize>) -> Option<DeviceSlice<'a, T>> {
        let (address, len) = part::<T>(self.address, self.len, range)?;
        Some(DeviceSlice { address, len, ..*self })
    }

    /// Names memory for machines that run a launch to its end before they return.
    ///
    /// # Safety
    /// `len` elements at `address` are aligned, initialised and readable by the machine that will launch with them for
    /// the slice's lifetime, and nothing writes them meanwhile.
    pub unsafe fn from_raw(address: u64, len: usize) -> Self {
        Self { address, len, domain: Domain::ANY, owner: PhantomData }
    }

    /// Names device memory for the work of one domain.
    ///
    /// # Safety
    /// `len` elements at `address` are aligned and readable by the domain's device until all work has ended that the
    /// domain was given during the slice's lifetime. Nothing writes them meanwhile except work that the domain orders
    /// before or after.
    pub unsafe fn from_raw_in(domain: Domain, address: u64, len: usize) -> Self {
        Self { address, len, domain, owner: PhantomData }
    }

    /// Whose work may use it.
    pub fn domain(&self) -> Domain {
        self.domain
    }

    /// Where it begins, for wrappers of kernels that ask for alignment.
    pub(crate) fn address(&self) -> u64 {
        self.address
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

impl<'a, T: Element> DeviceSliceMut<'a, T> {
    /// The elements of a range, for as long as all of them were lent: the rest is given up, so that two ranges never meet;
    /// [`reborrow`](Self::reborrow) first to keep it. Nothing if the range reaches beyond the end or ends before it begins.
    pub fn range(self, range: Range<usize>) -> Option<DeviceSliceMut<'a, T>> {
        let (address, len) = part::<T>(self.address, self.len, range)?;
        Some(DeviceSliceMut { address, len, ..self })
    }

    /// The same memory for a shorter time, so that one output can be written by several launches in turn.
    pub fn reborrow(&mut self) -> DeviceSliceMut<'_, T> {
        DeviceSliceMut { owner: PhantomData, ..*self }
    }

    /// Names memory for machines that run a launch to its end before they return.
    ///
    /// # Safety
    /// `len` elements at `address` are aligned and writable by the machine that will launch with them for the slice's
    /// lifetime, and nothing else touches them meanwhile.
    pub unsafe fn from_raw(address: u64, len: usize) -> Self {
        Self { address, len, domain: Domain::ANY, owner: PhantomData }
    }

    /// Names device memory for the work of one domain.
    ///
    /// # Safety
    /// `len` elements at `address` are aligned and writable by the domain's device until all work has ended that the
    /// domain was given during the slice's lifetime. Nothing else touches them meanwhile except work that the domain
    /// orders before or after.
    pub unsafe fn from_raw_in(domain: Domain, address: u64, len: usize) -> Self {
        Self { address, len, domain, owner: PhantomData }
    }

    /// Whose work may use it.
    pub fn domain(&self) -> Domain {
        self.domain
    }

    /// Where it begins, for wrappers of kernels that ask for alignment.
    pub(crate) fn address(&self) -> u64 {
        self.address
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
