//! One output of the launcher, written to by many ranks without mixing inside a line.

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// Where bytes come from: a rank's output or error, or the launcher itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Rank { rank: u32, error: bool },
    Launcher,
}

/// A file to which whole lines go.
///
/// Bytes are passed on as they are. Only where one source has left a line unfinished and another
/// goes on, a newline is put between them: so a single writer's output arrives unchanged, and two
/// writers never share a line.
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

    /// Writes lines unless somebody else is writing.
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
                // Whoever gave us the file has made it non-blocking.
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
    /// Who has written the beginning of the line that is not finished.
    unfinished: Option<Source>,
    composed: Vec<u8>,
}

impl Lines {
    fn compose(&mut self, source: Source, bytes: &[u8], tag: bool) {
        self.composed.clear();
        if self.unfinished.is_some_and(|before| before != source) && !bytes.is_empty() {
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
}
