//! `advise` and `matmul --explain`: predictions from named machines, from reports, and from what `bandwidth` kept. Nothing here
//! asserts a speed.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;

use crate::support::{NO_DRIVER, Run, binary, on_fake};

/// A command with a home of its own and no driver in sight.
fn cpu<S: AsRef<OsStr>>(home: &Path, arguments: impl IntoIterator<Item = S>) -> Run {
    let mut command = Command::new(binary());
    command.env("PAGELOCK_LIBCUDA", NO_DRIVER).env("HOME", home).env("XDG_CACHE_HOME", home.join("cache"));
    Run::of(command.args(arguments).output().unwrap(), Vec::new())
}

/// `advise` with an empty home.
fn advise(arguments: &[&str]) -> Run {
    let home = tempfile::tempdir().unwrap();
    cpu(home.path(), ["advise"].iter().chain(arguments))
}

/// Text without its line ends.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

const STRATEGIES: [&str; 6] = ["pageable", "staged", "pinned", "mapped", "write-combined", "registered"];

#[test]
fn every_named_machine_gives_advice() {
    for (machine, origin) in
        [("t4", "not measured by us"), ("a100", "not measured by us"), ("h200", "we recorded on one")]
    {
        let run = advise(&["--in", "64MiB", "--out", "16MiB", "--repeat", "100", "--machine", machine]).succeeded();
        for part in [
            origin,
            "source ",
            "predicted, ms",
            "is predicted to be",
            "Against pageable memory, ",
            "reads of each byte",
        ] {
            assert!(run.stdout.contains(part), "`{part}` is not in:\n{}", run.stdout);
        }
        for strategy in STRATEGIES {
            assert!(run.stdout.contains(&format!("| {strategy} ")), "{strategy}: {}", run.stdout);
        }
        let wide: Vec<&str> = run.stdout.lines().filter(|line| line.chars().count() > 100).collect();
        assert!(wide.is_empty(), "{wide:#?}");
    }
}

#[test]
fn the_document_says_that_it_is_predicted() {
    let run = advise(&["--matmul", "4096", "--kernel", "tiled", "--machine", "h200", "--repeat", "50", "--json", "-"])
        .succeeded();
    let document = run.json();
    assert_eq!((&document["version"], &document["predicted"]), (&Value::from(1), &Value::from(true)));
    assert_eq!(document["parameters"]["machine"], "h200");
    let job = &document["jobs"][0];
    assert_eq!(job["job"]["reads_per_byte"], 128.0);
    assert_eq!(job["recommendation"]["fastest_run"], "pinned");
    let predictions = job["predictions"].as_array().unwrap();
    assert_eq!(predictions.len(), STRATEGIES.len());
    for one in predictions {
        let part = |name: &str| one[format!("predicted_{name}_ms")].as_f64().unwrap();
        let parts = ["cpu_write", "h2d", "kernel", "d2h", "cpu_read", "overhead"].map(part);
        assert!((part("run") - parts.iter().sum::<f64>()).abs() < 1e-9, "{one}");
        assert!((part("all") - part("allocate") - part("free") - 50.0 * part("run")).abs() < 1e-6, "{one}");
    }
    let recommended = &job["recommendation"];
    assert_eq!(recommended["strategy"], recommended["overtakes_pageable"]["strategy"], "{recommended}");
    let against = format!("Against pageable memory, {} ", recommended["strategy"].as_str().unwrap());
    let mut reasons = recommended["reasons"].as_array().unwrap().iter().map(|said| said.as_str().unwrap());
    assert!(reasons.any(|said| said.starts_with(&against)), "{recommended}");
    let run = advise(&["--in", "8MB,1MB", "--machine", "t4", "--csv", "-"]).succeeded();
    let lines: Vec<Vec<&str>> = run.stdout.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines.len(), 1 + STRATEGIES.len());
    assert!(lines.iter().all(|line| line.len() == 15), "{}", run.stdout);
    assert_eq!(lines.iter().filter(|line| line[4] == "true").count(), 1, "one is recommended");
    let run = advise(&["--in", "8MB,1MiB", "--out", "1234567", "--machine", "t4"]).succeeded();
    let echoed = "8.0 MB and 1.0 MiB in, 1.2 MiB (1234567 bytes) out";
    assert!(words(&run.stdout).contains(echoed), "{}", run.stdout);
    assert_eq!(advise(&["--in", "8MB", "--machine", "t4", "--quiet"]).succeeded().stdout, "");
}

