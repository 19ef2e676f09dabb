//! The device interface for rustc's `nvptx64-nvidia-cuda` target.
//!
//! Rust has no address spaces, so shared memory is one dynamic array declared in PTX, reached through inline
//! `ld.shared`/`st.shared`. A generic pointer to it would work too, but every access would be a generic `LD`/`ST`.

use core::arch::{asm, global_asm, nvptx};
use core::mem::{MaybeUninit, size_of};

use super::{Dim3, Element, Global, GlobalMut, Gpu, Shared, SystemWords, Word};

global_asm!(".extern .shared .align 128 .b8 dynamic_shared[];");

/// The thread that executes; all of it lives in special registers.
#[derive(Clone, Copy)]
pub struct NvptxThread(());

impl NvptxThread {
    /// The executing thread.
    #[inline(always)]
    pub fn current() -> Self {
        Self(())
    }
}

/// Ends the kernel with a launch failure.
#[inline(always)]
pub fn trap() -> ! {
    // SAFETY: has no precondition; it ends the kernel.
    unsafe { nvptx::trap() }
}

impl Gpu for NvptxThread {
    #[inline(always)]
    fn thread_idx(self) -> Dim3 {
        // SAFETY: reads special registers, which every thread has.
        unsafe { Dim3::new(nvptx::_thread_idx_x(), nvptx::_thread_idx_y(), nvptx::_thread_idx_z()) }
    }

    #[inline(always)]
    fn block_idx(self) -> Dim3 {
        // SAFETY: reads special registers, which every thread has.
        unsafe { Dim3::new(nvptx::_block_idx_x(), nvptx::_block_idx_y(), nvptx::_block_idx_z()) }
    }

    #[inline(always)]
    fn block_dim(self) -> Dim3 {
        // SAFETY: reads special registers, which every thread has.
        unsafe { Dim3::new(nvptx::_block_dim_x(), nvptx::_block_dim_y(), nvptx::_block_dim_z()) }
    }

    #[inline(always)]
    fn grid_dim(self) -> Dim3 {
        // SAFETY: reads special registers, which every thread has.
        unsafe { Dim3::new(nvptx::_grid_dim_x(), nvptx::_grid_dim_y(), nvptx::_grid_dim_z()) }
    }

    #[inline(always)]
    fn sync_threads(self) {
        // SAFETY: `bar.sync 0` touches no memory. It is assembly without `nomem`, not the intrinsic, so that LLVM
        // moves no access to memory across it.
        unsafe { asm!("bar.sync 0;", options(nostack, preserves_flags)) }
    }

    #[inline(always)]
    unsafe fn load4<T: Word>(self, from: Global<T>, index: usize) -> [T; 4] {
        let (a, b, c, d): (u32, u32, u32, u32);
        // SAFETY: the caller's: 16 aligned bytes inside the allocation, which nobody writes, so they may come through the
        // read-only path. LLVM does not always merge four reads into one access, so the access is spelled out.
        unsafe {
            let address = from.0.add(index);
            asm!("ld.global.nc.v4.b32 {{{0}, {1}, {2}, {3}}}, [{4}];", out(reg32) a, out(reg32) b, out(reg32) c,
                out(reg32) d, in(reg64) address, options(pure, readonly, nostack, preserves_flags));
            core::mem::transmute_copy(&[a, b, c, d])
        }
    }

    #[inline(always)]
    unsafe fn store4<T: Word>(self, to: GlobalMut<T>, index: usize, value: [T; 4]) {
        // SAFETY: the caller's: 16 aligned bytes inside the allocation, which this thread alone touches; a `Word` is 4 bytes.
        unsafe {
            let [a, b, c, d]: [u32; 4] = core::mem::transmute_copy(&value);
            let address = to.0.add(index);
            asm!("st.global.v4.b32 [{0}], {{{1}, {2}, {3}, {4}}};", in(reg64) address, in(reg32) a, in(reg32) b,
                in(reg32) c, in(reg32) d, options(nostack, preserves_flags));
        }
    }

    #[inline(always)]
    unsafe fn atomic_add(self, to: GlobalMut<u32>, index: usize, value: u32) -> u32 {
        let before;
        // SAFETY: the caller's: the element is inside the allocation and touched by atomic operations alone.
        unsafe {
            let address = to.0.add(index);
            asm!("atom.global.add.u32 {0}, [{1}], {2};", out(reg32) before, in(reg64) address, in(reg32) value,
                options(nostack, preserves_flags));
        }
        before
    }

    // Assembly, because LLVM's scopes are out of stable Rust's reach. Not `nomem`, so that LLVM moves no access to memory
    // across it.
    #[inline(always)]
    unsafe fn store_release_system(self, to: SystemWords, index: usize, value: u32) {
        // SAFETY: the caller's: the word is inside the allocation, which is aligned.
        unsafe {
            let address = to.0.add(index);
            asm!("st.release.sys.global.u32 [{0}], {1};", in(reg64) address, in(reg32) value,
                options(nostack, preserves_flags));
        }
    }

