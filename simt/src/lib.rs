//! A CUDA-shaped device in plain Rust.
