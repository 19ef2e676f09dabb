//! What every device must do.

use std::panic::{self, AssertUnwindSafe};
use std::time::Duration;

use cpu::device::{Device, DeviceError, Selector};
use cpu::matmul::{Plan, Problem, StrategyError, measure};
use cpu::matrix::Matrix;
use cpu::memory::{HostBuffer, PageableBuffer, PinnedBudget};
use cpu::verify::{Method, POISON, Source, Verifier};
use gpu::matmul::{LaunchError, MatmulKernel, Shape};

use crate::managed::modes_of;

/// A test of one device.
pub type Test = fn(&Device);

/// All of them, by name.
pub const TESTS: &[(&str, Test)] = &[
    ("bytes_survive_the_round_trip", bytes_survive_the_round_trip),
    ("every_kernel_in_every_mode_at_odd_shapes", every_kernel_in_every_mode_at_odd_shapes),
    ("an_empty_buffer_is_no_error", an_empty_buffer_is_no_error),
    ("lengths_must_match", lengths_must_match),
    ("memory_of_another_scope_is_refused", memory_of_another_scope_is_refused),
    ("memory_of_another_device_is_refused", memory_of_another_device_is_refused),
    ("what_is_pinned_for_no_gpu_is_refused_by_one", what_is_pinned_for_no_gpu_is_refused_by_one),
    ("a_panic_waits_for_the_work", a_panic_waits_for_the_work),
    ("a_scope_in_a_destructor_of_a_panic_waits_too", a_scope_in_a_destructor_of_a_panic_waits_too),
    ("an_error_waits_for_the_work", an_error_waits_for_the_work),
    ("the_budget_refuses_first", the_budget_refuses_first),
    ("too_much_device_memory_is_a_typed_error", too_much_device_memory_is_a_typed_error),
    ("buffers_may_be_used_and_dropped_on_other_threads", buffers_may_be_used_and_dropped_on_other_threads),
    ("scopes_on_several_threads_do_not_mix", scopes_on_several_threads_do_not_mix),
    ("marks_are_in_order", marks_are_in_order),
    ("hundreds_of_repetitions_leave_nothing_behind", hundreds_of_repetitions_leave_nothing_behind),
];

/// Shapes that are no multiple of anything, with a row, a column and a point among them.
const ODD_SHAPES: [[u64; 3]; 9] = [
    [1, 1, 1],
    [1, 1, 97],
    [1, 61, 1],
    [67, 1, 1],
    [1, 67, 71],
    [71, 67, 1],
    [31, 37, 41],
    [33, 65, 17],
    [130, 127, 129],
];

pub fn numbers(len: usize) -> Vec<f32> {
    Matrix::random(1, len, len as u64 + 1).into_data()
}

fn bytes_survive_the_round_trip(device: &Device) {
    for len in [1, 3, 1023, 1 << 16, (1 << 18) + 7] {
        let sent = numbers(len);
        let mut on_device = device.alloc(len).unwrap();

        let (mut from, mut to) = (PageableBuffer::zeroed(len).unwrap(), PageableBuffer::zeroed(len).unwrap());
        from.as_mut_slice().copy_from_slice(&sent);
        let round = device.scope(|stream| {
            let mut on_device = stream.bind(&mut on_device);
            stream.upload_pageable(from.as_slice(), &mut on_device)?;
            stream.download_pageable(&on_device, to.as_mut_slice())
        });
        round.unwrap();
        assert_eq!(to.as_slice(), sent, "pageable, {len}");

        let (mut from, mut to) = (device.pinned(len).unwrap(), device.pinned(len).unwrap());
        from.as_mut_slice().copy_from_slice(&sent);
        let round = device.scope(|stream| {
            let mut on_device = stream.bind(&mut on_device);
            stream.fill(&mut on_device, 0xFF)?;
            stream.upload(&from, &mut on_device)?;
            stream.download(&on_device, &mut to)
        });
        round.unwrap();
        assert_eq!(to.as_slice(), sent, "pinned, {len}");

        let (mut from, mut to) = (device.mapped(len).unwrap(), device.mapped(len).unwrap());
        from.as_mut_slice().copy_from_slice(&sent);
        let round = device.scope(|stream| {
            let mut on_device = stream.bind(&mut on_device);
            stream.upload(&from, &mut on_device)?;
            stream.download(&on_device, &mut to)
        });
        round.unwrap();
        assert_eq!(to.as_slice(), sent, "mapped memory, copied, {len}");
    }
}

