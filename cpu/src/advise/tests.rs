//! The model on made-up machines, and on the recorded one.

use gpu::matmul::{MatmulKernel, Shape};

use super::*;
use crate::bandwidth::parameters::{Cost, CpuSpeed, KernelSpeed, Parameters, ProductCost, VERSION};

/// Copies at 10 (pageable, staged) and 50 GB/s (the others) with 10 µs each, a link of 40, device memory of 1000; pinned
/// memory costs 96 ms for 100 MB to set up, pageable memory 20.
fn made_up() -> Machine {
    let cost = |memory: &str, rate: f64, setup: f64| {
        [1_000_000u64, 100_000_000].map(|size_bytes| {
            let ms = Some(0.01 + size_bytes as f64 / rate / 1e6);
            let setup = Some(setup * size_bytes as f64 / 2e8);
            Cost { memory: memory.into(), size_bytes, h2d_ms: ms, d2h_ms: ms, allocate_ms: setup, free_ms: setup }
        })
    };
    let kinds = [
        ("pageable", 10.0, 20.0),
        ("staged", 10.0, 20.0),
        ("pinned", 50.0, 96.0),
        ("mapped", 50.0, 96.0),
        ("write-combined", 50.0, 96.0),
        ("registered", 50.0, 10.0),
    ];
    let speed = |memory: &str, rate: f64| KernelSpeed {
        memory: memory.into(),
        read_gb_per_s: rate,
        write_gb_per_s: rate,
        copy_gb_per_s: 2.0 * rate,
        random_gb_per_s: rate / 8.0,
        latency_ns: Some(1000.0),
    };
    let cpu = |kind: &(&str, f64, f64)| CpuSpeed { memory: kind.0.into(), read_gb_per_s: 5.0, write_gb_per_s: 10.0 };
    let parameters = Parameters {
        version: VERSION,
        program: "a test".into(),
        device: "Made Up".into(),
        device_memory_bytes: Some(1_000_000_000),
        link_limit_gb_per_s: Some(60.0),
        staging_bytes: 1_000_000,
        costs: kinds.iter().flat_map(|(memory, rate, setup)| cost(memory, *rate, *setup)).collect(),
        kernels: vec![speed("mapped", 40.0), speed("device", 1000.0)],
        cpu: kinds.iter().map(cpu).collect(),
        products: vec![ProductCost { kernel: "tiled".into(), memory: "device".into(), extent: 1000, kernel_ms: 1.0 }],
        launch_and_wait_ms: Some(0.02),
        copy_launch_and_wait_ms: Some(0.025),
    };
    Machine::without_limits(parameters, Origin::Kept { path: "made-up".into() })
}

fn job(bytes_in: u64, bytes_out: u64) -> Job {
    Job {
        input_bytes: vec![bytes_in],
        output_bytes: bytes_out,
        reads_per_byte: 1.0,
        pattern: Pattern::Sequential,
        compute: Compute::Flops { flops: 0.0, tflop_per_s: None },
        repeats: 1,
        cpu_writes: false,
        cpu_reads: false,
    }
}

#[track_caller]
fn of(all: &[Prediction], strategy: Strategy) -> &Prediction {
    all.iter().find(|one| one.strategy == strategy).unwrap_or_else(|| panic!("no {strategy:?}"))
}

#[track_caller]
fn close(got: f64, expected: f64) {
    assert!((got - expected).abs() <= 1e-6 * expected.abs().max(1e-3), "{got} is not {expected}");
}

#[test]
fn stages_add_up() {
    let machine = made_up();
    let job = Job { cpu_writes: true, cpu_reads: true, repeats: 3, ..job(100_000_000, 50_000_000) };
    let all = predict(&job, &machine).unwrap();
    assert_eq!(all.len(), Strategy::ALL.len());
    let pinned = of(&all, Strategy::Pinned);
    close(pinned.h2d_ms, 2.01);
    close(pinned.d2h_ms, 1.01);
    close(pinned.kernel_ms, 0.1);
    close(pinned.cpu_write_ms, 10.0);
    close(pinned.cpu_read_ms, 10.0);
    close(pinned.run_ms, 2.01 + 1.01 + 0.1 + 20.0 + 0.02);
    close(pinned.all_ms, 144.0 + 3.0 * pinned.run_ms);
    let mapped = of(&all, Strategy::Mapped);
    assert_eq!((mapped.h2d_ms, mapped.d2h_ms), (0.0, 0.0));
    close(mapped.kernel_ms, 2.5);
    let staged = of(&all, Strategy::Staged);
    close(staged.allocate_ms - of(&all, Strategy::Pageable).allocate_ms, 0.48);
}

