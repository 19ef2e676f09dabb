use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

/// A file with this content, and the directory that keeps it.
fn file(content: &[u8]) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.npy");
    fs::write(&path, content).unwrap();
    (directory, path)
}

/// Version 1 with this header text.
fn npy(text: &str, elements: &[u8]) -> Vec<u8> {
    let text = format!("{text}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes.extend(elements);
    bytes
}

fn header(dtype: &str, fortran: bool, shape: &str) -> String {
    let fortran = if fortran { "True" } else { "False" };
    format!("{{'descr': {dtype}, 'fortran_order': {fortran}, 'shape': {shape}, }}")
}

fn read_bytes(content: &[u8]) -> Result<Loaded, ReadError> {
    let (_directory, path) = file(content);
    read(path)
}

/// 2×3 in every layout that is supported.
#[test]
fn types_byte_orders_and_axis_orders() {
    let expected = [1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.5];
    let by_columns = [1.0_f32, 4.0, 2.0, 5.0, 3.0, 6.5];
    for fortran in [false, true] {
        let stored = if fortran { by_columns } else { expected };
        let narrow = |bytes: fn(f32) -> [u8; 4]| stored.iter().flat_map(|&x| bytes(x)).collect::<Vec<u8>>();
        let wide = |bytes: fn(f64) -> [u8; 8]| stored.iter().flat_map(|&x| bytes(x.into())).collect::<Vec<u8>>();
        let cases = [
            ("'<f4'", narrow(f32::to_le_bytes)),
            ("'>f4'", narrow(f32::to_be_bytes)),
            ("'<f8'", wide(f64::to_le_bytes)),
            ("'>f8'", wide(f64::to_be_bytes)),
        ];
        for (dtype, bytes) in cases {
            let loaded = read_bytes(&npy(&header(dtype, fortran, "(2, 3)"), &bytes)).unwrap();
            assert_eq!(loaded.matrix, Matrix::new(2, 3, expected.to_vec()), "{dtype} {fortran}");
            assert_eq!(loaded.rounding.is_some(), dtype.contains('8'));
        }
    }
}

#[test]
fn f64_is_rounded_and_counted() {
    let values = [0.5, 0.1, 1e39, -1e39, f64::NAN, f64::INFINITY, 1e-60];
    let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    let loaded = read_bytes(&npy(&header("'<f8'", false, "(1, 7)"), &bytes)).unwrap();
    let rounding = loaded.rounding.unwrap();
    assert_eq!(rounding, Rounding { elements: 7, changed_elements: 4, overflowed_elements: 2, vanished_elements: 1 });
    assert_eq!(loaded.matrix.data()[..4], [0.5, 0.1, f32::INFINITY, f32::NEG_INFINITY]);
    assert!(rounding.to_string().contains("4 of 7 f64 values were rounded"), "{rounding}");
}

#[test]
fn every_error_is_named() {
    let data = [0; 24];
    let with = |dtype: &str, shape: &str| read_bytes(&npy(&header(dtype, false, shape), &data)).unwrap_err();
    let dimensions = ["()", "(6,)", "(1, 2, 3)"];
    for shape in dimensions {
        assert!(matches!(with("'<f4'", shape), ReadError::Dimensions { .. }), "{shape}");
    }
    for shape in ["(0, 3)", "(3, 0)", "(0, 0)", "(0, 18446744073709551615)"] {
        assert!(matches!(with("'<f4'", shape), ReadError::Empty { .. }), "{shape}");
    }
    for dtype in
        ["'<f2'", "'<f16'", "'<i4'", "'|u1'", "'|b1'", "'<c8'", "'|O'", "'<U3'", "[('a', '<f4'), ('b', '<f4')]"]
    {
        let error = with(dtype, "(2, 3)");
        assert!(matches!(error, ReadError::ElementType { .. }), "{dtype}: {error}");
    }
    for shape in ["(2, 4)", "(1000000000, 1000000000)", "(18446744073709551615, 1)"] {
        assert!(matches!(with("'<f4'", shape), ReadError::Truncated { .. }), "{shape}");
    }
    assert!(matches!(with("'<f4'", "(2, 2)"), ReadError::Trailing { .. }));
    for shape in [
        "(99999999999, 99999999999)",
        "(0, 99999999999, 99999999999)",
        "(1e9, 2)",
        "(-1, 2)",
        "7",
        "(2, 0x3)",
        "(36893488147419103232, 1)",
    ] {
        assert!(matches!(with("'<f4'", shape), ReadError::Header { .. }), "{shape}");
    }
}

#[test]
fn what_is_no_npy_file_is_refused() {
    let magic = |content: &[u8]| matches!(read_bytes(content), Err(ReadError::Magic { .. }));
    assert!(magic(b""));
    assert!(magic(b"\x93NUM"));
    assert!(magic(b"1.0,2.0\n"));
    assert!(matches!(read_bytes(b"PK\x03\x04rest"), Err(ReadError::Archive { .. })));
    assert!(matches!(read_bytes(b"\x93NUMPY\x07\x00\x00\x00"), Err(ReadError::Version { major: 7, .. })));
    for length in 6..10 {
        let error = read_bytes(&b"\x93NUMPY\x01\x00\x10\x00"[..length]).unwrap_err();
        assert!(matches!(error, ReadError::Truncated { .. }), "{length}: {error}");
    }
    // Four gigabytes of header, and a header that nests without end.
    assert!(matches!(read_bytes(b"\x93NUMPY\x02\x00\xff\xff\xff\xff{}"), Err(ReadError::Header { .. })));
    assert!(matches!(read_bytes(&npy(&"(".repeat(9000), &[])), Err(ReadError::Header { .. })));
    for text in ["", "{", "[]", "{'descr': '<f4'}", "{'descr': 4, 'fortran_order': False, 'shape': (1, 1)}", "{1: 2}"] {
        assert!(matches!(read_bytes(&npy(text, &[])), Err(ReadError::Header { .. })), "{text}");
    }
    let hidden = r"{'descr': '<f4', 'fortran_order': False, '\x73hape': (99999999999, 99999999999)}";
    assert!(matches!(read_bytes(&npy(hidden, &[])), Err(ReadError::Header { .. })));
}

#[test]
fn paths_are_named() {
    let directory = tempfile::tempdir().unwrap();
    assert!(matches!(read(directory.path()), Err(ReadError::Directory { .. })));
    let error = read(directory.path().join("none.npy")).unwrap_err();
    assert!(matches!(error, ReadError::Missing { .. }));
    assert!(error.to_string().contains("none.npy"), "{error}");
    #[cfg(unix)]
    assert!(matches!(read("/dev/null"), Err(ReadError::NotAFile { .. })));
}

#[cfg(unix)]
#[test]
fn unreadable_files_are_named() {
    use std::os::unix::fs::PermissionsExt;
    let (_directory, path) = file(b"");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    // Root reads everything: then the emptiness is what is reported.
    assert!(matches!(read(path), Err(ReadError::Denied { .. } | ReadError::Magic { .. })));
}

#[test]
fn written_files_are_what_numpy_writes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.npy");
    let matrix = Matrix::random(37, 5, 3);
    write(&path, &matrix.view()).unwrap();
    let bytes = fs::read(&path).unwrap();
    assert!(bytes.starts_with(b"\x93NUMPY\x01\x00"));
    // numpy.lib.format aligns the elements to 64 bytes.
    assert_eq!((bytes.len() - 4 * 37 * 5) % 64, 0);
    assert_eq!(read(&path).unwrap(), Loaded { matrix, rounding: None });
}

