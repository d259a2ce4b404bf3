//! The basic elements of a datatype in the order of its type map, without their displacements.

use super::basic::Basic;
use std::ops::ControlFlow;
use std::sync::Arc;

/// A sequence of predefined datatypes. Clones share it.
#[derive(Clone, Debug)]
pub struct Sequence {
    parts: Parts,
    /// `MPI_Type_size`: the packed size.
    pub size: u64,
    /// Bytes in "external32".
    pub external: u64,
    /// The count of `MPI_Get_elements`.
    elements: u64,
    /// The bits of all [`Kind`]s in it.
    pub kinds: u16,
}

#[derive(Clone, Debug)]
enum Parts {
    Of(&'static Basic),
    Repeated(u64, Arc<Sequence>),
    Joined(Arc<[Sequence]>),
}

impl Sequence {
    pub fn empty() -> Sequence {
        let parts = Parts::Joined([].into());
        Sequence { parts, size: 0, external: 0, elements: 0, kinds: 0 }
    }

    pub fn of(basic: &'static Basic) -> Sequence {
        Sequence {
            parts: Parts::Of(basic),
            size: basic.size(),
            external: basic.external(),
            elements: basic.counted(),
            kinds: basic.kind as u16,
        }
    }

    /// This sequence `times` times. The counts saturate, because the library returns an error for a
    /// datatype whose bytes overflow.
    pub fn repeated(&self, times: u64) -> Sequence {
        if times == 0 || self.elements == 0 {
            return Sequence::empty();
        }
        let parts = match &self.parts {
            parts if times == 1 => parts.clone(),
            Parts::Repeated(inner, sequence) => {
                Parts::Repeated(inner.saturating_mul(times), sequence.clone())
            }
            _ => Parts::Repeated(times, Arc::new(self.clone())),
        };
        Sequence {
            parts,
            size: self.size.saturating_mul(times),
            external: self.external.saturating_mul(times),
            elements: self.elements.saturating_mul(times),
            kinds: self.kinds,
        }
    }

    /// The concatenation of sequences.
    pub fn joined(all: Vec<Sequence>) -> Sequence {
        let mut joined = Sequence::empty();
        for part in &all {
            joined.size = joined.size.saturating_add(part.size);
            joined.external = joined.external.saturating_add(part.external);
            joined.elements = joined.elements.saturating_add(part.elements);
            joined.kinds |= part.kinds;
        }
        joined.parts = Parts::Joined(all.into());
        joined
    }

    /// Whether all elements are of one of these kinds.
    pub fn is_of(&self, kinds: u16) -> bool {
        self.kinds & !kinds == 0
    }

    /// Calls `each` with the runs of equal elements of the given number of instances, until it breaks.
    pub fn walk<B>(
        &self,
        times: u64,
        each: &mut impl FnMut(&'static Basic, u64) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        match &self.parts {
            Parts::Of(basic) if times > 0 => each(basic, times),
            Parts::Of(_) => ControlFlow::Continue(()),
            Parts::Repeated(inner, sequence) if matches!(sequence.parts, Parts::Of(_)) => {
                sequence.walk(inner.saturating_mul(times), each)
            }
            Parts::Repeated(inner, sequence) => {
                (0..times).try_for_each(|_| sequence.walk(*inner, each))
            }
            Parts::Joined(all) => {
                (0..times).try_for_each(|_| all.iter().try_for_each(|one| one.walk(1, each)))
            }
        }
    }

    /// The number of elements in packed bytes of instances; `None` if the bytes end inside an element.
    pub fn elements_of(&self, bytes: u64) -> Option<u64> {
        let whole = match self.size {
            0 => return (bytes == 0).then_some(0),
            size => (bytes / size).checked_mul(self.elements)?,
        };
        let rest = self.elements_in(bytes % self.size)?;
        whole.checked_add(rest)
    }

    /// [`Sequence::elements_of`] for a part of one instance.
    fn elements_in(&self, bytes: u64) -> Option<u64> {
        if bytes == 0 {
            return Some(0);
        }
        match &self.parts {
            Parts::Of(basic) => (1..=basic.counted()).find(|k| basic.end_of(*k) == bytes),
            Parts::Repeated(_, sequence) => sequence.elements_of(bytes),
            Parts::Joined(all) => {
                let (mut elements, mut left) = (0, bytes);
                for one in all.iter() {
                    if left < one.size {
                        return Some(elements + one.elements_in(left)?);
                    }
                    (elements, left) = (elements + one.elements, left - one.size);
                }
                (left == 0).then_some(elements)
            }
        }
    }

    /// Packed bytes of the first elements of instances; `None` if they have no such elements.
    pub fn bytes_of(&self, elements: u64) -> Option<u64> {
        let whole = match self.elements {
            0 => return (elements == 0).then_some(0),
            all => (elements / all).checked_mul(self.size)?,
        };
        whole.checked_add(self.bytes_in(elements % self.elements)?)
    }

    fn bytes_in(&self, elements: u64) -> Option<u64> {
        if elements == 0 {
            return Some(0);
        }
        match &self.parts {
            Parts::Of(basic) => Some(basic.end_of(elements)),
            Parts::Repeated(_, sequence) => sequence.bytes_of(elements),
            Parts::Joined(all) => {
                let (mut bytes, mut left) = (0, elements);
                for one in all.iter() {
                    if left < one.elements {
                        return Some(bytes + one.bytes_in(left)?);
                    }
                    (bytes, left) = (bytes + one.size, left - one.elements);
                }
                (left == 0).then_some(bytes)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::basic::BASICS;
    use super::*;

    fn basic(name: &str) -> Sequence {
        Sequence::of(BASICS.iter().find(|basic| basic.name == name).unwrap())
    }

    #[test]
    fn bytes_and_elements_belong_to_each_other() {
        let pair = Sequence::joined(vec![basic("MPI_INT"), basic("MPI_DOUBLE_INT").repeated(2)]);
        let whole = pair.repeated(3);
        assert_eq!((whole.size, whole.external), (84, 84));
        // An int, and twice a double and an int; and again.
        let ends = [0, 4, 12, 16, 24, 28, 32, 40, 44, 52, 56];
        for bytes in 0..=56 {
            let elements = ends.iter().position(|end| *end == bytes).map(|k| k as u64);
            assert_eq!(whole.elements_of(bytes), elements, "{bytes}");
        }
        for (elements, end) in ends.iter().enumerate() {
            assert_eq!(whole.bytes_of(elements as u64), Some(*end), "{elements}");
        }
    }

    #[test]
    fn the_elements_are_walked_in_order() {
        let both = Sequence::joined(vec![basic("MPI_INT").repeated(2), basic("MPI_CHAR")]);
        let mut seen = Vec::new();
        let walked: ControlFlow<()> = both.repeated(2).walk(1, &mut |basic, times| {
            seen.push((basic.name, times));
            ControlFlow::Continue(())
        });
        assert!(walked.is_continue());
        assert_eq!(seen, [("MPI_INT", 2), ("MPI_CHAR", 1), ("MPI_INT", 2), ("MPI_CHAR", 1)]);
    }

    #[test]
    fn nothing_has_no_elements() {
        let nothing = basic("MPI_INT").repeated(0);
        assert_eq!((nothing.elements_of(0), nothing.elements_of(4)), (Some(0), None));
        assert_eq!((nothing.bytes_of(0), nothing.bytes_of(1)), (Some(0), None));
    }
}
