//! The tool interface (MPI-4.1 §15.3): of a library without events, sources of them and enumerations. Each function
//! here that begins with `t_no` implements many of those.
//!
//! Its functions may be called before `MPI_Init` and after `MPI_Finalize`. They return their errors and
//! call no error handler.

use crate::abi::*;
use crate::arguments::{Address, Ptr, Text, TextBuffer};
use crate::failure::{Failure, Outcome};
use crate::handle::Handle;
use crate::text;
use crate::tool::control::{self, Control};
use crate::tool::performance::{self, Bound, Performance, Value};
use crate::tool::{self, Category, ControlHandle, Nothing, ReadHandle, Session};
use std::ffi::c_int;

/// `MPI_T_init_thread`
pub fn t_init_thread(required: c_int, provided: Ptr<c_int>) -> Outcome {
    if !(MPI_THREAD_SINGLE..=MPI_THREAD_MULTIPLE).contains(&required) {
        let why = format!("{required} is no level of thread support");
        return Err(Failure::new(MPI_T_ERR_INVALID, why));
    }
    provided.set(MPI_THREAD_MULTIPLE)?;
    tool::begin();
    Ok(())
}

/// `MPI_T_finalize`
pub fn t_finalize() -> Outcome {
    tool::end()
}

/// Functions that count events, sources, or changes of categories
pub fn t_none(number: Ptr<c_int>) -> Outcome {
    tool::running()?;
    number.set(0)
}

/// Functions that ask for one of them by its index
pub fn t_no_index(what: &str, index: c_int) -> Outcome {
    tool::running()?;
    let why = format!("there is no {what} {index}; there are none");
    Err(Failure::new(MPI_T_ERR_INVALID_INDEX, why))
}

/// Functions that ask for the index of a name
pub fn t_no_name(what: &str, name: Text) -> Outcome {
    tool::running()?;
    let why = format!("there is no {what} {:?}; there are none", name.read()?);
    Err(Failure::new(MPI_T_ERR_INVALID_NAME, why))
}

/// Functions of a handle
pub fn t_no_object(handle: Handle<Nothing>) -> Outcome {
    tool::running()?;
    match *handle.get()? {}
}

/// The element of that index, of variables or categories.
fn indexed<'a, T>(what: &str, all: &'a [T], index: c_int) -> Outcome<&'a T> {
    tool::running()?;
    let found = usize::try_from(index).ok().and_then(|index| all.get(index));
    found.ok_or_else(|| {
        let why = format!("there is no {what} {index}, of {}", all.len());
        Failure::new(MPI_T_ERR_INVALID_INDEX, why)
    })
}

/// Writes the index of a name.
fn named<T>(
    what: &str,
    all: &[T],
    name: Text,
    is_it: impl Fn(&T, &str) -> bool,
    index: Ptr<c_int>,
) -> Outcome {
    tool::running()?;
    let name = name.read()?;
    match all.iter().position(|one| is_it(one, &name)) {
        Some(found) => index.set(found as c_int),
        None => {
            let why = format!("there is no {what} {}", text::quoted(&name));
            Err(Failure::new(MPI_T_ERR_INVALID_NAME, why))
        }
    }
}

/// Writes the first `len` of some indices.
fn first(len: c_int, found: impl Iterator<Item = usize>, indices: Ptr<c_int>) -> Outcome {
    let len = usize::try_from(len).unwrap_or_default();
    indices.set_all(found.take(len).map(|index| index as c_int))
}

/// `MPI_T_category_get_num`
pub fn t_category_get_num(num_cat: Ptr<c_int>) -> Outcome {
    tool::running()?;
    num_cat.set(Category::ALL.len() as c_int)
}

/// `MPI_T_category_get_index`
pub fn t_category_get_index(name: Text, cat_index: Ptr<c_int>) -> Outcome {
    let is_it = |one: &Category, name: &str| one.words().0 == name;
    named("category", &Category::ALL, name, is_it, cat_index)
}

/// `MPI_T_category_get_info`
pub fn t_category_get_info(
    cat_index: c_int,
    name: TextBuffer,
    name_len: Ptr<c_int>,
    desc: TextBuffer,
    desc_len: Ptr<c_int>,
    num_cvars: Ptr<c_int>,
    num_pvars: Ptr<c_int>,
    num_categories: Ptr<c_int>,
) -> Outcome {
    let category = indexed("category", &Category::ALL, cat_index)?;
    let (called, about) = category.words();
    name.offer(called, name_len)?;
    desc.offer(about, desc_len)?;
    num_cvars.offer(category.control().count() as c_int)?;
    num_pvars.offer(category.performance().count() as c_int)?;
    num_categories.offer(0)
}

