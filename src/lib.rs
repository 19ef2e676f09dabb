//! The kernels of `gpu`, compiled to PTX and embedded.
