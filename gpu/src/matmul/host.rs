//! The safe way to launch a product: shapes that fit, buffers that hold them, and the grid that covers C.

use core::fmt;

use super::{coalesced, naive, tiled};
use crate::device::Dim3;
use crate::launch::{DeviceSlice, DeviceSliceMut, Launch};

/// The extents of a product: A is M×K, B is K×N, C is M×N.
///
/// Each is at least 1 and fits 32 bits, and the bytes of each matrix fit 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    m: u32,
    n: u32,
    k: u32,
}

/// Why three numbers are no shape of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShapeError {
    /// An extent is 0.
    Zero {
        /// Which: `M`, `N` or `K`.
        extent: &'static str,
    },
    /// An extent is beyond 2³² − 1.
    TooLarge {
        /// Which: `M`, `N` or `K`.
        extent: &'static str,
        /// What was asked for.
        value: u64,
    },
    /// The multiply-adds or the bytes of the matrices do not fit 64 bits.
    Overflow {
        /// What overflows.
        what: &'static str,
        /// M, N and K.
        extents: [u64; 3],
    },
}

impl Shape {
    /// M×K times K×N.
    ///
    /// # Errors
    /// An extent is 0 or beyond 32 bits, or 2·M·N·K or the bytes of all three matrices overflow 64 bits.
    pub fn new(m: u64, n: u64, k: u64) -> Result<Self, ShapeError> {
        let extent = |extent, value: u64| match u32::try_from(value) {
            Ok(0) => Err(ShapeError::Zero { extent }),
            Ok(value) => Ok(value),
            Err(_) => Err(ShapeError::TooLarge { extent, value }),
        };
        let shape = Self { m: extent("M", m)?, n: extent("N", n)?, k: extent("K", k)? };
        let overflow = |what| ShapeError::Overflow { what, extents: [m, n, k] };
        let flops = 2 * u128::from(m) * u128::from(n) * u128::from(k);
        u64::try_from(flops).map_err(|_| overflow("2·M·N·K, the floating-point operations,"))?;
        let elements = u128::from(m) * u128::from(k) + u128::from(k) * u128::from(n) + u128::from(m) * u128::from(n);
        isize::try_from(elements * size_of::<f32>() as u128).map_err(|_| overflow("the bytes of A, B and C"))?;
        Ok(shape)
    }

    /// Rows of A and C.
    pub fn m(self) -> u32 {
        self.m
    }

    /// Columns of B and C.
    pub fn n(self) -> u32 {
        self.n
    }

    /// Columns of A, rows of B.
    pub fn k(self) -> u32 {
        self.k
    }

    /// Elements of A.
    pub fn a_len(self) -> usize {
        self.m as usize * self.k as usize
    }

    /// Elements of B.
    pub fn b_len(self) -> usize {
        self.k as usize * self.n as usize
    }

    /// Elements of C.
    pub fn c_len(self) -> usize {
        self.m as usize * self.n as usize
    }

    /// Floating-point operations of the product: 2·M·N·K.
    pub fn flops(self) -> u64 {
        2 * u64::from(self.m) * u64::from(self.n) * u64::from(self.k)
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}×{}×{}", self.m, self.n, self.k)
    }
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero { extent } => write!(f, "{extent} is 0; M, N and K must be at least 1"),
            Self::TooLarge { extent, value } => write!(f, "{extent} = {value} is beyond {}", u32::MAX),
            Self::Overflow { what, extents: [m, n, k] } => {
                write!(f, "{what} of M = {m}, N = {n}, K = {k} do not fit 64 bits; take a smaller product")
            }
        }
    }
}

impl core::error::Error for ShapeError {}

/// Why a product was not launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaunchError<E> {
    /// A buffer's length is not what the shape needs.
    Length {
        /// `A`, `B` or `C`.
        matrix: &'static str,
        /// The shape.
        shape: Shape,
        /// Elements that the shape needs.
        expected: usize,
        /// Elements that the buffer has.
        got: usize,
    },
    /// C has more tiles than a grid has blocks.
    Grid {
        /// The shape.
        shape: Shape,
        /// Tiles of C.
        tiles: u64,
    },
    /// A buffer belongs to another scope than the stream that was to use it, or to another device.
    Domain {
        /// `A`, `B` or `C`.
        matrix: &'static str,
    },
    /// The device refused or failed.
    Device(E),
}

