//! `rmarun --trace`: a thread reads the events that the ranks publish, and writes them to a file.
//!
//! It is a thread because a write may take as long as the disk does. Ranks whose events it has not read wait for it when
//! their memory for events is full; so it also reads when it cannot write any more.

mod encoder;
mod mean;
mod packets;
pub mod schema;

use crate::launch::{Job, TraceReader, monotonic};
use crate::launcher::report::file::ReportFile;
use encoder::Encoder;
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long an event may be older than the file, while no rank fills blocks.
const LATEST: Duration = Duration::from_millis(50);

/// How often the counters of the job are written, and how late: a rank may have been stopped between an event and its
/// publication, and a wait is known at once only if it sleeps.
const COUNTERS_EVERY: Duration = Duration::from_millis(250);
const COUNTERS_LATE: Duration = Duration::from_millis(100);

/// How many encoded bytes are written at once.
const WRITTEN_AT_ONCE: usize = 1 << 20;

/// The thread that writes the trace.
pub struct Tracer {
    file: ReportFile,
    /// Dropped when no rank is left.
    stop: Option<Sender<()>>,
    alive: PipeReader,
    thread: JoinHandle<io::Result<()>>,
}

impl Tracer {
    /// Starts the thread.
    pub fn start(file: ReportFile, reader: TraceReader) -> io::Result<Tracer> {
        let ((alive, mark), (stop, stopped), to) = (io::pipe()?, channel(), file.handle()?);
        let thread = std::thread::Builder::new().spawn(move || write(to, reader, stopped, mark))?;
        Ok(Tracer { file, stop: Some(stop), alive, thread })
    }

    /// A descriptor that becomes readable when the thread ends.
    pub fn alive(&self) -> BorrowedFd<'_> {
        self.alive.as_fd()
    }

    /// No rank is left: the thread writes what is left of their events, and ends.
    pub fn stop(&mut self, job: &Job) {
        self.stop = None;
        job.wake_trace_reader();
    }

    /// The thread has ended. Returns what to print if it has failed.
    pub fn ended(self) -> Option<String> {
        let panicked = || Err(io::Error::other("the thread that writes it has panicked"));
        let written = self.thread.join().unwrap_or_else(|_| panicked());
        written.err().map(|error| self.file.refused(error).to_string())
    }
}

/// Writes until no rank is left. `_alive` is closed at the end.
fn write(
    file: File,
    mut reader: TraceReader,
    stop: Receiver<()>,
    _alive: PipeWriter,
) -> io::Result<()> {
    let ranks = reader.view().ranks();
    let mut encoder = Encoder::new(ranks);
    let mut target = Target { file, whole: 0, failure: None };
    // The length of an interval depends on how long the trace is.
    let mut counters_due = Instant::now() + 4 * COUNTERS_EVERY;
    loop {
        let is_over = stop.try_recv() == Err(TryRecvError::Disconnected);
        let seen = reader.look().map_err(io::Error::other)?;
        let counts = (Instant::now() >= counters_due).then(|| asleep(&reader));
        let (mut has_more, mut known) = (false, monotonic());
        for rank in 0..ranks {
            if pass_on(&mut reader, (rank, is_over), &mut encoder)? {
                has_more = true;
                known = known.min(encoder.latest(rank));
            }
            if encoder.bytes.len() >= WRITTEN_AT_ONCE {
                target.write(&mut encoder.bytes);
            }
        }
        if let Some(asleep) = counts {
            encoder.add_counters(known.saturating_sub(COUNTERS_LATE.as_nanos() as u64), &asleep);
            counters_due = Instant::now() + COUNTERS_EVERY;
        }
        if has_more {
            continue;
        }
        if is_over {
            let now = monotonic();
            (0..ranks).for_each(|rank| add_unfinished(&reader, (rank, now), &mut encoder));
            encoder.finish_job();
        }
        target.write(&mut encoder.bytes);
        if is_over {
            return target.failure.map_or(Ok(()), Err);
        }
        reader.sleep(seen, LATEST).map_err(io::Error::other)?;
    }
}

/// The ranks that sleep in a wait, and since when.
fn asleep(reader: &TraceReader) -> Vec<(u32, u64)> {
    let view = reader.view();
    let since = |rank| Some((rank, view.asleep_since(rank).ok()??));
    (0..view.ranks()).filter_map(since).collect()
}

/// Encodes the next events of a rank, which may be gone; returns whether there may be more.
fn pass_on(
    reader: &mut TraceReader,
    (rank, is_gone): (u32, bool),
    encoder: &mut Encoder,
) -> io::Result<bool> {
    let pid = reader.view().standing(rank).map_or(0, |standing| standing.pid);
    let take = |thread, event| encoder.event((rank, pid), thread, event);
    let read = reader.read((rank, is_gone), take);
    read.map_err(io::Error::other)
}

/// Of a rank that has ended in its sleep, the wait has no event.
fn add_unfinished(reader: &TraceReader, (rank, now): (u32, u64), encoder: &mut Encoder) {
    encoder.finish(rank, now);
    if let Ok(Some(awaited)) = reader.view().awaited(rank) {
        encoder.unfinished(rank, (awaited.since, now), &awaited.place);
    }
}

/// The file, which ends with a whole packet.
struct Target {
    file: File,
    /// Bytes written.
    whole: u64,
    failure: Option<io::Error>,
}

impl Target {
    /// Writes the packets and clears them; after a failure no more.
    fn write(&mut self, packets: &mut Vec<u8>) {
        if self.failure.is_none() {
            match self.file.write_all(packets) {
                Ok(()) => self.whole += packets.len() as u64,
                Err(error) => {
                    // Fails for what has no length.
                    let _ = self.file.set_len(self.whole);
                    self.failure = Some(error);
                }
            }
        }
        packets.clear();
    }
}
