//! Matching of messages and receives: first come, first served, on both sides (MPI-2.2 §3.5).
//!
//! A message has an envelope; a receive has one too, in which source and tag may be wildcards. Both
//! tables list entries with the same envelope in order of arrival, so the next match is at the front of a
//! list.

use crate::mixer::Mixer;
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasherDefault;

/// The envelope of a message, or the one that a receive asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Envelope {
    /// The communicator, and which of its channels.
    pub(super) context: [u64; 2],
    /// A rank of the world, or [`Envelope::ANY_SOURCE`].
    pub(super) source: u32,
    /// Not negative, or [`Envelope::ANY_TAG`].
    pub(super) tag: i32,
}

impl Envelope {
    pub(super) const ANY_SOURCE: u32 = u32::MAX;
    pub(super) const ANY_TAG: i32 = -1;

    /// How many wildcards it has.
    fn wildcards(&self) -> usize {
        usize::from(self.source == Self::ANY_SOURCE) + usize::from(self.tag == Self::ANY_TAG)
    }

    /// Whether a receive that asks for this takes a message with that envelope.
    #[inline]
    pub(super) fn takes(&self, message: &Envelope) -> bool {
        self.context == message.context
            && (self.source == message.source || self.source == Self::ANY_SOURCE)
            && (self.tag == message.tag || self.tag == Self::ANY_TAG)
    }
}

/// Lists by envelope. Empty ones stay, up to a number, so that the next entry of their kind allocates
/// nothing.
struct Lists<V> {
    by_envelope: HashMap<Envelope, VecDeque<(u64, V)>, BuildHasherDefault<Mixer>>,
    /// Entries of all lists.
    entries: usize,
    /// The number of the next entry.
    next: u64,
}

/// At least as many empty lists stay.
const RETAINED: usize = 256;

impl<V> Lists<V> {
    fn new() -> Self {
        Lists { by_envelope: HashMap::default(), entries: 0, next: 0 }
    }

    fn push(&mut self, envelope: Envelope, value: V) -> u64 {
        if self.by_envelope.len() >= RETAINED.max(2 * self.entries)
            && !self.by_envelope.contains_key(&envelope)
        {
            self.by_envelope.retain(|_, list| !list.is_empty());
        }
        let number = self.next;
        self.next += 1;
        self.entries += 1;
        self.by_envelope.entry(envelope).or_default().push_back((number, value));
        number
    }

    fn front(&self, envelope: &Envelope) -> Option<&(u64, V)> {
        self.by_envelope.get(envelope)?.front()
    }

    fn pop(&mut self, envelope: &Envelope) -> Option<V> {
        let (_, value) = self.by_envelope.get_mut(envelope)?.pop_front()?;
        self.entries -= 1;
        Some(value)
    }
}

/// Receives without a message.
pub(super) struct Posted<V> {
    /// The first ones, in their order: looking at a few is faster than a table. Those of the lists are later.
    few: VecDeque<(Envelope, V)>,
    lists: Lists<V>,
    /// How many of the lists have wildcards.
    wild: usize,
}

/// The most receives outside of the lists.
const FEW: usize = 8;

impl<V: PartialEq> Posted<V> {
    pub(super) fn new() -> Self {
        Posted { few: VecDeque::with_capacity(FEW), lists: Lists::new(), wild: 0 }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.number() == 0
    }

    /// How many there are.
    #[inline]
    pub(super) fn number(&self) -> usize {
        self.few.len() + self.lists.entries
    }

    /// Whether this receive, and no other, is posted.
    #[inline]
    pub(super) fn is_only(&self, receive: &V) -> bool {
        self.number() == 1 && self.few.front().is_some_and(|(_, posted)| posted == receive)
    }

    /// Adds a receive that asks for `wanted`.
    #[inline]
    pub(super) fn post(&mut self, wanted: Envelope, receive: V) {
        if self.few.len() < FEW && self.lists.entries == 0 {
            return self.few.push_back((wanted, receive));
        }
        self.wild += usize::from(wanted.wildcards() > 0);
        self.lists.push(wanted, receive);
    }

    /// Of the posted receives that match a message with that envelope, takes the first.
    #[inline]
    pub(super) fn take(&mut self, message: &Envelope) -> Option<V> {
        if let Some(at) = self.few.iter().position(|(asks, _)| asks.takes(message)) {
            return self.few.remove(at).map(|(_, receive)| receive);
        }
        if self.lists.entries == 0 {
            return None;
        }
        self.take_from_lists(message)
    }

    #[inline(never)]
    fn take_from_lists(&mut self, message: &Envelope) -> Option<V> {
        let mut found = *message;
        if self.wild > 0 {
            let (any, tag) = (Envelope::ANY_SOURCE, Envelope::ANY_TAG);
            let asks = [
                *message,
                Envelope { source: any, ..*message },
                Envelope { tag, ..*message },
                Envelope { source: any, tag, ..*message },
            ];
            let number = |asks: &Envelope| self.lists.front(asks).map(|(number, _)| *number);
            found = asks.into_iter().min_by_key(|asks| number(asks).unwrap_or(u64::MAX))?;
        }
        let receive = self.lists.pop(&found)?;
        self.wild -= usize::from(found.wildcards() > 0);
        Some(receive)
    }

    /// Withdraws a receive; whether it was still there. Mostly it is the first one.
    #[inline]
    pub(super) fn withdraw(&mut self, wanted: &Envelope, receive: &V) -> bool {
        if self.few.front().is_some_and(|(_, posted)| posted == receive) {
            self.few.pop_front();
            return true;
        }
        self.withdraw_later(wanted, receive)
    }