#[test]
fn copying_wins_from_as_many_reads_as_the_numbers_say() {
    let machine = made_up();
    // In place: r · 2.5 ms. Copied: 2.01 ms and r · 0.1 ms.
    let all = predict(&job(100_000_000, 0), &machine).unwrap();
    let found = recommend(&job(100_000_000, 0), &machine, &all);
    close(found.copying_wins_from_reads.unwrap(), 2.01 / 2.4);
    // With arithmetic that takes longer than the link, zero-copy hides all of it up to there.
    let busy = Job { compute: Compute::Kernel { kernel_ms: 100.0 }, ..job(100_000_000, 0) };
    let found = recommend(&busy, &machine, &predict(&busy, &machine).unwrap());
    close(found.copying_wins_from_reads.unwrap(), 102.01 / 2.5);
    assert_eq!(found.fastest_run, Some(Strategy::Mapped));
    let random = Job { pattern: Pattern::Random, ..job(100_000_000, 0) };
    let slower = of(&predict(&random, &machine).unwrap(), Strategy::Mapped).kernel_ms;
    close(slower, 8.0 * 2.5);
}

#[test]
fn pinning_pays_after_as_many_runs_as_the_numbers_say() {
    let machine = made_up();
    let job = job(100_000_000, 0);
    let all = predict(&job, &machine).unwrap();
    let found = recommend(&job, &machine, &all);
    // 76 ms more, and 8 ms saved a run: 9.5 runs.
    assert_eq!(found.pinning_pays_from_run, Some(10));
    let text = found.reasons.join(" ");
    // Of what could replace the recommended pageable memory, registered memory is first: 10 ms more, 8 saved.
    assert_eq!(found.overtakes_pageable, Some(Overtakes { strategy: Strategy::Registered, from_run: Some(2) }));
    assert!(text.contains("registered costs 10.00 ms more") && text.contains("from the 2nd run on"), "{text}");
    let (pageable, pinned) = (of(&all, Strategy::Pageable), of(&all, Strategy::Pinned));
    assert!(pinned.of_runs_ms(9) > pageable.of_runs_ms(9) && pinned.of_runs_ms(10) < pageable.of_runs_ms(10));
    let (registered, pageable) = (of(&all, Strategy::Registered), of(&all, Strategy::Pageable));
    close(registered.setup_ms() - pageable.setup_ms(), 10.0);
    assert_eq!(found.strategy, Some(Strategy::Pageable), "one run");
    assert_eq!(found.fastest_run, Some(Strategy::Pinned), "the first of equals");
    assert!(text.contains("Where the buffers are there already, pinned"), "{text}");
    let often = Job { repeats: 2, ..job };
    let found = recommend(&often, &machine, &predict(&often, &machine).unwrap());
    assert_eq!(found.strategy, Some(Strategy::Registered), "10 ms to page-lock, 8 ms saved twice");
    assert_eq!(
        found.overtakes_pageable.map(|it| it.strategy),
        found.strategy,
        "the reason is that of the recommendation"
    );
    let mut dear = made_up();
    dear.parameters.costs.retain(|cost| cost.memory != "registered");
    let often = Job { repeats: 100, ..often };
    let found = recommend(&often, &dear, &predict(&often, &dear).unwrap());
    assert_eq!(found.overtakes_pageable, Some(Overtakes { strategy: Strategy::Pinned, from_run: Some(10) }));
    let text = found.reasons.join(" ");
    assert!(text.contains("pinned costs 76.00 ms more") && text.contains("from the 10th run on"), "{text}");
}

#[test]
fn small_copies_take_what_asking_for_them_takes() {
    let all = predict(&job(4, 4), &made_up()).unwrap();
    assert!(of(&all, Strategy::Pinned).h2d_ms >= 0.005);
    let all = predict(&job(4, 0), &made_up()).unwrap();
    assert_eq!(of(&all, Strategy::Pinned).d2h_ms, 0.0, "nothing comes back");
}

#[test]
fn what_does_not_fit_is_not_recommended() {
    let mut machine = made_up();
    let large = job(2_000_000_000, 0);
    let found = recommend(&large, &machine, &predict(&large, &machine).unwrap());
    assert_eq!(found.strategy, Some(Strategy::Mapped), "more than the device holds");
    machine.pinned_limit_bytes = Some(500_000_000);
    let found = recommend(&large, &machine, &predict(&large, &machine).unwrap());
    assert_eq!((found.strategy, found.fastest_run), (None, None));
    let text = found.reasons.join(" ");
    assert!(
        text.contains("cut the job into pieces") && text.contains("2.0 GB of page-locked memory, 500.0 MB are allowed"),
        "{text}"
    );
}

