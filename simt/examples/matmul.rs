//! Times every rung of the ladder on `simt`: `cargo run -p simt --example matmul -- [size]`, square, 512 by default.

use std::time::Instant;

use gpu::launch::{DeviceSlice, DeviceSliceMut};
use gpu::matmul::{MatmulKernel, Shape};
use simt::Simt;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let size = std::env::args().nth(1).map_or(Ok(512), |size| size.parse())?;
    let shape = Shape::new(size, size, size)?;
    let random = |len| (0..len).map(|_| rand::random_range(-1.0..1.0_f32)).collect::<Vec<_>>();
    let (a, b, mut c) = (random(shape.a_len()), random(shape.b_len()), vec![f32::NAN; shape.c_len()]);

    let simt = Simt::new()?;
    println!("{shape} on {} workers", simt.workers());
    for kernel in MatmulKernel::ALL {
        let mut times = Vec::new();
        for _ in 0..5 {
            c.fill(f32::NAN);
            // SAFETY: the addresses and lengths of live vectors; nobody else uses `c` until the launch has returned.
            let (a, b, c) = unsafe {
                (
                    DeviceSlice::from_raw(a.as_ptr().expose_provenance() as u64, a.len()),
                    DeviceSlice::from_raw(b.as_ptr().expose_provenance() as u64, b.len()),
                    DeviceSliceMut::from_raw(c.as_mut_ptr().expose_provenance() as u64, c.len()),
                )
            };
            let start = Instant::now();
            kernel.launch(&simt, shape, a, b, c)?;
            times.push(start.elapsed().as_secs_f64());
        }
        assert!(c.iter().all(|c| c.is_finite()), "an element of C was not written");
        times.sort_by(f64::total_cmp);
        let (best, median) = (times[0], times[times.len() / 2]);
        println!("{:<10} {:8.1} ms median, {:8.1} ms best", kernel.name(), 1e3 * median, 1e3 * best);
    }
    Ok(())
}
