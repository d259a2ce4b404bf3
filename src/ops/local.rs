//! Packing and combining buffers of this process.
#![allow(unsafe_code, reason = "moves and combines what the caller's addresses and counts say")]

use super::layout::Layout;
use super::untyped::{Origin, OriginMut};
use crate::call::Call;
use crate::datatype::Operation;
use crate::datatype::{Element, TransferSide, Visitor, zip_sides, zip_strips};
use crate::error::{Error, Place, Result};
use crate::op::Op;
use crate::shm::{copy, copy_strip};

impl Origin<'_> {
    /// Copies the entries to `to`, one behind the other, as [`CommittedDatatype::pack`] does
    /// (`MPI_Pack`, MPI-2.2 §4.2). They do not lie there. Local; does not block.
    ///
    /// # Errors
    /// [`Error::Count`] if `to` does not have exactly their bytes.
    ///
    /// [`CommittedDatatype::pack`]: crate::CommittedDatatype::pack
    pub fn pack(&self, to: &mut [u8]) -> Result<()> {
        let packed = packed(Call::Pack, &self.layout, to.len())?;
        zip_strips(self.layout.side(), packed, |strip| {
            // SAFETY: 1. the first obligation of `Origin::new`; as many bytes of the slice. 2. The caller
            // says so.
            unsafe { copy_strip(self.start, to.as_mut_ptr(), strip) };
        });
        Ok(())
    }
}

impl OriginMut<'_> {
    /// The other way round: copies the packed entries `from` to where they belong (`MPI_Unpack`,
    /// MPI-2.2 §4.2). Local; does not block.
    ///
    /// # Errors
    /// As [`Origin::pack`].
    pub fn unpack(&mut self, from: &[u8]) -> Result<()> {
        let packed = packed(Call::Unpack, &self.layout, from.len())?;
        zip_strips(packed, self.layout.side(), |strip| {
            // SAFETY: as in `Origin::pack`, by the first obligation of `OriginMut::new`.
            unsafe { copy_strip(from.as_ptr(), self.start, strip) };
        });
        Ok(())
    }
}

/// So many packed bytes, if they are those of the entries.
fn packed(call: Call, layout: &Layout<'_>, bytes: usize) -> Result<TransferSide<'static>> {
    let needed = layout.bytes().filter(|_| layout.known_range().is_some());
    if needed == Some(bytes as u64) {
        return Ok(TransferSide::Packed(bytes as u64));
    }
    let at = Place { call, ..PLACE };
    let (found, needed) = (bytes, needed.unwrap_or(u64::MAX) as usize);
    Err(Error::Count { at, what: "packed buffer, in bytes,", found, needed })
}

impl Op {
    /// Replaces each element of `inout` by this operation of it and the element of `input` in the same
    /// place of the type map (`MPI_Reduce_local`, MPI-2.2 §5.9.7). The buffers do not overlap, and need
    /// not be aligned. Local; does not block.
    ///
    /// # Errors
    /// [`Error::Datatype`] if the basic elements of both are not of one predefined datatype;
    /// [`Error::Operation`] if the operation is not defined for it; [`Error::Count`] if one has more
    /// elements than the other. Nothing is changed then.
    pub fn reduce_local(self, input: Origin<'_>, inout: OriginMut<'_>) -> Result<()> {
        let (found, needed) = (input.layout.values(), inout.layout.values());
        if found != needed || inout.layout.known_range().is_none() {
            let (found, needed) = (found as usize, needed as usize);
            return Err(Error::Count { at: PLACE, what: "input buffer", found, needed });
        }
        if needed == 0 {
            return Ok(());
        }
        let datatype = inout.layout.uniform();
        match datatype.filter(|_| input.layout.uniform() == datatype) {
            Some(datatype) => datatype.visit(Local { op: self, input, inout }),
            None => Err(mixed(&inout.layout)),
        }
    }
}

const PLACE: Place = Place { call: Call::ReduceLocal, window: None, rank: None };

#[cold]
fn mixed(layout: &Layout<'_>) -> Error {
    Error::Datatype {
        at: PLACE,
        datatype: format!("{:?}", layout.parts().1),
        why: "all basic elements of a reduction must have the same predefined datatype",
    }
}

/// What is combined: as many elements of both.
struct Local<'d> {
    op: Op,
    input: Origin<'d>,
    inout: OriginMut<'d>,
}

