//! Every pattern of bits must be a value of each field.
use onesided::Pod;

#[derive(Clone, Copy, Pod)]
#[repr(C)]
struct Flagged {
    is_set: bool, //~ E0277 bool Pod
    mark: char, //~ E0277 char Pod
}

fn main() {}
