//! Launching the kernel that talks to the CPU while it works.

use core::time::Duration;

use super::{Access, Outcome};
use crate::access::mailbox::{AccessMailbox, BLOCK, MESSAGE};
use crate::device::Dim3;
use crate::launch::{Launch, MailboxSlice};

/// How the kernel raises its flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flag {
    /// With release at system scope: whoever sees the flag sees the message.
    Release,
    /// With a store that orders nothing: the mistake.
    Plain,
}

impl<L: Launch> Access<'_, L> {
    /// Writes `rounds` messages into `words`, all that lies behind [`MESSAGE`], and raises a flag after each; waits for the
    /// CPU's answer up to `patience` each time. See [`mailbox`](crate::access::mailbox). One block.
    ///
    /// Where a launch runs to its end before it returns, the CPU must answer from another thread.
    ///
    /// # Errors
    /// `words` has no room for a message of one word, or the device refuses.
    pub fn mailbox(&self, words: MailboxSlice<'_>, rounds: u32, flag: Flag, patience: Duration) -> Outcome<L> {
        self.check([words.domain()], &[("the mailbox", MESSAGE + 1, words.len())])?;
        // A message of more than 16 GiB is cut off there, so that the kernel's index does not overflow; patience after 584
        // years.
        let message = u32::try_from(words.len() - MESSAGE).unwrap_or(u32::MAX).min(u32::MAX - BLOCK);
        let patience = u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX);
        let release = u32::from(flag == Flag::Release);
        // STOP is no round.
        let args = (words.words(), message, rounds.min(u32::MAX - 1), release, patience);
        // SAFETY: the message is what lies behind its beginning, checked above.
        Ok(unsafe { self.0.launch::<AccessMailbox>(Dim3::new(1, 1, 1), args) }?)
    }
}
