//! Host memory that the CPU and a kernel touch at the same time.

use core::marker::PhantomData;
use core::sync::atomic::AtomicU32;

use super::Domain;
use crate::device::SystemWords;

/// Words that a kernel and the CPU both read and write while the kernel works, through atomic operations alone: an address,
/// a length in words, and a borrow of whatever owns them. Shared on both sides, so it may be copied.
#[derive(Clone, Copy, Debug)]
pub struct MailboxSlice<'a> {
    address: u64,
    len: usize,
    domain: Domain,
    owner: PhantomData<&'a [AtomicU32]>,
}

impl<'a> MailboxSlice<'a> {
    /// Names memory for machines that run a launch to its end before they return.
    ///
    /// # Safety
    /// `len` aligned words at `address` can be read and written by the machine that will launch with them for the slice's
    /// lifetime. Everybody else touches them by atomic operations alone meanwhile.
    pub unsafe fn from_raw(address: u64, len: usize) -> Self {
        Self { address, len, domain: Domain::ANY, owner: PhantomData }
    }

    /// Names host memory by its device address, for the work of one domain.
    ///
    /// # Safety
    /// `len` aligned words at `address` can be read and written by the domain's device, until all work has ended that the
    /// domain was given during the slice's lifetime. Everybody else touches them by atomic operations alone meanwhile.
    pub unsafe fn from_raw_in(domain: Domain, address: u64, len: usize) -> Self {
        Self { address, len, domain, owner: PhantomData }
    }

    /// Whose work may use it.
    pub fn domain(&self) -> Domain {
        self.domain
    }

    /// Words.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The kernel's argument.
    pub fn words(&self) -> SystemWords {
        SystemWords::at(self.address)
    }
}