#[test]
fn what_the_cpu_and_the_kernel_do_counts() {
    let of = |more: &[&str]| {
        let arguments = ["--in", "8MB", "--out", "4MB", "--machine", "h200", "--json", "-"];
        let document = advise(&[&arguments, more].concat()).succeeded().json();
        document["jobs"][0]["predictions"].as_array().unwrap()[3].clone()
    };
    let plain = of(&[]);
    assert_eq!(plain["strategy"], "mapped");
    let more = |of: &Value, name: &str| of[name].as_f64().unwrap() > plain[name].as_f64().unwrap();
    assert!(more(&of(&["--cpu-writes", "yes"]), "predicted_cpu_write_ms"));
    assert!(more(&of(&["--cpu-reads", "yes"]), "predicted_cpu_read_ms"));
    for kernel in [
        &["--reads", "4"] as &[&str],
        &["--pattern", "random"],
        &["--flops", "1e13"],
        &["--flops", "1e10", "--tflops", "0.1"],
        &["--kernel-ms", "7"],
    ] {
        assert!(more(&of(kernel), "predicted_kernel_ms"), "{kernel:?}");
    }
}

#[test]
fn what_does_not_fit_is_said() {
    let run = advise(&["--in", "100GiB", "--machine", "t4"]).succeeded();
    assert!(run.stdout.contains("pinned (does not fit)"), "{}", run.stdout);
    assert!(
        run.stdout.contains("device memory") && run.stdout.contains("mapped is the only one that fits"),
        "{}",
        run.stdout
    );
    assert!(words(&run.stdout).contains("fit in the host's memory, and in what may be page-locked, is not checked"));
}

#[test]
fn a_machine_that_was_not_measured_is_an_error_that_says_what_to_do() {
    let run = advise(&["--in", "1MiB"]);
    run.failed(1, &["nothing is kept of a CPU", "bandwidth`", "--machine t4, a100 or h200"]);
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("cache/pagelock");
    fs::create_dir_all(&folder).unwrap();
    for (content, said) in
        [("{\"version\": 1}", "layout of version 1"), ("{", "cannot be read"), ("{\"version\": 2}", "cannot be read")]
    {
        fs::write(folder.join("bandwidth-cpu.json"), content).unwrap();
        cpu(home.path(), ["advise", "--in", "1MiB"]).failed(1, &[said, "bandwidth-cpu.json", "bandwidth`"]);
    }
    let run = cpu(home.path(), ["matmul", "--device", "simt", "--size", "16", "--explain"]).succeeded();
    assert!(
        run.stdout.contains("so nothing is predicted; run `cargo run -p cpu -- bandwidth --device simt`"),
        "{}",
        run.stdout
    );
}

