//! Puts of many pieces to private memory of another rank: a thread of that rank writes them.
//!
//! The kernel takes 0.35 us for each piece that it writes to another process. So the origin sends the bytes of
//! many pieces, with their places, in a block of the segment to a thread of the target, by a queue like those of
//! messages, and waits until the thread has given the block back. The thread sleeps between requests, and uses
//! no call of the library that waits for another rank. Where it cannot write, the origin has the kernel write, which
//! has the error.

use super::incoming::{Record, Sources};
use super::outgoing::{Head, OutgoingQueue, RecordKind, damaged};
use super::pool::{BlockPool, LONGEST, give_back, is_given_back};
use crate::context::Context;
use crate::error::Result;
use crate::launch::Sharers;
use crate::prim::{JobFailed, Waiter, sleep_until};
use crate::shm::{Mapping, Piece, PieceRun, Placed, Segment, spawn_deaf, write_here};
use crate::sync::channel::MailWords;
use bytemuck::{Pod, Zeroable};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Fewer pieces are not worth that a thread wakes.
const FEWEST: usize = 64;

/// The beginning of a request. The runs follow, and then the bytes of all pieces.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct ScatterRequest {
    /// How many there are.
    runs: u64,
    /// Set by the thread once all bytes are written.
    is_done: u64,
}

const HEAD: u64 = size_of::<ScatterRequest>() as u64;
const RUN: u64 = size_of::<PieceRun>() as u64;

/// The queues of this process to the threads of other ranks, and the blocks.
#[derive(Default)]
struct ScatterQueues {
    queues: Vec<Option<OutgoingQueue>>,
    pool: BlockPool,
}

/// Starts the thread of this rank, once. Without one, the kernel writes.
pub(crate) fn serve(context: &Context) {
    static SERVES: OnceLock<()> = OnceLock::new();
    if context.segment.layout().ranks == 1 {
        return;
    }
    SERVES.get_or_init(|| {
        let segment = context.segment.clone();
        let (Ok(own), Ok(bell)) = (mail(&segment, context.here), mail(&segment, context.here))
        else {
            return;
        };
        if spawn_deaf("onesided-put", move || serve_all(&segment, &own)).is_ok() {
            context.add_idle_thread();
            // Others send requests from now on.
            bell.bell().add(1);
        }
    });
}

/// The words by which the thread of the rank with that number is notified.
fn mail(segment: &Arc<Segment>, number: u32) -> Result<Placed<MailWords>> {
    let layout = segment.layout();
    let index = u64::from(layout.ranks + number);
    segment.place(layout.mail + index * size_of::<MailWords>() as u64)
}

/// The thread. It ends where a queue or a request is damaged; then the kernel writes.
fn serve_all(segment: &Arc<Segment>, mail: &MailWords) {
    let mut sources = Sources::default();
    while serve_found(segment, mail, &mut sources).is_ok() {}
    mail.withdraw();
    // Those that wait for an answer look again.
    (0..segment.layout().ranks)
        .filter_map(|rank| segment.mail(rank).ok())
        .for_each(MailWords::ring);
}

/// Serves the requests that have come, and sleeps until the next one.
fn serve_found(segment: &Arc<Segment>, mail: &MailWords, sources: &mut Sources) -> Result<()> {
    let seen = mail.look();
    sources.find(segment, mail, &Sharers::all())?;
    for source in &mut sources.all {
        while let Some(record) = source.next(segment)? {
            source.pass(&record);
            write_pieces(segment, &record)?;
            segment.mail(source.number)?.ring();
        }
    }
    sleep_until(mail.bell(), |rung| rung != seen);
    Ok(())
}

