//! From the first bytes of a file to the layout of its elements, without trusting any of them.
//!
//! `npyz` parses the header. Before it may, this module makes sure of what it takes for granted: that the header's
//! length is not gigabytes, that its literals do not nest until the stack ends, and that the product of the shape fits
//! 64 bits.

use std::io::Read;
use std::path::Path;

use npyz::{DType, Endianness, NpyHeader, Order, TypeChar};

use super::error::ReadError;

/// Bytes of header that are read: the limit of `numpy.load` (its `max_header_size`).
const MAX_HEADER: u64 = 10_000;

/// Brackets within brackets; those of f32 matrices have 2, those of structured types 3 or 4.
const MAX_DEPTH: usize = 32;

/// Where the elements are and how to read them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub rows: usize,
    pub columns: usize,
    /// Stored by columns.
    pub fortran: bool,
    pub element: Element,
}

/// How one element is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    F32 { big_endian: bool },
    F64 { big_endian: bool },
}

impl Element {
    pub fn bytes(self) -> usize {
        match self {
            Self::F32 { .. } => 4,
            Self::F64 { .. } => 8,
        }
    }
}

/// Reads the header of a file of `bytes` bytes, and leaves `file` where the elements begin. They are all there.
pub(super) fn read(path: &Path, file: &mut impl Read, bytes: u64) -> Result<Layout, ReadError> {
    let prefix = read_prefix(path, file, bytes)?;
    let broken = |reason: String| ReadError::Header { path: path.to_owned(), reason };
    check_text(&prefix).map_err(broken)?;
    let header = NpyHeader::from_reader(&prefix[..]).map_err(|error| broken(first_line(&error.to_string())))?;

    let element = element(path, &header.dtype())?;
    let &[rows, columns] = header.shape() else {
        return Err(ReadError::Dimensions { path: path.to_owned(), shape: header.shape().to_vec() });
    };
    if rows == 0 || columns == 0 {
        return Err(ReadError::Empty { path: path.to_owned(), rows, columns });
    }
    let expected = prefix.len() as u128 + u128::from(rows) * u128::from(columns) * element.bytes() as u128;
    let (path, found) = (path.to_owned(), bytes);
    match expected.cmp(&u128::from(bytes)) {
        std::cmp::Ordering::Greater => Err(ReadError::Truncated { path, expected, found }),
        std::cmp::Ordering::Less => Err(ReadError::Trailing { path, expected, found }),
        // The elements lie in a file, but need not fit the address space of a 32-bit machine.
        std::cmp::Ordering::Equal => match (usize::try_from(rows), usize::try_from(columns), isize::try_from(expected))
        {
            (Ok(rows), Ok(columns), Ok(_)) => {
                Ok(Layout { rows, columns, fortran: header.order() == Order::Fortran, element })
            }
            _ => Err(ReadError::Memory { path, bytes }),
        },
    }
}

/// Reads magic, version, length and text, and no more.
fn read_prefix(path: &Path, file: &mut impl Read, bytes: u64) -> Result<Vec<u8>, ReadError> {
    let io = |source| ReadError::from_io(path, source);
    let mut prefix = Vec::new();
    file.by_ref().take(8).read_to_end(&mut prefix).map_err(io)?;
    if prefix.starts_with(b"PK\x03\x04") || prefix.starts_with(b"PK\x05\x06") {
        return Err(ReadError::Archive { path: path.to_owned() });
    }
    if !prefix.starts_with(b"\x93NUMPY") {
        let found = match &prefix[..] {
            [] => "nothing (it is empty)".to_owned(),
            found => format!("\"{}\"", found.escape_ascii()),
        };
        return Err(ReadError::Magic { path: path.to_owned(), found });
    }
    let truncated = |expected| ReadError::Truncated { path: path.to_owned(), expected, found: bytes };
    let &[_, _, _, _, _, _, major, minor] = &prefix[..] else { return Err(truncated(10)) };
    let length_bytes = match (major, minor) {
        (1, 0) => 2,
        (2 | 3, 0) => 4,
        _ => return Err(ReadError::Version { path: path.to_owned(), major, minor }),
    };
    file.by_ref().take(length_bytes).read_to_end(&mut prefix).map_err(io)?;
    let start = 8 + length_bytes as usize;
    if prefix.len() < start {
        return Err(truncated(start as u128));
    }
    let length = prefix[8..].iter().rev().fold(0, |length, &byte| length << 8 | u64::from(byte));
    if length > MAX_HEADER {
        let reason = format!("it claims to be {length} bytes long, at most {MAX_HEADER} are read");
        return Err(ReadError::Header { path: path.to_owned(), reason });
    }
    file.by_ref().take(length).read_to_end(&mut prefix).map_err(io)?;
    if prefix.len() < start + length as usize {
        return Err(truncated(start as u128 + u128::from(length)));
    }
    Ok(prefix)
}

/// Refuses text that a parser of Python literals might not survive.
fn check_text(prefix: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(prefix);
    let mut depth = 0_usize;
    for character in text.chars() {
        match character {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            // An escape could hide the key `shape` from the check below; NumPy writes none for plain types.
            '\\' => return Err("it has an escape sequence, which no matrix of f32 or f64 needs".to_owned()),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Err(format!("its brackets are more than {MAX_DEPTH} deep"));
        }
    }
    text.match_indices("shape").try_for_each(|(at, key)| check_shape(&text[at + key.len()..]))
}

/// Checks what follows the word `shape`: if it was a key, its value is a tuple of integers whose product fits 64 bits.
fn check_shape(rest: &str) -> Result<(), String> {
    let rest = rest.trim_start_matches(['\'', '"']).trim_start();
    let Some(value) = rest.strip_prefix(':') else { return Ok(()) };
    let tuple = value.trim_start().strip_prefix(['(', '[']).and_then(|value| value.split([')', ']']).next());
    let no_tuple = || "its shape is no tuple of integers".to_owned();
    let mut product = 1_u64;
    for extent in tuple.ok_or_else(no_tuple)?.split(',').map(str::trim).filter(|extent| !extent.is_empty()) {
        if !extent.bytes().all(|digit| digit.is_ascii_digit()) {
            return Err(no_tuple());
        }
        // Extents of 0 count as 1: strides are products of the others.
        let factor = extent.parse::<u64>().ok().map(|extent| extent.max(1));
        product = factor
            .and_then(|factor| product.checked_mul(factor))
            .ok_or_else(|| "its shape has more elements than 64 bits can count".to_owned())?;
    }
    Ok(())
}

fn element(path: &Path, dtype: &DType) -> Result<Element, ReadError> {
    let unsupported = || ReadError::ElementType { path: path.to_owned(), found: dtype.descr() };
    let DType::Plain(plain) = dtype else { return Err(unsupported()) };
    let big_endian = plain.endianness() == Endianness::Big;
    match (plain.type_char(), plain.size_field()) {
        (TypeChar::Float, 4) => Ok(Element::F32 { big_endian }),
        (TypeChar::Float, 8) => Ok(Element::F64 { big_endian }),
        _ => Err(unsupported()),
    }
}

/// The parser's messages are drawings of several lines.
fn first_line(message: &str) -> String {
    message.lines().next().unwrap_or_default().trim().to_owned()
}
