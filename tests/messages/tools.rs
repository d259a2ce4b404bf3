//! Sends and receives of slices by the engine, and what messages hold.

use onesided::engine::{Channel, MessageRequest, Origin, OriginMut, SendMode, Status};
use onesided::{Comm, Datatype, Rank, Result};

pub const PROGRAM: Channel = Channel::Program;

/// The bytes of message `k`.
pub fn bytes_of(k: usize, len: usize) -> Vec<u8> {
    (0..len).map(|i| (k.wrapping_mul(31) + i.wrapping_mul(7) + (i >> 8)) as u8).collect()
}

pub fn isend(
    comm: &Comm,
    mode: SendMode,
    from: &[u8],
    to: u32,
    tag: i32,
) -> Result<MessageRequest> {
    // SAFETY: the tests keep every buffer until its request is complete.
    let origin = unsafe { Origin::new(from.as_ptr(), from.len(), Datatype::U8) };
    comm.start_send(PROGRAM, mode, origin, Rank(to), tag)
}

pub fn irecv(
    comm: &Comm,
    into: &mut [u8],
    source: Option<u32>,
    tag: Option<i32>,
) -> Result<MessageRequest> {
    // SAFETY: as above.
    let into = unsafe { OriginMut::new(into.as_mut_ptr(), into.len(), Datatype::U8) };
    comm.start_receive(PROGRAM, into, source.map(Rank), tag)
}

pub fn send(comm: &Comm, from: &[u8], to: u32, tag: i32) {
    isend(comm, SendMode::Standard, from, to, tag).unwrap().wait().unwrap();
}

/// Receives a message of up to `room` bytes.
pub fn recv(comm: &Comm, space: usize, source: Option<u32>, tag: Option<i32>) -> (Vec<u8>, Status) {
    let mut into = vec![0xee; space];
    let status = irecv(comm, &mut into, source, tag).unwrap().wait().unwrap();
    assert!(into[status.bytes as usize..].iter().all(|byte| *byte == 0xee), "beyond the message");
    into.truncate(status.bytes as usize);
    (into, status)
}
