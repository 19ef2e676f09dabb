//! The host side of pagelock.

pub mod output;