fn every_kernel_in_every_mode_at_odd_shapes(device: &Device) {
    let modes = modes_of(device);
    for (seed, [m, n, k]) in ODD_SHAPES.into_iter().enumerate() {
        let shape = Shape::new(m, n, k).unwrap();
        let a = Matrix::random(m as usize, k as usize, 2 * seed as u64);
        let b = Matrix::random(k as usize, n as usize, 2 * seed as u64 + 1);
        let problem = Problem { shape, a: a.data(), b: b.data() };
        let verifier = Verifier::new(shape, a.data(), b.data(), Method::Full, Source::Random, 0);
        for kernel in MatmulKernel::ALL {
            for &mode in &modes {
                let plan = Plan { kernel, warmup: 0, iterations: 2 };
                let measured = measure(device, problem, mode, plan, &verifier, || (), |_| ());
                let measured = measured.unwrap_or_else(|why| panic!("{shape}: {why}"));
                assert!(measured.runs.iter().all(|run| run.verdict.passed()), "{shape} {mode:?} {kernel:?}");
            }
        }
    }
}

fn an_empty_buffer_is_no_error(device: &Device) {
    let (from, mut to) = (device.pinned::<f32>(0).unwrap(), device.mapped::<f32>(0).unwrap());
    let (mut on_device, mapped) = (device.alloc::<f32>(0).unwrap(), device.mapped::<f32>(0).unwrap());
    assert!(from.is_empty() && to.is_empty() && on_device.is_empty());
    let round = device.scope(|stream| {
        let mut on_device = stream.bind(&mut on_device);
        stream.upload(&from, &mut on_device)?;
        stream.fill(&mut on_device, 1)?;
        stream.download(&on_device, &mut to)?;
        stream.map(&mapped).map(|slice| slice.len())
    });
    assert_eq!(round.unwrap(), 0);
}

fn lengths_must_match(device: &Device) {
    let (from, mut to) = (device.pinned::<f32>(5).unwrap(), device.pinned::<f32>(7).unwrap());
    let mut on_device = device.alloc(6).unwrap();
    let up = device.scope(|stream| stream.upload(&from, &mut stream.bind(&mut on_device)));
    assert!(matches!(up, Err(DeviceError::LengthMismatch { from: 5, to: 6 })), "{up:?}");
    let down = device.scope(|stream| stream.download(&stream.bind(&mut on_device), &mut to));
    assert!(matches!(down, Err(DeviceError::LengthMismatch { from: 6, to: 7 })), "{down:?}");
}

fn memory_of_another_scope_is_refused(device: &Device) {
    let shape = Shape::new(2, 2, 2).unwrap();
    let (mut a, mut b, mut c) = (device.alloc(4).unwrap(), device.alloc(4).unwrap(), device.alloc(4).unwrap());
    let outcome: Result<(), StrategyError> = device.scope(|outer| {
        let a = outer.bind(&mut a);
        device.scope(|inner| {
            let (b, mut c) = (inner.bind(&mut b), inner.bind(&mut c));
            MatmulKernel::Tiled.launch(inner, shape, a.slice(), b.slice(), c.slice_mut())
        })
    });
    assert!(matches!(outcome, Err(LaunchError::Domain { matrix: "A" })), "{outcome:?}");
}