#[test]
fn what_bandwidth_kept_and_what_matmul_reported() {
    let home = tempfile::tempdir().unwrap();
    let path = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
    let (bandwidth, matmul) = (path("bandwidth.json"), path("matmul.json"));
    cpu(home.path(), ["bandwidth", "--device", "simt", "--quick", "--quiet", "--json", &bandwidth]).succeeded();

    let run = cpu(home.path(), ["advise", "--in", "1MiB", "--out", "1MiB"]).succeeded();
    assert!(
        run.stdout.contains("as `bandwidth` measured it here") && run.stdout.contains("advice for simt"),
        "{}",
        run.stdout
    );

    let run = cpu(home.path(), ["advise", "--in", "1EiB", "--json", "-"]).succeeded();
    let (document, fits) = (run.json(), "no strategy fits");
    assert!(document["host_memory_bytes"].as_u64().unwrap() > 0 && document["pinned_limit_bytes"].is_u64());
    assert_eq!(document["jobs"][0]["recommendation"]["strategy"], Value::Null);
    assert!(document["jobs"][0]["recommendation"]["reasons"][0].as_str().unwrap().contains(fits), "{document}");
    for one in document["jobs"][0]["predictions"].as_array().unwrap() {
        let why = one["does_not_fit"].as_str().unwrap();
        assert!(why.contains("of host memory") && why.contains("are available"), "{one}");
    }
    let run = cpu(home.path(), ["advise", "--in", "1EiB", "--from", &bandwidth]).succeeded();
    for part in ["how much it has is not known", "may be page-locked is checked", "of page-locked memory"] {
        assert!(words(&run.stdout).contains(part), "`{part}` is not in:\n{}", run.stdout);
    }

    let modes = ["--mode", "pageable,staged,pinned,mapped", "--iters", "2"];
    let explain = ["matmul", "--device", "simt", "--size", "64,100", "--explain", "--json", &matmul];
    let run = cpu(home.path(), explain.iter().chain(&modes)).succeeded();
    assert_eq!(run.stdout.matches("predicted / measured, ms").count(), 2, "{}", run.stdout);
    assert_eq!(run.stdout.matches("was predicted to win").count(), 2, "{}", run.stdout);
    let managed = ["matmul", "--device", "simt", "--size", "64", "--explain", "--mode", "managed,prefetched"];
    let run = cpu(home.path(), managed).succeeded();
    assert!(!run.stdout.contains("predicted / measured"), "an empty table:\n{}", run.stdout);
    for part in ["* Measured, but not predicted by the model: managed, prefetched.", "* Measured winner: "] {
        assert!(run.stdout.contains(part), "`{part}` is not in:\n{}", run.stdout);
    }
    let document: Value = serde_json::from_slice(&fs::read(&matmul).unwrap()).unwrap();
    assert_eq!(document["predicted_by"]["type"], "kept");
    for size in document["sizes"].as_array().unwrap() {
        let compared = size["comparison"]["modes"].as_array().unwrap();
        assert_eq!(compared.len(), 4);
        for (one, mode) in compared.iter().zip(size["modes"].as_array().unwrap()) {
            assert_eq!((&one["mode"], &one["measured_total_ms"]), (&mode["mode"], &mode["total_ms"]["median"]));
            assert!(
                one["predicted_total_ms"].as_f64().unwrap() > 0.0 && one["total_deviation_percent"].is_number(),
                "{one}"
            );
        }
        assert!(
            size["comparison"]["predicted_winner"].is_string() && size["comparison"]["measured_winner"].is_string()
        );
    }

    let run = cpu(home.path(), ["advise", "--from", &matmul]).succeeded();
    assert_eq!(run.stdout.matches("predicted / measured, ms").count(), 2, "{}", run.stdout);
    assert!(
        run.stdout.contains("the product 100×100×100") && !run.stdout.contains("measured on device memory"),
        "{}",
        run.stdout
    );
    let run = cpu(home.path(), ["advise", "--from", &matmul, "--machine", "a100"]).succeeded();
    assert!(run.stdout.contains("named machine a100"), "{}", run.stdout);
    assert!(run.stdout.contains("says nothing of this machine"), "{}", run.stdout);
    assert!(!run.stdout.contains("predicted / measured"), "two machines are not compared\n{}", run.stdout);

    let elsewhere = tempfile::tempdir().unwrap();
    let piped = |input: &str, more: &[&str]| {
        let mut command = Command::new(binary());
        command
            .env("PAGELOCK_LIBCUDA", NO_DRIVER)
            .env("HOME", home.path())
            .env("XDG_CACHE_HOME", home.path().join("cache"));
        command.args(["advise", "--from", "-"]).args(more).pipe_stdin(input).unwrap();
        Run::of(command.output().unwrap(), Vec::new())
    };
    let run = piped(&matmul, &[]).succeeded();
    assert_eq!(run.stdout.matches("predicted / measured, ms").count(), 2, "{}", run.stdout);
    let run = piped(&bandwidth, &["--in", "1MiB"]).succeeded();
    assert!(run.stdout.contains("reports it (standard input)"), "{}", run.stdout);
    piped("/dev/null", &[]).failed(1, &["--from -", "not a report"]);
    let run =
        cpu(elsewhere.path(), ["advise", "--from", &bandwidth, "--matmul", "30x20x7", "--repeat", "9"]).succeeded();
    assert!(run.stdout.contains("as `bandwidth` reports it") && run.stdout.contains("× 9"), "{}", run.stdout);
    cpu(elsewhere.path(), ["advise", "--from", &bandwidth]).failed(2, &["report of bandwidth", "describe a job"]);
    let two = ["advise", "--from", &bandwidth, "--in", "4KiB", "--machine", "t4"];
    cpu(elsewhere.path(), two).failed(2, &["leave out --machine"]);
    cpu(elsewhere.path(), ["advise", "--from", &matmul]).failed(1, &["nothing is kept of a CPU"]);
    cpu(elsewhere.path(), ["advise", "--from", &matmul, "--in", "4KiB"]).failed(2, &["leave out --in"]);
    for option in [["--kernel-ms", "3"], ["--reads", "3"], ["--pattern", "random"], ["--flops", "3"], ["--out", "1"]] {
        let said = format!("leave out {}\n", option[0]);
        cpu(elsewhere.path(), ["advise", "--from", &matmul].iter().chain(&option))
            .failed(2, &["gives the jobs", &said]);
    }
    let kernel = ["advise", "--from", &matmul, "--kernel", "tiled"];
    cpu(elsewhere.path(), kernel).failed(2, &["required arguments", "--matmul"]);
    cpu(elsewhere.path(), kernel.iter().chain(&["--matmul", "4"])).failed(2, &["leave out --matmul, --kernel\n"]);
    // What a machine's report leaves open is used.
    let of = |more: &[&str]| {
        let arguments = ["advise", "--from", &bandwidth, "--json", "-"];
        let document = cpu(elsewhere.path(), arguments.iter().chain(more)).succeeded().json();
        document["jobs"][0]["job"]["compute"].clone()
    };
    assert_eq!(of(&["--matmul", "64", "--kernel", "naive"])["kernel"], "naive");
    assert_eq!(of(&["--in", "64", "--kernel-ms", "3"])["kernel_ms"], 3.0);
    cpu(elsewhere.path(), ["advise", "--from", &matmul, "--json", &matmul]).failed(2, &["--from and --json", "own"]);
}

