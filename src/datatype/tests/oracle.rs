//! The type map as the standard defines it, entry by entry.

use crate::datatype::{Datatype, DerivedDatatype, Distribution, Order};
use proptest::prelude::*;

/// A type map.
#[derive(Clone, Debug, Default)]
pub struct Map {
    pub entries: Vec<(Datatype, i64)>,
    /// Lower and upper bound, and whether markers say so; none if nothing does.
    pub bounds: Option<(i64, i64, bool)>,
}

impl Map {
    fn basic(datatype: Datatype) -> Map {
        let upper = datatype.size() as i64;
        Map { entries: vec![(datatype, 0)], bounds: Some((0, upper, false)) }
    }

    pub fn extent(&self) -> i64 {
        self.bounds.map_or(0, |(lower, upper, _)| upper - lower)
    }

    /// Puts a copy of `other` at `displacement`.
    fn put(&mut self, other: &Map, displacement: i64) {
        let moved = other.entries.iter().map(|(datatype, at)| (*datatype, at + displacement));
        self.entries.extend(moved);
        let Some((lower, upper, marked)) = other.bounds else { return };
        let (lower, upper) = (lower + displacement, upper + displacement);
        self.bounds = Some(match self.bounds {
            Some(bounds) if bounds.2 && !marked => bounds,
            Some(bounds) if bounds.2 == marked => {
                (bounds.0.min(lower), bounds.1.max(upper), marked)
            }
            _ => (lower, upper, marked),
        });
    }

    fn put_block(&mut self, other: &Map, displacement: i64, length: usize) {
        for i in 0..length as i64 {
            self.put(other, displacement + i * other.extent());
        }
    }

    fn pad(&mut self) {
        let align = self.entries.iter().map(|(datatype, _)| alignment(*datatype)).max();
        if let (Some((lower, upper, false)), Some(align)) = (self.bounds, align) {
            let rest = (upper - lower) % align;
            let epsilon = if rest == 0 { 0 } else { align - rest };
            self.bounds = Some((lower, upper + epsilon, false));
        }
    }

    /// The entries with a pair as the two numbers that it is made of.
    pub fn numbers(&self) -> Vec<(Datatype, i64)> {
        let numbers = |(datatype, at): &(Datatype, i64)| {
            let index = |offset| (Datatype::I32, at + offset);
            match datatype {
                Datatype::DoubleInt => vec![(Datatype::F64, *at), index(8)],
                Datatype::ShortInt => vec![(Datatype::I16, *at), index(4)],
                _ => vec![(*datatype, *at)],
            }
        };
        self.entries.iter().flat_map(numbers).collect()
    }

    /// The offsets of all bytes of `count` instances, in order.
    pub fn bytes(&self, count: usize) -> Vec<i64> {
        let mut many = Map::default();
        many.put_block(self, 0, count);
        let entry = |(datatype, at): &(Datatype, i64)| *at..*at + datatype.size() as i64;
        many.numbers().iter().flat_map(entry).collect()
    }

    /// The basic datatypes of `count` instances, in order.
    pub fn signature(&self, count: usize) -> Vec<Datatype> {
        (0..count).flat_map(|_| self.numbers()).map(|(datatype, _)| datatype).collect()
    }
}

fn alignment(datatype: Datatype) -> i64 {
    match datatype {
        Datatype::U8 | Datatype::I8 => 1,
        Datatype::U16 | Datatype::I16 => 2,
        Datatype::U32 | Datatype::I32 | Datatype::F32 | Datatype::C32 => 4,
        Datatype::FloatInt | Datatype::TwoInt | Datatype::ShortInt => 4,
        Datatype::LongDouble | Datatype::LongDoubleComplex => 16,
        Datatype::LongDoubleInt | Datatype::I128 => 16,
        _ => 8,
    }
}

/// How to make a datatype.
#[derive(Clone, Debug)]
pub enum Spec {
    Basic(Datatype),
    Contiguous(usize, Box<Spec>),
    Vector(usize, usize, i64, Box<Spec>),
    Hvector(usize, usize, i64, Box<Spec>),
    Indexed(Vec<(usize, i64)>, Box<Spec>),
    Hindexed(Vec<(usize, i64)>, Box<Spec>),
    IndexedBlock(usize, Vec<i64>, Box<Spec>),
    HindexedBlock(usize, Vec<i64>, Box<Spec>),
    Struct(Vec<(usize, i64, Spec)>),
    Subarray(Vec<(usize, usize, usize)>, Order, Box<Spec>),
    Darray(usize, Vec<(usize, Distribution, usize)>, Order, Box<Spec>),
    Resized(i64, i64, Box<Spec>),
    Dup(Box<Spec>),
}

