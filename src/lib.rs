//! The kernels of `gpu`, compiled to PTX and embedded: one [`Image`] per architecture, each with who compiled it.
//!
//! `build.rs` does the compiling. A device loads the best image that it can run:
//!
//! ```
//! let best = ptx::candidates(9, 0).next().unwrap();
//! assert_eq!(best.architecture, "sm_90a");
//! assert!(best.ptx.contains(".entry matmul_tiled"));
//! assert!(ptx::candidates(6, 1).next().is_none(), "Pascal is older than every image");
//! ```

/// All kernels of `gpu` for one architecture.
#[derive(Clone, Copy, Debug)]
pub struct Image {
    /// Such as `sm_80`.
    pub architecture: &'static str,
    /// The compute capability, major and minor, that the image is for.
    pub minimum: (u32, u32),
    /// Whether only that compute capability can load it. Otherwise later ones can too.
    pub exact: bool,
    /// Who compiled it, such as `rustc 1.96.0, nvptx64-nvidia-cuda`; after `committed, made by ` where this build took
    /// the file in `gpu/ptx`.
    pub compiler: &'static str,
    /// The text.
    pub ptx: &'static str,
}

impl Image {
    /// Whether a device of this compute capability can load the image.
    pub fn serves(&self, major: u32, minor: u32) -> bool {
        if self.exact { (major, minor) == self.minimum } else { (major, minor) >= self.minimum }
    }

    /// The version of the PTX language, such as `8.0`. A driver older than that refuses the image.
    pub fn ptx_version(&self) -> &'static str {
        let line = self.ptx.lines().find_map(|line| line.strip_prefix(".version "));
        line.unwrap_or_default().trim()
    }
}

/// Every image, oldest architecture first.
pub const IMAGES: &[Image] = include!(concat!(env!("OUT_DIR"), "/images.rs"));

/// The images that a device of this compute capability can load, best first.
pub fn candidates(major: u32, minor: u32) -> impl Iterator<Item = &'static Image> {
    IMAGES.iter().rev().filter(move |image| image.serves(major, minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(major: u32, minor: u32) -> Option<&'static str> {
        candidates(major, minor).next().map(|image| image.architecture)
    }

    #[test]
    fn each_device_gets_the_best_image_that_it_can_load() {
        assert_eq!(best(7, 0), None);
        assert_eq!(best(7, 5), Some("sm_75"));
        assert_eq!(best(8, 0), Some("sm_80"));
        assert_eq!(best(8, 9), Some("sm_80"));
        assert_eq!(best(9, 0), Some("sm_90a"));
        assert_eq!(best(10, 0), Some("sm_80"), "sm_90a PTX runs on compute capability 9.0 alone");
        assert_eq!(best(12, 0), Some("sm_80"));
    }

    #[test]
    fn every_image_has_every_kernel_and_no_panic_path() {
        for image in IMAGES {
            for kernel in gpu::matmul::MatmulKernel::ALL {
                let entry = format!(".entry matmul_{}(", kernel.name());
                assert!(image.ptx.contains(&entry), "{} has no {entry}", image.architecture);
            }
            assert!(!image.ptx.contains("panic"), "{}: a kernel can panic", image.architecture);
            assert!(!image.ptx_version().is_empty());
            assert!(!image.compiler.is_empty());
        }
    }

    #[test]
    fn shared_memory_is_shared_memory() {
        for image in IMAGES {
            // rustc writes the type as b32, rust-cuda as f32.
            assert!(image.ptx.contains("ld.shared."), "{}", image.architecture);
            assert!(image.ptx.contains("st.shared."), "{}", image.architecture);
        }
    }
}
