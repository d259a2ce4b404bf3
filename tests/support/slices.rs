//! What a trace shows, as a viewer reads the file.
#![allow(dead_code, reason = "each test binary uses its part")]

use schema::{DebugAnnotation, EventType, InternedData, Trace, TracePacket};
use std::collections::{BTreeMap, HashMap};

#[path = "../../launcher/trace/schema.rs"]
pub mod schema;

/// A slice as a viewer shows it.
#[derive(Clone, Debug)]
pub struct Slice {
    pub rank: u32,
    pub thread: u64,
    pub name: String,
    pub begin: u64,
    pub end: Option<u64>,
    /// The name of the slice that it is in.
    pub inside: Option<String>,
    pub arguments: BTreeMap<String, String>,
    /// The arrows that begin and end in it.
    pub arrows: [Vec<u64>; 2],
}

/// The beginning of a slice, or the end of one with the arrows that end there.
enum Edge {
    Begin(Slice),
    End(Vec<u64>),
}

impl Slice {
    pub fn argument(&self, name: &str) -> &str {
        self.arguments.get(name).map_or("-", String::as_str)
    }
}

#[derive(Debug)]
pub struct Slices(pub Vec<Slice>);

/// The clocks of the sequences of packets.
#[derive(Default)]
struct Clocks {
    /// The clock of packets that name none, and the latest time of the incremental one.
    defaults: HashMap<u32, u32>,
    latest: HashMap<u32, u64>,
}

impl Clocks {
    /// When the next packet was, in nanoseconds of CLOCK_MONOTONIC.
    fn time(&mut self, packet: &TracePacket) -> Option<u64> {
        let sequence = packet.trusted_packet_sequence_id?;
        let default = packet.trace_packet_defaults.as_ref().and_then(|one| one.timestamp_clock_id);
        self.defaults.extend(default.map(|clock| (sequence, clock)));
        let clocks = packet.clock_snapshot.iter().flat_map(|snapshot| &snapshot.clocks);
        let since = clocks.filter(|clock| clock.is_incremental == Some(true));
        self.latest.extend(since.map(|clock| (sequence, clock.timestamp.unwrap())));
        let time = packet.timestamp?;
        if packet.timestamp_clock_id.unwrap_or(self.defaults[&sequence]) == MONOTONIC {
            return Some(time);
        }
        let latest = self.latest.get_mut(&sequence).expect("a snapshot of the clock");
        *latest += time;
        Some(*latest)
    }
}

const MONOTONIC: u32 = schema::BuiltinClock::Monotonic as u32;

/// What a sequence of packets has defined.
#[derive(Default)]
struct Definitions {
    /// The track of an event that names none.
    track: Option<u64>,
    events: HashMap<u64, String>,
    arguments: HashMap<u64, String>,
    texts: HashMap<u64, String>,
}

impl Definitions {
    fn add(&mut self, data: &InternedData) {
        let names = |all: &[schema::InternedName]| -> Vec<(u64, String)> {
            all.iter().map(|one| (one.iid.unwrap(), one.name.clone().unwrap())).collect()
        };
        self.events.extend(names(&data.event_names));
        self.arguments.extend(names(&data.debug_annotation_names));
        let texts = data.debug_annotation_string_values.iter();
        let utf8 = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        self.texts.extend(texts.map(|one| (one.iid.unwrap(), utf8(one.str.clone().unwrap()))));
    }

    fn argument(&self, one: &DebugAnnotation) -> (String, String) {
        let value = match (one.uint_value, one.string_value_iid) {
            (Some(number), None) => number.to_string(),
            (None, Some(text)) => self.texts[&text].clone(),
            other => panic!("an argument has one value, not {other:?}"),
        };
        (self.arguments[&one.name_iid.unwrap()].clone(), value)
    }
}