/// An address of one device is a wild pointer, or somebody else's memory, on another.
fn memory_of_another_device_is_refused(device: &Device) {
    let other = Device::open(Selector::Simt, PinnedBudget::limited_to(1 << 20)).unwrap();
    let shape = Shape::new(2, 2, 2).unwrap();
    for (here, there) in [(device, &other), (&other, device)] {
        let (source, mut mapped) = (here.mapped::<f32>(4).unwrap(), there.mapped::<f32>(4).unwrap());
        let (mut a, mut b, mut foreign) = (here.alloc(4).unwrap(), here.alloc(4).unwrap(), there.alloc(4).unwrap());
        let mut result = PageableBuffer::zeroed(4).unwrap();
        let outcome: Result<(), DeviceError> = here.scope(|stream| {
            let (a, b, mut foreign) = (stream.bind(&mut a), stream.bind(&mut b), stream.bind(&mut foreign));
            let refused = |outcome| assert!(matches!(outcome, Err(DeviceError::OtherDevice { .. })), "{outcome:?}");
            refused(stream.fill(&mut foreign, 0));
            refused(stream.upload(&source, &mut foreign));
            refused(stream.upload_pageable(source.as_slice(), &mut foreign));
            refused(stream.download_pageable(&foreign, result.as_mut_slice()));
            refused(stream.map(&mapped).map(drop));
            let launched = MatmulKernel::Naive.launch(stream, shape, a.slice(), b.slice(), foreign.slice_mut());
            assert!(matches!(launched, Err(LaunchError::Domain { matrix: "C" })), "{launched:?}");
            Ok(())
        });
        outcome.unwrap();
        let outcome = here.scope(|stream| stream.map_mut(&mut mapped).map(drop));
        assert!(matches!(outcome, Err(DeviceError::OtherDevice { .. })), "{outcome:?}");
        assert!(outcome.unwrap_err().to_string().contains(&there.info().name));
    }
}

/// What the CPU device calls pinned is ordinary memory to a GPU, whose copy would not be asynchronous.
fn what_is_pinned_for_no_gpu_is_refused_by_one(device: &Device) {
    let cpu = Device::open(Selector::Simt, PinnedBudget::limited_to(1 << 20)).unwrap();
    for (here, there) in [(device, &cpu), (&cpu, device)] {
        let (source, mut destination) = (there.pinned::<u8>(8).unwrap(), there.pinned::<u8>(8).unwrap());
        let mut on_device = here.alloc(8).unwrap();
        let uploaded = here.scope(|stream| stream.upload(&source, &mut stream.bind(&mut on_device)));
        let downloaded = here.scope(|stream| stream.download(&stream.bind(&mut on_device), &mut destination));
        for outcome in [uploaded, downloaded] {
            match here.is_simt() {
                true => outcome.unwrap(),
                false => assert!(matches!(outcome, Err(DeviceError::OtherDevice { .. })), "{outcome:?}"),
            }
        }
    }
}

/// A large copy is pending when the closure panics; afterwards the destination must hold all of it.
fn a_panic_waits_for_the_work(device: &Device) {
    let len = 1 << 22;
    let (mut from, mut to) = (device.pinned::<u32>(len).unwrap(), device.pinned::<u32>(len).unwrap());
    from.as_mut_slice().fill(7);
    let mut on_device = device.alloc(len).unwrap();
    let caught = panic::catch_unwind(AssertUnwindSafe(|| {
        let _: Result<(), DeviceError> = device.scope(|stream| {
            let mut on_device = stream.bind(&mut on_device);
            stream.upload(&from, &mut on_device)?;
            stream.download(&on_device, &mut to)?;
            panic::resume_unwind(Box::new("on purpose")) // without the panic hook's message
        });
    }));
    assert_eq!(caught.unwrap_err().downcast_ref(), Some(&"on purpose"));
    assert!(to.as_slice().iter().all(|&element| element == 7));
}

