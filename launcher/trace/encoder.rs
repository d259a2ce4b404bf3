//! Encodes the events of the ranks in Perfetto's trace format.
//!
//! Each rank is a process with a track for each of its threads, and a sequence of packets. Names are interned: a packet
//! that uses one first defines it for the later ones of its sequence. The time of most packets is the difference from the
//! one before in their sequence, by an incremental clock.

use super::mean::MeanOverTime;
use super::packets::{EncodedPackets, Ends};
use super::schema::{
    BuiltinClock, Clock, ClockSnapshot, CounterDescriptor, CounterUnit, DebugAnnotation, EventType,
    INCREMENTAL_STATE_CLEARED, InternedData, InternedName, InternedString, NEEDS_INCREMENTAL_STATE,
    ProcessDescriptor, ThreadDescriptor, Trace, TracePacket, TracePacketDefaults, TrackDescriptor,
    TrackEvent, TrackEventDefaults,
};
use crate::Call;
use crate::launch::TraceEvent;
use prost::Message;
use rustix::time::{ClockId, clock_gettime};

/// The names of arguments, whose numbers begin with 1.
const ARGUMENTS: [&str; 4] = ["window", "target", "bytes", "line"];
const WINDOW: u64 = 1;
const TARGET: u64 = 2;
const BYTES: u64 = 3;
const LINE: u64 = 4;

/// The number of the name of a wait, behind those of all calls.
const WAIT: usize = 256;

/// Encodes packets one behind the other.
pub struct Encoder {
    /// The time of the latest snapshot of the clocks.
    snapshot: u64,
    ranks: Vec<RankTrack>,
    /// How many calls wait.
    waiting: MeanOverTime,
    /// Bytes of the operations and sends in calls.
    in_flight: MeanOverTime,
    /// Whether the tracks of the two are described.
    has_counters: bool,
    /// The encoded packets.
    pub bytes: Vec<u8>,
    /// A packet with one end of a slice, whose memory is used for the next.
    slice: Trace,
}

/// What is known of a rank.
struct RankTrack {
    has_begun: bool,
    /// Definitions for the next packet.
    definitions: Option<InternedData>,
    /// Whether the name of an event is defined, by its number. Those of regions have the numbers of their texts, behind
    /// the others.
    named: Vec<bool>,
    /// The texts, from number 1 on.
    texts: Vec<Vec<u8>>,
    /// The beginning of a text that is not whole.
    text: Vec<u8>,
    /// The thread that is in a call; of several, the one whose call began last.
    in_call: Option<u32>,
    /// The calls that may send, each until it ends: an arrow begins where its call does, and only then is it known
    /// how many there are.
    sending: Vec<Sending>,
    /// The calls that move data, each until it ends: its thread, its beginning, and the bytes.
    moving: Vec<(u32, u64, u64)>,
    /// Whether the track of the windows' memory is described.
    has_memory: bool,
    /// The arrows that end in calls that have not ended, with their threads.
    received: Vec<(u32, u64)>,
    /// When its latest event was, and when its latest wait ended.
    latest: u64,
    waited: u64,
    /// The time of the latest packet by the clock of its sequence.
    clock: u64,
    /// Ends of slices, and whole slices, that have been encoded.
    encoded: EncodedPackets,
}

/// The beginning of a call that may send.
struct Sending {
    thread: u32,
    time: u64,
    begins: Beginning,
    arrows: Vec<u64>,
    /// When each wait in the call began and ended, and the text of its line.
    waits: Vec<(u64, u64, u32)>,
}

/// The beginning of a slice: the number of its name, and its arguments. A text of number zero is none.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Beginning {
    pub name: u64,
    pub window: u64,
    pub target: Option<u32>,
    pub bytes: Option<u64>,
    pub line: u64,
}

