//! Which kind of host memory a job should use: what each would take, by a model whose parameters were measured on this
//! machine by `bandwidth` or are named defaults, and why one of them is recommended.
//!
//! Everything here is a prediction and says so. [`compare()`] holds it against measurements.
//!
//! | file | what |
//! |---|---|
//! | [`job`] | what there is to do: bytes in, bytes out, reads, work, repeats |
//! | [`machine`], [`named`] | on what: kept parameters, a report's, or those of a named machine |
//! | [`curve`] | times between and beyond the measured sizes |
//! | [`predict`](mod@predict) | the model |
//! | [`recommend`](mod@recommend) | the choice, and its reasons computed from the numbers |
//! | [`compare`](mod@compare) | predicted beside measured |
//! | [`reports`] | jobs, machines and measurements out of the reports of `matmul` and `bandwidth` |
//! | [`text`] | the same for people |

pub mod compare;
pub mod curve;
pub mod job;
pub mod machine;
pub mod named;
pub mod predict;
pub mod recommend;
pub mod reports;
mod strategy;
pub mod text;

#[cfg(test)]
mod tests;

pub use compare::{Comparison, MeasuredMode, compare};
pub use job::{Compute, Job, JobError, Pattern};
pub use machine::{Machine, NoMachine, Origin};
pub use named::Named;
pub use predict::{Prediction, Unpredictable, predict};
pub use recommend::{Overtakes, Recommendation, assumed, recommend};
pub use strategy::Strategy;
