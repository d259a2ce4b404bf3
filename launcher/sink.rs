//! One output of the launcher: lines of different ranks are never mixed.

use crate::launcher::status::{CLEAR, NO_WRAP, WRAP};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// The origin of bytes: a rank's output or error, or the launcher itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Rank { rank: u32, error: bool },
    Launcher,
}

/// A file that receives complete lines.
///
/// Bytes are passed on unchanged. Only where one source has left a line unfinished and another one
/// writes, a newline is inserted. So a single writer's output arrives unchanged, and two writers never
/// share a line.
///
/// On a terminal there may be a status below the lines. It is cleared before other output and shown
/// again after it, unless an unfinished line is in its place.
pub struct Sink {
    file: OwnedFd,
    tag: bool,
    lines: Mutex<Lines>,
}

impl Sink {
    pub fn new(file: impl AsFd, tag: bool) -> io::Result<Sink> {
        let file = file.as_fd().try_clone_to_owned()?;
        Ok(Sink { file, tag, lines: Mutex::default() })
    }

    /// Writes lines, or a piece of one.
    pub fn write(&self, source: Source, bytes: &[u8]) -> io::Result<()> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        self.compose_and_write(lines, source, bytes)
    }

    /// Shows a status in place of its source's unfinished line; an empty one clears it.
    pub fn show(&self, source: Source, text: &[u8]) -> io::Result<()> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.show(source, text);
        self.write_all(&lines.composed)
    }

    /// Leaves the status of a source that has stopped drawing as an unfinished line.
    pub fn settle(&self) -> io::Result<()> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.settle();
        self.write_all(&lines.composed)
    }

    /// Writes lines unless another thread is writing.
    pub fn try_write(&self, source: Source, bytes: &[u8]) -> io::Result<()> {
        match self.lines.try_lock() {
            Ok(lines) => self.compose_and_write(lines, source, bytes),
            Err(TryLockError::Poisoned(lines)) => {
                self.compose_and_write(lines.into_inner(), source, bytes)
            }
            Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    fn compose_and_write(
        &self,
        mut lines: MutexGuard<'_, Lines>,
        source: Source,
        bytes: &[u8],
    ) -> io::Result<()> {
        lines.compose(source, bytes, self.tag);
        self.write_all(&lines.composed)
    }

    fn write_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match nix::unistd::write(&self.file, bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(nix::Error::EINTR) => {}
                // The file was opened non-blocking by another process.
                Err(nix::Error::EAGAIN) => {
                    let mut ready = [PollFd::new(self.file.as_fd(), PollFlags::POLLOUT)];
                    poll(&mut ready, PollTimeout::NONE)?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

#[derive(Default)]
struct Lines {
    /// The source of the unfinished line.
    unfinished: Option<Source>,
    status: Option<Status>,
    composed: Vec<u8>,
}

/// A line that its source redraws.
struct Status {
    source: Source,
    text: Vec<u8>,
    /// It stands on the terminal's last line.
    visible: bool,
}

impl Lines {
    fn compose(&mut self, source: Source, bytes: &[u8], tag: bool) {
        self.composed.clear();
        if bytes.is_empty() {
            return;
        }
        self.clear_status();
        // The new output replaces its drawing.
        self.status.take_if(|status| status.source == source);
        if self.unfinished.is_some_and(|before| before != source) {
            self.composed.push(b'\n');
            self.unfinished = None;
        }
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            if let Source::Rank { rank, .. } = source
                && tag
                && self.unfinished.is_none()
            {
                self.composed.extend_from_slice(format!("[{rank}] ").as_bytes());
            }
            self.composed.extend_from_slice(line);
            self.unfinished = (!line.ends_with(b"\n")).then_some(source);
        }
        if self.unfinished.is_none() {
            self.draw_status();
        }
    }

    fn show(&mut self, source: Source, text: &[u8]) {
        self.composed.clear();
        self.clear_status();
        if text.is_empty() {
            self.status = None;
            return;
        }
        match self.unfinished.take() {
            Some(before) if before != source => self.composed.push(b'\n'),
            Some(_) => self.composed.extend_from_slice(CLEAR),
            None => {}
        }
        self.status = Some(Status { source, text: text.to_owned(), visible: false });
        self.draw_status();
    }

    fn settle(&mut self) {
        self.composed.clear();
        if self.status.as_ref().is_some_and(|status| !status.visible) {
            self.composed.push(b'\n');
            self.draw_status();
        }
        if let Some(status) = self.status.take() {
            self.unfinished = Some(status.source);
        }
    }

    fn clear_status(&mut self) {
        if let Some(status) = &mut self.status
            && std::mem::take(&mut status.visible)
        {
            self.composed.extend_from_slice(CLEAR);
        }
    }

    fn draw_status(&mut self) {
        if let Some(status) = &mut self.status {
            for piece in [NO_WRAP, &status.text, WRAP] {
                self.composed.extend_from_slice(piece);
            }
            status.visible = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn composed(tag: bool, pieces: &[(u32, &str)]) -> String {
        let mut lines = Lines::default();
        let mut all = Vec::new();
        for (rank, piece) in pieces {
            let source = Source::Rank { rank: *rank, error: false };
            lines.compose(source, piece.as_bytes(), tag);
            all.extend_from_slice(&lines.composed);
        }
        String::from_utf8(all).unwrap()
    }

    #[test]
    fn a_single_writer_arrives_unchanged() {
        assert_eq!(composed(false, &[(0, "a\nb"), (0, ""), (0, "c\n\nd")]), "a\nbc\n\nd");
    }

    #[test]
    fn two_writers_never_share_a_line() {
        assert_eq!(composed(false, &[(0, "a"), (1, "b\n"), (0, "c"), (1, "d")]), "a\nb\nc\nd");
        assert_eq!(composed(false, &[(0, "a"), (1, ""), (0, "b\n")]), "ab\n");
    }

    #[test]
    fn a_tag_stands_before_every_line_and_nowhere_else() {
        assert_eq!(
            composed(true, &[(0, "a\n\nb"), (0, "c\n"), (12, "d")]),
            "[0] a\n[0] \n[0] bc\n[12] d"
        );
        assert_eq!(composed(true, &[(0, "a"), (1, "b"), (0, "c\n")]), "[0] a\n[1] b\n[0] c\n");
    }

    /// The final contents of a terminal.
    fn seen(steps: &[(u32, &str)]) -> String {
        let mut lines = Lines::default();
        let mut rows = vec![String::new()];
        for (rank, piece) in steps {
            let source = Source::Rank { rank: *rank, error: true };
            match piece.strip_prefix("bar:") {
                Some("end") => lines.settle(),
                Some(text) => lines.show(source, text.as_bytes()),
                None => lines.compose(source, piece.as_bytes(), false),
            }
            let composed = String::from_utf8(lines.composed.clone()).unwrap();
            let composed = composed.replace("\x1b[?7l", "").replace("\x1b[K\x1b[?7h", "");
            for (n, row) in composed.split('\n').enumerate() {
                if n > 0 {
                    rows.push(String::new());
                }
                match row.rsplit_once("\r\x1b[2K") {
                    Some((_, earlier)) => *rows.last_mut().unwrap() = earlier.to_owned(),
                    None => rows.last_mut().unwrap().push_str(row),
                }
            }
        }
        rows.join("\n")
    }

    #[test]
    fn a_status_stays_below_the_lines() {
        assert_eq!(seen(&[(0, "bar:1 %"), (1, "a\n"), (0, "bar:2 %"), (1, "b\n")]), "a\nb\n2 %");
        assert_eq!(seen(&[(0, "bar:1 %"), (1, "a\n"), (0, "bar:"), (1, "b\n")]), "a\nb\n");
    }

    #[test]
    fn a_status_never_shares_a_line() {
        assert_eq!(seen(&[(0, "bar:1 %"), (1, "a"), (1, "b\n")]), "ab\n1 %");
        assert_eq!(seen(&[(1, "a"), (0, "bar:1 %"), (1, "b\n")]), "a\nb\n1 %");
        assert_eq!(seen(&[(0, "bar:1 %"), (1, "a"), (0, "bar:")]), "a");
    }

    #[test]
    fn a_status_that_is_drawn_no_more_is_an_unfinished_line() {
        assert_eq!(seen(&[(0, "bar:1 %"), (0, "bar:end"), (1, "a\n")]), "1 %\na\n");
        assert_eq!(seen(&[(0, "bar:1 %"), (1, "a"), (0, "bar:end"), (1, "b\n")]), "a\n1 %\nb\n");
        assert_eq!(seen(&[(1, "a"), (0, "bar:end"), (1, "b\n")]), "ab\n");
    }

    #[test]
    fn what_the_source_writes_takes_the_place_of_its_status() {
        assert_eq!(seen(&[(0, "bar:1 %"), (0, "\r\x1b[2Kdone\n"), (1, "a\n")]), "done\na\n");
        assert_eq!(seen(&[(0, "Name? "), (0, "bar:1 %")]), "1 %");
    }
}