/// Writes the pieces of a request to this process's memory, and gives the block back.
fn write_pieces(segment: &Segment, record: &Record) -> Result<()> {
    let Head { place, bytes, .. } = record.head;
    let mapping = segment.mapping();
    mapping.at(place, bytes).ok_or_else(damaged)?;
    let mut request = ScatterRequest::zeroed();
    mapping.read(place, bytemuck::bytes_of_mut(&mut request))?;
    let runs = usize::try_from(request.runs).ok().filter(|runs| *runs as u64 <= bytes / RUN);
    let mut runs = vec![PieceRun::zeroed(); runs.ok_or_else(damaged)?];
    mapping.read(place + HEAD, bytemuck::cast_slice_mut(&mut runs))?;
    let data = HEAD + RUN * request.runs;
    let moved = write_here(&runs, mapping, place + data..place + bytes);
    request.is_done = moved.ok_or_else(damaged)?.into();
    mapping.write(place, bytemuck::bytes_of(&request))?;
    give_back(segment, place)
}

/// Has the thread of `rank`, a rank of the job, write `pieces` to its memory, and waits for it while that rank
/// has not left; returns whether they are written. `gather` copies the own pieces, one behind the other, to that
/// offset of the segment.
pub(crate) fn scatter(
    context: &Context,
    rank: u32,
    pieces: &[Piece],
    waiter: &Waiter<'_>,
    has_left: impl Fn() -> bool,
    gather: impl FnOnce(&Mapping, u64) -> Result<()>,
) -> Result<std::result::Result<bool, JobFailed>> {
    static QUEUES: OnceLock<Mutex<ScatterQueues>> = OnceLock::new();
    let segment = &context.segment;
    let thread = mail(segment, context.number_of(rank)?)?;
    if pieces.len() < FEWEST || thread.bell().load() == 0 || thread.has_withdrawn() {
        return Ok(Ok(false));
    }
    let runs = PieceRun::all(pieces);
    let Some(bytes) = bytes_of(&runs) else { return Ok(Ok(false)) };
    let data = HEAD + RUN * runs.len() as u64;
    let bytes = data + bytes;
    // One request of this process at a time: another thread does not use the block before its answer is read.
    let queues = QUEUES.get_or_init(Mutex::default);
    let mut queues = queues.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(block) = queues.pool.lend(context, bytes, rank)? else { return Ok(Ok(false)) };
    let mapping = segment.mapping();
    let request = ScatterRequest { runs: runs.len() as u64, is_done: 0 };
    mapping.write(block, bytemuck::bytes_of(&request))?;
    mapping.write(block + HEAD, bytemuck::cast_slice(&runs))?;
    gather(mapping, block + data)?;
    let head = Head::control(RecordKind::Staged, 0, block, bytes);
    let is_sent = match queues.queue(context, rank) {
        Some(queue) => queue.put(segment, &head, 0, |_| Ok(()), &context.excluded()).is_ok(),
        None => false,
    };
    if !is_sent {
        return give_back(segment, block).map(|()| Ok(false));
    }
    let own = segment.mail(context.here)?;
    let given_back = waiter.until(own.bell(), |_| {
        own.look();
        is_given_back(segment, block) || thread.has_withdrawn() || has_left()
    });
    if let Err(failed) = given_back {
        return Ok(Err(failed));
    }
    let mut answer = ScatterRequest::zeroed();
    mapping.read(block, bytemuck::bytes_of_mut(&mut answer))?;
    Ok(Ok(answer.is_done == 1))
}

/// The bytes of the pieces of `runs`, if a request has space for them.
fn bytes_of(runs: &[PieceRun]) -> Option<u64> {
    let bytes: u64 = runs.iter().map(|run| run.bytes * run.count).sum();
    (HEAD + size_of_val(runs) as u64 + bytes <= LONGEST).then_some(bytes)
}

impl ScatterQueues {
    /// The queue to the thread of that rank; `None` without memory for it.
    fn queue(&mut self, context: &Context, rank: u32) -> Option<&mut OutgoingQueue> {
        self.queues.resize_with(context.ranks as usize, || None);
        let queue = self.queues.get_mut(rank as usize)?;
        if queue.is_none() {
            let (segment, own) = (&context.segment, context.here);
            let mail = mail(segment, context.number_of(rank).ok()?).ok()?;
            *queue = OutgoingQueue::create(segment, own, mail, &context.excluded()).ok();
        }
        queue.as_mut()
    }
}
