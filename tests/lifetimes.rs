//! What is freed when, asserted from the log of the fake driver: after the wait on every way out, on every thread, after
//! every failure, and once.

use std::ffi::OsStr;
use std::panic::{self, AssertUnwindSafe};
use std::process::Command;

use cpu::device::{Device, DeviceError, Selector};
use cpu::matmul::{Mode, Problem, StrategyError};
use cpu::memory::{HostBuffer, PinnedBudget};
use gpu::matmul::{MatmulKernel, Shape};

#[path = "support/fake.rs"]
mod fake;
use fake::{Fake, with_fake};

/// The first device of a driver that is configured anew.
fn open(fake: &Fake, config: &str) -> Result<Device, DeviceError> {
    fake.configure(config);
    Device::open(Selector::Cuda(0), PinnedBudget::limited_to(256 << 20))
}

/// How a scope ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Success,
    Error,
    Panic,
}

/// Copies a byte there and back in buffers of its own, and ends so. The buffers are dropped on the way out.
fn round_trip(device: &Device, end: End) -> Result<u8, DeviceError> {
    let (mut from, mut to) = (device.pinned::<u8>(1)?, device.pinned::<u8>(1)?);
    let mut on_device = device.alloc(1)?;
    from.as_mut_slice()[0] = 42;
    device.scope(|stream| {
        let mut on_device = stream.bind(&mut on_device);
        stream.upload(&from, &mut on_device)?;
        stream.download(&on_device, &mut to)?;
        match end {
            End::Success => Ok(()),
            End::Error => Err(DeviceError::LengthMismatch { from: 1, to: 2 }),
            End::Panic => panic::resume_unwind(Box::new("on purpose")), // without the panic hook's message
        }
    })?;
    Ok(to.as_slice()[0])
}

/// A product of 2×2 matrices.
fn product(device: &Device, mode: Mode) -> Result<Vec<f32>, StrategyError> {
    let shape = Shape::new(2, 2, 2).expect("a shape");
    let mut strategy = mode.prepare(device, Problem { shape, a: &[1., 2., 3., 4.], b: &[5., 6., 7., 8.] })?;
    strategy.poison(device)?;
    strategy.run(device, MatmulKernel::Tiled)?;
    Ok(strategy.product().to_vec())
}

#[test]
fn memory_is_freed_after_the_wait() {
    with_fake("memory_is_freed_after_the_wait", "", |fake| {
        for end in [End::Success, End::Error, End::Panic] {
            let device = open(fake, "").unwrap();
            let outcome = panic::catch_unwind(AssertUnwindSafe(|| round_trip(&device, end)));
            match end {
                End::Success => assert_eq!(outcome.unwrap().unwrap(), 42),
                End::Error => assert!(outcome.unwrap().is_err()),
                End::Panic => assert!(outcome.is_err()),
            }
            assert_eq!(fake.executed().len(), 2, "{end:?}: both copies are done");
            assert_eq!(device.budget().used(), 0, "{end:?}");
            drop(device);
            let log = fake.log();
            let at = |line: &str| log.iter().position(|entry| entry.starts_with(line)).expect(line);
            let waited = at("cuStreamSynchronize stream1");
            for freed in ["cuMemFreeHost pinned1", "cuMemFreeHost pinned2", "cuMemFree_v2 dev1"] {
                assert!(waited < at(freed), "{end:?}: {freed} before the wait");
            }
            fake.assert_clean();
        }
    });
}

/// What failed may have left work or an error behind; a fresh stream has neither.
#[test]
fn only_the_stream_of_a_scope_that_succeeded_is_used_again() {
    with_fake("only_the_stream_of_a_scope_that_succeeded_is_used_again", "", |fake| {
        let device = open(fake, "").unwrap();
        let ends = [End::Success, End::Success, End::Error, End::Success, End::Panic, End::Success];
        for end in ends {
            let _ = panic::catch_unwind(AssertUnwindSafe(|| round_trip(&device, end)));
        }
        let log = fake.log();
        let waits: Vec<_> = log.iter().filter_map(|line| line.strip_prefix("cuStreamSynchronize ")).collect();
        assert_eq!(waits, ["stream1", "stream1", "stream1", "stream2", "stream2", "stream3"]);
        assert_eq!(fake.live("stream"), 1);
        drop(device);
        fake.assert_clean();
    });
}

