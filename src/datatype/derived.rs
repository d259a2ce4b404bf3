//! A derived datatype: a handle on an immutable description, and the queries.

use super::committed::{CommittedDatatype, CommittedPlan};
use super::constructor::Constructor;
use super::plan::Items;
use super::signature::{Signature, SignatureKind};
use super::summary::Summary;
use super::{Datatype, plan};
use crate::call::Call;
use crate::error::{Error, Place, Result};
use std::fmt::{self, Write as _};
use std::sync::{Arc, OnceLock};

/// The deepest nesting of datatypes, because functions on them are recursive.
const DEEPEST: u32 = 500;

/// A datatype made of other datatypes (MPI-2.2 §4.1): a *type map*, that is a sequence of
/// predefined datatypes with displacements in bytes.
///
/// Immutable; `Clone` copies the handle. All constructors are local and do not block. They take
/// predefined ([`Datatype`]) and derived datatypes, by value or by reference. An operation takes a
/// datatype only after it was [committed](DerivedDatatype::commit).
///
/// ```
/// use onesided::{Datatype, DerivedDatatype};
///
/// // Every second row of a 6 x 100 array of doubles.
/// let row = DerivedDatatype::contiguous(100, Datatype::F64)?;
/// let rows = DerivedDatatype::vector(3, 1, 2, &row)?;
/// assert_eq!((rows.size(), rows.extent()), (2400, 4000));
/// let rows = rows.commit();
/// # let _ = rows;
/// # Ok::<(), onesided::Error>(())
/// ```
///
/// A pair type such as `MPI_DOUBLE_INT` is a struct, as in the standard (MPI-4.1 §6.9.4): an
/// `MPI_DOUBLE` and an `MPI_INT`, of 12 bytes and an extent of 16. Its padding is not transferred.
#[derive(Clone)]
pub struct DerivedDatatype {
    node: Arc<Node>,
    name: Option<Arc<str>>,
}

struct Node {
    constructor: Constructor,
    /// The datatype to which a constructor of arrays is reduced.
    lowered: Option<DerivedDatatype>,
    summary: Summary,
    depth: u32,
    /// Whether the padding of pair types is among its bytes ([`DerivedDatatype::with_padding`]).
    padded: bool,
    /// Without and with the padding of pair types.
    items: [OnceLock<Items>; 2],
    plan: OnceLock<Arc<CommittedPlan>>,
}

impl DerivedDatatype {
    /// The datatype of a constructor whose arguments have been checked one by one; an error on
    /// overflow.
    pub(super) fn new(call: Call, constructor: Constructor) -> Result<DerivedDatatype> {
        DerivedDatatype::lowered(call, constructor, None)
    }

    /// [`DerivedDatatype::new`] for a constructor that is reduced to `lowered`.
    pub(super) fn lowered(
        call: Call,
        constructor: Constructor,
        lowered: Option<DerivedDatatype>,
    ) -> Result<DerivedDatatype> {
        let refuse = |why: String| {
            let problem = format!("{why}: {}", Brief::of(&constructor));
            Err(Error::Argument { at: Place { call, window: None, rank: None }, problem })
        };
        let Some(summary) = Summary::of(&constructor, lowered.as_ref()) else {
            return refuse("the datatype would be larger than 2^63 - 1 bytes".into());
        };
        let children = constructor.elements().iter().chain(&lowered);
        let depth = 1 + children.map(|element| element.node.depth).max().unwrap_or(0);
        if depth > DEEPEST {
            return refuse(format!("the datatype would be nested deeper than {DEEPEST}"));
        }
        let (items, plan) = Default::default();
        let node = Node { constructor, lowered, summary, depth, padded: false, items, plan };
        Ok(DerivedDatatype { node: Arc::new(node), name: None })
    }

