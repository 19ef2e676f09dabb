//! `--json`, `--csv`, and the seed that makes a run again.

use std::fs;

use serde_json::Value;

use crate::support::{names, simt, without_driver};

/// Every key of a document, at any depth.
fn keys(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| {
            found.push(key.clone());
            keys(value, found);
        }),
        Value::Array(values) => values.iter().for_each(|value| keys(value, found)),
        _ => {}
    }
}

#[test]
fn json_has_a_version_units_and_all_samples() {
    let run = simt(["--size", "20,31", "--iters", "5", "--warmup", "2", "--seed", "77", "--json", "-"]).succeeded();
    let document = run.json();
    assert_eq!(document["version"], 1);
    assert_eq!((&document["kernel"], &document["warmup_runs"]), (&"tiled".into(), &2.into()));
    assert_eq!(document["inputs"], serde_json::json!({ "type": "random", "seed": 77 }));
    assert_eq!(document["device"]["kind"]["type"], "simt");
    assert!(document["pinned_limit_bytes"].is_u64());
    let sizes = document["sizes"].as_array().unwrap();
    assert_eq!(sizes.iter().map(|size| size["m"].as_u64().unwrap()).collect::<Vec<_>>(), [20, 31]);
    for size in sizes {
        let modes = size["modes"].as_array().unwrap();
        let named: Vec<&str> = modes.iter().map(|mode| mode["mode"].as_str().unwrap()).collect();
        assert_eq!(named, ["pageable", "pinned", "mapped"]);
        assert!(!size["explanation"].as_array().unwrap().is_empty());
        modes.iter().for_each(|mode| check_mode(mode, 5));
    }
    let mut all = Vec::new();
    keys(&document, &mut all);
    // A bare time, size or rate would leave the reader to guess.
    for bare in ["time", "total", "kernel_time", "h2d", "d2h", "bandwidth", "throughput", "memory", "limit", "size"] {
        assert!(!all.contains(&bare.to_owned()), "`{bare}` has no unit");
    }
}

fn check_mode(mode: &Value, iterations: usize) {
    for name in ["h2d_ms", "kernel_ms", "d2h_ms", "total_ms"] {
        let series = &mode[name];
        let samples: Vec<f64> =
            series["samples"].as_array().unwrap().iter().map(|sample| sample.as_f64().unwrap()).collect();
        assert_eq!(samples.len(), iterations, "{name}");
        let of = |key: &str| series[key].as_f64().unwrap();
        assert_eq!(of("minimum"), samples.iter().copied().fold(f64::INFINITY, f64::min));
        assert_eq!(of("maximum"), samples.iter().copied().fold(f64::NEG_INFINITY, f64::max));
        assert!(of("minimum") <= of("lower_quartile") && of("lower_quartile") <= of("median"));
        assert!(of("median") <= of("upper_quartile") && of("upper_quartile") <= of("maximum"));
    }
    let kernel = mode["kernel_ms"]["median"].as_f64().unwrap();
    assert!(kernel > 0.0 && mode["total_ms"]["median"].as_f64().unwrap() >= kernel * 0.5);
    for number in ["host_allocation_ms", "device_allocation_ms", "free_ms", "link_gb_per_s", "kernel_tflop_per_s"] {
        assert!(mode[number].as_f64().unwrap() >= 0.0, "{number}");
    }
    assert!(mode["total_over_pageable"].is_f64() && mode["largest_absolute_error"].is_f64());
    let verdicts = mode["verdicts"].as_array().unwrap();
    assert_eq!(verdicts.len(), iterations);
    assert!(verdicts.iter().all(|verdict| verdict["outcome"] == "passed" && verdict["wrong_elements"] == 0));
}

#[test]
fn the_note_about_the_missing_driver_is_in_the_json() {
    let document = without_driver(["--size", "8", "--json", "-"]).succeeded().json();
    let notes = document["device"]["notes"].as_array().unwrap();
    assert_eq!(notes.len(), 1);
    assert!(notes[0].as_str().unwrap().contains("no NVIDIA driver"), "{notes:?}");
}