impl Visitor for Local<'_> {
    type Output = Result<()>;

    fn visit<E: Element>(self) -> Result<()> {
        let Some(operation) = E::operation(self.op) else {
            let (op, datatype) = (self.op.name(), E::DATATYPE.name());
            return Err(Error::Operation { at: PLACE, op, datatype });
        };
        let (from, to) = (self.input.start, self.inout.start);
        let layouts = [&self.input.layout, &self.inout.layout];
        zip_sides(layouts.map(|layout| layout.with_padding().side()), |strip| {
            let n = strip.bytes / size_of::<E>();
            for block in 0..strip.blocks {
                let [input, inout] =
                    strip.patterns.each_ref().map(|pattern| pattern.block(block) as isize);
                let (from, to) = (from.wrapping_offset(input), to.wrapping_offset(inout));
                // SAFETY: `n` entries of the buffers, by the obligations of `Origin::new` and
                // `OriginMut::new`, which nobody else accesses.
                unsafe { combine(operation, from.cast(), to.cast(), n) };
            }
            true
        });
        Ok(())
    }
}

/// The element at `from`, which need not be aligned; the padding of a pair is zero, and not read.
///
/// # Safety
/// The bytes of its numbers are valid for reads.
#[inline(always)]
pub(super) unsafe fn load<E: Element>(from: *const u8) -> E {
    let mut value = E::zeroed();
    let to = (&raw mut value).cast::<u8>();
    for (at, bytes) in E::DATATYPE.numbers(size_of::<E>()) {
        // SAFETY: 1. the caller's obligation; bytes of `value`. 2. `value` is new.
        unsafe { copy(from.wrapping_add(at), to.wrapping_add(at), bytes) };
    }
    value
}

/// Stores an element at `to`, which need not be aligned; the padding of a pair there stays as it is.
///
/// # Safety
/// The bytes of its numbers are valid for writes, and not those of `value`.
#[inline(always)]
pub(super) unsafe fn store<E: Element>(value: &E, to: *mut u8) {
    let from = std::ptr::from_ref(value).cast::<u8>();
    for (at, bytes) in E::DATATYPE.numbers(size_of::<E>()) {
        // SAFETY: 1. and 2. bytes of `value`, and the caller's obligation.
        unsafe { copy(from.wrapping_add(at), to.wrapping_add(at), bytes) };
    }
}