/// The fake's device addresses are no host addresses, so the product shows whether the driver was asked.
#[test]
fn mapped_memory_is_used_at_the_address_that_the_driver_tells() {
    with_fake("mapped_memory_is_used_at_the_address_that_the_driver_tells", "", |fake| {
        let device = open(fake, "").unwrap();
        assert_eq!(product(&device, Mode::Mapped).unwrap(), [19.0, 22.0, 43.0, 50.0]);
        assert!(fake.calls("cuMemHostGetDevicePointer_v2") >= 3);
        assert_eq!(fake.calls("cuMemAlloc_v2"), 0);
        drop(device);
        fake.assert_clean();
    });
}

/// Every call that a mode makes fails once, the first time and the later times. Nothing stays behind.
#[test]
fn whatever_fails_everything_is_freed() {
    const CALLS: [&str; 12] = [
        "cuMemAllocManaged",
        "cuMemPrefetchAsync",
        "cuMemHostAlloc",
        "cuMemAlloc_v2",
        "cuMemHostGetDevicePointer_v2",
        "cuStreamCreateWithPriority",
        "cuMemcpyHtoDAsync_v2",
        "cuMemcpyDtoHAsync_v2",
        "cuModuleGetFunction",
        "cuLaunchKernel",
        "cuEventCreate",
        "cuEventRecord",
    ];
    with_fake("whatever_fails_everything_is_freed", "", |fake| {
        let mut failures = 0;
        for mode in Mode::ALL {
            for (call, code) in CALLS.iter().flat_map(|call| [(call, 2), (call, 1)]) {
                for nth in 1.. {
                    let device = open(fake, &format!("fail={call}:{nth}:{code}")).unwrap();
                    let outcome = product(&device, mode);
                    let reached = fake.calls(call) >= nth;
                    assert_eq!(outcome.is_err(), reached, "{mode:?}, {call} {nth}: {outcome:?}");
                    assert_eq!(device.budget().used(), 0, "{mode:?}, {call} {nth}");
                    if reached {
                        // The failure is over, and the device works.
                        assert_eq!(product(&device, mode).unwrap(), [19.0, 22.0, 43.0, 50.0]);
                    }
                    drop(device);
                    fake.assert_clean();
                    if !reached {
                        break;
                    }
                    failures += 1;
                }
            }
        }
        assert!(failures > 60, "{failures}");
    });
}

/// A device that cannot be opened leaves nothing behind either.
#[test]
fn a_device_that_does_not_open_is_released() {
    with_fake("a_device_that_does_not_open_is_released", "", |fake| {
        for call in ["cuModuleLoadData", "cuDeviceTotalMem_v2", "cuDriverGetVersion", "cuDevicePrimaryCtxRetain"] {
            // Once for each image, where there are several to try.
            let config = (1..=4).map(|nth| format!("fail={call}:{nth}:1")).collect::<Vec<_>>().join(",");
            assert!(open(fake, &config).is_err(), "{call}");
            fake.assert_clean();
        }
    });
}

#[test]
fn what_could_not_be_freed_stays_on_the_account() {
    with_fake("what_could_not_be_freed_stays_on_the_account", "", |fake| {
        let device = open(fake, "fail=cuMemFreeHost:2:1").unwrap();
        let (first, second, third) =
            (device.pinned::<u8>(100).unwrap(), device.mapped::<u8>(20).unwrap(), device.pinned::<u8>(3).unwrap());
        drop(first);
        assert_eq!(device.budget().used(), 23);
        drop(second);
        assert_eq!((device.budget().used(), fake.live("pinned")), (23, 2));
        drop(third);
        assert_eq!((device.budget().used(), fake.live("pinned")), (20, 1));
    });
}

#[test]
fn a_lost_context_is_an_error_and_no_more() {
    with_fake("a_lost_context_is_an_error_and_no_more", "", |fake| {
        let device = open(fake, "launch_error=700").unwrap();
        let outcome = product(&device, Mode::Pinned);
        let why = outcome.unwrap_err().to_string();
        assert!(why.contains("matmul_tiled") && why.contains("CUDA_ERROR_ILLEGAL_ADDRESS"), "{why}");
        // The driver frees nothing any more: three matrices of 16 bytes are pinned, and counted.
        assert_eq!((device.budget().used(), fake.live("pinned")), (48, 3));
        assert!(device.alloc::<u8>(1).is_err());
    });
}

/// Buffers and streams keep alive what they need of the device. The last one ends the context.
#[test]
fn buffers_may_outlive_their_device() {
    with_fake("buffers_may_outlive_their_device", "", |fake| {
        let device = open(fake, "").unwrap();
        round_trip(&device, End::Success).unwrap(); // leaves an idle stream
        let buffers =
            (device.pinned::<u8>(8).unwrap(), device.mapped::<u8>(8).unwrap(), device.alloc::<u8>(8).unwrap());
        let budget = device.budget().clone();
        drop(device);
        assert_eq!((budget.used(), fake.calls("cuDevicePrimaryCtxRelease_v2")), (16, 0));
        // On a thread that never saw the context.
        std::thread::spawn(move || drop(buffers)).join().unwrap();
        assert_eq!((budget.used(), fake.calls("cuDevicePrimaryCtxRelease_v2")), (0, 1));
        fake.assert_clean();
    });
}

