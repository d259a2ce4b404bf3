//! The windows of a program, made and freed.
#![allow(unsafe_code, reason = "the engine exposes memory by address")]

use crate::programs::program::{Made, Members, Part, Program, WindowSpec};
use crate::programs::typed::{self, Typed};
use onesided::engine::{ExposedBytes, Win};
use onesided::{Comm, Memory, Universe, WindowOptions};

/// A window of the engine or of the typed face.
pub enum Window {
    Engine(Box<Exposed>),
    Typed(Box<dyn Typed>),
}

impl Window {
    /// Makes the windows of a program.
    pub fn all(universe: &Universe, comm: &Comm, program: &Program) -> Vec<Window> {
        let made = |spec: &WindowSpec| match spec.made {
            Made::Typed(datatype) => {
                let bytes = spec.parts[comm.rank().index()].bytes;
                Window::Typed(typed::window(comm, datatype, bytes))
            }
            _ => Window::Engine(Box::new(Exposed::new(universe, comm, spec))),
        };
        program.windows.iter().map(made).collect()
    }

    /// This rank's part, by local loads.
    pub fn own(&self) -> Vec<u8> {
        match self {
            Window::Engine(exposed) => exposed.own(),
            Window::Typed(window) => window.own(),
        }
    }

    pub fn free(self) {
        match self {
            Window::Engine(exposed) => exposed.free(),
            Window::Typed(window) => window.free(),
        }
    }
}

/// A window of the engine with what its memory needs.
pub struct Exposed {
    pub win: Win,
    spec: WindowSpec,
    /// For dynamic windows, where each rank's part begins.
    addresses: Vec<u64>,
    _memory: Memory<u64>,
}

/// The communicator of the program's windows; `None` on a rank that has no part in them.
pub fn communicator(universe: &Universe, members: Members) -> Option<Comm> {
    let world = universe.world();
    match members {
        Members::World => Some(world.clone()),
        Members::Reversed => {
            let key = -(world.rank().0 as i32);
            world.split(Some(0), key).expect("a communicator")
        }
        Members::Fewer => {
            let group = world.group().excl(&[world.size() - 1]).expect("there is a last rank");
            world.create(&group).expect("a communicator")
        }
    }
}

impl Exposed {
    fn new(universe: &Universe, comm: &Comm, spec: &WindowSpec) -> Exposed {
        let part = spec.parts[comm.rank().index()];
        let options = WindowOptions::new().disp_unit(part.unit);
        let mut memory = memory(universe, part);
        let start = memory.as_mut_ptr().cast::<u8>().wrapping_add(part.skew as usize);
        let mut addresses = Vec::new();
        let win = match spec.made {
            Made::Allocate => options.allocate_bytes(comm, part.bytes, 1),
            Made::Shared => options.allocate_shared_bytes(comm, part.bytes, 1),
            // SAFETY: the memory lives as long as the window; no other thread uses it.
            Made::Create => unsafe {
                options.create_bytes(comm, ExposedBytes::new(start, part.bytes), 1)
            },
            _ => WindowOptions::new().create_dynamic_bytes(comm),
        };
        let win = win.expect("a window");
        if spec.made == Made::Dynamic {
            // SAFETY: as above.
            unsafe { win.attach(ExposedBytes::new(start, part.bytes)) }.expect("attached memory");
            addresses = comm.allgather(&[start as u64]).expect("addresses");
        }
        Exposed { win, spec: spec.clone(), addresses, _memory: memory }
    }

    /// The displacement at which the call finds the program's.
    pub fn disp(&self, target: Option<u32>, disp: u64) -> u64 {
        let target = target.unwrap_or_default() as usize;
        self.addresses.get(target).map_or(disp, |address| address + disp)
    }

    /// Bytes of the target's part.
    pub fn bytes(&self, target: Option<u32>) -> u64 {
        target.map_or(0, |target| self.spec.parts[target as usize].bytes)
    }

    /// A displacement behind the part of the target.
    pub fn outside(&self, target: Option<u32>, value: u64) -> u64 {
        let part = self.spec.parts[target.unwrap_or_default() as usize];
        self.disp(target, part.bytes.div_ceil(part.unit) + value % 3)
    }

    fn own(&self) -> Vec<u8> {
        let rank = self.win.comm().rank().0;
        let mut bytes = vec![0xEE; self.spec.parts[rank as usize].bytes as usize];
        self.win.load(self.disp(Some(rank), 0), &mut bytes).expect("the own part");
        bytes
    }

    fn free(self) {
        if let Some(address) = self.addresses.get(self.win.comm().rank().index()) {
            // Others may still access what is attached.
            self.win.comm().barrier().expect("a barrier");
            self.win.detach(*address as *mut u8).expect("it is attached");
        }
        self.win.free().expect("a window without epochs");
    }
}

/// Zeroed memory for a part that the program brings along.
fn memory(universe: &Universe, part: Part) -> Memory<u64> {
    let words = (part.bytes + part.skew).div_ceil(8) as usize;
    if part.private {
        return vec![0; words].into();
    }
    universe.alloc_mem(words).expect("memory of the segment")
}