#[test]
fn what_the_host_has_no_room_for_does_not_fit() {
    let mut machine = made_up();
    machine.host_memory_bytes = Some(100_500_000);
    let refused = |machine: &Machine, bytes: u64| -> Vec<Strategy> {
        let all = predict(&job(bytes, 0), machine).unwrap();
        let refused = all.iter().filter(|one| one.does_not_fit.as_ref().is_some_and(|why| why.contains("host memory")));
        refused.map(|one| one.strategy).collect()
    };
    assert_eq!(refused(&machine, 99_000_000), []);
    assert_eq!(refused(&machine, 100_000_000), [Strategy::Staged], "it keeps 1 MB to stage through");
    assert_eq!(refused(&machine, 100_500_001), Strategy::ALL, "whatever the kind of memory");
    // simt: device memory is host memory, so a copy needs it twice.
    machine.parameters.device_memory_bytes = None;
    let copying = Strategy::ALL.into_iter().filter(|strategy| strategy.copies()).collect::<Vec<_>>();
    assert_eq!(refused(&machine, 60_000_000), copying);
    let none = recommend(&job(u64::MAX, 0), &machine, &predict(&job(u64::MAX, 0), &machine).unwrap());
    assert_eq!(none.strategy, None);
    assert!(none.reasons.iter().any(|said| said.contains("95.8 MiB are available")), "{:?}", none.reasons);
}

#[test]
fn the_only_one_says_whether_others_do_not_fit_or_were_not_measured() {
    let said =
        |machine: &Machine, job: &Job| recommend(job, machine, &predict(job, machine).unwrap()).reasons.remove(0);
    let mut machine = made_up();
    let large = job(2_000_000_000, 0);
    assert!(said(&machine, &large).starts_with("mapped is the only one that fits:"), "{}", said(&machine, &large));
    machine.parameters.costs.retain(|cost| ["pageable", "mapped"].contains(&&*cost.memory));
    let some = "mapped is the only one that fits of those whose figures are known (pageable, mapped):";
    assert!(said(&machine, &large).starts_with(some), "{}", said(&machine, &large));
    machine.parameters.costs.retain(|cost| cost.memory == "pageable");
    machine.parameters.kernels.retain(|speed| speed.memory == "device");
    let small = job(1_000_000, 0);
    let one = "pageable is the only one whose figures are known:";
    assert!(said(&machine, &small).starts_with(one), "{}", said(&machine, &small));
}

#[test]
fn numbers_that_are_none_are_refused_and_huge_ones_computed() {
    let refused = |job: Job| job.checked().unwrap_err().to_string();
    assert!(refused(job(0, 0)).contains("carries nothing"));
    assert!(refused(Job { repeats: 0, ..job(1, 0) }).contains("--repeat is 0"));
    assert!(refused(job(u64::MAX, 1)).contains("64 bits"));
    for reads in [f64::NAN, -1.0, f64::INFINITY] {
        assert!(refused(Job { reads_per_byte: reads, ..job(1, 0) }).contains("--reads"));
    }
    let nan = Compute::Kernel { kernel_ms: f64::NAN };
    assert!(refused(Job { compute: nan, ..job(1, 0) }).contains("--kernel-ms"));
    let none = Compute::Flops { flops: 1.0, tflop_per_s: Some(0.0) };
    assert!(refused(Job { compute: none, ..job(1, 0) }).contains("--tflops"));
    let huge = Job { reads_per_byte: 1e9, repeats: u64::MAX, ..job(u64::MAX, 0) }.checked().unwrap();
    for machine in Named::ALL.map(Machine::named).into_iter().chain([made_up()]) {
        for job in [huge.clone(), job(1, 0), job(0, 1)] {
            let all = predict(&job, &machine).unwrap();
            assert!(all.iter().all(|one| one.all_ms.is_finite() && one.all_ms >= 0.0), "{all:?}");
            assert!(recommend(&job, &machine, &all).reasons.iter().all(|said| !said.contains("NaN")));
        }
    }
}

#[test]
fn a_machine_that_was_hardly_measured_says_so() {
    let mut machine = made_up();
    machine.parameters.products.clear();
    let flops = Job { compute: Compute::Flops { flops: 1e9, tflop_per_s: None }, ..job(100, 0) };
    assert!(predict(&flops, &machine).unwrap_err().to_string().contains("--tflops"));
    machine.parameters.costs.clear();
    machine.parameters.kernels.clear();
    assert!(predict(&job(100, 0), &machine).unwrap_err().to_string().contains("bandwidth` again"));
}

#[test]
fn a_kernel_that_was_not_measured_is_assumed_and_said() {
    let job = Job::product(MatmulKernel::Naive, Shape::new(1000, 1000, 1000).unwrap());
    let machine = made_up();
    let all = predict(&job, &machine).unwrap();
    close(of(&all, Strategy::Pinned).kernel_ms, 1.0);
    let text = recommend(&job, &machine, &all).reasons.join(" ");
    assert!(text.contains("Kernel naive is not among") && text.contains("as fast as tiled, 2.00 TFLOP/s"), "{text}");
    assert_eq!(assumed(&job, &Machine::named(Named::H200)), None);
}

