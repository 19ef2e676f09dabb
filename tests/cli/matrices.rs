//! Real matrices: `--a`, `--b`, `--out`. The files are made and read by hand here, not by the program's own code.

use std::fs;
use std::path::Path;

use crate::support::{Run, Untouched, simt};

/// Writes a `.npy` file, version 1, as NEP 1 says.
fn write(path: &Path, descr: &str, fortran: bool, shape: &str, bytes: &[u8]) {
    let fortran = if fortran { "True" } else { "False" };
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(bytes);
    fs::write(path, file).unwrap();
}

/// Reads a C-order f32 matrix: its shape as written, and its elements.
fn read(path: &Path) -> (String, Vec<f32>) {
    let file = fs::read(path).unwrap();
    assert_eq!(&file[..8], b"\x93NUMPY\x01\x00");
    let data = 10 + usize::from(u16::from_le_bytes([file[8], file[9]]));
    let header = std::str::from_utf8(&file[10..data]).unwrap();
    assert!(header.contains("'<f4'") && header.contains("'fortran_order': False"), "{header}");
    let shape = header.split_once('(').unwrap().1.split_once(')').unwrap().0.replace(' ', "");
    let (words, rest) = file[data..].as_chunks::<4>();
    assert!(rest.is_empty());
    (shape.trim_end_matches(',').to_owned(), words.iter().map(|&word| f32::from_le_bytes(word)).collect())
}

/// Something that is neither symmetric nor the same twice.
fn element(row: usize, column: usize) -> f64 {
    ((row * 31 + column * 17) % 23) as f64 / 7.0 - 1.5
}

/// A matrix of `element`s in a file.
fn matrix(path: &Path, rows: usize, columns: usize, wide: bool, fortran: bool) {
    let mut bytes = Vec::new();
    let (outer, inner) = if fortran { (columns, rows) } else { (rows, columns) };
    for (outer, inner) in (0..outer).flat_map(|outer| (0..inner).map(move |inner| (outer, inner))) {
        let value = if fortran { element(inner, outer) } else { element(outer, inner) };
        match wide {
            true => bytes.extend(value.to_le_bytes()),
            false => bytes.extend((value as f32).to_le_bytes()),
        }
    }
    write(path, if wide { "<f8" } else { "<f4" }, fortran, &format!("({rows}, {columns})"), &bytes);
}

/// Multiplies two files on the CPU device.
fn multiply(folder: &Path, more: &[&str]) -> Run {
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let arguments = ["--a".to_owned(), path("a.npy"), "--b".into(), path("b.npy"), "--iters".into(), "1".into()];
    simt(arguments.into_iter().chain(more.iter().map(|&word| word.to_owned())))
}

#[test]
fn files_of_both_types_and_orders_are_multiplied_and_written() {
    let (m, n, k) = (13, 7, 21);
    for (wide, fortran) in [(false, false), (false, true), (true, false), (true, true)] {
        let folder = tempfile::tempdir().unwrap();
        matrix(&folder.path().join("a.npy"), m, k, wide, fortran);
        matrix(&folder.path().join("b.npy"), k, n, !wide, fortran);
        let out = folder.path().join("c.npy");
        let run = multiply(folder.path(), &["--out", out.to_str().unwrap()]).succeeded();
        assert!(run.stdout.contains("M = 13, N = 7, K = 21"), "{}", run.stdout);
        assert!(run.stdout.contains("inputs   A from ") && run.stdout.contains("a.npy, B from "), "{}", run.stdout);
        // Sevenths are not exact in f32.
        assert!(run.stdout.contains("f64 values were rounded to f32"), "{}", run.stdout);

        let (shape, c) = read(&out);
        assert_eq!(shape, "13,7");
        for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
            let products = (0..k).map(|l| element(row, l) * element(l, column));
            let (exact, size) = products.fold((0.0, 0.0), |(sum, size), product| (sum + product, size + product.abs()));
            let error = (f64::from(c[row * n + column]) - exact).abs();
            assert!(error <= size * 1e-5, "C[{row}, {column}] is off by {error}");
        }
    }
}

#[test]
fn random_products_are_written_too_whatever_the_mode() {
    let folder = tempfile::tempdir().unwrap();
    let mut products = Vec::new();
    for mode in ["pageable", "pinned", "mapped", "mapped,pinned"] {
        let out = folder.path().join("c.npy");
        let arguments = ["--m", "3", "--n", "5", "--k", "4", "--seed", "1", "--mode", mode, "--iters", "1", "--out"];
        simt(arguments.into_iter().chain([out.to_str().unwrap()])).succeeded();
        let (shape, c) = read(&out);
        assert_eq!((&*shape, c.len()), ("3,5", 15));
        products.push(c);
    }
    assert!(products.iter().all(|product| *product == products[0]));
}

