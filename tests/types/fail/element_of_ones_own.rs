//! `Element` and `Integer` are sealed: the library must know how to update an element atomically.
use onesided::{Datatype, Element, Integer, Op};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
struct Mine(u64);

impl Element for Mine { //~ E0046 //~ E0277 Element
    const DATATYPE: Datatype = Datatype::U64;
    const IS_INTEGER: bool = true;
    type Carrier = u64;
    fn function(_: Op) -> Option<fn(Self, Self) -> Self> {
        None
    }
}

impl Integer for Mine {} //~ E0277 Element Integer

fn main() {}