/// `MPI_T_category_get_cvars`
pub fn t_category_get_cvars(cat_index: c_int, len: c_int, indices: Ptr<c_int>) -> Outcome {
    first(len, indexed("category", &Category::ALL, cat_index)?.control(), indices)
}

/// `MPI_T_category_get_pvars`
pub fn t_category_get_pvars(cat_index: c_int, len: c_int, indices: Ptr<c_int>) -> Outcome {
    first(len, indexed("category", &Category::ALL, cat_index)?.performance(), indices)
}

/// `MPI_T_category_get_categories`, `MPI_T_category_get_events`: none is inside
pub fn t_category_has_none(cat_index: c_int) -> Outcome {
    indexed("category", &Category::ALL, cat_index).map(drop)
}

/// `MPI_T_category_get_num_events`
pub fn t_category_get_num_events(cat_index: c_int, num_events: Ptr<c_int>) -> Outcome {
    t_category_has_none(cat_index)?;
    num_events.set(0)
}

/// `MPI_T_cvar_get_num`
pub fn t_cvar_get_num(num_cvar: Ptr<c_int>) -> Outcome {
    tool::running()?;
    num_cvar.set(control::ALL.len() as c_int)
}

/// `MPI_T_cvar_get_index`
pub fn t_cvar_get_index(name: Text, cvar_index: Ptr<c_int>) -> Outcome {
    let is_it = |one: &Control, name: &str| one.name == name;
    named("control variable", control::ALL, name, is_it, cvar_index)
}

/// `MPI_T_cvar_get_info`
pub fn t_cvar_get_info(
    cvar_index: c_int,
    name: TextBuffer,
    name_len: Ptr<c_int>,
    verbosity: Ptr<c_int>,
    datatype: Ptr<MPI_Datatype>,
    enumtype: Ptr<MPI_T_enum>,
    desc: TextBuffer,
    desc_len: Ptr<c_int>,
    bind: Ptr<c_int>,
    scope: Ptr<c_int>,
) -> Outcome {
    let one = indexed("control variable", control::ALL, cvar_index)?;
    name.offer(one.name, name_len)?;
    verbosity.offer(MPI_T_VERBOSITY_TUNER_BASIC)?;
    datatype.offer(one.datatype())?;
    enumtype.offer(Handle::NULL)?;
    desc.offer(one.about, desc_len)?;
    bind.offer(MPI_T_BIND_NO_OBJECT)?;
    scope.offer(one.scope)
}

/// `MPI_T_cvar_handle_alloc`
pub fn t_cvar_handle_alloc(
    cvar_index: c_int,
    handle: Ptr<MPI_T_cvar_handle>,
    count: Ptr<c_int>,
) -> Outcome {
    let one = indexed("control variable", control::ALL, cvar_index)?;
    handle.given()?;
    count.set(1)?;
    handle.set(Handle::new(ControlHandle(one)))
}

/// `MPI_T_cvar_handle_free`
pub fn t_cvar_handle_free(handle: Ptr<MPI_T_cvar_handle>) -> Outcome {
    tool::running()?;
    handle.get()?.remove()?;
    handle.set(Handle::NULL)
}

/// `MPI_T_cvar_read`
pub fn t_cvar_read(handle: MPI_T_cvar_handle, buf: Address) -> Outcome {
    tool::running()?;
    let ControlHandle(one) = handle.get()?;
    match one.is_int() {
        true => buf.place::<c_int>().set(one.read()? as c_int),
        false => buf.place::<u64>().set(one.read()?),
    }
}

/// `MPI_T_cvar_write`
pub fn t_cvar_write(handle: MPI_T_cvar_handle, buf: Address) -> Outcome {
    tool::running()?;
    handle.get()?.0.write(|| buf.place::<c_int>().get())
}

/// `MPI_T_pvar_get_num`
pub fn t_pvar_get_num(num_pvar: Ptr<c_int>) -> Outcome {
    tool::running()?;
    num_pvar.set(performance::ALL.len() as c_int)
}

/// `MPI_T_pvar_get_index`
pub fn t_pvar_get_index(name: Text, var_class: c_int, pvar_index: Ptr<c_int>) -> Outcome {
    let is_it = |one: &Performance, name: &str| one.name == name && one.class == var_class;
    named("performance variable of that class", performance::ALL, name, is_it, pvar_index)
}