    /// [`Posted::withdraw`] of one that is not the first.
    #[inline(never)]
    fn withdraw_later(&mut self, wanted: &Envelope, receive: &V) -> bool {
        if let Some(at) = self.few.iter().position(|(_, posted)| posted == receive) {
            self.few.remove(at);
            return true;
        }
        let Some(list) = self.lists.by_envelope.get_mut(wanted) else { return false };
        let Some(at) = list.iter().position(|(_, posted)| posted == receive) else { return false };
        list.remove(at);
        self.lists.entries -= 1;
        self.wild -= usize::from(wanted.wildcards() > 0);
        true
    }
}

/// Messages without a receive.
pub(super) struct Unexpected<V> {
    lists: Lists<V>,
    /// All of them in order of arrival, with some that have been taken.
    order: VecDeque<(u64, Envelope)>,
}

impl<V> Unexpected<V> {
    pub(super) fn new() -> Self {
        Unexpected { lists: Lists::new(), order: VecDeque::new() }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.lists.entries == 0
    }

    /// How many there are.
    pub(super) fn number(&self) -> usize {
        self.lists.entries
    }

    /// The envelopes of all, in order of arrival.
    pub(super) fn all(&self) -> impl Iterator<Item = &Envelope> {
        let there = self.order.iter().filter(|entry| is_there(&self.lists, entry));
        there.map(|(_, envelope)| envelope)
    }

    /// Adds a message.
    pub(super) fn put(&mut self, envelope: Envelope, message: V) {
        let number = self.lists.push(envelope, message);
        if self.order.len() > 2 * self.lists.entries + RETAINED {
            let lists = &self.lists;
            self.order.retain(|entry| is_there(lists, entry));
        }
        self.order.push_back((number, envelope));
    }

    /// The first message that a receive for `wanted` takes.
    pub(super) fn first(&self, wanted: &Envelope) -> Option<(Envelope, &V)> {
        if self.lists.entries == 0 {
            return None;
        }
        let mut found = *wanted;
        if wanted.wildcards() > 0 {
            let fits =
                |entry: &&(u64, Envelope)| wanted.takes(&entry.1) && is_there(&self.lists, entry);
            found = self.order.iter().find(fits)?.1;
        }
        self.lists.front(&found).map(|(_, message)| (found, message))
    }

    /// Takes it.
    pub(super) fn take(&mut self, wanted: &Envelope) -> Option<(Envelope, V)> {
        let (found, _) = self.first(wanted)?;
        let message = self.lists.pop(&found)?;
        while self.order.front().is_some_and(|entry| !is_there(&self.lists, entry)) {
            self.order.pop_front();
        }
        Some((found, message))
    }
}

/// Whether a message has not been taken: messages with the same envelope are taken in order of arrival.
fn is_there<V>(lists: &Lists<V>, (number, envelope): &(u64, Envelope)) -> bool {
    lists.front(envelope).is_some_and(|(first, _)| first <= number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn envelope(source: u32, tag: i32) -> Envelope {
        Envelope { context: [2, 0], source, tag }
    }

    /// Sources and tags below 3; the last is the wildcard, if there are any.
    fn asked(source: u32, tag: i32) -> Envelope {
        let any =
            Envelope { source: Envelope::ANY_SOURCE, tag: Envelope::ANY_TAG, context: [2, 0] };
        let source = if source == 3 { any.source } else { source };
        Envelope { source, tag: if tag == 3 { any.tag } else { tag }, ..any }
    }

    proptest! {
        /// Compares with lists that are searched from their beginnings.
        #[test]
        fn first_come_first_served(
            steps in proptest::collection::vec((0..3u8, 0..4u32, 0..4i32), 0..400),
        ) {
            let (mut posted, mut unexpected) = (Posted::new(), Unexpected::new());
            let (mut asks, mut came) = (Vec::<(Envelope, usize)>::new(), Vec::new());
            for (step, (what, source, tag)) in steps.into_iter().enumerate() {
                let (wanted, message) = (asked(source, tag), envelope(source % 3, tag % 3));
                match what {
                    0 => {
                        let at = came.iter().position(|(envelope, _)| wanted.takes(envelope));
                        let naive = at.map(|at| came.remove(at));
                        prop_assert_eq!(unexpected.take(&wanted), naive);
                        if naive.is_none() {
                            posted.post(wanted, step);
                            asks.push((wanted, step));
                        }
                    }
                    1 => {
                        let at = asks.iter().position(|(asks, _)| asks.takes(&message));
                        let naive = at.map(|at| asks.remove(at).1);
                        prop_assert_eq!(posted.take(&message), naive);
                        if naive.is_none() {
                            unexpected.put(message, step);
                            came.push((message, step));
                        }
                    }
                    _ => {
                        let at = asks.iter().position(|(asks, _)| *asks == wanted);
                        let back = at.map(|at| asks.remove(at).1).unwrap_or(usize::MAX);
                        prop_assert_eq!(posted.withdraw(&wanted, &back), at.is_some());
                    }
                }
                prop_assert_eq!(posted.number(), asks.len());
                let all: Vec<_> = unexpected.all().collect();
                prop_assert_eq!(all, came.iter().map(|(envelope, _)| envelope).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn what_has_been_taken_is_forgotten() {
        let mut unexpected = Unexpected::new();
        unexpected.put(envelope(0, 0), 0);
        for k in 1..100_000 {
            unexpected.put(envelope(1, k), k);
            assert_eq!(unexpected.take(&envelope(1, k)), Some((envelope(1, k), k)));
        }
        assert!(unexpected.order.len() <= 2 * RETAINED, "{}", unexpected.order.len());
        assert!(unexpected.lists.by_envelope.len() <= 2 * RETAINED);
    }
}
