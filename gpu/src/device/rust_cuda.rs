//! The device interface for rust-cuda: `cuda_std`, compiled by the backend rustc_codegen_nvvm.
//!
//! The backend has address spaces: a static can be placed in shared memory, and libnvvm infers from there that every
//! access through a pointer to it is `ld.shared`/`st.shared`. So shared memory is a plain pointer here, and no inline
//! assembly is needed.
//!
//! On the host this module is compiled only by the check of its names and types; nothing in it can run there.

use core::cell::UnsafeCell;
use core::mem::size_of;

use cuda_std::{GpuFloat, thread};

use super::{Dim3, Element, Global, GlobalMut, Gpu, Shared, SystemWords, Word};

unsafe extern "C" {
    /// The block's dynamic shared memory. `cuda_std::shared::dynamic_shared_mem` declares its own with a length of 16
    /// bytes, which ptxas then reserves besides the dynamic part; a declaration of length zero becomes
    /// `.extern .shared .align 16 .b8 dynamic_shared[]`, as nvcc's `extern __shared__` does.
    ///
    /// Nothing else lies in the kernels' shared memory, so its first byte is the block's first and aligned further than
    /// the 16 that the type can say here.
    #[cfg_attr(target_os = "cuda", nvvm_internal::addrspace(3))]
    #[link_name = "dynamic_shared"]
    #[allow(improper_ctypes)] // no C is involved
    static DYNAMIC_SHARED: UnsafeCell<[u128; 0]>;
}

/// The thread that executes; all of it lives in special registers.
#[derive(Clone, Copy)]
pub struct RustCudaThread(());

impl RustCudaThread {
    /// The executing thread.
    #[inline(always)]
    pub fn current() -> Self {
        Self(())
    }
}

impl Gpu for RustCudaThread {
    // One register each, not `thread::thread_idx()`: its vector type is another one in each version of `cuda_std`.
    #[inline(always)]
    fn thread_idx(self) -> Dim3 {
        Dim3::new(thread::thread_idx_x(), thread::thread_idx_y(), thread::thread_idx_z())
    }

    #[inline(always)]
    fn block_idx(self) -> Dim3 {
        Dim3::new(thread::block_idx_x(), thread::block_idx_y(), thread::block_idx_z())
    }

    #[inline(always)]
    fn block_dim(self) -> Dim3 {
        Dim3::new(thread::block_dim_x(), thread::block_dim_y(), thread::block_dim_z())
    }

    #[inline(always)]
    fn grid_dim(self) -> Dim3 {
        Dim3::new(thread::grid_dim_x(), thread::grid_dim_y(), thread::grid_dim_z())
    }

    #[inline(always)]
    fn sync_threads(self) {
        thread::sync_threads();
    }

    #[inline(always)]
    unsafe fn load4<T: Word>(self, from: Global<T>, index: usize) -> [T; 4] {
        // SAFETY: the caller's: 16 aligned bytes inside the allocation. The backend makes one access of a struct that is
        // aligned to its size.
        unsafe { from.0.add(index).cast::<Quad<T>>().read() }.0
    }

    #[inline(always)]
    unsafe fn store4<T: Word>(self, to: GlobalMut<T>, index: usize, value: [T; 4]) {
        // SAFETY: as above, and this thread alone touches them.
        unsafe { to.0.add(index).cast::<Quad<T>>().write(Quad(value)) }
    }

    #[inline(always)]
    unsafe fn atomic_add(self, to: GlobalMut<u32>, index: usize, value: u32) -> u32 {
        // SAFETY: the caller's: the element is inside the allocation and touched by atomic operations alone.
        unsafe { atomic_add(to.0.add(index), value) }
    }

    #[inline(always)]
    unsafe fn store_release_system(self, to: SystemWords, index: usize, value: u32) {
        // SAFETY: the caller's: the word is inside the allocation, which is aligned.
        unsafe { store_release_system(to.0.add(index), value) }
    }

    #[inline(always)]
    unsafe fn store_relaxed_system(self, to: SystemWords, index: usize, value: u32) {
        // SAFETY: the caller's: the word is inside the allocation, which is aligned.
        unsafe { store_relaxed_system(to.0.add(index), value) }
    }