#[test]
fn a_device_that_was_not_measured_is_explained_by_the_named_machine_that_it_fits() {
    let run = on_fake("", ["--size", "64", "--iters", "1", "--explain"]).succeeded().left_nothing();
    let out = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in
        ["named machine h200", "nothing is kept of a Fake H200", "bandwidth` measures this one", "was predicted to win"]
    {
        assert!(out.contains(part), "`{part}` is not in:\n{}", run.stdout);
    }
}

#[test]
fn arguments_that_make_no_sense() {
    for (arguments, parts) in [
        (&[] as &[&str], ["no job is described", "--in 64MiB"]),
        (&["--in", "much"], ["'much'", "512MiB"]),
        (&["--in", "-1"], ["'-1'", "amount of memory"]),
        (&["--in", "0"], ["carries nothing", "--out"]),
        (&["--in", "1", "--reads", "-1"], ["--reads is -1", "between 0"]),
        (&["--in", "1", "--reads", "nan"], ["--reads is NaN", "between 0"]),
        (&["--in", "1", "--flops", "inf"], ["--flops is inf", "1e24"]),
        (&["--in", "1", "--flops", "1", "--tflops", "0"], ["--tflops is 0", "between"]),
        (&["--in", "1", "--kernel-ms", "-3"], ["--kernel-ms is -3", "between"]),
        (&["--in", "1", "--flops", "1", "--kernel-ms", "3"], ["--flops", "cannot be used with"]),
        (&["--in", "1", "--tflops", "3"], ["required", "--flops"]),
        (&["--in", "1", "--matmul", "3"], ["--matmul", "cannot be used with"]),
        (&["--in", "1", "--kernel", "tiled"], ["--kernel", "cannot be used with"]),
        (&["--kernel", "tiled"], ["required", "--matmul"]),
        (&["--in", "1", "--tflops", "3", "--kernel-ms", "3"], ["--tflops", "cannot be used with"]),
        (&["--matmul", "3", "--tflops", "3"], ["--tflops", "cannot be used with"]),
        (&["--kernel-ms", "3"], ["no job is described", "--in 64MiB"]),
        (&["--in", "1", "--repeat", "0"], ["--repeat is 0", "once at least"]),
        (&["--in", "1", "--repeat", "-1"], ["'-1'", "--repeat"]),
        (&["--in", "15EiB,15EiB"], ["just below 16 EiB", "smaller"]),
        (&["--in", "16EiB"], ["'16EiB'", "the most is 18446744073709551615, just below 16EiB"]),
        (&["--matmul", "3x4"], ["'3x4'", "300x200x7"]),
        (&["--matmul", "0"], ["'0'", "at least 1"]),
        (&["--in", "1", "--machine", "v100"], ["'v100'", "t4, a100, h200"]),
        (&["--in", "1", "--pattern", "zigzag"], ["'zigzag'", "sequential, random"]),
        (&["--in", "1", "--json", "-", "--csv", "-"], ["standard output", "file"]),
        (&["--in", "1", "--json", "same", "--csv", "same"], ["--json and --csv", "own"]),
    ] {
        let run = advise(arguments).failed(2, &parts);
        assert_eq!(run.stdout, "", "{arguments:?}");
    }
}