impl<E: fmt::Display> fmt::Display for LaunchError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { matrix, shape, expected, got } => {
                write!(f, "a {shape} product needs {expected} elements in {matrix}, the buffer has {got}")
            }
            Self::Grid { shape, tiles } => {
                write!(f, "a {shape} product has {tiles} tiles, a grid at most {MAX_BLOCKS} blocks; split C")
            }
            Self::Domain { matrix } => {
                write!(
                    f,
                    "{matrix} is bound to the stream of another scope or comes from another device; allocate it from \
                     the device that launches, and bind it to the stream that launches"
                )
            }
            Self::Device(error) => error.fmt(f),
        }
    }
}

impl<E: core::error::Error + 'static> core::error::Error for LaunchError<E> {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Device(error) => Some(error),
            _ => None,
        }
    }
}

impl<E> From<E> for LaunchError<E> {
    fn from(error: E) -> Self {
        Self::Device(error)
    }
}

/// Blocks that CUDA allows along `x`.
const MAX_BLOCKS: u64 = (1 << 31) - 1;

/// The rungs of the ladder, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MatmulKernel {
    /// [`naive`]: one thread per element of C.
    Naive,
    /// [`coalesced`]: lanes along the columns.
    Coalesced,
    /// [`tiled`]: tiles through shared memory.
    Tiled,
}

impl MatmulKernel {
    /// All of them, slowest first.
    pub const ALL: [Self; 3] = [Self::Naive, Self::Coalesced, Self::Tiled];

    /// The name on the command line: `naive`, `coalesced`, `tiled`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Naive => "naive",
            Self::Coalesced => "coalesced",
            Self::Tiled => "tiled",
        }
    }

    /// Rows and columns of C that one block computes.
    fn tile(self) -> (u32, u32) {
        match self {
            Self::Naive => (naive::TILE, naive::TILE),
            Self::Coalesced => (coalesced::TILE_ROWS, coalesced::TILE_COLUMNS),
            Self::Tiled => (tiled::TILE, tiled::TILE),
        }
    }

    /// How often the kernel reads each element of A and of B from global memory, before any cache: once for every block
    /// that shares it, or for every thread where threads share nothing.
    pub fn reads(self, shape: Shape) -> (u64, u64) {
        let (rows, columns) = match self {
            Self::Naive | Self::Coalesced => (1, 1),
            Self::Tiled => (tiled::TILE, tiled::TILE),
        };
        (u64::from(shape.n.div_ceil(columns)), u64::from(shape.m.div_ceil(rows)))
    }

    /// Starts C = A·B on whatever runs kernels. C is written whole; what it held before does not matter.
    ///
    /// # Errors
    /// A buffer's length is not what the shape needs, C has more tiles than a grid has blocks, or the device refuses.
    pub fn launch<L: Launch>(
        self,
        on: &L,
        shape: Shape,
        a: DeviceSlice<'_, f32>,
        b: DeviceSlice<'_, f32>,
        mut c: DeviceSliceMut<'_, f32>,
    ) -> Result<(), LaunchError<L::Error>> {
        let lengths = [("A", shape.a_len(), a.len()), ("B", shape.b_len(), b.len()), ("C", shape.c_len(), c.len())];
        for (matrix, expected, got) in lengths {
            if expected != got {
                return Err(LaunchError::Length { matrix, shape, expected, got });
            }
        }
        for (matrix, domain) in [("A", a.domain()), ("B", b.domain()), ("C", c.domain())] {
            if domain != on.domain() {
                return Err(LaunchError::Domain { matrix });
            }
        }
        let (rows, columns) = self.tile();
        let tiles = u64::from(shape.m.div_ceil(rows)) * u64::from(shape.n.div_ceil(columns));
        if tiles > MAX_BLOCKS {
            return Err(LaunchError::Grid { shape, tiles });
        }
        let grid = Dim3::new(tiles as u32, 1, 1);
        let args = (a.global(), b.global(), c.global(), shape.m, shape.n, shape.k);
        // SAFETY: the kernels touch M·K, K·N and M·N elements, which is what the slices have: compared above. By the
        // contract of whoever made the slices, the memory lives until their domain's work has ended, and this launch is
        // that domain's work: compared above. C is borrowed alone, so it overlaps neither A nor B.
        unsafe {
            match self {
                Self::Naive => on.launch::<naive::MatmulNaive>(grid, args),
                Self::Coalesced => on.launch::<coalesced::MatmulCoalesced>(grid, args),
                Self::Tiled => on.launch::<tiled::MatmulTiled>(grid, args),
            }
        }
        .map_err(LaunchError::Device)
    }
}
