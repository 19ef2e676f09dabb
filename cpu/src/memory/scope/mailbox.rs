//! Memory that stays in the CPU's hands while kernels use it.

use gpu::launch::MailboxSlice;

use super::Stream;
use crate::device::DeviceError;
use crate::memory::Mailbox;

impl<'scope> Stream<'scope, '_> {
    /// Lets kernels of this stream use a mailbox, while the CPU goes on using it.
    ///
    /// # Errors
    /// The memory is another device's, or the driver does not tell its device address.
    pub fn mailbox(&'scope self, mailbox: &'scope Mailbox) -> Result<MailboxSlice<'scope>, DeviceError> {
        let address = self.mapped_address(mailbox.block())?;
        // SAFETY: the memory is mapped, so says its type, at the address that its own device told for it. It is borrowed for
        // `'scope`, so nobody frees it before `run_scope` has waited for this domain's work; its type lets the CPU touch it
        // by atomic operations alone.
        Ok(unsafe { MailboxSlice::from_raw_in(self.domain, address, mailbox.len()) })
    }
}
