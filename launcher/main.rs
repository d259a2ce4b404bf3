//! rmarun.
fn main() {}
