//! Passes the ranks' output on: a thread per stream reads all pipes of that stream.
//!
//! It is a thread because a write may block as long as the user's pager does, and the launcher must
//! notice deaths meanwhile. Ranks whose pipe is full wait, as in any pipeline.

use crate::launcher::sink::{Sink, Source};
use crate::launcher::status;
use crate::launcher::watch::{Event, Watch};
use std::io::{self, PipeReader, PipeWriter, Read};
use std::sync::Arc;
use std::time::Duration;

/// The longest line that is buffered until it is complete, in bytes.
pub const LINE_LIMIT: usize = 64 << 10;

/// How long an unfinished prompt is held before it is shown.
const PROMPT_AFTER: Duration = Duration::from_millis(100);

/// Reads after the end of the job: enough to empty a pipe of the largest usual size (1 MiB). A limit,
/// because a process that has escaped may still be writing.
const LAST_READS: usize = 32;

/// One rank's pipe, and its output that has not been passed on.
pub struct Inlet {
    pub source: Source,
    pub pipe: PipeReader,
    /// An unfinished line that is redrawn, such as a progress bar, is shown immediately.
    pub draws: bool,
    buffered: Vec<u8>,
}

impl Inlet {
    /// `pipe` must not block.
    pub fn new(source: Source, pipe: PipeReader, draws: bool) -> Inlet {
        Inlet { source, pipe, draws, buffered: Vec::new() }
    }

    /// The beginning of the drawing that this inlet shows.
    fn drawing(&self) -> Option<usize> {
        status::last_drawing(&self.buffered).filter(|_| self.draws)
    }
}

/// The pipes of one stream.
pub struct Relay {
    /// In the order of the ranks; `None` for one without writers.
    pub inlets: Vec<Option<Inlet>>,
    pub sink: Arc<Sink>,
    /// Its other end is closed when the job is over.
    pub stop: PipeReader,
    /// Closed when this relay ends.
    pub alive: PipeWriter,
    /// The rank that may show prompts.
    pub prompts: Option<u32>,
}

enum More {
    Perhaps,
    NotNow,
    Never,
}

impl Relay {
    /// Runs until all pipes are closed, the job has ended, or the sink fails.
    pub fn run(mut self) -> io::Result<()> {
        let mut buffer = vec![0; LINE_LIMIT];
        let result = self.pass_on(&mut buffer);
        // The supervisor must learn of this relay's end before a rank gets SIGPIPE: so `alive` is
        // dropped before the pipes.
        drop(self.alive);
        drop(self.inlets);
        result
    }

    fn pass_on(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        let watch = Watch::new()?;
        watch.add(&self.stop, Event::Over)?;
        for (at, inlet) in self.inlets.iter().flatten().enumerate() {
            watch.add(&inlet.pipe, Event::Rank(at as u32))?;
        }
        let mut left = self.inlets.len();
        while left > 0 {
            let ready = watch.wait(self.prompt().map(|_| PROMPT_AFTER))?;
            if ready.contains(&Event::Over) {
                return self.empty(buffer);
            }
            if ready.is_empty() {
                self.show_prompt()?;
            }
            for event in ready {
                let Event::Rank(at) = event else { continue };
                let inlet = &mut self.inlets[at as usize];
                let Some(open) = inlet else { continue };
                if let More::Never = take(open, &self.sink, buffer)? {
                    // Closing it does the same.
                    let _ = watch.remove(&open.pipe);
                    *inlet = None;
                    left -= 1;
                }
            }
        }
        Ok(())
    }

    /// The unfinished prompt, if there is one.
    fn prompt(&self) -> Option<&Inlet> {
        let asking = self.inlets.get(self.prompts? as usize)?.as_ref()?;
        let waiting = !asking.buffered.is_empty() && asking.drawing().is_none();
        Some(asking).filter(|_| waiting)
    }

    fn show_prompt(&mut self) -> io::Result<()> {
        if self.prompt().is_none() {
            return Ok(());
        }
        let asking = self.prompts.and_then(|rank| self.inlets.get_mut(rank as usize));
        asking.into_iter().flatten().try_for_each(|asking| flush(asking, &self.sink))
    }

    /// Passes on what remains in the pipes of an ended job.
    fn empty(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        for inlet in self.inlets.iter_mut().flatten() {
            for _ in 0..LAST_READS {
                if !matches!(take(inlet, &self.sink, buffer)?, More::Perhaps) {
                    break;
                }
            }
            finish(inlet, &self.sink)?;
        }
        Ok(())
    }
}

/// Reads once, and passes on complete lines and those too long to buffer.
fn take(inlet: &mut Inlet, sink: &Sink, buffer: &mut [u8]) -> io::Result<More> {
    let read = match inlet.pipe.read(buffer) {
        Ok(0) => {
            finish(inlet, sink)?;
            return Ok(More::Never);
        }
        Ok(read) => &buffer[..read],
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(More::NotNow),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(More::Perhaps),
        Err(error) => return Err(error),
    };
    let whole = read.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    if whole > 0 {
        inlet.buffered.extend_from_slice(&read[..whole]);
        flush(inlet, sink)?;
    }
    inlet.buffered.extend_from_slice(&read[whole..]);
    if let Some(from) = inlet.drawing() {
        inlet.buffered.drain(..from);
        let text = status::text(&inlet.buffered);
        sink.show(inlet.source, text)?;
        if text.is_empty() {
            // It has cleared its line, so no unfinished line is left.
            inlet.buffered.clear();
        }
    }
    if inlet.buffered.len() >= LINE_LIMIT {
        flush(inlet, sink)?;
    }
    Ok(More::Perhaps)
}

/// Passes on the unfinished line of a rank that has stopped writing.
fn finish(inlet: &mut Inlet, sink: &Sink) -> io::Result<()> {
    if inlet.drawing().is_some() {
        inlet.buffered.clear();
        return sink.settle();
    }
    flush(inlet, sink)
}

fn flush(inlet: &mut Inlet, sink: &Sink) -> io::Result<()> {
    if !inlet.buffered.is_empty() {
        sink.write(inlet.source, &inlet.buffered)?;
        inlet.buffered.clear();
    }
    Ok(())
}
