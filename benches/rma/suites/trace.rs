//! What an event of a trace costs a rank: `--trace` beside a job without it.

use crate::report::Row;
use crate::{Options, measure};
use onesided::{Access, Comm, Rank, Window};
use prost::encoding::{DecodeContext, decode_key, decode_varint, skip_field};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::time::Instant;

/// What a put of 8 bytes takes, by which the driver finds the two below.
pub const PUT: &str = "put of a job for its trace";
/// The difference of a put in a traced job and one in another, whose beginning and end are two events.
pub const EVENT: &str = "event of a trace";
/// From the start of the job until its trace is in the file.
pub const MANY: &str = "job of ten million events, with its trace";
/// The longest of all times that this many puts of a rank have taken one after the other.
pub const STALL: &str = "longest 64 puts of 100 million events";
const BATCH: u32 = 64;

/// Samples of a job.
const SAMPLES: u32 = 50;

/// Half as many puts as there are events.
pub fn run(world: &Comm, options: &Options) {
    let puts = events(options, world.size()) / world.size() / 2 / SAMPLES;
    let mut window = Window::<u64>::allocate(world, 1).expect("a small window");
    let epoch = window.lock_all().expect("lock_all");
    let put = |puts| {
        let began = Instant::now();
        (0..puts).for_each(|_| epoch.put(&[1], Rank(0), 0).expect("put"));
        began.elapsed().as_nanos() as f64
    };
    let samples: Vec<f64> = match world.size() {
        1 => (0..SAMPLES).map(|_| put(puts) / f64::from(puts)).collect(),
        _ => {
            let mut batches = (0..SAMPLES * puts / BATCH).map(|_| put(BATCH));
            vec![batches.by_ref().fold(0.0, f64::max)]
        }
    };
    epoch.unlock_all().expect("unlock_all");
    match world.size() {
        1 => measure::print(PUT, "", 1, 8, &samples),
        // Of both ranks.
        ranks => measure::print(STALL, "", ranks, 8, &samples),
    }
    window.free().expect("no epoch is open");
}

/// How many events a job of that many ranks has; fewer in a quick run.
pub fn events(options: &Options, ranks: u32) -> u32 {
    let events = if options.quick { 1_000_000 } else { 10_000_000 };
    if ranks == 1 { events } else { 10 * events }
}

/// The row of an event, of the puts with a trace and without.
pub fn event(traced: &Row, plain: &Row) -> Row {
    let of = |sample: &f64| (sample - plain.median()) / 2.0;
    Row::new(EVENT, "", 1, 0, traced.samples.iter().map(of).collect())
}

/// Beginnings and ends of slices in a trace.
pub fn slices_in(file: &str) -> io::Result<u64> {
    let mut file = BufReader::with_capacity(1 << 20, File::open(file)?);
    let (mut packet, mut slices) = (Vec::new(), 0);
    while let Some(length) = next_length(&mut file)? {
        packet.resize(length, 0);
        file.read_exact(&mut packet)?;
        slices += u64::from(is_slice(&packet).map_err(io::Error::other)?);
    }
    Ok(slices)
}

/// How long the next packet is, whose field of the trace has the number 1; `None` at the end of the file.
fn next_length(file: &mut impl Read) -> io::Result<Option<usize>> {
    let mut byte = [0];
    if file.read(&mut byte)? == 0 {
        return Ok(None);
    }
    let mut head = Vec::new();
    loop {
        file.read_exact(&mut byte)?;
        head.push(byte[0]);
        if byte[0] < 0x80 {
            return Ok(Some(decode_varint(&mut &head[..]).map_err(io::Error::other)? as usize));
        }
    }
}

/// Whether the packet has a TrackEvent (field 11) whose type (field 9) is the beginning (1) or the end (2) of a slice.
fn is_slice(packet: &[u8]) -> Result<bool, prost::DecodeError> {
    let mut rest = packet;
    while !rest.is_empty() {
        let (field, wire) = decode_key(&mut rest)?;
        match field {
            11 => {
                let length = decode_varint(&mut rest)? as usize;
                rest = &rest[..length.min(rest.len())];
            }
            9 => return Ok(matches!(decode_varint(&mut rest)?, 1 | 2)),
            _ => skip_field(wire, field, &mut rest, DecodeContext::default())?,
        }
    }
    Ok(false)
}