#[test]
fn named_machines_are_found_by_their_devices() {
    for (device, machine) in [
        ("NVIDIA H200", Some(Named::H200)),
        ("NVIDIA A100-SXM4-40GB", Some(Named::A100)),
        ("Tesla T4", Some(Named::T4)),
        ("Quadro T400", None),
        ("CPU", None),
    ] {
        assert_eq!(Named::of_device(device), machine, "{device}");
    }
    for machine in Named::ALL {
        assert_eq!(Named::of_device(&machine.parameters().device), Some(machine));
        assert!(!machine.sources().is_empty());
        let all = predict(&job(1 << 20, 1 << 20), &Machine::named(machine)).unwrap();
        assert_eq!(all.len(), Strategy::ALL.len(), "every strategy of {}", machine.name());
    }
}

/// Totals of the three modes as recorded in README.md on 2026-12-01: size, pageable, pinned, mapped.
const RECORDED: [(u64, f64, f64, f64); 3] =
    [(1024, 2.05, 0.517, 5.13), (4096, 43.7, 19.5, 262.0), (8192, 239.0, 140.0, 2037.0)];

#[test]
fn the_recorded_products_are_met() {
    let machine = Machine::named(Named::H200);
    for (size, pageable, pinned, mapped) in RECORDED {
        let job = Job::product(MatmulKernel::Tiled, Shape::new(size, size, size).unwrap());
        let all = predict(&job, &machine).unwrap();
        let measured = [("pageable", pageable), ("pinned", pinned), ("mapped", mapped)].map(|(mode, total_ms)| {
            let mode = mode.into();
            MeasuredMode { mode, host_allocation_ms: 0.0, h2d_ms: 0.0, kernel_ms: 0.0, d2h_ms: 0.0, total_ms }
        });
        let found = compare(&all, &measured);
        assert_eq!(found.predicted_winner.as_deref(), Some("pinned"));
        assert_eq!(found.predicted_winner, found.measured_winner, "{size}");
        for mode in &found.modes {
            let off = mode.total_deviation_percent.unwrap();
            assert!(off.abs() < 25.0, "{} of {size}: predicted {}, {off:+.0} %", mode.mode, mode.predicted_total_ms);
        }
    }
}

#[test]
fn a_measured_mode_that_the_model_does_not_know_can_win() {
    let all = predict(&job(100_000_000, 0), &made_up()).unwrap();
    let mode = |mode: &str, total_ms| {
        let mode = mode.into();
        MeasuredMode { mode, host_allocation_ms: 0.0, h2d_ms: 0.0, kernel_ms: 0.0, d2h_ms: 0.0, total_ms }
    };
    let said = |measured: &[MeasuredMode]| text::comparison(&compare(&all, measured));
    let found = said(&[mode("pinned", 3.0), mode("managed", 2.0), mode("prefetched", 4.0)]);
    assert!(found.contains("| pinned ") && !found.contains("| managed"), "{found}");
    assert!(found.contains("* Measured, but not predicted by the model: managed, prefetched.\n"), "{found}");
    assert!(found.contains("pinned was predicted to win; measured winner: managed (not predicted by the"), "{found}");
    let found = said(&[mode("managed", 2.0), mode("prefetched", 1.0)]);
    assert!(!found.contains('|'), "no table without rows: {found}");
    assert!(found.contains("* Measured winner: prefetched (not predicted by the model)."), "{found}");
    let found = said(&[mode("managed", 4.0), mode("pinned", 3.0)]);
    assert!(found.contains("* pinned was predicted to win, and did."), "{found}");
}

#[test]
fn the_image_job_is_won_by_what_is_page_locked() {
    // 2000 × 2000, 16 bits in, 8 bits out, each byte read once, a few operations for each pixel, once for each image.
    let image = Job {
        compute: Compute::Flops { flops: 10.0 * 4e6, tflop_per_s: None },
        repeats: 1000,
        cpu_writes: true,
        cpu_reads: true,
        ..job(8_000_000, 4_000_000)
    };
    for machine in Named::ALL.map(Machine::named) {
        let all = predict(&image, &machine).unwrap();
        let found = recommend(&image, &machine, &all);
        let page_locked = [Strategy::Mapped, Strategy::Pinned, Strategy::WriteCombined, Strategy::Registered];
        assert!(page_locked.contains(&found.strategy.unwrap()), "{found:?}");
        let (mapped, pinned) = (of(&all, Strategy::Mapped).run_ms, of(&all, Strategy::Pinned).run_ms);
        assert!(mapped < pinned, "both directions at once: {mapped} against {pinned}");
    }
}
