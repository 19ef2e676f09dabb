//! A pitfall of talking to a kernel while it works: a flag that overtakes its message.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use gpu::access::mailbox::{ANSWER, FLAG, MESSAGE, STOP};
use gpu::access::{Access, Flag, pattern};

use super::{Fault, Number, Outcome, Pitfall, Setting, Verdict};
use crate::device::DeviceError;
use crate::memory::Mailbox;

pub(super) const WRITE_THEN_POLL: Pitfall = Pitfall {
    name: "write-then-poll",
    claim: "a flag vouches for the message before it only if it is released and acquired",
    expected: "What a kernel wrote before it raised a flag is there when the CPU sees the flag.",
    reason: "Stores to different places reach host memory in any order, and a barrier orders them for the block alone. \
             Release at system scope holds the flag back until everything written before it can be seen; acquire keeps \
             the CPU from reading the message ahead of the flag.",
    advice: "Raise the flag with store_release_system and poll it with an acquire load. A Mailbox has only such accesses; \
             its wait_for acquires, and gives up after a time. Do not count on adding: over PCI Express a \
             read-modify-write is not atomic against the CPU.",
    run: write_then_poll,
};

/// Words of a message: 4 KiB, many lines for a flag to overtake.
const WORDS: usize = 1024;
/// Messages sent each way of raising the flag.
const ROUNDS: u32 = 2000;
/// Longer than any round takes, also on a busy machine or under a checking tool.
const PATIENCE: Duration = Duration::from_secs(20);

fn write_then_poll(setting: &Setting<'_>) -> Result<Outcome, Fault> {
    let (rounds, bytes) = (Number::count("rounds", ROUNDS.into()), Number::bytes("message", 4 * WORDS as u64));
    if !setting.device.info().can_map_host_memory {
        let happened = format!("{rounds} messages of {bytes} were to be sent; none was.");
        let verdict = Verdict::NotHere("the device cannot map host memory".into());
        return Ok(Outcome { happened, numbers: vec![rounds, bytes], message: None, verdict });
    }
    let mailbox = setting.device.mailbox(MESSAGE + WORDS)?;
    let plain = exchange(setting, &mailbox, Flag::Plain)?;
    let released = exchange(setting, &mailbox, Flag::Release)?;
    if released.torn > 0 {
        let torn = released.torn;
        return Err(Fault::Wrong(format!(
            "{torn} of {rounds} messages were incomplete in spite of release and acquire"
        )));
    }
    let torn_plain = Number::count("torn_with_plain_flag", plain.torn.into());
    let torn_released = Number::count("torn_with_release", released.torn.into());
    let time_plain = Number::time("round_with_plain_flag", plain.time / ROUNDS);
    let time_released = Number::time("round_with_release", released.time / ROUNDS);
    let meaning = match plain.torn {
        0 => "The plain flag never overtook its message this time",
        _ => "The plain flag overtook its message",
    };
    let happened = format!(
        "A kernel sent {rounds} messages of {bytes} to the CPU, which polled. Found incomplete: {torn_plain} with a plain \
         flag, {torn_released} with release and acquire. {meaning}. A round took {time_plain} and {time_released}."
    );
    let verdict = match plain.torn {
        0 => Verdict::NotHere(
            "no message was incomplete, which was luck: nothing promises that a plain store stays behind the stores \
             before it, neither to the compiler nor to the machine"
                .into(),
        ),
        _ => Verdict::Shown,
    };
    let numbers = vec![rounds, bytes, torn_plain, torn_released, time_plain, time_released];
    Ok(Outcome { happened, numbers, message: None, verdict })
}

/// What became of [`ROUNDS`] messages.
struct Exchange {
    torn: u32,
    time: Duration,
}

/// Sends all messages to a thread that polls. Not to this one: on the CPU device a launch returns when it has ended.
fn exchange(setting: &Setting<'_>, mailbox: &Mailbox, flag: Flag) -> Result<Exchange, Fault> {
    // Nothing runs yet, and starting the reader orders what follows behind this.
    mailbox.words().iter().for_each(|word| word.store(0, Ordering::Relaxed));
    let started = Instant::now();
    let (kernel, reader) = thread::scope(|threads| {
        let reader = thread::Builder::new().name("mailbox reader".into()).spawn_scoped(threads, || read(mailbox));
        let reader = reader.map_err(|why| DeviceError::NoStagingThreads { asked: 1, why: why.to_string() })?;
        let kernel = setting.device.scope(|stream| {
            Ok::<_, Fault>(Access(stream).mailbox(stream.mailbox(mailbox)?, ROUNDS, flag, PATIENCE)?)
        });
        // However it ended: nobody raises the flag any more.
        mailbox.words()[FLAG].store(STOP, Ordering::Release);
        let read = reader.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload));
        Ok::<_, Fault>((kernel, read))
    })?;
    let time = started.elapsed();
    kernel?;
    match reader? {
        Read { rounds: ROUNDS, torn } => Ok(Exchange { torn, time }),
        Read { rounds, .. } => Err(Fault::Wrong(format!("the kernel ended after {rounds} of {ROUNDS} rounds"))),
    }
}

/// What the CPU saw.
struct Read {
    rounds: u32,
    torn: u32,
}

/// Polls for each round's flag, reads the message, and answers.
fn read(mailbox: &Mailbox) -> Result<Read, DeviceError> {
    let words = mailbox.words();
    let mut torn = 0;
    for round in 1..=ROUNDS {
        let flag = mailbox.wait_for(FLAG, |flag| flag == round || flag == STOP, PATIENCE);
        match flag {
            Ok(STOP) => return Ok(Read { rounds: round - 1, torn }),
            Ok(_) => {}
            Err(why) => {
                words[ANSWER].store(STOP, Ordering::Release); // the kernel may still wait
                return Err(why);
            }
        }
        let is_complete = |(index, word): (usize, &std::sync::atomic::AtomicU32)| {
            word.load(Ordering::Relaxed) == pattern(index, round)
        };
        torn += u32::from(!words[MESSAGE..].iter().enumerate().all(is_complete));
        words[ANSWER].store(round, Ordering::Release);
    }
    Ok(Read { rounds: ROUNDS, torn })
}
