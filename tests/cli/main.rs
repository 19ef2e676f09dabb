//! The command line as a user runs it: `cpu matmul …`, in a process of its own, on `simt` or on the fake driver. No test
//! needs a GPU, and none behaves differently where there is one.

#[path = "../support/fake.rs"]
mod fake;
mod support;

mod advise;
mod arguments;
mod documents;
mod driver;
mod failures;
mod matrices;
mod outputs;
mod pipes;
mod report;
mod threads;
