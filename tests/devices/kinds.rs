//! What every kind of host memory must do on every device, beside being copied whole.

use cpu::device::{Device, DeviceError};
use cpu::matmul::StrategyError;
use cpu::matrix::Matrix;
use cpu::memory::{HostBuffer, PageLocked, RegisterFileError, StagingShape, WritableMemory};
use cpu::verify::{Method, POISON, Source, Verifier};
use gpu::access::{Access, AccessError, Grid};
use gpu::matmul::{MatmulKernel, Shape};

use crate::suite::{Test, numbers};

/// All of them, by name.
pub const TESTS: &[(&str, Test)] = &[
    ("staged_copies_survive_at_every_size", staged_copies_survive_at_every_size),
    ("staged_copies_follow_what_was_enqueued", staged_copies_follow_what_was_enqueued),
    ("write_combined_memory_is_written_and_read_by_kernels", write_combined_memory_is_written_and_read_by_kernels),
    ("registered_memory_is_used_where_it_lies", registered_memory_is_used_where_it_lies),
    ("ranges_of_every_kind_are_copied", ranges_of_every_kind_are_copied),
    ("ranges_are_launched_on", ranges_are_launched_on),
    ("what_the_budget_does_not_register_comes_back", what_the_budget_does_not_register_comes_back),
    ("a_file_is_a_kernels_input", a_file_is_a_kernels_input),
];

/// Below, at and above every boundary of the chunks, for one thread and for several; with and without the driver's share.
fn staged_copies_survive_at_every_size(device: &Device) {
    let small = StagingShape::default().upload_from;
    for (threads, chunks, from) in [(1, 2, 0), (3, 2, 0), (2, 3, 0), (8, 2, small)] {
        let shape = StagingShape { threads, chunks, chunk_bytes: 1 << 20, upload_from: from, download_from: from };
        let staging = device.staging(shape).unwrap();
        for len in [0, 1, 65_535, 65_536, 65_537, (1 << 20) + 3, (5 << 20) + 1] {
            let (sent, mut received) = (numbers(len.max(1))[..len].to_vec(), vec![f32::NAN; len]);
            let mut on_device = device.alloc(len).unwrap();
            let round = device.scope(|stream| {
                let mut on_device = stream.bind(&mut on_device);
                stream.fill(&mut on_device, 0xFF)?;
                stream.upload_staged(&staging, &sent, &mut on_device)?;
                stream.download_staged(&staging, &on_device, &mut received)
            });
            round.unwrap();
            assert!(received == sent, "{len} elements, {threads} threads");
        }
    }
}

/// A fill that is enqueued before must not overtake the copy, and the copy must not overtake a kernel's result.
fn staged_copies_follow_what_was_enqueued(device: &Device) {
    let len = 1 << 20;
    let staging = device.staging(StagingShape::default()).unwrap();
    let (sent, mut received) = (vec![7u32; len], vec![0u32; len]);
    let mut on_device = device.alloc(len).unwrap();
    let round = device.scope(|stream| {
        let mut on_device = stream.bind(&mut on_device);
        for _ in 0..20 {
            stream.fill(&mut on_device, 1)?;
        }
        stream.upload_staged(&staging, &sent, &mut on_device)?;
        stream.download_staged(&staging, &on_device, &mut received)?;
        assert!(received == sent, "the copy came before a fill");
        for byte in 0..20 {
            stream.fill(&mut on_device, byte)?;
        }
        stream.download_staged(&staging, &on_device, &mut received)
    });
    round.unwrap();
    assert!(received.iter().all(|&element| element == u32::from_ne_bytes([19; 4])), "the copy came before a fill");
}