    /// The same with each element of a pair type as one piece, padding included, for operations on
    /// elements.
    pub(super) fn with_padding(&self) -> DerivedDatatype {
        let (constructor, lowered) = (self.node.constructor.clone(), self.node.lowered.clone());
        let (summary, depth) = (self.node.summary.with_padding(), self.node.depth);
        let (items, plan) = Default::default();
        let node = Node { constructor, lowered, summary, depth, padded: true, items, plan };
        DerivedDatatype { node: Arc::new(node), name: self.name.clone() }
    }

    /// Compiles the datatype for use in operations (`MPI_Type_commit`, MPI-2.2 §4.1.9). The result is
    /// cached: a second commit, also of a clone, is free. Local; does not block.
    pub fn commit(&self) -> CommittedDatatype {
        let plan = self.node.plan.get_or_init(|| Arc::new(CommittedPlan::new(self)));
        CommittedDatatype::new(self.clone(), plan.clone())
    }

    /// Bytes of the basic elements, without gaps (`MPI_Type_size`, MPI-2.2 §4.1.5). Bytes shared by
    /// several entries count for each of them.
    pub fn size(&self) -> u64 {
        self.node.summary.size
    }

    /// The distance from the lower to the upper bound, in bytes (`MPI_Type_get_extent`, MPI-2.2
    /// §4.1.7): the stride of an array of the datatype. Negative only after
    /// [resizing](DerivedDatatype::resized).
    pub fn extent(&self) -> i64 {
        self.node.summary.extent()
    }

    /// The lower bound, in bytes (`MPI_Type_get_extent`, MPI-2.2 §4.1.7): the smallest displacement, or
    /// the bound given by [resizing](DerivedDatatype::resized).
    pub fn lower_bound(&self) -> i64 {
        self.node.summary.lower
    }

    /// The distance from the first byte of the basic elements to the end of the last, which resizing
    /// does not change (`MPI_Type_get_true_extent`, MPI-2.2 §4.1.8).
    pub fn true_extent(&self) -> i64 {
        self.node.summary.data.map_or(0, |(start, end)| end - start)
    }

    /// The first byte of the basic elements (`MPI_Type_get_true_extent`, MPI-2.2 §4.1.8); 0 without
    /// elements.
    pub fn true_lower_bound(&self) -> i64 {
        self.node.summary.data.map_or(0, |(start, _)| start)
    }

    /// The number of basic elements: the length of the type map (`MPI_Get_elements` of one instance,
    /// MPI-2.2 §4.1.11). A pair has two.
    pub fn elements(&self) -> u64 {
        self.node.summary.signature.elements
    }

    /// The predefined datatype of all basic elements, if they have the same one, as accumulates need
    /// (MPI-2.2 §11.3.4); `None` without elements.
    pub fn uniform(&self) -> Option<Datatype> {
        match self.node.summary.signature.kind {
            SignatureKind::One(datatype) => Some(datatype),
            SignatureKind::Empty | SignatureKind::Mixed => None,
        }
    }

    /// Its constructor, with the arguments as given (`MPI_Type_get_envelope` and
    /// `MPI_Type_get_contents`, MPI-2.2 §4.1.13).
    pub fn constructor(&self) -> &Constructor {
        &self.node.constructor
    }

    /// Whether the padding of pair types is among its bytes.
    pub(super) fn has_padding(&self) -> bool {
        self.node.padded
    }

    /// The same datatype under a name, which errors print (`MPI_Type_set_name`, MPI-2.2 §6.8).
    pub fn named(&self, name: &str) -> DerivedDatatype {
        DerivedDatatype { node: self.node.clone(), name: Some(name.into()) }
    }

    /// The name given, or the standard's of a predefined datatype (`MPI_Type_get_name`, MPI-2.2
    /// §6.8).
    pub fn name(&self) -> Option<&str> {
        match (&self.name, &self.node.constructor) {
            (Some(name), _) => Some(name),
            (None, Constructor::Predefined(datatype)) => Some(datatype.name()),
            (None, _) => None,
        }
    }