impl Spec {
    /// The datatype, by the constructors under test.
    pub fn datatype(&self) -> DerivedDatatype {
        use DerivedDatatype as D;
        let made = match self {
            Spec::Basic(datatype) => Ok((*datatype).into()),
            Spec::Contiguous(count, of) => D::contiguous(*count, of.datatype()),
            Spec::Vector(count, length, stride, of) => {
                D::vector(*count, *length, *stride, of.datatype())
            }
            Spec::Hvector(count, length, stride, of) => {
                D::hvector(*count, *length, *stride, of.datatype())
            }
            Spec::Indexed(blocks, of) => {
                let (lengths, at): (Vec<_>, Vec<_>) = blocks.iter().copied().unzip();
                D::indexed(&lengths, &at, of.datatype())
            }
            Spec::Hindexed(blocks, of) => {
                let (lengths, at): (Vec<_>, Vec<_>) = blocks.iter().copied().unzip();
                D::hindexed(&lengths, &at, of.datatype())
            }
            Spec::IndexedBlock(length, at, of) => D::indexed_block(*length, at, of.datatype()),
            Spec::HindexedBlock(length, at, of) => D::hindexed_block(*length, at, of.datatype()),
            Spec::Struct(members) => {
                let lengths: Vec<_> = members.iter().map(|member| member.0).collect();
                let at: Vec<_> = members.iter().map(|member| member.1).collect();
                let of: Vec<_> = members.iter().map(|member| member.2.datatype()).collect();
                D::structure(&lengths, &at, &of)
            }
            Spec::Subarray(dims, order, of) => {
                let sizes: Vec<_> = dims.iter().map(|dim| dim.0).collect();
                let subsizes: Vec<_> = dims.iter().map(|dim| dim.1).collect();
                let starts: Vec<_> = dims.iter().map(|dim| dim.2).collect();
                D::subarray(&sizes, &subsizes, &starts, *order, of.datatype())
            }
            Spec::Darray(rank, dims, order, of) => {
                let sizes: Vec<_> = dims.iter().map(|dim| dim.0).collect();
                let by: Vec<_> = dims.iter().map(|dim| dim.1).collect();
                let grid: Vec<_> = dims.iter().map(|dim| dim.2).collect();
                let size = grid.iter().product();
                D::darray(size, *rank, &sizes, &by, &grid, *order, of.datatype())
            }
            Spec::Resized(lower, extent, of) => D::resized(*lower, *extent, of.datatype()),
            Spec::Dup(of) => of.datatype().dup(),
        };
        made.expect("the arguments are right")
    }

    /// The type map, by definition.
    pub fn map(&self) -> Map {
        let mut map = Map::default();
        match self {
            Spec::Basic(datatype) => return Map::basic(*datatype),
            Spec::Contiguous(count, of) => map.put_block(&of.map(), 0, *count),
            Spec::Vector(count, length, stride, of) => {
                let of = of.map();
                for i in 0..*count as i64 {
                    map.put_block(&of, i * stride * of.extent(), *length);
                }
            }
            Spec::Hvector(count, length, stride, of) => {
                let of = of.map();
                (0..*count as i64).for_each(|i| map.put_block(&of, i * stride, *length));
            }
            Spec::Indexed(blocks, of) => {
                let of = of.map();
                blocks.iter().for_each(|(n, at)| map.put_block(&of, at * of.extent(), *n));
            }
            Spec::Hindexed(blocks, of) => {
                let of = of.map();
                blocks.iter().for_each(|(n, at)| map.put_block(&of, *at, *n));
            }
            Spec::IndexedBlock(length, at, of) => {
                let of = of.map();
                at.iter().for_each(|at| map.put_block(&of, at * of.extent(), *length));
            }
            Spec::HindexedBlock(length, at, of) => {
                let of = of.map();
                at.iter().for_each(|at| map.put_block(&of, *at, *length));
            }
            Spec::Struct(members) => {
                members.iter().for_each(|(n, at, of)| map.put_block(&of.map(), *at, *n));
                map.pad();
            }
            Spec::Resized(lower, extent, of) => {
                map = of.map();
                map.bounds = Some((*lower, lower + extent, true));
            }
            Spec::Dup(of) => return of.map(),
            Spec::Subarray(..) | Spec::Darray(..) => self.part_of_array(&mut map),
        }
        map
    }

    fn part_of_array(&self, map: &mut Map) {
        match self {
            Spec::Subarray(dims, order, of) => {
                let sizes: Vec<_> = dims.iter().map(|dim| dim.0).collect();
                array(map, &of.map(), &sizes, *order, |dim, i| {
                    let (_, sub, start) = dims[dim];
                    (start..start + sub).contains(&i)
                });
            }
            Spec::Darray(rank, dims, order, of) => {
                let sizes: Vec<_> = dims.iter().map(|dim| dim.0).collect();
                array(map, &of.map(), &sizes, *order, |dim, i| {
                    // The rank's coordinate: ranks run along the last dimension first.
                    let behind: usize = dims[dim + 1..].iter().map(|dim| dim.2).product();
                    let (size, by, processes) = dims[dim];
                    owner(size, by, processes, i) == rank / behind % processes
                });
            }
            _ => unreachable!("no array"),
        }
    }
}

