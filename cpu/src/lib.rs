//! The host side of pagelock: drives the kernels of `gpu` over pageable, pinned, zero-copy and managed host memory,
//! verifies and measures what comes back, and says what it means.
//!
//! | module | what is there |
//! |---|---|
//! | [`driver`] | libcuda, opened at run time, so that one binary serves machines with and without it |
//! | [`device`] | one trait, two devices: a GPU through CUDA, the CPU through `simt` |
//! | [`memory`] | host memory by kind, device memory, the pinned budget, scopes for asynchronous work |
//! | [`matmul`] | the strategies: how a product travels to the device and back |
//! | [`bandwidth`] | what the way to the device carries, for every kind of host memory |
//! | [`advise`] | which kind of memory a described job should use: a model, its parameters, its reasons |
//! | [`verify`] | is C = A·B right? |
//! | [`matrix`], [`output`] | where matrices come from, where results go |
//! | [`report`] | tables, JSON, CSV, explanations |
//! | [`doctor`] | what is here, whether it is as it should be, what to do |
//! | [`pitfalls`] | what goes wrong for people, shown here and now |
//! | [`commands`] | the command line |

pub mod advise;
mod amount;
pub mod bandwidth;
pub mod commands;
pub mod device;
pub mod doctor;
pub mod driver;
pub mod matmul;
pub mod matrix;
pub mod memory;
pub mod output;
pub mod pitfalls;
pub mod report;
mod threads;
pub mod verify;