/// Replaces each of `n` values at `to` by the operation of it and that at `from`.
///
/// # Safety
/// The numbers of `n` values are valid at `from` for reads and at `to` for reads and writes, nobody else
/// accesses them, and they do not overlap. They need not be aligned.
unsafe fn combine<E: Element>(operation: &Operation<E>, from: *const E, to: *mut E, n: usize) {
    if from.is_aligned() && to.is_aligned() && !E::DATATYPE.is_padded() {
        // SAFETY: 1. and 2. of `widest` by the caller's obligation; aligned.
        return unsafe { (operation.many)(to, from, n) };
    }
    for i in 0..n {
        let (from, at) = (from.wrapping_add(i).cast(), to.wrapping_add(i).cast());
        // SAFETY: the caller's obligation; `i < n`.
        let value = unsafe { load(from) };
        // SAFETY: as above.
        let old = unsafe { load(at) };
        // SAFETY: as above.
        unsafe { store(&(operation.one)(old, value), at) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::{CommittedDatatype, Datatype, DerivedDatatype};
    use crate::error::ErrorClass;

    /// `op` on the bytes of two slices from that byte on.
    fn run(
        op: Op,
        datatype: &CommittedDatatype,
        count: usize,
        from: &[u8],
        to: &mut [u8],
    ) -> Result<()> {
        let range = datatype.range(count).unwrap();
        assert!(range.start >= 0 && range.end as usize <= from.len().min(to.len()));
        // SAFETY: the range lies in the slice, which is borrowed.
        let input = unsafe { Origin::new(from.as_ptr(), count, datatype) };
        // SAFETY: as above, for writing too.
        let inout = unsafe { OriginMut::new(to.as_mut_ptr(), count, datatype) };
        op.reduce_local(input, inout)
    }

    #[test]
    fn what_is_unpacked_is_what_was_packed() {
        let datatype = DerivedDatatype::indexed(&[2, 1], &[3, 0], Datatype::I16).unwrap().commit();
        let from: Vec<u8> = (0..20).collect();
        // SAFETY: two instances, ten bytes apart, lie in the slice.
        let origin = unsafe { Origin::new(from.as_ptr(), 2, &datatype) };
        let mut packed = [0; 12];
        origin.pack(&mut packed).unwrap();
        assert_eq!(packed, [6, 7, 8, 9, 0, 1, 16, 17, 18, 19, 10, 11]);
        let mut to = [0xFF; 20];
        // SAFETY: as above.
        let mut into = unsafe { OriginMut::new(to.as_mut_ptr(), 2, &datatype) };
        assert_eq!(into.unpack(&packed[..11]).unwrap_err().class(), ErrorClass::Count);
        into.unpack(&packed).unwrap();
        for (k, byte) in to.into_iter().enumerate() {
            let gap = matches!(k % 10, 2..6);
            assert_eq!(byte, if gap { 0xFF } else { from[k] });
        }
    }

    #[test]
    fn elements_are_combined_wherever_they_lie() {
        let every_second = DerivedDatatype::vector(3, 1, 2, Datatype::I32).unwrap().commit();
        let from: Vec<u8> = (0..6i32).flat_map(|k| (10 * k).to_ne_bytes()).collect();
        for shift in 0..4 {
            // Aligned or not.
            let mut to = vec![0; shift];
            to.extend((0..6i32).flat_map(i32::to_ne_bytes));
            run(Op::Sum, &every_second, 1, &from, &mut to[shift..]).unwrap();
            let (now, _) = to[shift..].as_chunks();
            let now: Vec<i32> = now.iter().map(|bytes| i32::from_ne_bytes(*bytes)).collect();
            assert_eq!(now, [0, 1, 22, 3, 44, 5]);
        }
    }

    #[test]
    fn what_is_not_defined_changes_nothing() {
        let mixed = DerivedDatatype::structure(
            &[1, 1],
            &[0, 8],
            &[Datatype::I32.into(), Datatype::F64.into()],
        );
        let cases = [
            (Op::Band, CommittedDatatype::from(Datatype::F64), ErrorClass::Op),
            (Op::Maxloc, Datatype::I32.into(), ErrorClass::Op),
            (Op::Sum, mixed.unwrap().commit(), ErrorClass::Type),
        ];
        for (op, datatype, class) in cases {
            let mut to = [7; 16];
            let refused = run(op, &datatype, 1, &[1; 16], &mut to).unwrap_err();
            assert_eq!((refused.class(), to), (class, [7; 16]), "{refused}");
        }
    }

    #[test]
    fn every_operation_of_every_datatype_is_that_of_its_type() {
        struct Expected<'a>(Op, &'a [u8], &'a [u8]);
        impl Visitor for Expected<'_> {
            type Output = Option<Vec<u8>>;
            fn visit<E: Element>(self) -> Option<Vec<u8>> {
                let read = |bytes: &[u8]| bytemuck::pod_read_unaligned::<E>(bytes);
                let value = E::function(self.0)?(read(self.2), read(self.1));
                Some(bytemuck::bytes_of(&value).to_vec())
            }
        }
        for datatype in Datatype::ALL.into_iter().chain(Datatype::UNTYPED) {
            let bytes = |seed: usize| (0..datatype.size()).map(move |k| (k * 7 + seed) as u8 % 63);
            let (from, to): (Vec<u8>, Vec<u8>) = (bytes(3).collect(), bytes(50).collect());
            for op in Op::ALL {
                let expected = datatype.visit(Expected(op, &from, &to));
                let mut now = to.clone();
                let done = run(op, datatype.into(), 1, &from, &mut now);
                assert_eq!(done.is_ok(), expected.is_some(), "{op:?} {datatype:?}");
                assert_eq!(now, expected.unwrap_or(to.clone()), "{op:?} {datatype:?}");
            }
        }
    }
}