impl Beginning {
    fn arguments(self) -> impl Iterator<Item = DebugAnnotation> {
        let text = |name, text| (text != 0).then_some((name, None, Some(text)));
        let number = |name, value: Option<u64>| Some((name, Some(value?), None));
        let all = [
            text(WINDOW, self.window),
            number(TARGET, self.target.map(u64::from)),
            number(BYTES, self.bytes),
            text(LINE, self.line),
        ];
        all.into_iter().flatten().map(|(name, uint_value, string_value_iid)| DebugAnnotation {
            name_iid: Some(name),
            uint_value,
            string_value_iid,
        })
    }
}

/// The first thread of a rank, whose events need not name their track.
const FIRST: u32 = 1;

/// In place of a thread: the track of the memory of a rank's windows.
const MEMORY: u32 = u32::MAX;

/// The clock of a rank's sequence: nanoseconds since the packet before. The first of the numbers for such clocks.
const SINCE_BEFORE: u32 = 64;

/// The tracks of the whole job: below those of all ranks.
const WAITING: u64 = 1;
const IN_FLIGHT: u64 = 2;

/// The track of a thread; that of the rank for thread 0.
fn uuid(rank: u32, thread: u32) -> u64 {
    u64::from(rank + 1) << 32 | u64::from(thread)
}

fn interned(iid: u64, name: &str) -> InternedName {
    InternedName { iid: Some(iid), name: Some(name.to_owned()) }
}

impl RankTrack {
    fn new() -> RankTrack {
        RankTrack {
            has_begun: false,
            definitions: None,
            named: Vec::new(),
            texts: Vec::new(),
            text: Vec::new(),
            in_call: None,
            sending: Vec::new(),
            moving: Vec::new(),
            has_memory: false,
            received: Vec::new(),
            latest: 0,
            waited: 0,
            clock: 0,
            encoded: EncodedPackets::default(),
        }
    }

    fn definitions(&mut self) -> &mut InternedData {
        self.definitions.get_or_insert_default()
    }

    /// The number of the name of an event, which the next packet defines if none has.
    fn name(&mut self, number: usize, name: &str) -> u64 {
        if self.named.get(number) == Some(&true) {
            return number as u64;
        }
        self.named.resize(self.named.len().max(number + 1), false);
        self.named[number] = true;
        self.definitions().event_names.push(interned(number as u64, name));
        number as u64
    }

    /// The number of the name of a region, which is the text of that number.
    fn region(&mut self, text: u32) -> u64 {
        let name = self.texts.get((text as usize).wrapping_sub(1)).cloned().unwrap_or_default();
        self.name(WAIT + text as usize, &String::from_utf8_lossy(&name))
    }

    /// A part of a text.
    fn add_text(&mut self, text: u32, bytes: &[u8]) {
        let end = bytes.iter().position(|byte| *byte == 0);
        self.text.extend_from_slice(&bytes[..end.unwrap_or(bytes.len())]);
        if end.is_some() {
            let whole = std::mem::take(&mut self.text);
            self.texts.push(whole.clone());
            self.define_text(text.into(), whole);
        }
    }

    /// The beginning of a call.
    fn beginning(
        &mut self,
        call: Call,
        window: u32,
        operation: Option<(Option<u32>, u64)>,
    ) -> Beginning {
        let name = self.name(call as usize, call.name());
        let target = operation.and_then(|(target, _)| target);
        let bytes = operation.map(|(_, bytes)| bytes);
        Beginning { name, window: window.into(), target, bytes, line: 0 }
    }

    /// The time of its next packet, and the clock that it is by; `None` for that of its sequence, which never goes back.
    fn time(&mut self, time: u64) -> (Option<u64>, Option<u32>) {
        match time.checked_sub(self.clock) {
            None => (Some(time), Some(BuiltinClock::Monotonic as u32)),
            since => {
                self.clock = time;
                (since, None)
            }
        }
    }

    fn define_text(&mut self, iid: u64, text: Vec<u8>) {
        let defined = InternedString { iid: Some(iid), str: Some(text) };
        self.definitions().debug_annotation_string_values.push(defined);
    }
}