fn write_combined_memory_is_written_and_read_by_kernels(device: &Device) {
    let shape = Shape::new(33, 65, 17).unwrap();
    let (a, b) = (Matrix::random(33, 17, 5), Matrix::random(17, 65, 6));
    let mut wc_a = device.write_combined(shape.a_len()).unwrap();
    let mut wc_b = device.write_combined(shape.b_len()).unwrap();
    let mut c = device.mapped::<f32>(shape.c_len()).unwrap();
    wc_a.fill(f32::NAN);
    wc_a.write(0, a.data()).unwrap();
    wc_b.write(0, &b.data()[..100]).unwrap();
    wc_b.write(100, &b.data()[100..]).unwrap();
    c.as_mut_slice().fill(f32::from_bits(POISON));
    let product: Result<(), StrategyError> = device.scope(|stream| {
        let (a, b, c) = (stream.map(&wc_a)?, stream.map(&wc_b)?, stream.map_mut(&mut c)?);
        MatmulKernel::Tiled.launch(stream, shape, a, b, c)
    });
    product.unwrap();
    let verifier = Verifier::new(shape, a.data(), b.data(), Method::Full, Source::Random, 0);
    verifier.check(c.as_slice()).into_result().unwrap();

    // It is page-locked, so the copy engine reads it too; and it can be read back, slowly.
    let mut on_device = device.alloc(shape.a_len()).unwrap();
    let mut back = device.pinned::<f32>(shape.a_len()).unwrap();
    let round = device.scope(|stream| {
        let mut on_device = stream.bind(&mut on_device);
        stream.upload(&wc_a, &mut on_device)?;
        stream.download(&on_device, &mut back)
    });
    round.unwrap();
    assert_eq!(back.as_slice(), a.data());
    assert_eq!(wc_a.read_back_slowly(), a.data());
    let beyond = wc_a.write(shape.a_len() - 1, &[1.0, 2.0]);
    assert!(matches!(beyond, Err(DeviceError::OutOfRange { elements: 2, .. })), "{beyond:?}");
}

fn registered_memory_is_used_where_it_lies(device: &Device) {
    let shape = Shape::new(67, 71, 33).unwrap();
    let (a, b) = (numbers(shape.a_len()), numbers(shape.b_len()));
    let address = a.as_ptr();
    let (a, b) = (device.register(a).unwrap(), device.register(b).unwrap());
    let mut c = device.register(vec![f32::from_bits(POISON); shape.c_len()]).unwrap();
    assert_eq!(device.budget().used(), 4 * (shape.a_len() + shape.b_len() + shape.c_len()) as u64, "exactly");
    assert_eq!(a.as_slice().as_ptr(), address, "not copied");
    let product: Result<(), StrategyError> = device.scope(|stream| {
        let (a, b, c) = (stream.map(&a)?, stream.map(&b)?, stream.map_mut(&mut c)?);
        MatmulKernel::Tiled.launch(stream, shape, a, b, c)
    });
    product.unwrap();
    let verifier = Verifier::new(shape, a.as_slice(), b.as_slice(), Method::Full, Source::Random, 0);
    verifier.check(c.as_slice()).into_result().unwrap();

    // Given back, the memory is ordinary again and can be registered again.
    let memory = a.into_memory();
    assert_eq!(memory.as_ptr(), address);
    drop(device.register(memory).unwrap());
    assert!(device.register(Vec::<f32>::new()).unwrap().is_empty());
}

/// Nothing is lost, and registering is possible afterwards. (One `Vec` twice is not expressible: the first buffer owns it.
/// `pitfalls registered-twice` asks past the types.)
fn what_the_budget_does_not_register_comes_back(device: &Device) {
    let limit = device.budget().limit() as usize;
    let memory = vec![5u8; limit + 1];
    let address = memory.as_ptr();
    let refused = device.register(memory).map(drop).unwrap_err();
    assert!(matches!(*refused.reason, DeviceError::Budget(_)), "{refused}");
    assert_eq!((refused.memory.as_ptr(), refused.memory.len()), (address, limit + 1), "the memory comes back");
    for _ in 0..50 {
        drop(device.register(vec![1u16; 12_345]).unwrap());
    }
}

