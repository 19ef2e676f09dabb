//! `cargo bench --bench matmul`: one product in each mode, from host data to host result, on whatever device is there.
//!
//! Everything is verified before anything is timed. What is timed is the wall time of a run as `matmul` reports it in
//! column `total`; buffers are allocated once, outside.

use std::time::Duration;

use cpu::device::{Device, Selector};
use cpu::matmul::{Mode, Problem};
use cpu::matrix::Matrix;
use cpu::memory::PinnedBudget;
use cpu::verify::{Method, Source, Verifier};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use gpu::matmul::{MatmulKernel, Shape};

const KERNEL: MatmulKernel = MatmulKernel::Tiled;

fn modes(criterion: &mut Criterion) {
    let device = match Device::open(Selector::Auto, PinnedBudget::from_available_memory()) {
        Ok(device) => device,
        Err(why) => return eprintln!("no device to measure: {why}"),
    };
    println!("throughput: an \"elem\" is a floating-point operation, so Gelem/s are GFLOP/s");
    println!("device: {} ({}), kernels: {}", device.info().name, device.info().kind, device.info().kernels.compiler);
    let sizes: &[u64] = if device.is_simt() { &[64, 128, 256] } else { &[1024, 4096, 8192] };

    let mut group = criterion.benchmark_group("matmul");
    group.sample_size(10).measurement_time(Duration::from_secs(3)).warm_up_time(Duration::from_secs(1));
    for &size in sizes {
        let shape = Shape::new(size, size, size).expect("the sizes above are shapes");
        let (a, b) = (Matrix::random(size as usize, size as usize, 1), Matrix::random(size as usize, size as usize, 2));
        let problem = Problem { shape, a: a.data(), b: b.data() };
        let verifier = Verifier::new(shape, a.data(), b.data(), Method::Auto, Source::Random, 3);
        group.throughput(Throughput::Elements(shape.flops()));
        for mode in Mode::ALL {
            let mut strategy = match mode.prepare(&device, problem) {
                Ok(strategy) => strategy,
                Err(why) => {
                    eprintln!("{shape} {} is left out: {why}", mode.name());
                    continue;
                }
            };
            strategy.poison(&device).expect("poisoning");
            strategy.run(&device, KERNEL).expect("a verified run");
            verifier.check(strategy.product()).into_result().expect("only right products are timed");
            group.bench_function(BenchmarkId::new(mode.name(), size), |bencher| {
                bencher.iter_custom(|iterations| {
                    let mut run = || {
                        // Pages that a run has moved to the device go back first, or the next would find them there.
                        strategy.poison(&device).expect("poisoning");
                        strategy.run(&device, KERNEL).expect("a run").total
                    };
                    (0..iterations).map(|_| run()).sum()
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, modes);
criterion_main!(benches);