impl Encoder {
    /// Of a job of that many ranks. The first packet relates the clock of the events to the others.
    pub fn new(ranks: u32) -> Encoder {
        let slice = Trace { packet: vec![TracePacket::default()] };
        let [waiting, in_flight] = [(); 2].map(|()| MeanOverTime::new());
        let clock = |id, builtin: BuiltinClock| {
            let now = clock_gettime(id);
            clock_at(builtin as u32, now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64)
        };
        let clocks = vec![
            clock(ClockId::Monotonic, BuiltinClock::Monotonic),
            clock(ClockId::Boottime, BuiltinClock::Boottime),
            clock(ClockId::Realtime, BuiltinClock::Realtime),
        ];
        let snapshot = clocks[0].timestamp.unwrap_or_default();
        let ranks = (0..ranks).map(|_| RankTrack::new()).collect();
        let (has_counters, bytes) = (false, Vec::new());
        let mut encoder =
            Encoder { snapshot, ranks, waiting, in_flight, has_counters, bytes, slice };
        let primary_trace_clock = Some(BuiltinClock::Monotonic as i32);
        let clock_snapshot = Some(ClockSnapshot { clocks, primary_trace_clock });
        encode(TracePacket { clock_snapshot, ..TracePacket::default() }, &mut encoder.bytes);
        encoder
    }

    /// Adds a packet of a rank that is no slice.
    fn add_track(&mut self, rank: u32, packet: TracePacket) {
        let packet = TracePacket {
            trusted_packet_sequence_id: Some(rank + 1),
            sequence_flags: packet.sequence_flags.or(Some(NEEDS_INCREMENTAL_STATE)),
            interned_data: self.ranks[rank as usize].definitions.take(),
            ..packet
        };
        encode(packet, &mut self.bytes);
    }

    /// A thread of the rank, whose process is `pid`, has published its first event. It is `id` in the kernel.
    fn begin_thread(&mut self, rank: u32, thread: u32, pid: u32, id: u32) {
        let pid = Some(pid.cast_signed());
        let known = &mut self.ranks[rank as usize];
        if !std::mem::replace(&mut known.has_begun, true) {
            known.definitions().debug_annotation_names =
                ARGUMENTS.iter().zip(1..).map(|(name, iid)| interned(iid, name)).collect();
            let process_name = Some(format!("rank {rank}"));
            let process = TrackDescriptor {
                uuid: Some(uuid(rank, 0)),
                process: Some(ProcessDescriptor { pid, process_name }),
                ..TrackDescriptor::default()
            };
            self.add_track(rank, first_packet(uuid(rank, FIRST), SINCE_BEFORE, process));
            // Readers want the snapshots in order; some refuse two of one time. Events come later.
            self.snapshot += 1;
            self.ranks[rank as usize].clock = self.snapshot;
            let since = clock_at(SINCE_BEFORE, self.snapshot);
            let since = Clock { is_incremental: Some(true), ..since };
            let clocks = vec![clock_at(BuiltinClock::Monotonic as u32, self.snapshot), since];
            let clock_snapshot = Some(ClockSnapshot { clocks, primary_trace_clock: None });
            self.add_track(rank, TracePacket { clock_snapshot, ..TracePacket::default() });
        }
        let thread_name = Some(format!("thread {thread}"));
        let track = TrackDescriptor {
            uuid: Some(uuid(rank, thread)),
            parent_uuid: Some(uuid(rank, 0)),
            thread: Some(ThreadDescriptor { pid, tid: Some(id.cast_signed()), thread_name }),
            ..TrackDescriptor::default()
        };
        let track_descriptor = Some(track);
        self.add_track(rank, TracePacket { track_descriptor, ..TracePacket::default() });
    }