fn a_file_is_a_kernels_input(device: &Device) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.bin");
    let shape = Shape::new(61, 33, 47).unwrap();
    let (a, b) = (numbers(shape.a_len()), numbers(shape.b_len()));
    let header = [0xAAu8; 128];
    let bytes: Vec<u8> = header.into_iter().chain(a.iter().flat_map(|x| x.to_ne_bytes())).chain([1, 2]).collect();
    std::fs::write(&path, bytes).unwrap();

    // SAFETY: nobody else knows the file.
    let file = match unsafe { device.register_file::<f32>(&path, 128) } {
        Ok(file) => file,
        Err(RegisterFileError::Device { reason, .. })
            if matches!(*reason, DeviceError::CannotRegisterReadOnly { .. }) =>
        {
            return println!("not tried: {reason}");
        }
        Err(why) => panic!("{why}"),
    };
    assert_eq!(file.as_slice(), a, "the two bytes that make no element are left out");
    let b = device.register(b).unwrap();
    let mut c = device.mapped::<f32>(shape.c_len()).unwrap();
    c.as_mut_slice().fill(f32::from_bits(POISON));
    let product: Result<(), StrategyError> = device.scope(|stream| {
        let (a, b, c) = (stream.map(&file)?, stream.map(&b)?, stream.map_mut(&mut c)?);
        MatmulKernel::Tiled.launch(stream, shape, a, b, c)
    });
    product.unwrap();
    Verifier::new(shape, &a, b.as_slice(), Method::Full, Source::Random, 0).check(c.as_slice()).into_result().unwrap();
    drop(file);

    // SAFETY: as above.
    let (odd, beyond, missing) = unsafe {
        (
            device.register_file::<f32>(&path, 3).map(drop).unwrap_err(),
            device.register_file::<f32>(&path, 1 << 20).map(drop).unwrap_err(),
            device.register_file::<f32>(folder.path().join("no"), 0).map(drop).unwrap_err(),
        )
    };
    assert!(matches!(odd, RegisterFileError::Offset { offset: 3, .. }), "{odd}");
    assert!(matches!(beyond, RegisterFileError::Offset { .. }), "{beyond}");
    assert!(matches!(missing, RegisterFileError::Map { .. }), "{missing}");
}

/// Ranges that are copied: where they begin on either side, and how long they are.
const RANGES: [(usize, usize, usize); 6] =
    [(0, 0, 1000), (1, 3, 7), (999, 0, 1), (13, 500, 487), (3, 998, 2), (1000, 1000, 0)];

fn ranges_of_every_kind_are_copied(device: &Device) {
    let sent: Vec<u32> = (0..1000).collect();
    let (mut pinned, mut mapped) = (device.pinned(1000).unwrap(), device.mapped(1000).unwrap());
    let mut combined = device.write_combined(1000).unwrap();
    pinned.as_mut_slice().copy_from_slice(&sent);
    mapped.as_mut_slice().copy_from_slice(&sent);
    combined.write(0, &sent).unwrap();
    let mut registered = device.register(sent).unwrap();
    there_and_back(device, &mut pinned, |buffer| buffer.as_slice().to_vec());
    there_and_back(device, &mut mapped, |buffer| buffer.as_slice().to_vec());
    there_and_back(device, &mut registered, |buffer| buffer.as_slice().to_vec());
    there_and_back(device, &mut combined, |buffer| buffer.read_back_slowly());
}

