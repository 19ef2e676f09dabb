//! Panics on fibers: silent, and with their place.
//!
//! The payload of a caught panic holds its message but not where it happened; only the panic hook learns that. So a
//! hook is installed, once per process. On a fiber that runs a kernel it notes the place and prints nothing, for the
//! fault will say it all; everywhere else it hands on to the hook that was there before.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, PanicHookInfo};
use std::sync::Once;
use std::thread;

thread_local! {
    /// Whether this OS thread is inside a fiber at the moment.
    static ON_FIBER: Cell<bool> = const { Cell::new(false) };
    /// Where the panic happened that now unwinds a fiber of this OS thread.
    static LOCATION: Cell<Option<String>> = const { Cell::new(None) };
}

/// Installs the hook, if it is not yet.
pub(crate) fn install_hook() {
    static INSTALLED: Once = Once::new();
    // The standard library refuses a new hook to a thread that panics; then faults lack their location.
    if thread::panicking() {
        return;
    }
    INSTALLED.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !ON_FIBER.get() || !becomes_fault(info) {
                previous(info);
            }
        }));
    });
}

/// Runs `resume`, which switches to a fiber, with the hook knowing about it.
#[inline]
pub(crate) fn on_fiber<R>(resume: impl FnOnce() -> R) -> R {
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            ON_FIBER.set(false);
        }
    }
    ON_FIBER.set(true);
    let _leave = Leave;
    resume()
}

/// Whether the caller is a kernel.
pub(crate) fn is_on_fiber() -> bool {
    ON_FIBER.get()
}

/// The message and the place of a panic that was just caught on a fiber.
pub(crate) fn describe(payload: &(dyn Any + Send)) -> (String, Option<String>) {
    let text = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    (text.unwrap_or("a panic whose payload is no text").to_owned(), LOCATION.take())
}

/// Keeps the panic's place for [`describe`], and says whether the panic will be a fault. If not, the process is about
/// to abort, and this is the moment to print why: either the standard library aborts by itself, or a destructor
/// panics while the first panic unwinds, whose place is still noted. (It also is if the kernel caught the first by
/// itself. Then a line is printed too much; no kernel that is meant for a GPU does that.)
fn becomes_fault(info: &PanicHookInfo<'_>) -> bool {
    let first = LOCATION.replace(info.location().map(ToString::to_string)).is_none();
    first && !info.payload_as_str().is_some_and(aborts)
}

/// Whether a message is one of those that the standard library aborts with instead of unwinding. It knows
/// (`PanicHookInfo::can_unwind`) but does not tell on the stable toolchain. A message missed here costs the explanation
/// of an abort; one that a kernel imitates prints a line too much.
fn aborts(message: &str) -> bool {
    const BEGINNINGS: [&str; 5] = [
        "unsafe precondition(s) violated",
        "misaligned pointer dereference",
        "null pointer dereference",
        "panic in a function that cannot unwind",
        "panic in a destructor during cleanup",
    ];
    BEGINNINGS.iter().any(|beginning| message.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_of_all_kinds_have_a_message() {
        assert_eq!(describe(&"literal").0, "literal");
        assert_eq!(describe(&String::from("formatted")).0, "formatted");
        assert_eq!(describe(&17_u32).0, "a panic whose payload is no text");
    }

    #[test]
    fn the_flag_falls_when_the_fiber_is_left() {
        assert!(!is_on_fiber());
        assert!(on_fiber(is_on_fiber));
        assert!(!is_on_fiber());
        let unwound = panic::catch_unwind(|| on_fiber(|| panic::resume_unwind(Box::new(()))));
        assert!(unwound.is_err() && !is_on_fiber());
    }
}
