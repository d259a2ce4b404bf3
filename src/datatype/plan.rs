//! Datatypes as loops: the result of a commit.
//!
//! An [`Item`] is a nest of loops around a block of bytes, or around a list of further items. A vector
//! of a million blocks is one item, and so are equal blocks at irregular offsets. Any other irregular
//! datatype is a list of at most as many items as its constructor has arguments. A regular datatype of
//! irregular ones is one item around their list, which is shared and not copied.

use super::Datatype;
use super::constructor::{Constructor, Regular};
use super::cursor::Run;
use crate::shm::Offsets;
use std::sync::Arc;

/// Items in the order of the type map.
pub(super) type Items = Arc<[Item]>;

/// Loops of one item; deeper nests continue in a list of one item.
pub(super) const MOST_DIMS: usize = 4;
/// A loop of at most this many blocks is shorter as offsets in a list than as an item.
const UNROLLED: u64 = 8;
/// Lists up to this length are copied into the list that uses them, where their ends may merge
/// with their neighbours; longer ones are shared.
const COPIED: usize = 8;

/// One loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Dim {
    pub(super) count: u64,
    pub(super) stride: i64,
}

/// The body of the innermost loop.
#[derive(Clone, Debug)]
pub(super) enum LoopBody {
    /// A block with its length in bytes.
    Block(u64),
    /// Blocks of one length in bytes, at offsets relative to the loops' position.
    Listed(u64, Arc<Offsets>),
    /// Items at offsets relative to the loops' position.
    List(Items),
}

/// A nest of loops.
#[derive(Clone, Debug)]
pub(super) struct Item {
    /// The offset of the first repetition of the body.
    pub(super) offset: i64,
    dims: [Dim; MOST_DIMS],
    depth: usize,
    pub(super) body: LoopBody,
}