    /// Adds an event of a thread of that rank, whose process is `pid`.
    pub fn event(&mut self, (rank, pid): (u32, u32), thread: u32, event: TraceEvent) {
        let (known, on) = (&mut self.ranks[rank as usize], (rank, thread));
        known.latest = event.time().map_or(known.latest, |time| time.max(known.latest));
        if let TraceEvent::Wait { begun, ended, .. } = event {
            known.waited = ended;
            self.waiting.add(begun..ended, 1.0);
        }
        if let Some(at) = known.sending.iter().position(|sending| sending.thread == thread) {
            let sending = &mut known.sending[at];
            match event {
                TraceEvent::Sent { arrow } => return sending.arrows.push(arrow),
                TraceEvent::Wait { begun, ended, line } => {
                    return sending.waits.push((begun, ended, line));
                }
                TraceEvent::Text { .. } | TraceEvent::Received { .. } => {}
                _ => {
                    let sending = known.sending.swap_remove(at);
                    self.begin_sending(rank, sending);
                }
            }
        }
        let known = &mut self.ranks[rank as usize];
        match event {
            TraceEvent::Thread { id } => self.begin_thread(rank, thread, pid, id),
            TraceEvent::Text { text, bytes } => known.add_text(text, &bytes),
            TraceEvent::Begin { time, call, window, operation } => {
                self.begin_call(on, (time, call), window, operation);
            }
            // A region began in its call.
            TraceEvent::Sent { .. } => {}
            TraceEvent::Received { arrow } => known.received.push((thread, arrow)),
            TraceEvent::Memory { time, bytes } => self.add_memory(rank, time, bytes),
            TraceEvent::End { time } => self.end_call(on, time),
            TraceEvent::Call { begun, ended, call, window, operation } => {
                self.add_call(on, (begun, ended, call), window, operation);
            }
            TraceEvent::BeginRegion { time, name } => {
                let begins = Beginning { name: known.region(name), ..Beginning::default() };
                self.add_slice(on, time, Some(begins), &[]);
            }
            TraceEvent::EndRegion { time } => self.add_slice(on, time, None, &[]),
            TraceEvent::Wait { begun, ended, line } => self.add_wait(on, (begun, ended, line)),
        }
    }

    fn begin_call(
        &mut self,
        (rank, thread): (u32, u32),
        (time, call): (u64, Call),
        window: u32,
        operation: Option<(Option<u32>, u64)>,
    ) {
        let known = &mut self.ranks[rank as usize];
        known.in_call = Some(thread);
        let begins = known.beginning(call, window, operation);
        let bytes = begins.bytes.filter(|bytes| *bytes > 0);
        known.moving.extend(bytes.map(|bytes| (thread, time, bytes)));
        if TraceEvent::sends(call) {
            let (arrows, waits) = (Vec::new(), Vec::new());
            known.sending.push(Sending { thread, time, begins, arrows, waits });
        } else {
            self.add_slice((rank, thread), time, Some(begins), &[]);
        }
    }

    /// Adds a call in which there was no other event of its rank.
    fn add_call(
        &mut self,
        (rank, thread): (u32, u32),
        (begun, ended, call): (u64, u64, Call),
        window: u32,
        operation: Option<(Option<u32>, u64)>,
    ) {
        let known = &mut self.ranks[rank as usize];
        let begins = known.beginning(call, window, operation);
        if let Some(bytes) = begins.bytes.filter(|bytes| *bytes > 0) {
            self.in_flight.add(begun..ended, bytes as f64);
        }
        let times = begun.checked_sub(known.clock).zip(ended.checked_sub(begun));
        let times = times.filter(|_| known.definitions.is_none()).map(<[u64; 2]>::from);
        let ends = times.map(|times| Ends::new(thread, Some(begins), times));
        if let Some((ends, times)) = ends.as_ref().zip(times)
            && known.encoded.append(ends, times, &mut self.bytes)
        {
            known.clock = ended;
            return;
        }
        let start = self.bytes.len();
        self.add_slice((rank, thread), begun, Some(begins), &[]);
        let second = self.bytes.len() - start;
        self.add_slice((rank, thread), ended, None, &[]);
        let known = &mut self.ranks[rank as usize];
        ends.into_iter()
            .for_each(|ends| known.encoded.remember(ends, &self.bytes[start..], second));
    }

