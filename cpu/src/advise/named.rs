//! Machines that are not here: parameters from our own records, or from public ones, each with its source.
//!
//! A default is no measurement of yours: hosts differ more than devices do. `bandwidth` measures.

use serde::Serialize;

use crate::bandwidth::parameters::{Cost, CpuSpeed, KernelSpeed, Parameters, ProductCost, VERSION};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// A machine with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Named {
    /// T4 on PCIe 3.0 x16.
    T4,
    /// A100 40 GB on PCIe 4.0 x16.
    A100,
    /// H200 on PCIe 5.0 x16.
    H200,
}

/// What the link and the device differ in. The rest is the host's, and taken from the machine that we measured.
struct Figures {
    device: &'static str,
    device_memory_bytes: u64,
    link_limit: f64,
    /// Sizes, ms to the device and to the host, of page-locked memory.
    pinned: Vec<(u64, f64, f64)>,
    /// The same of pageable memory.
    pageable: Vec<(u64, f64, f64)>,
    /// Kernels on mapped memory: reading, writing, both at once, GB/s.
    mapped: [f64; 3],
    /// Kernels on device memory, both ways counted, GB/s.
    device_memory: f64,
    /// How much slower than on the H200 the kernels of the product are.
    slower: f64,
}

impl Named {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::T4, Self::A100, Self::H200];

    /// Such as `h200`, as on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::T4 => "t4",
            Self::A100 => "a100",
            Self::H200 => "h200",
        }
    }

    /// The one whose name is a word of a device's name: `NVIDIA A100-SXM4-40GB`, `Tesla T4`.
    pub fn of_device(device: &str) -> Option<Self> {
        let has = |name: &str| device.split(|c: char| !c.is_ascii_alphanumeric()).any(|w| w.eq_ignore_ascii_case(name));
        Self::ALL.into_iter().find(|machine| has(machine.name()))
    }

    /// Whether we measured the figures.
    pub fn measured_by_us(self) -> bool {
        self == Self::H200
    }

    /// Where the figures come from.
    pub fn sources(self) -> &'static [&'static str] {
        match self {
            Self::H200 => &[
                "docs/perf-log.md and the table in README.md, 2026-12-01, one H200 on PCIe 5.0 x16, 16 host cores: copies, \
                 zero-copy kernels (read 51.2, write 52.5, both 78 GB/s), products, device memory (4.2 TB/s both ways)",
                "the same: page-locking and freeing 256 MiB 160 ms in sum, registering it 17; ordinary memory by the column \
                 allocate; one thread of that host reads 5.8 GB/s of pinned and 5.3 of write-combined memory, copies at 7",
                "not measured, derived: the product of 256 (by rates), random access (a sector of 32 bytes for each word), \
                 freeing ordinary memory",
            ],
            Self::A100 => &[
                "pinned copies, device memory: github.com/jdh4/della-gpu-A100, README.md, A100-PCIE-40GB, bandwidthTest",
                "peak of PCIe 4.0 x16 as measured by others, 25 GB/s: github.com/ZaidQureshi/bam/issues/54",
                "zero-copy: the H200's shares of the copy engine (0.93 read, 0.95 write), in line with arXiv:2006.06890",
                "products: the H200's, by multiprocessors and clock (108 at 1.41 GHz; 132 at 1.98)",
                "pageable and staged copies, allocation, the CPU: the H200 machine's, for they are the host's",
            ],
            Self::T4 => &[
                "pinned copies: github.com/mpicbg-scicomp/gearshifft/pull/82, another GPU on PCIe 3.0 x16, bandwidthTest; a \
                 T4 in a virtual machine had 9.7 and 11.1 GB/s: github.com/router-gao/cuda-demo, \
                 cuda-samples/02-cuda-bandwidth.md, which is also the source for device memory",
                "pageable copies: github.com/GPGPUCourse/GPGPUTasks2025/pull/68, Tesla T4, 6.0 and 6.4 GB/s",
                "zero-copy: the H200's shares of the copy engine (0.93 read, 0.95 write), in line with arXiv:2006.06890",
                "products: the H200's, by multiprocessors and clock (40 at 1.59 GHz; 132 at 1.98)",
                "staged copies, allocation, the CPU: the H200 machine's, for they are the host's, within the link's rate",
            ],
        }
    }

    /// The parameters.
    pub fn parameters(self) -> Parameters {
        match self {
            Self::H200 => Figures {
                device: "NVIDIA H200",
                device_memory_bytes: 139 * GIB,
                link_limit: 63.0,
                pinned: rated(&[
                    (MIB, 38.0, 38.5),
                    (4 * MIB, 49.6, 49.6),
                    (16 * MIB, 53.1, 53.6),
                    (64 * MIB, 55.0, 55.2),
                    (GIB, 55.4, 55.3),
                ]),
                pageable: rated(&PAGEABLE),
                mapped: [51.2, 52.5, 78.0],
                device_memory: 4200.0,
                slower: 1.0,
            }
            .parameters(true),
            Self::A100 => Figures {
                device: "NVIDIA A100-PCIE-40GB",
                device_memory_bytes: 40 * GIB,
                link_limit: 31.5,
                pinned: rated(&[
                    (1_000_000, 18.0, 15.8),
                    (10_000_000, 19.4, 25.4),
                    (100_000_000, 24.1, 26.2),
                    (1_000_000_000, 25.8, 25.7),
                ]),
                pageable: rated(&PAGEABLE),
                mapped: [0.93 * 25.8, 0.95 * 25.7, 1.5 * 0.93 * 25.8],
                device_memory: 1251.0,
                slower: (132.0 * 1.98) / (108.0 * 1.41),
            }
            .parameters(false),
            Self::T4 => Figures {
                device: "Tesla T4",
                device_memory_bytes: 15_843_721_216,
                link_limit: 15.75,
                pinned: rated(&[(MIB, 11.2, 11.8), (32 * MIB, 12.15, 12.89), (GIB, 12.15, 12.89)]),
                pageable: rated(&[(MIB, 6.0, 6.4), (GIB, 6.0, 6.4)]),
                mapped: [0.93 * 12.15, 0.95 * 12.89, 1.5 * 0.93 * 12.15],
                device_memory: 239.6,
                slower: (132.0 * 1.98) / (40.0 * 1.59),
            }
            .parameters(false),
        }
    }
}

