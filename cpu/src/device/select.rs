//! `--device auto|cuda:I|simt`.

use std::fmt;
use std::str::FromStr;

/// Which device is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Selector {
    /// The first GPU if there is one, the CPU if not.
    #[default]
    Auto,
    /// This GPU or an error.
    Cuda(u32),
    /// The CPU.
    Simt,
}

impl FromStr for Selector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "auto" => Ok(Self::Auto),
            None if text == "simt" => Ok(Self::Simt),
            None if text == "cuda" => Ok(Self::Cuda(0)),
            Some(("cuda", number)) => {
                number.parse().map(Self::Cuda).map_err(|_| format!("`{number}` is not a device number, as in cuda:0"))
            }
            _ => Err("known are auto, cuda:0 (or another number) and simt".into()),
        }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => write!(f, "auto"),
            Self::Cuda(ordinal) => write!(f, "cuda:{ordinal}"),
            Self::Simt => write!(f, "simt"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_what_is_read() {
        for selector in [Selector::Auto, Selector::Cuda(0), Selector::Cuda(17), Selector::Simt] {
            assert_eq!(selector.to_string().parse(), Ok(selector));
        }
        assert_eq!("cuda".parse(), Ok(Selector::Cuda(0)));
    }

    #[test]
    fn anything_else_is_refused_with_what_is_known() {
        for text in ["", "gpu", "cuda:", "cuda:-1", "cuda:x", "simt:0", "auto:1"] {
            assert!(text.parse::<Selector>().is_err(), "{text}");
        }
    }
}
