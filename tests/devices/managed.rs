//! Managed memory on every device that has it; on others, that it is refused with a reason.

use cpu::device::{Device, DeviceError, Selector};
use cpu::matmul::{Mode, StrategyError};
use cpu::memory::{Advice, HostBuffer, HostKind, Location, ManagedBuffer, PinnedBudget};
use cpu::verify::{Method, POISON, Source, Verifier};
use gpu::access::{Access, Grid, pattern};
use gpu::matmul::{LaunchError, MatmulKernel, Shape};

use crate::suite::{Test, numbers};

/// All of them, by name.
pub const TESTS: &[(&str, Test)] = &[
    ("managed_memory_is_used_by_both_sides_in_turn", managed_memory_is_used_by_both_sides_in_turn),
    ("prefetches_and_advice_change_no_result", prefetches_and_advice_change_no_result),
    ("parts_of_managed_memory_are_checked", parts_of_managed_memory_are_checked),
    ("an_empty_managed_buffer_is_no_error", an_empty_managed_buffer_is_no_error),
    ("managed_memory_is_copied_as_ordinary_memory_is", managed_memory_is_copied_as_ordinary_memory_is),
    ("more_managed_memory_than_there_is_is_refused", more_managed_memory_than_there_is_is_refused),
    ("managed_memory_of_another_device_is_refused", managed_memory_of_another_device_is_refused),
];

/// Whether the device has managed memory; says so where it has not.
fn is_here(device: &Device) -> bool {
    match device.info().check_managed() {
        Ok(()) => true,
        Err(why) => {
            println!("not tried: {why}");
            let refused = device.managed::<u8>(1).map(drop).unwrap_err();
            assert_eq!(refused.to_string(), why.to_string(), "what it says of itself is what it does");
            false
        }
    }
}

/// The modes that the device can run; says which it cannot.
pub fn modes_of(device: &Device) -> Vec<Mode> {
    let managed = is_here(device);
    Mode::ALL.into_iter().filter(|mode| managed || !mode.is_managed()).collect()
}

fn filled(device: &Device, elements: &[f32]) -> ManagedBuffer<f32> {
    let mut buffer = device.managed::<f32>(elements.len()).unwrap();
    assert!(buffer.as_slice().iter().all(|&element| element.to_bits() == 0), "zeroed");
    buffer.as_mut_slice().copy_from_slice(elements);
    buffer
}

fn managed_memory_is_used_by_both_sides_in_turn(device: &Device) {
    if !is_here(device) {
        return;
    }
    for [m, n, k] in [[1, 1, 1], [67, 71, 33], [130, 127, 129]] {
        let shape = Shape::new(m, n, k).unwrap();
        let mut a = filled(device, &numbers(shape.a_len()));
        let b = filled(device, &numbers(shape.b_len()));
        let mut c = device.managed::<f32>(shape.c_len()).unwrap();
        assert_eq!((a.kind(), a.kind().name(), c.len()), (HostKind::Managed, "managed", shape.c_len()));
        assert_eq!(device.budget().used(), 0, "it is not page-locked");
        for round in 0..3 {
            c.as_mut_slice().fill(f32::from_bits(POISON));
            let product: Result<(), StrategyError> = device.scope(|stream| {
                let (a, b, c) = (stream.map(&a)?, stream.map(&b)?, stream.map_mut(&mut c)?);
                MatmulKernel::Tiled.launch(stream, shape, a, b, c)
            });
            product.unwrap();
            let verifier = Verifier::new(shape, a.as_slice(), b.as_slice(), Method::Full, Source::Random, round);
            verifier.check(c.as_slice()).into_result().unwrap();
            a.as_mut_slice().reverse(); // the next kernel must see what the CPU writes now
        }
    }
}

