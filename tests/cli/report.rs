//! What the program prints for people.

use gpu::matmul::MatmulKernel;

use crate::support::{NO_DRIVER, on_fake, program, simt, without_driver};

fn lines_with<'a>(text: &'a str, start: &str) -> Vec<&'a str> {
    text.lines().filter(|line| line.starts_with(start)).collect()
}

#[test]
fn without_a_driver_one_line_says_so_and_the_cpu_works() {
    let run = without_driver([""; 0]).succeeded();
    let notes = lines_with(&run.stdout, "note ");
    assert_eq!(notes.len(), 1, "{}", run.stdout);
    for part in ["running on the CPU", "no NVIDIA driver", NO_DRIVER, "cannot open", "--device cuda:0"] {
        assert!(notes[0].contains(part), "`{part}` is not in: {}", notes[0]);
    }
    assert_eq!(lines_with(&run.stdout, "device ").len(), 1);
    assert!(run.stdout.contains("simt"), "{}", run.stdout);
    // The default sizes and modes.
    for size in [128, 256, 512] {
        let title = format!("C = A·B, M = {size}, N = {size}, K = {size}, median of 3");
        assert_eq!(run.stdout.matches(&title).count(), 1, "{}", run.stdout);
    }
    assert_eq!(lines_with(&run.stdout, "| mode").len(), 3);
    for mode in ["| pageable ", "| pinned ", "| mapped "] {
        assert_eq!(lines_with(&run.stdout, mode).len(), 3, "{mode}");
    }
}

#[test]
fn without_a_gpu_one_line_says_so_and_the_cpu_works() {
    let run = on_fake("devices=0", ["--size", "16"]).succeeded().left_nothing();
    let notes = lines_with(&run.stdout, "note ");
    assert_eq!(notes.len(), 1, "{}", run.stdout);
    assert!(notes[0].contains("the driver sees no GPU") && notes[0].contains("CUDA_ERROR_NO_DEVICE"), "{}", notes[0]);
}

#[test]
fn asked_for_the_cpu_nothing_needs_saying() {
    let run = simt(["--size", "16"]).succeeded();
    assert!(lines_with(&run.stdout, "note ").is_empty(), "{}", run.stdout);
}

#[test]
fn a_table_has_all_its_columns_and_a_verdict() {
    let run = simt(["--m", "5", "--n", "7", "--k", "3", "--iters", "4", "--warmup", "0", "--seed", "9"]).succeeded();
    let out = &run.stdout;
    assert!(out.contains("C = A·B, M = 5, N = 7, K = 3, median of 4"), "{out}");
    assert!(out.contains("inputs   random in [-1, 1), --seed 9"), "{out}");
    assert!(out.contains("kernels  tiled"), "{out}");
    let header = lines_with(out, "| mode")[0];
    let columns: Vec<&str> = header.trim_matches('|').split('|').map(str::trim).collect();
    let expected =
        ["mode", "alloc", "H2D", "kernel", "D2H", "total", "spread", "GB/s", "GFLOP/s", "/pageable", "max error"];
    assert_eq!(columns, expected);
    for mode in ["| pageable", "| pinned", "| mapped"] {
        let row = lines_with(out, mode);
        assert_eq!((row.len(), row[0].matches('|').count()), (1, 12), "{out}");
    }
    assert!(out.contains("each of 12 runs verified: all 35 elements, largest error"), "{out}");
    assert!(out.contains("\n* "), "an explanation: {out}");
    assert!(out.contains("Times in ms."), "a legend: {out}");
}

#[test]
fn several_sizes_come_in_the_order_asked_for() {
    let run = simt(["--size", "33,1,20", "--iters", "1", "--warmup", "0"]).succeeded();
    let titles: Vec<&str> =
        lines_with(&run.stdout, "C = ").iter().map(|line| line.split(',').nth(1).unwrap()).collect();
    assert_eq!(titles, [" M = 33", " M = 1", " M = 20"]);
    let repeated = simt(["--size", "33", "--size", "1", "--iters", "1", "--warmup", "0"]).succeeded();
    assert_eq!(lines_with(&repeated.stdout, "C = ").len(), 2, "{}", repeated.stdout);
}