/// Pageable copies of the H200's host: size, GB/s to the device, to the host. They differ from run to run, 7 to 15.
const PAGEABLE: [(u64, f64, f64); 5] =
    [(MIB, 11.3, 7.3), (16 * MIB, 12.1, 6.3), (64 * MIB, 7.7, 14.9), (512 * MIB, 6.2, 9.0), (GIB, 7.2, 12.0)];

/// The same staged by 15 threads.
const STAGED: [(u64, f64, f64); 5] =
    [(MIB, 7.8, 9.2), (16 * MIB, 20.2, 27.4), (64 * MIB, 33.4, 37.2), (512 * MIB, 47.0, 44.2), (GIB, 48.0, 47.8)];

/// Of pinned copies, what staging reaches at best.
const STAGED_SHARE: f64 = 0.86;

/// Kernels of the product on the H200: extent, ms on device memory, ms on mapped memory.
const TILED: [(u32, f64, Option<f64>); 4] =
    [(256, 0.007, Some(0.087)), (1024, 0.25, Some(5.11)), (4096, 15.8, Some(261.0)), (8192, 126.0, Some(2037.0))];
const COALESCED: [(u32, f64, Option<f64>); 1] = [(4096, 35.2, None)];
const NAIVE: [(u32, f64, Option<f64>); 1] = [(4096, 140.0, None)];

/// Times from rates.
fn rated(rows: &[(u64, f64, f64)]) -> Vec<(u64, f64, f64)> {
    let ms = |bytes: u64, gb_per_s: f64| bytes as f64 / gb_per_s / 1e6;
    rows.iter().map(|&(bytes, up, down)| (bytes, ms(bytes, up), ms(bytes, down))).collect()
}

impl Figures {
    fn parameters(self, products_over_link: bool) -> Parameters {
        Parameters {
            version: VERSION,
            program: format!("pagelock {}", env!("CARGO_PKG_VERSION")),
            device: self.device.into(),
            device_memory_bytes: Some(self.device_memory_bytes),
            link_limit_gb_per_s: Some(self.link_limit),
            staging_bytes: 15 * 3 * 2 * MIB,
            costs: self.costs(),
            kernels: self.kernels(),
            cpu: cpu(),
            products: self.products(products_over_link),
            // What the totals of 1024 have beyond their stages: 11 to 20 µs.
            launch_and_wait_ms: Some(0.015),
            copy_launch_and_wait_ms: None,
        }
    }

