//! What the driver is asked about managed memory, and what it is not: asserted from the log of the fake driver.

use std::panic::{self, AssertUnwindSafe};

use cpu::device::{Device, DeviceError, Selector};
use cpu::matmul::{Mode, NeedsError, Problem, check_needs};
use cpu::memory::{Advice, HostBuffer, Location, ManagedExceeded, PinnedBudget};
use gpu::access::{Access, Grid, pattern};
use gpu::matmul::{MatmulKernel, Shape};

#[path = "support/fake.rs"]
mod fake;
use fake::{Fake, with_fake};

/// The first device of a driver that is configured anew.
fn open(fake: &Fake, config: &str) -> Device {
    fake.configure(config);
    Device::open(Selector::Cuda(0), PinnedBudget::limited_to(1 << 20)).unwrap()
}

/// Lines of the log that begin so.
fn lines(fake: &Fake, call: &str) -> Vec<String> {
    fake.log().into_iter().filter(|line| line.starts_with(call)).collect()
}

#[test]
fn a_device_that_cannot_is_refused_with_the_reason_and_a_way_out() {
    with_fake("a_device_that_cannot_is_refused_with_the_reason_and_a_way_out", "", |fake| {
        let shape = Shape::new(8, 8, 8).unwrap();
        for (config, attribute) in [
            ("no_managed", "MANAGED_MEMORY"),
            ("sequential_managed=0", "CONCURRENT_MANAGED_ACCESS"),
            // The memory would be the other GPU's too, and the CPU could crash while that one works.
            ("devices=2,sequential_managed=1", "CONCURRENT_MANAGED_ACCESS"),
        ] {
            let device = open(fake, config);
            let refused = device.managed::<f32>(1).map(drop).unwrap_err();
            let typed = match &refused {
                DeviceError::CannotManage { .. } => "MANAGED_MEMORY",
                DeviceError::ManagedNotConcurrent { .. } => "CONCURRENT_MANAGED_ACCESS",
                _ => "",
            };
            let text = refused.to_string();
            assert_eq!(typed, attribute, "{config}: {text}");
            for part in ["Fake H200", attribute, "mapped or pinned"] {
                assert!(text.contains(part), "`{part}` is not in: {text}");
            }
            for mode in [Mode::Managed, Mode::Prefetched] {
                let needs = check_needs(&device, shape, &[mode], 0);
                assert!(matches!(needs, Err(NeedsError::Managed { .. })), "{config}: {needs:?}");
            }
            check_needs(&device, shape, &Mode::ARTICLE, 0).unwrap();
            assert!(device.managed::<f32>(0).unwrap().is_empty(), "nothing needs no ability");
            assert_eq!(fake.calls("cuMemAllocManaged"), 0, "{config}");
            drop(device);
            fake.assert_clean();
        }
        let device = open(fake, "devices=2");
        drop(device.managed::<f32>(1).unwrap());
    });
}

#[test]
fn more_than_there_is_is_refused_before_the_driver_is_asked() {
    with_fake("more_than_there_is_is_refused_before_the_driver_is_asked", "", |fake| {
        let device = open(fake, "memory=1000000");
        let exceeded = |asked: usize| match device.managed::<u8>(asked).map(drop) {
            Err(DeviceError::Managed(exceeded)) => exceeded,
            other => panic!("{asked}: {other:?}"),
        };
        let ManagedExceeded { asked, alive, device_free, host_available } = exceeded(1_000_001);
        assert_eq!((asked, alive, device_free), (1_000_001, 0, 1_000_000));
        assert!(host_available > 1_000_000);
        assert_eq!(fake.calls("cuMemAllocManaged"), 0);

        // The fake counts managed memory as used on the device at once; a driver does not before its pages are there, which
        // is why what is alive is counted beside what is free.
        let held = device.managed::<u8>(400_000).unwrap();
        let ManagedExceeded { alive, device_free, .. } = exceeded(200_001);
        assert_eq!((alive, device_free), (400_000, 600_000));
        drop(device.managed::<u8>(200_000).unwrap());
        drop(held);
        drop(device.managed::<u8>(1_000_000).unwrap());
        assert_eq!(fake.calls("cuMemAllocManaged"), 3);
        drop(device);
        fake.assert_clean();
    });
}

#[test]
fn a_driver_that_has_no_more_is_an_error_that_takes_nothing() {
    with_fake("a_driver_that_has_no_more_is_an_error_that_takes_nothing", "", |fake| {
        let device = open(fake, "memory=1000000,oom_at=cuMemAllocManaged:1,fail=cuMemAllocManaged:2:801");
        let outcome = device.managed::<u8>(600_000).map(drop);
        assert!(matches!(outcome, Err(DeviceError::OutOfDeviceMemory { asked: 600_000, .. })), "{outcome:?}");
        let outcome = device.managed::<u8>(600_000).map(drop);
        assert!(matches!(outcome, Err(DeviceError::Driver(_))), "{outcome:?}");
        drop(device.managed::<u8>(1_000_000).unwrap());
        drop(device);
        fake.assert_clean();
    });
}

#[test]
fn what_could_not_be_freed_stays_on_the_account() {
    with_fake("what_could_not_be_freed_stays_on_the_account", "", |fake| {
        let device = open(fake, "memory=1000000,fail=cuMemFree_v2:1:1");
        drop(device.managed::<u8>(300_000).unwrap());
        let Err(DeviceError::Managed(exceeded)) = device.managed::<u8>(500_000).map(drop) else {
            panic!("300 kB are still there, and counted");
        };
        assert_eq!((exceeded.alive, exceeded.device_free, fake.live("managed")), (300_000, 700_000, 1));
    });
}