#[test]
fn reports_that_are_none() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("report.json");
    let device = r#""program": "pagelock 0", "version": 1, "device": {"name": "CPU", "kind": {"type": "simt"}}"#;
    let size =
        |m: u64| format!(r#"{{{device}, "kernel": "tiled", "sizes": [{{"m": {m}, "n": 1, "k": 1, "modes": []}}]}}"#);
    let mode = |kernel: &str| {
        let times = ["h2d_ms", "d2h_ms", "total_ms"].map(|name| format!(r#""{name}": {{"median": 1}}"#)).join(", ");
        format!(r#"[{{"mode": "pinned", "host_allocation_ms": 1, {times}, "kernel_ms": {{"median": {kernel}}}}}]"#)
    };
    let figure = |ms: &str, rate: &str| {
        let what = r#""step": "h2d", "memory": "pinned", "size_bytes": 64"#;
        format!(r#"{{{what}, "time_ms": {{"median": {ms}}}, "gb_per_s": {rate}}}"#)
    };
    for (content, part) in [
        ("", "not a report"),
        ("[1, 2]", "not a report"),
        ("{}", "not a report"),
        (&format!("{{{device}}}"), "neither sizes"),
        (&format!("{{{device}, \"kernel\": \"tiled\", \"sizes\": []}}"), "neither sizes"),
        (&size(0), "M is 0"),
        (&size(1).replace("[]", &mode("-5")), "a figure is -5e0"),
        (&size(1).replace("[]", &mode("1e300")), "a figure is 1e300"),
        (&format!("{{{device}, \"measurements\": [{}]}}", figure("0", "1")), "h2d of pinned memory takes 0 ms"),
        (&format!("{{{device}, \"measurements\": [{}]}}", figure("1", "1e308")), "a figure is 1e308"),
        (&size(1).replace("tiled", "quantum"), "kernel quantum is unknown"),
    ] {
        fs::write(&file, content).unwrap();
        cpu(home.path(), ["advise", "--from", file.to_str().unwrap()]).failed(1, &["--from", "report.json", part]);
    }
    // A newer layout may lack everything that this one has.
    for (content, part) in [
        (&*size(1).replace(r#""version": 1"#, r#""version": 2"#), "version 2, this program knows version 1; take"),
        (r#"{"program": "pagelock 9.1", "version": 3, "measurements": "elsewhere"}"#, "layout is version 3"),
        (r#"{"program": "nvbandwidth 0.8", "version": 1}"#, "\"nvbandwidth 0.8\" wrote it"),
        (r#"{"program": "pagelocker 1", "version": 1}"#, "only reports of pagelock"),
    ] {
        fs::write(&file, content).unwrap();
        cpu(home.path(), ["advise", "--from", file.to_str().unwrap()]).failed(1, &["report.json", part]);
    }
    cpu(home.path(), ["advise", "--from", "/nonexistent"]).failed(1, &["--from /nonexistent", "matmul --json"]);
}
