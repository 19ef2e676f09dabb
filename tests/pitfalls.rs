//! `pitfalls` as a user runs it, on the CPU device and on the fake driver: the text says what was measured, and the
//! sentence follows from the numbers. How long things take is nobody's business here.

#[path = "support/fake.rs"]
mod fake;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::process::{Command, Output};

use serde_json::Value;

struct Ran {
    code: i32,
    text: String,
    errors: String,
    document: Value,
    log: String,
}

/// Runs `pitfalls` with this driver library, for the text and the document of one and the same run.
fn pitfalls(library: &OsStr, arguments: &[&str]) -> Ran {
    pitfalls_with(library, "", arguments)
}

/// The same, with the fake configured.
fn pitfalls_with(library: &OsStr, config: &str, arguments: &[&str]) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    let (json, log) = (folder.path().join("found.json"), folder.path().join("calls"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_cpu"));
    command.arg("pitfalls").args(arguments).arg("--json").arg(&json);
    command.env("PAGELOCK_LIBCUDA", library).env("FAKE_CUDA", config).env("FAKE_CUDA_LOG", &log);
    let Output { status, stdout, stderr } = command.output().unwrap();
    Ran {
        code: status.code().unwrap(),
        text: String::from_utf8(stdout).unwrap(),
        errors: String::from_utf8(stderr).unwrap(),
        document: fs::read(&json).map_or(Value::Null, |bytes| serde_json::from_slice(&bytes).unwrap()),
        log: fs::read_to_string(&log).unwrap_or_default(),
    }
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// As people read it, made anew from the value.
fn as_text(value: f64, unit: &str) -> String {
    match unit {
        "ms" if value < 1.0 => format!("{:.1} µs", value * 1e3),
        "ms" => format!("{value:.3} ms"),
        "count" => format!("{value}"),
        "bytes" => bytesize::ByteSize(value as u64).to_string(),
        other => panic!("unit {other}"),
    }
}

const HALF_AGAIN: [&str; 3] =
    ["more than half as long again", "longer, but at most half as long again", "took no longer"];

/// Whether one is more than so many times the other, and the words for that: more, less than that, no more.
fn three(one: f64, other: f64, times: f64, words: [&'static str; 3]) -> (bool, &'static str) {
    let which = if one > times * other { 0 } else { 1 + usize::from(one <= other) };
    (which == 0, words[which])
}

/// Whether the numbers show what the pitfall claims, and the words that then must be in the sentence.
fn meaning(name: &str, n: &HashMap<&str, f64>) -> (bool, &'static str) {
    let pick = |shown: bool, yes, no| (shown, if shown { yes } else { no });
    match name {
        "pageable-async" => {
            let held = n["pageable_call"] >= 0.5 * n["pageable_copy"];
            let free = n["pinned_call"] < 0.5 * n["pinned_copy"];
            let words = match (held, free) {
                (true, true) => "held for most of the pageable copy and was free",
                (true, false) => "held for most of both",
                (false, true) => "free during most of both",
                (false, false) => "free during most of the pageable copy and held",
            };
            (held && free, words)
        }
        "small-copies" => {
            let words = ["more than twice as much", "more, but at most twice as much", "cost no more"];
            three(n["small_copies"], n["large_copy"], 2.0, words)
        }
        "pin-copy-free" => {
            let slower = n["pin"] + n["pinned_copy"] + n["free"] > n["pageable_copy"];
            let pays = n.get("uses_until_it_pays").copied();
            let gain = n["pageable_copy"] - n["pinned_copy"];
            assert_eq!(pays, (gain > 0.0).then(|| ((n["pin"] + n["free"]) / gain).ceil().max(1.0)));
            pick(slower, "take longer than the plain copy", "take no longer than it")
        }
        "over-pinning" => {
            assert!(n["asked"] > n["limit"]);
            pick(n["used_afterwards"] == 0.0, "the driver was not asked", "")
        }
        "write-combined-read" => {
            let words = ["more than twice as long", "longer, but at most twice as long", "no longer"];
            three(n["write_combined_read"], n["ordinary_read"], 2.0, words)
        }
        "registered-twice" => pick(4.0 * n["words_unharmed"] == n["bytes"], "refused as AlreadyRegistered", ""),
        "first-run" => three(n["first_launch"], n["later_launches"], 1.5, HALF_AGAIN),
        "reuse-over-zero-copy" => {
            assert_eq!(n["most_bytes_in_place"], 16.0 * n["bytes"]);
            let first = [1, 2, 4, 8, 16]
                .into_iter()
                .find(|rounds| n[&*format!("copied_{rounds}")] < n[&*format!("in_place_{rounds}")]);
            assert_eq!(n.get("crossover").copied(), first.map(f64::from));
            pick(first.is_some(), "The copy is first faster where", "The copy is faster at none")
        }
        "managed-without-prefetch" => {
            assert!(n["on_device"] >= 0.0);
            three(n["without_prefetch"], n["with_prefetch"], 1.5, HALF_AGAIN)
        }
        "default-off-by-nan" => pick(n["found_by_usual_check"] == 0.0 && n["found_by_verifier"] == 1.0, "made NaN", ""),
        "write-then-poll" => {
            assert_eq!(n["torn_with_release"], 0.0);
            pick(n["torn_with_plain_flag"] > 0.0, "The plain flag overtook its message", "never overtook its message")
        }
        "source-changed" | "destination-read-early" | "pageable-in-async-call" | "double-use" => {
            pick(n["errors"] > 0.0, "The compiler refuses", "")
        }
        other => panic!("{other} has no meaning here; say in this test what its numbers show"),
    }
}

/// Checks one run whole.
fn check(ran: &Ran) -> Vec<String> {
    let Ran { code, text, document, .. } = ran;
    let (text, simt) = (words(text), document["simt"].as_bool().unwrap());
    let mut otherwise = false;
    let mut names = Vec::new();
    for found in document["pitfalls"].as_array().unwrap_or_else(|| panic!("{}\n{text}", ran.errors)) {
        let part = |key: &str| found[key].as_str().unwrap();
        let (name, happened) = (part("name"), part("happened"));
        for key in ["claim", "expected", "happened", "reason", "advice"] {
            assert!(text.contains(&words(part(key))), "{name}: {key} is not in\n{text}");
        }
        let mut numbers = HashMap::new();
        for number in found["numbers"].as_array().unwrap() {
            let (value, unit) = (number["value"].as_f64().unwrap(), number["unit"].as_str().unwrap());
            let shown = as_text(value, unit);
            assert_eq!(number["text"], shown, "{name}");
            assert!(happened.contains(&shown), "{name}: {number} is not in: {happened}");
            numbers.insert(number["name"].as_str().unwrap(), value);
        }
        let (shown, sentence) = meaning(name, &numbers);
        assert!(happened.contains(sentence), "{name}: `{sentence}` is not in: {happened}");
        match found["verdict"]["kind"].as_str().unwrap() {
            "shown" => assert!(shown, "{name}: {happened}"),
            "otherwise" => assert!(!shown && !simt, "{name}: {happened}"),
            // What the system makes of write-combined memory, and luck, can keep a GPU from showing it.
            "not-here" if ["write-combined-read", "write-then-poll"].contains(&name) => {
                assert!(simt || !shown, "{name}: {happened}")
            }
            "not-here" => assert!(simt && !found["verdict"]["why"].as_str().unwrap().is_empty(), "{name}"),
            other => panic!("{other}"),
        }
        otherwise |= found["verdict"]["kind"] == "otherwise";
        names.push(name.to_owned());
    }
    assert_eq!(*code, i32::from(otherwise), "{text}");
    names
}

#[test]
fn on_the_cpu_everything_is_shown_or_says_why_not() {
    let ran = pitfalls(OsStr::new(""), &["--device", "simt"]);
    assert_eq!(check(&ran).len(), 15);
    assert_eq!(ran.code, 0, "{}", ran.text);
    let names = ran.document["pitfalls"].as_array().unwrap().iter().map(|found| found["name"].as_str().unwrap().len());
    let width = names.max().unwrap() + 2;
    for found in ran.document["pitfalls"].as_array().unwrap() {
        let line = format!("\n  {:<width$}{}\n", found["name"].as_str().unwrap(), found["claim"].as_str().unwrap());
        assert!(ran.text.contains(&line), "the list has no line{line}");
    }
}

#[test]
fn on_a_gpu_the_text_follows_from_the_numbers() {
    let ran = pitfalls(fake::library().as_os_str(), &["--device", "cuda:0", "--pinned-limit", "16MiB"]);
    assert_eq!(check(&ran).len(), 15);
    // The fake's kernel lets a flag without release overtake its message each time.
    let found = ran.document["pitfalls"].as_array().unwrap().iter().find(|found| found["name"] == "write-then-poll");
    let numbers = found.unwrap()["numbers"].as_array().unwrap();
    let value = |name: &str| numbers.iter().find(|number| number["name"] == name).unwrap()["value"].as_f64().unwrap();
    assert_eq!((value("torn_with_plain_flag"), value("torn_with_release")), (value("rounds"), 0.0));
    let flags = 1 | 2 | 4; // portable, mapped, write-combined
    assert!(
        ran.log.lines().any(|line| line.starts_with("cuMemHostAlloc") && line.ends_with(&format!("flags={flags}")))
    );
    assert!(!ran.log.is_empty() && !ran.log.contains(&(10u64 << 30).to_string()), "the driver was asked:\n{}", ran.log);
}

#[test]
fn what_cannot_run_says_why_and_the_rest_runs() {
    for (library, device) in [(OsStr::new(""), "simt"), (fake::library().as_os_str(), "cuda:0")] {
        let ran = pitfalls(library, &["--device", device, "--pinned-limit", "0"]);
        assert_eq!(ran.code, 1, "{}{}", ran.text, ran.errors);
        let found = ran.document["pitfalls"].as_array().unwrap();
        assert_eq!(found.len(), 15, "all of them: {}", ran.text);
        let kind = |name: &str| found.iter().find(|one| one["name"] == name).unwrap()["verdict"]["kind"].clone();
        for name in ["pageable-async", "small-copies", "pin-copy-free", "write-combined-read", "registered-twice"] {
            assert_eq!(kind(name), "failed", "{name} pins");
        }
        for name in ["over-pinning", "double-use"] {
            assert_eq!(kind(name), "shown", "{name} pins nothing");
        }
        assert_ne!(kind("first-run"), "failed", "nor does the first run");
        let mut failed = found.iter().filter(|one| one["verdict"]["kind"] == "failed").peekable();
        assert!(failed.peek().is_some());
        for one in failed {
            let (name, why) = (one["name"].as_str().unwrap(), one["verdict"]["why"].as_str().unwrap());
            assert!(why.contains("--pinned-limit"), "{name}: {why}");
            assert!(words(&ran.text).contains(&words(&format!("FAILED: {why}"))), "{name}: {}", ran.text);
            assert!(ran.errors.contains(&format!("error: {name}: {why}")), "{}", ran.errors);
        }
    }
}

/// Where managed memory would not be safe, the reason is shown instead.
#[test]
fn on_a_gpu_that_cannot_share_managed_memory_the_reason_is_shown() {
    let library = fake::library().as_os_str();
    let ran = pitfalls_with(library, "sequential_managed=0", &["--device", "cuda:0", "managed-without-prefetch"]);
    assert_eq!(ran.code, 0, "{}{}", ran.text, ran.errors);
    let found = &ran.document["pitfalls"][0];
    assert_eq!(found["verdict"]["kind"], "not-here");
    assert!(found["message"].as_str().unwrap().contains("CONCURRENT_MANAGED_ACCESS"), "{found}");
    assert!(words(&ran.text).contains("nothing was"), "{}", ran.text);
    assert!(!ran.log.contains("cuMemAllocManaged"), "{}", ran.log);
}

#[test]
fn only_what_is_named_runs() {
    let ran = pitfalls(OsStr::new(""), &["--device", "simt", "double-use", "over-pinning"]);
    assert_eq!(check(&ran), ["double-use", "over-pinning"]);
    let message = include_str!("compile_fail/one_output_cannot_be_bound_twice.stderr");
    for line in message.lines() {
        assert!(ran.text.contains(line.trim_end()), "`{line}` is not in\n{}", ran.text);
    }
    assert!(ran.text.contains("--pinned-limit"), "{}", ran.text);
}

#[test]
fn a_name_that_is_none_is_refused_with_those_that_are() {
    let ran = pitfalls(OsStr::new(""), &["--device", "simt", "typo"]);
    assert_eq!(ran.code, 2);
    assert!(ran.errors.contains("typo") && ran.errors.contains("pageable-async"), "{}", ran.errors);
    assert!(ran.text.is_empty());
}