    #[inline(always)]
    unsafe fn store_relaxed_system(self, to: SystemWords, index: usize, value: u32) {
        // SAFETY: the caller's: the word is inside the allocation, which is aligned.
        unsafe {
            let address = to.0.add(index);
            asm!("st.relaxed.sys.global.u32 [{0}], {1};", in(reg64) address, in(reg32) value,
                options(nostack, preserves_flags));
        }
    }

    #[inline(always)]
    unsafe fn load_acquire_system(self, from: SystemWords, index: usize) -> u32 {
        let value;
        // SAFETY: the caller's: the word is inside the allocation, which is aligned.
        unsafe {
            let address = from.0.add(index);
            asm!("ld.acquire.sys.global.u32 {0}, [{1}];", out(reg32) value, in(reg64) address,
                options(nostack, preserves_flags));
        }
        value
    }

    #[inline(always)]
    fn nanoseconds(self) -> u64 {
        let now;
        // SAFETY: reads a special register. Not pure: it differs each time.
        unsafe { asm!("mov.u64 {0}, %globaltimer;", out(reg64) now, options(nomem, nostack, preserves_flags)) };
        now
    }

    #[inline(always)]
    unsafe fn shared<T: Element>(self, offset: u32) -> Shared<T> {
        let base: u32;
        // SAFETY: copies the address of the array that `global_asm` declares above into a register, and reads no memory.
        unsafe { asm!("mov.u32 {0}, dynamic_shared;", out(reg32) base, options(pure, nomem, nostack, preserves_flags)) }
        Shared::at(base + offset)
    }

    #[inline(always)]
    unsafe fn load_shared<T: Element>(self, from: Shared<T>, index: u32) -> T {
        let address = from.address + index * size_of::<T>() as u32;
        let mut value = MaybeUninit::<T>::uninit();
        // SAFETY: the caller's: the element is inside the shared array and was written. The value is moved as bits of
        // its own size, and every bit pattern is an `Element`.
        unsafe {
            match size_of::<T>() {
                1 => {
                    let bits: u16;
                    asm!("ld.shared.u8 {0}, [{1}];", out(reg16) bits, in(reg32) address,
                        options(pure, readonly, nostack, preserves_flags));
                    value.as_mut_ptr().cast::<u8>().write(bits as u8);
                }
                2 => {
                    let bits: u16;
                    asm!("ld.shared.b16 {0}, [{1}];", out(reg16) bits, in(reg32) address,
                        options(pure, readonly, nostack, preserves_flags));
                    value.as_mut_ptr().cast::<u16>().write(bits);
                }
                4 => {
                    let bits: u32;
                    asm!("ld.shared.b32 {0}, [{1}];", out(reg32) bits, in(reg32) address,
                        options(pure, readonly, nostack, preserves_flags));
                    value.as_mut_ptr().cast::<u32>().write(bits);
                }
                _ => {
                    let bits: u64;
                    asm!("ld.shared.b64 {0}, [{1}];", out(reg64) bits, in(reg32) address,
                        options(pure, readonly, nostack, preserves_flags));
                    value.as_mut_ptr().cast::<u64>().write(bits);
                }
            }
            value.assume_init()
        }
    }

    #[inline(always)]
    unsafe fn store_shared<T: Element>(self, to: Shared<T>, index: u32, value: T) {
        let address = to.address + index * size_of::<T>() as u32;
        let value = &raw const value;
        // SAFETY: the caller's: the element is inside the shared array and this thread alone touches it until the
        // next barrier. The value is moved as bits of its own size.
        unsafe {
            match size_of::<T>() {
                1 => {
                    asm!("st.shared.u8 [{0}], {1};", in(reg32) address, in(reg16) u16::from(value.cast::<u8>().read()),
                    options(nostack, preserves_flags))
                }
                2 => asm!("st.shared.b16 [{0}], {1};", in(reg32) address, in(reg16) value.cast::<u16>().read(),
                    options(nostack, preserves_flags)),
                4 => asm!("st.shared.b32 [{0}], {1};", in(reg32) address, in(reg32) value.cast::<u32>().read(),
                    options(nostack, preserves_flags)),
                _ => asm!("st.shared.b64 [{0}], {1};", in(reg32) address, in(reg64) value.cast::<u64>().read(),
                    options(nostack, preserves_flags)),
            }
        }
    }

    #[inline(always)]
    fn mul_add(self, a: f32, b: f32, c: f32) -> f32 {
        core::f32::math::mul_add(a, b, c)
    }
}
