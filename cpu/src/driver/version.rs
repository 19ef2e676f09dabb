//! Which CUDA the driver speaks.

use core::fmt;

use super::{Error, call, library};

/// A version of the CUDA interface. Not the number of the driver package (580.95), which is NVML's to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// 13 of 13.0.
    pub major: u32,
    /// 0 of 13.0.
    pub minor: u32,
}

impl Version {
    /// Reads the driver's own spelling, 1000·major + 10·minor.
    pub const fn from_number(number: u32) -> Self {
        Self { major: number / 1000, minor: number % 1000 / 10 }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The newest CUDA that the driver speaks. Needs no device, and no [`init`](super::init) before it.
///
/// # Errors
/// There is no driver.
pub fn version() -> Result<Version, Error> {
    library()?;
    let mut number = 0;
    // SAFETY: the pointer is to a live integer, which is all that the call writes.
    call("cuDriverGetVersion", unsafe { cust::sys::cuDriverGetVersion(&mut number) })?;
    Ok(Version::from_number(u32::try_from(number).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::Version;

    #[test]
    fn the_drivers_spelling() {
        assert_eq!(Version::from_number(13000).to_string(), "13.0");
        assert_eq!(Version::from_number(12080).to_string(), "12.8");
        assert_eq!(Version::from_number(11040).to_string(), "11.4");
        assert!(Version::from_number(9020) < Version::from_number(12000));
    }
}
