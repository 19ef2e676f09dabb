//! What a launch may ask for: the limits of compute capability 9.0 (CUDA C++ Programming Guide, "Technical
//! Specifications per Compute Capability"), so that what runs here fits the GPU.

use gpu::device::Dim3;
use gpu::launch::Kernel;

/// Blocks along `x`, `y` and `z`.
const GRID: [u64; 3] = [(1 << 31) - 1, 65_535, 65_535];
/// Threads of a block along `x`, `y` and `z`.
const BLOCK: [u64; 3] = [1024, 1024, 64];
/// Threads of a block in all.
const THREADS: u64 = 1024;
/// Bytes of shared memory per block that a kernel can opt in to on Hopper: 227 KiB.
const SHARED_BYTES: u64 = 227 * 1024;

/// What a launch asks for is outside what the device allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} is {asked}, allowed is {least} to {most}; {advice}")]
#[non_exhaustive]
pub struct LimitError {
    /// The quantity: `grid.x`, `block.z`, `threads per block`, …
    pub what: &'static str,
    /// What was asked for.
    pub asked: u64,
    /// The least that is allowed.
    pub least: u64,
    /// The most that is allowed.
    pub most: u64,
    /// What to change.
    pub advice: &'static str,
}

/// Compares a launch of `K` over `grid` with the limits.
pub(crate) fn check<K: Kernel>(grid: Dim3) -> Result<(), LimitError> {
    extents(["grid.x", "grid.y", "grid.z"], grid, GRID, "launch at least one block, and the many along x")?;
    extents(["block.x", "block.y", "block.z"], K::BLOCK, BLOCK, "declare the kernel with another block shape")?;
    // Each extent is at most 1024 by now, so the product fits.
    within("threads per block", K::BLOCK.count() as u64, 1, THREADS, "declare the kernel with a smaller block")?;
    let shared = u64::from(K::SHARED_BYTES);
    within("bytes of shared memory per block", shared, 0, SHARED_BYTES, "declare the kernel with smaller tiles")
}

fn extents(what: [&'static str; 3], asked: Dim3, most: [u64; 3], advice: &'static str) -> Result<(), LimitError> {
    for ((what, asked), most) in what.into_iter().zip([asked.x, asked.y, asked.z]).zip(most) {
        within(what, u64::from(asked), 1, most, advice)?;
    }
    Ok(())
}

fn within(what: &'static str, asked: u64, least: u64, most: u64, advice: &'static str) -> Result<(), LimitError> {
    if (least..=most).contains(&asked) {
        return Ok(());
    }
    Err(LimitError { what, asked, least, most, advice })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpu::device::Gpu;

    /// A kernel of any shape, never run.
    struct Shaped<const X: u32, const Y: u32, const Z: u32, const SHARED: u32>;

    // SAFETY: no compiled kernel has this name.
    unsafe impl<const X: u32, const Y: u32, const Z: u32, const SHARED: u32> Kernel for Shaped<X, Y, Z, SHARED> {
        const NAME: &'static str = "shaped";
        const BLOCK: Dim3 = Dim3::new(X, Y, Z);
        const SHARED_BYTES: u32 = SHARED;
        type Args = (u32,);
        unsafe fn run<G: Gpu>(_: G, _: Self::Args) {}
    }

    const ONE: Dim3 = Dim3::new(1, 1, 1);

    fn refused<K: Kernel>(grid: Dim3) -> (&'static str, u64, u64) {
        let error = check::<K>(grid).expect_err("outside the limits");
        (error.what, error.asked, error.most)
    }

    #[test]
    fn the_largest_launch_is_allowed() {
        let grid = Dim3::new((1 << 31) - 1, 65_535, 65_535);
        assert_eq!(check::<Shaped<1024, 1, 1, 232_448>>(grid), Ok(()));
        assert_eq!(check::<Shaped<1, 1024, 1, 0>>(ONE), Ok(()));
        assert_eq!(check::<Shaped<4, 4, 64, 0>>(ONE), Ok(()));
    }

    #[test]
    fn each_limit_refuses_what_is_beyond_it() {
        type K = Shaped<1, 1, 1, 0>;
        assert_eq!(refused::<K>(Dim3::new(1 << 31, 1, 1)), ("grid.x", 1 << 31, (1 << 31) - 1));
        assert_eq!(refused::<K>(Dim3::new(1, 65_536, 1)), ("grid.y", 65_536, 65_535));
        assert_eq!(refused::<K>(Dim3::new(1, 1, 65_536)), ("grid.z", 65_536, 65_535));
        assert_eq!(refused::<Shaped<1025, 1, 1, 0>>(ONE), ("block.x", 1025, 1024));
        assert_eq!(refused::<Shaped<1, 1025, 1, 0>>(ONE), ("block.y", 1025, 1024));
        assert_eq!(refused::<Shaped<1, 1, 65, 0>>(ONE), ("block.z", 65, 64));
        assert_eq!(refused::<Shaped<33, 32, 1, 0>>(ONE), ("threads per block", 1056, 1024));
        assert_eq!(refused::<Shaped<1, 1, 1, 232_449>>(ONE), ("bytes of shared memory per block", 232_449, 232_448));
    }

    #[test]
    fn zero_is_refused_everywhere() {
        type K = Shaped<1, 1, 1, 0>;
        for grid in [Dim3::new(0, 1, 1), Dim3::new(1, 0, 1), Dim3::new(1, 1, 0)] {
            assert_eq!(check::<K>(grid).map_err(|error| error.asked), Err(0));
        }
        assert_eq!(refused::<Shaped<0, 1, 1, 0>>(ONE).0, "block.x");
        assert_eq!(refused::<Shaped<1, 0, 1, 0>>(ONE).0, "block.y");
        assert_eq!(refused::<Shaped<1, 1, 0, 0>>(ONE).0, "block.z");
    }

    #[test]
    fn the_message_says_asked_allowed_and_advice() {
        let error = check::<Shaped<1, 1, 1, 0>>(Dim3::new(1, 70_000, 1)).expect_err("beyond the limit");
        assert_eq!(
            error.to_string(),
            "grid.y is 70000, allowed is 1 to 65535; launch at least one block, and the many along x"
        );
    }
}