/// Copies every range of memory that counts up to the device and back into memory of the same kind that it came from.
fn there_and_back<B>(device: &Device, memory: &mut B, words: impl Fn(&B) -> Vec<u32>)
where
    B: PageLocked<u32> + WritableMemory<u32>,
{
    let mut on_device = device.alloc::<u32>(1000).unwrap();
    for (from, to, len) in RANGES {
        let before = words(memory);
        let outcome = device.scope(|stream| {
            let mut on_device = stream.bind(&mut on_device);
            stream.fill(&mut on_device, 0xEE)?;
            stream.upload_range(memory, from..from + len, &mut on_device, to)
        });
        outcome.unwrap();
        let back = (to + len).min(1000) - len;
        let mut whole = device.pinned::<u32>(1000).unwrap();
        let outcome = device.scope(|stream| {
            let on_device = stream.bind(&mut on_device);
            stream.download(&on_device, &mut whole)?;
            stream.download_range(&on_device, to..to + len, memory, back)
        });
        outcome.unwrap();
        let mut expected = vec![0xEEEE_EEEE; 1000];
        expected[to..to + len].copy_from_slice(&before[from..from + len]);
        assert_eq!(whole.as_slice(), expected, "{len} words from {from} to {to}");
        let mut expected = before.clone();
        expected[back..back + len].copy_from_slice(&before[from..from + len]);
        assert_eq!(words(memory), expected, "{len} words from {from}, back to {back}");
    }
    for (range, at, wrong) in [(0..1001, 0, 0), (999..1000, 1000, 1000), (1..1, 1001, 1001), (1001..1001, 0, 1001)] {
        let up =
            device.scope(|stream| stream.upload_range(memory, range.clone(), &mut stream.bind(&mut on_device), at));
        assert!(matches!(up, Err(DeviceError::OutOfRange { at, len: 1000, .. }) if at == wrong), "{up:?}");
        let down = device.scope(|stream| stream.download_range(&stream.bind(&mut on_device), range, memory, at));
        assert!(matches!(down, Err(DeviceError::OutOfRange { at, len: 1000, .. }) if at == wrong), "{down:?}");
    }
    let overflow =
        device.scope(|stream| stream.upload_range(memory, 1..3, &mut stream.bind(&mut on_device), usize::MAX));
    assert!(matches!(overflow, Err(DeviceError::OutOfRange { at: usize::MAX, elements: 2, .. })), "{overflow:?}");
}

/// A product whose matrices lie at odd places in larger buffers: over the link and on the device.
fn ranges_are_launched_on(device: &Device) {
    let shape = Shape::new(33, 65, 17).unwrap();
    let (a, b) = (Matrix::random(33, 17, 5), Matrix::random(17, 65, 6));
    let (at_b, at_c) = (shape.a_len() + 3, shape.a_len() + shape.b_len() + 8);
    let mut inputs = device.mapped::<f32>(at_c).unwrap();
    inputs.as_mut_slice().fill(f32::NAN);
    inputs.as_mut_slice()[3..at_b].copy_from_slice(a.data());
    inputs.as_mut_slice()[at_b + 2..at_c - 3].copy_from_slice(b.data());
    let mut c = device.mapped::<f32>(shape.c_len() + 6).unwrap();
    c.as_mut_slice().fill(f32::from_bits(POISON));
    let mut on_device = device.alloc::<f32>(shape.c_len() + 6).unwrap();
    let mut copied = device.pinned::<f32>(shape.c_len()).unwrap();
    let mut four = device.alloc::<u32>(8).unwrap();
    let product: Result<(), StrategyError> = device.scope(|stream| {
        let (inputs, mut c) = (stream.map(&inputs)?, stream.map_mut(&mut c)?);
        let mut on_device = stream.bind(&mut on_device);
        let (a, b) = (inputs.range(3..at_b).unwrap(), inputs.range(at_b + 2..at_c - 3).unwrap());
        assert!(inputs.range(0..at_c + 1).is_none() && inputs.range(at_c..at_c).unwrap().len() == 0);
        assert!(c.reborrow().range(0..shape.c_len() + 7).is_none());
        // Kernels that access 16 bytes at a time refuse a range that begins between two such places.
        let mut four = stream.bind(&mut four);
        let odd = Access(stream).write(Grid::of(1), four.slice_mut().range(1..5).unwrap(), 1);
        assert!(matches!(odd, Err(AccessError::Alignment)), "{odd:?}");
        MatmulKernel::Tiled.launch(stream, shape, a, b, on_device.slice_mut().range(1..1 + shape.c_len()).unwrap())?;
        stream.download_range(&on_device, 1..1 + shape.c_len(), &mut copied, 0)?;
        MatmulKernel::Tiled.launch(stream, shape, a, b, c.range(5..5 + shape.c_len()).unwrap())
    });
    product.unwrap();
    let verifier = Verifier::new(shape, a.data(), b.data(), Method::Full, Source::Random, 0);
    verifier.check(copied.as_slice()).into_result().unwrap();
    verifier.check(&c.as_slice()[5..5 + shape.c_len()]).into_result().unwrap();
    let around = c.as_slice()[..5].iter().chain(&c.as_slice()[5 + shape.c_len()..]);
    assert!(around.into_iter().all(|element| element.to_bits() == POISON), "written outside the range");
}
