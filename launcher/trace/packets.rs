//! Packets of slices as they were encoded before: of a rank's packets most differ from one before in nothing but their times.

use super::encoder::Beginning;
use crate::mixer::Mixer;
use prost::encoding::{encode_varint, encoded_len_varint};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// The ends of a slice that belong to one event, one or both, without definitions and arrows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Ends {
    /// How many bytes the time of each end has; zero without it.
    lengths: [u8; 2],
    thread: u32,
    /// `None` of an end alone.
    begins: Option<Beginning>,
}

impl Ends {
    /// Of a slice of that thread, with these times.
    #[inline(always)]
    pub fn new<const ENDS: usize>(
        thread: u32,
        begins: Option<Beginning>,
        times: [u64; ENDS],
    ) -> Ends {
        let mut lengths = [0; 2];
        for (length, time) in lengths.iter_mut().zip(times) {
            *length = encoded_len_varint(time) as u8;
        }
        Ends { lengths, thread, begins }
    }
}

impl Hash for Ends {
    /// In one step, because there are some for each event.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Ends { lengths: [first, second], thread, begins } = *self;
        let Beginning { name, window, target, bytes, line } = begins.unwrap_or_default();
        let target = target.map_or(0, |target| u64::from(target) + 1) << 32;
        let bytes = bytes.unwrap_or(0).rotate_left(44);
        let lengths = u64::from(first) << 52 | u64::from(second) << 56;
        state.write_u64(
            u64::from(thread) ^ name << 8 ^ window << 20 ^ target ^ bytes ^ line ^ lengths,
        );
    }
}

/// Their packets, one or two.
#[derive(Clone, Copy)]
struct EncodedEnds {
    packets: [u8; EncodedEnds::BYTES],
    len: usize,
    /// Where the second packet begins.
    second: usize,
}

impl EncodedEnds {
    const BYTES: usize = 96;
    /// Where the time is: behind the key and the length of the packet, and its own key.
    const TIME: usize = 3;

    /// Appends them with these times.
    #[inline(always)]
    fn append<const ENDS: usize>(&self, times: [u64; ENDS], bytes: &mut Vec<u8>) {
        let start = bytes.len();
        // Whole, because a copy of known length is faster.
        bytes.extend_from_slice(&self.packets);
        bytes.truncate(start + self.len);
        for (packet, time) in [start, start + self.second].into_iter().zip(times) {
            encode_varint(time, &mut &mut bytes[packet + EncodedEnds::TIME..]);
        }
    }
}

/// Those of a rank.
#[derive(Default)]
pub struct EncodedPackets {
    all: Vec<(Ends, EncodedEnds)>,
    /// Where each is.
    places: HashMap<Ends, usize, BuildHasherDefault<Mixer>>,
    /// Where the latest is: the next is often alike.
    latest: usize,
}

impl EncodedPackets {
    /// How many are remembered at most.
    pub const AT_MOST: usize = 512;

    /// Appends the packets of these ends with their times, if they are known.
    #[inline(always)]
    pub fn append<const ENDS: usize>(
        &mut self,
        ends: &Ends,
        times: [u64; ENDS],
        bytes: &mut Vec<u8>,
    ) -> bool {
        let is_it = |(known, _): &(Ends, _)| known == ends;
        if !self.all.get(self.latest).is_some_and(is_it) {
            let Some(place) = self.places.get(ends) else { return false };
            self.latest = *place;
        }
        self.all[self.latest].1.append(times, bytes);
        true
    }

    /// Remembers these packets, of which the second begins there, if they are short.
    pub fn remember(&mut self, ends: Ends, encoded: &[u8], second: usize) {
        let mut packets = [0; EncodedEnds::BYTES];
        let Some(used) = packets.get_mut(..encoded.len()) else { return };
        used.copy_from_slice(encoded);
        if self.all.len() >= EncodedPackets::AT_MOST {
            self.clear();
        }
        self.places.insert(ends, self.all.len());
        self.all.push((ends, EncodedEnds { packets, len: encoded.len(), second }));
    }

    pub fn clear(&mut self) {
        self.all.clear();
        self.places.clear();
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.all.len()
    }
}
