//! Who could call any memory page-locked could have it copied asynchronously. Nobody outside can: not for a type of their
//! own, and not for an element of their own in one of ours.

use std::time::Duration;

use cpu::memory::{HostBuffer, HostKind, PageLocked, PinnedBuffer};
use gpu::device::Element;

struct Mine(Vec<f32>);

impl HostBuffer<f32> for Mine {
    fn kind(&self) -> HostKind {
        HostKind::Pinned
    }
    fn as_slice(&self) -> &[f32] {
        &self.0
    }
    fn as_mut_slice(&mut self) -> &mut [f32] {
        &mut self.0
    }
    fn allocation_time(&self) -> Duration {
        Duration::ZERO
    }
}

impl PageLocked<f32> for Mine {}

#[derive(Clone, Copy)]
#[repr(transparent)]
struct Pixel(u8);

// SAFETY: a byte.
unsafe impl Element for Pixel {
    const NAME: &'static str = "Pixel";
}

impl HostBuffer<Pixel> for PinnedBuffer<u8> {
    fn kind(&self) -> HostKind {
        HostKind::Pinned
    }
    fn as_slice(&self) -> &[Pixel] {
        vec![Pixel(0); 100].leak()
    }
    fn as_mut_slice(&mut self) -> &mut [Pixel] {
        vec![Pixel(0); 100].leak()
    }
    fn allocation_time(&self) -> Duration {
        Duration::ZERO
    }
}

impl PageLocked<Pixel> for PinnedBuffer<u8> {}

fn main() {}
