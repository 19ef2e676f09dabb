//! Everything that the programs in `tests/compile_fail` do wrongly, done rightly. Compiled and run by
//! `tests/compile_fail.rs`: an interface that refuses everything would pass the others.

use cpu::device::{Device, DeviceError};
use cpu::memory::{Advice, DeviceBuffer, HostBuffer, MappedBuffer, PageableBuffer, PinnedBuffer, Stream, StreamBuffer};
use gpu::device::Dim3;
use gpu::launch::{DeviceSliceMut, Launch};
use gpu::matmul::tiled::MatmulTiled;
use gpu::matmul::{LaunchError, MatmulKernel, Shape};

/// The host memory of a 2×2 product, by kind.
pub struct Memory {
    pageable: PageableBuffer<f32>,
    pinned: PinnedBuffer<f32>,
    mapped: MappedBuffer<f32>,
    on_device: [DeviceBuffer<f32>; 3],
}

type Outcome<T> = Result<T, LaunchError<DeviceError>>;

pub fn run(device: &Device) -> Outcome<()> {
    let shape = Shape::new(2, 2, 2).expect("a shape");
    let mut memory = Memory {
        pageable: PageableBuffer::zeroed(4)?,
        pinned: device.pinned(4)?,
        mapped: device.mapped(4)?,
        on_device: [device.alloc(4)?, device.alloc(4)?, device.alloc(4)?],
    };
    memory.pageable.as_mut_slice().copy_from_slice(&[1.0, 2.0, 3.0, 4.0]);
    memory.pinned.as_mut_slice().copy_from_slice(&[5.0, 6.0, 7.0, 8.0]);
    copied(device, shape, &mut memory)?;
    assert_eq!(memory.mapped.as_slice(), [19.0, 22.0, 43.0, 50.0]);
    zero_copy(device, shape, &mut memory)?;
    assert_eq!(memory.pageable.as_slice(), [105.0, 122.0, 229.0, 266.0]);
    nested(device, &mut memory)?;
    managed(device, shape)?;
    on_several_threads(device);
    Ok(())
}

/// A source may be read while it is copied, and is whole again after the scope. A closure keeps what it has bound.
fn copied(device: &Device, shape: Shape, memory: &mut Memory) -> Outcome<()> {
    let Memory { pageable, pinned, mapped, on_device: [a, b, c] } = memory;
    let outcome: Outcome<()> = device.scope(|stream| {
        let (mut a, mut b, mut c) = (stream.bind(a), stream.bind(b), stream.bind(c));
        stream.upload_pageable(pageable.as_slice(), &mut a)?;
        stream.upload(pinned, &mut b)?;
        assert_eq!(pinned.as_slice()[0], 5.0);
        stream.fill(&mut c, 0xFF)?;
        two_launches(stream, shape, [&a, &b], &mut c)?;
        stream.download(&c, mapped)?;
        Ok(())
    });
    pinned.as_mut_slice()[0] = 5.0;
    outcome
}

/// One output for two launches in turn, through the safe wrapper and through the typed handle.
fn two_launches<'scope>(
    stream: &'scope Stream<'scope, '_>,
    shape: Shape,
    [a, b]: [&StreamBuffer<'scope, f32>; 2],
    c: &mut StreamBuffer<'scope, f32>,
) -> Outcome<()> {
    MatmulKernel::Naive.launch(stream, shape, a.slice(), b.slice(), c.slice_mut())?;
    let mut again: DeviceSliceMut<'_, f32> = c.slice_mut();
    MatmulKernel::Coalesced.launch(stream, shape, a.slice(), b.slice(), again.reborrow())?;
    let arguments = (a.slice().global(), b.slice().global(), again.global(), shape.m(), shape.n(), shape.k());
    // SAFETY: four elements each, as a 2×2 product has; bound to this stream, so alive until the kernel has ended, and the
    // output is borrowed alone. One tile covers C.
    unsafe { stream.launch::<MatmulTiled>(Dim3::new(1, 1, 1), arguments) }?;
    Ok(())
}

/// A product of mapped memory: its first input is used twice, its output downloaded like any other.
fn zero_copy(device: &Device, shape: Shape, memory: &mut Memory) -> Outcome<()> {
    let Memory { pageable, pinned, mapped, on_device: [_, b, c] } = memory;
    mapped.as_mut_slice().copy_from_slice(&[1.0, 2.0, 3.0, 4.0]);
    device.scope(|stream| {
        let (mut b, mut c) = (stream.bind(b), stream.bind(c));
        stream.upload(pinned, &mut b)?;
        let input = stream.map(mapped)?;
        MatmulKernel::Tiled.launch(stream, shape, input, b.slice(), c.slice_mut())?;
        let start = stream.mark()?;
        // B was read by the launch before; the stream orders its new contents after it. Then C = A·(A·B).
        MatmulKernel::Tiled.launch(stream, shape, input, c.slice(), b.slice_mut())?;
        stream.elapsed(start, stream.mark()?)?;
        stream.download_pageable(&b, pageable.as_mut_slice())?;
        Ok(())
    })
}

/// Managed memory may be read by both sides at once, moved while it is only read, and be an input and an output in turn.
fn managed(device: &Device, shape: Shape) -> Outcome<()> {
    let (mut a, mut c) = (device.managed(4)?, device.managed(4)?);
    a.as_mut_slice().copy_from_slice(&[1.0, 2.0, 3.0, 4.0]);
    let outcome: Outcome<()> = device.scope(|stream| {
        let mut c = stream.bind_managed(&mut c);
        stream.advise(&a, Advice::ReadMostly)?;
        stream.prefetch_to_device(&a)?;
        stream.prefetch_to_device(c.part(0..2)?)?;
        let input = stream.map(&a)?;
        MatmulKernel::Tiled.launch(stream, shape, input, input, c.slice_mut())?;
        assert_eq!(a.as_slice()[0], 1.0);
        stream.prefetch_to_host(&c)?;
        Ok(())
    });
    outcome?;
    assert_eq!(c.as_slice(), [7.0, 10.0, 15.0, 22.0]);
    // An output that nothing else is asked of can be mapped as other host memory is.
    device.scope(|stream| {
        MatmulKernel::Tiled.launch(stream, shape, stream.map(&c)?, stream.map(&c)?, stream.map_mut(&mut a)?)
    })?;
    assert_eq!(a.as_slice(), [199.0, 290.0, 435.0, 634.0]);
    Ok(())
}

/// A scope inside a scope, each with memory of its own; what both only read, both may borrow.
fn nested(device: &Device, memory: &mut Memory) -> Outcome<()> {
    let Memory { pinned, on_device: [outer_memory, inner_memory, _], .. } = memory;
    let outcome: Result<(), DeviceError> = device.scope(|outer| {
        outer.upload(pinned, &mut outer.bind(outer_memory))?;
        device.scope(|inner| inner.upload(pinned, &mut inner.bind(inner_memory)))
    });
    Ok(outcome?)
}

/// Threads share the device, and each opens a scope.
fn on_several_threads(device: &Device) {
    std::thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                let mut memory = device.alloc::<u8>(8).expect("eight bytes");
                device.scope(|stream| stream.fill(&mut stream.bind(&mut memory), 1)).expect("a fill");
            });
        }
    });
}
