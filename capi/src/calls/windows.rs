//! Windows: creation, release and inquiries (MPI-4.1 §12.2).

use super::communicators::name;
use crate::abi::*;
use crate::arguments::{Address, Number, Ptr, Text, TextBuffer};
use crate::attribute;
use crate::comm::rank_of;
use crate::failure::{Failure, Outcome};
use crate::handle::Handle;
use crate::info::{hints, of_program};
use crate::job;
use crate::raise::Owner;
use crate::window::Window;
use onesided::engine::Win;
use onesided::{Call, WindowOptions};
use std::ffi::c_int;

/// The size and displacement unit for the library. A negative argument becomes a number that it refuses
/// on all ranks, because the call is collective.
fn measures<C: Number>(size: Aint, disp_unit: C) -> (u64, u64) {
    let bytes = u64::try_from(size).unwrap_or(u64::MAX);
    (bytes, disp_unit.wide() as u64)
}

/// The outcome on this rank of a collective that creates a window; `empty` is the base of a part of no
/// bytes.
fn made(
    size: Aint,
    win: onesided::Result<Win>,
    empty: Address,
    handle: Ptr<MPI_Win>,
) -> Outcome<&'static Window> {
    let win = win.map_err(|error| match size < 0 {
        true => Failure::new(MPI_ERR_SIZE, format!("the size {size} is negative")),
        false => error.into(),
    })?;
    let new = Handle::new(Window::new(win, empty)?);
    handle.set(new)?;
    new.get()
}

/// `MPI_Win_create`
pub fn win_create<C: Number>(
    base: Address,
    size: Aint,
    disp_unit: C,
    info: MPI_Info,
    comm: MPI_Comm,
    win: Ptr<MPI_Win>,
) -> Outcome {
    let comm = comm.get()?;
    let options = WindowOptions::new().info(&hints(info)?);
    let (bytes, unit) = measures(size, disp_unit);
    made(size, options.create_bytes(comm.intra()?, base.exposed(bytes), unit), base, win).map(drop)
}

/// `MPI_Win_allocate`
pub fn win_allocate<C: Number>(
    size: Aint,
    disp_unit: C,
    info: MPI_Info,
    comm: MPI_Comm,
    baseptr: Address,
    win: Ptr<MPI_Win>,
) -> Outcome {
    let comm = comm.get()?;
    let options = WindowOptions::new().info(&hints(info)?);
    let (bytes, unit) = measures(size, disp_unit);
    let allocated = options.allocate_bytes(comm.intra()?, bytes, unit);
    let window = made(size, allocated, Address::NULL, win)?;
    baseptr.place().set(window.facts.base)
}

/// `MPI_Win_allocate_shared`
pub fn win_allocate_shared<C: Number>(
    size: Aint,
    disp_unit: C,
    info: MPI_Info,
    comm: MPI_Comm,
    baseptr: Address,
    win: Ptr<MPI_Win>,
) -> Outcome {
    let comm = comm.get()?;
    let options = WindowOptions::new().info(&hints(info)?);
    let (bytes, unit) = measures(size, disp_unit);
    let allocated = options.allocate_shared_bytes(comm.intra()?, bytes, unit);
    let window = made(size, allocated, Address::NULL, win)?;
    baseptr.place().set(window.facts.base)
}

/// `MPI_Win_shared_query`
pub fn win_shared_query<C: Number>(
    win: MPI_Win,
    rank: c_int,
    size: Ptr<Aint>,
    disp_unit: Ptr<C>,
    baseptr: Address,
) -> Outcome {
    let window = win.get()?;
    let rank = rank_of(rank, window.win.comm().size())?;
    let (bytes, unit, base) = window.win.shared_query(rank)?;
    size.set(bytes as Aint)?;
    disp_unit.set(super::narrow(unit.into())?)?;
    baseptr.place().set(Address::of(base))
}

