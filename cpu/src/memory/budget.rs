//! How much memory may be page-locked, decided before the driver is asked.
//!
//! Pinned memory is taken away from everybody else on the machine. Too much of it does not end in an error but in a
//! machine that swaps, freezes or kills processes, and `ulimit -l` does not hold the driver back. So every pinned byte is
//! reserved here first.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytesize::ByteSize;
use sysinfo::System;

use crate::amount::like;

/// The share of the available memory that may be pinned when the user does not say.
const SHARE_OF_AVAILABLE: f64 = 0.5;

/// Bytes that may be pinned when neither the user nor the machine says anything.
const LIMIT_IF_UNKNOWN: u64 = 1 << 30;

/// A limit on page-locked bytes and an exact account of them. Clones share the account.
#[derive(Clone, Debug)]
pub struct PinnedBudget {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    limit: u64,
    origin: LimitOrigin,
    used: AtomicU64,
}

/// Where a limit comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitOrigin {
    /// The user named it.
    User,
    /// Half of what the machine had available when the budget was made.
    Available {
        /// Bytes available then.
        available: u64,
    },
    /// Half of what the control group leaves, which is less than the machine has.
    ControlGroup {
        /// Bytes left to the control group then.
        available: u64,
    },
    /// The machine does not tell what it has available, so this is a careful guess.
    Unknown,
}

/// Host memory that could be allocated now, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct AvailableMemory {
    /// On the machine.
    pub machine: u64,
    /// In this process's control group, if it is limited.
    pub control_group: Option<u64>,
}

impl AvailableMemory {
    /// Asks the system; nothing where it does not tell.
    pub fn now() -> Option<Self> {
        let mut system = System::new().ok()?;
        system.refresh_memory();
        let control_group = system.cgroup_limits().map(|group| group.free_memory);
        Some(Self { machine: system.available_memory(), control_group })
    }

    /// The smaller of the two.
    pub fn least(self) -> u64 {
        self.control_group.map_or(self.machine, |group| group.min(self.machine))
    }
}

/// The budget does not allow the allocation. Nothing was asked of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} of page-locked memory were asked for; {} of {} are in use ({origin}). \
     Take a smaller size, fewer modes, or raise the limit with --pinned-limit",
    like(*asked, *limit), like(*used, *limit), like(*limit, *limit)
)]
pub struct BudgetExceeded {
    /// Bytes asked for.
    pub asked: u64,
    /// Bytes reserved at that moment.
    pub used: u64,
    /// The limit in bytes.
    pub limit: u64,
    /// Where the limit comes from.
    pub origin: LimitOrigin,
}

impl PinnedBudget {
    /// A budget of so many bytes.
    pub fn limited_to(limit: u64) -> Self {
        Self::new(limit, LimitOrigin::User)
    }

    /// Half of the memory that is available now, to the machine or to this control group, whichever is less.
    pub fn from_available_memory() -> Self {
        let Some(memory) = AvailableMemory::now() else {
            return Self::new(LIMIT_IF_UNKNOWN, LimitOrigin::Unknown);
        };
        let available = memory.least();
        let origin = if available < memory.machine {
            LimitOrigin::ControlGroup { available }
        } else {
            LimitOrigin::Available { available }
        };
        Self::new((available as f64 * SHARE_OF_AVAILABLE) as u64, origin)
    }

    fn new(limit: u64, origin: LimitOrigin) -> Self {
        Self { inner: Arc::new(Inner { limit, origin, used: AtomicU64::new(0) }) }
    }

    /// Bytes that may be pinned in all.
    pub fn limit(&self) -> u64 {
        self.inner.limit
    }

    /// Where the limit comes from.
    pub fn origin(&self) -> LimitOrigin {
        self.inner.origin
    }

    /// Bytes that are pinned now: what was asked for, not rounded up.
    pub fn used(&self) -> u64 {
        self.inner.used.load(Ordering::Acquire)
    }

    /// Takes bytes out of the budget until the reservation is dropped.
    ///
    /// # Errors
    /// They would exceed the limit.
    pub fn reserve(&self, bytes: u64) -> Result<Reservation, BudgetExceeded> {
        let Inner { limit, origin, ref used } = *self.inner;
        let fits = |now: u64| now.checked_add(bytes).filter(|&then| then <= limit);
        match used.try_update(Ordering::AcqRel, Ordering::Acquire, fits) {
            Ok(_) => Ok(Reservation { budget: self.clone(), bytes }),
            Err(used) => Err(BudgetExceeded { asked: bytes, used, limit, origin }),
        }
    }
}

/// Bytes taken out of a [`PinnedBudget`]; dropping it gives them back.
#[derive(Debug)]
pub struct Reservation {
    budget: PinnedBudget,
    bytes: u64,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.inner.used.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

impl fmt::Display for LimitOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User => write!(f, "the limit that you set"),
            Self::Available { available } => write!(f, "half of the {} that were available", ByteSize(*available)),
            Self::ControlGroup { available } => {
                write!(f, "half of the {} that the control group had left", ByteSize(*available))
            }
            Self::Unknown => write!(f, "a guess: the machine does not tell its available memory"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reservations_are_exact_and_given_back() {
        let budget = PinnedBudget::limited_to(1000);
        let first = budget.reserve(999).unwrap();
        assert_eq!(budget.used(), 999);
        let refused = budget.reserve(2).unwrap_err();
        assert_eq!(refused, BudgetExceeded { asked: 2, used: 999, limit: 1000, origin: LimitOrigin::User });
        let second = budget.reserve(1).unwrap();
        drop(first);
        assert_eq!(budget.used(), 1);
        drop(second);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn a_size_that_overflows_is_refused() {
        let budget = PinnedBudget::limited_to(u64::MAX);
        let _one = budget.reserve(1).unwrap();
        assert!(budget.reserve(u64::MAX).is_err());
        assert_eq!(budget.used(), 1);
    }

    #[test]
    fn the_default_leaves_half_of_what_is_available() {
        let budget = PinnedBudget::from_available_memory();
        let (LimitOrigin::Available { available } | LimitOrigin::ControlGroup { available }) = budget.origin() else {
            panic!("{:?}", budget.origin());
        };
        assert!(budget.limit() > 0);
        assert_eq!(budget.limit(), available / 2);
    }

    #[test]
    fn many_threads_never_exceed_the_limit() {
        let budget = PinnedBudget::limited_to(64);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        let held = budget.reserve(16);
                        assert!(budget.used() <= 64);
                        drop(held);
                    }
                });
            }
        });
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn the_message_says_asked_used_limit_and_what_to_do() {
        let budget = PinnedBudget::limited_to(1 << 20);
        let message = budget.reserve(10 << 30).unwrap_err().to_string();
        for part in ["10.0 GiB", "0 B", "1.0 MiB", "the limit that you set", "--pinned-limit"] {
            assert!(message.contains(part), "{message}");
        }
        let message = PinnedBudget::limited_to(100_000_000).reserve(1 << 30).unwrap_err().to_string();
        assert!(message.starts_with("1.1 GB of") && message.contains("of 100.0 MB are in use"), "{message}");
    }
}
