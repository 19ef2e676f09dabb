//! What kernels do: `matmul_…` computes, `access_…` touches memory, others do nothing.

use crate::access;
use crate::error;
use crate::state::State;

/// Runs a kernel over so many threads.
pub fn run(state: &mut State, function: usize, arguments: &[u64], threads: usize) -> Result<(), i32> {
    match state.functions.get(&function).map(|function| function.name.clone()) {
        Some(name) if name.starts_with("access_") => access::run(state, &name, threads, arguments),
        _ => matmul(state, function, arguments),
    }
}

/// C = A·B for row-major f32, A: m×k, B: k×n.
fn matmul(state: &mut State, function: usize, arguments: &[u64]) -> Result<(), i32> {
    let Some(function) = state.functions.get(&function) else { return Ok(()) };
    let &[a, b, c, m, n, k] = arguments else { return Ok(()) };
    if !function.name.starts_with("matmul_") || function.parameters != [8, 8, 8, 4, 4, 4] {
        return Ok(());
    }
    let name = function.name.clone();
    let (m, n, k) = (m as usize, n as usize, k as usize);
    let mut at = |address: u64, elements: usize| {
        let bytes = elements.checked_mul(4).ok_or(error::ILLEGAL_ADDRESS)?;
        let place = state.device_place(&name, address, bytes).map_err(|_| error::ILLEGAL_ADDRESS)?;
        if address % 4 == 0 { Ok(place.host) } else { Err(error::MISALIGNED_ADDRESS) }
    };
    let (a, b, c) = (at(a, m * k)?, at(b, k * n)?, at(c, m * n)?);
    // SAFETY: `at` found the ranges in live allocations, aligned. The operands are copied: C may overlap them.
    let (a, b) = unsafe {
        (
            std::slice::from_raw_parts(a as *const f32, m * k).to_vec(),
            std::slice::from_raw_parts(b as *const f32, k * n).to_vec(),
        )
    };
    let mut product = vec![0.0f32; m * n];
    multiply(&a, &b, &mut product, n, k);
    if let Some(element) = state.config.wrong.and_then(|index| product.get_mut(index)) {
        *element += 1.0;
    }
    if let Some(index) = state.config.unwritten.filter(|&index| index < product.len()) {
        // SAFETY: an element of C, which `at` found.
        product[index] = unsafe { (c as *const f32).add(index).read() };
    }
    // SAFETY: `at` found the range; `product` is our own.
    unsafe { std::ptr::copy_nonoverlapping(product.as_ptr(), c as *mut f32, m * n) };
    Ok(())
}

fn multiply(a: &[f32], b: &[f32], c: &mut [f32], n: usize, k: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        /// The same code: `mul_add` becomes an instruction instead of a call.
        #[target_feature(enable = "avx2,fma")]
        fn with_fma(a: &[f32], b: &[f32], c: &mut [f32], n: usize, k: usize) {
            accumulate(a, b, c, n, k);
        }
        if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma") {
            // SAFETY: the processor has both features.
            return unsafe { with_fma(a, b, c, n, k) };
        }
    }
    accumulate(a, b, c, n, k);
}

/// Accumulates over k in order with fused multiply-adds, as one thread per element would: bit-identical to it.
#[inline(always)]
fn accumulate(a: &[f32], b: &[f32], c: &mut [f32], n: usize, k: usize) {
    if n == 0 || k == 0 {
        return;
    }
    for (a, c) in a.chunks_exact(k).zip(c.chunks_exact_mut(n)) {
        for (&a, b) in a.iter().zip(b.chunks_exact(n)) {
            for (c, &b) in c.iter_mut().zip(b) {
                *c = a.mul_add(b, *c);
            }
        }
    }
}
