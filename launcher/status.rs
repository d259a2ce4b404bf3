//! The visible part of a redrawn line, such as a progress bar.

/// Goes to the beginning of the line and clears it.
pub const CLEAR: &[u8] = b"\r\x1b[2K";
/// Switches wrapping off: a line that wraps could not be cleared as one.
pub const NO_WRAP: &[u8] = b"\x1b[?7l";
/// Clears the last column, where the end of a long line was written, and switches wrapping on.
pub const WRAP: &[u8] = b"\x1b[K\x1b[?7h";

/// The beginning of the last drawing in an unfinished line; `None` for a line without a carriage
/// return.
pub fn last_drawing(line: &[u8]) -> Option<usize> {
    let is_return = |byte: &u8| *byte == b'\r';
    if !line.iter().any(is_return) {
        return None;
    }
    // Some return before they draw, some after.
    let drawn = line.iter().rposition(|byte| !is_return(byte)).map_or(0, |at| at + 1);
    Some(line[..drawn].iter().rposition(is_return).unwrap_or(0))
}

/// The text of a drawing, without the control characters that clear the line.
pub fn text(drawing: &[u8]) -> &[u8] {
    let mut text = drawing;
    loop {
        let rest = [b"\r".as_slice(), b"\x1b[2K", b"\x1b[K"];
        match rest.iter().find_map(|clear| text.strip_prefix(*clear)) {
            Some(rest) => text = rest,
            None => break,
        }
    }
    while let Some(rest) = text.strip_suffix(b"\r") {
        text = rest;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str) -> Option<&str> {
        let from = last_drawing(line.as_bytes())?;
        Some(std::str::from_utf8(text(&line.as_bytes()[from..])).unwrap())
    }

    #[test]
    fn a_line_without_a_return_is_no_drawing() {
        assert_eq!((shown(""), shown("Name? ")), (None, None));
    }

    #[test]
    fn the_last_drawing_is_seen_wherever_the_return_stands() {
        assert_eq!(shown("\r1 %\r2 %"), Some("2 %"));
        assert_eq!(shown("1 %\r2 %\r"), Some("2 %"));
        assert_eq!(shown("1 %\r"), Some("1 %"));
        assert_eq!(shown("\r\x1b[2K1 %\r\x1b[2K2 %"), Some("2 %"));
        assert_eq!(shown("before\r2 %"), Some("2 %"));
    }

    #[test]
    fn what_has_been_cleared_is_empty() {
        assert_eq!(shown("\r\x1b[2K1 %\r\x1b[2K"), Some(""));
        assert_eq!(shown("\r\x1b[K\r"), Some(""));
        assert_eq!(shown("\r"), Some(""));
    }
}
