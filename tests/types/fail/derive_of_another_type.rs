//! The derive is for structs whose layout is known where they are defined.
use onesided::Pod;

#[derive(Clone, Copy, Pod)]
struct Open { //~ error layout repr
    number: u32,
}

#[derive(Clone, Copy, Pod)]
#[repr(C)]
struct Generic<T> { //~ error structs parameters
    value: T,
}

#[derive(Clone, Copy, Pod)]
#[repr(u8)]
enum Colour { //~ error structs enum
    Red,
}

fn main() {}
