//! The twin: committed, it is a layout at origin and target.
use onesided::engine::{Layout, Origin};
use onesided::{Datatype, DerivedDatatype, Rank, Result, Universe, WindowOptions};

pub fn main() -> Result<()> {
    let universe = Universe::init()?;
    let win = WindowOptions::new().allocate_bytes(universe.world(), 512, 8)?;
    let column = DerivedDatatype::vector(8, 1, 8, Datatype::F64)?.commit();
    let matrix = [1.0; 64];
    win.lock_all()?;
    let origin = unsafe { Origin::new(matrix.as_ptr().cast(), 1, &column) };
    win.put_layout(origin, Rank(0), 0, Layout::new(1, &column))?;
    win.put_layout(origin, Rank(0), 0, Layout::new(8, Datatype::F64))?;
    win.unlock_all()?;
    win.free()
}