    fn costs(&self) -> Vec<Cost> {
        let pinned = || self.pinned.iter().copied();
        let staged = rated(&STAGED).into_iter().map(|(bytes, up, down)| {
            let at_best = |way: fn(&(u64, f64, f64)) -> f64| {
                super::curve::Curve::new(self.pinned.iter().map(|row| (row.0 as f64, way(row)))).at(bytes as f64)
            };
            let slowest = |ms: f64, pinned: Option<f64>| pinned.map_or(ms, |pinned| ms.max(pinned / STAGED_SHARE));
            (bytes, slowest(up, at_best(|row| row.1)), slowest(down, at_best(|row| row.2)))
        });
        let copies = |memory: &'static str, rows: &mut dyn Iterator<Item = (u64, f64, f64)>, back: bool| {
            let cost = |(size_bytes, up, down): (u64, f64, f64)| Cost {
                memory: memory.into(),
                size_bytes,
                h2d_ms: Some(up),
                d2h_ms: back.then_some(down),
                allocate_ms: None,
                free_ms: None,
            };
            rows.map(cost).collect::<Vec<_>>()
        };
        let mut all = copies("pageable", &mut self.pageable.iter().copied(), true);
        all.extend(copies("staged", &mut staged.into_iter(), true));
        all.extend(copies("pinned", &mut pinned(), true));
        all.extend(copies("write-combined", &mut pinned(), false));
        all.extend(copies("registered", &mut pinned(), true));
        all.extend(allocations());
        all
    }

    fn kernels(&self) -> Vec<KernelSpeed> {
        let speed = |memory: &str, [read, write, copy]: [f64; 3]| KernelSpeed {
            memory: memory.into(),
            read_gb_per_s: read,
            write_gb_per_s: write,
            copy_gb_per_s: copy,
            // A sector of 32 bytes is fetched for each 4 of them.
            random_gb_per_s: read / 8.0,
            latency_ns: None,
        };
        vec![speed("mapped", self.mapped), speed("device", [self.device_memory; 3])]
    }

    fn products(&self, over_link: bool) -> Vec<ProductCost> {
        let kernels = [("naive", &NAIVE[..]), ("coalesced", &COALESCED), ("tiled", &TILED)];
        let rows = kernels.into_iter().flat_map(|(kernel, rows)| rows.iter().map(move |row| (kernel, *row)));
        rows.flat_map(|(kernel, (extent, on_device, mapped))| {
            let cost = |memory: &str, kernel_ms| ProductCost {
                kernel: kernel.into(),
                memory: memory.into(),
                extent,
                kernel_ms,
            };
            let mapped = mapped.filter(|_| over_link).map(|ms| cost("mapped", ms));
            [Some(cost("device", on_device * self.slower)), mapped].into_iter().flatten()
        })
        .collect()
    }
}

/// Of the H200's host: page-locking 256 MiB takes 98 ms and freeing it 62; registering and unregistering it 17 in sum;
/// touching the pages of ordinary memory about 100.
fn allocations() -> Vec<Cost> {
    let kinds = [
        ("pageable", [(4 * MIB, 1.6, 0.2), (256 * MIB, 100.0, 10.0)]),
        ("pinned", [(4 * MIB, 2.3, 1.0), (256 * MIB, 98.0, 62.0)]),
        ("mapped", [(4 * MIB, 2.3, 1.0), (256 * MIB, 98.0, 62.0)]),
        ("write-combined", [(4 * MIB, 2.3, 1.0), (256 * MIB, 98.0, 62.0)]),
        ("registered", [(4 * MIB, 0.27, 0.0), (256 * MIB, 17.0, 0.0)]),
    ];
    let rows = kinds.into_iter().flat_map(|(memory, rows)| rows.map(|row| (memory, row)));
    rows.map(|(memory, (size_bytes, allocate, free))| Cost {
        memory: memory.into(),
        size_bytes,
        h2d_ms: None,
        d2h_ms: None,
        allocate_ms: Some(allocate),
        free_ms: Some(free),
    })
    .collect()
}

/// One thread of the H200's host.
fn cpu() -> Vec<CpuSpeed> {
    let speed = |memory: &str, read| CpuSpeed { memory: memory.into(), read_gb_per_s: read, write_gb_per_s: 7.0 };
    let cached = ["pageable", "pinned", "mapped", "registered"].map(|memory| speed(memory, 5.8));
    cached.into_iter().chain([speed("write-combined", 5.3)]).collect()
}