#[test]
fn what_was_not_verified_says_so() {
    let document = simt(["--size", "8", "--mode", "pinned", "--verify", "off", "--json", "-"]).succeeded().json();
    let mode = &document["sizes"][0]["modes"][0];
    assert!(mode["largest_absolute_error"].is_null() && mode["total_over_pageable"].is_null());
    assert_eq!(mode["verdicts"][0]["outcome"], "not_verified");
}

#[test]
fn csv_has_one_line_per_run() {
    let arguments = ["--size", "9,12", "--mode", "pageable,mapped", "--iters", "3", "--kernel", "naive", "--csv", "-"];
    let run = simt(arguments).succeeded();
    let mut reader = csv::Reader::from_reader(run.stdout.as_bytes());
    let header: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let expected = ["device", "kernel", "m", "n", "k", "mode", "run", "h2d_ms", "kernel_ms", "d2h_ms", "total_ms"];
    assert_eq!(header, expected);
    let records: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(records.len(), 2 * 2 * 3);
    let runs: Vec<[&str; 3]> = records.iter().map(|record| [&record[2], &record[5], &record[6]]).collect();
    assert_eq!(
        runs[..4],
        [["9", "pageable", "0"], ["9", "pageable", "1"], ["9", "pageable", "2"], ["9", "mapped", "0"]]
    );
    for record in &records {
        assert_eq!(&record[1], "naive");
        assert!((7..11).all(|column| record[column].parse::<f64>().unwrap() >= 0.0));
    }
}

#[test]
fn files_hold_what_standard_output_would_and_the_tables_stay() {
    let folder = tempfile::tempdir().unwrap();
    let (json, csv) = (folder.path().join("report.json"), folder.path().join("samples.csv"));
    fs::write(&json, "old").unwrap();
    let paths = [json.to_str().unwrap(), csv.to_str().unwrap()];
    let run = simt(["--size", "16", "--iters", "2", "--json", paths[0], "--csv", paths[1]]).succeeded();
    assert!(run.stdout.contains("| pinned"), "{}", run.stdout);
    assert_eq!(names(folder.path()), ["report.json", "samples.csv"], "and no temporary file");
    let document: Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    let samples = document["sizes"][0]["modes"][0]["total_ms"]["samples"].as_array().unwrap();
    // The two documents tell the same: pageable's second run is the third line. serde_json reads to the last bit but one.
    let csv = fs::read_to_string(&csv).unwrap();
    let second = csv.lines().nth(2).unwrap().rsplit(',').next().unwrap().parse::<f64>().unwrap();
    let difference = (samples[1].as_f64().unwrap() - second).abs();
    assert!(difference <= second * 1e-12, "{samples:?} {second}");
    assert_eq!(csv.lines().count(), 1 + 3 * 2);
}

#[test]
fn a_document_on_standard_output_stands_alone() {
    let folder = tempfile::tempdir().unwrap();
    let csv = folder.path().join("samples.csv");
    let run = simt(["--size", "8", "--json", "-", "--csv", csv.to_str().unwrap()]).succeeded();
    assert_eq!(run.json()["version"], 1);
    assert!(run.stdout.starts_with('{') && run.stdout.ends_with("}\n"), "{}", run.stdout);
    assert!(fs::read_to_string(csv).unwrap().starts_with("device,"));
    // `--quiet` silences the tables, not the document that was asked for.
    assert_eq!(simt(["--size", "8", "--json", "-", "--quiet"]).succeeded().json()["version"], 1);
}

#[test]
fn a_seed_makes_the_same_product_again() {
    let folder = tempfile::tempdir().unwrap();
    let product = |seed: &str, kernel: &str| {
        let path = folder.path().join(format!("{seed}-{kernel}.npy"));
        let path = path.to_str().unwrap();
        simt(["--size", "30", "--seed", seed, "--kernel", kernel, "--iters", "1", "--out", path, "-q"]).succeeded();
        fs::read(path).unwrap()
    };
    let first = product("5", "tiled");
    assert_eq!(first, product("5", "tiled"));
    assert_ne!(first, product("6", "tiled"));

    // Without one, each run draws a new one and prints what to type to get it back.
    let seed = || {
        let run = simt(["--size", "4", "--iters", "1"]).succeeded();
        let line = run.stdout.lines().find(|line| line.contains("--seed ")).unwrap().to_owned();
        line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()
    };
    assert_ne!(seed(), seed());
}