    #[inline(always)]
    unsafe fn load_acquire_system(self, from: SystemWords, index: usize) -> u32 {
        // SAFETY: the caller's: the word is inside the allocation, which is aligned.
        unsafe { load_acquire_system(from.0.add(index)) }
    }

    #[inline(always)]
    fn nanoseconds(self) -> u64 {
        global_timer()
    }

    #[inline(always)]
    unsafe fn shared<T: Element>(self, offset: u32) -> Shared<T> {
        // The address of a foreign static is taken, its (empty) contents are not touched.
        let base = (&raw const DYNAMIC_SHARED).cast_mut().cast::<u8>();
        // SAFETY: the caller's: `offset` is not beyond what the kernel declared, and the launch provides as much.
        Shared::at(unsafe { base.add(offset as usize) })
    }

    #[inline(always)]
    unsafe fn load_shared<T: Element>(self, from: Shared<T>, index: u32) -> T {
        // SAFETY: the caller's: the element is inside the block's shared memory, aligned, and was written.
        unsafe { from.address.add(index as usize * size_of::<T>()).cast::<T>().read() }
    }

    #[inline(always)]
    unsafe fn store_shared<T: Element>(self, to: Shared<T>, index: u32, value: T) {
        // SAFETY: the caller's: the element is inside the block's shared memory and this thread alone touches it.
        unsafe { to.address.add(index as usize * size_of::<T>()).cast::<T>().write(value) }
    }

    #[inline(always)]
    fn mul_add(self, a: f32, b: f32, c: f32) -> f32 {
        GpuFloat::mul_add(a, b, c)
    }
}

/// Four words that are read and written as one.
#[repr(C, align(16))]
struct Quad<T: Word>([T; 4]);

// What `cuda_std` has nothing for. The host has no such registers; there the check of names and types ends.

#[cfg(target_os = "cuda")]
#[inline(always)]
unsafe fn atomic_add(to: *mut u32, value: u32) -> u32 {
    let before;
    // SAFETY: the caller's: `to` is touched by atomic operations alone.
    unsafe {
        core::arch::asm!("atom.global.add.u32 {0}, [{1}], {2};", out(reg32) before, in(reg64) to, in(reg32) value);
    }
    before
}

#[cfg(target_os = "cuda")]
#[inline(always)]
unsafe fn store_release_system(to: *mut u32, value: u32) {
    // SAFETY: the caller's: an aligned word of an allocation.
    unsafe { core::arch::asm!("st.release.sys.global.u32 [{0}], {1};", in(reg64) to, in(reg32) value) };
}

#[cfg(target_os = "cuda")]
#[inline(always)]
unsafe fn store_relaxed_system(to: *mut u32, value: u32) {
    // SAFETY: the caller's: an aligned word of an allocation.
    unsafe { core::arch::asm!("st.relaxed.sys.global.u32 [{0}], {1};", in(reg64) to, in(reg32) value) };
}

#[cfg(target_os = "cuda")]
#[inline(always)]
unsafe fn load_acquire_system(from: *const u32) -> u32 {
    let value;
    // SAFETY: the caller's: an aligned word of an allocation.
    unsafe { core::arch::asm!("ld.acquire.sys.global.u32 {0}, [{1}];", out(reg32) value, in(reg64) from) };
    value
}

#[cfg(target_os = "cuda")]
#[inline(always)]
fn global_timer() -> u64 {
    let now;
    // SAFETY: reads a special register.
    unsafe { core::arch::asm!("mov.u64 {0}, %globaltimer;", out(reg64) now) };
    now
}

#[cfg(not(target_os = "cuda"))]
unsafe fn atomic_add(_: *mut u32, _: u32) -> u32 {
    unreachable!("this implementation runs on a GPU alone")
}

#[cfg(not(target_os = "cuda"))]
unsafe fn store_release_system(_: *mut u32, _: u32) {
    unreachable!("this implementation runs on a GPU alone")
}

#[cfg(not(target_os = "cuda"))]
unsafe fn store_relaxed_system(_: *mut u32, _: u32) {
    unreachable!("this implementation runs on a GPU alone")
}

#[cfg(not(target_os = "cuda"))]
unsafe fn load_acquire_system(_: *const u32) -> u32 {
    unreachable!("this implementation runs on a GPU alone")
}

#[cfg(not(target_os = "cuda"))]
fn global_timer() -> u64 {
    unreachable!("this implementation runs on a GPU alone")
}
