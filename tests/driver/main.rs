//! The driver module, with no driver and with the fake one; and the fake itself.

use std::ptr;

use cpu::driver;
use cust::context::Context;
use cust::stream::{Stream, StreamFlags};
use cust::sys;

#[path = "../support/fake.rs"]
mod fake;

/// Calls a driver function that needs no more explanation than its name, and makes its code a result.
macro_rules! cu {
    ($call:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: each test passes what the function's documentation asks for, or what the fake is to refuse.
        driver::call(stringify!($call), unsafe { sys::$call($($argument),*) })
    };
}

mod kernels;
mod library;
mod memory;
mod misuse;
mod streams;

const PTX: &str = "\
.version 7.0
.target sm_80
.address_size 64
.visible .entry matmul_plain(
    .param .u64 .ptr .global .align 4 a, .param .u64 b, .param .u64 c,
    .param .u32 m, .param .u32 n, .param .u32 k
)
{ ret; }
.visible .entry nothing()
{ ret; }
";

/// Ten bytes are enough for most.
fn device_memory(bytes: usize) -> u64 {
    let mut address = 0;
    cu!(cuMemAlloc_v2(&mut address, bytes)).unwrap();
    address
}

fn pinned(bytes: usize, flags: u32) -> *mut u8 {
    let mut address = ptr::null_mut();
    cu!(cuMemHostAlloc(&mut address, bytes, flags)).unwrap();
    address.cast()
}

fn context() -> Context {
    cust::quick_init().unwrap()
}

fn stream() -> Stream {
    Stream::new(StreamFlags::NON_BLOCKING, None).unwrap()
}