/// The scope runs while a panic unwinds, and its own closure fails.
fn a_scope_in_a_destructor_of_a_panic_waits_too(device: &Device) {
    struct Copies<'a>(&'a Device, &'a mut Vec<u32>);
    impl Drop for Copies<'_> {
        fn drop(&mut self) {
            let (mut from, mut to) = (self.0.pinned::<u32>(1 << 20).unwrap(), self.0.pinned::<u32>(1 << 20).unwrap());
            from.as_mut_slice().fill(3);
            let mut on_device = self.0.alloc(1 << 20).unwrap();
            let outcome: Result<(), DeviceError> = self.0.scope(|stream| {
                let mut on_device = stream.bind(&mut on_device);
                stream.upload(&from, &mut on_device)?;
                stream.download(&on_device, &mut to)?;
                Err(DeviceError::LengthMismatch { from: 1, to: 2 })
            });
            assert!(outcome.is_err());
            self.1.extend(to.as_slice());
        }
    }
    let mut copied = Vec::new();
    let caught = panic::catch_unwind(AssertUnwindSafe(|| {
        let _copies = Copies(device, &mut copied);
        panic::resume_unwind(Box::new("on purpose"))
    }));
    assert!(caught.is_err());
    assert_eq!(copied, vec![3; 1 << 20]);
}

fn an_error_waits_for_the_work(device: &Device) {
    let len = 1 << 22;
    let (mut from, mut to) = (device.pinned::<u32>(len).unwrap(), device.pinned::<u32>(len).unwrap());
    from.as_mut_slice().fill(9);
    let mut on_device = device.alloc(len).unwrap();
    let outcome: Result<(), DeviceError> = device.scope(|stream| {
        let mut on_device = stream.bind(&mut on_device);
        stream.upload(&from, &mut on_device)?;
        stream.download(&on_device, &mut to)?;
        Err(DeviceError::LengthMismatch { from: 1, to: 2 })
    });
    assert!(matches!(outcome, Err(DeviceError::LengthMismatch { from: 1, to: 2 })));
    assert!(to.as_slice().iter().all(|&element| element == 9));
}

fn the_budget_refuses_first(device: &Device) {
    let limit = device.budget().limit() as usize;
    let held = device.pinned::<u8>(limit - 10).unwrap();
    assert_eq!(device.budget().used(), limit as u64 - 10, "exactly what was asked for");
    for outcome in [device.pinned::<u8>(11).map(drop), device.mapped::<u8>(11).map(drop)] {
        let Err(DeviceError::Budget(refused)) = outcome else { panic!("{outcome:?}") };
        assert_eq!((refused.asked, refused.used), (11, limit as u64 - 10));
    }
    drop(device.pinned::<u8>(10).unwrap());
    drop(held);
    assert_eq!(device.budget().used(), 0);
}

fn too_much_device_memory_is_a_typed_error(device: &Device) {
    let total = device.free_memory().unwrap().total as usize;
    let len = if device.is_simt() { isize::MAX as usize } else { total + 1 };
    let outcome = device.alloc::<u8>(len);
    let expected = match &outcome {
        Err(DeviceError::OutOfDeviceMemory { asked, .. }) => *asked == len as u64,
        Err(DeviceError::OutOfHostMemory { bytes }) => device.is_simt() && *bytes == len as u64,
        _ => false,
    };
    assert!(expected, "{outcome:?}");
    assert!(matches!(device.alloc::<f32>(usize::MAX / 2), Err(DeviceError::TooLarge { .. })));
    assert!(matches!(device.pinned::<f32>(usize::MAX / 2).map(drop), Err(DeviceError::TooLarge { .. })));
    bytes_survive_the_round_trip(device); // the failure left the device working
}