/// The process of a dimension that has element `i`.
fn owner(size: usize, by: Distribution, processes: usize, i: usize) -> usize {
    match by {
        Distribution::None => 0,
        Distribution::Block(block) => i / block.unwrap_or(size.div_ceil(processes)),
        Distribution::Cyclic(block) => i / block.unwrap_or(1) % processes,
    }
}

/// Puts the elements of an array whose indices are all wanted, in the order of memory.
fn array(
    map: &mut Map,
    of: &Map,
    sizes: &[usize],
    order: Order,
    wanted: impl Fn(usize, usize) -> bool,
) {
    let all: usize = sizes.iter().product();
    for at in 0..all {
        let mut rest = at;
        let mut inside = true;
        let dims: Vec<_> = match order {
            Order::C => (0..sizes.len()).rev().collect(),
            Order::Fortran => (0..sizes.len()).collect(),
        };
        for dim in dims {
            inside &= wanted(dim, rest % sizes[dim]);
            rest /= sizes[dim];
        }
        if inside {
            map.put(of, at as i64 * of.extent());
        }
    }
    map.bounds = Some((0, all as i64 * of.extent(), true));
}

fn basic() -> impl Strategy<Value = Spec> {
    use Datatype::*;
    prop::sample::select(vec![U8, I16, I32, F64, F64, C64, DoubleInt, ShortInt, LongDouble])
        .prop_map(Spec::Basic)
}

fn order() -> impl Strategy<Value = Order> {
    prop::sample::select(vec![Order::C, Order::Fortran])
}

fn subarray_dim() -> impl Strategy<Value = (usize, usize, usize)> {
    (1..5usize)
        .prop_flat_map(|size| (Just(size), 1..=size))
        .prop_flat_map(|(size, sub)| (Just(size), Just(sub), 0..=size - sub))
}

fn darray_dim() -> impl Strategy<Value = (usize, Distribution, usize)> {
    let one = (1..7usize, 1..4usize, 1..4usize, 0..5u8);
    one.prop_map(|(size, processes, block, kind)| match kind {
        0 => (size, Distribution::None, 1),
        1 => (size, Distribution::Block(None), processes),
        2 => (size, Distribution::Block(Some(size.div_ceil(processes) + block - 1)), processes),
        3 => (size, Distribution::Cyclic(None), processes),
        _ => (size, Distribution::Cyclic(Some(block)), processes),
    })
}

/// Datatypes nested up to four deep.
pub fn spec() -> impl Strategy<Value = Spec> {
    basic().prop_recursive(4, 24, 3, |of| {
        let boxed = of.clone().prop_map(Box::new).boxed();
        let blocks = prop::collection::vec((0..4usize, -6..12i64), 0..5);
        let far = prop::collection::vec((0..3usize, -40..90i64), 0..5);
        let ats = prop::collection::vec(-20..40i64, 0..5);
        prop_oneof![
            (0..4usize, boxed.clone()).prop_map(|(n, of)| Spec::Contiguous(n, of)),
            (0..4usize, 0..4usize, -4..6i64, boxed.clone())
                .prop_map(|(n, length, stride, of)| Spec::Vector(n, length, stride, of)),
            (0..4usize, 0..3usize, -30..60i64, boxed.clone())
                .prop_map(|(n, length, stride, of)| Spec::Hvector(n, length, stride, of)),
            (blocks, boxed.clone()).prop_map(|(blocks, of)| Spec::Indexed(blocks, of)),
            (far, boxed.clone()).prop_map(|(blocks, of)| Spec::Hindexed(blocks, of)),
            (0..3usize, ats.clone(), boxed.clone())
                .prop_map(|(n, at, of)| Spec::IndexedBlock(n, at, of)),
            (0..3usize, ats, boxed.clone()).prop_map(|(n, at, of)| Spec::HindexedBlock(n, at, of)),
            prop::collection::vec((0..3usize, -20..60i64, of), 0..4).prop_map(Spec::Struct),
            (prop::collection::vec(subarray_dim(), 1..4), order(), boxed.clone())
                .prop_map(|(dims, order, of)| Spec::Subarray(dims, order, of)),
            (any::<usize>(), prop::collection::vec(darray_dim(), 1..4), order(), boxed.clone())
                .prop_map(|(rank, dims, order, of)| {
                    let processes: usize = dims.iter().map(|dim| dim.2).product();
                    Spec::Darray(rank % processes, dims, order, of)
                }),
            (-30..30i64, -40..80i64, boxed.clone())
                .prop_map(|(lower, extent, of)| Spec::Resized(lower, extent, of)),
            boxed.prop_map(Spec::Dup),
        ]
    })
}
