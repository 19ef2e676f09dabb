//! Memory of the host in its kinds, memory of the device, and the scopes in which bytes travel between them.
//!
//! | type | the copy engine reads it | kernels read it | costs |
//! |---|---|---|---|
//! | [`PageableBuffer`] | no, the driver stages it | no | nothing |
//! | [`PinnedBuffer`] | yes, asynchronously | no | slow to allocate, taken from everybody else |
//! | [`MappedBuffer`] | yes | yes, over the link | the same, and the link's speed at every access |
//! | [`WriteCombinedBuffer`] | yes | yes, over the link | the same; the CPU can only write it |
//! | [`RegisteredBuffer`], [`RegisteredFile`] | yes | yes, over the link | pinning what is there, a file's pages too |
//! | [`ManagedBuffer`] | no | yes, each page at full speed once it has migrated | a fault for each page that is elsewhere |
//! | [`Mailbox`] | no | yes, while the CPU does | as mapped; both sides have atomic operations alone |
//! | [`DeviceBuffer`] | yes | yes, at full speed | device memory |
//!
//! Asynchronous work happens in a [`scope`](crate::device::Device::scope), as threads do in [`std::thread::scope`]: what
//! it uses is borrowed until the scope has waited for it.

mod block;
mod budget;
mod device;
mod host;
mod mailbox;
mod managed;
mod pool;
mod registered;
mod resident;
mod scope;
mod staged;

pub use budget::{AvailableMemory, BudgetExceeded, LimitOrigin, PinnedBudget, Reservation};
pub use device::DeviceBuffer;
pub use host::{
    HostBuffer, HostKind, MappedBuffer, MappedMemory, PageLocked, PageableBuffer, PinnedBuffer, WritableMemory,
    WriteCombinedBuffer,
};
pub use mailbox::Mailbox;
pub use managed::{Advice, Location, ManagedBuffer, ManagedExceeded, ManagedPart};
pub use pool::PinnedPool;
pub use registered::{RefusedMemory, RegisterFileError, RegisteredBuffer, RegisteredFile};
pub use resident::ResidentMemory;
pub(crate) use scope::run_scope;
pub use scope::{Mark, Stream, StreamBuffer, StreamManaged};
pub use staged::{Staging, StagingShape};
