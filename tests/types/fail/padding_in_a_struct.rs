//! The derive refuses padding, whose bytes other ranks would read although nothing has written them.
use onesided::Pod;

#[derive(Clone, Copy, Pod)]
#[repr(C)]
struct Between {
    number: u32,
    mass: f64, //~ E0080 Between padding mass alignment _padding
}

#[derive(Clone, Copy, Pod)]
#[repr(C)]
struct Behind { //~ E0080 Behind padding end alignment _padding
    mass: f64,
    number: u32,
}

#[derive(Clone, Copy, Pod)]
#[repr(C, align(16))]
struct Aligned(u64); //~ E0080 Aligned padding end

fn main() {}