fn buffers_may_be_used_and_dropped_on_other_threads(device: &Device) {
    let mut from = device.pinned::<f32>(1000).unwrap();
    let mut on_device = device.alloc(1000).unwrap();
    from.as_mut_slice().copy_from_slice(&numbers(1000));
    std::thread::scope(|threads| {
        let worker = threads.spawn(move || {
            let mut to = device.mapped(1000).unwrap();
            let round = device.scope(|stream| {
                let mut on_device = stream.bind(&mut on_device);
                stream.upload(&from, &mut on_device)?;
                stream.download(&on_device, &mut to)
            });
            round.unwrap();
            assert_eq!(to.as_slice(), numbers(1000));
        });
        worker.join().unwrap();
    });
}

fn scopes_on_several_threads_do_not_mix(device: &Device) {
    std::thread::scope(|threads| {
        for thread in 0..4u32 {
            threads.spawn(move || {
                let len = 4096 + thread as usize;
                let (mut from, mut to) = (device.pinned::<u32>(len).unwrap(), device.pinned::<u32>(len).unwrap());
                let mut on_device = device.alloc(len).unwrap();
                for round in 0..50 {
                    from.as_mut_slice().fill(thread << 16 | round);
                    let outcome = device.scope(|stream| {
                        let mut on_device = stream.bind(&mut on_device);
                        stream.upload(&from, &mut on_device)?;
                        stream.download(&on_device, &mut to)
                    });
                    outcome.unwrap();
                    assert_eq!(to.as_slice(), from.as_slice());
                }
            });
        }
    });
}

fn marks_are_in_order(device: &Device) {
    let mut on_device = device.alloc::<u8>(1 << 20).unwrap();
    let times: Result<(Duration, Duration, Duration), DeviceError> = device.scope(|stream| {
        let mut on_device = stream.bind(&mut on_device);
        let first = stream.mark()?;
        stream.fill(&mut on_device, 1)?;
        let second = stream.mark()?;
        stream.fill(&mut on_device, 2)?;
        let third = stream.mark()?;
        Ok((stream.elapsed(first, second)?, stream.elapsed(second, third)?, stream.elapsed(first, third)?))
    });
    let (one, two, both) = times.unwrap();
    let sum = one + two;
    assert!(both >= one && both >= two, "{one:?} {two:?} {both:?}");
    assert!(sum.abs_diff(both) <= Duration::from_micros(5), "{sum:?} {both:?}");
}

/// Pinned bytes, resident memory and free device memory are where they were.
fn hundreds_of_repetitions_leave_nothing_behind(device: &Device) {
    let shape = Shape::new(96, 80, 72).unwrap();
    let (a, b) = (Matrix::random(96, 72, 1), Matrix::random(72, 80, 2));
    let problem = Problem { shape, a: a.data(), b: b.data() };
    let modes = modes_of(device);
    let all_modes = || {
        for &mode in &modes {
            let mut strategy = mode.prepare(device, problem).unwrap();
            strategy.poison(device).unwrap();
            strategy.run(device, MatmulKernel::Tiled).unwrap();
            assert!(strategy.product().iter().all(|element| element.to_bits() != POISON));
        }
    };
    (0..20).for_each(|_| all_modes()); // pools and tables grow to their size
    // One set of buffers is 80 kB: a leak of any of them 200 times over would be 16 MB, each time. What the driver keeps for
    // later (freed pages of managed memory) stops growing.
    let held = || {
        let free = device.free_memory().unwrap();
        (resident_bytes(), if device.is_simt() { 0 } else { free.total - free.free })
    };
    let mut rounds = vec![held()];
    let clean = (0..4).any(|_| {
        let (resident, on_device) = held();
        (0..200).for_each(|_| all_modes());
        assert_eq!(device.budget().used(), 0);
        rounds.push(held());
        let (resident_now, on_device_now) = rounds[rounds.len() - 1];
        resident_now.saturating_sub(resident) < 8 << 20 && on_device_now.saturating_sub(on_device) <= 2 << 20
    });
    assert!(clean, "resident and device memory after each 200 times all modes: {rounds:?}");
}

/// Resident memory of this process; 0 where the system does not tell.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = status.split_whitespace().nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    pages * 4096
}
