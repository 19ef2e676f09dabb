//! The host side of pagelock.
