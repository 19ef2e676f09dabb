//! NumPy's `.npy` files, version 1 to 3 (NEP 1, and `numpy.lib.format`).
//!
//! Read are matrices of f32 and f64, in both byte orders and both orders of axes. Written is little-endian f32 in C
//! order, version 1: what `numpy.save` writes.

mod error;
mod header;
#[cfg(test)]
mod tests;

use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::Path;

use npyz::WriterBuilder;

use super::{Matrix, MatrixView};
use crate::output::{self, WriteError};
pub use error::ReadError;
use header::{Element, Layout};

/// A matrix read from a file, and what became of its elements.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The matrix.
    pub matrix: Matrix,
    /// Of a file of f64: what rounding to f32 did.
    pub rounding: Option<Rounding>,
}

/// What rounding from f64 to f32 did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rounding {
    /// Elements in all.
    pub elements: u64,
    /// Elements that are not the same in f32.
    pub changed_elements: u64,
    /// Of these, the finite ones that became infinite: beyond 3.4·10³⁸.
    pub overflowed_elements: u64,
    /// Of these, the ones that became zero: below 1.4·10⁻⁴⁵.
    pub vanished_elements: u64,
}

impl fmt::Display for Rounding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { elements, changed_elements, .. } = self;
        write!(f, "{changed_elements} of {elements} f64 values were rounded to f32")?;
        for (count, what) in [(self.overflowed_elements, "infinity"), (self.vanished_elements, "zero")] {
            if count > 0 {
                write!(f, ", {count} of them to {what}")?;
            }
        }
        Ok(())
    }
}

/// Reads a matrix.
///
/// The header is checked against the length of the file before anything is allocated; a file that is shorter or longer
/// than its header says is refused. f64 is rounded to the nearest f32, and the result says what that changed.
///
/// # Errors
/// The file cannot be read, is no `.npy` file of a 2-D matrix of f32 or f64, or does not fit memory.
pub fn read(path: impl AsRef<Path>) -> Result<Loaded, ReadError> {
    let path = path.as_ref();
    let failed = |source| ReadError::from_io(path, source);
    let found = std::fs::metadata(path).map_err(failed)?;
    if found.is_dir() {
        return Err(ReadError::Directory { path: path.to_owned() });
    }
    if !found.is_file() {
        return Err(ReadError::NotAFile { path: path.to_owned() });
    }
    let mut file = File::open(path).map_err(failed)?;
    let bytes = file.metadata().map_err(failed)?.len();
    let layout = header::read(path, &mut file, bytes)?;
    let mut rounding = Rounding { elements: (layout.rows * layout.columns) as u64, ..Rounding::default() };
    let stored = read_elements(path, &mut file, &layout, &mut rounding)?;
    let data = if layout.fortran { transpose(path, &stored, layout.columns, layout.rows)? } else { stored };
    let rounding = matches!(layout.element, Element::F64 { .. }).then_some(rounding);
    Ok(Loaded { matrix: Matrix::new(layout.rows, layout.columns, data), rounding })
}

/// Reads all elements in the order of the file, a piece at a time.
fn read_elements(
    path: &Path,
    file: &mut File,
    layout: &Layout,
    rounding: &mut Rounding,
) -> Result<Vec<f32>, ReadError> {
    /// Bytes in a piece, a multiple of 8.
    const PIECE: usize = 1 << 18;
    let size = layout.element.bytes();
    let mut data = allocate(path, layout.rows * layout.columns)?;
    let mut piece = vec![0; PIECE.min(layout.rows * layout.columns * size)];
    while data.len() < layout.rows * layout.columns {
        let want = PIECE.min((layout.rows * layout.columns - data.len()) * size);
        file.read_exact(&mut piece[..want]).map_err(|source| match source.kind() {
            // The length was right a moment ago.
            ErrorKind::UnexpectedEof => ReadError::Changed { path: path.to_owned() },
            _ => ReadError::from_io(path, source),
        })?;
        let (words, _) = piece[..want].as_chunks::<4>();
        let (double_words, _) = piece[..want].as_chunks::<8>();
        match layout.element {
            Element::F32 { big_endian: false } => data.extend(words.iter().map(|&word| f32::from_le_bytes(word))),
            Element::F32 { big_endian: true } => data.extend(words.iter().map(|&word| f32::from_be_bytes(word))),
            Element::F64 { big_endian: false } => {
                data.extend(double_words.iter().map(|&word| round(f64::from_le_bytes(word), rounding)));
            }
            Element::F64 { big_endian: true } => {
                data.extend(double_words.iter().map(|&word| round(f64::from_be_bytes(word), rounding)));
            }
        }
    }
    Ok(data)
}

fn round(wide: f64, rounding: &mut Rounding) -> f32 {
    let narrow = wide as f32;
    rounding.changed_elements += u64::from(f64::from(narrow) != wide && !wide.is_nan());
    rounding.overflowed_elements += u64::from(narrow.is_infinite() && wide.is_finite());
    rounding.vanished_elements += u64::from(narrow == 0.0 && wide != 0.0);
    narrow
}

/// The transpose of a matrix of `rows` rows, in squares that fit the first-level cache.
fn transpose(path: &Path, matrix: &[f32], rows: usize, columns: usize) -> Result<Vec<f32>, ReadError> {
    const SIDE: usize = 32;
    let mut transposed = allocate(path, matrix.len())?;
    transposed.resize(matrix.len(), 0.0);
    for top in (0..rows).step_by(SIDE) {
        for left in (0..columns).step_by(SIDE) {
            for row in top..rows.min(top + SIDE) {
                for column in left..columns.min(left + SIDE) {
                    transposed[column * rows + row] = matrix[row * columns + column];
                }
            }
        }
    }
    Ok(transposed)
}

/// Room for `elements`, or an error instead of an abort.
fn allocate(path: &Path, elements: usize) -> Result<Vec<f32>, ReadError> {
    let mut data = Vec::new();
    match data.try_reserve_exact(elements) {
        Ok(()) => Ok(data),
        Err(_) => Err(ReadError::Memory { path: path.to_owned(), bytes: 4 * elements as u64 }),
    }
}

/// Writes a matrix, whole or not at all.
///
/// # Errors
/// The file cannot be written; an existing one is as it was.
pub fn write(path: impl AsRef<Path>, matrix: &MatrixView<'_>) -> Result<(), WriteError> {
    output::write(path, |file| {
        npyz::WriteOptions::new_header_only()
            .dtype(npyz::DType::new_scalar("<f4".parse().expect("a type string")))
            .shape(&[matrix.rows() as u64, matrix.columns() as u64])
            .writer(&mut *file)
            .write_header_only()?;
        if cfg!(target_endian = "little") {
            return file.write_all(bytemuck::cast_slice(matrix.data()));
        }
        matrix.data().iter().try_for_each(|element| file.write_all(&element.to_le_bytes()))
    })
}