    fn end_call(&mut self, (rank, thread): (u32, u32), time: u64) {
        let known = &mut self.ranks[rank as usize];
        known.in_call.take_if(|latest| *latest == thread);
        if let Some(at) = known.moving.iter().position(|(of, ..)| *of == thread) {
            let (_, begun, bytes) = known.moving.swap_remove(at);
            self.in_flight.add(begun..time, bytes as f64);
        }
        let mut arrows = Vec::new();
        if !known.received.is_empty() {
            let received = known.received.extract_if(.., |(of, _)| *of == thread);
            arrows.extend(received.map(|(_, arrow)| arrow));
        }
        self.add_slice((rank, thread), time, None, &arrows);
    }

    fn begin_sending(&mut self, rank: u32, sending: Sending) {
        let Sending { thread, time, begins, arrows, waits } = sending;
        self.add_slice((rank, thread), time, Some(begins), &arrows);
        waits.into_iter().for_each(|wait| self.add_wait((rank, thread), wait));
    }

    fn add_wait(&mut self, on: (u32, u32), (begun, ended, line): (u64, u64, u32)) {
        self.begin_wait(on, begun, line.into());
        self.add_slice(on, ended, None, &[]);
    }

    /// Adds the beginnings of calls of a rank that has ended in them, at that time or before.
    pub fn finish(&mut self, rank: u32, time: u64) {
        for (_, begun, bytes) in std::mem::take(&mut self.ranks[rank as usize].moving) {
            self.in_flight.add(begun..time, bytes as f64);
        }
        for sending in std::mem::take(&mut self.ranks[rank as usize].sending) {
            self.begin_sending(rank, sending);
        }
    }

    /// Adds the wait in which a rank slept last, which had not ended at that time: since when, and in which line of the
    /// program.
    pub fn unfinished(&mut self, rank: u32, (since, time): (u64, u64), line: &str) {
        let known = &mut self.ranks[rank as usize];
        let Some(thread) = known.in_call else { return };
        // Behind the numbers of the rank's own texts.
        let iid = u64::MAX;
        known.define_text(iid, line.into());
        self.waiting.add(since..time, 1.0);
        self.begin_wait((rank, thread), since, if line.is_empty() { 0 } else { iid });
    }

    /// The windows of a rank have that much memory from now on.
    fn add_memory(&mut self, rank: u32, time: u64, bytes: u64) {
        let of_rank = uuid(rank, MEMORY);
        if !std::mem::replace(&mut self.ranks[rank as usize].has_memory, true) {
            let track = TrackDescriptor {
                parent_uuid: Some(uuid(rank, 0)),
                ..counter(of_rank, "memory of windows", CounterUnit::SizeBytes)
            };
            let track_descriptor = Some(track);
            self.add_track(rank, TracePacket { track_descriptor, ..TracePacket::default() });
        }
        let track_event = Some(value(of_rank, bytes as f64));
        let (timestamp, timestamp_clock_id) = self.ranks[rank as usize].time(time);
        let packet =
            TracePacket { timestamp, timestamp_clock_id, track_event, ..Default::default() };
        self.add_track(rank, packet);
    }

    /// When the latest event of a rank was.
    pub fn latest(&self, rank: u32) -> u64 {
        self.ranks[rank as usize].latest
    }

    /// All events until that time have been added: adds the counters of the job until then. Of the waits that had not
    /// ended then, `asleep` has the rank and since when.
    pub fn add_counters(&mut self, until: u64, asleep: &[(u32, u64)]) {
        for (rank, since) in asleep {
            // Its event may have come meanwhile.
            if self.ranks[*rank as usize].waited < *since {
                self.waiting.add(*since..until, 1.0);
            }
        }
        for (_, begun, bytes) in self.ranks.iter().flat_map(|rank| &rank.moving) {
            self.in_flight.add(*begun..until, *bytes as f64);
        }
        let waiting = self.waiting.known_until(until);
        let in_flight = self.in_flight.known_until(until);
        self.add_values([waiting, in_flight]);
    }

    /// Adds the counters of the job to the end.
    pub fn finish_job(&mut self) {
        let all = [self.waiting.finish(), self.in_flight.finish()];
        self.add_values(all);
    }