#[test]
fn every_thread_gets_the_context_that_it_needs() {
    with_fake("every_thread_gets_the_context_that_it_needs", "", |fake| {
        fake.configure("devices=2");
        let [first, second] = [0, 1].map(|ordinal| {
            Device::open(Selector::Cuda(ordinal), PinnedBudget::limited_to(256 << 20)).expect("the fake has two")
        });
        std::thread::scope(|threads| {
            for devices in [[&first, &second], [&second, &first]] {
                threads.spawn(move || {
                    for device in devices.iter().cycle().take(6) {
                        assert_eq!(round_trip(device, End::Success).unwrap(), 42);
                    }
                });
            }
        });

        // Page-locked memory is portable, device memory and mapped addresses are not.
        let mut pinned = first.pinned::<u8>(1).unwrap();
        pinned.as_mut_slice()[0] = 7;
        let (mut own, mut foreign) = (second.alloc(1).unwrap(), first.alloc::<u8>(1).unwrap());
        second.scope(|stream| stream.upload(&pinned, &mut stream.bind(&mut own))).unwrap();
        let refused = second.scope(|stream| stream.fill(&mut stream.bind(&mut foreign), 0));
        assert!(matches!(refused, Err(DeviceError::OtherDevice { .. })), "{refused:?}");
        drop((pinned, own, foreign, first, second));
        fake.assert_clean();
    });
}

/// A panic inside two scopes: each waits for its own stream before the panic goes on.
#[test]
fn a_panic_waits_in_every_scope_that_it_leaves() {
    with_fake("a_panic_waits_in_every_scope_that_it_leaves", "", |fake| {
        let device = open(fake, "").unwrap();
        let caught = panic::catch_unwind(AssertUnwindSafe(|| {
            let (mut outer_memory, mut inner_memory) = (device.alloc::<u8>(8).unwrap(), device.alloc::<u8>(8).unwrap());
            let _: Result<(), DeviceError> = device.scope(|outer| {
                outer.fill(&mut outer.bind(&mut outer_memory), 1)?;
                device.scope(|inner| {
                    inner.fill(&mut inner.bind(&mut inner_memory), 2)?;
                    panic::resume_unwind(Box::new("on purpose"))
                })
            });
        }));
        assert_eq!(caught.unwrap_err().downcast_ref(), Some(&"on purpose"));
        drop(device);
        assert_eq!(fake.executed(), ["stream2 fill dev2+0 bytes=8", "stream1 fill dev1+0 bytes=8"]);
        fake.assert_clean();
    });
}

/// The borrows end when a scope returns. If the wait fails and does not say that the work has ended, it must not return:
/// not with success, not with an error, and not by a panic.
#[test]
#[cfg(unix)]
fn a_wait_that_proves_nothing_ends_the_process() {
    use std::os::unix::process::ExitStatusExt;

    const TEST: &str = "a_wait_that_proves_nothing_ends_the_process";
    const CHILD: &str = "PAGELOCK_DYING_CHILD";
    if let Ok(end) = std::env::var(CHILD) {
        let device = Device::open(Selector::Cuda(0), PinnedBudget::limited_to(256 << 20)).unwrap();
        let end = [End::Success, End::Error, End::Panic].into_iter().find(|it| format!("{it:?}") == end).unwrap();
        let _ = panic::catch_unwind(AssertUnwindSafe(|| round_trip(&device, end)));
        println!("the scope has returned");
        return;
    }
    for end in [End::Success, End::Error, End::Panic] {
        // INVALID_VALUE, INVALID_HANDLE, and a code that nobody knows.
        for code in [1, 400, 4321] {
            let output = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", TEST, "--nocapture", "--test-threads=1"])
                .env(CHILD, format!("{end:?}"))
                .env("PAGELOCK_LIBCUDA", fake::library())
                .env("FAKE_CUDA", OsStr::new(&format!("fail=cuStreamSynchronize:1:{code}")))
                .output()
                .unwrap();
            let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            assert_eq!(output.status.signal(), Some(6), "{end:?} {code}: {}\n{out}\n{err}", output.status);
            assert!(!out.contains("the scope has returned"), "{end:?} {code}");
            assert!(err.contains("Aborting") && err.contains("cuStreamSynchronize"), "{end:?} {code}: {err}");
        }
    }
}
