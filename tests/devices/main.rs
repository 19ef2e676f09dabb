//! One suite, every device: the same tests run on `simt`, on a GPU where there is one, and on a fake driver that has no
//! GPU but is strict about calls, order and addresses.
//!
//! The fake needs a process of its own, because a driver is opened once per process: this binary starts itself again.

mod cycles;
#[path = "../support/fake.rs"]
mod fake;
mod kinds;
mod mailbox;
mod managed;
mod registered;
mod suite;

use std::env;
use std::process::Command;

use cpu::device::{Device, Selector};
use cpu::memory::PinnedBudget;
use libtest_mimic::{Arguments, Failed, Trial};

/// Set in the process that runs on the fake driver.
const ON_FAKE: &str = "PAGELOCK_SUITE_ON_FAKE";

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    if env::var_os(ON_FAKE).is_some() {
        trials.extend(on_device("fake", Selector::Cuda(0)));
    } else {
        trials.extend(on_device("simt", Selector::Simt));
        match Device::open(Selector::Cuda(0), PinnedBudget::limited_to(0)) {
            Ok(_) => trials.extend(on_device("cuda", Selector::Cuda(0))),
            Err(why) => {
                println!("{} tests are skipped for want of a GPU: {why}", tests().count());
                trials
                    .extend(on_device("cuda", Selector::Cuda(0)).into_iter().map(|test| test.with_ignored_flag(true)));
            }
        }
        trials.push(Trial::test("fake::suite", || suite_on_fake("devices=1", "")));
        trials.push(Trial::test("fake::managed_refused", || suite_on_fake("sequential_managed=0", "managed")));
    }
    libtest_mimic::run(&arguments, trials).exit();
}

fn tests() -> impl Iterator<Item = &'static (&'static str, suite::Test)> {
    [suite::TESTS, kinds::TESTS, managed::TESTS, registered::TESTS, mailbox::TESTS, cycles::TESTS].into_iter().flatten()
}

fn on_device(name: &str, selector: Selector) -> Vec<Trial> {
    let trial = |&(test, run): &(&str, suite::Test)| {
        Trial::test(format!("{name}::{test}"), move || {
            let budget = PinnedBudget::limited_to(256 << 20);
            let device = Device::open(selector, budget).map_err(|why| Failed::from(why.to_string()))?;
            run(&device);
            assert_eq!(device.budget().used(), 0, "page-locked bytes are still on the account");
            Ok(())
        })
    };
    tests().map(trial).collect()
}

/// The tests with this word in their names, on a fake that is configured so.
fn suite_on_fake(config: &str, filter: &str) -> Result<(), Failed> {
    let log = tempfile::NamedTempFile::new()?;
    let output = Command::new(env::current_exe()?)
        .arg("--test-threads=1")
        .args((!filter.is_empty()).then_some(filter))
        .env(ON_FAKE, "1")
        .env("PAGELOCK_LIBCUDA", fake::library())
        .env("FAKE_CUDA", config)
        .env("FAKE_CUDA_LOG", log.path())
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let log = std::fs::read_to_string(log.path())?;
    let violations: Vec<&str> = log.lines().filter(|line| line.contains("VIOLATION")).collect();
    if !violations.is_empty() {
        return Err(format!("the fake driver saw:\n{}\n{text}", violations.join("\n")).into());
    }
    if !output.status.success() || !text.contains("test result: ok") {
        return Err(format!("{text}\n{}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(())
}