/// However a scope ends: the kernel and the moves around it are done, then the memory is freed, once, as what it is.
#[test]
fn managed_memory_is_freed_after_the_wait() {
    with_fake("managed_memory_is_freed_after_the_wait", "", |fake| {
        for end in ["success", "error", "panic"] {
            let device = open(fake, "");
            let outcome = panic::catch_unwind(AssertUnwindSafe(|| {
                let mut memory = device.managed::<u32>(1024).unwrap();
                let outcome: Result<(), DeviceError> = device.scope(|stream| {
                    let mut memory = stream.bind_managed(&mut memory);
                    stream.prefetch_to_device(&memory)?;
                    Access(stream).write(Grid::of(1), memory.slice_mut(), 7).unwrap();
                    stream.prefetch_to_host(memory.part(0..512)?)?;
                    match end {
                        "success" => Ok(()),
                        "error" => Err(DeviceError::LengthMismatch { from: 1, to: 2 }),
                        _ => panic::resume_unwind(Box::new("on purpose")), // without the panic hook's message
                    }
                });
                outcome.map(|()| memory.as_slice()[1023])
            }));
            match outcome {
                Ok(Ok(word)) => assert_eq!((end, word), ("success", pattern(1023, 7))),
                Ok(Err(_)) => assert_eq!(end, "error"),
                Err(_) => assert_eq!(end, "panic"),
            }
            assert_eq!(fake.executed().len(), 3, "{end}: {:?}", fake.executed());
            drop(device);
            let log = fake.log();
            let at = |line: &str| log.iter().position(|entry| entry.starts_with(line)).expect(line);
            assert!(at("cuStreamSynchronize stream1") < at("cuMemFree_v2 managed1"), "{end}");
            assert_eq!(fake.calls("cuMemFree_v2") + fake.calls("cuMemFreeHost"), 1, "{end}");
            fake.assert_clean();
        }
    });
}

/// The numbers are those of cuda.h: 1 to 6 for advice, −1 for the CPU.
#[test]
fn the_driver_is_told_what_and_where() {
    with_fake("the_driver_is_told_what_and_where", "", |fake| {
        fake.configure("devices=2");
        let device = Device::open(Selector::Cuda(1), PinnedBudget::limited_to(0)).unwrap();
        let memory = device.managed::<f64>(100).unwrap();
        let outcome: Result<(), DeviceError> = device.scope(|stream| {
            for advice in [
                Advice::ReadMostly,
                Advice::PreferredLocation(Location::Device),
                Advice::PreferredLocation(Location::Host),
                Advice::AccessedBy(Location::Device),
                Advice::AccessedBy(Location::Host),
            ] {
                stream.advise(&memory, advice)?;
                stream.unadvise(memory.part(1..3)?, advice)?;
            }
            stream.prefetch_to_device(&memory)?;
            stream.prefetch_to_host(memory.part(99..100)?)?;
            stream.prefetch_to_device(memory.part(5..5)?)
        });
        outcome.unwrap();
        let told = [(1, 1), (3, 1), (3, -1), (5, 1), (5, -1)];
        let expected = told.iter().flat_map(|&(advice, device)| {
            let unset = advice + 1;
            [
                format!("cuMemAdvise managed1+0 bytes=800 {advice} device={device}"),
                format!("cuMemAdvise managed1+8 bytes=16 {unset} device={device}"),
            ]
        });
        assert_eq!(lines(fake, "cuMemAdvise"), expected.collect::<Vec<_>>());
        let prefetched = [
            "cuMemPrefetchAsync managed1+0 bytes=800 device=1 stream1",
            "cuMemPrefetchAsync managed1+792 bytes=8 device=-1 stream1",
        ];
        assert_eq!(lines(fake, "cuMemPrefetchAsync"), prefetched);
        drop((memory, device));
        fake.assert_clean();
    });
}

/// A run that found its inputs on the device would look faster than it is.
#[test]
fn every_run_of_a_product_begins_on_the_host() {
    with_fake("every_run_of_a_product_begins_on_the_host", "", |fake| {
        let shape = Shape::new(2, 2, 2).unwrap();
        let problem = Problem { shape, a: &[1., 2., 3., 4.], b: &[5., 6., 7., 8.] };
        for (mode, around) in [(Mode::Managed, ["", ""]), (Mode::Prefetched, ["123>", "3<"])] {
            let device = open(fake, "");
            let mut strategy = mode.prepare(&device, problem).unwrap();
            for _ in 0..2 {
                strategy.poison(&device).unwrap();
                strategy.run(&device, MatmulKernel::Tiled).unwrap();
                assert_eq!(strategy.product(), [19.0, 22.0, 43.0, 50.0]);
            }
            drop(strategy);
            // Which matrices went where, and when the kernel ran.
            let mut order = String::new();
            for done in fake.executed() {
                match done.split_once("prefetch managed") {
                    Some((_, rest)) => {
                        let way = if rest.ends_with("to -1") { '<' } else { '>' };
                        if order.ends_with(way) {
                            order.pop();
                        }
                        order.extend([rest.chars().next().unwrap(), way]);
                    }
                    None if done.contains("launch") => order.push('K'),
                    None => {}
                }
            }
            let [before, after] = around;
            // What is moved back after one run and again before the next is written in one.
            let one = format!("123<{before}K{after}");
            assert_eq!(order, format!("{one}{one}").replace("3<123<", "3123<"), "{mode:?}");
            drop(device);
            fake.assert_clean();
        }
    });
}
