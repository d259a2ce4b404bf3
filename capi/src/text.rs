//! C's strings are bytes, the library's are UTF-8. This module converts them without loss. A byte that is
//! not UTF-8 becomes a private-use character (U+10FF80 to U+10FFFF), and so does each byte of such a
//! character in the program's string.

use std::fmt::Write;

/// The offset that is added to a byte, which is at least 0x80.
const ESCAPED: u32 = 0x10_FF00;

fn escape(byte: u8) -> char {
    char::from_u32(ESCAPED + u32::from(byte)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// The byte of an escaped character; `None` for any other.
fn unescape(character: char) -> Option<u8> {
    let byte = u8::try_from(u32::from(character).checked_sub(ESCAPED)?).ok()?;
    (!byte.is_ascii()).then_some(byte)
}

/// The program's bytes as a string of the library.
pub fn of_bytes(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            let mut space = [0; 4];
            match unescape(character) {
                None => text.push(character),
                Some(_) => text.extend(character.encode_utf8(&mut space).bytes().map(escape)),
            }
        }
        text.extend(chunk.invalid().iter().copied().map(escape));
    }
    text
}

/// The bytes of such a string.
pub fn bytes_of(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut space = [0; 4];
    for character in text.chars() {
        match unescape(character) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(character.encode_utf8(&mut space).as_bytes()),
        }
    }
    bytes
}

/// The text in quotes, with the escapes of C and Rust.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        let written = match unescape(character) {
            Some(byte) => write!(quoted, "\\x{byte:02x}"),
            None => write!(quoted, "{}", character.escape_debug()),
        };
        written.expect("a string takes everything");
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back() {
        let all: Vec<u8> = (1..=255).collect();
        for bytes in [&all[..], "caf\u{e9} \u{10ffe9}".as_bytes(), b"caf\xe9", b"\xc3", b""] {
            assert_eq!(bytes_of(&of_bytes(bytes)), bytes);
        }
        assert_eq!(of_bytes("caf\u{e9}".as_bytes()), "caf\u{e9}");
        assert_ne!(of_bytes(b"\xe9"), of_bytes("\u{10ffe9}".as_bytes()));
    }

    #[test]
    fn what_is_no_text_is_quoted_byte_by_byte() {
        assert_eq!(quoted(&of_bytes(b"caf\xe9 \"\n\xc3\xa9")), "\"caf\\xe9 \\\"\\n\u{e9}\"");
    }
}
