//! The host side of pagelock.

pub mod driver;