#[test]
fn every_kernel_in_every_mode() {
    let fastest = MatmulKernel::ALL[MatmulKernel::ALL.len() - 1].name();
    for kernel in MatmulKernel::ALL.map(MatmulKernel::name).into_iter().chain(["auto"]) {
        for mode in ["pageable", "pinned", "mapped", "zero-copy"] {
            let run =
                simt(["--size", "35", "--kernel", kernel, "--mode", mode, "--iters", "1", "--warmup", "0"]).succeeded();
            let name = if kernel == "auto" { fastest } else { kernel };
            assert!(run.stdout.contains(&format!("kernels  {name}, ")), "{}", run.stdout);
            let name = if mode == "zero-copy" { "mapped" } else { mode };
            let rows = lines_with(&run.stdout, "| ");
            assert_eq!(rows.len(), 2, "the header and one mode: {}", run.stdout);
            assert!(rows[1].starts_with(&format!("| {name} ")), "{}", run.stdout);
        }
    }
}

#[test]
fn modes_come_once_each_in_the_order_asked_for() {
    let run = simt(["--size", "8", "--mode", "mapped,pageable,mapped", "--iters", "1"]).succeeded();
    let rows: Vec<&str> = lines_with(&run.stdout, "| ").iter().map(|row| row.split(' ').nth(1).unwrap()).collect();
    assert_eq!(rows, ["mode", "mapped", "pageable"]);
}

#[test]
fn verification_says_what_it_did() {
    let of = |how| simt(["--size", "40", "--mode", "pinned", "--iters", "2", "--verify", how]).succeeded().stdout;
    assert!(of("full").contains("each of 2 runs verified: all 1600 elements"), "{}", of("full"));
    let sampled = of("sampled");
    assert!(sampled.contains("verified: 40 of 40 rows with") && sampled.contains("recomputed"), "{sampled}");
    let off = of("off");
    assert!(off.contains("not verified (--verify off)") && !off.contains("runs verified"), "{off}");
    let row = lines_with(&off, "| pinned")[0];
    assert!(row.trim_end_matches(['|', ' ']).ends_with('-'), "no error is claimed: {row}");
}

#[test]
fn one_is_not_counted() {
    let run = simt(["--size", "1", "--mode", "pinned", "--iters", "1"]).succeeded();
    let out = &run.stdout;
    assert!(
        out.contains("K = 1, one run\n") && out.contains("the run was verified: the one element, largest"),
        "{out}"
    );
    let row = lines_with(out, "| pinned")[0];
    assert!(!row.contains('±') && !row.contains("0.0e0"), "one run has no spread, and no error is 0: {row}");
    let rate: f64 = row.split('|').nth(9).unwrap().trim().parse().unwrap();
    assert!(rate > 0.0, "three digits of whatever the CPU does: {row}");
}

#[test]
fn a_run_on_the_cpu_says_what_a_gpu_would_get() {
    let run = simt(["--size", "8,9"]).succeeded();
    let line = lines_with(&run.stdout, "ptx ")[0];
    for image in ptx::IMAGES {
        assert!(line.contains(image.architecture) && line.contains(image.compiler), "{line}");
    }
    assert_eq!(run.stdout.matches("only a GPU can tell").count(), 1, "once, not after each table: {}", run.stdout);
    assert!(run.stdout.contains("H2D (A and B, host to device)"), "{}", run.stdout);
}

#[test]
fn a_long_run_on_the_cpu_is_announced() {
    let arguments = ["--size", "3000", "--iters", "1000000", "--verify", "off", "--mode", "mapped"];
    let mut child = std::process::Command::new(crate::support::binary())
        .args(["matmul", "--device", "simt"])
        .args(arguments)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stderr.take().unwrap()), &mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(line.starts_with("note: 1000001 runs of 3000×3000×3000 with kernel tiled take about "), "{line}");
}

#[test]
fn the_version_is_of_pagelock() {
    let output = std::process::Command::new(crate::support::binary()).arg("--version").output().unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("pagelock "));
}

#[test]
fn quiet_prints_nothing() {
    let run = simt(["--size", "16", "--quiet"]).succeeded();
    assert_eq!(run.stdout, "");
    let run = without_driver(["--size", "16", "-q"]).succeeded();
    assert_eq!(run.stdout, "");
}

#[test]
fn help_names_every_option_and_gives_examples() {
    let output = program().arg("--help").output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && output.stderr.is_empty());
    for option in [
        "--size",
        "--m",
        "--n",
        "--k",
        "--mode",
        "--kernel",
        "--device",
        "--iters",
        "--warmup",
        "--seed",
        "--verify",
        "--a",
        "--b",
        "--out",
        "--json",
        "--csv",
        "--pinned-limit",
        "--quiet",
    ] {
        assert!(help.contains(&format!("{option} ")) || help.contains(&format!("{option}\n")), "{option}: {help}");
    }
    for kernel in MatmulKernel::ALL {
        assert!(help.contains(kernel.name()), "{}: {help}", kernel.name());
    }
    assert!(help.contains("Examples:") && help.contains("Exit status:"), "{help}");
    assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
}