    /// Adds values of the counters of the job, with their times.
    fn add_values(&mut self, [waiting, in_flight]: [Vec<(u64, f64)>; 2]) {
        let sequence = self.ranks.len() as u32 + 1;
        let mut packets = Vec::new();
        if !std::mem::replace(&mut self.has_counters, true) {
            let waiting = counter(WAITING, "waiting ranks", CounterUnit::Count);
            let in_flight = counter(IN_FLIGHT, "bytes in flight", CounterUnit::SizeBytes);
            packets.push(first_packet(WAITING, BuiltinClock::Monotonic as u32, waiting));
            let track_descriptor = Some(in_flight);
            packets.push(TracePacket { track_descriptor, ..TracePacket::default() });
        }
        for (track, values) in [(WAITING, waiting), (IN_FLIGHT, in_flight)] {
            packets.extend(values.into_iter().map(|(time, mean)| TracePacket {
                timestamp: Some(time),
                track_event: Some(value(track, mean)),
                ..TracePacket::default()
            }));
        }
        for packet in packets {
            let sequence_flags = packet.sequence_flags.or(Some(NEEDS_INCREMENTAL_STATE));
            let trusted_packet_sequence_id = Some(sequence);
            let packet = TracePacket { sequence_flags, trusted_packet_sequence_id, ..packet };
            encode(packet, &mut self.bytes);
        }
    }

    fn begin_wait(&mut self, on: (u32, u32), time: u64, line: u64) {
        let name = self.ranks[on.0 as usize].name(WAIT, "waiting");
        self.add_slice(on, time, Some(Beginning { name, line, ..Beginning::default() }), &[]);
    }

    /// Begins a slice of a thread of a rank, or ends one. Arrows begin at its beginning, or end at its end.
    fn add_slice(
        &mut self,
        (rank, thread): (u32, u32),
        time: u64,
        begins: Option<Beginning>,
        arrows: &[u64],
    ) {
        let known = &mut self.ranks[rank as usize];
        let is_plain = known.definitions.is_none() && arrows.is_empty();
        let since = time.checked_sub(known.clock).filter(|_| is_plain);
        let ends = since.map(|since| Ends::new(thread, begins, [since]));
        if let Some((ends, since)) = ends.as_ref().zip(since)
            && known.encoded.append(ends, [since], &mut self.bytes)
        {
            known.clock = time;
            return;
        }
        let packet = &mut self.slice.packet[0];
        (packet.timestamp, packet.timestamp_clock_id) = known.time(time);
        packet.trusted_packet_sequence_id = Some(rank + 1);
        packet.sequence_flags = Some(NEEDS_INCREMENTAL_STATE);
        packet.interned_data = known.definitions.take();
        let event = packet.track_event.get_or_insert_default();
        event.track_uuid = (thread != FIRST).then(|| uuid(rank, thread));
        let kind = if begins.is_some() { EventType::SliceBegin } else { EventType::SliceEnd };
        event.kind = Some(kind as i32);
        event.name_iid = begins.map(|begins| begins.name);
        event.debug_annotations.clear();
        event.flow_ids.clear();
        event.terminating_flow_ids.clear();
        let flows = match begins {
            Some(_) => &mut event.flow_ids,
            None => &mut event.terminating_flow_ids,
        };
        flows.extend_from_slice(arrows);
        event.debug_annotations.extend(begins.into_iter().flat_map(Beginning::arguments));
        let start = self.bytes.len();
        self.slice.encode(&mut self.bytes).expect("a vector grows");
        ends.into_iter().for_each(|ends| known.encoded.remember(ends, &self.bytes[start..], 0));
    }
}

fn encode(packet: TracePacket, bytes: &mut Vec<u8>) {
    Trace { packet: vec![packet] }.encode(bytes).expect("a vector grows");
}

/// The clock of that number shows that time.
fn clock_at(clock_id: u32, timestamp: u64) -> Clock {
    Clock { clock_id: Some(clock_id), timestamp: Some(timestamp), ..Clock::default() }
}

