//! The fibers' stacks, reused from thread to thread, block to block and launch to launch.

use std::io;

use corosensei::stack::{DefaultStack, Stack, StackPointer};

/// What a thread of a kernel may use: plenty for a kernel (a GPU spills registers to local memory well below), enough
/// for a panic to be formatted and unwound.
const STACK_BYTES: usize = 64 * 1024;

/// Cache lines over which the tops of the stacks are spread: one page of them, as many as an L1 cache has sets.
const COLOURS: usize = 64;
/// Bytes in a cache line.
const LINE: usize = 64;

/// A stack whose top is shifted by a few cache lines.
///
/// A suspended fiber keeps a few hundred bytes alive, at the top of its stack. Stacks come from `mmap`, so all tops
/// have the same address modulo the page size and would share the same few sets of the cache: 1024 fibers that evict
/// each other at every barrier. Each stack therefore starts at another line of its page.
pub(crate) struct Coloured {
    mapped: DefaultStack,
    base: StackPointer,
}

impl Coloured {
    fn new(colour: usize) -> io::Result<Self> {
        let mapped = DefaultStack::new(STACK_BYTES + COLOURS * LINE)?;
        let base = StackPointer::new(mapped.base().get() - (colour % COLOURS) * LINE);
        let base = base.expect("the mapping is larger than the shift, so its base lies above the shift");
        Ok(Self { mapped, base })
    }
}

// SAFETY: `base` lies inside the mapping, less than COLOURS lines below its end and a multiple of 64 from it, so it has
// the alignment that the mapping's end (a page boundary) has up to 64 and at least STACK_BYTES below it; the guard page
// is the mapping's.
unsafe impl Stack for Coloured {
    #[inline]
    fn base(&self) -> StackPointer {
        self.base
    }

    #[inline]
    fn limit(&self) -> StackPointer {
        self.mapped.limit()
    }

    #[cfg(windows)]
    fn teb_fields(&self) -> corosensei::stack::StackTebFields {
        self.mapped.teb_fields()
    }

    #[cfg(windows)]
    fn update_teb_fields(&mut self, stack_limit: usize, guaranteed_stack_bytes: usize) {
        self.mapped.update_teb_fields(stack_limit, guaranteed_stack_bytes);
    }
}

/// One worker's stacks. Those not in use lie in `free`, the latest on top, because its memory is the likeliest to be in
/// the cache.
#[derive(Default)]
pub(crate) struct Stacks {
    free: Vec<Coloured>,
    made: usize,
}

impl Stacks {
    /// A free stack, or a new one.
    ///
    /// # Errors
    /// The operating system refuses the mapping.
    #[inline]
    pub(crate) fn take(&mut self) -> io::Result<Coloured> {
        match self.free.pop() {
            Some(stack) => Ok(stack),
            None => self.make(),
        }
    }

    /// Takes a stack back.
    #[inline]
    pub(crate) fn give(&mut self, stack: Coloured) {
        self.free.push(stack);
    }

    #[cold]
    fn make(&mut self) -> io::Result<Coloured> {
        let stack = Coloured::new(self.made)?;
        self.made += 1;
        Ok(stack)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_returned_stack_is_the_next_one_taken() {
        let mut stacks = Stacks::default();
        let base = |stack: &Coloured| stack.base();
        let (first, second) = (stacks.take().expect("a stack"), stacks.take().expect("a stack"));
        let (first_base, second_base) = (base(&first), base(&second));
        stacks.give(first);
        stacks.give(second);
        assert_eq!(base(&stacks.take().expect("a stack")), second_base);
        assert_eq!(base(&stacks.take().expect("a stack")), first_base);
        assert_eq!(stacks.made, 2);
    }

    #[test]
    fn every_colour_leaves_the_promised_bytes_above_the_guard_page() {
        const LARGEST_PAGE: usize = 64 * 1024;
        for colour in 0..2 * COLOURS {
            let stack = Coloured::new(colour).expect("a stack");
            assert!(stack.base().get() - stack.limit().get() > STACK_BYTES);
            assert!(stack.base().get() - stack.limit().get() <= STACK_BYTES + COLOURS * LINE + 2 * LARGEST_PAGE);
            assert_eq!(stack.base().get() % LINE, 0);
        }
    }
}
