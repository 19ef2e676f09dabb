//! Amounts of memory as people read them, in the units in which they think of them.
//!
//! 8MB are 7.6 MiB; who typed the one should not have to recognise the other.

use bytesize::ByteSize;

/// Bytes in MiB where that is exact, in MB where that is, and otherwise in MiB with their exact number.
pub fn exact(bytes: u64) -> String {
    let text = like(bytes, bytes);
    if is(&text, bytes) { text } else { format!("{text} ({bytes} bytes)") }
}

/// Bytes in the kind of unit that suits `other`, so that the two can be compared.
pub fn like(bytes: u64, other: u64) -> String {
    let (binary, decimal) = (ByteSize(other).display().iec().to_string(), ByteSize(other).display().si().to_string());
    let is_decimal = !is(&binary, other) && (is(&decimal, other) || other.is_multiple_of(1000));
    let display = ByteSize(bytes).display();
    if is_decimal { display.si().to_string() } else { display.iec().to_string() }
}

/// Whether a text loses nothing. What 64 bits cannot count is read as the most that they can.
fn is(text: &str, bytes: u64) -> bool {
    bytes != u64::MAX && text.parse::<ByteSize>() == Ok(ByteSize(bytes))
}

#[cfg(test)]
mod tests {
    use super::{exact, like};

    #[test]
    fn amounts_are_echoed_as_they_were_typed() {
        for (bytes, text) in [
            (0, "0 B"),
            (1000, "1000 B"),
            (64 << 20, "64.0 MiB"),
            (3 << 29, "1.5 GiB"),
            (8_000_000, "8.0 MB"),
            (1_500_000_000, "1.5 GB"),
            (2_000_000_000, "2.0 GB"),
            (1_234_567_000, "1.2 GB (1234567000 bytes)"),
            (12_345, "12.1 KiB (12345 bytes)"),
            (1 << 60, "1.0 EiB"),
        ] {
            assert_eq!(exact(bytes), text);
        }
        assert_eq!(like(1 << 30, 8_000_000), "1.1 GB");
        assert_eq!(like(8_000_000, 1 << 30), "7.6 MiB");
        assert!(exact(u64::MAX).ends_with("(18446744073709551615 bytes)"));
    }
}