/// `MPI_Win_create_dynamic`
pub fn win_create_dynamic(info: MPI_Info, comm: MPI_Comm, win: Ptr<MPI_Win>) -> Outcome {
    let comm = comm.get()?;
    let options = WindowOptions::new().info(&hints(info)?);
    let created = options.create_dynamic_bytes(&comm.comm);
    made(0, created, Address::NULL, win).map(drop)
}

/// `MPI_Win_attach`
pub fn win_attach(win: MPI_Win, base: Address, size: Aint) -> Outcome {
    let window = win.get()?;
    let Ok(bytes) = u64::try_from(size) else {
        return Err(Failure::new(MPI_ERR_SIZE, format!("the size {size} is negative")));
    };
    match bytes {
        0 => Ok(()),
        _ => Ok(window.win.attach(base.exposed(bytes))?),
    }
}

/// `MPI_Win_detach`
pub fn win_detach(win: MPI_Win, base: Address) -> Outcome {
    Ok(win.get()?.win.detach(base.bytes())?)
}

/// `MPI_Win_free`
pub fn win_free(win: Ptr<MPI_Win>) -> Outcome {
    let handle = win.get()?;
    let window = handle.get()?;
    let owner = Owner::Freed { handler: window.handler(), handle: handle.value() };
    let comm = window.win.comm().clone();
    comm.in_one_call(Call::WinFree, window.win.mark(), || free_window(win, handle, owner))
}

fn free_window(win: Ptr<MPI_Win>, handle: MPI_Win, owner: Owner) -> Outcome {
    let window = handle.get()?;
    // A refused call changes nothing, and the functions of attributes still get a valid window.
    let agreed = attribute::about(handle, || {
        let have_attributes = window.win.agree_to_free(Ok(()))?;
        match have_attributes {
            true => window.win.agree_to_free(window.win.delete_attributes()).map(drop),
            false => Ok(()),
        }
    });
    agreed.map_err(|failure| failure.of(owner))?;
    let freed = handle.remove()?.win.free();
    win.set(Handle::NULL)?;
    freed.map_err(|error| Failure::from(error).of(owner))
}

/// `MPI_Win_get_group`
pub fn win_get_group(win: MPI_Win, group: Ptr<MPI_Group>) -> Outcome {
    group.set(Handle::new(win.get()?.win.group()))
}

/// `MPI_Win_set_name`
pub fn win_set_name(win: MPI_Win, win_name: Text) -> Outcome {
    let window = win.get()?;
    window.win.set_name(&name(win_name)?);
    window.named.get_or_init(|| ());
    Ok(())
}

/// `MPI_Win_get_name`: empty unless the program has set one. (Errors have a default.)
pub fn win_get_name(win: MPI_Win, win_name: TextBuffer, resultlen: Ptr<c_int>) -> Outcome {
    let name = match win == Handle::NULL {
        true => "MPI_WIN_NULL".into(),
        false => {
            let window = win.get()?;
            window.named.get().map_or_else(String::new, |()| window.win.name())
        }
    };
    resultlen.set(win_name.write(&name, MPI_MAX_OBJECT_NAME as usize)?)
}

/// `MPI_Win_set_info`
pub fn win_set_info(win: MPI_Win, info: MPI_Info) -> Outcome {
    Ok(win.get()?.win.set_info(&hints(info)?)?)
}

/// `MPI_Win_get_info`
pub fn win_get_info(win: MPI_Win, info_used: Ptr<MPI_Info>) -> Outcome {
    info_used.set(of_program(win.get()?.win.info())?)
}

/// `MPI_Alloc_mem`
pub fn alloc_mem(size: Aint, info: MPI_Info, baseptr: Address) -> Outcome {
    hints(info)?;
    let Ok(bytes) = usize::try_from(size) else {
        return Err(Failure::new(MPI_ERR_ARG, format!("the size {size} is negative")));
    };
    baseptr.place().set(job::allocate(bytes)?)
}

/// `MPI_Free_mem`
pub fn free_mem(base: Address) -> Outcome {
    job::free(base)
}