    /// The signature of the first `elements` basic elements of an array of instances; `None` on
    /// overflow.
    pub(super) fn signature_of(&self, elements: u64) -> Option<Signature> {
        let whole = self.node.summary.signature;
        if elements == 0 || whole.elements == 0 {
            return Some(Signature::EMPTY);
        }
        let instances = whole.repeated(elements / whole.elements)?;
        instances.then(self.beginning(elements % whole.elements)?)
    }

    /// The signature of the first `elements` basic elements of one instance.
    fn beginning(&self, mut elements: u64) -> Option<Signature> {
        if elements == 0 {
            return Some(Signature::EMPTY);
        }
        if elements == self.elements() {
            return Some(self.node.summary.signature);
        }
        if let Some(lowered) = &self.node.lowered {
            return lowered.beginning(elements);
        }
        if let Constructor::Predefined(datatype) = &self.node.constructor {
            // The value of a pair, without its index.
            return datatype.pair().map(|(value, _)| Signature::of(value));
        }
        let Some(members) = self.node.constructor.members() else {
            // All blocks have one element datatype, so their displacements do not matter here.
            let element = self.node.constructor.elements().first()?;
            return element.signature_of(elements);
        };
        let mut signature = Signature::EMPTY;
        for (_, length, element) in members {
            let of_member = elements.min(element.elements() * length);
            signature = signature.then(element.signature_of(of_member)?)?;
            elements -= of_member;
        }
        Some(signature)
    }

    pub(super) fn summary(&self) -> &Summary {
        &self.node.summary
    }

    /// The loops of one instance.
    pub(super) fn items(&self) -> &Items {
        self.items_of(self.node.padded)
    }

    /// The loops of one instance, with the padding of pair types or without.
    pub(super) fn items_of(&self, padded: bool) -> &Items {
        let summary = &self.node.summary;
        let padded = padded && summary.padded_size != summary.size || self.node.padded;
        self.node.items[usize::from(padded)].get_or_init(|| match &self.node.lowered {
            Some(lowered) => lowered.items_of(padded).clone(),
            None => plan::compile(&self.node.constructor, padded),
        })
    }
}

impl From<Datatype> for DerivedDatatype {
    fn from(datatype: Datatype) -> DerivedDatatype {
        DerivedDatatype::new(Call::None, Constructor::Predefined(datatype))
            .expect("a predefined datatype is small")
    }
}

impl From<&DerivedDatatype> for DerivedDatatype {
    fn from(datatype: &DerivedDatatype) -> DerivedDatatype {
        datatype.clone()
    }
}

/// The name, or the constructor cut off after some hundred characters. An unnamed datatype inside it
/// appears by its size.
impl fmt::Debug for DerivedDatatype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_part = f.precision() == Some(Brief::PART);
        match (self.name(), &self.node.constructor) {
            (Some(name), _) => f.write_str(name),
            (None, Constructor::Predefined(datatype)) => write!(f, "{datatype:?}"),
            (None, _) if is_part => write!(f, "a datatype of {} bytes", self.size()),
            (None, constructor) => f.write_str(&Brief::of(constructor)),
        }
    }
}

/// The beginning of a text: a datatype may have a million displacements.
struct Brief(String);

impl Brief {
    const LONGEST: usize = 300;
    /// The precision that marks the parts of a constructor.
    const PART: usize = 0;

    fn of(value: &Constructor) -> String {
        let mut brief = Brief(String::new());
        match write!(brief, "{value:.part$?}", part = Brief::PART) {
            Ok(()) => brief.0,
            Err(_) => brief.0 + "...",
        }
    }
}

impl fmt::Write for Brief {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let available = Brief::LONGEST - self.0.len();
        self.0.push_str(&text[..text.floor_char_boundary(available)]);
        if text.len() > available { Err(fmt::Error) } else { Ok(()) }
    }
}