/// The first packet of a sequence, whose events are on that track, and their times by that clock, where they name none. It
/// describes a track.
fn first_packet(track_uuid: u64, clock: u32, described: TrackDescriptor) -> TracePacket {
    let track_event_defaults = Some(TrackEventDefaults { track_uuid: Some(track_uuid) });
    let timestamp_clock_id = Some(clock);
    TracePacket {
        sequence_flags: Some(INCREMENTAL_STATE_CLEARED),
        first_packet_on_sequence: Some(true),
        trace_packet_defaults: Some(TracePacketDefaults {
            track_event_defaults,
            timestamp_clock_id,
        }),
        track_descriptor: Some(described),
        ..TracePacket::default()
    }
}

/// The track of a counter.
fn counter(uuid: u64, name: &str, unit: CounterUnit) -> TrackDescriptor {
    TrackDescriptor {
        uuid: Some(uuid),
        name: Some(name.to_owned()),
        counter: Some(CounterDescriptor { unit: Some(unit as i32) }),
        ..TrackDescriptor::default()
    }
}

/// The event by which a counter has another value.
fn value(counter: u64, value: f64) -> TrackEvent {
    TrackEvent {
        kind: Some(EventType::Counter as i32),
        track_uuid: Some(counter),
        double_counter_value: Some(value),
        ..TrackEvent::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arrow_begins_where_its_call_does_also_behind_a_wait() {
        let mut encoder = Encoder::new(1);
        let events = [
            TraceEvent::Thread { id: 7 },
            TraceEvent::Begin { time: 1, call: Call::SendReceive, window: 0, operation: None },
            TraceEvent::Wait { begun: 2, ended: 3, line: 0 },
            TraceEvent::Received { arrow: 8 },
            TraceEvent::Sent { arrow: 9 },
            TraceEvent::Wait { begun: 4, ended: 5, line: 0 },
            TraceEvent::End { time: 6 },
        ];
        events.into_iter().for_each(|event| encoder.event((0, 7), 1, event));
        let trace = Trace::decode(&*encoder.bytes).unwrap();
        let slices: Vec<_> = trace
            .packet
            .into_iter()
            .filter_map(|packet| Some((packet.timestamp?, packet.track_event?)))
            .map(|(time, event)| (time, event.flow_ids, event.terminating_flow_ids))
            .collect();
        let (none, wait) = (Vec::new(), |time| (time, Vec::new(), Vec::new()));
        let [begin, end] = [(1, vec![9], none.clone()), (6, none, vec![8])];
        assert_eq!(slices, [begin, wait(2), wait(3), wait(4), wait(5), end]);
    }

    /// Times of every length, and more kinds of ends than are remembered.
    #[test]
    fn an_end_that_was_encoded_before_has_the_same_bytes() {
        let call = |target: u32, bytes| (Call::Put, Some((Some(target), bytes)));
        let calls: Vec<_> = (0..400).map(|at| call(at % 300, 8 << (at % 40))).collect();
        let events = (0..64).map(|shift| 1u64 << shift).chain(1000..2000).zip(calls.iter().cycle());
        let [mut once, mut anew] = [(); 2].map(|()| Encoder::new(1));
        anew.bytes.clone_from(&once.bytes);
        for (time, &(call, operation)) in events {
            for event in [
                TraceEvent::Begin { time, call, window: 0, operation },
                TraceEvent::End { time: time + 1 },
                TraceEvent::Begin { time: time + 2, call: Call::Fence, window: 0, operation: None },
                TraceEvent::End { time: time + 3 },
                TraceEvent::Call { begun: time + 4, ended: time + 5, call, window: 0, operation },
            ] {
                once.event((0, 7), 1, event);
                anew.ranks[0].encoded.clear();
                anew.event((0, 7), 1, event);
            }
        }
        assert!((3..=EncodedPackets::AT_MOST).contains(&once.ranks[0].encoded.len()));
        assert_eq!(once.bytes, anew.bytes);
    }
}