impl LoopBody {
    fn is(&self, other: &LoopBody) -> bool {
        match (self, other) {
            (LoopBody::Block(a), LoopBody::Block(b)) => a == b,
            (LoopBody::List(a), LoopBody::List(b)) => Arc::ptr_eq(a, b),
            (LoopBody::Listed(_, a), LoopBody::Listed(_, b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

impl Item {
    fn new(offset: i64, body: LoopBody) -> Item {
        Item { offset, dims: [Dim::default(); MOST_DIMS], depth: 0, body }
    }

    pub(super) fn block(bytes: u64) -> Item {
        Item::new(0, LoopBody::Block(bytes))
    }

    /// The only item of a list, or one around it.
    pub(super) fn whole(items: &Items) -> Item {
        match &items[..] {
            [item] => item.clone(),
            _ => Item::new(0, LoopBody::List(items.clone())),
        }
    }

    /// The loops, outermost first.
    #[inline]
    pub(super) fn dims(&self) -> &[Dim] {
        &self.dims[..self.depth]
    }

    /// This item `count` times, `stride` bytes apart; `count` is not zero.
    pub(super) fn repeated(mut self, count: u64, stride: i64) -> Item {
        if count == 1 {
            return self;
        }
        if self.depth == 0
            && let LoopBody::Block(bytes) = &mut self.body
            && i128::from(stride) == i128::from(*bytes)
        {
            *bytes *= count;
            return self;
        }
        if let Some(outer) = self.dims().first()
            && i128::from(outer.count).checked_mul(outer.stride.into()) == Some(stride.into())
        {
            self.dims[0].count *= count;
            return self;
        }
        if self.depth == MOST_DIMS {
            self = Item::new(0, LoopBody::List(Arc::new([self])));
        }
        self.dims.copy_within(..self.depth, 1);
        self.dims[0] = Dim { count, stride };
        self.depth += 1;
        self
    }

    /// The bytes of a block, if it is a few blocks.
    fn unrolled(&self) -> Option<u64> {
        match (&self.body, self.dims()) {
            (LoopBody::Block(bytes), []) => Some(*bytes),
            (LoopBody::Block(bytes), [dim]) if dim.count <= UNROLLED => Some(*bytes),
            _ => None,
        }
    }

    fn shifted(mut self, by: i64) -> Item {
        self.offset = self.offset.wrapping_add(by);
        self
    }

    /// Extends this item by `next`, if the two together are one nest.
    fn absorb(&mut self, next: &Item) -> bool {
        let distance = next.offset.wrapping_sub(self.offset);
        if self.depth == 0
            && next.depth == 0
            && let (LoopBody::Block(bytes), LoopBody::Block(more)) = (&mut self.body, &next.body)
            && i128::from(distance) == i128::from(*bytes)
        {
            *bytes += more;
            return true;
        }
        if !self.body.is(&next.body) {
            return false;
        }
        if let [outer, inner @ ..] = self.dims()
            && inner == next.dims()
            && i128::from(outer.count).checked_mul(outer.stride.into()) == Some(distance.into())
        {
            self.dims[0].count += 1;
            return true;
        }
        if self.dims() == next.dims() && self.depth < MOST_DIMS {
            *self = self.clone().repeated(2, distance);
            return true;
        }
        false
    }
}

/// The loops of one instance of a constructor's datatype, with or without the padding of pair types.
/// Array constructors are reduced to others before.
pub(super) fn compile(constructor: &Constructor, padded: bool) -> Items {
    let mut items = Vec::new();
    if let Some(Regular { count, length, stride, element }) = constructor.regular() {
        let inner = element.items_of(padded);
        if count > 0 && length > 0 && !inner.is_empty() {
            let block = Item::whole(inner).repeated(length, element.extent());
            items.push(block.repeated(count, stride as i64));
        }
    } else if let Some(irregular) = constructor.irregular() {
        let (inner, extent) = (irregular.element.items_of(padded), irregular.element.extent());
        for (at, length) in irregular.blocks() {
            place(&mut items, inner, extent, at as i64, length);
        }
    } else if let Some(members) = constructor.members() {
        for (at, length, element) in members {
            place(&mut items, element.items_of(padded), element.extent(), at, length);
        }
    } else {
        match constructor {
            Constructor::Dup(element) | Constructor::Resized { element, .. } => {
                return element.items_of(padded).clone();
            }
            Constructor::Predefined(datatype) => match datatype.pair().filter(|_| !padded) {
                Some((value, at)) => {
                    append(&mut items, Item::block(value.size() as u64));
                    let index = Item::block(Datatype::I32.size() as u64);
                    append(&mut items, index.shifted(at as i64));
                }
                None => items.push(Item::block(datatype.size() as u64)),
            },
            _ => unreachable!("arrays are compiled as what they are made of"),
        }
    }
    listed(items).into()
}

/// The same bytes, with equal neighbouring blocks and short loops merged into lists.
fn listed(items: Vec<Item>) -> Vec<Item> {
    if items.len() < 2 {
        return items;
    }
    let mut all = Vec::new();
    for alike in items.chunk_by(|a, b| a.unrolled().is_some() && a.unrolled() == b.unrolled()) {
        match alike[0].unrolled() {
            Some(bytes) if alike.len() > 1 => {
                let at = alike.iter().filter_map(Run::of).flat_map(Run::pieces);
                let offsets = Offsets::new(at.map(|(at, _)| at).collect());
                all.push(Item::new(0, LoopBody::Listed(bytes, Arc::new(offsets))));
            }
            _ => all.extend_from_slice(alike),
        }
    }
    all
}

/// Appends `length` copies of `inner`, one extent apart, from `at` on; `length` is not zero.
fn place(items: &mut Vec<Item>, inner: &Items, extent: i64, at: i64, length: u64) {
    if inner.is_empty() {
        return;
    }
    if length == 1 && inner.len() <= COPIED {
        for item in inner.iter() {
            append(items, item.clone().shifted(at));
        }
    } else {
        append(items, Item::whole(inner).repeated(length, extent).shifted(at));
    }
}

/// Appends an item, or merges it with the last one.
fn append(items: &mut Vec<Item>, item: Item) {
    let merged = items.last_mut().is_some_and(|last| last.absorb(&item));
    if !merged {
        items.push(item);
    }
}
