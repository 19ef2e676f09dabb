//! The host side of pagelock.

pub mod driver;
pub mod matrix;
pub mod output;
pub mod verify;
