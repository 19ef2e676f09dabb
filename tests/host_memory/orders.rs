//! Buffers may be dropped in any order, before and after their device.

use std::any::Any;

use crate::fake::with_fake;
use crate::{WORDS, open, write_file};

/// All orders of `0..n`.
fn orders(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![vec![]];
    }
    let shorter = orders(n - 1);
    shorter.iter().flat_map(|order| (0..n).map(move |at| [&order[..at], &[n - 1], &order[at..]].concat())).collect()
}

/// Six things in 720 orders, the device among them. The last one ends the context.
#[test]
fn everything_may_be_dropped_in_any_order() {
    with_fake("orders::everything_may_be_dropped_in_any_order", "", |fake| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("words");
        write_file(&path);
        assert_eq!(orders(6).len(), 720);
        for order in orders(6) {
            let device = open(fake, "").unwrap();
            let budget = device.budget().clone();
            // SAFETY: the test's own file, which nobody writes any more.
            let file = unsafe { device.register_file::<u32>(&path, 0) }.unwrap();
            let mut things: Vec<Option<Box<dyn Any>>> = vec![
                Some(Box::new(device.register(vec![1u32; WORDS]).unwrap())),
                Some(Box::new(file)),
                Some(Box::new(device.write_combined::<u32>(WORDS).unwrap())),
                Some(Box::new(device.mailbox(WORDS).unwrap())),
                Some(Box::new(device.alloc::<u32>(WORDS).unwrap())),
                Some(Box::new(device)),
            ];
            for (number, &thing) in order.iter().enumerate() {
                assert_eq!(fake.calls("cuDevicePrimaryCtxRelease_v2"), 0, "{order:?} {number}");
                things[thing] = None;
            }
            assert_eq!((budget.used(), fake.calls("cuDevicePrimaryCtxRelease_v2")), (0, 1), "{order:?}");
            fake.assert_clean();
        }
    });
}
