//! The host side of pagelock.

pub mod matrix;
pub mod output;
pub mod verify;
