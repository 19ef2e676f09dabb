//! Typed addresses: which memory they point into is part of the type, so a shared tile cannot be read as global.
//! They carry no length and do nothing by themselves; only [`Gpu`](super::Gpu) dereferences them.

use core::marker::PhantomData;

/// What kernels keep in memory: plain data whose every bit pattern is a value, in the same layout on host and device.
///
/// # Safety
/// No padding, no invalid bit patterns, `size_of` a power of two of at most 8 bytes, aligned to its size.
pub unsafe trait Element: Copy + Send + Sync + 'static {
    /// The type's name, for reports.
    const NAME: &'static str;
}

macro_rules! element {
    ($($t:ident)*) => { $(
        // SAFETY: a primitive number: no padding, all bit patterns valid, size 1, 2, 4 or 8 and aligned to it.
        unsafe impl Element for $t {
            const NAME: &'static str = stringify!($t);
        }
    )* };
}
element!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);

/// An element of 4 bytes, of which four make one access of 16.
///
/// # Safety
/// `size_of` is 4.
pub unsafe trait Word: Element {}
// SAFETY: 4 bytes.
unsafe impl Word for u32 {}
// SAFETY: 4 bytes.
unsafe impl Word for i32 {}
// SAFETY: 4 bytes.
unsafe impl Word for f32 {}

/// Global memory that nobody writes while the kernel runs.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct Global<T: Element>(pub(super) *const T);

/// Global memory that the kernel writes.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct GlobalMut<T: Element>(pub(super) *mut T);

impl<T: Element> Global<T> {
    /// The memory at a device address. Only a kernel that runs on that device can use it.
    pub const fn at(address: u64) -> Self {
        Self(address as usize as *const T)
    }

    /// The device address.
    pub fn address(self) -> u64 {
        self.0 as usize as u64
    }
}

impl<T: Element> GlobalMut<T> {
    /// The memory at a device address. Only a kernel that runs on that device can use it.
    pub const fn at(address: u64) -> Self {
        Self(address as usize as *mut T)
    }

    /// The device address.
    pub fn address(self) -> u64 {
        self.0 as usize as u64
    }
}

/// Words of host memory that the CPU reads and writes while the kernel works. Only loads and stores at system scope reach
/// them: there is no ordinary access, which would be a data race, and no read-modify-write, which over PCI Express is not
/// atomic against the CPU.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct SystemWords(pub(super) *mut u32);

impl SystemWords {
    /// The words at a device address. Only a kernel that runs on that device can use it.
    pub const fn at(address: u64) -> Self {
        Self(address as usize as *mut u32)
    }
}

// SAFETY: an address and nothing else; dereferencing it is `Gpu`'s business and unsafe there.
unsafe impl Send for SystemWords {}
// SAFETY: as above.
unsafe impl Sync for SystemWords {}
// SAFETY: an address and nothing else; dereferencing it is `Gpu`'s business and unsafe there.
unsafe impl<T: Element> Send for Global<T> {}
// SAFETY: as above.
unsafe impl<T: Element> Sync for Global<T> {}
// SAFETY: as above.
unsafe impl<T: Element> Send for GlobalMut<T> {}
// SAFETY: as above.
unsafe impl<T: Element> Sync for GlobalMut<T> {}

/// How an address in shared memory looks to rustc's `nvptx64` target, which knows no address spaces: 32 bits.
#[cfg(all(target_os = "cuda", not(feature = "rust-cuda")))]
pub(super) type SharedAddress = u32;
/// How an address in shared memory looks: a pointer, on the host and to rust-cuda, which infers the address space.
#[cfg(not(all(target_os = "cuda", not(feature = "rust-cuda"))))]
pub(super) type SharedAddress = *mut u8;

/// Memory shared by the threads of one block.
#[derive(Clone, Copy, Debug)]
pub struct Shared<T: Element> {
    pub(super) address: SharedAddress,
    element: PhantomData<T>,
}

impl<T: Element> Shared<T> {
    pub(super) fn at(address: SharedAddress) -> Self {
        Self { address, element: PhantomData }
    }
}