#[test]
fn nan_and_infinity_are_multiplied_and_the_report_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let a = [1.0_f32, f32::NAN, f32::INFINITY, 2.0, 3.0, 4.0];
    let bytes: Vec<u8> = a.iter().flat_map(|x| x.to_le_bytes()).collect();
    write(&folder.path().join("a.npy"), "<f4", false, "(3, 2)", &bytes);
    matrix(&folder.path().join("b.npy"), 2, 4, false, false);
    let out = folder.path().join("c.npy");
    for how in ["full", "sampled"] {
        let run = multiply(folder.path(), &["--verify", how, "--out", out.to_str().unwrap()]).succeeded();
        assert!(run.stdout.contains("are NaN or infinite, as they must be"), "{how}: {}", run.stdout);
        let (_, c) = read(&out);
        assert!(c[..4].iter().all(|x| x.is_nan()), "{c:?}");
        assert!(c[4..8].iter().all(|x| !x.is_finite()), "{c:?}");
        assert!(c[8..].iter().all(|x| x.is_finite()), "{c:?}");
        let document = multiply(folder.path(), &["--verify", how, "--json", "-"]).succeeded().json();
        assert!(document["sizes"][0]["modes"][0]["verdicts"][0]["not_finite_elements"].as_u64().unwrap() >= 8);
    }
}

#[test]
fn f64_beyond_f32_is_noted_in_tables_and_json() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("a.npy"), "<f8", false, "(1, 1)", &1e300_f64.to_le_bytes());
    write(&folder.path().join("b.npy"), "<f4", false, "(1, 1)", &2.0_f32.to_le_bytes());
    let run = multiply(folder.path(), &[]).succeeded();
    assert!(run.stdout.contains("1 of 1 f64 values were rounded to f32, 1 of them to infinity"), "{}", run.stdout);
    let document = multiply(folder.path(), &["--json", "-"]).succeeded().json();
    assert!(document["notes"][0].as_str().unwrap().contains("to infinity"), "{document}");
}

#[test]
fn one_file_may_be_both_factors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npy");
    matrix(&path, 6, 6, false, false);
    let path = path.to_str().unwrap();
    simt(["--a", path, "--b", path]).succeeded();
}

/// Runs with `a` and `b`, which are no product, and outputs that must not be touched.
#[track_caller]
fn refused(prepare: impl FnOnce(&Path, &Path), parts: &[&str]) {
    let inputs = tempfile::tempdir().unwrap();
    let (a, b) = (inputs.path().join("a.npy"), inputs.path().join("b.npy"));
    matrix(&a, 3, 2, false, false);
    matrix(&b, 2, 3, false, false);
    prepare(&a, &b);
    let outputs = Untouched::new();
    let [json, old, csv, new] = outputs.outputs();
    let c = outputs.path("c.npy");
    let more = [&*json, &*old, &*csv, &*new, "--out", c.to_str().unwrap()];
    let run = multiply(inputs.path(), &more).failed(1, parts);
    assert_eq!((&*run.stdout, run.stderr.lines().count()), ("", 1), "{}", run.stderr);
    outputs.assert();
}

#[test]
fn files_that_are_no_matrix() {
    refused(|a, _| fs::remove_file(a).unwrap(), &["--a: there is no file", "a.npy"]);
    refused(
        |_, b| {
            fs::remove_file(b).unwrap();
            fs::create_dir(b).unwrap();
        },
        &["--b: ", "is a directory", "name a .npy file in it"],
    );
    refused(|_, b| fs::write(b, "1,2\n3,4\n").unwrap(), &["--b: ", "no .npy file", "numpy.save"]);
    refused(|a, _| fs::write(a, "").unwrap(), &["--a: ", "a.npy"]);
    refused(|a, _| write(a, "<f4", false, "(3, 2)", &[0; 23]), &["cut short", "copy or write it again"]);
    refused(|a, _| write(a, "<f4", false, "(3, 2)", &[0; 25]), &["goes on after its matrix"]);
    refused(|a, _| write(a, "<f4", false, "(1, 3, 2)", &[0; 24]), &["[1, 3, 2]", "3 dimension", "a matrix has 2"]);
    refused(|a, _| write(a, "<f4", false, "(6,)", &[0; 24]), &["1 dimension", "reshape(rows, columns)"]);
    refused(|a, _| write(a, "<i4", false, "(3, 2)", &[0; 24]), &["i4", "f32 and f64 can be read", "astype"]);
    refused(|a, _| write(a, "<f4", false, "(0, 2)", &[]), &["without elements", "at least 1"]);
    let huge = "(4294967295, 4294967295)";
    refused(|a, _| write(a, "<f4", false, huge, &[0; 24]), &["cut short"]);
}

#[test]
fn files_that_do_not_fit_together() {
    refused(
        |_, b| matrix(b, 4, 3, false, false),
        &["is 3×2", "is 4×3", "as many columns as B has rows", "a.npy", "b.npy"],
    );
}

#[test]
fn an_output_never_overwrites_an_input() {
    let folder = tempfile::tempdir().unwrap();
    matrix(&folder.path().join("a.npy"), 2, 2, false, false);
    matrix(&folder.path().join("b.npy"), 2, 2, false, false);
    let before = fs::read(folder.path().join("b.npy")).unwrap();
    for output in ["--out", "--json", "--csv"] {
        // Under another name, too.
        let name = format!("{}/./b.npy", folder.path().display());
        multiply(folder.path(), &[output, &name]).failed(2, &[output, "would overwrite", "--b", "another file"]);
        assert_eq!(fs::read(folder.path().join("b.npy")).unwrap(), before);
    }
}