impl Slices {
    /// Also checks that each slice is in a thread of its rank, and inside the one before it or behind it.
    pub fn of(trace: &Trace) -> Slices {
        let (mut ranks, mut tracks) = (HashMap::new(), HashMap::new());
        let mut known: HashMap<u32, Definitions> = HashMap::new();
        let mut events: HashMap<u64, Vec<(u64, Edge)>> = HashMap::new();
        let mut clocks = Clocks::default();
        for packet in &trace.packet {
            let time = clocks.time(packet);
            let Some(sequence) = packet.trusted_packet_sequence_id else {
                assert!(packet.clock_snapshot.is_some(), "{packet:?}");
                continue;
            };
            match packet.sequence_flags {
                Some(schema::INCREMENTAL_STATE_CLEARED) => {
                    assert!(known.insert(sequence, Definitions::default()).is_none(), "{packet:?}");
                }
                flags => assert_eq!(flags, Some(schema::NEEDS_INCREMENTAL_STATE)),
            }
            let definitions = known.get_mut(&sequence).expect("the first packet comes first");
            packet.interned_data.iter().for_each(|data| definitions.add(data));
            let defaults = packet.trace_packet_defaults.as_ref();
            let defaults = defaults.and_then(|defaults| defaults.track_event_defaults.as_ref());
            definitions.track = defaults.and_then(|one| one.track_uuid).or(definitions.track);
            if let Some(track) =
                packet.track_descriptor.as_ref().filter(|one| one.counter.is_none())
            {
                let pid = track.process.as_ref().and_then(|process| process.pid);
                match track.process.as_ref().and_then(|process| process.process_name.clone()) {
                    Some(name) => {
                        let rank: u32 = name.strip_prefix("rank ").unwrap().parse().unwrap();
                        ranks.insert(pid, rank);
                    }
                    None => {
                        let thread = track.thread.as_ref().unwrap();
                        tracks.insert(track.uuid.unwrap(), ranks[&thread.pid]);
                    }
                }
            }
            if let Some((track, event)) = event_of((time, packet), definitions, &tracks) {
                events.entry(track).or_default().push((time.unwrap(), event));
            }
        }
        Slices(events.into_values().flat_map(nested).collect())
    }

    /// The slices of that name.
    pub fn of_call(&self, name: &str) -> Vec<&Slice> {
        self.0.iter().filter(|slice| slice.name == name).collect()
    }
}

/// The track of an event, and what it is.
fn event_of(
    (time, packet): (Option<u64>, &TracePacket),
    definitions: &Definitions,
    tracks: &HashMap<u64, u32>,
) -> Option<(u64, Edge)> {
    let event = packet.track_event.as_ref()?;
    if event.kind == Some(EventType::Counter as i32) {
        return None;
    }
    let thread = event.track_uuid.or(definitions.track).unwrap();
    let begins = event.kind == Some(EventType::SliceBegin as i32);
    assert!(begins || event.kind == Some(EventType::SliceEnd as i32));
    if !begins {
        assert!(event.flow_ids.is_empty(), "{event:?}");
        return Some((thread, Edge::End(event.terminating_flow_ids.clone())));
    }
    let slice = Slice {
        rank: tracks[&thread],
        thread,
        name: definitions.events[&event.name_iid.unwrap()].clone(),
        begin: time.unwrap(),
        end: None,
        inside: None,
        arguments: event.debug_annotations.iter().map(|one| definitions.argument(one)).collect(),
        arrows: [event.flow_ids.clone(), Vec::new()],
    };
    Some((thread, Edge::Begin(slice)))
}

/// The values of each counter with their times, by its name and the rank that it is below.
pub type Counters = BTreeMap<(String, Option<u32>), Vec<(u64, f64)>>;

/// The counters of a trace.
pub fn counters(trace: &Trace) -> Counters {
    let (mut ranks, mut names) = (HashMap::new(), HashMap::new());
    let (mut values, mut clocks) = (Counters::new(), Clocks::default());
    for packet in &trace.packet {
        let time = clocks.time(packet);
        if let Some(track) = &packet.track_descriptor {
            let process = track.process.as_ref().and_then(|process| process.process_name.as_ref());
            let rank = process.and_then(|name| name.strip_prefix("rank ")?.parse::<u32>().ok());
            ranks.extend(track.uuid.zip(rank));
            if track.counter.is_some() {
                let rank = track.parent_uuid.map(|parent| ranks[&parent]);
                names.insert(track.uuid, (track.name.clone().expect("a name"), rank));
            }
        }
        let event = packet.track_event.as_ref();
        if let Some(event) = event.filter(|one| one.kind == Some(EventType::Counter as i32)) {
            let value = (time.unwrap(), event.double_counter_value.unwrap());
            values.entry(names[&event.track_uuid].clone()).or_default().push(value);
        }
    }
    values
}

/// The slices of one track.
fn nested(mut events: Vec<(u64, Edge)>) -> Vec<Slice> {
    // As a viewer does: by time, and in the order of the file.
    events.sort_by_key(|(time, _)| *time);
    let (mut slices, mut open): (Vec<Slice>, Vec<usize>) = (Vec::new(), Vec::new());
    for (time, event) in events {
        match event {
            Edge::Begin(slice) => {
                let inside = open.last().map(|at| slices[*at].name.clone());
                open.push(slices.len());
                slices.push(Slice { inside, ..slice });
            }
            Edge::End(arrows) => {
                let slice = &mut slices[open.pop().expect("a slice ends that has begun")];
                slice.end = Some(time);
                slice.arrows[1] = arrows;
            }
        }
    }
    slices
}
