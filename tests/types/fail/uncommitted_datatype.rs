//! A datatype must be committed before it can be used in communication.
use onesided::engine::{Layout, Origin, Win};
use onesided::{Datatype, DerivedDatatype, Rank, Result};

fn main() {}

fn target(win: &Win, column: &DerivedDatatype, origin: Origin<'_>) -> Result<()> {
    win.put_layout(origin, Rank(0), 0, Layout::new(1, column)) //~ E0277 CommittedDatatype DerivedDatatype
}

fn origin(win: &Win, column: &DerivedDatatype, start: *const u8) -> Result<()> {
    let origin = unsafe { Origin::new(start, 1, column) }; //~ E0277 CommittedDatatype DerivedDatatype
    win.put_layout(origin, Rank(0), 0, Layout::new(8, Datatype::F64))
}
