//! Memory that the CPU touches while a kernel does.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use cpu::device::{Device, DeviceError, Selector};
use cpu::memory::{Mailbox, PinnedBudget};
use gpu::access::mailbox::{ANSWER, FLAG, MESSAGE, STOP};
use gpu::access::{Access, AccessError, Flag, pattern};

use crate::suite::Test;

/// All of them, by name.
pub const TESTS: &[(&str, Test)] = &[
    ("what_a_flag_was_released_behind_is_there", what_a_flag_was_released_behind_is_there),
    ("a_kernel_that_nobody_answers_ends", a_kernel_that_nobody_answers_ends),
    ("an_answer_can_end_a_kernel", an_answer_can_end_a_kernel),
    ("a_mailbox_is_its_own_devices_and_long_enough", a_mailbox_is_its_own_devices_and_long_enough),
];

/// Longer than any answer takes, on any machine.
const PATIENCE: Duration = Duration::from_secs(30);

type Launched = Result<(), AccessError<DeviceError>>;

fn send(device: &Device, mailbox: &Mailbox, rounds: u32, patience: Duration) -> Launched {
    device.scope(|stream| Access(stream).mailbox(stream.mailbox(mailbox)?, rounds, Flag::Release, patience))
}

/// Of messages shorter and longer than a block has threads, every word of every round.
fn what_a_flag_was_released_behind_is_there(device: &Device) {
    const ROUNDS: u32 = 200;
    for len in [1, 31, 256, 257, 5000] {
        let mailbox = device.mailbox(MESSAGE + len).unwrap();
        let words = mailbox.words();
        assert!(words.iter().all(|word| word.load(Ordering::Relaxed) == 0));
        thread::scope(|threads| {
            let reader = threads.spawn(|| {
                for round in 1..=ROUNDS {
                    mailbox.wait_for(FLAG, |flag| flag == round, PATIENCE).unwrap();
                    for (index, word) in words[MESSAGE..].iter().enumerate() {
                        assert_eq!(word.load(Ordering::Relaxed), pattern(index, round), "word {index}, round {round}");
                    }
                    words[ANSWER].store(round, Ordering::Release);
                }
            });
            let launched = send(device, &mailbox, ROUNDS, PATIENCE);
            reader.join().unwrap();
            launched.unwrap();
        });
    }
}

fn a_kernel_that_nobody_answers_ends(device: &Device) {
    let mailbox = device.mailbox(MESSAGE + 10).unwrap();
    send(device, &mailbox, 5, Duration::from_millis(20)).unwrap();
    assert_eq!(mailbox.words()[FLAG].load(Ordering::Acquire), 1, "the first round and no other");
    // Whoever polls for a round that does not come is not held for ever either.
    let silent = mailbox.wait_for(FLAG, |flag| flag == 2, Duration::from_millis(1)).unwrap_err();
    assert!(matches!(silent, DeviceError::NoAnswer { word: FLAG, found: 1, .. }), "{silent}");
    assert!(silent.to_string().contains("was still 1"), "{silent}");
}

fn an_answer_can_end_a_kernel(device: &Device) {
    let mailbox = device.mailbox(MESSAGE + 10).unwrap();
    mailbox.words()[ANSWER].store(STOP, Ordering::Release);
    send(device, &mailbox, 5, PATIENCE).unwrap();
    assert_eq!(mailbox.words()[FLAG].load(Ordering::Acquire), 1);
}

fn a_mailbox_is_its_own_devices_and_long_enough(device: &Device) {
    let short = device.mailbox(MESSAGE).unwrap();
    let refused = send(device, &short, 1, PATIENCE);
    assert!(matches!(refused, Err(AccessError::Length { needed, got: MESSAGE, .. }) if needed == MESSAGE + 1));
    let beyond = short.wait_for(MESSAGE, |_| true, PATIENCE).unwrap_err();
    assert!(matches!(beyond, DeviceError::OutOfRange { at: MESSAGE, len: MESSAGE, .. }), "{beyond}");
    let empty = device.mailbox(0).unwrap();
    assert!(empty.is_empty() && empty.words().is_empty());

    let other = Device::open(Selector::Simt, PinnedBudget::limited_to(1 << 20)).unwrap();
    let foreign = other.mailbox(MESSAGE + 1).unwrap();
    let refused = send(device, &foreign, 1, PATIENCE);
    assert!(matches!(refused, Err(AccessError::Device(DeviceError::OtherDevice { .. }))), "{refused:?}");
    let over = Device::open(Selector::Simt, PinnedBudget::limited_to(15)).unwrap().mailbox(4).map(drop);
    assert!(matches!(over, Err(DeviceError::Budget(_))), "{over:?}");
}