/// Whoever is told, and whatever is moved, before and between kernels: the same product.
fn prefetches_and_advice_change_no_result(device: &Device) {
    if !is_here(device) {
        return;
    }
    let shape = Shape::new(150, 140, 130).unwrap();
    let (a, b) = (filled(device, &numbers(shape.a_len())), filled(device, &numbers(shape.b_len())));
    let mut c = device.managed::<f32>(shape.c_len()).unwrap();
    let verifier = Verifier::new(shape, a.as_slice(), b.as_slice(), Method::Full, Source::Random, 0);
    for advice in [
        Advice::ReadMostly,
        Advice::PreferredLocation(Location::Device),
        Advice::PreferredLocation(Location::Host),
        Advice::AccessedBy(Location::Device),
        Advice::AccessedBy(Location::Host),
    ] {
        c.as_mut_slice().fill(f32::from_bits(POISON));
        let product: Result<(), StrategyError> = device.scope(|stream| {
            let mut c = stream.bind_managed(&mut c);
            stream.advise(&a, advice)?;
            stream.advise(b.part(100..2000)?, advice)?;
            stream.advise(&c, advice)?;
            stream.prefetch_to_device(&a)?;
            stream.prefetch_to_device(b.part(7..5000)?)?;
            stream.prefetch_to_device(&c)?;
            MatmulKernel::Naive.launch(stream, shape, stream.map(&a)?, stream.map(&b)?, c.slice_mut())?;
            stream.prefetch_to_host(c.part(0..9000)?)?;
            stream.prefetch_to_device(&c)?;
            MatmulKernel::Tiled.launch(stream, shape, stream.map(&a)?, stream.map(&b)?, c.slice_mut())?;
            stream.unadvise(&c, advice)?;
            stream.unadvise(b.part(100..2000)?, advice)?;
            stream.unadvise(&a, advice)?;
            stream.prefetch_to_host(&c)?;
            Ok(())
        });
        product.unwrap_or_else(|why| panic!("{advice:?}: {why}"));
        verifier.check(c.as_slice()).into_result().unwrap_or_else(|why| panic!("{advice:?}: {why}"));
    }
}

fn parts_of_managed_memory_are_checked(device: &Device) {
    if !is_here(device) {
        return;
    }
    let mut memory = device.managed::<u32>(1000).unwrap();
    let inverted = std::ops::Range { start: 3, end: 2 };
    for range in [0..1001, 1001..1001, inverted, usize::MAX..usize::MAX] {
        let outcome = memory.part(range.clone()).map(drop);
        assert!(matches!(outcome, Err(DeviceError::OutOfRange { len: 1000, .. })), "{range:?}: {outcome:?}");
    }
    let outcome = device.scope(|stream| {
        let mut memory = stream.bind_managed(&mut memory);
        assert!(memory.part(999..1001).is_err());
        stream.prefetch_to_device(memory.part(1000..1000)?)?;
        stream.advise(memory.part(0..0)?, Advice::ReadMostly)?;
        // Kernels take ranges too, and touch nothing else.
        let range = memory.slice_mut().range(4..8).unwrap();
        Access(stream).write(Grid::of(1), range, 1).map_err(|why| panic!("{why:?}"))
    });
    outcome.map_err(|why: DeviceError| why).unwrap();
    let expected = |index: usize| if (4..8).contains(&index) { pattern(index - 4, 1) } else { 0 };
    assert!(memory.as_slice().iter().enumerate().all(|(index, &word)| word == expected(index)));
}

/// Also on a device that has none: nothing of nothing is asked for.
fn an_empty_managed_buffer_is_no_error(device: &Device) {
    let (from, mut to) = (device.managed::<f32>(0).unwrap(), device.managed::<f32>(0).unwrap());
    assert!(from.is_empty() && from.as_slice().is_empty() && to.as_mut_slice().is_empty());
    let outcome: Result<usize, DeviceError> = device.scope(|stream| {
        let to = stream.bind_managed(&mut to);
        stream.prefetch_to_device(&from)?;
        stream.prefetch_to_host(&to)?;
        stream.advise(from.part(0..0)?, Advice::AccessedBy(Location::Host))?;
        stream.unadvise(&to, Advice::ReadMostly)?;
        Ok(stream.map(&from)?.len() + to.slice().len())
    });
    assert_eq!(outcome.unwrap(), 0);
}

