//! Pitfalls that do not compile. The messages are those of `tests/compile_fail`, which a test compares with what the
//! compiler says today.

use super::{Fault, Number, Outcome, Pitfall, Setting, Verdict};

/// The recorded message of one program.
macro_rules! recorded {
    ($program:literal) => {
        |_: &Setting<'_>| -> Result<Outcome, Fault> {
            Ok(refused($program, include_str!(concat!("../../../tests/compile_fail/", $program, ".stderr"))))
        }
    };
}

pub(super) const ALL: [Pitfall; 4] = [
    Pitfall {
        name: "source-changed",
        claim: "a source that changes after its copy was enqueued arrives changed; here it does not compile",
        expected: "Once the copy was asked for, the source can be used again.",
        reason: "The copy engine reads pinned memory when it gets there, after the call has returned.",
        advice: "Change it after the scope, which has waited; or take a second buffer and use them in turn.",
        run: recorded!("source_cannot_be_changed_while_it_is_copied"),
    },
    Pitfall {
        name: "destination-read-early",
        claim: "a destination that is read before the copy has ended holds old bytes; here it does not compile",
        expected: "Once the copy back was asked for, the result is there.",
        reason: "The call returns before the bytes have arrived: the CPU reads what was there before, or some of each.",
        advice: "Read the result after the scope.",
        run: recorded!("destination_cannot_be_read_while_it_is_written"),
    },
    Pitfall {
        name: "pageable-in-async-call",
        claim: "pageable memory given to an asynchronous copy blocks silently; here it does not compile",
        expected: "An asynchronous call takes any memory and is asynchronous with all.",
        reason: "The driver stages pageable memory and holds the caller; nothing overlaps, and nothing says why.",
        advice: "Use pinned memory, or upload_pageable and upload_staged, which are named for what they do.",
        run: recorded!("pageable_memory_cannot_be_copied_asynchronously"),
    },
    Pitfall {
        name: "double-use",
        claim: "one buffer as two arguments, one of them written, is a race; here it does not compile",
        expected: "A buffer can be a kernel's input and its output.",
        reason: "Some threads would read what others have written already, in another order at every run.",
        advice: "Give the output memory of its own, or write a kernel that works in place and says so.",
        run: recorded!("one_output_cannot_be_bound_twice"),
    },
];

/// What the compiler recorded about a program.
fn refused(program: &str, message: &str) -> Outcome {
    let mut errors = message.lines().filter(|line| line.starts_with("error"));
    let first = errors.clone().next().unwrap_or("nothing");
    let count = errors.by_ref().count();
    let number = Number::count("errors", count as u64);
    let happened =
        format!("The compiler refuses tests/compile_fail/{program}.rs; errors: {number}. The first one says: {first}");
    let message = Some(message.trim_end().to_owned());
    Outcome { happened, numbers: vec![number], message, verdict: Verdict::of(count > 0) }
}