#[test]
fn large_files_in_pieces() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.npy");
    let matrix = Matrix::random(517, 301, 3);
    write(&path, &matrix.view()).unwrap();
    assert_eq!(read(&path).unwrap().matrix, matrix);

    let wide: Vec<u8> =
        (0..301 * 517).flat_map(|at| f64::from(matrix.data()[at % 517 * 301 + at / 517]).to_be_bytes()).collect();
    let loaded = read_bytes(&npy(&header("'>f8'", true, "(517, 301)"), &wide)).unwrap();
    assert_eq!(loaded.matrix, matrix);
    assert_eq!(loaded.rounding.unwrap().changed_elements, 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Whatever the bytes, an answer and no panic; and what is read has the size that the file has.
    #[test]
    fn mutations_never_panic(
        changes in prop::collection::vec((0_usize..160, any::<u8>()), 0..6),
        length in 0_usize..200,
        fortran in any::<bool>(),
        wide in any::<bool>(),
    ) {
        let dtype = if wide { "'<f8'" } else { "'<f4'" };
        let mut bytes = npy(&header(dtype, fortran, "(2, 4)"), &[1; 64]);
        for (at, byte) in changes {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        bytes.truncate(length);
        if let Ok(loaded) = read_bytes(&bytes) {
            prop_assert!(loaded.matrix.data().len() * 4 < bytes.len());
        }
    }

    /// Headers that are nearly right.
    #[test]
    fn headers_never_panic(
        descr in "('[<>|=]?[fic][0-9]{1,3}'|\\[.{0,8}\\])",
        fortran in "True|False|1",
        shape in "[\\(\\[][0-9, L_xj+-]{0,44}[\\)\\]]?",
        end in ".{0,3}\\}?",
    ) {
        let text = format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}{end}");
        let _ = read_bytes(&npy(&text, &[0; 16]));
    }

    #[test]
    fn round_trip(rows in 1_usize..40, columns in 1_usize..40, seed in any::<u64>()) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.npy");
        let matrix = Matrix::random(rows, columns, seed);
        write(&path, &matrix.view()).unwrap();
        prop_assert_eq!(read(&path).unwrap().matrix, matrix);
    }
}