/// `MPI_T_pvar_get_info`
pub fn t_pvar_get_info(
    pvar_index: c_int,
    name: TextBuffer,
    name_len: Ptr<c_int>,
    verbosity: Ptr<c_int>,
    var_class: Ptr<c_int>,
    datatype: Ptr<MPI_Datatype>,
    enumtype: Ptr<MPI_T_enum>,
    desc: TextBuffer,
    desc_len: Ptr<c_int>,
    bind: Ptr<c_int>,
    readonly: Ptr<c_int>,
    continuous: Ptr<c_int>,
    atomic: Ptr<c_int>,
) -> Outcome {
    let one = indexed("performance variable", performance::ALL, pvar_index)?;
    name.offer(one.name, name_len)?;
    verbosity.offer(MPI_T_VERBOSITY_USER_BASIC)?;
    var_class.offer(one.class)?;
    datatype.offer(one.datatype())?;
    enumtype.offer(Handle::NULL)?;
    let only = if one.is_counted() { "; counted" } else { "" };
    desc.offer(&format!("{}{only}", one.about), desc_len)?;
    bind.offer(one.binding())?;
    readonly.offer(1)?;
    continuous.offer(1)?;
    atomic.offer(0)
}

/// `MPI_T_pvar_handle_alloc`
pub fn t_pvar_handle_alloc(
    session: MPI_T_pvar_session,
    pvar_index: c_int,
    obj_handle: Address,
    handle: Ptr<MPI_T_pvar_handle>,
    count: Ptr<c_int>,
) -> Outcome {
    tool::running()?;
    let session = session.get()?;
    let one = indexed("performance variable", performance::ALL, pvar_index)?;
    let bound = match one.binding() {
        MPI_T_BIND_MPI_WIN => {
            let window: MPI_Win = obj_handle.place().get()?;
            window.get()?;
            Bound::Window(window)
        }
        MPI_T_BIND_MPI_COMM => {
            let comm: MPI_Comm = obj_handle.place().get()?;
            comm.get()?;
            Bound::Comm(comm)
        }
        _ => Bound::Nothing,
    };
    handle.given()?;
    count.set(1)?;
    handle.set(session.add(one, bound))
}

/// `MPI_T_pvar_handle_free`
pub fn t_pvar_handle_free(session: MPI_T_pvar_session, handle: Ptr<MPI_T_pvar_handle>) -> Outcome {
    tool::running()?;
    session.get()?.free(handle.get()?)?;
    handle.set(Handle::NULL)
}

/// `MPI_T_pvar_read`
pub fn t_pvar_read(
    session: MPI_T_pvar_session,
    handle: MPI_T_pvar_handle,
    buf: Address,
) -> Outcome {
    tool::running()?;
    let ReadHandle { variable, bound } = session.get()?.find(handle)?;
    match variable.read(bound)? {
        Value::Number(number) => buf.place::<u64>().set(number),
        Value::Seconds(seconds) => buf.place::<f64>().set(seconds),
    }
}

/// `MPI_T_pvar_write` and `MPI_T_pvar_readreset`: variables can only be read
pub fn t_pvar_refused(
    session: MPI_T_pvar_session,
    handle: MPI_T_pvar_handle,
    code: c_int,
) -> Outcome {
    tool::running()?;
    let name = session.get()?.find(handle)?.variable.name;
    Err(Failure::new(code, format!("'{name}' always counts, and can only be read")))
}

/// `MPI_T_pvar_start`, `MPI_T_pvar_stop` and `MPI_T_pvar_reset`: the same, but of all variables it concerns none
pub fn t_pvar_refused_but_all(
    session: MPI_T_pvar_session,
    handle: MPI_T_pvar_handle,
    code: c_int,
) -> Outcome {
    match handle.value() {
        MPI_T_PVAR_ALL_HANDLES => tool::running().and_then(|()| session.get().map(drop)),
        _ => t_pvar_refused(session, handle, code),
    }
}

/// `MPI_T_pvar_session_create`
pub fn t_pvar_session_create(session: Ptr<MPI_T_pvar_session>) -> Outcome {
    tool::running()?;
    session.set(Handle::new(Session::default()))
}

/// `MPI_T_pvar_session_free`
pub fn t_pvar_session_free(session: Ptr<MPI_T_pvar_session>) -> Outcome {
    tool::running()?;
    session.get()?.remove()?.free_all();
    session.set(Handle::NULL)
}