fn managed_memory_is_copied_as_ordinary_memory_is(device: &Device) {
    if !is_here(device) {
        return;
    }
    for len in [1, 1023, (1 << 18) + 7] {
        let sent = numbers(len);
        let (from, mut to) = (filled(device, &sent), device.managed::<f32>(len).unwrap());
        let mut on_device = device.alloc(len).unwrap();
        to.as_mut_slice().fill(f32::from_bits(POISON));
        // Wherever the pages are: the source on the device, the destination on the host, and the other way round.
        for _ in 0..2 {
            let round = device.scope(|stream| {
                let mut on_device = stream.bind(&mut on_device);
                stream.fill(&mut on_device, 0xFF)?;
                stream.prefetch_to_device(&from)?;
                stream.upload_pageable(from.as_slice(), &mut on_device)?;
                stream.download_pageable(&on_device, to.as_mut_slice())
            });
            round.unwrap();
            assert!(to.as_slice() == sent, "{len}");
            to.as_mut_slice().fill(0.0);
            device.scope(|stream| stream.prefetch_to_device(&to)).unwrap();
        }
    }
}

/// Found out before the driver is asked, which would grant it; and the refusal takes nothing.
fn more_managed_memory_than_there_is_is_refused(device: &Device) {
    if !is_here(device) {
        return;
    }
    let total = device.free_memory().unwrap().total;
    // On simt what is free may grow meanwhile.
    let asked = if device.is_simt() { isize::MAX as u64 } else { total + 1 };
    let refused = device.managed::<u8>(asked as usize).map(drop).unwrap_err();
    let text = refused.to_string();
    let DeviceError::Managed(refused) = refused else { panic!("{text}") };
    assert!(refused.asked == asked && refused.device_free <= total.max(asked) && refused.host_available > 0, "{text}");
    assert!(text.contains("free") && text.contains("available") && text.contains("smaller"), "{text}");
    let overflow = device.managed::<f32>(usize::MAX / 2).map(drop);
    assert!(matches!(overflow, Err(DeviceError::TooLarge { .. })), "{overflow:?}");
    drop(device.managed::<u8>(1).unwrap());
}

fn managed_memory_of_another_device_is_refused(device: &Device) {
    if !is_here(device) {
        return;
    }
    let other = Device::open(Selector::Simt, PinnedBudget::limited_to(0)).unwrap();
    let shape = Shape::new(2, 2, 2).unwrap();
    for (here, there) in [(device, &other), (&other, device)] {
        let (a, mut own) = (here.managed::<f32>(4).unwrap(), here.managed::<f32>(4).unwrap());
        let (shared, mut alone) = (there.managed::<f32>(4).unwrap(), there.managed::<f32>(4).unwrap());
        let outcome: Result<(), DeviceError> = here.scope(|stream| {
            let (own, mut alone) = (stream.bind_managed(&mut own), stream.bind_managed(&mut alone));
            let refused = |outcome| assert!(matches!(outcome, Err(DeviceError::OtherDevice { .. })), "{outcome:?}");
            refused(stream.prefetch_to_device(&shared));
            refused(stream.prefetch_to_host(&alone));
            refused(stream.prefetch_to_device(alone.part(0..1)?));
            refused(stream.advise(&shared, Advice::ReadMostly));
            refused(stream.unadvise(&alone, Advice::ReadMostly));
            refused(stream.map(&shared).map(drop));
            let launched = MatmulKernel::Naive.launch(stream, shape, stream.map(&a)?, own.slice(), alone.slice_mut());
            assert!(matches!(launched, Err(LaunchError::Domain { matrix: "C" })), "{launched:?}");
            Ok(())
        });
        outcome.unwrap();
    }
}
