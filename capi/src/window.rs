//! Windows in C.

use crate::abi::*;
use crate::arguments::Address;
use crate::failure::Outcome;
use crate::handle::{Object, Table};
use crate::handler::{Handler, HandlerOf, HandlerRef};
use crate::job;
use onesided::Flavour;
use onesided::engine::Win;
use std::ffi::c_int;
use std::sync::OnceLock;

/// What an `MPI_Win` stands for.
pub struct Window {
    pub win: Win,
    pub errhandler: HandlerOf,
    /// Whether the program has given it a name.
    pub named: OnceLock<()>,
    /// The values to which the predefined attributes point (MPI-4.1 §12.2.7).
    pub facts: WindowFacts,
}

/// What C reads through the addresses of the predefined attributes.
pub struct WindowFacts {
    pub base: Address,
    pub size: Aint,
    pub disp_unit: c_int,
    pub flavour: c_int,
    pub model: c_int,
}

impl Window {
    /// A window with the standard's default error handler. `empty` is the base of a part of no bytes, which
    /// only the program knows.
    pub fn new(win: Win, empty: Address) -> Outcome<Window> {
        if !job::is_strict() {
            win.accept_what_is_plain(job::warn_with_line);
        }
        let own = win.comm().rank();
        let flavour = match win.flavour() {
            Flavour::Create => MPI_WIN_FLAVOR_CREATE,
            Flavour::Allocate => MPI_WIN_FLAVOR_ALLOCATE,
            Flavour::Dynamic => MPI_WIN_FLAVOR_DYNAMIC,
            Flavour::Shared => MPI_WIN_FLAVOR_SHARED,
        };
        let size = win.size(own)? as Aint;
        let facts = WindowFacts {
            base: if size == 0 { empty } else { Address::of(win.base()) },
            size,
            disp_unit: win.disp_unit(own)? as c_int,
            flavour,
            model: MPI_WIN_UNIFIED,
        };
        Ok(Window {
            win,
            errhandler: HandlerOf::new(HandlerRef::FATAL),
            named: OnceLock::new(),
            facts,
        })
    }

    pub fn handler(&self) -> Handler {
        self.errhandler.get()
    }
}

impl Object for Window {
    const NAME: &'static str = "MPI_Win";
    const NULL: usize = MPI_WIN_NULL;
    const CLASS: c_int = MPI_ERR_WIN;
    const KIND: usize = 2;
    const HAS_PREDEFINED: bool = cfg!(node);

    fn label(&self) -> Option<String> {
        self.named.get().map(|()| self.win.name())
    }

    fn description(&self) -> Option<String> {
        Some(self.win.name())
    }

    #[inline(always)]
    fn table() -> &'static Table<Window> {
        static TABLE: Table<Window> = Table::new();
        &TABLE
    }

    #[cfg(node)]
    #[cold]
    fn predefined(value: usize) -> Option<&'static Window> {
        crate::host::window(value)
    }
}
